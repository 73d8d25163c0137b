"""Articulated-body inertias and the innovations factors of the mass matrix, O(n)."""

from functools import partial
from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import articulated_from, articulated_times, rank_one
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add, dot, scale, sub
from robolin.dynamics.links.link_poses import Links


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
