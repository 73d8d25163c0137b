"""Keyframes of an MJCF model as named poses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robolin.core.arm import Pose
from robolin.core.arm_parts import compose, inverse_rotation, rotation_from_quaternion
from robolin.description.mjcf.mjcf_files import ModelFiles
from robolin.description.model import Finding, JointEntry, PoseEntry
from robolin.description.named_poses import (
    normalized,
    pose_positions,
    rotation_positions,
    usable_poses,
)


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
