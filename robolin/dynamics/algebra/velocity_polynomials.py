"""Forces as polynomials in an unknown velocity, over any scalar.

z(V) = c + Σ l(i) V(i) + Σ b(i,j) V(i) V(j),  i ≤ j

A polynomial is 28 columns: c, six l(i), and 21 b(i,j) row by row.  A column is a force (6), or a
single number where a polynomial stands for one.
"""

from __future__ import annotations

from collections.abc import Sequence

from robolin.dynamics.algebra.inertias import ENTRY_INDEX, articulated_from
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add, dot, scale

PRODUCT_PAIRS = [(i, j) for i in range(6) for j in range(i, 6)]
COUNT = 1 + 6 + len(PRODUCT_PAIRS)

PolynomialColumns = Sequence[Vector]


def stored(columns: PolynomialColumns) -> Vector:
    """Concatenate all columns."""
    return tuple(x for column in columns for x in column)


def polynomial_columns(numbers: Vector) -> list[Vector]:
    """Split the output of `stored` into columns (6)."""
    return [numbers[i : i + 6] for i in range(0, len(numbers), 6)]


def monomials(V: Vector) -> Vector:
    """1, V(i) and V(i) V(j)."""
    return (1.0, *V, *(V[i] * V[j] for i, j in PRODUCT_PAIRS))


def polynomial_at(coefficients: Vector, V: Vector) -> Scalar:
    """Evaluate a polynomial with scalar coefficients at V."""
    known = monomials(V)
    return coefficients[0] + dot(coefficients[1:], known[1:])


def shifted(columns: PolynomialColumns, d: Vector) -> list[Vector]:
    """The same polynomial in U, where V = U + d.

    l(i) + Σ b(i,j) d(j) + b(i,i) d(i);   c + Σ d(i) l(i) + Σ d(i) d(j) b(i,j)
    """
    square = columns[7:]
    along = [_row(square, d, i) for i in range(6)]
    linear = [
        add(column, add(row, scale(square[ENTRY_INDEX[i][i]], d[i])))
        for i, (column, row) in enumerate(zip(columns[1:7], along, strict=True))
    ]
    constant = columns[0]
    for i in range(6):
        half = add(columns[1 + i], _half_row(square, d, i))
        constant = add(constant, scale(half, d[i]))
    return [constant, *linear, *square]


def _row(square: PolynomialColumns, d: Vector, i: int) -> Vector:
    """Σ b(i,j) d(j) over all j."""
    total = scale(square[ENTRY_INDEX[i][0]], d[0])
    for j in range(1, 6):
        total = add(total, scale(square[ENTRY_INDEX[i][j]], d[j]))
    return total


def _half_row(square: PolynomialColumns, d: Vector, i: int) -> Vector:
    """Σ b(i,j) d(j) over j ≥ i."""
    total = scale(square[ENTRY_INDEX[i][i]], d[i])
    for j in range(i + 1, 6):
        total = add(total, scale(square[ENTRY_INDEX[i][j]], d[j]))
    return total


def gyroscopic_force(M: Vector) -> list[Vector]:
    """S[V] M V of a rigid inertia: b(i,j) = S[e(i)] M e(j) + S[e(j)] M e(i), once for i = j."""
    full = articulated_from(M)
    momenta = [tuple(full[index] for index in row) for row in ENTRY_INDEX]
    square = [
        add(_turned(i, momenta[j]), _turned(j, momenta[i])) if i != j else _turned(i, momenta[i])
        for i, j in PRODUCT_PAIRS
    ]
    return [(0.0,) * 6] * 7 + square


def _turned(i: int, f: Vector) -> Vector:
    """S[e(i)] f, without a multiplication."""
    if i < 3:
        return unit_cross(i, f[:3]) + unit_cross(i, f[3:])
    return unit_cross(i - 3, f[3:]) + (0.0,) * 3


def unit_cross(i: int, x: Vector) -> Vector:
    """e(i) x x, without a multiplication."""
    return ((0.0, -x[2], x[1]), (x[2], 0.0, -x[0]), (-x[1], x[0], 0.0))[i]
