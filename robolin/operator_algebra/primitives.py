"""Primitive operators: block diagonals, the shift E_φ, and recursions over it.

A block diagonal operator acts on one link at a time.  The shift E_φ moves the value of a link to
its parent link.  All other operators are built from these two: K is E_φ G, and φ and ψ are inverses
of identity minus shift, which are recursions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from robolin.core.records import dataclass
from robolin.dynamics.algebra.inertias import (
    articulated_times,
    gyroscopic_times,
    gyroscopic_transpose_times,
    half_times,
    rigid_times,
    times_half,
)
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import (
    ZERO3,
    ZERO6,
    add,
    cross,
    dot,
    force_cross,
    motion_cross,
    scale,
)
from robolin.operator_algebra.expression import Expression, Space, Transposed

Times = Callable[[Vector, Vector], Vector]


@dataclass(frozen=True)
class BlockKind:
    """Multiplication of a vector by a block and by its transpose."""

    times: Times
    star_times: Times


def _symmetric(times: Times) -> BlockKind:
    return BlockKind(times, times)


def _along(column: Vector, x: Vector) -> Vector:
    """A column of six numbers times one number."""
    return scale(column, x[0])


def _onto(row: Vector, x: Vector) -> Vector:
    """A row of six numbers times six."""
    return (dot(row, x),)


def _rows_times(A: Vector, x: Vector) -> Vector:
    return tuple(dot(A[i : i + 6], x) for i in range(0, 36, 6))


def _columns_times(A: Vector, x: Vector) -> Vector:
    return tuple(dot(A[i::6], x) for i in range(6))


def _less(x: Vector) -> Vector:
    return tuple(-value for value in x)


def _to_frame(r: Vector, V: Vector) -> Vector:
    """The velocity [w; u + w x r] of a point at r; zero on links that do not carry the frame."""
    return V[:3] + add(V[3:], cross(V[:3], r)) if r else ZERO6


def _from_frame(r: Vector, f: Vector) -> Vector:
    """The force [N + r x F; F] about the inertial frame, for a force that acts at r."""
    return add(f[:3], cross(r, f[3:])) + f[3:] if r else ZERO6


ROW = BlockKind(_onto, _along)
COLUMN_BLOCK = BlockKind(_along, _onto)
NUMBER_BLOCK = _symmetric(lambda d, x: (d[0] * x[0],))
RIGID = _symmetric(rigid_times)
ARTICULATED = _symmetric(articulated_times)
MATRIX_BLOCK = BlockKind(_rows_times, _columns_times)
GYROSCOPIC = BlockKind(
    lambda Mhat, X: gyroscopic_times(Mhat, X[:3]),
    lambda Mhat, X: gyroscopic_transpose_times(Mhat, X) + ZERO3,
)
HALF = BlockKind(
    lambda half, X: half_times(half, X[:3]),
    lambda half, X: times_half(X, half) + ZERO3,
)
MOTION_CROSS = BlockKind(motion_cross, lambda X, f: _less(force_cross(X, f)))
FORCE_CROSS = BlockKind(force_cross, lambda X, Y: _less(motion_cross(X, Y)))
PICK_OFF = BlockKind(_from_frame, _to_frame)


@dataclass(frozen=True, repr=False)
class Primitive(Expression):
    """An operator with its own symbol; equality is identity of objects."""

    symbol: str
    home: Any = field(default=None, compare=False)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)


@dataclass(frozen=True, repr=False, eq=False)
class Block(Primitive):
    """A block diagonal operator: y(k) = A(k) x(k), with the numbers of A(k) in `values[k]`."""

    shape: tuple[Space, Space] = field(kw_only=True)
    kind: BlockKind = field(kw_only=True)
    values: Sequence[Vector] = field(kw_only=True)
    meaning: str = field(default="", kw_only=True)

    @property
    def rows(self) -> Space:
        return self.shape[0]

    @property
    def columns(self) -> Space:
        return self.shape[1]

    @property
    def T(self) -> Expression:
        return self if self.kind.times is self.kind.star_times else Transposed(self)


@dataclass(frozen=True, repr=False, eq=False)
class Shift(Primitive):
    """E_φ: y(k) = x(k-1), from every link to its parent link; its transpose goes outward."""

    space: Space = field(kw_only=True)

    @property
    def rows(self) -> Space:
        return self.space

    @property
    def columns(self) -> Space:
        return self.space


@dataclass(frozen=True, repr=False, eq=False)
class Recursion(Primitive):
    """(I - E_φ A)⁻¹ with A block diagonal: z(k) = A(k-1) z(k-1) + x(k), from tip to base.

    The transpose runs from base to tip: z(k) = A*(k) z(k+1) + x(k).
    """

    shift: Shift = field(kw_only=True)
    transition: Expression = field(kw_only=True)
    step: Expression = field(kw_only=True)

    @property
    def rows(self) -> Space:
        return self.shift.space

    @property
    def columns(self) -> Space:
        return self.shift.space


@dataclass(frozen=True, repr=False, eq=False)
class NamedFormula(Primitive):
    """A formula with its own symbol."""

    definition: Expression = field(kw_only=True)

    @property
    def rows(self) -> Space | None:
        return self.definition.rows

    @property
    def columns(self) -> Space | None:
        return self.definition.columns
