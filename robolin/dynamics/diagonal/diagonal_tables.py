"""Tables 1 and 2: transformations to and from diagonalizing velocities and forces, O(n).

normalized      ν = D^½ ξ        ε = D^-½ κ        `root` holds D^½
un-normalized   ξ = (I + HφK)* q̇    κ = (I - HψK) τ     `root` is None

Algorithm 6.1: rates of articulated inertias due to the motion outboard of them, which with
multi-DoF joints give the Coriolis forces.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Slots
from robolin.dynamics.algebra.inertias import (
    ENTRY_INDEX,
    articulated_through_hinge,
    articulated_times,
    articulated_turned,
    rigid_times,
)
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, force_cross, motion_cross, scale, sub
from robolin.dynamics.links.group_rotors import carried_rotors, gyroscopic_torque
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated


def velocity_to_nu(
    chain: Chain, links: Links, art: Articulated, root: Scalars | None, qd: Scalars, name: str
) -> Scalars:
    """Table 1, forward: ξ(k) = q̇(k) + G* V(k+1);   V(k) = V(k+1) + H* q̇(k)."""
    # each joint rate plus the contribution of the motion inboard
    V, xi = chain.slots(6), chain.scalars()
    V[chain.base] = ZERO6
    for k in chain.base_to_tip():
        inboard = V[chain.inboard(k)]
        xi[k] = qd[k] + dot(art.G[k], inboard)
        V[k] = add(inboard, scale(links.H[k], qd[k]))
        chain.out(name, (k,), xi[k] * root[k] if root else xi[k])
    return xi


def nu_to_velocity(
    chain: Chain, links: Links, art: Articulated, root: Scalars | None, nu: Scalars
) -> Scalars:
    """Table 1, inverse: q̇(k) = ξ(k) - G* V(k+1)."""
    # the same recursion, solved for the joint rate
    V, qd = chain.slots(6), chain.scalars()
    V[chain.base] = ZERO6
    for k in chain.base_to_tip():
        inboard = V[chain.inboard(k)]
        xi = nu[k] / root[k] if root else nu[k]
        qd[k] = xi - dot(art.G[k], inboard)
        V[k] = add(inboard, scale(links.H[k], qd[k]))
        chain.out("qd", (k,), qd[k])
    return qd


def effort_to_epsilon(
    chain: Chain, links: Links, art: Articulated, root: Scalars | None, effort: Scalars, name: str
) -> None:
    """Table 2, forward: κ(k) = τ(k) - H z⁺(k-1);   z⁺(k) = z⁺(k-1) + G κ(k)."""
    # each torque minus the contribution of the hinges outboard
    z_plus = chain.child_sums(6)
    for k in chain.tip_to_base():
        kappa = effort[k] - dot(links.H[k], z_plus[k])
        z_plus.add_to_parent(k, add(z_plus[k], scale(art.G[k], kappa)))
        chain.out(name, (k,), kappa / root[k] if root else kappa)


def epsilon_to_effort(
    chain: Chain, links: Links, art: Articulated, root: Scalars | None, epsilon: Scalars
) -> Scalars:
    """Table 2, inverse: τ(k) = κ(k) + H z⁺(k-1)."""
    # the same recursion, solved for the torque
    z_plus, effort = chain.child_sums(6), chain.scalars()
    for k in chain.tip_to_base():
        kappa = epsilon[k] * root[k] if root else epsilon[k]
        effort[k] = kappa + dot(links.H[k], z_plus[k])
        z_plus.add_to_parent(k, add(z_plus[k], scale(art.G[k], kappa)))
    return effort


def articulated_rates(chain: Chain, links: Links, art: Articulated, qd: Scalars) -> Slots:
    """λ̇ (21): the rate of P(k) due to the hinges outboard of k and k itself.

    λ̇(k) = τ̄(k-1) λ̇(k-1) τ̄*(k-1) + X(k) + X*(k)           X(k) = S[H* q̇] P(k)
    """
    rate, handed = chain.slots(21), chain.child_sums(21)
    for k in chain.tip_to_base():
        # hinge k moves its own body and, through free hinges, all bodies outboard of it
        turn = scale(links.H[k], qd[k])
        rate[k] = add(handed[k], articulated_turned(turn, art.P[k]))
        handed.add_to_parent(k, articulated_through_hinge(rate[k], links.H[k], art.G[k]))
    return rate


def rates_in_bodies(chain: Chain, links: Links, art: Articulated, V: Slots) -> Slots:
    """λ̇ (21) with multi-DoF joints: the rate of P(k) in the frame of its joint's body.

    All axes of a joint are fixed in its body, whose velocity is W; P⁺ = P - G D G*.

    λ̇(k) = λ̇⁺(k-1)        λ̇⁺(k) = τ̄ λ̇(k) τ̄* + Y + Y*        Y = S[W(k) - W(k+1)] P⁺(k)
    """
    rate, handed, W = chain.slots(21), chain.child_sums(21), chain.slots(6)
    W[chain.base] = V[chain.base]
    for k in chain.base_to_tip():
        W[k] = V[chain.groups.joint_body(k)]
    for k in chain.tip_to_base():
        rate[k] = handed[k]
        G, P = art.G[k], art.P[k]
        freed = tuple(
            P[ENTRY_INDEX[i][j]] - G[i] * art.D[k] * G[j] for i in range(6) for j in range(i, 6)
        )
        turn = sub(W[k], W[chain.inboard(k)])
        handed.add_to_parent(
            k,
            add(articulated_through_hinge(rate[k], links.H[k], G), articulated_turned(turn, freed)),
        )
    return rate


def own_rate(chain: Chain, art: Articulated, V: Slots, k: LinkNumber) -> Scalar:
    """D G* (W x V(k+1)): rate term of hinge k's gain from its body's motion relative to k+1."""
    body = V[chain.groups.joint_body(k)]
    return art.D[k] * dot(art.G[k], motion_cross(body, V[chain.inboard(k)]))


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
