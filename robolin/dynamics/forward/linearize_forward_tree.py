"""The linearized forward dynamics model of a tree, O(n²): Algorithm 6 with branches.

Algorithm 6 computes the effect of links outboard of hinge k by one recursion and the effect of
links inboard by another.  On a tree there are also links on other branches.  The response of the
whole tree to a torque at k covers them together with the outboard links.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots
from robolin.dynamics.algebra.inertias import half_times, outer_half, times_half
from robolin.dynamics.algebra.vectors import ZERO6, add, angular, dot, scale, sub, twice
from robolin.dynamics.forward.forward_dynamics import nominal
from robolin.dynamics.forward.linearization_terms import (
    Gyroscopics,
    articulated_gyroscopics,
    correct_for_fixed_loads,
)
from robolin.dynamics.links.group_rotors import correct_for_rotors
from robolin.dynamics.links.groups import correct_for_groups
from robolin.dynamics.links.joint_torques import friction_slopes, with_stiffness
from robolin.dynamics.links.link_motion import NominalTerms, nominal_terms
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated


def linearize_forward_tree(chain: Chain) -> None:
    """q̈ at q, q̇, τ, and the model around it."""
    forward_model_tree(chain, *nominal(chain))


def forward_model_tree(chain: Chain, links: Links, art: Articulated, qdd: Scalars) -> None:
    """𝓜⁻¹, ∂q̈/∂q̇ = -A_C and ∂q̈/∂q = -B_C, row by row.

    every j     A_C(k,j) = λ(j) Y_A(j)                     B_C(k,j) = λ(j) Y_B(j)
    j inboard   A_C(k,j) += W F_A(j) + Q H*(j)             B_C(k,j) += W F_B(j) + Q Ḣ*(j)
                W = G* at first,  W = W + ε(j) G*(j)

    λ is the response to a unit torque at k.  By reciprocity it is also the response of hinge k to
    a force on link j, which is the only effect of a perturbation unless j carries k.
    """
    one = nominal_terms(chain, links, qdd)
    gyros = articulated_gyroscopics(chain, links, one, art)
    slopes = friction_slopes(chain)
    effects = _outboard_effects(chain, links, one, art, gyros)
    dqdd_dqd, dqdd_dq = chain.result("dqdd_dqd"), chain.result("dqdd_dq")
    nu = chain.zeros()

    for k in chain.tip_to_base():
        # links that act on hinge k through the tree
        epsilon = _respond(chain, links, art, k, nu, gyros, slopes)

        # links that carry hinge k along
        Q, W = twice(effects.row[k]), chain.accumulator(art.G[k])
        for j in chain.inboard_of(k):
            A = dot(W.value, effects.FA[j]) + dot(Q, angular(links.H[j]))
            B = dot(W.value, effects.FB[j]) + dot(Q, angular(one.Pd[j]))
            dqdd_dqd.add((k, j), -A)
            dqdd_dq.add((k, j), -B)
            W.value = add(W.value, scale(art.G[j], epsilon[j]))

    correct_for_fixed_loads(chain, links, art)
    correct_for_groups(chain, links, art, one.f)
    correct_for_rotors(chain, links, art)


class OutboardEffects(NamedTuple):
    """Ĝ* - G* J (3) of every link, and the effect F_A, F_B of unit δq̇ and δq outboard of it."""

    row: Slots
    FA: Slots
    FB: Slots


def _outboard_effects(
    chain: Chain, links: Links, one: NominalTerms, art: Articulated, gyros: Gyroscopics
) -> OutboardEffects:
    """J(k) = J(k+1) + H* (Ĝ* - G* J(k+1));   F_A = 2 Ḣ* + 2 J H*;   F_B = Ḧ* + 2 J Ḣ*."""
    row, J, FA, FB = chain.slots(3), chain.slots(18), chain.slots(6), chain.slots(6)
    J[chain.base] = (0.0,) * 18
    for k in chain.base_to_tip():
        up, H = chain.inboard(k), links.H[k]
        row[k] = sub(gyros.Ghat[k], times_half(art.G[k], J[up]))
        J[k] = add(J[up], outer_half(H, row[k]))
        FA[k] = add(gyros.Hd2[k], half_times(J[k], twice(angular(H))))
        FB[k] = add(one.Hdd[k], half_times(J[k], angular(gyros.Pd2[k])))
    return OutboardEffects(row, FA, FB)


def _respond(
    chain: Chain,
    links: Links,
    art: Articulated,
    k: LinkNumber,
    nu: Scalars,
    gyros: Gyroscopics,
    slopes: Scalars,
) -> Scalars:
    """Response of every hinge and link to a unit torque at hinge k; return ε.

    inboard of k   ε(j) = -H z       z = z + G ε       ν = ε/D       from  z = G(k), ν = 1/D at k
    base to tip    y(j) = ν - G* λ(j+1) = 𝓜⁻¹(k,j)                   λ(j) = λ(j+1) + H* y

    Links on another branch at the base do not move.  ν is 0 before and after.
    """
    epsilon, lam = chain.scalars(), chain.slots(6)
    nu[k] = art.Dinv[k]
    z = chain.accumulator(art.G[k])
    for j in chain.inboard_of(k):
        epsilon[j] = -dot(links.H[j], z.value)
        nu[j] = art.Dinv[j] * epsilon[j]
        z.value = add(z.value, scale(art.G[j], epsilon[j]))

    lam[chain.base] = ZERO6
    for j in chain.branch_of(k):
        inboard = lam[chain.inboard(j)]
        y = nu[j] - dot(art.G[j], inboard)
        nu[j] = 0.0
        here = add(inboard, scale(links.H[j], y))
        lam[j] = here
        loss = y * slopes[j]
        chain.out("dqdd_dtau", (k, j), y)
        chain.out("dqdd_dqd", (k, j), -(dot(here, gyros.YA[j]) + loss))
        chain.out("dqdd_dq", (k, j), -with_stiffness(chain, j, dot(here, gyros.YB[j]), y))
    return epsilon
