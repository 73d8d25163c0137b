"""Report section with the robots: drawings side by side, joints and links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from xml.etree.ElementTree import Element

import numpy as np

from robolin.core.arm import Arm, Joint
from robolin.core.arm_parts import Pose
from robolin.core.arrays import Floats
from robolin.core.rotations import apply
from robolin.description.inspection import link_table
from robolin.display.report.arm_shape import (
    closure_positions,
    equivalent_box,
    link_poses,
    segment_ends,
    viewing_axes,
)
from robolin.display.report.page_markup import (
    PageTable,
    element,
    figure_cell,
    filled,
    markup,
    paragraph,
    range_cell,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.dynamics.algebra.scalar import float_sum

_JOINT = ("joint", "kind", "lower", "upper", "velocity", "effort", "damping", "friction")
_LINK = ("link", "joint", "mass", "x", "y", "z", "box x", "box y", "box z")


def arm_section(arms: Sequence[ReportedArm]) -> str:
    """Drawings of all robots, then their tables."""
    drawings = "\n".join(_drawing(i, each) for i, each in enumerate(arms))
    tables = [element("div", *_tables(each, len(arms) > 1)) for each in arms]
    return f'<div class="side">\n{drawings}\n</div>\n<div class="side">\n{markup(*tables)}\n</div>'


def _drawing(number: int, reported: ReportedArm) -> str:
    name = escape(shown_name(reported.name))
    return filled(
        "arm.html",
        number=str(number),
        name=name,
        label=f"The arm {name}",
        drawing=markup(drawn_arm(reported.arm, reported.first_pose)),
    )


def _tables(reported: ReportedArm, several: bool) -> list[Element]:
    of = f" of {shown_name(reported.name)}" if several else ""
    arm = reported.arm
    moving = float_sum(link.inertia.mass for link in arm.links)
    gravity = ", ".join(map(figure_cell, arm.gravity))
    mass = f"{figure_cell(moving)} kg move; gravity is {gravity} m/s²."
    return [paragraph(mass), table(_joints(arm, of)), table(_links(arm, of))]


def _joints(arm: Arm, of: str) -> PageTable:
    rows = [
        (
            shown_name(joint.name),
            joint.kind,
            figure_cell(joint.limits.lower),
            figure_cell(joint.limits.upper),
            figure_cell(joint.limits.velocity),
            range_cell(joint.limits.efforts),
            figure_cell(joint.damping),
            _friction(joint),
            *((figure_cell(joint.stiffness), figure_cell(joint.rest)) if arm.has_springs else ()),
        )
        for joint in arm.joints
    ]
    title = f"Joints{of}, in rad or m, N·m or N"
    header = (*_JOINT, "stiffness", "rest") if arm.has_springs else _JOINT
    return PageTable(title, header, rows, frozenset(header[2:]))


def _friction(joint: Joint) -> str:
    """Friction as one number, or one per direction."""
    positive, negative = map(figure_cell, joint.friction_sides)
    return positive if joint.friction_negative is None else f"+{positive} -{negative}"


def _links(arm: Arm, of: str) -> PageTable:
    """Masses, centres of mass in link axes, and the sides of the box of equal inertia."""
    rows = []
    for row in link_table(arm):
        box = equivalent_box(arm.link(row["number"]).inertia)
        sides = ("", "", "") if box is None else (f"{2.0 * x:.4g}" for x in box.half)
        names = shown_name(row["name"]), shown_name(row["joint"])
        rows.append((*names, figure_cell(row["mass"]), *map(figure_cell, row["com"]), *sides))
    title = f"Links{of}: kg, centre of mass and equivalent box in m"
    return PageTable(title, _LINK, rows, frozenset(_LINK[2:]))


# the initial view of the page
YAW, PITCH = 0.6, 0.35
_WIDTH, _HEIGHT, _ROOM = 640.0, 480.0, 40.0


def drawn_arm(arm: Arm, q: Floats) -> Element:
    """SVG drawing of the robot at positions (n,)."""
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
    for ends in closure_positions(arm, poses):
        first, second = flat.places(np.array(ends))
        picture.append(_line("gap", first, second))
        picture.extend(_ring(point) for point in (first, second))
    masses = [arm.links[i].inertia.mass for i in heavy]
    for point, mass in zip(flat.places(centres), masses, strict=True):
        picture.append(_ball(point, (mass / max(masses)) ** (1.0 / 3.0)))
    return picture


def _segments(arm: Arm, poses: Sequence[Pose]) -> list[Floats]:
    """End points of every line."""
    segments = [np.array([[0.0, 0.0, 0.0], end]) for end in segment_ends(arm, -1)]
    for i, pose in enumerate(poses):
        segments += [np.array([pose.translation, apply(pose, end)]) for end in segment_ends(arm, i)]
    return segments


def _axes(arm: Arm, poses: Sequence[Pose]) -> list[Floats]:
    """Joint axes as short lines."""
    origins = np.array([pose.translation for pose in poses])
    length = 0.04 * float(np.ptp(origins, axis=0).max() or 1.0)
    lines = []
    for i, pose in enumerate(poses):
        if len(arm.links) - i not in arm.virtual_links:
            x, y, z = arm.links[i].joint.axis
            ends = ((-length * x, -length * y, -length * z), (length * x, length * y, length * z))
            lines.append(np.array([apply(pose, end) for end in ends]))
    return lines


class _Fitted:
    """Projection from space to the drawing, scaled so that all given points fit."""

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
        """Rotate about the vertical, then tilt: right and up on the drawing."""
        x, y, z = self._axes @ points.T
        across, near = np.cos(YAW) * y - np.sin(YAW) * x, np.cos(YAW) * x + np.sin(YAW) * y
        return np.stack([across, np.cos(PITCH) * z - np.sin(PITCH) * near], axis=1)


def _line(kind: str, start: Floats, end: Floats) -> Element:
    coordinates = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    return element("line", class_=kind, **{key: f"{x:.1f}" for key, x in coordinates.items()})


def _ring(point: Floats) -> Element:
    return element("circle", cx=f"{point[0]:.1f}", cy=f"{point[1]:.1f}", r="7", class_="closure")


def _ball(point: Floats, size: float) -> Element:
    return element("circle", cx=f"{point[0]:.1f}", cy=f"{point[1]:.1f}", r=f"{3 + 9 * size:.1f}")
