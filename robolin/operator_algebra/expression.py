"""Symbolic formulas of operators, sums, products and transposes, and their vector spaces.

joints   one number per joint, in the arm's public order, as everywhere in robolin
links    six numbers per link, [angular; linear]; link 1, a tip, comes first, as in the papers
frame    six numbers, those of one frame

Internally, every vector is a list with one tuple of numbers per link, counted from 1 at the tip.
The numbers may be floats, complex, 50-digit, counters, or rows of a matrix of right-hand sides;
only this module uses NumPy.

An expression is a formula, not a matrix.  Construction applies only rules that hold for all
matrices: I X is X, X** is X, a symmetric operator is its own transpose, equal terms of a sum are
combined.  Rules that follow from the mechanics are in `theorems.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from numbers import Number
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arrays import AnyArray, Floats
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from robolin.operator_algebra.sweeps import Sweep, SweepPlan


@dataclass(frozen=True)
class Layout:
    """The parent of each link, and the index of its joint in public order."""

    parents: tuple[int, ...]
    indices: tuple[int, ...]

    @property
    def n(self) -> int:
        return len(self.indices)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The children of links 0, 1, … n and of the base; entry 0 is unused."""
        carried: list[list[int]] = [[] for _ in range(self.n + 2)]
        for k in range(1, self.n + 1):
            carried[self.parents[k]].append(k)
        return tuple(tuple(links) for links in carried)

    @property
    def serial(self) -> bool:
        return all(self.parents[k] == k + 1 for k in range(1, self.n + 1))

    @property
    def joints(self) -> Space:
        return Space(self, "joints")

    @property
    def links(self) -> Space:
        return Space(self, "links")


@dataclass(frozen=True)
class Space:
    """The vector space of the rows or the columns of an operator."""

    layout: Layout
    kind: Literal["joints", "links", "frame"]
    link: int = 0

    @property
    def width(self) -> int:
        """Numbers per link."""
        return 1 if self.kind == "joints" else 6

    @property
    def size(self) -> int:
        return 6 if self.kind == "frame" else self.width * self.layout.n

    def __str__(self) -> str:
        return "frame" if self.kind == "frame" else f"{self.layout.n} {self.kind}"

    def rows_of(self, k: int) -> Sequence[int]:
        """Indices of the numbers of link k in a vector; empty if it has none."""
        if self.kind == "joints":
            return (self.layout.indices[k - 1],)
        if self.kind == "links":
            return range(6 * k - 6, 6 * k)
        return range(6) if k == self.link else ()


def vectors_by_link(space: Space, array: AnyArray) -> list[Vector]:
    """An array (size,) or (size, columns) as the vectors of links 0, 1, … n."""
    rows: Sequence[Scalar] = array.tolist() if array.ndim == 1 else list(array)
    nothing = (0.0,) * space.width
    return [
        nothing,
        *(tuple(rows[i] for i in space.rows_of(k)) or nothing for k in _links(space)),
    ]


def put_together(space: Space, vectors: Sequence[Vector], like: AnyArray) -> AnyArray:
    """The vectors of all links as an array with as many columns as `like`."""
    rows: list[Any] = [0.0] * space.size
    for k in _links(space):
        for i, value in zip(space.rows_of(k), vectors[k], strict=False):
            rows[i] = value
    if like.ndim == 1:
        array = np.array(rows)
    else:
        alike = np.zeros(like.shape[1:])
        array = np.array([row if isinstance(row, np.ndarray) else alike + row for row in rows])
    # adding 0 turns -0.0 into 0.0, so that results have one zero only
    return array if array.dtype == object else array + 0.0


def array_for(space: Space, formula: str, vector: ArrayLike) -> AnyArray:
    """The right-hand side as an array; an error if its size does not match."""
    array = numbers_of(formula, vector)
    if array.ndim not in (1, 2) or array.shape[0] != space.size:
        raise RobolinError(
            f"{formula} applies to arrays with {space.size} rows ({space}), got shape "
            f"{array.shape}",
            hint="pass a vector, or a matrix with one column per vector",
        )
    return array


def numbers_of(whose: str, values: ArrayLike) -> AnyArray:
    """An array of floats, or of other objects with multiplication and addition."""
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise RobolinError(f"{whose} requires an array of numbers: {error}") from error
    if array.dtype.kind not in "biufcO":
        raise RobolinError(f"{whose} requires numbers, got {array.dtype}")
    return array.astype(float) if array.dtype.kind in "biu" else array


