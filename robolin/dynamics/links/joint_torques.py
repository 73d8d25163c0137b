"""Torques that a joint itself exerts: springs, damping and Coulomb friction.

    spring(q) = k (q - rest)          potential energy ½ k (q - rest)²          slope k

A joint that mimics another has a spring of its own, which acts on the leader through the ratio.
Arms without springs need no extra operations.

    loss(q̇)  = d q̇ + μ t                          t = tanh(q̇ / e)
    slope(q̇) = d + (μ / e) (1 - t²)

Coulomb friction requires a smoothing velocity e; without one it is discontinuous and is omitted.

One-sided friction, μ₊ for q̇ > 0 and μ₋ for q̇ < 0, has μ = (μ₊ + μ₋) / 2 and δ = (μ₊ - μ₋) / 2:

    loss(q̇)  = d q̇ + (μ + δ t) t
    slope(q̇) = d + ((μ + 2 δ t) / e) (1 - t²)

It is smooth, 0 at rest, and always dissipates energy, since |δ| ≤ μ.

A joint transmits the effort of its drive and five constraint forces.
"""

from __future__ import annotations

from robolin.dynamics.algebra.chain import Chain, LinkNumber, Scalars
from robolin.dynamics.algebra.scalar import Scalar, Vector, tanh, where
from robolin.dynamics.algebra.vectors import ZERO3, cross
from robolin.dynamics.links.group_rotors import (
    carried_rotors,
    gyroscopic_change,
    gyroscopic_torque,
)
from robolin.dynamics.links.link_poses import Links


def conserving_torques(chain: Chain, links: Links, qd: Scalars) -> Scalars | None:
    """Torques of springs and of rotors of multi-DoF joints; None if the arm has neither."""
    rotors = carried_rotors(chain, links, qd)
    if rotors is None and not chain.springs:
        return None
    q, needed = chain.input("q"), chain.zeros()
    for k in chain.tip_to_base():
        if chain.springs:
            needed[k] = chain.stiffness(k) * (q[k] - chain.rest(k))
        if rotors is not None:
            needed[k] = needed[k] + gyroscopic_torque(chain, links, rotors, k)
    return needed


def conserving_changes(
    chain: Chain, links: Links, qd: Scalars, dq: Scalars, dqd: Scalars
) -> Scalars | None:
    """Perturbations of these torques by position and velocity; None without such torques."""
    rotors, change = (carried_rotors(chain, links, rates) for rates in (qd, dqd))
    if rotors is None and not chain.springs:
        return None
    needed = chain.zeros()
    for k in chain.tip_to_base():
        if chain.springs:
            needed[k] = chain.stiffness(k) * dq[k]
        if rotors is not None and change is not None:
            needed[k] = needed[k] + gyroscopic_change(chain, links, rotors, change, k)
    return needed


def resisting_torque(chain: Chain, needed: Scalars | None, k: LinkNumber, qd: Scalar) -> Scalar:
    """Torque of joint k against friction and the torques of `conserving_torques`."""
    loss = friction_loss(chain, k, qd)
    return loss if needed is None else loss + needed[k]


def with_stiffness(chain: Chain, j: LinkNumber, entry: Scalar, response: Scalar) -> Scalar:
    """Add the spring of joint j to an entry of ∂τ/∂q or -∂q̈/∂q.

    response: contribution of a unit torque at joint j to the entry
    """
    return entry + response * chain.stiffness(j) if chain.springs else entry


def friction_loss(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar:
    viscous, e = chain.damping(k) * qd, chain.friction_velocity(k)
    if e is None:
        return viscous
    t = tanh(qd / e)
    if chain.one_sided_friction:
        return viscous + (chain.friction(k) + chain.friction_bias(k) * t) * t
    return viscous + chain.friction(k) * t


def friction_slope(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar:
    e = chain.friction_velocity(k)
    if e is None:
        return chain.damping(k)

    # 1 - t² as a product, which stays accurate where t is almost 1
    t = tanh(qd / e)
    mu = chain.friction(k)
    if chain.one_sided_friction:
        mu = mu + chain.friction_bias(k) * (t + t)
    return chain.damping(k) + mu / e * ((1.0 - t) * (1.0 + t))


def friction_curvature(chain: Chain, k: LinkNumber, qd: Scalar) -> Scalar | None:
    """Second derivative of the friction loss; None if friction is linear in the velocity.

    (2 / e²) (1 - t²) (δ (1 - 3 t²) - μ t)
    """
    e = chain.friction_velocity(k)
    if e is None:
        return None
    t = tanh(qd / e)
    bend = -chain.friction(k) * t
    if chain.one_sided_friction:
        bend = bend + chain.friction_bias(k) * (1.0 - 3.0 * (t * t))
    falling = (1.0 - t) * (1.0 + t)
    return (bend + bend) * falling / (e * e)


def friction_slopes(chain: Chain) -> Scalars:
    """The friction slope of every joint, for algorithms that use each more than once."""
    qd, slopes = chain.input("qd"), chain.scalars()
    for k in chain.tip_to_base():
        slopes[k] = friction_slope(chain, k, qd[k])
    return slopes


def transmitted(chain: Chain, links: Links, k: LinkNumber) -> tuple[Vector, ...]:
    """`drive` with H drive = 1, and five T with H T = 0, at the origin of link k.

    revolute    drive [z; 0]        T  [x; 0], [y; 0], [p x x; x], [p x y; y], [p x z; z]
    prismatic   drive [p x z; z]    T  [x; 0], [y; 0], [p x x; x], [p x y; y], [z; 0]

    x, y and z are the axes of the link, z that of its joint.
    """
    # a moment about the joint's axis, and a force along it
    R, p = links.R[k], links.p[k]
    x, y, z = R[0::3], R[1::3], R[2::3]
    turn, push = z + ZERO3, cross(p, z) + z

    # one is the drive, the other a constraint force, depending on the joint type
    drive = where(chain.is_revolute(k), turn, push)
    along = where(chain.is_revolute(k), push, turn)
    return drive, x + ZERO3, y + ZERO3, cross(p, x) + x, cross(p, y) + y, along
