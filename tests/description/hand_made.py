"""Descriptions made without a file, and kinematics written a second time to judge the first."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import numpy as np

from robolin.core.arm import Arm, Inertia, Pose, Rotary, Vector3
from robolin.core.arm_parts import rotation_from_rpy
from robolin.description.model import Description, JointEntry, LinkEntry, SourceLocation
from robolin.description.structure import composed_mimic

FILE = "arm.urdf"
KINDS = ("revolute", "continuous", "prismatic", "fixed")


def describe(
    joints: list[JointEntry], inertias: Mapping[str, Inertia | None] | None = None, **more
) -> Description:
    """Return a description of the joints; links have the given inertia, or none."""
    inertias = inertias or {}
    children = {joint.child for joint in joints}
    names = dict.fromkeys(name for joint in joints for name in (joint.parent, joint.child))
    root = next(name for name in names if name not in children)
    links = tuple(
        LinkEntry(
            name, SourceLocation(FILE, 10 + i), inertias.get(name), SourceLocation(FILE, 10 + i)
        )
        for i, name in enumerate(names)
    )
    return Description("arm", links, tuple(joints), root, FILE, "0" * 64, **more)


def joint(name: str, parent: str, child: str, kind: str = "revolute", **more) -> JointEntry:
    """Return a joint whose line number consists of the digits of its name, 100 without any."""
    line = 100 + int("".join(filter(str.isdigit, name)) or 0)
    return JointEntry(name, kind, parent, child, SourceLocation(FILE, line), **more)


def random_pose(rng: random.Random) -> Pose:
    x, y, z = (rng.uniform(-0.5, 0.5) for _ in range(3))
    return Pose(rotation_from_rpy(*(rng.uniform(-3, 3) for _ in range(3))), (x, y, z))


def cloud(rng: random.Random, count: int = 5) -> list[tuple[float, Vector3]]:
    """Point masses: a body whose inertia follows from the definition."""
    return [
        (rng.uniform(0.1, 2.0), tuple(rng.uniform(-0.3, 0.3) for _ in range(3)))
        for _ in range(count)
    ]


def inertia_of(points: list[tuple[float, Vector3]]) -> Inertia:
    """Mass, centre and rotary inertia of point masses, by definition."""
    masses = np.array([mass for mass, _ in points])
    positions = np.array([position for _, position in points])
    total = masses.sum()
    com = masses @ positions / total
    d = positions - com
    I = sum(m * (v @ v * np.eye(3) - np.outer(v, v)) for m, v in zip(masses, d, strict=True))
    rotary: Rotary = tuple(float(I[i, j]) for i, j in np.argwhere(np.triu(np.ones((3, 3)))))
    return Inertia(float(total), tuple(map(float, com)), rotary)


def random_tree(
    seed: int, count: int = 8, kinds: tuple[str, ...] = KINDS
) -> tuple[Description, dict[str, list[tuple[float, Vector3]]]]:
    """A random tree of links, each a cloud of point masses, and the clouds."""
    rng = random.Random(seed)
    joints, clouds = [], {"link0": cloud(rng)}
    for i in range(1, count + 1):
        name = f"link{i}"
        axis = tuple(rng.uniform(-1, 1) for _ in range(3))
        kind = "revolute" if i == 1 else rng.choice(kinds)
        parent = f"link{rng.randrange(i)}"
        joints.append(joint(f"j{i}", parent, name, kind, pose=random_pose(rng), axis=axis))
        clouds[name] = cloud(rng)
    inertias = {name: inertia_of(points) for name, points in clouds.items()}
    return describe(joints, inertias), clouds


def matrix(pose: Pose) -> np.ndarray:
    T = np.eye(4)
    T[:3, :3] = np.reshape(pose.rotation, (3, 3))
    T[:3, 3] = pose.translation
    return T


def motion(kind: str, axis: Vector3, q: float) -> np.ndarray:
    """Motion of the joint itself: the exponential of the rotation's generator."""
    T = np.eye(4)
    u = np.array(axis) / math.sqrt(sum(x * x for x in axis))
    if kind == "prismatic":
        T[:3, 3] = q * u
    elif kind != "fixed":
        K = np.cross(np.eye(3), u)
        T[:3, :3] = np.eye(3) + math.sin(q) * K + (1 - math.cos(q)) * K @ K
    return T


def description_poses(description: Description, q: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Poses of all links in the world; joints without a position are at 0."""
    mimic = composed_mimic(description.joints)
    poses = {description.root: np.eye(4)}
    waiting = list(description.joints)
    while waiting:
        entry = waiting.pop(0)
        if entry.parent not in poses:
            waiting.append(entry)
            continue
        rule = mimic.get(entry.name)
        position = q.get(entry.name, 0.0)
        if rule:
            position = rule.ratio * q.get(rule.leader, 0.0) + rule.offset
        step = matrix(entry.pose) @ motion(entry.kind, entry.axis, position)
        poses[entry.child] = poses[entry.parent] @ step
    return poses


def arm_poses(arm: Arm, q: Mapping[str, float]) -> dict[str, np.ndarray]:
    """Every frame's pose in the world, from the arm alone."""
    worlds = {arm.base: np.eye(4)}
    for k in range(arm.base - 1, 0, -1):
        link = arm.link(k)
        rule = link.joint.mimic
        position = rule.ratio * q[rule.leader] + rule.offset if rule else q[link.joint.name]
        step = matrix(link.joint.pose) @ motion(link.joint.kind, link.joint.axis, position)
        worlds[k] = worlds[link.parent] @ step
    return {name: worlds[frame.link] @ matrix(frame.pose) for name, frame in arm.frames.items()}
