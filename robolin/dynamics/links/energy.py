"""Kinetic and potential energy of the arm, and the external power."""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.vectors import add, dot, scale
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_motion import velocities
from robolin.dynamics.links.link_poses import forward_kinematics, frame_origin
from robolin.dynamics.links.loads import external_forces


def energy(chain: Chain) -> None:
    """Kinetic and potential energy from q and q̇; zero height is the root frame's origin.

    kinetic    ½ Σ V* M V + ½ Σ armature q̇²
    potential  - Σ m g·c + ½ Σ k (q - rest)²
    """
    links, q, qd = forward_kinematics(chain), chain.input("q"), chain.input("qd")
    V = velocities(chain, links, qd).V
    sums = chain.accumulator((0.0, 0.0))

    # twice the kinetic energy and the work of gravity, link by link
    for k in chain.tip_to_base():
        twice, weight = sums.value
        M, rotor = links.M[k], chain.armature(k) * qd[k] * qd[k]
        mass_com = add(M[1:4], scale(frame_origin(chain, links), M[0]))
        twice = twice + (dot(V[k], rigid_times(M, V[k])) + rotor)
        weight = weight + dot(chain.gravity, mass_com)
        if chain.springs:
            stretch = q[k] - chain.rest(k)
            weight = weight - chain.stiffness(k) * stretch * stretch * 0.5
        sums.value = (twice, weight)

    # the sums as energies
    twice, weight = sums.value
    chain.out("kinetic_energy", (), twice * 0.5)
    chain.out("potential_energy", (), weight * -1.0)


def power(chain: Chain) -> None:
    """Power of torques and loads minus friction, from q, q̇ and τ.

    Σ q̇ (τ - loss(q̇)) - Σ V* f0
    """
    qd, tau = chain.input("qd"), chain.input("tau")

    # power of the joints
    fed = chain.accumulator((0.0,))
    for k in chain.tip_to_base():
        fed.value = (fed.value[0] + qd[k] * (tau[k] - friction_loss(chain, k, qd[k])),)

    # power lost to the loads
    if chain.loads:
        links = forward_kinematics(chain)
        V, f0 = velocities(chain, links, qd).V, external_forces(chain, links)
        assert f0 is not None, "there are loads"
        for k in chain.tip_to_base():
            fed.value = (fed.value[0] - dot(V[k], f0[k]),)
    chain.out("power", (), fed.value[0])
