"""Forward dynamics where some joints, a base among them, move as they are told, O(n).

To the free joints a driven one is rigid, and what its motion takes is a bias.  Of a base with six
freedoms that is Newton–Euler from a velocity and an acceleration other than 0, and articulated
bodies that end at the base.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars, Table
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.inverse.linearize_inverse import InverseModel, inverse_model
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.nominal_terms import nominal_terms
from robolin.dynamics.mass_matrix.apply_inverse_mass import apply_inverse_mass
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated, articulated_bodies


def forward_prescribed(chain: Chain) -> None:
    """q̈ of the free joints and τ of the driven ones, from q, q̇, their q̈ and the others' τ.

    τ' = τ - τ(q, q̇, s q̈)                       s = 1 for driven joints, 0 for free ones
    q̈  = s q̈ + (1 - s) 𝓜⁻¹ τ'                    𝓜 with the driven joints rigid
    """
    _nominal(chain)


class DrivenMotion(NamedTuple):
    """The links, their articulated bodies with driven hinges rigid, and all accelerations."""

    links: Links
    art: Articulated
    qdd: Scalars


def _nominal(chain: Chain) -> DrivenMotion:
    links, driven = forward_kinematics(chain), chain.given("prescribed")
    qd, tau, told = (chain.given(name) for name in ("qd", "tau", "qdd"))

    # what it takes to move on as told, the free joints without accelerating
    bias, rigid, push = chain.column(), chain.scalars(), chain.scalars()
    for k in chain.tip_to_base():
        rigid[k] = driven[k] * told[k]
    torques(chain, links, qd, rigid, bias)
    for k in chain.tip_to_base():
        push[k] = tau[k] - bias[k]

    # what is left over accelerates the free joints
    art, qdd = articulated_bodies(chain, links, driven), chain.scalars()
    free = apply_inverse_mass(chain, links, art, push)
    for k in chain.tip_to_base():
        qdd[k] = rigid[k] + free[k]
        chain.out("qdd", (k,), qdd[k])

    # and takes torques of the driven ones
    needed = chain.column()
    torques(chain, links, qd, qdd, needed)
    for k in chain.tip_to_base():
        chain.out("tau", (k,), driven[k] * needed[k] + (1.0 - driven[k]) * tau[k])
    return DrivenMotion(links, art, qdd)


def linearize_forward_prescribed(chain: Chain) -> None:
    """q̈ and τ as above, and how q̈ changes with τ, q̇, q, and with the q̈ that is told.

    ∂q̈/∂τ = 𝓜⁻¹    ∂q̈/∂q̇ = -𝓜⁻¹ A_D    ∂q̈/∂q = -𝓜⁻¹ B_D    ∂q̈/∂(s q̈) = s - 𝓜⁻¹ 𝓜(·,s)

    with the driven joints rigid in 𝓜⁻¹, and 𝓜, A_D and B_D those of all joints.
    """
    links, art, qdd = _nominal(chain)
    mass, AD, BD = chain.table(), chain.table(), chain.table()
    one = nominal_terms(chain, links, qdd)
    inverse_model(chain, links, one, InverseModel(mass, AD, BD))

    driven = chain.given("prescribed")
    for c in chain.tip_to_base():
        # a torque at joint c, of which a driven one feels nothing
        push = chain.zeros()
        push[c] = 1.0
        by_torque = apply_inverse_mass(chain, links, art, push)

        # what a change of joint c takes from the others
        by_qd, by_q = (_taken(chain, links, art, table, c) for table in (AD, BD))
        by_qdd = _taken(chain, links, art, mass, c)
        for k in chain.tip_to_base():
            chain.out("dqdd_dtau", (k, c), by_torque[k])
            chain.out("dqdd_dqd", (k, c), by_qd[k])
            chain.out("dqdd_dq", (k, c), by_q[k])
            own = push[k] + by_qdd[k]
            chain.out("dqdd_dprescribed", (k, c), driven[c] * own)


def _taken(chain: Chain, links: Links, art: Articulated, table: Table, c: LinkNumber) -> Scalars:
    """-𝓜⁻¹ times column c."""
    push = chain.scalars()
    for k in chain.tip_to_base():
        push[k] = -table[k, c]
    return apply_inverse_mass(chain, links, art, push)
