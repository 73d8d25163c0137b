"""Universal and cylindrical joints, written as one and read as two with one freedom each.

    universal     turns about `axis`, and what that carries about `axis2`: NAME:axis, NAME:axis2
    cylindrical   slides along `axis` and turns about it: NAME:slide, NAME:turn

Velocities of both are the rates of their positions, so two joints with a massless frame between
them, CHILD@NAME, are the same joint.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from robolin.core.arm import HERE, Limits, Vector3
from robolin.core.rotations import unit, without_direction
from robolin.description.model import EntryKind, Finding, JointEntry, LinkEntry

# the freedoms of each, from the inner joint outward
PAIR_PARTS: Mapping[str, tuple[str, str]] = {
    "universal": ("axis", "axis2"),
    "cylindrical": ("slide", "turn"),
}

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
                if "axis2" not in joint.places:
                    hint += "; give axis2, which is 0 1 0 where a file leaves it out"
                yield Finding("zero-axis", "error", joint.at("axis2"), message, hint)


def taken_in_two(joints: Sequence[JointEntry]) -> tuple[list[LinkEntry], list[JointEntry]]:
    """The frames in between, and all joints with one in place of every pair's two."""
    frames, every = [], []
    for joint in joints:
        if joint.kind not in PAIR_PARTS:
            every.append(joint)
            continue
        middle = f"{joint.child}@{joint.name}"
        frames.append(LinkEntry(middle, joint.place))
        first, second = pair_of(joint)
        every += [
            replace(first, child=middle),
            replace(second, parent=middle, pose=HERE),
        ]
    return frames, every


def pair_of(joint: JointEntry) -> tuple[JointEntry, JointEntry]:
    """The two joints that a universal or cylindrical one is; each follows its like, if any."""
    first, second = (_named(joint, part) for part in PAIR_PARTS[joint.kind])
    turning: EntryKind = "continuous" if joint.limits.lower is None else "revolute"
    if joint.kind == "universal":
        return replace(first, kind=turning), replace(second, kind=turning, axis=joint.axis2)
    # one number cannot limit both metres and radians
    slide, turn = (replace(part, limits=Limits()) for part in (first, second))
    return replace(slide, kind="prismatic"), replace(turn, kind="continuous")


def _named(joint: JointEntry, part: str) -> JointEntry:
    mimic = joint.mimic
    if mimic is not None:
        mimic = replace(mimic, leader=f"{mimic.leader}:{part}")
    return replace(joint, name=f"{joint.name}:{part}", mimic=mimic)


def _dot(a: Vector3, b: Vector3) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
