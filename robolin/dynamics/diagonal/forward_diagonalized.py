"""Forward dynamics and rate control in diagonalizing velocities: q̇ and ξ̇, or ν̇, O(n).

ξ = (I + HφK)* q̇        ν = D^½ ξ
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars, Slots
from robolin.dynamics.algebra.inertias import articulated_times, rigid_times
from robolin.dynamics.algebra.vectors import add, dot, force_cross, scale, sub
from robolin.dynamics.diagonal.diagonal_tables import (
    articulated_rates,
    epsilon_to_effort,
    nu_to_velocity,
    own_rate,
    rates_in_bodies,
    velocity_to_nu,
)
from robolin.dynamics.diagonal.diagonalize import root_of_D
from robolin.dynamics.inverse.inverse_dynamics import gravity_effort, torques
from robolin.dynamics.links.joint_torques import conserving_torques, friction_loss, resisting_torque
from robolin.dynamics.links.link_motion import Velocities, base_acceleration, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.loads import external_forces, plus_external
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies


def forward_diagonalized(chain: Chain) -> None:
    """q̇ and ν̇ from q, ν and τ.

    ν̇ = D^½ ξ̇ + ½ D^-½ Ḋ ξ        Ḋ = H λ̇ H*
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    nu, root, xi = chain.input("nu"), root_of_D(chain, art), chain.scalars()
    for k in chain.tip_to_base():
        xi[k] = nu[k] / root[k]
    push, Dd = _pushes(chain, links, art, xi)
    for k in chain.tip_to_base():
        chain.out("nud", (k,), (push[k] + Dd[k] * xi[k] * 0.5) / root[k])


def forward_diagonalized_unnormalized(chain: Chain) -> None:
    """q̇ and ξ̇ from q, ξ and τ."""
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)
    push, _ = _pushes(chain, links, art, chain.input("xi"))
    for k in chain.tip_to_base():
        chain.out("xid", (k,), art.Dinv[k] * push[k])


def _pushes(chain: Chain, links: Links, art: Articulated, xi: Scalars) -> tuple[Scalars, Scalars]:
    """D ξ̇ and Ḋ; algorithm 8.1 with gravity, loads, friction and rotors.

    base to tip   q̇(k) = ξ(k) - G* V(k+1)                 V(k) = V(k+1) + H* q̇
    tip to base   z(k) = z⁺(k-1) + S[V] M V + M a0 + f0 + P c          c = Ḣ* q̇
                  D ξ̇(k) = τ - H z + H λ̇ (V - H* ξ)
                  z⁺(k) = z + G (τ - H z)

    The last term of ξ̇ is Ġ* V(k+1) with Ġ = [λ̇ H* - G Ḋ + S[V(k+1)] P H*] / D.  The last part of Ġ
    does no work on V(k+1), and V(k+1) - H* G* V(k+1) = V - H* ξ.
    """
    qd = nu_to_velocity(chain, links, art, None, xi)
    tau, moving, a0 = chain.input("tau"), velocities(chain, links, qd), base_acceleration(chain)
    rate = _rates(chain, links, art, moving, qd)
    f0, needed = external_forces(chain, links), conserving_torques(chain, links, qd)
    push, Dd, z_plus = chain.scalars(), chain.scalars(), chain.child_sums(6)
    for k in chain.tip_to_base():
        V, H, M = moving.V[k], links.H[k], links.M[k]

        # total force on link k with the hinges outboard free
        own = add(force_cross(V, rigid_times(M, V)), rigid_times(M, a0))
        sped = articulated_times(art.P[k], scale(moving.Hd[k], qd[k]))
        z = add(add(z_plus[k], plus_external(f0, k, own)), sped)
        kappa = tau[k] - resisting_torque(chain, needed, k, qd[k]) - dot(H, z)
        z_plus.add_to_parent(k, add(z, scale(art.G[k], kappa)))

        # and the rate of the hinge's own gain G
        turned = articulated_times(rate[k], H)
        Dd[k] = dot(H, turned)
        push[k] = kappa + dot(turned, sub(V, scale(H, xi[k])))
        if chain.groups:
            push[k] = push[k] - own_rate(chain, art, moving.V, k)
    return push, Dd


def _rates(chain: Chain, links: Links, art: Articulated, moving: Velocities, qd: Scalars) -> Slots:
    if chain.groups:
        return rates_in_bodies(chain, links, art, moving.V)
    return articulated_rates(chain, links, art, qd)


def rate_control(chain: Chain) -> None:
    """Control law 8.1: τ, and ν itself, from q, q̇ and one gain c per joint.

    ν = m* q̇        ε = -c ν        τ = m ε + gravity + loads + friction
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)

    # damp each diagonalizing velocity separately
    root, qd, gain = root_of_D(chain, art), chain.input("qd"), chain.input("gain")
    xi, epsilon = velocity_to_nu(chain, links, art, root, qd, "nu"), chain.scalars()
    for k in chain.tip_to_base():
        epsilon[k] = gain[k] * (xi[k] * root[k]) * -1.0

    # transform to joint torques, and compensate gravity and loads
    effort = epsilon_to_effort(chain, links, art, root, epsilon)
    standing = gravity_effort(chain, links)
    for k in chain.tip_to_base():
        chain.out("tau", (k,), effort[k] + standing[k] + friction_loss(chain, k, qd[k]))


def inverse_from_rest(chain: Chain) -> None:
    """τ from q, q̇ and q̈: inverse dynamics without Coriolis forces.

    τ = 𝓜 q̈ + gravity + loads + friction

    With q̈ = -c q̇ and one c for all joints this is control law 8.1, for m m* = 𝓜.
    """
    links, qd, tau = forward_kinematics(chain), chain.input("qd"), chain.result("tau")

    # inverse dynamics with q̇ = 0, then add the friction at the actual q̇
    torques(chain, links, chain.zeros(), chain.input("qdd"), tau)
    for k in chain.tip_to_base():
        tau.add((k,), friction_loss(chain, k, qd[k]))
