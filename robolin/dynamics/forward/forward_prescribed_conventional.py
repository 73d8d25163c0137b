"""Forward dynamics with prescribed motion of some joints, by elimination, O(n³).

Rows and columns of driven joints are removed from 𝓜, which leaves the equations of the free ones.
All loops run over independent coordinates, so mimic joints are supported.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, Column, Scalars
from robolin.dynamics.inverse.inverse_dynamics import torques
from robolin.dynamics.inverse.linearize_inverse import InverseModel, inverse_model
from robolin.dynamics.links.link_poses import Links, forward_kinematics
from robolin.dynamics.links.nominal_terms import nominal_terms
from robolin.dynamics.mass_matrix.elimination import (
    EliminationFactors,
    eliminate,
    solve,
    to_coordinates,
)
from robolin.dynamics.mass_matrix.mass_matrix import composite_bodies
from robolin.dynamics.mass_matrix.triangular import of_leaders


def forward_prescribed_conventional(chain: Chain) -> None:
    """q̈ of the free joints and τ of the driven ones, from q, q̇, their q̈ and the others' τ.

    𝓜 q̈ = (1 - s) [τ - τ(q, q̇, s q̈)]           s = 1 for driven joints, 0 for free ones
    """
    _nominal(chain)


class DrivenElimination(NamedTuple):
    """The links, the factors of 𝓜 with driven rows and columns removed, s, 1 - s and q̈."""

    links: Links
    factors: EliminationFactors
    driven: Column
    free: Column
    qdd: Scalars


def _nominal(chain: Chain) -> DrivenElimination:
    links, qd = forward_kinematics(chain), chain.input("qd")
    driven, set_qdd = (of_leaders(chain, chain.input(name)) for name in ("prescribed", "qdd"))
    tau, bias = to_coordinates(chain, chain.input("tau")), chain.column()
    rigid, free = chain.column(), chain.column()

    # torques for the prescribed motion, with q̈ = 0 for the free joints
    for j in chain.coordinates():
        rigid[j], free[j] = driven[j] * set_qdd[j], 1.0 - driven[j] * driven[j]
    torques(chain, links, qd, rigid.on_links(), bias)

    # the remaining torques accelerate the free joints
    factors, x = _factored(chain, links, free), chain.slots(1)
    for j in chain.coordinates():
        x[j] = (free[j] * (tau[j] - bias[j]),)
    solve(chain, factors, x)
    qdd, out = chain.column(), chain.result("qdd")
    for j in chain.coordinates():
        qdd[j] = out[j] = rigid[j] + x[j][0]

    # torques that the driven joints need
    needed, own = chain.column(), chain.result("tau")
    torques(chain, links, qd, qdd.on_links(), needed)
    for j in chain.coordinates():
        own[j] = driven[j] * needed[j] + free[j] * tau[j]
    return DrivenElimination(links, factors, driven, free, qdd.on_links())


def _factored(chain: Chain, links: Links, free: Column) -> EliminationFactors:
    """Factor 𝓜 without the rows and columns of driven joints.

    Their diagonal entries are arbitrary: 1 is added, since prescribed motion needs no inertia.
    """
    mass = chain.table()
    composite_bodies(chain, links, mass)
    for r in chain.coordinates():
        mass[r, r] = mass[r, r] + (1.0 - free[r])
        for c in chain.coordinates(before=r):
            mass[r, c] = free[r] * free[c] * mass[r, c]
    return eliminate(chain, links, mass)


def linearize_forward_prescribed_conventional(chain: Chain) -> None:
    """q̈ and τ as above, and derivatives of q̈ by τ, q̇, q and the prescribed q̈."""
    links, factors, driven, free, qdd = _nominal(chain)
    mass, AD, BD = chain.table(), chain.table(), chain.table()
    one = nominal_terms(chain, links, qdd)
    inverse_model(chain, links, one, InverseModel(mass, AD, BD))

    gives = ("dqdd_dtau", "dqdd_dqd", "dqdd_dq", "dqdd_dprescribed")
    by_tau, by_qd, by_q, by_prescribed = (chain.result(name) for name in gives)
    for c in chain.coordinates():
        # effect of a change of joint c on the free joints; driven joints are not affected
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
