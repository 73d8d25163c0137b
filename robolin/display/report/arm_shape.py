"""Geometry of a drawn robot: lines between joints, axes, centres of mass and boxes.

The page animates the drawing itself, so it needs the position and the motion of every joint; the
numbers are those of the `Arm`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arm_parts import HERE, ORIGIN, Frame, Inertia, Joint, Pose, Vector3
from robolin.core.arrays import Floats
from robolin.core.rotations import apply, compose, rotation_about
from robolin.display.report.page_markup import PageNumbers, shown_name
from robolin.dynamics.algebra.scalar import float_sum


def link_poses(arm: Arm, q: Floats) -> list[Pose]:
    """Pose of every link at positions (n,), base to tip, in the root's axes."""
    poses: list[Pose] = []
    for i, link in enumerate(arm.links):
        parent = drawn_index(arm, link.parent)
        inboard = HERE if parent < 0 else poses[parent]
        seat = compose(inboard, link.joint.pose)
        poses.append(compose(seat, _moved(link.joint, _position(arm, i, q))))
    return poses


def shape(arm: Arm, numbers: PageNumbers) -> dict[str, Any]:
    """Data that a page needs to draw the robot in any pose."""
    return {
        "packed": {name: numbers.add(values) for name, values in _packed(arm).items()},
        "base": [float32_digits(end) for end in _segment_ends(arm, arm.base)],
        "size": _size(arm),
        "view": float32_digits(viewing_axes(arm).ravel()),
        "links": [_link(arm, i) for i in range(len(arm.links))],
        "closures": [
            {"name": shown_name(loop.name), "ends": [_end(arm, loop.first), _end(arm, loop.second)]}
            for loop in arm.loops
        ],
    }


def float32_digits(values: Iterable[float]) -> list[float]:
    """Numbers with float32 precision, sufficient for a drawing."""
    return [int(x) if x == int(x) else x for x in (float(f"{value:.7g}") for value in values)]


def viewing_axes(arm: Arm) -> Floats:
    """Viewing axes (3, 3), as rows: towards the viewer, right, and up.

    Up is opposite to gravity; z points towards the viewer unless it is vertical.
    """
    pull = np.array(arm.gravity)
    size = float(np.linalg.norm(pull))
    up = -pull / size if size else np.array([0.0, 0.0, 1.0])
    near = np.array([0.0, 0.0, 1.0]) - up[2] * up
    if np.linalg.norm(near) < 1e-6:
        near = np.array([1.0, 0.0, 0.0]) - up[0] * up
    near = near / np.linalg.norm(near)
    return np.array([near, np.cross(up, near), up])


def segment_ends(arm: Arm, index: int) -> list[Vector3]:
    """End points of the lines of a link, in its own axes; -1 is the base."""
    return _segment_ends(arm, arm.base if index < 0 else len(arm.links) - index)


def drawn_closure_ends(arm: Arm) -> list[Frame]:
    """Both frames of every loop closure."""
    return [end for loop in arm.loops for end in (loop.first, loop.second)]


def closure_positions(arm: Arm, poses: Sequence[Pose]) -> list[tuple[Vector3, Vector3]]:
    """Positions of both frames of every loop closure."""
    positions = []
    for end in drawn_closure_ends(arm):
        link = drawn_index(arm, end.link)
        positions.append(apply(HERE if link < 0 else poses[link], end.pose.translation))
    return list(zip(positions[::2], positions[1::2], strict=True))


def drawn_index(arm: Arm, number: int) -> int:
    """Index from base to tip of a link counted from the tip; -1 for the base."""
    return len(arm.links) - number


def _position(arm: Arm, index: int, q: Floats) -> float:
    mimic = arm.links[index].joint.mimic
    value = float(q[arm.coordinates[len(arm.links) - 1 - index]])
    return mimic.ratio * value + mimic.offset if mimic else value


