"""Articulated-body inertias and the innovations factors of the mass matrix, O(n).

𝓜 = (I + HφK) D (I + HφK)*        𝓜⁻¹ x = (I - HψK)* D⁻¹ (I - HψK) x
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import articulated_from, articulated_times, rank_one
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, scale, sub
from robolin.dynamics.links.link_poses import Links, forward_kinematics


# annotations are evaluated: a named tuple compiles texts, 1.3 million instructions each
class Articulated(NamedTuple):
    """P (21), its hinge column P H* (6), D and 1/D, and the gain G (6) of every link."""

    P: Slots
    PH: Slots
    D: Scalars
    Dinv: Scalars
    G: Slots


def articulated_bodies(chain: Chain, links: Links, driven: Scalars | None = None) -> Articulated:
    """Inertia of each link with everything outboard of it, with free hinges outboard.

    P(k) = P⁺(k-1) + M(k)
    D(k) = H(k) P(k) H*(k) + armature
    G(k) = P(k) H*(k) / D(k)
    P⁺(k) = P(k) - G(k) [P(k) H*(k)]*      = τ̄(k) P(k),  the hinge k now free as well

    A driven hinge, with `driven` 1 instead of 0, is not free: its G and 1/D are 0, and P⁺ is P.
    """
    P, PH, G = chain.slots(21), chain.slots(6), chain.slots(6)
    D, Dinv = chain.scalars(), chain.scalars()
    P_plus, R = chain.child_sums(21), chain.child_sums(10)

    for k in chain.tip_to_base():
        # inertia transmitted through free hinges outboard, plus the link itself
        H = links.H[k]
        P[k] = add(P_plus[k], articulated_from(links.M[k]))
        PH[k] = articulated_times(P[k], H)

        # inertia about the hinge itself; if it is zero, the acceleration is unbounded
        frozen = add(R[k], links.M[k])
        R.add_to_parent(k, frozen)
        about_hinge = dot(H, PH[k]) + chain.armature(k)
        if driven is not None:
            # prescribed motion needs no inertia
            about_hinge = about_hinge + driven[k] * driven[k]
        D[k] = chain.guard_inertia(k, about_hinge, partial(pivot_scale, frozen, H))

        # free the hinge: inertia along its axis is not transmitted inboard
        Dinv[k] = 1.0 / D[k] if driven is None else (1.0 - driven[k]) / D[k]
        G[k] = scale(PH[k], Dinv[k])
        P_plus.add_to_parent(k, sub(P[k], rank_one(G[k], PH[k])))

    return Articulated(P, PH, D, Dinv, G)


def pivot_scale(frozen: Vector, H: Vector) -> Scalar:
    """The magnitude of D with the hinges outboard frozen and without cancellation.

    All terms of D have at most this magnitude, so its rounding error is proportional to it.
    """
    m, J = frozen[0], frozen[4:]
    return dot(tuple(h * h for h in H), (J[0], J[3], J[5], m, m, m))


def apply_inverse_mass(chain: Chain, links: Links, art: Articulated, push: Scalars) -> Scalars:
    """Accelerations caused by the torques `push` alone, from rest and without gravity."""
    return response(chain, links, art, push)[0]


def response(chain: Chain, links: Links, art: Articulated, push: Scalars) -> tuple[Scalars, Slots]:
    """The same, with λ, the accelerations of the links.

    tip to base   ε(k) = x(k) - H z⁺(k-1)          z⁺(k) = z⁺(k-1) + G ε
    base to tip   y(k) = ε/D - G* λ(k+1)            λ(k) = λ(k+1) + H* y
    """
    epsilon, y = chain.scalars(), chain.scalars()
    z_plus, lam = chain.child_sums(6), chain.slots(6)

    # innovations: (I - HψK) x
    for k in chain.tip_to_base():
        epsilon[k] = push[k] - dot(links.H[k], z_plus[k])
        z_plus.add_to_parent(k, add(z_plus[k], scale(art.G[k], epsilon[k])))

    # accelerations: (I - HψK)* D⁻¹ ε
    lam[chain.base] = ZERO6
    for k in chain.base_to_tip():
        up = chain.inboard(k)
        y[k] = art.Dinv[k] * epsilon[k] - dot(art.G[k], lam[up])
        lam[k] = add(lam[up], scale(links.H[k], y[k]))
    return y, lam


def innovations_factors(chain: Chain) -> None:
    """I + HφK, D and (I + HφK)⁻¹ = I - HψK, O(n · depth).

    [HφK](k,j) =  H(k) G(j)                      for k inboard of j
    [HψK](k,j) =  H(k) x,   x = G(j) at first,   x = τ̄(k) x after every hinge k passed
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    for j in chain.tip_to_base():
        # the diagonal
        chain.out("D", (j,), art.D[j])
        chain.out("factor", (j, j), 1.0)
        chain.out("factor_inverse", (j, j), 1.0)

        # effect of hinge j on hinges inboard: locked in the factor, free in its inverse
        x = chain.accumulator(art.G[j])
        for k in chain.inboard_of(j):
            chain.out("factor", (k, j), dot(links.H[k], art.G[j]))
            entry = -dot(links.H[k], x.value)
            chain.out("factor_inverse", (k, j), entry)
            x.value = add(x.value, scale(art.G[k], entry))


def inverse_by_factors(chain: Chain) -> None:
    """𝓜⁻¹ = (I - HψK)* D⁻¹ (I - HψK), a unit torque at one hinge at a time, O(n²)."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    for c in chain.tip_to_base():
        # a unit torque
        push = chain.zeros()
        push[c] = 1.0
        column = apply_inverse_mass(chain, links, art, push)
        for k in chain.tip_to_base():
            chain.out("mass_matrix_inverse", (k, c), column[k])
