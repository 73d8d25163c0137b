"""Reader of URDF text; meshes are never opened.

One pass reports all problems of a file, each with its line.  `Description.ignored` counts elements
without effect on the dynamics.  The rotor inertia of transmissions becomes armature, and gear
reductions become notes.  No missing value is invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain

from robolin.core.arm import ORIGIN, Inertia, Limits, Mimic, Pose, Rotary, Vector3
from robolin.core.arm_parts import rotation_from_rpy, turned_rotary, without_direction
from robolin.core.text import did_you_mean, quote_list, quote_value
from robolin.description.model import (
    JOINT_TYPES,
    UNREAD,
    Description,
    EntryKind,
    Finding,
    JointEntry,
    LinkEntry,
    Reading,
    SourceLocation,
    limit_findings,
    sorted_counts,
)
from robolin.description.robot_source import text_digest
from robolin.description.structure import check_structure, parallel_axes, split_joint_pairs
from robolin.description.xml_tree import (
    XACRO_HINT,
    Element,
    Notes,
    check_attributes,
    children,
    name_of,
    note_unknown,
    number_attribute,
    parse_xml,
    vector,
)

# names in a description for children of <inertial>
BODY_PARTS = {"origin": "com"}

JOINT_PARTS = ("parent", "child", "origin", "axis", "axis2", "limit", "dynamics", "mimic")

WORLD = "world"

DEFAULT_AXIS: Vector3 = (1.0, 0.0, 0.0)

SECOND_AXIS: Vector3 = (0.0, 1.0, 0.0)

PRODUCTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")

OFF_DIAGONAL = ("ixy", "ixz", "iyz")


def read_urdf(text: bytes, source: str) -> Reading:
    """The description of a URDF file, None if there is any error, and all findings by line."""
    robot, broken = parse_xml(text, source)
    if robot is None:
        return _read_rest(text, source, broken)
    notes = Notes(source)
    notes.findings += broken
    description = _robot(robot, notes, text) if _is_urdf(robot, notes) else None
    urdfdom_findings(text, robot, notes)
    findings = sorted(notes.findings, key=lambda finding: finding.location.line)
    wrong = any(finding.level == "error" for finding in findings)
    return Reading(None if wrong else description, limit_findings(findings), description)


_OF_CUT = ("several-roots", "mimic-unknown", "no-links")


def _read_rest(text: bytes, source: str, broken: list[Finding]) -> Reading:
    """Every malformed link and joint of a file, and the findings about its other elements."""
    from robolin.description.xml_edits import cut_malformed

    findings, rest = cut_malformed(text, source, broken, parse_xml)
    if rest is None:
        return Reading(None, findings)
    reading = read_urdf(rest, source)
    # a joint that is cut out leaves a link without a parent, and a mimic joint without a leader
    more = [x for x in reading.findings if x.id not in _OF_CUT]
    return Reading(None, [*findings, *more], reading.partial)


_SRDF_TAGS = {"group", "group_state", "disable_collisions", "virtual_joint", "end_effector"}


def _is_urdf(robot: Element, notes: Notes) -> bool:
    """Return True for a robot; for a xacro macro or another root, add a finding."""
    if robot.tag != "robot":
        _complain_about_root(robot, notes)
        return False
    if macros := [part for part in _read_parts(robot) if part.tag.startswith("xacro:")]:
        message = f"the file contains unexpanded xacro: <{macros[0].tag}>"
        message += f" and {len(macros) - 1} more elements" if len(macros) > 1 else ""
        notes.error("xacro-unexpanded", macros[0], message, XACRO_HINT)
        return False
    tags = {part.tag for part in robot.children}
    if "link" not in tags and tags & _SRDF_TAGS:
        message = "is an SRDF file: it has groups and poses, but no links and joints"
        notes.error(
            "not-a-robot", robot, message, "use the URDF file of the robot, and add --srdf FILE"
        )
        return False
    return True


def _robot_name(robot: Element, notes: Notes) -> str:
    """The name of the robot; other programs read files with an empty one, so this does too."""
    if robot.attributes.get("name", "robot").strip():
        return name_of(robot, "the robot", notes)
    hint = 'write a name, such as <robot name="arm">'
    notes.add("robot-unnamed", "warning", robot, "the robot has an empty name", hint)
    return "robot"


def _robot(robot: Element, notes: Notes, text: bytes) -> Description:
    name = _robot_name(robot, notes)
    known = ("name", "version", *(key for key in robot.attributes if key.startswith("xmlns")))
    check_attributes(robot, "the robot", known, notes)
    links = [_link(part, notes) for part in robot.children if part.tag == "link"]
    joints = [_joint(part, notes) for part in robot.children if part.tag == "joint"]
    links += _implicit_world(links, joints, notes)
    for part in robot.children:
        if part.tag not in ("link", "joint", "transmission"):
            known = ("link", "joint", "transmission")
            note_unknown(part, part.tag, f"<{part.tag}> in the robot", known, notes)
    ignored: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    if transmissions := [part for part in robot.children if part.tag == "transmission"]:
        # most files have none
        from robolin.description.urdf.transmissions import read_transmissions

        drives = read_transmissions(transmissions, joints, notes)
        joints, ignored, remarks = drives.joints, drives.ignored, drives.notes
    root, findings = check_structure(links, joints, notes.at(robot))
    notes.findings += findings
    frames: list[LinkEntry] = []
    if any(JOINT_TYPES[joint.kind].parts for joint in joints):
        notes.findings += parallel_axes(joints)
        frames, joints = split_joint_pairs(joints)
    return Description(
        name=name,
        links=(*links, *frames),
        joints=tuple(joints),
        root=root or "",
        source=notes.source,
        digest=text_digest(text),
        ignored=(*sorted_counts(notes.ignored), *ignored),
        notes=remarks,
        locations={"robot": notes.at(robot)},
    )


def _implicit_world(
    links: list[LinkEntry], joints: list[JointEntry], notes: Notes
) -> Iterator[LinkEntry]:
    """The link 'world', added if joints use it as a parent without defining it, as Drake does."""
    if any(link.name == WORLD for link in links):
        return
    for joint in joints:
        if joint.parent == WORLD:
            message = (
                f"joint {quote_value(joint.name)} has the parent link 'world', which the file does "
                "not define"
            )
            hint = "'world' is used as the fixed base; add <link name=\"world\"/> to define it"
            notes.findings.append(
                Finding("implicit-world", "note", joint.at("parent"), message, hint)
            )
            yield LinkEntry(WORLD, joint.location)
            return


def _complain_about_root(root: Element, notes: Notes) -> None:
    hints = {
        "sdf": "use the extension .sdf for this SDF file",
        "mujoco": "use the extension .mjcf or .xml for this MuJoCo (MJCF) file",
    }
    hint = hints.get(root.tag, 'use <robot name="…"> as the root element')
    notes.error("not-a-robot", root, f"the root element is <{root.tag}>, not <robot>", hint)


def _read_parts(robot: Element) -> Iterator[Element]:
    """The elements that are read: children of the robot, its links and its joints."""
    for part in robot.children:
        yield part
        if part.tag in ("link", "joint"):
            yield from chain(part.children, *(inner.children for inner in _inertials(part)))


def _inertials(link: Element) -> list[Element]:
    return [part for part in link.children if part.tag == "inertial"]


def _link(element: Element, notes: Notes) -> LinkEntry:
    name = name_of(element, "a link", notes)
    owner = f"link {quote_value(name)}" if name else "a link"
    check_attributes(element, owner, ("name",), notes)
    inertial = children(element, owner, ("inertial",), notes).get("inertial")
    if inertial is None:
        return LinkEntry(name, notes.at(element))
    body, location = _inertia(inertial, owner, notes), notes.at(inertial)
    locations = {BODY_PARTS.get(part.tag, part.tag): notes.at(part) for part in inertial.children}
    return LinkEntry(name, notes.at(element), body, location, locations)


def _inertia(inertial: Element, owner: str, notes: Notes) -> Inertia:
    """Mass, centre of mass and rotary inertia, the latter rotated to the link's axes."""
    check_attributes(inertial, owner, (), notes)
    parts = children(inertial, f"inertial of {owner}", ("origin", "mass", "inertia"), notes)
    mass = None
    if "mass" in parts:
        mass = number_attribute(parts["mass"], "value", owner, notes, required=True)
        check_attributes(parts["mass"], owner, ("value",), notes)
    else:
        hint = 'write <mass value="…"/>, or remove <inertial> if the link has no mass'
        notes.error("missing-element", inertial, f"{owner} has an <inertial> without <mass>", hint)
    pose = _pose(parts.get("origin"), owner, notes)
    rotary = _rotary(parts["inertia"], owner, notes) if "inertia" in parts else (0.0,) * 6
    return Inertia(mass or 0.0, pose.translation, turned_rotary(pose.rotation, rotary))


