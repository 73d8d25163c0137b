"""Tables 1 and 2: transformations to and from diagonalizing velocities and forces, O(n).

normalized      ν = D^½ ξ        ε = D^-½ κ        `root` holds D^½
un-normalized   ξ = (I + HφK)* q̇    κ = (I - HψK) τ     `root` is None
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, Scalars
from robolin.dynamics.algebra.vectors import ZERO6, add, dot, scale
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.joint_torques import friction_loss
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


def net_effort(chain: Chain, links: Links) -> Scalars:
    """Net torque that accelerates the arm: τ minus gravity, loads and friction."""
    qd, tau, standing = chain.input("qd"), chain.input("tau"), gravity_effort(chain, links)
    effort = chain.scalars()
    for k in chain.tip_to_base():
        effort[k] = tau[k] - standing[k] - friction_loss(chain, k, qd[k])
    return effort


def gravity_effort(chain: Chain, links: Links) -> Column:
    """Static torque that balances gravity and loads."""
    tau, still = chain.column(), chain.zeros()
    torques(chain, links, still, still, tau)
    return tau