def _links(space: Space) -> range:
    return range(1, space.layout.n + 1)


class Expression:
    """A linear operator; the identity, which has any size, has no `rows` and `columns`."""

    # NumPy delegates `array @ operator` and `number * operator` to this class
    __array_ufunc__ = None

    @property
    def rows(self) -> Space | None:
        return None

    @property
    def columns(self) -> Space | None:
        return None

    # algebra

    @overload
    def __matmul__(self, other: Expression) -> Expression: ...
    @overload
    def __matmul__(self, other: ArrayLike) -> AnyArray: ...
    def __matmul__(self, other: Expression | ArrayLike) -> Expression | AnyArray:
        """A product of operators, or the operator applied to a vector or a matrix of columns."""
        if isinstance(other, Expression):
            return product((self, other))
        from robolin.operator_algebra.sweeps import applied

        return applied(self, other)

    def __rmatmul__(self, rows: ArrayLike) -> AnyArray:
        """Rows times the operator, as its transpose applied to columns."""
        import numpy as np

        return (self.T @ np.asarray(rows).T).T

    def __add__(self, other: Expression) -> Expression:
        return total(((1, self), (1, other)))

    # a left operand that is not an operator is an error, which `total` raises
    def __radd__(self, other: Expression) -> Expression:
        return self + other

    def __rsub__(self, other: Expression) -> Expression:
        return self + other

    def __sub__(self, other: Expression) -> Expression:
        return total(((1, self), (-1, other)))

    def __neg__(self) -> Expression:
        return total(((-1, self),))

    def __mul__(self, factor: Any) -> Expression:
        if isinstance(factor, Number):
            return total(((factor, self),))
        raise RobolinError(
            f"{self!r} can be multiplied by a number, not by {type(factor).__name__}",
            hint="multiply operators with @",
        )

    __rmul__ = __mul__

    def __truediv__(self, divisor: Any) -> Expression:
        divides = isinstance(divisor, Number)
        if divides and divisor != 0:
            return total(((1.0 / divisor, self),))
        kind = "0" if divides else type(divisor).__name__
        raise RobolinError(
            f"{self!r} can be divided by a number, not by {kind}",
            hint="use .inv for the inverse of an operator",
        )

    @property
    def T(self) -> Expression:
        """The transpose, a star in formulas."""
        return Transposed(self)

    @property
    def inv(self) -> Expression:
        """The inverse, if a theorem provides it as a formula."""
        from robolin.operator_algebra.theorems import inverse_expression

        return inverse_expression(self)

    def simplified(self) -> Expression:
        """The same operator as a shorter formula, if a theorem provides one."""
        from robolin.operator_algebra.theorems import simplified

        return simplified(self)

    # use

    @cached_property
    def plan(self) -> SweepPlan:
        """The sweeps that apply the operator."""
        from robolin.operator_algebra.sweeps import planned_sweeps

        return planned_sweeps(self)

    def sweeps(self) -> tuple[Sweep, ...]:
        """The sweeps over the links that apply the operator, first to last."""
        return self.plan.sweeps

    def dense(self) -> Floats:
        """The matrix, formed by applying the operator to every unit vector."""
        from robolin.operator_algebra.sweeps import dense

        matrix: Floats = dense(self)
        return matrix

    def explain(self) -> str:
        """Text with the meaning of the symbols, and the recursion of each sweep."""
        from robolin.operator_algebra.theorems import explained

        return explained(self)

    def operations(self) -> dict[str, int]:
        """The number of multiplications and additions to apply the operator to a vector."""
        from robolin.operator_algebra.sweeps import operations

        return operations(self)

    def __repr__(self) -> str:
        from robolin.operator_algebra.theorems import formula

        return formula(self)

    def parts(self) -> Iterator[Expression]:
        """Every operator in the formula, from left to right."""
        yield self


@dataclass(frozen=True, repr=False)
class Identity(Expression):
    """The identity I of any size."""

    @property
    def T(self) -> Expression:
        return self


@dataclass(frozen=True, repr=False)
class Transposed(Expression):
    """The transpose of a single operator or of a sum."""

    operand: Expression

    @property
    def rows(self) -> Space | None:
        return self.operand.columns

    @property
    def columns(self) -> Space | None:
        return self.operand.rows

    @property
    def T(self) -> Expression:
        return self.operand

    def parts(self) -> Iterator[Expression]:
        return self.operand.parts()


