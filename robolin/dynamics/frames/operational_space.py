"""Operational-space dynamics Λ a + μ = F, with Λ⁻¹ = J 𝓜⁻¹ J*.

a is the classical acceleration of the frame, F an external wrench on it.  Recursions compute Λ⁻¹
without J or 𝓜, O(n).  Elimination in 𝓜 also supports mimic joints, O(n³):

    Λ⁻¹ = Y* D⁻¹ Y  with  L Y = J*  and  𝓜 = L D L*
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import (
    ENTRY_INDEX,
    ZERO_ARTICULATED,
    articulated_times,
    rank_one,
    symmetric_inverse,
)
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.trigonometry import if_less
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, scale, sub
from robolin.dynamics.forward.conventional import accelerations_conventional
from robolin.dynamics.forward.forward_dynamics import hinge_accelerations
from robolin.dynamics.frames.frame_motion import (
    TipFrame,
    at_point,
    classical,
    out_rotation,
    out_spatial,
    tip_frame,
    transposed_jacobian,
)
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies
from robolin.dynamics.mass_matrix.elimination import EliminationFactors

# a pivot below this fraction of its value before elimination is a singular direction
LOST_RANK = 1e-10

INVERSE, INERTIA = "operational_inertia_inverse", "operational_inertia"


def operational_space_inverse(chain: Chain) -> None:
    """Λ⁻¹, and a for F = 0, from q, q̇ and τ; both exist in every state."""
    operational_inverse(chain)


def operational_space(chain: Chain) -> None:
    """The same with Λ, and μ = -Λ a with a for F = 0."""
    out_inertia(chain, *operational_inverse(chain))


def out_inertia(chain: Chain, inverse: Vector, free: Vector) -> None:
    """Write Λ and μ; flag a singular pose, where Λ does not exist."""
    # a pivot that has lost nearly all of its size is a singular direction
    least = _least_share(chain)
    inertia = symmetric_inverse(
        inverse, lambda pivot, size: chain.guard_rank(INERTIA, pivot, size * least)
    )
    _out_symmetric(chain, INERTIA, inertia)
    out_spatial(chain, "bias_wrench", tuple(-x for x in articulated_times(inertia, free)))


def _least_share(chain: Chain) -> Scalar:
    """The fraction that a pivot must keep; with fewer than six joints Λ⁻¹ is singular."""
    joints = chain.accumulator((0.0,))
    for _ in chain.path_of(chain.tip.link):
        joints.value = (joints.value[0] + 1.0,)
    # pivots never grow during elimination, so a required ratio of 2 always fails
    return if_less(joints.value[0], 6.0, 2.0, LOST_RANK)


def operational_inverse(chain: Chain) -> tuple[Vector, Vector]:
    """Write and return Λ⁻¹ (21) and the free acceleration (6).

    Λ⁻¹ = T Λ(k) T*, with Λ(k) of the frame's link and T the shift of a motion to its point.
    """
    links = forward_kinematics(chain)
    art, tip = articulated_bodies(chain, links), tip_frame(chain, links)
    Lam = link_responses(chain, links, art)[tip.link]

    # the same at the frame's point: columns first, then rows
    columns = [at_point(tuple(Lam[entry] for entry in row), tip.r) for row in ENTRY_INDEX]
    rows = [at_point(tuple(column[i] for column in columns), tip.r) for i in range(6)]
    inverse = tuple(rows[i][j] for i in range(6) for j in range(i, 6))
    free = free_acceleration(chain, links, hinge_accelerations(chain, links, art), tip)
    out_inverse(chain, tip, inverse, free)
    return inverse, free


def out_inverse(chain: Chain, tip: TipFrame, inverse: Vector, free: Vector) -> None:
    """Write Λ⁻¹ and the free acceleration, with the rotation to the frame's axes."""
    _out_symmetric(chain, INVERSE, inverse)
    out_spatial(chain, "free_acceleration", free)
    out_rotation(chain, tip)


def link_responses(chain: Chain, links: Links, art: Articulated) -> Slots:
    """Response of every link to a force on itself: the diagonal of ψ* H* D⁻¹ H ψ.

    Λ(k) = τ̄* Λ(k+1) τ̄ + H* D⁻¹ H        from  Z = Λ(k+1) G,  L = 1/D + G* Z,  U = L H - Z*:
         = Λ(k+1) + H* U - Z H
    """
    Lam = chain.slots(21)
    Lam[chain.base] = ZERO_ARTICULATED
    for k in chain.base_to_tip():
        up, H, G = chain.inboard(k), links.H[k], art.G[k]

        # response of the link inboard, transmitted through the hinge, plus that of the hinge
        Z = articulated_times(Lam[up], G)
        U = sub(scale(H, art.Dinv[k] + dot(G, Z)), Z)
        Lam[k] = sub(add(Lam[up], rank_one(H, U)), rank_one(Z, H))
    return Lam


def free_acceleration(chain: Chain, links: Links, qdd: Scalars, tip: TipFrame) -> Vector:
    """J q̈ + J̇ q̇ with the q̈ caused by the given torques and loads."""
    qd = chain.input("qd")
    moving, a = velocities(chain, links, qd), chain.accumulator(ZERO6)

    # contribution of every hinge that moves the frame
    for k in chain.path_of(tip.link):
        driven = add(scale(links.H[k], qdd[k]), scale(moving.Hd[k], qd[k]))
        a.value = add(a.value, driven)
    return classical(at_point(moving.V[tip.link], tip.r), at_point(a.value, tip.r))


def _out_symmetric(chain: Chain, name: str, A: Vector) -> None:
    for i in range(6):
        for j in range(6):
            chain.out(name, (i, j), A[ENTRY_INDEX[i][j]])


def operational_space_inverse_conventional(chain: Chain) -> None:
    """Λ⁻¹, and a for F = 0, from q, q̇ and τ; both exist in every state."""
    _inverse_by_elimination(chain)


def operational_space_conventional(chain: Chain) -> None:
    """The same with Λ, and μ = -Λ a with a for F = 0."""
    out_inertia(chain, *_inverse_by_elimination(chain))


def _inverse_by_elimination(chain: Chain) -> tuple[Vector, Vector]:
    """Write and return Λ⁻¹ (21) and the free acceleration (6)."""
    links = forward_kinematics(chain)
    tip = tip_frame(chain, links)
    qdd, factors = accelerations_conventional(chain, links)
    Y = transposed_jacobian(chain, links, tip)
    _solve(chain, factors, Y)

    # Y* D⁻¹ Y, coordinate by coordinate
    total = chain.accumulator((0.0,) * 21)
    for j in chain.coordinates():
        y, weighed = Y[j], scale(Y[j], factors.Dinv[j])
        share = tuple(y[a] * weighed[b] for a in range(6) for b in range(a, 6))
        total.value = add(total.value, share)
    inverse, free = total.value, free_acceleration(chain, links, qdd.on_links(), tip)
    out_inverse(chain, tip, inverse, free)
    return inverse, free


def _solve(chain: Chain, factors: EliminationFactors, Y: Slots) -> None:
    """Overwrite Y with L⁻¹ Y."""
    for r in chain.coordinates():
        row = chain.accumulator(Y[r])
        for j in chain.coordinates(before=r):
            row.value = sub(row.value, scale(Y[j], factors.L[r, j]))
        Y[r] = row.value
