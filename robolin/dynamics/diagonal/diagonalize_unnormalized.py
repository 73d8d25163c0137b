"""Diagonalized dynamics without square roots: D ξ̇ + C(q, ξ) = κ."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.algebra.inertias import articulated_times, rigid_times
from robolin.dynamics.algebra.vectors import add, dot, force_cross, scale, sub
from robolin.dynamics.diagonal.coriolis_of_groups import coriolis_of_groups
from robolin.dynamics.diagonal.diagonal_rates import articulated_rates
from robolin.dynamics.diagonal.diagonal_tables import effort_to_epsilon, net_effort, velocity_to_nu
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies


def diagonalize_unnormalized(chain: Chain) -> None:
    """ξ, κ, C(q, ξ), the factor I + HφK and D from q, q̇ and τ."""
    # the factors of 𝓜
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    qd = chain.input("qd")

    # velocities, forces and Coriolis forces in the new coordinates
    xi = velocity_to_nu(chain, links, art, None, qd, "xi")
    effort_to_epsilon(chain, links, art, None, net_effort(chain, links), "kappa")
    if chain.groups:
        felt = coriolis_of_groups(chain, links, art, xi, qd)
        for k in chain.tip_to_base():
            chain.out("coriolis", (k,), felt.coriolis[k])
    else:
        coriolis_of_xi(chain, links, art, xi, qd)

    # I + HφK, column by column
    for j in chain.tip_to_base():
        chain.out("D", (j,), art.D[j])
        chain.out("factor", (j, j), 1.0)
        for k in chain.inboard_of(j):
            chain.out("factor", (k, j), dot(links.H[k], art.G[j]))


def coriolis_of_xi(chain: Chain, links: Links, art: Articulated, xi: Scalars, qd: Scalars) -> None:
    """Recursion 7.10, with X = S[H* q̇] P.

    y(k) = τ̄(k-1) y(k-1) + λ̇ H* ξ + S[V] M V - X V            C(k) = H y(k)
    """
    # link velocities and rates of articulated inertias
    V = velocities(chain, links, qd).V
    rate = articulated_rates(chain, links, art, qd)
    y_plus = chain.child_sums(6)
    for k in chain.tip_to_base():
        H, G, Vk = links.H[k], art.G[k], V[k]

        # forces of link k itself
        gyro = force_cross(Vk, rigid_times(links.M[k], Vk))
        turned = force_cross(scale(H, qd[k]), articulated_times(art.P[k], Vk))
        changed = articulated_times(rate[k], scale(H, xi[k]))

        # and forces from outboard that pass through free hinges
        y = add(y_plus[k], add(changed, sub(gyro, turned)))
        y_plus.add_to_parent(k, sub(y, scale(G, dot(H, y))))
        chain.out("coriolis", (k,), dot(H, y))