def _rotary(element: Element, owner: str, notes: Notes) -> Rotary:
    check_attributes(element, owner, PRODUCTS, notes)
    missing = [name for name in PRODUCTS if name not in element.attributes]
    if missing == [*OFF_DIAGONAL]:
        message = f"{owner}: inertia has no {', '.join(missing)}; robolin assumes zero"
        hint = (
            'write ixy="0" ixz="0" iyz="0"; without these attributes, urdfdom reads the whole '
            "inertia as zero"
        )
        notes.add("inertia-diagonal", "warning", element, message, hint)
    elif missing:
        message = f"{owner}: inertia has no {', '.join(missing)}"
        hint = "write all six entries of the inertia; write 0 for a product of inertia that is zero"
        notes.error("missing-attribute", element, message, hint)
    xx, xy, xz, yy, yz, zz = (
        number_attribute(element, name, owner, notes) or 0.0 for name in PRODUCTS
    )
    return xx, xy, xz, yy, yz, zz


def _pose(origin: Element | None, owner: str, notes: Notes) -> Pose:
    if origin is None:
        return Pose()
    check_attributes(origin, owner, ("xyz", "rpy"), notes)
    roll, pitch, yaw = vector(origin, "rpy", owner, notes, ORIGIN)
    return Pose(rotation_from_rpy(roll, pitch, yaw), vector(origin, "xyz", owner, notes, ORIGIN))


