"""Small square matrices, stored by rows, and block-tridiagonal systems, over any scalar.

    L(k) x(k-1) + D(k) x(k) + U(k) x(k+1) = r(k)

Sequential elimination of N blocks takes N dependent steps.  Cyclic reduction eliminates every other
block in parallel, which leaves a system of the same kind with half as many blocks.  It takes
⌈log₂(N+1)⌉ steps with one processor per block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add, dot, scale, sub

Matrix = Sequence[Vector]


def flat(A: Matrix) -> Vector:
    """Concatenate all rows."""
    return tuple(x for row in A for x in row)


def matrix_rows(numbers: Vector, width: int) -> list[Vector]:
    """Split the output of `flat` into rows."""
    return [numbers[i : i + width] for i in range(0, len(numbers), width)]


def transposed(A: Matrix) -> list[Vector]:
    return [tuple(row[i] for row in A) for i in range(len(A[0]))]


def matrix_times(A: Matrix, B: Matrix) -> list[Vector]:
    """A B."""
    columns = transposed(B)
    return [tuple(dot(row, column) for column in columns) for row in A]


def times_vector(A: Matrix, x: Vector) -> Vector:
    """A x."""
    return tuple(dot(row, x) for row in A)


def plus(A: Matrix, B: Matrix) -> list[Vector]:
    return [add(a, b) for a, b in zip(A, B, strict=True)]


def minus(A: Matrix, B: Matrix) -> list[Vector]:
    return [sub(a, b) for a, b in zip(A, B, strict=True)]


def divided(
    A: Matrix, right: Matrix, checked: Callable[[int, Scalar], Scalar] | None = None
) -> list[Vector]:
    """Solve A X = right by Gaussian elimination without pivoting.

    checked: returns each pivot, or flags it, before the division
    """
    work = [tuple(a) + tuple(b) for a, b in zip(A, right, strict=True)]
    size = len(work)
    for s in range(size):
        pivot = work[s][s]
        one = 1.0 / (checked(s, pivot) if checked else pivot)
        work[s] = scale(work[s], one)
        for r in range(size):
            if r != s:
                work[r] = sub(work[r], scale(work[s], work[r][s]))
    return [row[size:] for row in work]


class SystemFactors(NamedTuple):
    """A = L D L*: the columns of L below its unit diagonal, and D."""

    L: list[Vector]
    D: list[Scalar]


def factored(A: Sequence[Vector], checked: Callable[[int, Scalar], Scalar]) -> SystemFactors:
    """Factor A = L D L* without pivoting; `checked` receives every pivot before the division."""
    rows, L, D = [list(row) for row in A], [], []
    for s in range(len(rows)):
        pivot = checked(s, rows[s][s])
        shares = [rows[s][r] / pivot for r in range(s + 1, len(rows))]
        for r, share in enumerate(shares, start=s + 1):
            for t in range(r, len(rows)):
                rows[r][t] = rows[r][t] - share * rows[s][t]
        L.append(tuple(shares))
        D.append(pivot)
    return SystemFactors(L, D)


def solved_symmetric(factors: SystemFactors, x: Vector) -> Vector:
    """A⁻¹ x."""
    L, D = factors
    right = list(x)
    for s, shares in enumerate(L):
        for r, share in enumerate(shares, start=s + 1):
            right[r] = right[r] - share * right[s]
    for s in reversed(range(len(right))):
        right[s] = right[s] / D[s]
        for r, share in enumerate(L[s], start=s + 1):
            right[s] = right[s] - share * right[r]
    return tuple(right)


class BlockRow(NamedTuple):
    """L, D and U of one row, and its right-hand side; the first has L = 0 and the last U = 0."""

    L: Matrix
    D: Matrix
    U: Matrix
    r: Vector


def by_cyclic_reduction(rows: list[BlockRow]) -> tuple[list[Vector], int]:
    """Return the solution x and the number of parallel steps."""
    if len(rows) == 1:
        return [_solution(rows[0], rows[0].r)], 1
    solution, steps = by_cyclic_reduction([_reduced(rows, k) for k in range(1, len(rows), 2)])
    size = len(rows[0].r)
    nothing: Vector = (0.0,) * size
    x: list[Vector] = [nothing] * len(rows)
    x[1::2] = solution
    for k in range(0, len(rows), 2):
        before = x[k - 1] if k else nothing
        after = x[k + 1] if k + 1 < len(rows) else nothing
        known = sub(rows[k].r, times_vector(rows[k].L, before))
        x[k] = _solution(rows[k], sub(known, times_vector(rows[k].U, after)))
    return x, steps + 1


def _reduced(rows: list[BlockRow], k: int) -> BlockRow:
    """Row k with both its neighbours eliminated."""
    row, D, r = rows[k], rows[k].D, rows[k].r
    zero = [tuple(x * 0.0 for x in line) for line in row.D]
    L, U = zero, zero
    for side, other in ((row.L, k - 1), (row.U, k + 1)):
        if other >= len(rows):
            continue
        # L or U times D⁻¹ of the neighbour
        near = rows[other]
        share = transposed(divided(transposed(near.D), transposed(side)))
        r = sub(r, times_vector(share, near.r))
        if other < k:
            D, L = minus(D, matrix_times(share, near.U)), minus(zero, matrix_times(share, near.L))
        else:
            D, U = minus(D, matrix_times(share, near.L)), minus(zero, matrix_times(share, near.U))
    return BlockRow(L, D, U, r)


def _solution(row: BlockRow, right: Vector) -> Vector:
    return tuple(x for (x,) in divided(row.D, [(b,) for b in right]))
