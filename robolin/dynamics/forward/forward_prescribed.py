"""Forward dynamics with prescribed motion of some joints, such as a moving base, O(n) or O(n³).

For the free joints, a prescribed joint is locked, and the torques of its motion are a bias.  For a
floating base this is Newton–Euler from a nonzero velocity and acceleration of the base, with
articulated bodies that end at the base.

The conventional variant removes the rows and columns of prescribed joints from 𝓜, which leaves the
equations of the free joints.  Loops over independent coordinates support mimic joints.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, Column, LinkNumber, Scalars, Table
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.inverse.linearize_inverse import InverseModel, inverse_model
from robolin.dynamics.links.link_motion import nominal_terms
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.mass_matrix.articulated_bodies import (
    Articulated,
    apply_inverse_mass,
    articulated_bodies,
)
from robolin.dynamics.mass_matrix.elimination import (
    EliminationFactors,
    eliminate,
    solve,
    to_coordinates,
)
from robolin.dynamics.mass_matrix.mass_matrix import mass_of_free
from robolin.dynamics.mass_matrix.triangular import of_leaders


def forward_prescribed(chain: Chain) -> None:
    """q̈ of the free joints and τ of the prescribed joints.

    τ' = τ - τ(q, q̇, s q̈)                       s = 1 for prescribed, 0 for free joints
    q̈  = s q̈ + (1 - s) 𝓜⁻¹ τ'                    𝓜 with the prescribed joints locked
    """
    _nominal(chain)


def _nominal(chain: Chain) -> tuple[Links, Articulated, Scalars]:
    """The links, their articulated bodies with prescribed hinges locked, and all accelerations."""
    links, driven = forward_kinematics(chain), chain.input("prescribed")
    qd, tau, set_qdd = (chain.input(name) for name in ("qd", "tau", "qdd"))

    # torques for the prescribed motion, with q̈ = 0 for the free joints
    bias, rigid, push = chain.column(), chain.scalars(), chain.scalars()
    for k in chain.tip_to_base():
        rigid[k] = driven[k] * set_qdd[k]
    torques(chain, links, qd, rigid, bias)
    for k in chain.tip_to_base():
        push[k] = tau[k] - bias[k]

    # the remaining torques accelerate the free joints
    art, qdd = articulated_bodies(chain, links, driven), chain.scalars()
    free = apply_inverse_mass(chain, links, art, push)
    for k in chain.tip_to_base():
        qdd[k] = rigid[k] + free[k]
        chain.out("qdd", (k,), qdd[k])

    # torques that the prescribed joints need
    needed = chain.column()
    torques(chain, links, qd, qdd, needed)
    for k in chain.tip_to_base():
        chain.out("tau", (k,), driven[k] * needed[k] + (1.0 - driven[k]) * tau[k])
    return links, art, qdd


def linearize_forward_prescribed(chain: Chain) -> None:
    """q̈ and τ as above, and derivatives of q̈ by τ, q̇, q and the prescribed q̈.

    ∂q̈/∂τ = 𝓜⁻¹    ∂q̈/∂q̇ = -𝓜⁻¹ A_D    ∂q̈/∂q = -𝓜⁻¹ B_D    ∂q̈/∂(s q̈) = s - 𝓜⁻¹ 𝓜(·,s)

    with the prescribed joints locked in 𝓜⁻¹, and 𝓜, A_D and B_D those of all joints.
    """
    links, art, qdd = _nominal(chain)
    mass, AD, BD = chain.table(), chain.table(), chain.table()
    one = nominal_terms(chain, links, qdd)
    inverse_model(chain, links, one, InverseModel(mass, AD, BD))

    driven = chain.input("prescribed")
    for c in chain.tip_to_base():
        # a unit torque at joint c, which has no effect on a prescribed joint
        push = chain.zeros()
        push[c] = 1.0
        by_torque = apply_inverse_mass(chain, links, art, push)

        # effect of a change of joint c on the others
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


def forward_prescribed_conventional(chain: Chain) -> None:
    """q̈ of the free joints and τ of the prescribed joints.

    𝓜 q̈ = (1 - s) [τ - τ(q, q̇, s q̈)]           s = 1 for prescribed, 0 for free joints
    """
    _nominal_by_elimination(chain)


def _nominal_by_elimination(
    chain: Chain,
) -> tuple[Links, EliminationFactors, Column, Column, Scalars]:
    """The links, the factors of 𝓜 with prescribed rows and columns removed, s, 1 - s and q̈."""
    links, qd = forward_kinematics(chain), chain.input("qd")
    driven, set_qdd = (of_leaders(chain, chain.input(name)) for name in ("prescribed", "qdd"))
    tau, bias = to_coordinates(chain, chain.input("tau")), chain.column()
    rigid, free = chain.column(), chain.column()

    # torques for the prescribed motion, with q̈ = 0 for the free joints
    for j in chain.coordinates():
        rigid[j], free[j] = driven[j] * set_qdd[j], 1.0 - driven[j] * driven[j]
    torques(chain, links, qd, rigid.on_links(), bias)

    # the remaining torques accelerate the free joints
    factors, x = eliminate(chain, links, mass_of_free(chain, links, free)), chain.slots(1)
    for j in chain.coordinates():
        x[j] = (free[j] * (tau[j] - bias[j]),)
    solve(chain, factors, x)
    qdd, out = chain.column(), chain.result("qdd")
    for j in chain.coordinates():
        qdd[j] = out[j] = rigid[j] + x[j][0]

    # torques that the prescribed joints need
    needed, own = chain.column(), chain.result("tau")
    torques(chain, links, qd, qdd.on_links(), needed)
    for j in chain.coordinates():
        own[j] = driven[j] * needed[j] + free[j] * tau[j]
    return links, factors, driven, free, qdd.on_links()


def linearize_forward_prescribed_conventional(chain: Chain) -> None:
    """q̈ and τ as above, and derivatives of q̈ by τ, q̇, q and the prescribed q̈."""
    links, factors, driven, free, qdd = _nominal_by_elimination(chain)
    mass, AD, BD = chain.table(), chain.table(), chain.table()
    one = nominal_terms(chain, links, qdd)
    inverse_model(chain, links, one, InverseModel(mass, AD, BD))

    gives = ("dqdd_dtau", "dqdd_dqd", "dqdd_dq", "dqdd_dprescribed")
    by_tau, by_qd, by_q, by_prescribed = (chain.result(name) for name in gives)
    for c in chain.coordinates():
        # effect of a change of joint c on the free joints; prescribed joints are not affected
        x = chain.slots(4)
        for r in chain.coordinates():
            taken = (-AD[r, c], -BD[r, c], -mass[r, c])
            x[r] = (0.0, *(free[r] * each for each in taken))

        # and a unit torque at joint c
        x[c] = (free[c], *x[c][1:])
        solve(chain, factors, x)

        for r in chain.coordinates():
            by_tau[r, c], by_qd[r, c], by_q[r, c] = x[r][0], x[r][1], x[r][2]
            by_prescribed[r, c] = driven[c] * x[r][3]
        by_prescribed[c, c] = driven[c] * (1.0 + x[c][3])
