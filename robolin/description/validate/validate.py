"""Everything worth knowing about a robot file before trusting its dynamics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import hypot
from typing import Any

from robolin.core.arm import Arm, Inertia, Link, Vector3
from robolin.core.rotations import inertia_about, merged_inertia, placed
from robolin.description.building.build_arm import build
from robolin.description.building.contract import exact_figure
from robolin.description.building.selection import spring_of_several
from robolin.description.model import (
    Description,
    Finding,
    JointEntry,
    Place,
    Reading,
    first_findings,
)
from robolin.description.tree import group_kind
from robolin.description.validate.validate_links import link_findings, repeated_inertials
from robolin.description.validate.validation_ids import finding
from robolin.errors import RobolinError

# three printed figures, as in 0.707 0.707 0, leave an axis this far from length 1
AXIS_TOLERANCE = 1e-3

# what rounding leaves of an inertia about an axis through the mass, against one across it
NEGLIGIBLE_AXIS_INERTIA = 1e-12
AXES: tuple[Vector3, ...] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def validate(reading: Reading) -> list[Finding]:
    """The reader's findings and the physical ones, by line; the latter only if the file loads."""
    findings = list(reading.findings)
    if reading.description is not None:
        findings += first_findings(
            list(physical_findings(reading.description, plain_arm(reading.description)))
        )
    return sorted(findings, key=lambda found: (found.place.line, found.place.column))


def physical_findings(description: Description, arm: Arm | None) -> Iterator[Finding]:
    """What is odd about the numbers; `arm` is what `plain_arm` makes of the description."""
    sizes = link_sizes(arm) if arm else {}
    for link in description.links:
        yield from link_findings(link, sizes.get(link.name))
    yield from repeated_inertials(description.links)
    for joint in description.joints:
        yield from joint_findings(joint)
    if arm:
        yield from motion_findings(description, arm)
    elif all(joint.kind == "fixed" for joint in description.joints):
        place = description.places.get("robot", Place(description.source))
        hint = "an arm has at least one joint that moves, or floats: --floating-base"
        yield finding("nothing-moves", place, "no joint of this robot moves", hint)


def plain_arm(
    description: Description,
    source: str | None = None,
    loaded_with: Mapping[str, Any] | None = None,
) -> Arm | None:
    """The arm with nothing asked for, or None where only other options would make one."""
    try:
        return build(description, source=source, loaded_with=loaded_with)
    except RobolinError:
        return None


def joint_findings(joint: JointEntry) -> Iterator[Finding]:
    """Everything to say about one joint; a fixed one has nothing that could be odd."""
    if joint.kind == "fixed":
        return
    length = hypot(*joint.axis)
    if joint.kind not in ("floating", "spherical") and abs(length - 1.0) > AXIS_TOLERANCE:
        message = f"joint '{joint.name}': the axis has length {length:.6g}"
        hint = f"it is used as {', '.join(f'{x / length:.6g}' for x in joint.axis)}; write it so"
        yield finding("axis-not-unit", joint.at("axis"), message, hint)
    yield from _limit_findings(joint)
    yield from _loss_findings(joint)
    if joint.stiffness and group_kind(joint):
        message, hint = spring_of_several(joint)
        yield finding("multi-dof-spring", joint.at("dynamics"), message, hint)
    if joint.mimic and joint.mimic.ratio == 0.0:
        message = f"joint '{joint.name}' follows '{joint.mimic.leader}' with ratio 0"
        hint = "make it a fixed joint, or correct the multiplier"
        yield finding("mimic-ratio-zero", joint.at("mimic"), message, hint)


def _limit_findings(joint: JointEntry) -> Iterator[Finding]:
    lower, upper = joint.limits.lower, joint.limits.upper
    place = joint.at("limit")
    if lower is not None and upper is not None and joint.kind != "continuous":
        if lower > upper:
            message = (
                f"joint '{joint.name}': the lower limit {exact_figure(lower)} is above the upper "
            )
            hint = f"swap them, or check the sign of {exact_figure(lower)}"
            yield finding("limits-inverted", place, message + exact_figure(upper), hint)
        elif lower == upper:
            message = f"joint '{joint.name}': both limits are {exact_figure(lower)}"
            hint = "give its range, or make it a fixed joint; no verb applies the limits"
            yield finding("limits-zero-range", place, message, hint)
    no_effort = joint.limits.effort_range == (0.0, 0.0)
    for part, zero in (("effort", no_effort), ("velocity", joint.limits.velocity == 0.0)):
        if zero:
            message = f"joint '{joint.name}': the {part} limit is 0"
            hint = "0 often stands for unknown; leave it out or give the motor's figure"
            yield finding(f"limits-zero-{part}", place, message, hint)


