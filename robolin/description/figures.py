"""What a description says, in plain numbers: enough to tell two models apart, part by part.

What is left out is 0, or not there at all, but for gravity, which then is the standard one; names
of files and lines are no figures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from robolin.arm import NO_TURN, ORIGIN, Inertia, Pose
from robolin.description.model import STANDARD_GRAVITY, Description, JointEntry, LoopEnd, LoopEntry

Figures = Mapping[str, Any]


def figures_of(description: Description) -> dict[str, Any]:
    """The arm as a whole, and every link, joint and closure of a loop by its name."""
    arm: dict[str, Any] = {"name": description.name, "root": description.root}
    if description.gravity is not None:
        arm["gravity"] = list(description.gravity)
    return {
        "arm": arm,
        "links": {link.name: _link(link.inertia) for link in description.links},
        "joints": {joint.name: _joint(joint) for joint in description.joints},
        "loops": {loop.name: _loop(loop) for loop in description.loops},
    }


def with_gravity(figures: Figures) -> dict[str, Any]:
    """The figures with the gravity that an arm has where its description says nothing of it."""
    arm = figures.get("arm", {})
    return {**figures, "arm": {**arm, "gravity": arm.get("gravity", list(STANDARD_GRAVITY))}}


def _link(inertia: Inertia | None) -> dict[str, Any]:
    if inertia is None:
        return {}
    com, rotary = list(inertia.com), list(inertia.rotary)
    return _given_figures({"mass": inertia.mass, "com": com, "inertia": rotary})


def _joint(joint: JointEntry) -> dict[str, Any]:
    limits, mimic = joint.limits, joint.mimic
    moves = joint.kind != "fixed"
    figures = {
        "type": joint.kind,
        "parent": joint.parent,
        "child": joint.child,
        **_pose(joint.pose, ""),
        "axis": list(joint.axis) if moves else [],
        "damping": joint.damping,
        "friction": joint.friction,
        "armature": joint.armature,
    }
    if mimic is not None:
        figures |= {"mimic": mimic.leader, "mimic ratio": mimic.ratio, "mimic offset": mimic.offset}
    bounds = {
        "lower limit": limits.lower,
        "upper limit": limits.upper,
        "velocity limit": limits.velocity,
        "effort limit": limits.effort,
    }
    # a limit of 0 is not the same as none
    return _given_figures(figures) | {
        key: value for key, value in bounds.items() if value is not None
    }


def _loop(loop: LoopEntry) -> dict[str, Any]:
    return _given_figures(
        {"type": loop.kind, **_end(loop.first, "first "), **_end(loop.second, "second ")}
    )


def _end(end: LoopEnd, which: str) -> dict[str, Any]:
    return {f"{which}link": end.link, **_pose(end.pose, which)}


def _pose(pose: Pose, which: str) -> dict[str, Any]:
    return {
        f"{which}origin": [] if pose.translation == ORIGIN else list(pose.translation),
        f"{which}rotation": [] if pose.rotation == NO_TURN else list(pose.rotation),
    }


def _given_figures(figures: Figures) -> dict[str, Any]:
    """Without what is 0, empty or absent."""
    return {
        key: value
        for key, value in figures.items()
        if (any(value) if isinstance(value, list) else value)
    }
