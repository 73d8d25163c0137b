"""Terms of linearized forward dynamics, shared by Algorithms 5 and 6.

Articulated gyroscopic matrices P̂ and derived terms, and the contribution of dead and world loads
to ∂q̈/∂q.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Slots
from robolin.dynamics.algebra.inertias import (
    articulated_times,
    half_of,
    half_times,
    outer_half,
    times_half,
)
from robolin.dynamics.algebra.vectors import add, angular, dot, force_cross, scale, sub, twice
from robolin.dynamics.links.link_motion import NominalTerms, doubled
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.links.loads import nonfollower_correction
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, apply_inverse_mass


class Gyroscopics(NamedTuple):
    """Ĝ (3, its other half is zero), forces Y_A (6), Y_B (6) of unit δq̇ and δq, 2 Ḣ*, 2 Ṗ* (6)."""

    Ghat: Slots
    YA: Slots
    YB: Slots
    Hd2: Slots
    Pd2: Slots


def articulated_gyroscopics(
    chain: Chain, links: Links, one: NominalTerms, art: Articulated
) -> Gyroscopics:
    """Accumulate M̂ through free hinges, as P; its right half stays zero.

    P̂(k) = τ̄(k-1) P̂(k-1) + M̂(k)                   τ̄ = I - G H
    Ĝ(k) = P̂*(k) H* / D
    Y_A  = 2 [P̂ H* + P Ḣ*]                         Y_B = 2 P̂ Ḣ* + P Ḧ* + S[H*] f
    """
    Ghat, YA, YB = chain.slots(3), chain.slots(6), chain.slots(6)
    Hd2, Pd2 = doubled(chain, one)
    Phat_plus = chain.child_sums(18)

    for k in chain.tip_to_base():
        H, P = links.H[k], art.P[k]

        # M̂ of everything outboard, transmitted through free hinges
        Phat = add(Phat_plus[k], half_of(one.Mhat[k]))
        HPhat = times_half(H, Phat)
        Ghat[k] = scale(HPhat, art.Dinv[k])
        Phat_plus.add_to_parent(k, sub(Phat, outer_half(art.G[k], HPhat)))

        # forces that unit perturbations of hinge k need
        YA[k] = add(half_times(Phat, twice(angular(H))), articulated_times(P, Hd2[k]))
        YB[k] = add(
            add(half_times(Phat, angular(Pd2[k])), articulated_times(P, one.Hdd[k])),
            force_cross(H, one.f[k]),
        )

    return Gyroscopics(Ghat, YA, YB, Hd2, Pd2)


def correct_for_fixed_loads(chain: Chain, links: Links, art: Articulated) -> None:
    """∂q̈/∂q(·,c) += 𝓜⁻¹ [H(a) nonfollower_correction(H*(c))]; a, c from the load to the base."""
    dqdd_dq = chain.result("dqdd_dq")
    for load in chain.loads:
        if load.model == "follower":
            continue
        for c in chain.path_of(load.link):
            # load correction for a motion of hinge c, on every hinge inboard of the load
            excess = nonfollower_correction(load, links, links.H[c])
            push = chain.zeros()
            for a in chain.path_of(load.link):
                push[a] = dot(links.H[a], excess)

            # accelerates the arm the other way; other branches at the base do not respond
            relief = apply_inverse_mass(chain, links, art, push)
            for k in chain.branch_of(c):
                dqdd_dq.add((k, c), relief[k])
