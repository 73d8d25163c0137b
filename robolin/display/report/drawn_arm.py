"""The arm as a drawing that needs no program: lines, balls and axes seen from one side."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arm_parts import Pose
from robolin.core.arrays import Floats
from robolin.core.rotations import apply
from robolin.display.report.arm_shape import closure_places, link_poses, segment_ends, viewing_axes
from robolin.display.report.page_markup import element

# the same view as the page opens with
YAW, PITCH = 0.6, 0.35
_WIDTH, _HEIGHT, _ROOM = 640.0, 480.0, 40.0


def drawn_arm(arm: Arm, q: Floats) -> Element:
    """An SVG picture of the arm at positions (n,)."""
    poses = link_poses(arm, q)
    segments, axes = _segments(arm, poses), _axes(arm, poses)
    heavy = [i for i, link in enumerate(arm.links) if link.inertia.mass > 0.0]
    centres = np.array([apply(poses[i], arm.links[i].inertia.com) for i in heavy]).reshape(-1, 3)
    points = np.concatenate([*segments, *axes, centres, np.zeros((1, 3))])
    flat = _Fitted(viewing_axes(arm), points)
    picture = element(
        "svg",
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        role="img",
        aria_label=f"The arm with {len(arm.links)} moving links at the first instant",
        class_="drawn",
    )
    for kind, lines in (("segment", segments), ("axis", axes)):
        picture.extend(_line(kind, *flat.places(line)) for line in lines)
    for ends in closure_places(arm, poses):
        first, second = flat.places(np.array(ends))
        picture.append(_line("gap", first, second))
        picture.extend(_ring(place) for place in (first, second))
    masses = [arm.links[i].inertia.mass for i in heavy]
    for place, mass in zip(flat.places(centres), masses, strict=True):
        picture.append(_ball(place, (mass / max(masses)) ** (1.0 / 3.0)))
    return picture


def _segments(arm: Arm, poses: Sequence[Pose]) -> list[Floats]:
    """Every line as its two ends."""
    found = [np.array([[0.0, 0.0, 0.0], end]) for end in segment_ends(arm, -1)]
    for i, pose in enumerate(poses):
        found += [np.array([pose.translation, apply(pose, end)]) for end in segment_ends(arm, i)]
    return found


def _axes(arm: Arm, poses: Sequence[Pose]) -> list[Floats]:
    """The axes of joints as short lines through them."""
    origins = np.array([pose.translation for pose in poses])
    length = 0.04 * float(np.ptp(origins, axis=0).max() or 1.0)
    found = []
    for i, pose in enumerate(poses):
        if len(arm.links) - i not in arm.stand_ins:
            x, y, z = arm.links[i].joint.axis
            ends = ((-length * x, -length * y, -length * z), (length * x, length * y, length * z))
            found.append(np.array([apply(pose, end) for end in ends]))
    return found


class _Fitted:
    """Points in space to places on the drawing, into which all the given points fit."""

    def __init__(self, axes: Floats, points: Floats) -> None:
        self._axes = axes
        seen = self._seen(points)
        low, high = seen.min(axis=0), seen.max(axis=0)
        spans = np.maximum(high - low, 1e-9)
        room = np.array([_WIDTH, _HEIGHT]) - 2.0 * _ROOM
        self._scale = float((room / spans).min())
        self._middle = (low + high) / 2.0

    def places(self, points: Floats) -> Floats:
        flat: Floats = (self._seen(points) - self._middle) * self._scale * np.array([1.0, -1.0])
        return flat + np.array([_WIDTH, _HEIGHT]) / 2.0

    def _seen(self, points: Floats) -> Floats:
        """Turned about the vertical, then tilted: right and up on the drawing."""
        x, y, z = self._axes @ points.T
        across, near = np.cos(YAW) * y - np.sin(YAW) * x, np.cos(YAW) * x + np.sin(YAW) * y
        return np.stack([across, np.cos(PITCH) * z - np.sin(PITCH) * near], axis=1)


def _line(kind: str, start: Floats, end: Floats) -> Element:
    places = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    return element("line", class_=kind, **{key: f"{x:.1f}" for key, x in places.items()})


def _ring(place: Floats) -> Element:
    return element("circle", cx=f"{place[0]:.1f}", cy=f"{place[1]:.1f}", r="7", class_="closure")


def _ball(place: Floats, size: float) -> Element:
    return element("circle", cx=f"{place[0]:.1f}", cy=f"{place[1]:.1f}", r=f"{3 + 9 * size:.1f}")
