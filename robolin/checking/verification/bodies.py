"""An independent rigid-body model in world axes: energies, dissipation and external loads.

Sums over the bodies with three-component vectors.  No spatial operators or recursions are used,
so the checks share neither formula nor code with robolin.  All functions are smooth in q and q̇,
which may be complex.
"""

from __future__ import annotations

import numpy as np

from robolin.checking.verification.checks import STEP
from robolin.core.arm import Arm, Joint
from robolin.core.arrays import AnyArray
from robolin.core.records import dataclass


@dataclass(frozen=True)
class MovingLinks:
    """Rotation (..., N, 3, 3), origin, spin and velocity (..., N, 3) of links 1 … N."""

    R: AnyArray
    p: AnyArray
    spin: AnyArray
    velocity: AnyArray


def joint_rate_matrix(arm: Arm) -> AnyArray:
    """S (N, n): the velocity of every link's own joint is S q̇."""
    S = np.zeros((len(arm.links), arm.n))
    for k, (link, coordinate) in enumerate(
        zip(arm.links_tip_to_base, arm.coordinates, strict=True)
    ):
        S[k, coordinate] = link.joint.mimic.ratio if link.joint.mimic else 1.0
    return S


def joint_positions(arm: Arm, q: AnyArray) -> AnyArray:
    """Position of every link's own joint (..., N): S q plus the offsets of mimic joints."""
    offsets = [
        link.joint.mimic.offset if link.joint.mimic else 0.0 for link in arm.links_tip_to_base
    ]
    return q @ joint_rate_matrix(arm).T + np.array(offsets)


def moving_links(arm: Arm, q: AnyArray, qd: AnyArray) -> MovingLinks:
    """Every link in world axes; q̇ of a multi-DoF joint is its twist."""
    return _propagate(arm, q, coordinate_rates(arm, q, qd))


def coordinate_rates(arm: Arm, q: AnyArray, qd: AnyArray) -> AnyArray:
    """Time derivative of the coordinates q: q̇ itself, except for multi-DoF joints."""
    rates = qd
    for group in arm.groups:
        coordinates = [arm.coordinates[k - 1] for k in group.links]
        # twist in body axes of each DoF at unit speed
        unit = np.eye(arm.n)[coordinates]
        at = _propagate(arm, q[..., None, :], unit)
        R = at.R[..., group.body - 1, :, :]
        columns = []
        for k in group.links:
            joint = arm.link(k).joint
            motion = (at.spin if joint.turns else at.velocity)[..., group.body - 1, :]
            columns.append((R @ np.array(joint.axis) * motion).sum(-1))
        twists = np.stack(columns, axis=-2)
        rates = rates + 0.0 * q
        rates[..., coordinates] = np.linalg.solve(twists, rates[..., coordinates, None])[..., 0]
    return rates


def _propagate(arm: Arm, q: AnyArray, rates: AnyArray) -> MovingLinks:
    """Velocities from base to tip.

    ω(k) = ω(parent) + a q̇            v(k) = v(parent) + ω(parent) × (p(k) - p(parent))
    for a prismatic joint along axis a, a q̇ is added to v instead
    """
    values, rates = np.broadcast_arrays(joint_positions(arm, q), rates @ joint_rate_matrix(arm).T)
    batch = values.shape[:-1]
    R = {arm.base: np.broadcast_to(np.eye(3), (*batch, 3, 3))}
    p, w, v = ({arm.base: np.zeros((*batch, 3))} for _ in range(3))
    for k in range(len(arm.links), 0, -1):
        link, value, rate = arm.link(k), values[..., k - 1], rates[..., k - 1, None]
        joint, parent = link.joint, link.parent
        still = R[parent] @ np.reshape(joint.pose.rotation, (3, 3))
        axis = still @ np.array(joint.axis)
        lever = R[parent] @ np.array(joint.pose.translation)
        if not joint.turns:
            lever = lever + axis * value[..., None]
        p[k] = p[parent] + lever
        v[k] = v[parent] + np.cross(w[parent], lever) + (0.0 if joint.turns else axis * rate)
        w[k] = w[parent] + axis * rate if joint.turns else w[parent]
        R[k] = still @ _rotation(joint, value) if joint.turns else still
    order = range(1, arm.base)
    vectors = (np.stack([x[k] for k in order], -2) for x in (p, w, v))
    return MovingLinks(np.stack([R[k] for k in order], -3), *vectors)


def _rotation(joint: Joint, value: AnyArray) -> AnyArray:
    """Rotation matrix of a joint by Rodrigues' formula."""
    K = np.cross(np.eye(3), joint.axis)
    s, c = np.sin(value)[..., None, None], np.cos(value)[..., None, None]
    return np.eye(3) + s * K + (1.0 - c) * (K @ K)


