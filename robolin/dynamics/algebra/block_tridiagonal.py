"""Block-tridiagonal systems: L(k) x(k-1) + D(k) x(k) + U(k) x(k+1) = r(k), over any scalar.

Sequential elimination of N blocks takes N dependent steps.  Cyclic reduction eliminates every other
block in parallel, which leaves a system of the same kind with half as many blocks.  It takes
⌈log₂(N+1)⌉ steps with one processor per block.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.small_matrices import (
    Matrix,
    divided,
    matrix_times,
    minus,
    times_vector,
    transposed,
)
from robolin.dynamics.algebra.vectors import sub


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
