"""Solving with the mass matrix itself: 𝓜 = L D L*, eliminated from the tip to the base.

Taken in this order, L is the papers' factor I + HφK and D their D: no square roots, and a pivot
that is not positive names its joint.  Everything here runs over independent coordinates, so it is
also how arms with mimic joints are solved.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from robolin.algebra.chain import Chain, LinkNumber, Scalars, Slots, Table
from robolin.algebra.scalar import Scalar
from robolin.algebra.vectors import add, scale, sub
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import without_cancellation


class Factors(NamedTuple):
    """L below its unit diagonal, and 1/D."""

    L: Table
    Dinv: Scalars


def eliminate(chain: Chain, links: Links, name: str) -> Factors:
    """Factor the held symmetric matrix in place.

    D(j)   = 𝓜(j,j)        L(r,j) = 𝓜(r,j) / D(j)
    𝓜(r,s) = 𝓜(r,s) - L(r,j) 𝓜(s,j)           for all r ≥ s > j
    """
    sizes = _sizes(chain, links)

    def positive(j: LinkNumber, D: Scalar) -> Scalar:
        return chain.positive(chain.leader(j), D, partial(sizes.__getitem__, (j, j)))

    return eliminate_with(chain, name, positive)


def eliminate_with(
    chain: Chain, name: str, checked: Callable[[LinkNumber, Scalar], Scalar]
) -> Factors:
    """The same, every D(j) looked at by `checked` before it is divided by."""
    A, Dinv, pivot = chain.held(name), chain.scalars(), chain.scalars()

    for j in chain.coordinates():
        Dinv[j] = 1.0 / checked(j, A[j, j])
        for r in chain.coordinates_after(j):
            pivot[r] = A[r, j]
        for r in chain.coordinates_after(j):
            factor = pivot[r] * Dinv[j]
            A[r, j] = factor
            for s in chain.coordinates_between(j, r):
                A[r, s] = A[r, s] - factor * pivot[s]
    return Factors(A, Dinv)


def _sizes(chain: Chain, links: Links) -> Table:
    """What the diagonal of 𝓜 would be if nothing cancelled: the yardstick for its rounding."""
    chain.begin("size")
    R = chain.sums(10)
    for k in chain.tip_to_base():
        frozen = add(R[k], links.M[k])
        R.hand_inboard(k, frozen)
        chain.hold("size", (k, k), without_cancellation(frozen, links.H[k]))
    return chain.held("size")


def solve(chain: Chain, factors: Factors, x: Slots) -> None:
    """Overwrite x with 𝓜⁻¹ x; each x(j) is a row of as many right-hand sides as there are."""
    L, Dinv = factors
    for r in chain.coordinates():
        row = chain.cell(x[r])
        for j in chain.coordinates_before(r):
            row.value = sub(row.value, scale(x[j], L[r, j]))
        x[r] = row.value
    for j in chain.coordinates_back():
        row = chain.cell(scale(x[j], Dinv[j]))
        for r in chain.coordinates_after(j):
            row.value = sub(row.value, scale(x[r], L[r, j]))
        x[j] = row.value


def inverse_column(chain: Chain, factors: Factors, c: LinkNumber) -> Scalars:
    """Column c of 𝓜⁻¹ on and below the diagonal; the rest follows by symmetry."""
    L, Dinv = factors
    x = chain.scalars()
    x[c] = 1.0
    for r in chain.coordinates_after(c):
        x[r] = 0.0
    for j in chain.coordinates_from(c):
        for r in chain.coordinates_after(j):
            x[r] = x[r] - L[r, j] * x[j]
    for j in chain.coordinates_back_to(c):
        entry = chain.cell((x[j] * Dinv[j],))
        for r in chain.coordinates_after(j):
            entry.value = (entry.value[0] - L[r, j] * x[r],)
        x[j] = entry.value[0]
    return x
