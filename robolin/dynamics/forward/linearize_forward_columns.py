"""The linearized forward dynamics model column by column: Algorithm 5 on unit perturbations.

It needs more operations than Algorithm 6 but shares no formula with its second half, on serial
chains and on trees.  So each algorithm can verify the other.
"""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import ZERO3, ZERO6, add, angular, dot, scale, twice
from robolin.dynamics.forward.forward_dynamics import nominal
from robolin.dynamics.forward.linearization_terms import (
    Gyroscopics,
    articulated_gyroscopics,
    correct_for_fixed_loads,
)
from robolin.dynamics.links.group_rotors import correct_for_rotors
from robolin.dynamics.links.groups import correct_for_groups
from robolin.dynamics.links.joint_torques import friction_slope
from robolin.dynamics.links.link_motion import nominal_terms
from robolin.dynamics.links.link_poses import Links
from robolin.dynamics.mass_matrix.articulated_bodies import Articulated


class UnitPerturbation(NamedTuple):
    """A unit perturbation of one hinge: torque, force Y, drift of acceleration, and velocity."""

    torque: Scalar
    force: Vector
    drift: Vector
    spin: Vector


def linearize_forward_columns(chain: Chain) -> None:
    """q̈ at q, q̇, τ, and the model around it."""
    forward_model_columns(chain, *nominal(chain))


def forward_model_columns(chain: Chain, links: Links, art: Articulated, qdd: Scalars) -> None:
    """𝓜⁻¹, ∂q̈/∂q̇ and ∂q̈/∂q column by column: δτ = 1, δq̇ = 1, δq = 1 at one hinge at a time."""
    one = nominal_terms(chain, links, qdd)
    gyros = articulated_gyroscopics(chain, links, one, art)
    qd = chain.input("qd")

    for c in chain.tip_to_base():
        # one perturbation of each kind
        H, Hd, loss = links.H[c], one.Hd[c], friction_slope(chain, c, qd[c])
        torque = UnitPerturbation(1.0, ZERO6, ZERO6, ZERO3)
        velocity = UnitPerturbation(-loss, gyros.YA[c], twice(Hd), angular(H))
        spring = -chain.stiffness(c) if chain.springs else 0.0
        position = UnitPerturbation(spring, gyros.YB[c], one.Hdd[c], angular(one.Pd[c]))

        # and the response of every joint
        for name, unit in (
            ("dqdd_dtau", torque),
            ("dqdd_dqd", velocity),
            ("dqdd_dq", position),
        ):
            column = response(chain, links, art, gyros, c, unit)
            for k in chain.tip_to_base():
                chain.out(name, (k, c), column[k])

    correct_for_fixed_loads(chain, links, art)
    correct_for_groups(chain, links, art, one.f)
    correct_for_rotors(chain, links, art)


def response(
    chain: Chain,
    links: Links,
    art: Articulated,
    gyros: Gyroscopics,
    c: LinkNumber,
    unit: UnitPerturbation,
) -> Scalars:
    """Accelerations for a unit perturbation of hinge c, which acts on its own path and subtree.

    inboard of c    ε(k) = -H z       z = z + G ε          ν = ε/D
    at c            ε = δτ - H Y      z = Y + G ε          ν = ε/D
    outboard of c   ν = -2 Ĝ* v
    base to tip     δq̈(k) = ν - G* λ(k+1)                  λ(k) = λ(k+1) + H* δq̈ (+ drift at c)
    """
    nu, drift = chain.zeros(), chain.slots(6)
    for k in chain.tip_to_base():
        drift[k] = ZERO6
    drift[c] = unit.drift

    # hinge c, and the hinges inboard that it acts on
    epsilon = unit.torque - dot(links.H[c], unit.force)
    nu[c] = art.Dinv[c] * epsilon
    z = chain.accumulator(add(unit.force, scale(art.G[c], epsilon)))
    for k in chain.inboard_of(c):
        epsilon = -dot(links.H[k], z.value)
        nu[k] = art.Dinv[k] * epsilon
        z.value = add(z.value, scale(art.G[k], epsilon))

    # hinges outboard, which it carries along
    spin = twice(unit.spin)
    for k in chain.outboard_of(c):
        nu[k] = -dot(gyros.Ghat[k], spin)

    # accelerations, minus the contribution of the link inboard
    dqdd, lam = chain.scalars(), chain.slots(6)
    lam[chain.base] = ZERO6
    for k in chain.base_to_tip():
        inboard = lam[chain.inboard(k)]
        dqdd[k] = nu[k] - dot(art.G[k], inboard)
        lam[k] = add(add(inboard, scale(links.H[k], dqdd[k])), drift[k])
    return dqdd
