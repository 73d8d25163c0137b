"""Named poses of a description: usable names, positions within limits, and keyframes of MJCF."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import atan2, cos, hypot, inf, isfinite, sin
from typing import TYPE_CHECKING, Any

from robolin.core.arm import Limits, Matrix3, Pose, Vector3
from robolin.core.arm_parts import compose, inverse_rotation, rotation_from_quaternion
from robolin.core.quantity_table import joint_unit
from robolin.core.text_parsing import is_number
from robolin.description.finding_ids import finding
from robolin.description.model import (
    JOINT_TYPES,
    Description,
    Finding,
    JointEntry,
    Level,
    PoseEntry,
)
from robolin.description.tree import coordinate_names, group_kind

if TYPE_CHECKING:
    from robolin.description.mjcf.mjcf_files import ModelFiles


_TURNS, _SLIDES = ("rx", "ry", "rz"), ("x", "y", "z")


def usable_poses(
    poses: Iterable[PoseEntry], joints: Sequence[JointEntry], level: Level, findings: list[Finding]
) -> tuple[PoseEntry, ...]:
    """The poses that a name selects without ambiguity; each other pose becomes a finding.

    level: 'error' for robolin's own format, 'warning' for files of other programs
    """
    taken = {joint.name for joint in joints}
    taken |= {name for joint in joints for name in coordinate_names(joint)}
    usable: dict[str, PoseEntry] = {}
    for pose in poses:
        problem = _name_problem(pose.name, taken)
        if problem is None and not all(map(isfinite, pose.positions.values())):
            problem = "a position is not a finite number"
        if problem is None and pose.name in usable:
            problem = f"there is another one at {usable[pose.name].location}"
        if problem is None:
            usable[pose.name] = pose
            continue
        what = "pose-name" if level == "error" else "pose-ignored"
        message = f"pose '{pose.name}' cannot be selected by --q: {problem}"
        findings.append(Finding(what, level, pose.location, message, "give the pose another name"))
    return tuple(usable.values())


def _name_problem(name: str, joint_names: set[str]) -> str | None:
    if name in joint_names:
        return "a joint has this name"
    if is_number(name):
        return "the name is a number"
    if not name or name != name.strip() or not name.isprintable() or set(name) & set(",="):
        return "the name is blank, or contains ',', '=' or a character that cannot be shown"
    return None


def rpy_from_rotation(R: Matrix3) -> Vector3:
    """Roll, pitch and yaw of a rotation matrix; they reproduce it also at gimbal lock."""
    yaw = atan2(R[3], R[0])
    c, s = cos(yaw), sin(yaw)
    pitch = atan2(-R[6], c * R[0] + s * R[3])
    roll = atan2(s * R[2] - c * R[5], c * R[4] - s * R[1])
    return roll + 0.0, pitch + 0.0, yaw + 0.0


def normalized(quaternion: Sequence[float]) -> list[float]:
    """The quaternion divided by its length; (1, 0, 0, 0) if all components are 0."""
    length = hypot(*quaternion)
    return [part / length for part in quaternion] if length else [1.0, 0.0, 0.0, 0.0]


def rotation_positions(joint: str, quaternion: Sequence[float]) -> dict[str, float]:
    """Roll, pitch and yaw of a joint from a quaternion w, x, y, z of any length."""
    R = rotation_from_quaternion(*normalized(quaternion))
    return dict(zip((f"{joint}:{part}" for part in _TURNS), rpy_from_rotation(R), strict=True))


def pose_positions(joint: str, pose: Pose) -> dict[str, float]:
    """Positions of a floating joint whose child link has this pose in the joint's frame."""
    turn: Vector3 = rpy_from_rotation(pose.rotation)
    names = (f"{joint}:{part}" for part in (*_TURNS, *_SLIDES))
    return dict(zip(names, (*turn, *pose.translation), strict=True))


def pose_findings(description: Description) -> Iterator[Finding]:
    """A note for every pose with joints outside their limits; only written positions count."""
    joints = {joint.name: joint for joint in description.joints if not group_kind(joint)}
    for pose in description.poses:
        outside = [
            text
            for name, position in pose.positions.items()
            if name in joints and (text := _outside(joints[name], position))
        ]
        if outside:
            message = f"pose '{pose.name}' is outside the joint limits: {'; '.join(outside)}"
            hint = "correct the pose or the limits; --q accepts the pose as it is"
            yield finding("pose-outside-limits", pose.location, message, hint)


def _outside(joint: JointEntry, position: float) -> str:
    if joint.mimic or joint.kind == "continuous":
        return ""
    return outside_limits(joint.name, joint.limits, position, JOINT_TYPES[joint.kind].rotary)


def outside_limits(name: str, limits: Limits, position: float, turns: bool) -> str:
    """Text about a joint position outside its limits; '' if it is within."""
    low = -inf if limits.lower is None else limits.lower
    high = inf if limits.upper is None else limits.upper
    if low <= position <= high:
        return ""
    unit = joint_unit("position", turns)
    return f"'{name}' is at {position:.6g} {unit}, its limits are {low:.6g} to {high:.6g}"


def movable(joints: Iterable[JointEntry]) -> Mapping[str, bool]:
    """Names of all coordinates of movable joints -> True for an angle."""
    return {
        name: JOINT_TYPES[joint.kind].rotary or name.rpartition(":")[2] in _TURNS
        for joint in joints
        if joint.kind != "fixed"
        for name in coordinate_names(joint)
    }


def keyframe_poses(
    model: Mapping[str, Any],
    joints: Sequence[JointEntry],
    files: ModelFiles,
    findings: list[Finding],
) -> tuple[PoseEntry, ...]:
    """The positions of every <key>; an unnamed one is 'key' and its number, from 0."""
    entries = {joint.name: joint for joint in joints}
    poses = [
        PoseEntry(key["name"], files.at("key", key["name"]), _positions(model, key, entries))
        for key in model["key"]
    ]
    return usable_poses(poses, joints, "warning", findings)


def _positions(
    model: Mapping[str, Any], key: Mapping[str, Any], entries: Mapping[str, JointEntry]
) -> dict[str, float]:
    positions: dict[str, float] = {}
    for joint in model["joint"]:
        positions |= _of_joint(entries[joint["name"]], key["qpos"][joint["qposadr"] :])
    return positions


def _of_joint(joint: JointEntry, qpos: Sequence[float]) -> Mapping[str, float]:
    """Positions of one joint; MuJoCo stores quaternions as w, x, y, z."""
    if joint.kind == "spherical":
        return rotation_positions(joint.name, qpos[:4])
    if joint.kind == "floating":
        x, y, z, *quaternion = qpos[:7]
        # MuJoCo has the pose in the world, a floating joint relative to where the body is at 0
        there = Pose(rotation_from_quaternion(*normalized(quaternion)), (x, y, z))
        return pose_positions(joint.name, compose(inverse_rotation(joint.pose), there))
    return {joint.name: qpos[0]}