def kinetic_energy(arm: Arm, q: AnyArray, qd: AnyArray) -> AnyArray:
    """½ Σ m |ċ|² + ½ Σ ω* I ω + ½ Σ armature q̇²."""
    at = moving_links(arm, q, qd)
    masses, centres, rotary = _bodies(arm)
    levers = (at.R @ centres[..., None])[..., 0]
    own = (np.swapaxes(at.R, -1, -2) @ at.spin[..., None])[..., 0]
    speeds = at.velocity + np.cross(at.spin, levers)
    rotors, rates = _of_joints(arm, "armature"), qd @ joint_rate_matrix(arm).T
    return 0.5 * (
        (masses * (speeds * speeds).sum(-1)).sum(-1)
        + np.einsum("...ki,kij,...kj->...", own, rotary, own)
        + (rotors * rates * rates).sum(-1)
    )


def potential_energy(arm: Arm, q: AnyArray) -> AnyArray:
    """-Σ m g · c + ½ Σ k (q - rest)²."""
    at = _propagate(arm, q, np.zeros(arm.n))
    masses, centres, _ = _bodies(arm)
    positions = at.p + (at.R @ centres[..., None])[..., 0]
    height = -(masses * (positions @ np.array(arm.gravity))).sum(-1)
    if not arm.has_springs:
        return height
    stretched = joint_positions(arm, q) - _of_joints(arm, "rest")
    return height + 0.5 * (_of_joints(arm, "stiffness") * stretched * stretched).sum(-1)


def spring_bound(arm: Arm, q: AnyArray) -> AnyArray:
    """Upper bound of spring torque, gradient and energy, per state: Σ k (1 + (q - rest)²)."""
    if not arm.has_springs:
        return np.zeros(q.shape[:-1])
    ratios = np.abs(joint_rate_matrix(arm)).max(axis=1)
    stretched = joint_positions(arm, q) - _of_joints(arm, "rest")
    stiffness = np.abs(_of_joints(arm, "stiffness")) * (1.0 + ratios) ** 2
    return (stiffness * (1.0 + stretched * stretched)).sum(-1)


def weight_torque(arm: Arm, q: AnyArray) -> AnyArray:
    """Torques against gravity and springs (..., n): the gradient of the potential energy."""
    ways = coordinate_rates(arm, q[..., None, :], np.eye(arm.n))
    moved = q[..., None, :] + 1j * STEP * ways
    return np.imag(potential_energy(arm, moved)) / STEP


def energy_rate(arm: Arm, q: AnyArray, qd: AnyArray, qdd: AnyArray) -> AnyArray:
    """Time derivative of kinetic plus potential energy along the motion."""
    position, rate = q + 1j * STEP * coordinate_rates(arm, q, qd), qd + 1j * STEP * qdd
    total = kinetic_energy(arm, position, rate) + potential_energy(arm, position)
    return np.imag(total) / STEP


def dissipation_and_load_torques(arm: Arm, q: AnyArray, qd: AnyArray) -> AnyArray:
    """Torques (..., n) that balance damping, friction and external wrenches."""
    S = joint_rate_matrix(arm)
    rates = qd @ S.T
    losses = (_of_joints(arm, "damping") if arm.damping else 0.0) * rates
    if arm.friction_velocity is not None:
        sides = np.array([link.joint.friction_sides for link in arm.links_tip_to_base])
        own = [link.joint.friction_velocity for link in arm.links_tip_to_base]
        t = np.tanh(rates / np.array([v or arm.friction_velocity for v in own]))
        losses = losses + sides[:, 0] * t * (1.0 + t) / 2.0 + sides[:, 1] * t * (1.0 - t) / 2.0
    return losses @ S + _loads(arm, q)


def _loads(arm: Arm, q: AnyArray) -> AnyArray:
    """Minus the power of the external wrenches for each joint at unit speed."""
    at = moving_links(arm, q[..., None, :], np.eye(arm.n))
    total = np.zeros(q.shape)
    for wrench in arm.wrenches:
        frame = arm.frames[wrench.frame]
        if frame.link == arm.base:
            continue
        R = at.R[..., frame.link - 1, :, :]
        p, spin, velocity = (x[..., frame.link - 1, :] for x in (at.p, at.spin, at.velocity))
        lever = R @ np.array(frame.pose.translation)
        force, couple = np.array(wrench.force), np.array(wrench.moment)
        if wrench.model == "follower":
            axes = R @ np.reshape(frame.pose.rotation, (3, 3))
            force, couple = axes @ force, axes @ couple
        elif wrench.model == "world":
            couple = couple - np.cross(p + lever, force)
        power = (velocity + np.cross(spin, lever)) * force + spin * couple
        total = total - power.sum(-1)
    return total


def _bodies(arm: Arm) -> tuple[AnyArray, AnyArray, AnyArray]:
    """Masses (N), centres of mass (N, 3) and rotary inertias (N, 3, 3) in the links' frames."""
    bodies = [link.inertia for link in arm.links_tip_to_base]
    symmetric = [[0, 1, 2], [1, 3, 4], [2, 4, 5]]
    return (
        np.array([body.mass for body in bodies]),
        np.array([body.com for body in bodies]),
        np.array([body.rotary for body in bodies])[:, symmetric],
    )


def _of_joints(arm: Arm, quantity: str) -> AnyArray:
    return np.array([getattr(link.joint, quantity) for link in arm.links_tip_to_base])
