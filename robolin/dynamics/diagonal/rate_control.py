"""Torques that brake an arm in diagonalizing velocities, weight, loads and losses made up for."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.diagonal.diagonal_tables import (
    epsilon_to_effort,
    gravity_effort,
    velocity_to_nu,
)
from robolin.dynamics.diagonal.diagonalize import root_of_D
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.links.joint_friction import friction_loss
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


def rate_control(chain: Chain) -> None:
    """Control law 8.1: τ, and ν itself, from q, q̇ and one gain c per joint.

    ν = m* q̇        ε = -c ν        τ = m ε + weight + loads + losses
    """
    links = forward_kinematics(chain)
    art = articulated_bodies(chain, links)

    # brake every diagonalizing velocity by itself
    root, qd, gain = root_of_D(chain, art), chain.given("qd"), chain.given("gain")
    xi, epsilon = velocity_to_nu(chain, links, art, root, qd, "nu"), chain.scalars()
    for k in chain.tip_to_base():
        epsilon[k] = gain[k] * (xi[k] * root[k]) * -1.0

    # as torques of the joints, and what keeps the arm up besides
    effort = epsilon_to_effort(chain, links, art, root, epsilon)
    standing = gravity_effort(chain, links)
    for k in chain.tip_to_base():
        chain.out("tau", (k,), effort[k] + standing[k] + friction_loss(chain, k, qd[k]))


def inverse_from_rest(chain: Chain) -> None:
    """τ from q, q̇ and q̈ as inverse dynamics has it, but for the Coriolis forces.

    τ = 𝓜 q̈ + weight + loads + losses

    With q̈ = -c q̇ and one c for all joints this is control law 8.1, for m m* = 𝓜.
    """
    links, qd, tau = forward_kinematics(chain), chain.given("qd"), chain.result("tau")

    # accelerate from rest, then make up for the losses of the motion there is
    torques(chain, links, chain.zeros(), chain.given("qdd"), tau)
    for k in chain.tip_to_base():
        tau.add((k,), friction_loss(chain, k, qd[k]))