def _loss_findings(joint: JointEntry) -> Iterator[Finding]:
    parts = ("damping", "armature", "stiffness")
    sides = dict.fromkeys(("friction", side) for side in joint.friction_sides)
    for part, value in (*((part, getattr(joint, part)) for part in parts), *sides):
        if value < 0.0:
            place = joint.places.get(part, joint.at("dynamics"))
            message = f"joint '{joint.name}': {part} {exact_figure(value)} is below zero"
            yield finding(
                f"negative-{part}", place, message, f"did you mean {exact_figure(-value)}?"
            )


def link_sizes(arm: Arm) -> Mapping[str, float]:
    """For every link that moves, how far apart its joints, frames and centre of mass are.

    Links merged into one share its size; those on the base have none, they do not move.
    """
    sizes = [
        hypot(*link.inertia.com) + hypot(*link.joint.pose.translation)
        for link in arm.links_tip_to_base
    ]
    for link in arm.links_tip_to_base:
        if link.parent != arm.base:
            reach = hypot(*link.joint.pose.translation)
            sizes[link.parent - 1] = max(sizes[link.parent - 1], reach)
    for frame in arm.frames.values():
        if frame.link != arm.base:
            reach = hypot(*frame.pose.translation)
            sizes[frame.link - 1] = max(sizes[frame.link - 1], reach)
    return {
        name: sizes[frame.link - 1] for name, frame in arm.frames.items() if frame.link != arm.base
    }


def motion_findings(description: Description, arm: Arm) -> Iterator[Finding]:
    """Joints that nothing resists, and weightless links that carry others."""
    entries = {joint.name: joint for joint in description.joints}
    carried = _carried(arm)
    idle = {k for k, body in enumerate(carried, start=1) if _unresisted(arm.link(k), body)}
    # a leader and its followers are one coordinate: one of them that is resisted is enough
    resisted = {arm.coordinates[k - 1] for k in range(1, arm.base) if k not in idle}
    for k in range(arm.base - 1, 0, -1):
        link, joint = arm.link(k), entries[arm.joint_of(k)]
        if k in arm.stand_ins:
            continue
        if k in idle and arm.coordinates[k - 1] not in resisted:
            yield _no_inertia(joint, carried[k - 1])
        elif link.inertia == Inertia() and carried[k - 1].mass:
            place = joint.place
            message = (
                f"link '{link.name}' moves but weighs nothing, though it carries links that do"
            )
            hint = "fine between joints with different axes; otherwise the forward verbs fail"
            yield finding("massless-link", place, message, hint)


def _no_inertia(joint: JointEntry, body: Inertia) -> Finding:
    why = "nothing it carries has mass" if body == Inertia() else "its load has none about it"
    if joint.kind == "prismatic":
        why = "nothing it carries has mass"
    message = f"joint '{joint.name}' meets no inertia: {why}; forward verbs will fail there"
    hint = f"give link '{joint.child}' its mass and inertia, or --armature {joint.name}=VALUE, "
    return finding("no-inertia-at-joint", joint.place, message, hint + "or lock it")


def _carried(arm: Arm) -> list[Inertia]:
    """For links 1, 2, …: all that moves with the link at q = 0, as one body in its frame."""
    parts: list[list[Inertia]] = [[link.inertia] for link in arm.links_tip_to_base]
    carried: list[Inertia] = []
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        body = _sum(parts[k - 1])
        carried.append(body)
        if link.parent != arm.base:
            parts[link.parent - 1].append(placed(body, link.joint.pose))
    return carried


def _sum(parts: list[Inertia]) -> Inertia:
    """The parts as one body; masses that cancel are reported as negative, here they are none."""
    try:
        return merged_inertia(parts)
    except ZeroDivisionError:
        return Inertia()


def _unresisted(link: Link, body: Inertia) -> bool:
    """Whether the joint's own entry of the mass matrix vanishes, in this pose and so in all.

    It does not depend on the joint's position, and with possible bodies it is a sum of terms
    that are not negative: zero in one pose of the outer joints means every term is zero.
    """
    if link.joint.armature > 0.0:
        return False
    if not link.joint.turns:
        return body.mass <= 0.0
    across = max(abs(inertia_about(body, axis)) for axis in AXES)
    return inertia_about(body, link.joint.axis) <= NEGLIGIBLE_AXIS_INERTIA * across
