"""The arm in the world, computed from its description alone: poses, energies, loads.

Nothing here uses spatial vectors or recursions. Rates come from complex steps of poses, so that the
reference shares neither formula nor code with robolin.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from robolin.core.arm import Arm, Joint

STEP = 1e-30


@dataclass(frozen=True)
class Placed:
    """Rotation (..., N, 3, 3) and origin (..., N, 3) of links 1 … N; link k at index k - 1."""

    R: np.ndarray
    p: np.ndarray


def link_positions(arm: Arm, q: np.ndarray) -> np.ndarray:
    """The value of every link's own joint (..., N), followers included."""
    full = []
    for link, coordinate in zip(arm.links_tip_to_base, arm.coordinates, strict=True):
        rule = link.joint.mimic
        value = q[..., coordinate]
        full.append(rule.ratio * value + rule.offset if rule else value)
    return np.stack(full, axis=-1)


def spreading(arm: Arm) -> np.ndarray:
    """S (N, n) with q_full = S q + constant."""
    S = np.zeros((len(arm.links), arm.n))
    for k, (link, coordinate) in enumerate(
        zip(arm.links_tip_to_base, arm.coordinates, strict=True)
    ):
        S[k, coordinate] = link.joint.mimic.ratio if link.joint.mimic else 1.0
    return S


def placed(arm: Arm, q: np.ndarray) -> Placed:
    """Poses of every link in the world's axes, relative to the world's origin."""
    values = link_positions(arm, q)
    batch = values.shape[:-1]
    R = {arm.base: np.broadcast_to(np.eye(3), (*batch, 3, 3))}
    p = {arm.base: np.zeros((*batch, 3))}
    for k in range(len(arm.links), 0, -1):
        link = arm.link(k)
        E, t = np.reshape(link.joint.pose.rotation, (3, 3)), np.array(link.joint.pose.translation)
        turn, slide = _motion(link.joint, values[..., k - 1])
        still = R[link.parent] @ E
        p[k] = p[link.parent] + R[link.parent] @ t + (still @ slide[..., None])[..., 0]
        R[k] = still @ turn
    order = range(1, arm.base)
    return Placed(np.stack([R[k] for k in order], -3), np.stack([p[k] for k in order], -2))


def _motion(joint: Joint, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (Rodrigues' formula) and translation of one joint."""
    u = np.array(joint.axis)
    if not joint.turns:
        return np.broadcast_to(np.eye(3), (*value.shape, 3, 3)), value[..., None] * u
    K = np.cross(np.eye(3), u)
    s, c = np.sin(value)[..., None, None], np.cos(value)[..., None, None]
    return np.eye(3) + s * K + (1.0 - c) * (K @ K), np.zeros((*value.shape, 3))


def bodies(arm: Arm) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masses (N), centres (N, 3) and rotary inertias (N, 3, 3) in the links' own frames."""
    masses = np.array([link.inertia.mass for link in arm.links_tip_to_base])
    centres = np.array([link.inertia.com for link in arm.links_tip_to_base])
    rotary = np.array([_symmetric(link.inertia.rotary) for link in arm.links_tip_to_base])
    return masses, centres, rotary


def _symmetric(rotary: Any) -> np.ndarray:
    xx, xy, xz, yy, yz, zz = rotary
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def centres_of_mass(arm: Arm, q: np.ndarray) -> np.ndarray:
    at, (_, centres, _) = placed(arm, q), bodies(arm)
    return at.p + (at.R @ centres[..., None])[..., 0]


def kinetic_energy(arm: Arm, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """½ Σ m |ċ|² + ½ Σ tr(Ṙ Σ_b Ṙ*), Σ_b = ½ tr(I) 1 - I, and ½ armature q̇²: no spin needed."""
    masses, _, rotary = bodies(arm)
    moved = q + 1j * STEP * qd
    velocity = centres_of_mass(arm, moved).imag / STEP
    turning = placed(arm, moved).R.imag / STEP
    second = 0.5 * np.trace(rotary, axis1=-2, axis2=-1)[:, None, None] * np.eye(3) - rotary
    bodily = np.einsum("k,...ki,...ki->...", masses, velocity, velocity)
    spinning = np.einsum("...kij,kjl,...kil->...", turning, second, turning)
    rotors = np.array([link.joint.armature for link in arm.links_tip_to_base])
    own = qd @ spreading(arm).T
    return 0.5 * (bodily + spinning + np.einsum("k,...k,...k->...", rotors, own, own))


def potential_energy(arm: Arm, q: np.ndarray) -> np.ndarray:
    """-Σ m g · c."""
    masses, _, _ = bodies(arm)
    return -np.einsum("k,...kj,j->...", masses, centres_of_mass(arm, q), np.array(arm.gravity))


def weight_torque(arm: Arm, q: np.ndarray) -> np.ndarray:
    """The gradient of the potential energy (..., n), by complex step."""
    moved = q[..., None, :] + 1j * STEP * np.eye(arm.n)
    return potential_energy(arm, moved).imag / STEP


def frame_in_world(arm: Arm, name: str, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation (..., 3, 3) and origin (..., 3) of a named frame."""
    frame = arm.frames[name]
    at = placed(arm, q)
    R, p = at.R[..., frame.link - 1, :, :], at.p[..., frame.link - 1, :]
    turn = np.reshape(frame.pose.rotation, (3, 3))
    return R @ turn, p + R @ np.array(frame.pose.translation)


def load_torque(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Torques that balance the arm's wrenches: minus their virtual work, (..., n)."""
    total = np.zeros(q.shape)
    for wrench in arm.wrenches:
        moved = q[..., None, :] + 1j * STEP * np.eye(arm.n)
        R, p = frame_in_world(arm, wrench.frame, moved)
        force, torque = np.array(wrench.force), np.array(wrench.moment)
        if wrench.model == "follower":
            force, torque = R.real @ force, R.real @ torque
        if wrench.model == "world":
            torque = torque - np.cross(p.real, force)
        # the spin w of a column's motion: Ṙ R* = w~
        W = (R.imag / STEP) @ np.swapaxes(R.real, -1, -2)
        spin = np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], axis=-1)
        total = total - ((p.imag / STEP) * force + spin * torque).sum(axis=-1)
    return total
