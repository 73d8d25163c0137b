"""Operational-space dynamics by elimination in 𝓜, also with mimic joints, O(n³).

Λ⁻¹ = J 𝓜⁻¹ J* = Y* D⁻¹ Y  with  L Y = J*  and  𝓜 = L D L*
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Slots
from robolin.dynamics.algebra.scalar import Vector
from robolin.dynamics.algebra.vectors import add, scale, sub
from robolin.dynamics.forward.conventional import accelerations_conventional
from robolin.dynamics.frames.operational_space import free_acceleration, out_inertia, out_inverse
from robolin.dynamics.frames.tip_frame import TipFrame, at_point, tip_frame
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.elimination import EliminationFactors


def operational_space_inverse_conventional(chain: Chain) -> None:
    """Λ⁻¹, and a for F = 0, from q, q̇ and τ; both exist in every state."""
    _inverse(chain)


def operational_space_conventional(chain: Chain) -> None:
    """The same with Λ, and μ = -Λ a with a for F = 0."""
    out_inertia(chain, *_inverse(chain))


def _inverse(chain: Chain) -> tuple[Vector, Vector]:
    """Write and return Λ⁻¹ (21) and the free acceleration (6)."""
    links = forward_kinematics(chain)
    tip = tip_frame(chain, links)
    qdd, factors = accelerations_conventional(chain, links)
    Y = _transposed_jacobian(chain, links, tip)
    _solve(chain, factors, Y)

    # Y* D⁻¹ Y, coordinate by coordinate
    total = chain.accumulator((0.0,) * 21)
    for j in chain.coordinates():
        y, weighed = Y[j], scale(Y[j], factors.Dinv[j])
        share = tuple(y[a] * weighed[b] for a in range(6) for b in range(a, 6))
        total.value = add(total.value, share)
    inverse = total.value
    free = free_acceleration(chain, links, qdd.on_links(), tip)
    out_inverse(chain, tip, inverse, free)
    return inverse, free


def _transposed_jacobian(chain: Chain, links: Links, tip: TipFrame) -> Slots:
    """J*: the columns of each coordinate's own hinge and of its mimic joints, summed."""
    rows = [chain.column() for _ in range(6)]
    for j in chain.coordinates():
        for row in rows:
            row[j] = 0.0
    for k in chain.path_of(tip.link):
        column = at_point(links.H[k], tip.r)
        for row, entry in zip(rows, column, strict=True):
            row.add((k,), entry)
    J = chain.slots(6)
    for j in chain.coordinates():
        J[j] = tuple(row[j] for row in rows)
    return J


def _solve(chain: Chain, factors: EliminationFactors, Y: Slots) -> None:
    """Overwrite Y with L⁻¹ Y."""
    for r in chain.coordinates():
        row = chain.accumulator(Y[r])
        for j in chain.coordinates(before=r):
            row.value = sub(row.value, scale(Y[j], factors.L[r, j]))
        Y[r] = row.value
