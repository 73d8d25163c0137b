"""Algorithm 6: the linearized forward dynamics model of a serial chain, O(n²)."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.algebra.inertias import (
    ZERO_ARTICULATED,
    articulated_times,
    half_times,
    outer_half,
    times_half,
)
from robolin.dynamics.algebra.vectors import add, angular, dot, scale, sub, twice
from robolin.dynamics.forward.forward_dynamics import nominal
from robolin.dynamics.forward.linearization_terms import (
    articulated_gyroscopics,
    correct_for_fixed_loads,
)
from robolin.dynamics.links.group_rotors import correct_for_rotors
from robolin.dynamics.links.groups import correct_for_groups
from robolin.dynamics.links.joint_torques import friction_slopes, with_stiffness
from robolin.dynamics.links.link_motion import nominal_terms
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated
from robolin.dynamics.mass_matrix.inverse_mass_matrix import hinge_response


def linearize_forward(chain: Chain) -> None:
    """q̈ at q, q̇, τ, and the model around it."""
    forward_model(chain, *nominal(chain))


def forward_model(chain: Chain, links: Links, art: Articulated, qdd: Scalars) -> None:
    """𝓜⁻¹, ∂q̈/∂q̇ = -A_C and ∂q̈/∂q = -B_C, row by row from the base to the tip.

        Z = Λ(k+1) G        L = 1/D + G* Z = 𝓜⁻¹(k,k)         U = L H - Z*
        Λ(k) = Λ(k+1) + H* U - Z H                            what Ω = ψ* H* D⁻¹ H ψ is made of

    outboard, X = U at first, for j = k-1 … 1
        𝓜⁻¹(k,j) = -X G(j)                                    X = X + 𝓜⁻¹(k,j) H(j)
        A_C(k,j) = X Y_A(j)                                   B_C(k,j) = X Y_B(j)

    inboard, W = G* at first, for j = k+1 … n
        J(k) = J(k+1) + H* (Ĝ* - G* J(k+1))                   Q = 2 (Ĝ* - G* J(k+1))
        E_A = 2 Ḣ* - Λ Y_A + 2 J H*                           E_B = Ḧ* - Λ Y_B + 2 J Ḣ*
        A_C(k,j) = W E_A(j) + Q H*(j)                         B_C(k,j) = W E_B(j) + Q Ḣ*(j)
        W = W - (W H*(j)) G*(j)
    """
    one = nominal_terms(chain, links, qdd)
    gyros = articulated_gyroscopics(chain, links, one, art)
    slopes, Lam, J = friction_slopes(chain), chain.slots(21), chain.slots(18)
    EA, EB, Minv = chain.slots(6), chain.slots(6), chain.table()
    Lam[chain.base], J[chain.base] = ZERO_ARTICULATED, (0.0,) * 18

    for k in chain.base_to_tip():
        up, H, G = chain.inboard(k), links.H[k], art.G[k]
        L, U, Lam[k] = hinge_response(Lam[up], H, G, art.Dinv[k])
        Minv[k, k] = L
        chain.out("dqdd_dtau", (k, k), L)
        chain.out("dqdd_dqd", (k, k), -(dot(U, gyros.YA[k]) + L * slopes[k]))
        chain.out("dqdd_dq", (k, k), -with_stiffness(chain, k, dot(U, gyros.YB[k]), L))

        # links outboard of k push back through their own hinges
        X = chain.accumulator(U)
        for j in chain.outboard_of(k):
            entry = -dot(X.value, art.G[j])
            X.value = add(X.value, scale(links.H[j], entry))
            Minv[j, k] = entry
            chain.out("dqdd_dtau", (k, j), entry)
            chain.out("dqdd_dtau", (j, k), entry)
            chain.out("dqdd_dqd", (k, j), -(dot(X.value, gyros.YA[j]) + entry * slopes[j]))
            B = with_stiffness(chain, j, dot(X.value, gyros.YB[j]), entry)
            chain.out("dqdd_dq", (k, j), -B)

        # links inboard of k carry it along
        q_row = sub(gyros.Ghat[k], times_half(G, J[up]))
        J[k] = add(J[up], outer_half(H, q_row))
        Q = twice(q_row)
        W = chain.accumulator(G)
        for j in chain.inboard_of(k):
            A = dot(W.value, EA[j]) + dot(Q, angular(links.H[j]))
            chain.out("dqdd_dqd", (k, j), -(A + Minv[k, j] * slopes[j]))
            B = dot(W.value, EB[j]) + dot(Q, angular(one.Pd[j]))
            if chain.springs:
                B = B + Minv[k, j] * chain.stiffness(j)
            chain.out("dqdd_dq", (k, j), -B)
            W.value = sub(W.value, scale(art.G[j], dot(W.value, links.H[j])))

        # effect of hinge k on everything outboard of it
        Hd2, Pd2 = gyros.Hd2[k], gyros.Pd2[k]
        EA[k] = sub(
            add(Hd2, half_times(J[k], twice(angular(H)))), articulated_times(Lam[k], gyros.YA[k])
        )
        EB[k] = sub(
            add(one.Hdd[k], half_times(J[k], angular(Pd2))),
            articulated_times(Lam[k], gyros.YB[k]),
        )

    correct_for_fixed_loads(chain, links, art)
    correct_for_groups(chain, links, art, one.f)
    correct_for_rotors(chain, links, art)
