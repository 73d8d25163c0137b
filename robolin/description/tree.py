"""A description as a tree of joints: their order, mimic rules and poses.

The public order is depth first from the root.  Multi-DoF joints are split into one joint per
coordinate, and a floating base is a joint too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import cos, hypot, sin
from typing import cast

from robolin.core.arm import (
    GROUP_FREEDOMS,
    HERE,
    GroupKind,
    Joint,
    JointKind,
    Matrix3,
    Mimic,
    Pose,
    Vector3,
)
from robolin.core.arm_parts import compose, unit
from robolin.core.text import did_you_mean
from robolin.description.model import Description, JointEntry, LinkEntry, SourceLocation
from robolin.errors import RobolinError, UsageError

FLOATING_BASE = "base"
WORLD = "world"

# public order of the coordinates; in a floating joint rotations come before translations
PUBLIC_PARTS: Mapping[GroupKind, tuple[str, ...]] = {
    "floating": ("rx", "ry", "rz", "x", "y", "z"),
    "planar": ("x", "y", "rz"),
    "spherical": ("rx", "ry", "rz"),
}


@dataclass(frozen=True)
class Tree:
    """The joints depth first, siblings in file order, so that parents precede their children."""

    description: Description
    joints: tuple[JointEntry, ...]

    @cached_property
    def by_name(self) -> Mapping[str, JointEntry]:
        return {joint.name: joint for joint in self.joints}

    @cached_property
    def coordinates(self) -> frozenset[str]:
        """The names of all coordinates: single-DoF joints, and the parts of multi-DoF joints."""
        return frozenset(name for joint in self.joints for name in coordinate_names(joint))

    @cached_property
    def above(self) -> Mapping[str, JointEntry]:
        """For every link except the root, its parent joint."""
        return {joint.child: joint for joint in self.joints}

    @cached_property
    def links(self) -> tuple[str, ...]:
        return (self.description.root, *(joint.child for joint in self.joints))

    @cached_property
    def mimic(self) -> Mapping[str, Mimic]:
        """For every mimic joint, the rule with respect to its independent leader."""
        return composed_mimic(self.joints)

    def inboard(self, link: str) -> Iterator[JointEntry]:
        """The joints from a link up to the root."""
        while joint := self.above.get(link):
            yield joint
            link = joint.parent


def tree_of(description: Description) -> Tree:
    """The joints of a description in depth-first order; uses a stack, since trees may be deep."""
    below: dict[str, list[JointEntry]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    walk: list[JointEntry] = []
    waiting = below.get(description.root, [])[::-1]
    while waiting:
        joint = waiting.pop()
        walk.append(joint)
        waiting.extend(below.get(joint.child, [])[::-1])
    return Tree(description, tuple(walk))


def composed_mimic(joints: Sequence[JointEntry]) -> dict[str, Mimic]:
    """For every mimic joint, the rule with respect to the leader at the end of its chain.

    q = r₁ (r₂ q(leader) + o₂) + o₁ = r₁r₂ q(leader) + (r₁o₂ + o₁); the joints have passed
    `check_structure`, so every chain ends.
    """
    rules = {joint.name: joint.mimic for joint in joints if joint.mimic}
    composed: dict[str, Mimic] = {}
    for name, rule in rules.items():
        while step := composed.get(rule.leader, rules.get(rule.leader)):
            offset = rule.ratio * step.offset + rule.offset
            rule = Mimic(step.leader, rule.ratio * step.ratio, offset)
        composed[name] = rule
    return composed


def group_kind(joint: JointEntry) -> GroupKind | None:
    """The type of a multi-DoF joint, None for a single-DoF joint."""
    return cast(GroupKind, joint.kind) if joint.kind in GROUP_FREEDOMS else None


def coordinate_names(joint: JointEntry) -> tuple[str, ...]:
    """The names of a joint's coordinates in public order: for a single-DoF joint, its own name."""
    kind = group_kind(joint)
    return tuple(f"{joint.name}:{part}" for part in PUBLIC_PARTS[kind]) if kind else (joint.name,)


def joints_of_group(
    joint: JointEntry, kind: GroupKind, pose: Pose, armature: Mapping[str, float]
) -> Iterator[Joint]:
    """One joint per coordinate, from the innermost outward; only the first has an offset."""
    axes = _axes(joint, kind)
    for part in GROUP_FREEDOMS[kind]:
        name = f"{joint.name}:{part}"
        turning: JointKind = "continuous" if joint.limits.lower is None else "revolute"
        yield Joint(
            name=name,
            kind=turning if part in ("rx", "ry", "rz") else "prismatic",
            pose=pose,
            axis=axes[part[-1]],
            limits=joint.limits,
            damping=joint.damping,
            friction=joint.friction,
            friction_negative=joint.friction_negative,
            armature=armature.get(name, armature.get(joint.name, joint.armature)),
            actuated=joint.actuated,
        )
        pose = HERE