def _joint(element: Element, notes: Notes) -> JointEntry:
    name = name_of(element, "a joint", notes)
    owner = f"joint {quote_value(name)}" if name else "a joint"
    check_attributes(element, owner, ("name", "type"), notes)
    kind = _kind(element, owner, notes)
    parts = children(element, owner, JOINT_PARTS, notes)
    locations: dict[str, SourceLocation] = {tag: notes.at(part) for tag, part in parts.items()}
    for tag in [tag for tag in _useless(kind) if tag in parts]:
        notes.ignore(f"{tag} of a {kind} joint")
        del parts[tag]
    if element.attributes.get("type") in ("revolute", "prismatic") and "limit" not in parts:
        message = f"{owner} is {kind} and has no <limit>"
        hint = 'add <limit lower="…" upper="…" effort="…" velocity="…"/>'
        notes.add("limit-missing", "note", element, message, hint)
    damping, friction = _dynamics(parts.get("dynamics"), owner, notes)
    return JointEntry(
        name=name,
        kind=kind,
        parent=_end("parent", parts, element, owner, notes),
        child=_end("child", parts, element, owner, notes),
        location=notes.at(element),
        pose=_pose(parts.get("origin"), owner, notes),
        axis=_axis(parts.get("axis"), owner, notes),
        axis2=_axis(parts.get("axis2"), owner, notes, SECOND_AXIS),
        limits=_limits(parts.get("limit"), owner, notes),
        damping=damping,
        friction=friction,
        mimic=_mimic(parts.get("mimic"), owner, notes),
        locations=locations,
    )


def _kind(element: Element, owner: str, notes: Notes) -> EntryKind:
    """The joint's type; after an error, revolute, which avoids further findings."""
    text = element.attributes.get("type")
    kinds: dict[str, EntryKind] = {**{kind: kind for kind in JOINT_TYPES}, "ball": "spherical"}
    if text is None:
        hint = "use one of " + ", ".join(kinds)
        notes.error("missing-attribute", element, f"{owner} has no type", hint)
    elif text not in kinds:
        message = f"{owner} has an unknown type {quote_value(text)}"
        notes.error("unknown-joint-type", element, message, did_you_mean(text.lower(), kinds))
    return kinds.get(text or "", "revolute")


def _useless(kind: EntryKind) -> tuple[str, ...]:
    """Elements without meaning for a joint type."""
    if kind == "fixed":
        return ("axis", "limit", "dynamics", "mimic", "axis2")
    joint_type = JOINT_TYPES[kind]
    axes = (key for key in ("axis", "axis2") if key not in joint_type.axes)
    return (*(("limit",) if joint_type.two_units else ()), *axes)


def _end(end: str, parts: dict[str, Element], joint: Element, owner: str, notes: Notes) -> str:
    """The name of the parent or child link; '' after reporting an error."""
    if end not in parts:
        hint = f'write <{end} link="…"/> inside the joint'
        notes.error("missing-element", joint, f"{owner} has no <{end}>", hint)
        return ""
    check_attributes(parts[end], owner, ("link",), notes)
    return name_of(parts[end], f"<{end}> of {owner}", notes, "link")


def _axis(
    element: Element | None, owner: str, notes: Notes, default: Vector3 = DEFAULT_AXIS
) -> Vector3:
    if element is None:
        return default
    check_attributes(element, owner, ("xyz",), notes)
    if "xyz" not in element.attributes:
        hint = 'write <axis xyz="0 0 1"/>'
        notes.error("missing-attribute", element, f"{owner}: {element.tag} xyz is missing", hint)
    axis = vector(element, "xyz", owner, notes, UNREAD)
    if axis is not UNREAD and (why := without_direction(axis)):
        message = f"{owner}: {element.tag} xyz {quote_value(element.attributes['xyz'])} {why}"
        notes.error("zero-axis", element, message, "give a non-zero axis")
    return axis