@dataclass(frozen=True, repr=False)
class Product(Expression):
    """Factors from left to right; the last is applied first."""

    factors: tuple[Expression, ...]

    @property
    def rows(self) -> Space | None:
        return self.factors[0].rows

    @property
    def columns(self) -> Space | None:
        return self.factors[-1].columns

    @property
    def T(self) -> Expression:
        return product(factor.T for factor in reversed(self.factors))

    def parts(self) -> Iterator[Expression]:
        for factor in self.factors:
            yield from factor.parts()


@dataclass(frozen=True, repr=False, eq=False)
class Sum(Expression):
    """Terms with their scalar factors; an empty sum is the zero operator."""

    terms: tuple[tuple[Any, Expression], ...]
    shape: tuple[Space | None, Space | None]

    @property
    def rows(self) -> Space | None:
        return self.shape[0]

    @property
    def columns(self) -> Space | None:
        return self.shape[1]

    @property
    def T(self) -> Expression:
        if len(self.terms) == 1:
            ((number, term),) = self.terms
            return total(((number, term.T),))
        return Transposed(self)

    def __eq__(self, other: object) -> bool:
        """Compare sums regardless of the order of their terms."""
        return isinstance(other, Sum) and (frozenset(self.terms), self.shape) == (
            frozenset(other.terms),
            other.shape,
        )

    def __hash__(self) -> int:
        return hash(frozenset(self.terms))

    def parts(self) -> Iterator[Expression]:
        for _, term in self.terms:
            yield from term.parts()


def product(factors: Iterable[Expression]) -> Expression:
    """Multiply the factors: remove identities, and move scalar factors to the front."""
    number, row = 1, list[Expression]()
    for factor in factors:
        if isinstance(factor, Sum) and len(factor.terms) == 1:
            ((scale, factor),) = factor.terms
            number = number * scale
        row.extend(factor.factors if isinstance(factor, Product) else (factor,))
    row = [factor for factor in row if not isinstance(factor, Identity)]
    for left, right in pairwise(row):
        if left.columns is not None and right.rows is not None and left.columns != right.rows:
            raise _no_fit("cannot precede", left, left.columns, right, right.rows)
    result = Identity() if not row else row[0] if len(row) == 1 else Product(tuple(row))
    return result if number == 1 else total(((number, result),))


def total(terms: Iterable[tuple[Any, Expression]]) -> Expression:
    """Add the terms, and combine equal ones."""
    counted: dict[Expression, Any] = {}
    shape: tuple[Space | None, Space | None] = (None, None)
    for number, term in terms:
        if not isinstance(term, Expression):
            raise RobolinError(
                f"an operator cannot be added to {type(term).__name__}",
                hint="use I for the identity, or `diagonal` to make an operator from numbers",
            )
        shape = _common(shape, term)
        for inner, part in term.terms if isinstance(term, Sum) else ((1, term),):
            counted[part] = counted.get(part, 0) + number * inner
    kept = tuple((number, term) for term, number in counted.items() if number != 0)
    if len(kept) == 1 and kept[0][0] == 1:
        return kept[0][1]
    return Sum(kept, shape)


def _common(shape: tuple[Space | None, Space | None], term: Expression) -> Any:
    """The common shape of a sum and a further term."""
    rows, columns = shape
    for mine, its in ((rows, term.rows), (columns, term.columns)):
        if mine is not None and its is not None and mine != its:
            raise RobolinError(
                f"{term!r} maps {_spaces_of(term)} and cannot be added to an operator that maps "
                f"{_between(columns, rows)}"
            )
    return rows or term.rows, columns or term.columns


def _no_fit(
    what: str, left: Expression, gives: Space, right: Expression, takes: Space
) -> RobolinError:
    return RobolinError(
        f"{left!r} {what} {right!r}: {left!r} applies to the {gives}, but {right!r} returns a "
        f"vector of the {takes}",
        hint="check for a missing transpose, or operators of different robots",
    )


def _spaces_of(term: Expression) -> str:
    return _between(term.columns, term.rows)


def _between(columns: Space | None, rows: Space | None) -> str:
    return f"{columns or 'any space'} to {rows or 'any space'}"
