"""Kinetic and potential energy, power, centre of mass and momentum of the arm, O(n)."""

from __future__ import annotations

from typing import NamedTuple

from robolin.dynamics.algebra.chain import Chain
from robolin.dynamics.algebra.inertias import rigid_times
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import ZERO6, add, cross, dot, force_cross, scale, sub
from robolin.dynamics.links.joint_torques import friction_loss
from robolin.dynamics.links.link_motion import bias_motion, velocities
from robolin.dynamics.links.link_poses import Links, forward_kinematics, frame_origin
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


class ArmMomentum(NamedTuple):
    """Mass and centre c of all links as one body, its momentum h and the rate of h for q̈ = 0.

    Both are [angular; linear], the angular part about c.
    """

    mass: Scalar
    c: Vector
    h: Vector
    rate: Vector


def momentum(chain: Chain) -> None:
    """Centre of mass c, momentum h, and their columns per unit q̇, from q and q̇.

    m = Σ m(k)    c = Σ m(k) c(k) / m
    h = Σ M V     ḣ = Σ M a + S[V] M V,  a = Σ Ḣ* q̇         both referred to c: [N - c x F; F]
    R(k) = R(k-1) + M(k)                                      composite inertia outboard of hinge k
    A(k) = R(k) H*(k) referred to c,  J_c(k) = F(k) / m       so that h = A q̇ and ċ = J_c q̇
    """
    links = forward_kinematics(chain)
    total = _arm_momentum(chain, links)
    shrink = 1.0 / total.mass
    chain.out("mass", (), total.mass)
    _out(chain, "com", add(total.c, frame_origin(chain, links)))
    _out(chain, "com_velocity", scale(total.h[3:], shrink))
    _out(chain, "com_jacobian_rate_qd", scale(total.rate[3:], shrink))
    _out(chain, "momentum", total.h)
    _out(chain, "momentum_matrix_rate_qd", total.rate)

    # momentum of everything outboard of each hinge for a unit rate of the hinge
    R = chain.child_sums(10)
    for k in chain.tip_to_base():
        carried = add(R[k], links.M[k])
        R.add_to_parent(k, carried)
        A = _about(rigid_times(carried, links.H[k]), total.c)
        for i in range(6):
            chain.out("momentum_matrix", (i, k), A[i])
        for i in range(3):
            chain.out("com_jacobian", (i, k), A[3 + i] * shrink)


def _arm_momentum(chain: Chain, links: Links) -> ArmMomentum:
    """Sums over all links."""
    moving = bias_motion(chain, links, chain.input("qd"))
    first = chain.accumulator((0.0,) * 4)
    h, rate = chain.accumulator(ZERO6), chain.accumulator(ZERO6)
    for k in chain.tip_to_base():
        M, V = links.M[k], moving.V[k]
        MV = rigid_times(M, V)
        first.value = add(first.value, M[:4])
        h.value = add(h.value, MV)
        rate.value = add(rate.value, add(rigid_times(M, moving.alpha[k]), force_cross(V, MV)))
    mass, c = first.value[0], scale(first.value[1:], 1.0 / first.value[0])

    # the velocity of c is parallel to the linear momentum, so it adds nothing to the rate about c
    return ArmMomentum(mass, c, _about(h.value, c), _about(rate.value, c))


def _about(f: Vector, c: Vector) -> Vector:
    """[N - c x F; F]: a momentum or a force, its moment about c."""
    return sub(f[:3], cross(c, f[3:])) + f[3:]


def _out(chain: Chain, name: str, values: Vector) -> None:
    for i, value in enumerate(values):
        chain.out(name, (i,), value)