def _limits(element: Element | None, owner: str, notes: Notes) -> Limits:
    if element is None:
        return Limits()
    names = ("lower", "upper", "velocity", "effort")
    check_attributes(element, owner, names, notes)
    return Limits(*(number_attribute(element, name, owner, notes) for name in names))


def _dynamics(element: Element | None, owner: str, notes: Notes) -> tuple[float, float]:
    if element is None:
        return 0.0, 0.0
    check_attributes(element, owner, ("damping", "friction"), notes)
    damping, friction = (
        number_attribute(element, name, owner, notes) for name in ("damping", "friction")
    )
    return damping or 0.0, friction or 0.0


def _mimic(element: Element | None, owner: str, notes: Notes) -> Mimic | None:
    if element is None:
        return None
    check_attributes(element, owner, ("joint", "multiplier", "offset"), notes)
    leader = name_of(element, f"<mimic> of {owner}", notes, "joint")
    ratio = number_attribute(element, "multiplier", owner, notes)
    offset = number_attribute(element, "offset", owner, notes)
    return Mimic(leader, 1.0 if ratio is None else ratio, offset or 0.0)


# urdfdom separates the numbers of these attributes by spaces only
_VECTORS = ("xyz", "rpy")

_TAG = re.compile(rb"<(mass|inertia|origin|axis|dynamics|mimic|limit)\b([^<>]*)>")

_BREAK = re.compile(rb"[\t\r\n]")

_ATTRIBUTE = re.compile(rb"([A-Za-z]+)\s*=\s*(?:\"([^\"<>]*)\"|'([^'<>]*)')")

_NO_INERTIAL = "ignores this <inertial>"

_OF_JOINT = ("origin", "axis", "dynamics", "mimic", "limit")


def urdfdom_findings(text: bytes, robot: Element, notes: Notes) -> None:
    """Warn about numbers with white space that urdfdom, the parser of ROS, does not accept.

    It loses the inertia or the whole <inertial> of a link, and rejects the file for a joint.
    """
    strange = dict(_strange_numbers(text))
    if not strange:
        return
    for part in robot.children:
        inside = part.children if part.tag == "joint" else []
        owner = f"{part.tag} {quote_value(part.attributes.get('name', ''))}"
        for inertial in _inertials(part)[:1] if part.tag == "link" else []:
            inside = inertial.children
        for each in inside:
            name = strange.get((each.tag, each.line))
            if name and (part.tag == "link" or each.tag in _OF_JOINT):
                link = part.tag == "link"
                lost = "reads this inertia as zero" if each.tag == "inertia" else _NO_INERTIAL
                effect = lost if link else "rejects the file"
                message = f"{owner}: white space in '{name}' of <{each.tag}>: urdfdom {effect}"
                hint = (
                    "write the numbers on one line, with one space between them and none at the end"
                )
                finding_id = "inertia-urdfdom" if link else "joint-urdfdom"
                notes.add(finding_id, "warning", each, message, hint)


def _strange_numbers(text: bytes) -> Iterator[tuple[tuple[str, int], str]]:
    """Tag and line of elements with an attribute that urdfdom does not accept, and its name."""
    line, counted = 1, 0
    for tag in _TAG.finditer(text):
        for attribute in _ATTRIBUTE.finditer(text, *tag.span(2)):
            # the text of a value is not copied: it may be very long
            name, start, end = attribute[1].decode(), *attribute.span(attribute.lastindex or 0)
            strange = _BREAK.search(text, start, end) if name in _VECTORS else None
            if strange or (name not in _VECTORS and text[max(start, end - 1) : end].isspace()):
                line += text.count(b"\n", counted, tag.start())
                counted = tag.start()
                yield (tag[1].decode(), line), name
                break


def ignored_by_others(description: Description) -> Iterator[Finding]:
    """Notes on damping and mimic joints, which other programs leave out of the dynamics."""
    mimics = [joint for joint in description.joints if joint.mimic is not None]
    if mimics:
        what = f"{_listed(mimics)} mimic another joint, which Pinocchio ignores by default"
        yield _note("mimic-elsewhere", mimics[0].at("mimic"), what)
    damped = [joint for joint in description.joints if joint.damping]
    if damped:
        what = f"{_listed(damped)} have damping, which Pinocchio's algorithms ignore"
        yield _note("damping-elsewhere", damped[0].at("dynamics"), what)


def _listed(joints: list[JointEntry]) -> str:
    return f"joints {quote_list([joint.name for joint in joints])}"


def _note(name: str, location: SourceLocation, message: str) -> Finding:
    hint = f"no action is needed if only robolin reads the file; --ignore {name} hides this note"
    return Finding(name, "note", location, message, hint)
