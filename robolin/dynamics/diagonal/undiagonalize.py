"""From diagonalizing velocities and forces back to those of the joints."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Scalars
from robolin.dynamics.diagonal.diagonal_tables import (
    epsilon_to_effort,
    gravity_effort,
    nu_to_velocity,
)
from robolin.dynamics.diagonal.diagonalize import root_of_D
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import articulated_bodies


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
