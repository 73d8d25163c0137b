"""Small symmetric systems of equations, written out number by number, over any scalar."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from robolin.dynamics.algebra.scalar import Scalar, Vector


class SystemFactors(NamedTuple):
    """A = L D L*: the columns of L below its unit diagonal, and D."""

    L: list[Vector]
    D: list[Scalar]


def factored(A: Sequence[Vector], checked: Callable[[int, Scalar], Scalar]) -> SystemFactors:
    """Elimination without exchanging rows; every pivot is looked at before it is divided by."""
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
