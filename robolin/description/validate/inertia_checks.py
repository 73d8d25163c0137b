"""Whether a rotary inertia can belong to any body, and which slip of the pen would explain it.

The principal moments a ≤ b ≤ c of a real body satisfy a ≥ 0 and a + b ≥ c (∫y² + ∫z² and so on,
the integrals being positive).  Both are judged to `INERTIA_TOLERANCE` of c: six printed
figures leave that much, and a thin plate, a + b = c, must pass when its figures are rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import copysign, hypot, inf, sqrt

from robolin.arm import Inertia, Rotary

INERTIA_TOLERANCE = 1e-6
ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

# a figure someone typed has few digits; one that was computed, or turned into other axes, has many
TYPED_DIGITS = 12


def principal_moments(rotary: Rotary) -> tuple[float, float, float]:
    """The eigenvalues in rising order, by Jacobi's turns: small ones keep their digits."""
    scale = max(map(abs, rotary))
    if scale == 0.0:
        return 0.0, 0.0, 0.0
    xx, xy, xz, yy, yz, zz = (entry / scale for entry in rotary)
    A = [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]
    # convergence is quadratic: six sweeps are plenty, the bound only guards against a cycle
    for _ in range(30):
        if hypot(A[0][1], A[0][2], A[1][2]) == 0.0:
            break
        for p, q in ((0, 1), (0, 2), (1, 2)):
            _turn_away(A, p, q)
    a, b, c = sorted(A[i][i] * scale for i in range(3))
    return a, b, c


def _turn_away(A: list[list[float]], p: int, q: int) -> None:
    """One turn in the plane p, q that makes A[p][q] vanish."""
    small = abs(A[p][q])
    if abs(A[p][p]) + small == abs(A[p][p]) and abs(A[q][q]) + small == abs(A[q][q]):
        A[p][q] = A[q][p] = 0.0
        return
    if small == 0.0:
        return
    theta = (A[q][q] - A[p][p]) / (2.0 * A[p][q])
    t = copysign(1.0, theta) / (abs(theta) + hypot(theta, 1.0))
    c = 1.0 / hypot(t, 1.0)
    s = t * c
    r = 3 - p - q
    A[p][p], A[q][q] = A[p][p] - t * A[p][q], A[q][q] + t * A[p][q]
    A[p][q] = A[q][p] = 0.0
    A[p][r], A[q][r] = c * A[p][r] - s * A[q][r], s * A[p][r] + c * A[q][r]
    A[r][p], A[r][q] = A[p][r], A[q][r]


def positive(moments: tuple[float, float, float]) -> bool:
    """Whether no principal moment is below zero."""
    a, b, c = moments
    return a >= -INERTIA_TOLERANCE * max(abs(b), abs(c))


def triangle_shortfall(moments: tuple[float, float, float]) -> float:
    """By how much the two small moments miss the largest; 0 where they reach it."""
    a, b, c = moments
    return c - a - b if c - a - b > INERTIA_TOLERANCE * c else 0.0


def possible_inertia(rotary: Rotary) -> bool:
    """Whether some body has this inertia."""
    moments = principal_moments(rotary)
    return positive(moments) and triangle_shortfall(moments) == 0.0


def radius_of_gyration(body: Inertia) -> float:
    """How far from its centre a body's mass would sit to give its largest moment."""
    if body.mass <= 0.0:
        return inf if any(body.rotary) else 0.0
    return sqrt(max(0.0, principal_moments(body.rotary)[2]) / body.mass)


def decimal_point_repairs(rotary: Rotary) -> list[str]:
    """Entries whose decimal point, moved as little as needed, would make the inertia possible."""
    for places in (1, 2, 3):
        if found := [*_shifts(rotary, places), *_shifts(rotary, -places)]:
            return found
    return []


def _shifts(rotary: Rotary, places: int) -> Iterator[str]:
    from decimal import Decimal

    for i, entry in enumerate(rotary):
        figures = Decimal(repr(entry)).normalize()
        if entry == 0.0 or len(figures.as_tuple().digits) > TYPED_DIGITS:
            continue
        shifted = float(figures.scaleb(places))
        xx, xy, xz, yy, yz, zz = (shifted if j == i else rotary[j] for j in range(6))
        if possible_inertia((xx, xy, xz, yy, yz, zz)):
            yield f"{ENTRIES[i]} {entry:g} is meant as {shifted:g}"
