"""Coriolis forces of diagonalized dynamics with multi-DoF joints, O(n)."""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.algebra.inertias import articulated_times, rigid_times
from robolin.dynamics.algebra.vectors import add, dot, force_cross, scale, sub
from robolin.dynamics.diagonal.diagonal_rates import own_rate, rates_in_bodies
from robolin.dynamics.links.group_rotors import carried_rotors, gyroscopic_torque
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated


class CoriolisOfGroups(NamedTuple):
    """C(q, ξ), and Ḋ, half of which times ξ is the difference to D^½ C(q, ν)."""

    coriolis: Scalars
    Dd: Scalars


def coriolis_of_groups(
    chain: Chain, links: Links, art: Articulated, xi: Scalars, qd: Scalars
) -> CoriolisOfGroups:
    """Bias forces of q̇ without the rate of the gains; W is the velocity of the joint's body.

    z(k) = z⁺(k-1) + S[V] M V + P Ḣ* q̇                      z⁺(k) = z - G (H z + b)
    C(k) = H z + b - H λ̇ (V - H* ξ) + D G* (W x V(k+1))         Ḋ = H λ̇ H*
    """
    moving = velocities(chain, links, qd)
    rate = rates_in_bodies(chain, links, art, moving.V)
    rotors = carried_rotors(chain, links, qd)
    felt, z_plus = CoriolisOfGroups(chain.scalars(), chain.scalars()), chain.child_sums(6)
    for k in chain.tip_to_base():
        V, H = moving.V[k], links.H[k]

        # bias force on link k with the hinges outboard free
        gyro = force_cross(V, rigid_times(links.M[k], V))
        z = add(add(z_plus[k], gyro), articulated_times(art.P[k], scale(moving.Hd[k], qd[k])))
        along = dot(H, z)
        if rotors is not None:
            along = along + gyroscopic_torque(chain, links, rotors, k)
        z_plus.add_to_parent(k, sub(z, scale(art.G[k], along)))

        # and the rate of the hinge's own gain G
        turned = articulated_times(rate[k], H)
        changed = dot(turned, sub(V, scale(H, xi[k])))
        felt.Dd[k] = dot(H, turned)
        felt.coriolis[k] = along - changed + own_rate(chain, art, moving.V, k)
    return felt
