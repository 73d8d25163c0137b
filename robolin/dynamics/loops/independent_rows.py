"""Independent rows of the loop-closure constraints, and the step that projects onto them.

Gram–Schmidt with pivoting, as in `robolin.evaluation.loop_linear_algebra`: the longest remainder is
next, until all are shorter than 1e-9 of the longest row.  The choice depends on the state, and an
algorithm has no branches, so a choice is a vector of ones and zeros that multiplies all rows.  All
loops run over independent coordinates.  The projection is the minimum-norm first-order step, O(n).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Slots
from robolin.dynamics.algebra.scalar import Scalar, Vector, sqrt
from robolin.dynamics.algebra.trigonometry import if_less
from robolin.dynamics.algebra.vectors import add, added_up, dot, scale, sub
from robolin.dynamics.links.link_motion import bias_motion
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.loops.closures import (
    by_coordinates,
    closure_columns,
    closure_ends,
    closure_velocity,
    gaps,
    out_gaps,
    row_count,
)

# remainders relative to the largest row: dependent below this, ambiguous between these
DEPENDENT_WITHIN = 1e-9
DOUBTFUL = (1e-13, 1e-6)


class Basis(NamedTuple):
    """Factors of L = R Q on the rows kept, in the order of selection.

    Q:       the orthonormal directions, one entry of each per coordinate
    R:       R(s) (s + 1 entries), components of the s-th selected row along directions 1 … s
    picks:   for each step, 1 at the selected row and 0 elsewhere; all 0 if none
    """

    Q: Slots
    R: list[Vector]
    picks: list[Vector]

    @property
    def kept(self) -> Vector:
        """1 for every selected row, 0 for the others."""
        return tuple(added_up(marks) for marks in zip(*self.picks, strict=True))


def independent_rows(chain: Chain, L: Slots, count: int) -> Basis:
    """Normalize the longest remainder, project it out of all remainders, and repeat.

    q(s)   = rest(p) / |rest(p)|,  made orthogonal to q(1) … q(s-1) once more against rounding
    rest   = rest - (rest · q(s)) q(s)
    R(s,t) = L(p) · q(t),  t ≤ s
    """
    rest, Q = chain.slots(count), chain.slots(count)
    for j in chain.coordinates():
        rest[j], Q[j] = L[j], (0.0,) * count
    basis = Basis(Q, [], [])

    def squares(j: LinkNumber) -> Vector:
        return tuple(x * x for x in rest[j])

    sizes = summed(chain, count, squares)
    largest = _longest(sizes)[1]
    for s in range(count):
        pick = _picked(chain, sizes, basis, largest)
        _take(chain, L, rest, basis, pick)
        sizes = summed(chain, count, squares) if s < count - 1 else ()
    return basis


def _take(chain: Chain, L: Slots, rest: Slots, basis: Basis, pick: Vector) -> None:
    """Add one direction and project it out; no effect if no row was selected."""
    Q, s, count = basis.Q, len(basis.R), len(pick)
    row = chain.scalars()
    for j in chain.coordinates():
        row[j] = dot(pick, rest[j])
    again = summed(chain, s, lambda j: scale(Q[j][:s], row[j]))
    for j in chain.coordinates():
        row[j] = row[j] - dot(again, Q[j][:s]) if s else row[j]
    square = summed(chain, 1, lambda j: (row[j] * row[j],))[0]
    shorten = 1.0 / sqrt(square + (1.0 - added_up(pick)))
    for j in chain.coordinates():
        Q[j] = (*Q[j][:s], row[j] * shorten, *Q[j][s + 1 :])
    along = summed(chain, count, lambda j: scale(rest[j], Q[j][s]))
    for j in chain.coordinates():
        rest[j] = sub(rest[j], scale(along, Q[j][s]))
    basis.picks.append(pick)
    basis.R.append(summed(chain, s + 1, lambda j: scale(Q[j][: s + 1], dot(pick, L[j]))))


def _picked(chain: Chain, sizes: Vector, basis: Basis, largest: Scalar) -> Vector:
    """1 at the longest remaining row if it is long enough; the first one of equal length."""
    taken = basis.kept if basis.picks else (0.0,) * len(sizes)
    left = tuple(if_less(0.5, mark, 0.0, size) for mark, size in zip(taken, sizes, strict=True))
    index, longest = _longest(left)
    is_independent = if_less(DEPENDENT_WITHIN**2 * largest, longest, 1.0, 0.0)
    low, high = (edge * edge * largest for edge in DOUBTFUL)
    doubtful = if_less(low, longest, if_less(longest, high, 1.0, 0.0), 0.0)
    chain.guard_rank("closure_basis", 0.5 - doubtful, 0.0)
    away = ((index - i) * (index - i) for i in range(len(sizes)))
    return tuple(if_less(each, 0.5, is_independent, 0.0) for each in away)


def _longest(sizes: Vector) -> tuple[Scalar, Scalar]:
    """The index of the largest entry, and the entry."""
    index: Scalar = 0.0
    longest = sizes[0]
    for i, size in enumerate(sizes[1:], start=1):
        index = if_less(longest, size, float(i), index)
        longest = if_less(longest, size, size, longest)
    return index, longest


def least_solution(basis: Basis, rows: Vector) -> Vector:
    """y with R y = rows on the rows kept: Q* y is the shortest x with L x = rows."""
    y: list[Scalar] = []
    for pick, R in zip(basis.picks, basis.R, strict=True):
        known = added_up(tuple(a * b for a, b in zip(R, y, strict=False)))
        y.append((dot(pick, rows) - known) / _pivot(pick, R))
    return tuple(y)


def forces(basis: Basis, along: Vector) -> Vector:
    """λ with (L* λ) · q(s) = along(s), zero in the omitted rows."""
    lam: Vector = (0.0,) * len(along)
    taken: list[Scalar] = [0.0] * len(along)
    for s in reversed(range(len(along))):
        known = added_up(tuple(basis.R[t][s] * taken[t] for t in range(s + 1, len(along))))
        taken[s] = (along[s] - known) / _pivot(basis.picks[s], basis.R[s])
        lam = add(lam, scale(basis.picks[s], taken[s]))
    return lam


def _pivot(pick: Vector, R: Vector) -> Scalar:
    """The divisor: the row's component along its own direction, or 1 if no row was selected."""
    return R[-1] + (1.0 - added_up(pick))


def summed(chain: Chain, size: int, term: Callable[[LinkNumber], Vector]) -> Vector:
    """Sum a vector per coordinate over all coordinates."""
    so_far = chain.accumulator((0.0,) * size)
    for j in chain.coordinates():
        so_far.value = add(so_far.value, term(j))
    return so_far.value


def closing_step(chain: Chain) -> None:
    """The shortest δq with L δq = φ and δq̇ with L δq̇ = L q̇; subtracting them closes the loops."""
    # constraint violation and its rate
    links, qd, count = forward_kinematics(chain, weighed=False), chain.input("qd"), row_count(chain)
    ends, moving = closure_ends(chain, links), bias_motion(chain, links, qd)
    out_gaps(chain, ends)

    # the independent equations, and the shortest steps that satisfy them
    L = by_coordinates(chain, closure_columns(chain, links, ends), count)
    basis = independent_rows(chain, L, count)
    dq = least_solution(basis, gaps(ends)[0])
    dqd = least_solution(basis, closure_velocity(chain, ends, moving))

    # coordinate by coordinate
    out_dq, out_dqd = chain.result("dq"), chain.result("dqd")
    for j in chain.coordinates():
        out_dq[j] = dot(dq, basis.Q[j])
        out_dqd[j] = dot(dqd, basis.Q[j])