def _axes(joint: JointEntry, kind: GroupKind) -> dict[str, Vector3]:
    """The axes x, y and z; for a planar joint, rotated so that z is its normal."""
    if kind != "planar":
        return {"x": (1.0, 0.0, 0.0), "y": (0.0, 1.0, 0.0), "z": (0.0, 0.0, 1.0)}
    a, b, c = normal = unit(joint.axis)
    aside = hypot(a, b)
    if aside == 0.0:
        return {"x": (1.0, 0.0, 0.0), "y": (0.0, c, 0.0), "z": normal}
    u, v, lost = a / aside, b / aside, 1.0 - c
    x, y = (1.0 - lost * u * u, -lost * u * v, -a), (-lost * u * v, 1.0 - lost * v * v, -b)
    return {"x": unit(x), "y": unit(y), "z": normal}


def base_joint_of(option: str, kind: str | None, floating: str | None) -> GroupKind:
    """The type of the base joint: floating by default.

    floating: the option that requests a floating base, if set
    """
    if floating is not None and kind in GROUP_FREEDOMS and kind != "floating":
        message = f"{kind!r} cannot be used with {floating}"
        raise UsageError(message, where=option, hint=f"omit {floating}")
    for known in GROUP_FREEDOMS:
        if kind in (None, known):
            return known
    message = f"{option}: unknown base joint {kind!r}"
    raise UsageError(
        message,
        hint=did_you_mean(
            str(kind), [*GROUP_FREEDOMS], f"choose one of {', '.join(GROUP_FREEDOMS)}"
        ),
    )


def with_base_joint(description: Description, kind: GroupKind = "floating") -> Description:
    """The description with a joint of this type between the world and its former root.

    A joint that only places the root link in the world is replaced.
    """
    location = description.locations.get("robot", SourceLocation(description.source))
    names = {link.name for link in description.links}
    placed = next((x for x in description.joints if x.name == description.placement), None)
    if placed is not None:
        others = tuple(joint for joint in description.joints if joint is not placed)
        root, links = placed.child, description.links[1:]
        description = replace(description, root=root, links=links, joints=others, placement="")
        names.discard(WORLD)
    world = WORLD if WORLD not in names else f"{WORLD} around {description.root}"
    joint = JointEntry(FLOATING_BASE, kind, world, description.root, location, axis=(0.0, 0.0, 1.0))
    return replace(
        description,
        root=world,
        links=(LinkEntry(world, location), *description.links),
        joints=(joint, *description.joints),
    )


def floating_problems(description: Description) -> Iterator[RobolinError]:
    """Errors for names of the floating base or its coordinates, and for rotors of tendons."""
    rotors = (link for link in description.links if "virtual" in link.locations and link.inertia)
    if rotor := next(rotors, None):
        message = f"floating base: '{rotor.name}' models the armature of a tendon on a fixed base"
        hint = "add a <freejoint> to the base body in the file"
        yield UsageError(message, where=str(rotor.location), hint=hint)
    taken = {FLOATING_BASE, *(f"{FLOATING_BASE}:{part}" for part in GROUP_FREEDOMS["floating"])}
    for joint in description.joints:
        if joint.name in taken:
            yield UsageError(
                f"floating base: the robot file has a joint '{joint.name}'",
                where=str(joint.location),
                hint="rename it in the robot file: the base joint uses this name",
            )


def turn_about(axis: Vector3, angle: float) -> Matrix3:
    """The rotation by an angle about a unit axis (Rodrigues)."""
    x, y, z = axis
    c, s = cos(angle), sin(angle)
    v = 1.0 - c
    return (
        c + x * x * v, x * y * v - z * s, x * z * v + y * s,
        y * x * v + z * s, c + y * y * v, y * z * v - x * s,
        z * x * v - y * s, z * y * v + x * s, c + z * z * v,
    )  # fmt: skip


def standing_pose(joint: JointEntry, position: float) -> Pose:
    """The pose of the child link in the parent link for a joint position."""
    if position == 0.0:
        return joint.pose
    x, y, z = axis = unit(joint.axis)
    if joint.kind == "prismatic":
        motion = Pose(translation=(position * x, position * y, position * z))
    else:
        motion = Pose(rotation=turn_about(axis, position))
    return compose(joint.pose, motion)
