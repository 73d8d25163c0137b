"""Universal and cylindrical joints, written as one and read as two with one freedom each.

    universal     turns about `axis`, and what that carries about `axis2`: NAME:axis, NAME:axis2
    cylindrical   slides along `axis` and turns about it: NAME:slide, NAME:turn

Velocities of both are the rates of their positions, so two joints with a massless frame between
them, CHILD@NAME, are the same joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from robolin.arm import HERE, Limits, Vector3
from robolin.description.joint_axis import unit, without_direction
from robolin.description.model import EntryKind, Finding, JointEntry, LinkEntry

# squared sine of the angle between the axes of a universal joint up to which they are one
PARALLEL = 1e-12


def parallel_axes(joints: Iterable[JointEntry]) -> Iterable[Finding]:
    """Universal joints whose axes are one, about which one freedom too many would turn."""
    for joint in joints:
        if joint.kind == "universal":
            if without_direction(joint.axis) or without_direction(joint.axis2):
                continue
            a, b = unit(joint.axis), unit(joint.axis2)
            if 1.0 - _dot(a, b) ** 2 <= PARALLEL:
                message = f"joint '{joint.name}': axis2 is along axis"
                hint = "a universal joint turns about two axes across each other"
                yield Finding("zero-axis", "error", joint.at("axis2"), message, hint)


def taken_in_two(joints: Sequence[JointEntry]) -> tuple[list[LinkEntry], list[JointEntry]]:
    """The frames in between, and all joints with one in place of every pair's two."""
    frames, every = [], []
    for joint in joints:
        if joint.kind != "universal" and joint.kind != "cylindrical":
            every.append(joint)
            continue
        middle = f"{joint.child}@{joint.name}"
        frames.append(LinkEntry(middle, joint.place))
        first, second = _pair(joint)
        every += [
            replace(first, child=middle),
            replace(second, parent=middle, pose=HERE),
        ]
    return frames, every


def _pair(joint: JointEntry) -> tuple[JointEntry, JointEntry]:
    turning: EntryKind = "continuous" if joint.limits.lower is None else "revolute"
    if joint.kind == "universal":
        return (
            replace(joint, name=f"{joint.name}:axis", kind=turning),
            replace(joint, name=f"{joint.name}:axis2", kind=turning, axis=joint.axis2),
        )
    # one number cannot limit both metres and radians
    free = replace(joint, limits=Limits())
    return (
        replace(free, name=f"{joint.name}:slide", kind="prismatic"),
        replace(free, name=f"{joint.name}:turn", kind="continuous"),
    )


def _dot(a: Vector3, b: Vector3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
