"""Rate feedback in diagonalizing velocities with compensation of gravity, loads and friction."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.diagonal.diagonal_tables import (
    epsilon_to_effort,
    gravity_effort,
    velocity_to_nu,
)
from robolin.dynamics.diagonal.diagonalize import root_of_D
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


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
