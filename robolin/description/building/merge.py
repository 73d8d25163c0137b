"""Rigid bodies joined into one, and joints standing still at a value."""

from __future__ import annotations

from collections.abc import Iterable
from math import cos, sin

from robolin.arm import Inertia, Matrix3, Pose, Rotary, Vector3
from robolin.description.model import JointEntry
from robolin.geometry.rotations import apply, compose, turned_rotary, unit

NO_BODY = Inertia()


def turn_about(axis: Vector3, angle: float) -> Matrix3:
    """The turn by an angle about a unit axis (Rodrigues)."""
    x, y, z = axis
    c, s = cos(angle), sin(angle)
    v = 1.0 - c
    return (
        c + x * x * v, x * y * v - z * s, x * z * v + y * s,
        y * x * v + z * s, c + y * y * v, y * z * v - x * s,
        z * x * v - y * s, z * y * v + x * s, c + z * z * v,
    )  # fmt: skip


def standing(joint: JointEntry, position: float) -> Pose:
    """The child link seen from the parent link while the joint stands at a position."""
    if position == 0.0:
        return joint.pose
    x, y, z = axis = unit(joint.axis)
    if joint.kind == "prismatic":
        motion = Pose(translation=(position * x, position * y, position * z))
    else:
        motion = Pose(rotation=turn_about(axis, position))
    return compose(joint.pose, motion)


def placed(inertia: Inertia, pose: Pose) -> Inertia:
    """A body given in the pose's own frame, seen from the frame the pose is given in."""
    if pose == Pose():
        return inertia
    rotary = turned_rotary(pose.rotation, inertia.rotary)
    return Inertia(inertia.mass, apply(pose, inertia.com), rotary)


def merged_inertia(bodies: Iterable[Inertia]) -> Inertia:
    """Several bodies in one frame as a single one, by the parallel-axis rule.

        m = Σ mᵢ,   m c = Σ mᵢ cᵢ,   I = Σ Iᵢ + mᵢ (|dᵢ|² 1 − dᵢ dᵢᵀ),   dᵢ = cᵢ − c

    A body that weighs nothing and resists no turning changes nothing, not even a rounding.
    Masses that cancel have no centre: ZeroDivisionError.
    """
    parts = [body for body in bodies if body.mass or any(body.rotary)]
    if len(parts) <= 1:
        return parts[0] if parts else NO_BODY
    mass = sum(part.mass for part in parts)
    com = _centre(parts, mass)
    rotaries = [_about(part, com) for part in parts]
    xx, xy, xz, yy, yz, zz = (sum(entries) for entries in zip(*rotaries, strict=True))
    return Inertia(mass, com, (xx, xy, xz, yy, yz, zz))


def _centre(parts: list[Inertia], mass: float) -> Vector3:
    """The common centre of mass; taken from the one heavy part when there is only one."""
    heavy = [part for part in parts if part.mass]
    if len(heavy) == 1:
        return heavy[0].com
    if not heavy:
        return parts[0].com
    x, y, z = (sum(part.mass * part.com[i] for part in heavy) / mass for i in range(3))
    return x, y, z


def _about(part: Inertia, centre: Vector3) -> Rotary:
    """The part's rotary inertia about another point than its own centre of mass."""
    x, y, z = (a - b for a, b in zip(part.com, centre, strict=True))
    xx, xy, xz, yy, yz, zz = part.rotary
    m = part.mass
    return (
        xx + m * (y * y + z * z), xy - m * x * y, xz - m * x * z,
        yy + m * (x * x + z * z), yz - m * y * z,
        zz + m * (x * x + y * y),
    )  # fmt: skip


def inertia_about(inertia: Inertia, axis: Vector3) -> float:
    """The resistance to turning about a unit axis through the frame's origin."""
    x, y, z = axis
    xx, xy, xz, yy, yz, zz = _about(inertia, (0.0, 0.0, 0.0))
    return xx * x * x + yy * y * y + zz * z * z + 2.0 * (xy * x * y + xz * x * z + yz * y * z)
