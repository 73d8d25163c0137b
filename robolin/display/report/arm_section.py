"""Robots in a report: geometry of the drawings, tables of joints and links."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arm_parts import (
    HERE,
    ORIGIN,
    Frame,
    Inertia,
    Joint,
    Pose,
    Vector3,
    apply,
    compose,
    rotation_about,
)
from robolin.core.arrays import Floats
from robolin.core.records import dataclass
from robolin.description.inspection import link_table
from robolin.display.report.page_markup import (
    PageNumbers,
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

if TYPE_CHECKING:
    from robolin.display.report.visuals import Visuals

_JOINT = ("joint", "kind", "lower", "upper", "velocity", "effort", "damping", "friction")
_LINK = ("link", "joint", "mass", "x", "y", "z", "box x", "box y", "box z")


_CAPSULES = "Links are drawn as capsules; a larger radius means a larger mass"
_MESHES = "Links are drawn with the meshes and shapes from the robot file"
_SWITCH = '<label><input type="checkbox" data-show="meshes" checked> meshes</label>\n'


def views(arms: Sequence[ReportedArm], visuals: Sequence[Visuals]) -> str:
    """Drawings of all robots, with their controls."""
    pairs = zip(arms, visuals, strict=True)
    return "\n".join(arm_drawing(str(i), *each) for i, each in enumerate(pairs))


def arm_drawing(key: str, reported: ReportedArm, visuals: Visuals) -> str:
    """Drawing of a robot; the script finds its data by the key."""
    name = escape(shown_name(reported.name))
    return filled(
        "arm.html",
        number=key,
        name=name,
        label=f"Robot {name}",
        drawing=markup(drawn_arm(reported.arm, reported.first_pose)),
        meshes=_SWITCH if visuals.parts else "",
        links=_MESHES if visuals.parts else _CAPSULES,
        note=markup(paragraph(visuals.note, "note")) if visuals.note else "",
    )


def parameter_tables(arms: Sequence[ReportedArm]) -> Element:
    """Joints and links of all robots."""
    tables = [element("div", *_tables(each, len(arms) > 1)) for each in arms]
    return element("div", *tables, class_="side")


def _tables(reported: ReportedArm, several: bool) -> list[Element]:
    of = f" of {shown_name(reported.name)}" if several else ""
    return [table(_joints(reported.arm, of)), table(_links(reported.arm, of))]


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
    title = f"Joints{of}: positions in rad or m, efforts in N·m or N"
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
    title = (
        f"Links{of}: mass in kg, centre of mass in m, and size in m of a box with the same inertia"
    )
    return PageTable(title, _LINK, rows, frozenset(_LINK[2:]))


# the initial view of the page
YAW, PITCH = 0.6, 0.35
_WIDTH, _HEIGHT, _FILLED = 640.0, 480.0, 0.7
# radius of the heaviest and of the lightest link, relative to the reach of the robot
_THICKEST, _THINNEST = 0.055, 0.016


def drawn_arm(arm: Arm, q: Floats) -> Element:
    """SVG drawing of the robot at positions (n,)."""
    poses = link_poses(arm, q)
    capsules, axes = _capsules(arm, poses), _axes(arm, poses)
    flat = _Fitted(viewing_axes(arm), np.concatenate([*(ends for ends, _ in capsules), *axes]))
    picture = element(
        "svg",
        viewBox=f"0 0 {_WIDTH:.0f} {_HEIGHT:.0f}",
        role="img",
        aria_label=f"Robot with {len(arm.links)} moving links at the initial pose",
        class_="drawn",
    )
    for ends, radius in capsules:
        width = f"{max(2.0 * radius * flat.scale, 3.0):.1f}"
        picture.append(_line("segment", *flat.projected(ends), stroke_width=width))
    picture.extend(_line("axis", *flat.projected(ends)) for ends in axes)
    for gap in closure_positions(arm, poses):
        first, second = flat.projected(np.array(gap))
        picture.append(_line("gap", first, second))
        picture.extend(_ring(point) for point in (first, second))
    return picture


def link_radii(arm: Arm) -> list[float]:
    """Capsule radius of every link in m, base to tip: the volume grows with the mass."""
    size, masses = _size(arm), [link.inertia.mass for link in arm.links]
    heaviest = max(masses) or 1.0
    return [
        size * max(_THICKEST * (max(mass, 0.0) / heaviest) ** (1.0 / 3.0), _THINNEST)
        for mass in masses
    ]


def _capsules(arm: Arm, poses: Sequence[Pose]) -> list[tuple[Floats, float]]:
    """End points and radius of every capsule: joint to joint, and to the centre of mass."""
    radii = link_radii(arm)
    ends = [(np.array([(0.0, 0.0, 0.0), end]), max(radii)) for end in segment_ends(arm, -1)]
    for i, (pose, radius) in enumerate(zip(poses, radii, strict=True)):
        body = arm.links[i].inertia
        points = [*segment_ends(arm, i), *([body.com] if body.mass > 0.0 else [])]
        ends += [(np.array([pose.translation, apply(pose, end)]), radius) for end in points]
    return ends or [(np.zeros((2, 3)), max(radii))]


def _axes(arm: Arm, poses: Sequence[Pose]) -> list[Floats]:
    """Joint axes as short lines."""
    lines = []
    for i, (pose, radius) in enumerate(zip(poses, link_radii(arm), strict=True)):
        if len(arm.links) - i not in arm.virtual_links:
            ends = np.outer((-1.4 * radius, 1.4 * radius), arm.links[i].joint.axis)
            lines.append(np.array([apply(pose, tuple(end)) for end in ends]))
    return lines


class _Fitted:
    """Projection from space to the drawing, scaled so that all given points fit."""

    def __init__(self, axes: Floats, points: Floats) -> None:
        self._axes = axes
        seen = self._seen(points)
        low, high = seen.min(axis=0), seen.max(axis=0)
        spans = np.maximum(high - low, 1e-9)
        self.scale = float((_FILLED * np.array([_WIDTH, _HEIGHT]) / spans).min())
        self._middle = (low + high) / 2.0

    def projected(self, points: Floats) -> Floats:
        flat: Floats = (self._seen(points) - self._middle) * self.scale * np.array([1.0, -1.0])
        return flat + np.array([_WIDTH, _HEIGHT]) / 2.0

    def _seen(self, points: Floats) -> Floats:
        """Rotate about the vertical, then tilt: right and up on the drawing."""
        x, y, z = self._axes @ points.T
        across, near = np.cos(YAW) * y - np.sin(YAW) * x, np.cos(YAW) * x + np.sin(YAW) * y
        return np.stack([across, np.cos(PITCH) * z - np.sin(PITCH) * near], axis=1)


def _line(kind: str, start: Floats, end: Floats, **attributes: str) -> Element:
    coordinates = {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1]}
    texts = {key: f"{x:.1f}" for key, x in coordinates.items()}
    return element("line", class_=kind, **texts, **attributes)


def _ring(point: Floats) -> Element:
    return element("circle", cx=f"{point[0]:.1f}", cy=f"{point[1]:.1f}", r="7", class_="closure")


def link_poses(arm: Arm, q: Floats) -> list[Pose]:
    """Pose of every link at positions (n,), base to tip, in the root's axes."""
    poses: list[Pose] = []
    for i, link in enumerate(arm.links):
        parent = drawn_index(arm, link.parent)
        inboard = HERE if parent < 0 else poses[parent]
        seat = compose(inboard, link.joint.pose)
        poses.append(compose(seat, _moved(link.joint, _position(arm, i, q))))
    return poses


def shape(arm: Arm, numbers: PageNumbers, visuals: Visuals) -> dict[str, Any]:
    """Data that a page needs to draw the robot in any pose."""
    return {
        "meshes": visuals.meshes,
        "parts": visuals.parts,
        "floating": arm.floating_base or any(g.kind == "floating" for g in arm.groups),
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
        "radius": [(radius,) for radius in link_radii(arm)],
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
