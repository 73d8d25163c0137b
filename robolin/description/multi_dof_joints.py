"""Multi-DoF joints, also that of a floating base: one joint per coordinate."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import hypot

from robolin.core.arm import (
    GROUP_FREEDOMS,
    HERE,
    GroupKind,
    Joint,
    JointKind,
    Pose,
    Vector3,
)
from robolin.core.arm_parts import unit
from robolin.core.text import did_you_mean
from robolin.description.model import (
    Description,
    JointEntry,
    LinkEntry,
    SourceLocation,
)
from robolin.errors import RobolinError, UsageError

FLOATING_BASE = "base"

WORLD = "world"


def joints_of_group(
    joint: JointEntry,
    kind: GroupKind,
    pose: Pose,
    armature: Mapping[str, float],
    velocities: Mapping[str, float],
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
            friction_velocity=velocities.get(name, velocities.get(joint.name)),
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
        message = (
            f"floating base: '{rotor.name}' models a tendon armature, which requires a fixed base"
        )
        hint = "add a <freejoint> to the base body in the file"
        yield UsageError(message, where=str(rotor.location), hint=hint)
    taken = {FLOATING_BASE, *(f"{FLOATING_BASE}:{part}" for part in GROUP_FREEDOMS["floating"])}
    for joint in description.joints:
        if joint.name in taken:
            yield UsageError(
                f"floating base: the robot file has a joint '{joint.name}'",
                where=str(joint.location),
                hint="rename this joint in the robot file: the name is reserved for the floating "
                "base",
            )
