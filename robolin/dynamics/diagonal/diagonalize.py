"""Diagonalized dynamics: ν̇ + C(q, ν) = ε, in velocities whose mass matrix is the identity.

ν = m* q̇        ε = m⁻¹ (τ - gravity - loads - friction)        m = (I + HφK) D^½

The un-normalized form has no square roots: D ξ̇ + C(q, ξ) = κ.  Both forms have an inverse
transformation to the velocities and torques of the joints.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.algebra.inertias import articulated_times, rigid_times
from robolin.dynamics.algebra.scalar import sqrt
from robolin.dynamics.algebra.vectors import add, dot, force_cross, motion_cross, scale, sub
from robolin.dynamics.diagonal.diagonal_tables import (
    articulated_rates,
    coriolis_of_groups,
    effort_to_epsilon,
    epsilon_to_effort,
    nu_to_velocity,
    velocity_to_nu,
)
from robolin.dynamics.inverse.inverse_dynamics import gravity_effort, net_effort
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies


def diagonalize(chain: Chain) -> None:
    """ν, ε, C(q, ν), the factor m and D from q, q̇ and τ."""
    # the factors of 𝓜
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    qd, root = chain.input("qd"), root_of_D(chain, art)

    # velocities, forces and Coriolis forces in the new coordinates
    xi = velocity_to_nu(chain, links, art, root, qd, "nu")
    effort_to_epsilon(chain, links, art, root, net_effort(chain, links), "epsilon")
    if chain.groups:
        felt = coriolis_of_groups(chain, links, art, xi, qd)
        for k in chain.tip_to_base():
            half = felt.Dd[k] * xi[k] * 0.5
            chain.out("coriolis", (k,), (felt.coriolis[k] - half) / root[k])
    else:
        coriolis_of_nu(chain, links, art, root, qd)

    # m = (I + HφK) D^½, column by column
    for j in chain.tip_to_base():
        chain.out("D", (j,), art.D[j])
        chain.out("m", (j, j), root[j])
        column = scale(art.G[j], root[j])
        for k in chain.inboard_of(j):
            chain.out("m", (k, j), dot(links.H[k], column))


def root_of_D(chain: Chain, art: Articulated) -> Scalars:
    root = chain.scalars()
    for k in chain.tip_to_base():
        root[k] = sqrt(art.D[k])
    return root


def coriolis_of_nu(
    chain: Chain, links: Links, art: Articulated, root: Scalars, qd: Scalars
) -> None:
    """Algorithm 7.1, with X = S[H* q̇] P.

    y(k) = τ̄(k-1) [y(k-1) + λ̇(k-1) V(k-1)]
           + 2 S[V] M V - (X - X*) V - λ̇ τ̄* V(k+1)
    C(k) = ½ D^-½ H y(k)
    """
    # link velocities and rates of articulated inertias
    V = velocities(chain, links, qd).V
    rate = articulated_rates(chain, links, art, qd)
    y_plus = chain.child_sums(6)
    for k in chain.tip_to_base():
        H, G, P, M = links.H[k], art.G[k], art.P[k], links.M[k]
        inboard, turn = V[chain.inboard(k)], scale(H, qd[k])
        free = sub(inboard, scale(H, dot(G, inboard)))

        # forces of link k itself, times two
        gyro = force_cross(V[k], rigid_times(M, V[k]))
        skew = add(
            force_cross(turn, articulated_times(P, V[k])),
            articulated_times(P, motion_cross(turn, V[k])),
        )
        own = sub(add(gyro, gyro), add(skew, articulated_times(rate[k], free)))

        # forces from outboard that pass through free hinges; half their projection is C
        y = add(y_plus[k], own)
        passed = add(y, articulated_times(rate[k], V[k]))
        y_plus.add_to_parent(k, sub(passed, scale(G, dot(H, passed))))
        chain.out("coriolis", (k,), dot(H, y) * 0.5 / root[k])


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


def undiagonalize(chain: Chain) -> None:
    """q̇ and τ from q, ν and ε."""
    _back(chain, chain.input("nu"), chain.input("epsilon"), normalized=True)


def undiagonalize_unnormalized(chain: Chain) -> None:
    """q̇ and τ from q, ξ and κ."""
    _back(chain, chain.input("xi"), chain.input("kappa"), normalized=False)


def _back(chain: Chain, nu: Scalars, epsilon: Scalars, *, normalized: bool) -> None:
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    root = root_of_D(chain, art) if normalized else None

    # Tables 1 and 2 backwards
    qd = nu_to_velocity(chain, links, art, root, nu)
    effort = epsilon_to_effort(chain, links, art, root, epsilon)

    # add gravity and loads, which the forward transformation subtracted
    standing = gravity_effort(chain, links)
    for k in chain.tip_to_base():
        chain.out("tau", (k,), effort[k] + standing[k] + friction_loss(chain, k, qd[k]))
