"""What is odd about a joint as written: its axis, limits, losses and whom it follows."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot

from robolin.description.building.contract import exact_figure
from robolin.description.model import Finding, JointEntry
from robolin.description.validate.validation_ids import finding

# three printed figures, as in 0.707 0.707 0, leave an axis this far from length 1
AXIS_TOLERANCE = 1e-3


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