def _moved(joint: Joint, value: float) -> Pose:
    """Pose change of a joint at this position."""
    if joint.turns:
        return Pose(rotation_about(joint.axis, value))
    x, y, z = joint.axis
    return Pose(translation=(value * x, value * y, value * z))


def _segment_ends(arm: Arm, number: int) -> list[Vector3]:
    """Ends at every joint and closure of a link; else at its frames, or at its centre of mass."""
    ends = [link.joint.pose.translation for link in arm.links if link.parent == number]
    ends += [end.pose.translation for end in drawn_closure_ends(arm) if end.link == number]
    if number in arm.virtual_links or (number == arm.base and ends):
        return ends
    frames = [f.pose.translation for f in arm.frames.values() if f.link == number]
    far = max(frames, key=lambda p: float_sum(x * x for x in p), default=ORIGIN)
    if not ends and any(far):
        ends = [far]
    if not ends and number != arm.base:
        ends = [arm.link(number).inertia.com]
    return ends


def _link(arm: Arm, index: int) -> dict[str, Any]:
    link = arm.links[index]
    joint, body = link.joint, link.inertia
    mimic, box = joint.mimic, equivalent_box(body)
    return {
        "name": shown_name(link.name),
        "joint": shown_name(joint.name),
        "parent": drawn_index(arm, link.parent),
        "place": arm.coordinates[len(arm.links) - 1 - index],
        "ratio": mimic.ratio if mimic else 1.0,
        "offset": mimic.offset if mimic else 0.0,
        "turns": joint.turns,
        "segments": [float32_digits(end) for end in segment_ends(arm, index)],
        "mass": body.mass,
        "box": box is not None,
    }


def _packed(arm: Arm) -> dict[str, Floats]:
    """Arrays with one row per link."""
    links = arm.links
    boxes = [equivalent_box(link.inertia) for link in links]
    arrays = {
        "rotation": [link.joint.pose.rotation for link in links],
        "translation": [link.joint.pose.translation for link in links],
        "axis": [link.joint.axis for link in links],
        "com": [link.inertia.com for link in links],
        "half": [(0.0,) * 3 if box is None else tuple(box.half) for box in boxes],
        "sides": [(0.0,) * 9 if box is None else tuple(box.axes.ravel()) for box in boxes],
    }
    return {name: np.array(rows, np.float64) for name, rows in arrays.items()}


def _end(arm: Arm, end: Frame) -> dict[str, Any]:
    return {"link": drawn_index(arm, end.link), "at": float32_digits(end.pose.translation)}


def _size(arm: Arm) -> float:
    """Maximum reach of the robot without prismatic travel, to scale the drawing."""
    reach: dict[int, float] = {}
    longest = 0.0
    for i, link in enumerate(arm.links):
        start = reach.get(drawn_index(arm, link.parent), 0.0)
        reach[i] = start + float(np.linalg.norm(link.joint.pose.translation))
        tips = [float(np.linalg.norm(end)) for end in segment_ends(arm, i)]
        longest = max(longest, reach[i] + max(tips, default=0.0))
    return longest or 1.0


@dataclass(frozen=True, eq=False)
class EquivalentBox:
    """Half lengths (3,) in m along axes (3, 3), which are columns in the link's own axes."""

    half: Floats
    axes: Floats


def equivalent_box(body: Inertia) -> EquivalentBox | None:
    """Box with the inertia of a body; None without mass or for impossible moments.

    A box with half lengths a, b, c has the moment m (b² + c²)/3 about its first axis, so that
    a² = 3 (I₂ + I₃ - I₁)/(2 m).
    """
    if not body.mass > 0.0:
        return None
    xx, xy, xz, yy, yz, zz = body.rotary
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    if not np.isfinite(tensor).all():
        return None
    principal, axes = np.linalg.eigh(tensor)
    squares = 1.5 * (principal.sum() - 2.0 * principal) / body.mass
    # a rod has one half length of 0, up to round-off
    if (squares < -1e-9 * abs(squares).max()).any():
        return None
    return EquivalentBox(np.sqrt(np.maximum(squares, 0.0)), axes)
