"""Denavit–Hartenberg tables as joints and links.

    dh:
      convention: standard | modified
      base: base                       # parent link of the first row
      rows:
        - {name: joint1, type: revolute, a: 0, alpha: 1.57, d: 0.4, theta: 0, link: link1}
      tool: {link: tool, origin: {xyz: [0, 0, 0.1], rpy: [0, 0, 0]}}

With q the joint's position, added to theta (revolute) or to d (prismatic), row i places the frame
of its link in the frame of the previous row:

    standard   A(i) = Rz(theta) Tz(d) Tx(a) Rx(alpha)      joint i moves along z of frame i-1
    modified   A(i) = Rx(alpha) Tx(a) Rz(theta) Tz(d)      joint i moves along z of frame i

So in the modified convention a row holds alpha(i-1) and a(i-1), as Craig prints them.  Mass,
centre of mass and inertia of a link are given in its frame i, in both conventions.

A joint of the description moves its child about an axis through the child's own origin.  In
the standard convention frame i has the distance `a` from the axis of a revolute joint.  The joint
then carries a massless frame '<link>@hinge' on the axis, and the link is fixed to that frame.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import cos, sin
from typing import cast

from robolin.core.arm import DhConvention, DhRow, Matrix3, Pose, Vector3
from robolin.core.arm_parts import compose, rotate_point, transpose
from robolin.core.text import did_you_mean
from robolin.description.model import EntryKind, JointEntry, LinkEntry
from robolin.description.yaml.yaml_fields import Fields, fields_of, name_or_number
from robolin.description.yaml.yaml_joint import MOTION_KEYS, YamlJoints, pose_of, with_motion
from robolin.description.yaml.yaml_nodes import shown

DH_KEYS = ("convention", "base", "rows", "tool")
CONVENTIONS = ("standard", "modified")
DH_KINDS = ("revolute", "continuous", "prismatic", "fixed")
ROW_KEYS = ("name", "type", "a", "alpha", "d", "theta", "link", *MOTION_KEYS)
TOOL_KEYS = ("link", "origin")
# in addition to a and alpha; the variable parameter is optional
OTHER_PARAMETERS = {
    "revolute": ("d",),
    "continuous": ("d",),
    "prismatic": ("theta",),
    "fixed": ("d", "theta"),
}
Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True, slots=True)
class DhParameters:
    """The four parameters of a row, at q = 0."""

    a: float
    alpha: float
    d: float
    theta: float

    @property
    def standard(self) -> Pose:
        """Rz(theta) Tz(d) Tx(a) Rx(alpha)."""
        return compose(_screw_z(self.theta, self.d), _screw_x(self.alpha, self.a))

    @property
    def modified(self) -> Pose:
        """Rx(alpha) Tx(a) Rz(theta) Tz(d)."""
        return compose(_screw_x(self.alpha, self.a), _screw_z(self.theta, self.d))


def read_table(table: Fields, listed: Collection[str], written: YamlJoints) -> None:
    """Add the joints of a table, from the base to the tool; `listed` are the links with mass."""
    table.need("convention", hint="use 'standard' (distal) or 'modified' (Craig)")
    table.need("rows")
    standard = table.choice("convention", CONVENTIONS, "unknown-convention") == "standard"
    link = table.text("base") or "base"
    for number, node in enumerate(table.items("rows"), start=1):
        row = fields_of(node, name_or_number(node, "joint", number), ROW_KEYS, table.findings)
        if row is not None:
            joint = _joint(row, link, f"link{number}", listed)
            _add_row(row, joint, standard, written)
            link = joint.child
    _add_tool(table, link, written)


def _joint(row: Fields, parent: str, default: str, listed: Collection[str]) -> JointEntry:
    kind = row.choice("type", DH_KINDS, "unknown-joint-type")
    row.need("name", "type", "a", "alpha", *OTHER_PARAMETERS.get(kind, ()))
    child = row.text("link") or default
    if listed and kind != "fixed" and child not in listed:
        message = f"{row.what} names an unknown link {shown(child)}"
        row.error("unknown-link", row.location("link"), message, did_you_mean(child, listed))
        child = ""
    locations = {"child": row.location("link")}
    kind = cast(EntryKind, kind or "revolute")
    return JointEntry(row.text("name"), kind, parent, child, row.node.location, locations=locations)


def _add_row(row: Fields, joint: JointEntry, standard: bool, written: YamlJoints) -> None:
    """Add a row's joint and, if the link's frame is not on the joint's axis, its hinge frame."""
    at_zero = DhParameters(
        row.number("a"),
        row.number("alpha", angle=True),
        row.number("d"),
        row.number("theta", angle=True),
    )
    convention: DhConvention = "standard" if standard else "modified"
    if joint.kind != "fixed":
        joint = replace(joint, dh=DhRow(joint.name, convention, joint.parent, joint.child))
    turns = joint.kind in ("revolute", "continuous")
    if standard and turns and at_zero.a and joint.child:
        hinge, mount = f"{joint.child}@hinge", f"{joint.child}@mount"
        fixed = replace(
            joint, name=mount, kind="fixed", parent=hinge, pose=at_zero.standard, dh=None
        )
        joint = replace(joint, child=hinge, axis=Z)
        written.frames.append(LinkEntry(hinge, joint.location))
        written.joints += [with_motion(joint, row, written), fixed]
        return
    pose = at_zero.standard if standard else at_zero.modified
    axis = rotate_point(transpose(pose.rotation), Z) if standard else Z
    written.joints.append(with_motion(replace(joint, pose=pose, axis=axis), row, written))


def _add_tool(table: Fields, parent: str, written: YamlJoints) -> None:
    tool = table.fields("tool", TOOL_KEYS)
    if tool is None:
        return
    link = tool.text("link") or "tool"
    locations = {"child": tool.location("link")}
    name = f"{link}@mount"
    pose = pose_of(tool)
    location = tool.node.location
    written.joints.append(
        JointEntry(name, "fixed", parent, link, location, pose, locations=locations)
    )


def _screw_x(angle: float, distance: float) -> Pose:
    c, s = cos(angle), sin(angle)
    turn: Matrix3 = (1.0, 0.0, 0.0, 0.0, c, -s, 0.0, s, c)
    return Pose(turn, (distance, 0.0, 0.0))


def _screw_z(angle: float, distance: float) -> Pose:
    c, s = cos(angle), sin(angle)
    turn: Matrix3 = (c, -s, 0.0, s, c, 0.0, 0.0, 0.0, 1.0)
    return Pose(turn, (0.0, 0.0, distance))
