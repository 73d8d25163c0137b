"""Everything worth knowing about a robot file before trusting its dynamics."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import hypot
from typing import Any

from robolin.arm import Arm
from robolin.description.building.build_arm import build
from robolin.description.building.contract import exact_figure
from robolin.description.model import Description, Finding, JointEntry, Place, Reading, limited
from robolin.description.validate.validate_links import link_findings, repeated_inertials
from robolin.description.validate.validate_motion import link_sizes, motion_findings
from robolin.description.validate.validation_ids import finding
from robolin.errors import RobolinError

# three printed figures, as in 0.707 0.707 0, leave an axis this far from length 1
AXIS_TOLERANCE = 1e-3


def validate(reading: Reading) -> list[Finding]:
    """The reader's findings and the physical ones, by line; the latter only if the file loads."""
    findings = list(reading.findings)
    if reading.description is not None:
        findings += limited(
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
    for part, limit in (("effort", joint.limits.effort), ("velocity", joint.limits.velocity)):
        if limit == 0.0:
            message = f"joint '{joint.name}': the {part} limit is 0"
            hint = "0 often stands for unknown; leave it out or give the motor's figure"
            yield finding(f"limits-zero-{part}", place, message, hint)


def _loss_findings(joint: JointEntry) -> Iterator[Finding]:
    losses = {"damping": joint.damping, "friction": joint.friction, "armature": joint.armature}
    for part, value in losses.items():
        if value < 0.0:
            place = joint.places.get(part, joint.at("dynamics"))
            message = f"joint '{joint.name}': {part} {exact_figure(value)} is below zero"
            yield finding(
                f"negative-{part}", place, message, f"did you mean {exact_figure(-value)}?"
            )
