"""The YAML format for arms: `robolin: 1`, a name, joints (or a `dh:` table) and links.

    robolin: 1
    name: two-link
    gravity: [0, -9.81, 0]              # optional
    joints:                             # base to tip
      - {name: shoulder, type: revolute, parent: base, child: upper, axis: [0, 0, 1]}
    links:
      - {name: upper, mass: 1, com: [0.5, 0, 0], inertia: {ixx: 0, iyy: 0.1, izz: 0.1}}

Units are SI.  A link's inertia is about its centre of mass, in the link's axes; without inertia
the link is a point mass, and without `mass` it is a massless frame.

All links must be listed, with two exceptions.  The parent of the first joint (the base) and the
child of a fixed joint without children (a tool frame) become massless frames, unless their name
resembles a listed link without a joint.  Any other unlisted name is an error, so that a misspelt
link never becomes a massless body.

A Denavit–Hartenberg table stands for joints and links:

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

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import cos, sin
from typing import cast

from robolin.core.arm import DhConvention, DhRow, Inertia, Matrix3, Pose, Vector3
from robolin.core.arm_parts import compose, rotate_point, transpose, without_direction
from robolin.core.records import dataclass
from robolin.core.text import closest_match, did_you_mean, pluralize
from robolin.description.model import (
    JOINT_TYPES,
    UNREAD,
    Description,
    EntryKind,
    Finding,
    JointEntry,
    LinkEntry,
    PoseEntry,
    Reading,
    SourceLocation,
    coordinate_names,
    limit_findings,
)
from robolin.description.named_poses import movable, usable_poses
from robolin.description.structure import check_structure, parallel_axes, split_joint_pairs, tree_of
from robolin.description.yaml.yaml_fields import Fields, fields_of, name_or_number, shaped_inertia
from robolin.description.yaml.yaml_joint import (
    MOTION_KEYS,
    YamlJoints,
    check_loops,
    pose_of,
    read_loops,
    with_motion,
)
from robolin.description.yaml.yaml_nodes import Node, read_nodes, shown

DH_KEYS = ("convention", "base", "rows", "tool")
CONVENTIONS = ("standard", "modified")
DH_KINDS = ("revolute", "continuous", "prismatic", "fixed")
ROW_KEYS = ("name", "type", "a", "alpha", "d", "theta", "link", *MOTION_KEYS)
TOOL_KEYS = ("link", "origin")
# in addition to a and alpha; the variable parameter is optional
OTHER_PARAMETERS: dict[str, tuple[str, ...]] = {
    "revolute": ("d",),
    "continuous": ("d",),
    "prismatic": ("theta",),
    "fixed": ("d", "theta"),
}
Z: Vector3 = (0.0, 0.0, 1.0)


@dataclass(frozen=True)
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
            joint = _row_joint(row, link, f"link{number}", listed)
            _add_row(row, joint, standard, written)
            link = joint.child
    _add_tool(table, link, written)


def _row_joint(row: Fields, parent: str, default: str, listed: Collection[str]) -> JointEntry:
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


PROSE_KEYS = ("description", "source", "licence")
ARM_KEYS = ("robolin", "name", *PROSE_KEYS, "gravity", "joints", "dh", "links", "loops", "poses")
JOINT_KEYS = ("name", "type", "parent", "child", "origin", "axis", "axis2", *MOTION_KEYS)
LINK_KEYS = ("name", "mass", "com", "inertia", "density", "shape")
MOMENT_KEYS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
FORMAT_VERSION = "1"


def read_yaml(text: bytes, source: str) -> Reading:
    """Read a YAML arm; `source` is the name of the file in findings."""
    node, findings = read_nodes(text, source)
    arm = fields_of(node, "the robot", ARM_KEYS, findings) if node else None
    if arm is None:
        return Reading(None, limit_findings(findings))
    _check_version(arm)
    arm.need("name")
    links = _read_links(arm)
    written = _read_joints(arm, [link.name for link in links if link.name])
    links = [*_frames(links, written.joints), *links, *written.frames]
    root = None
    if arm.has("links") and (arm.has("joints") or arm.has("dh")):
        root, structural = check_structure(links, written.joints, arm.node.location)
        findings += [*structural, *parallel_axes(written.joints)]
    frames, joints = split_joint_pairs(written.joints)
    loops = read_loops(arm)
    findings += check_loops(loops, links)
    prose = {key: arm.text(key) for key in PROSE_KEYS}
    description = Description(
        name=arm.text("name"),
        links=(*links, *frames),
        joints=tuple(joints),
        root=root or "",
        source=source,
        digest=sha256(text).hexdigest(),
        gravity=arm.vector("gravity") if arm.has("gravity") else None,
        loops=loops,
        ignored=tuple(written.ignored),
        notes=(f"source: {prose['source']}",) if prose["source"] else (),
        locations={key: arm.location(key) for key in ARM_KEYS if arm.has(key)},
    )
    description = replace(description, poses=read_poses(arm, description))
    findings.sort(key=_position)
    sound = not any(finding.level == "error" for finding in findings)
    return Reading(description if sound else None, limit_findings(findings), description)


def _check_version(arm: Fields) -> None:
    arm.need("robolin", hint="write 'robolin: 1' on the first line")
    version = arm.text("robolin")
    if version and version != FORMAT_VERSION:
        message = (
            f"format version {shown(version)} is not supported; this version of robolin "
            "reads format version 1"
        )
        arm.error("format-version", arm.location("robolin"), message, "write 'robolin: 1'")


def _read_joints(arm: Fields, listed: Collection[str]) -> YamlJoints:
    written = YamlJoints()
    if arm.has("dh") and arm.has("joints"):
        message = "the robot has both 'joints' and 'dh'"
        arm.error("joints-and-dh", arm.location("dh"), message, "keep only one of these keys")
    elif not arm.has("dh"):
        arm.need("joints", hint="list the joints from base to tip, or add a 'dh' table")
    for number, node in enumerate(arm.items("joints"), start=1):
        joint = fields_of(node, name_or_number(node, "joint", number), JOINT_KEYS, arm.findings)
        if joint is not None:
            written.joints.append(with_motion(_joint(joint), joint, written))
    if table := arm.fields("dh", DH_KEYS):
        read_table(replace(table, what="the table"), listed, written)
    return written


def _joint(fields: Fields) -> JointEntry:
    """Name, type, links, origin and axis of a joint."""
    fields.need("name", "type", "parent", "child")
    written = fields.choice("type", tuple(JOINT_TYPES), "unknown-joint-type")
    kind = cast(EntryKind, written or "revolute")
    axes = JOINT_TYPES[kind].axes
    return JointEntry(
        name=fields.text("name"),
        kind=kind,
        parent=fields.text("parent"),
        child=fields.text("child"),
        location=fields.node.location,
        pose=pose_of(fields),
        axis=_axis(fields, written) if "axis" in axes else (1.0, 0.0, 0.0),
        axis2=_axis(fields, written, "axis2") if "axis2" in axes else (0.0, 1.0, 0.0),
        locations={
            key: fields.location(key) for key in ("parent", "child", "axis", "axis2", "origin")
        },
    )


def _axis(fields: Fields, kind: str, key: str = "axis") -> Vector3:
    """An axis, which the joint type requires."""
    if kind:
        fields.need(key, hint=f"add the axis of rotation or translation: {key}: [0, 0, 1]")
    axis = fields.vector(key, default=UNREAD)
    if axis is not UNREAD and (why := without_direction(axis)):
        message = f"{fields.what}: {key} {why}"
        fields.error("zero-axis", fields.location(key), message, f"for example {key}: [0, 0, 1]")
    return axis


def _read_links(arm: Fields) -> list[LinkEntry]:
    arm.need("links", hint="list every link that has mass")
    links = []
    for number, node in enumerate(arm.items("links"), start=1):
        link = fields_of(node, name_or_number(node, "link", number), LINK_KEYS, arm.findings)
        if link is not None:
            link.need("name")
            links.append(_link(link))
    return links


def _link(fields: Fields) -> LinkEntry:
    name, location = fields.text("name"), fields.node.location
    present = [key for key in LINK_KEYS[1:] if fields.has(key)]
    if not present:
        return LinkEntry(name, location)
    if fields.has("shape"):
        return LinkEntry(name, location, shaped_inertia(fields), fields.location("shape"))
    if fields.has("density"):
        hint = "write for example shape: {box: [0.1, 0.1, 0.4]}"
        fields.need("shape", hint=hint)
    fields.need("mass", hint=f"'{present[0]}' requires a mass")
    rotary = fields.fields("inertia", MOMENT_KEYS)
    if rotary:
        rotary.need(
            "ixx", "iyy", "izz", hint="add the inertia about the centre of mass, in link axes"
        )
    xx, xy, xz, yy, yz, zz = (rotary.number(key) if rotary else 0.0 for key in MOMENT_KEYS)
    inertia = Inertia(fields.number("mass"), fields.vector("com"), (xx, xy, xz, yy, yz, zz))
    locations = {key: fields.location(key) for key in present}
    return LinkEntry(
        name, location, inertia, fields.location("inertia" if rotary else present[0]), locations
    )


def _frames(links: Sequence[LinkEntry], joints: Sequence[JointEntry]) -> list[LinkEntry]:
    """The massless frames that only joints name: the base and the ends of fixed joints."""
    if not joints:
        return []
    parents = {joint.parent for joint in joints}
    children = {joint.child for joint in joints}
    listed = {link.name for link in links}
    uncarried = listed - children
    base = joints[0]
    frames = {base.parent: base.at("parent")} if base.parent not in children else {}
    for joint in joints:
        if joint.kind == "fixed" and joint.child not in parents:
            frames.setdefault(joint.child, joint.at("child"))
    return [
        LinkEntry(name, location)
        for name, location in frames.items()
        if name and name not in listed and closest_match(name, uncarried) is None
    ]


def _position(finding: Finding) -> tuple[int, int]:
    location: SourceLocation = finding.location
    return location.line, location.column


def read_poses(arm: Fields, description: Description) -> tuple[PoseEntry, ...]:
    """Read the poses; every problem becomes a finding of `arm`."""
    node = arm.node.get("poses")
    names = [key.text for key, _ in node.pairs] if node and node.kind == "mapping" else []
    fields = arm.fields("poses", names)
    if fields is None:
        return ()
    angles = movable(description.joints)
    sound = not any(finding.level == "error" for finding in arm.findings)
    order = _joint_order(description) if sound else []
    entries = [
        PoseEntry(key.text, key.location, _positions(fields, key.text, value, angles, order))
        for key, value in fields.node.pairs
        if key.kind == "scalar"
    ]
    return usable_poses(entries, description.joints, "error", arm.findings)


def _joint_order(description: Description) -> list[str]:
    """The independent coordinates of a sound tree in the order of q; others may have cycles."""
    return [
        name
        for joint in tree_of(description).joints
        if joint.kind != "fixed" and joint.mimic is None
        for name in coordinate_names(joint)
    ]


def _positions(
    poses: Fields, name: str, value: Node, angles: Mapping[str, bool], order: Sequence[str]
) -> dict[str, float]:
    """Positions by coordinate, from a list in joint order or from a mapping."""
    what = f"pose {shown(name)}"
    if value.kind == "list" and not order:
        return {}
    if value.kind == "list":
        hint = f"one for each of {pluralize(len(order), 'joint')}: {', '.join(order)}"
        owner = replace(poses, what=what, prefix="")
        numbers = owner.numbers(name, [angles[each] for each in order], hint)
        return dict(zip(order, numbers or (), strict=numbers is not None))
    fields = fields_of(value, what, list(angles), poses.findings)
    if fields is None:
        return {}
    return {
        joint: fields.number(joint, angle=angle)
        for joint, angle in angles.items()
        if fields.has(joint)
    }
