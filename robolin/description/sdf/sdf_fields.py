"""Values of SDF elements, which are texts, with a finding for every problem.

Elements and attributes that are not read are counted; those that change the dynamics are warnings.
The elements of an included URDF file become elements of SDF.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import hypot, inf, radians
from pathlib import Path
from typing import NamedTuple

from robolin.core.arm import HERE, Pose, Vector3
from robolin.core.arm_parts import rotation_from_quaternion, rotation_from_rpy
from robolin.core.text import quote_value, resembled
from robolin.description.model import MOST_KINDS, Finding
from robolin.description.xml_tree import LONGEST_TEXT, Element, Notes, finite_number, number_words

# SDF writes this or more for a limit that does not exist
UNLIMITED_FROM = 1e16
# length error of a quaternion with six digits
_QUATERNION_TOLERANCE = 1e-5
_NO_LIMIT = ("inf", "+inf", "-inf", "infinity", "+infinity", "-infinity")
_LEFT_OUT_HINT = "model this effect in YAML or MJCF; the result does not include the effect"
# elements that change the dynamics but are not read, and their effect
_CHANGES_DYNAMICS = {
    "drake:linear_bushing_rpy": "the element adds a spring with a damper",
    "drake:linear_spring_damper": "the element adds a spring with a damper",
    "drake:ball_constraint": "the element closes a loop",
    "drake:distance_constraint": "the element closes a loop",
    "drake:fixed_constraint": "the element closes a loop",
    "drake:tendon_constraint": "the element couples joints",
    "drake:deformable_properties": "the link is deformable",
    "fluid_added_mass": "the element adds inertia",
}


class SdfVersion(NamedTuple):
    """Version of the format in a file."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


class FileNotes(Notes):
    """Findings and ignored elements of one file among several, with its folder and version."""

    findings: list[Finding]
    folder: Path | None
    ignored: Counter[str]
    version: SdfVersion

    def __init__(self, source: str, folder: Path | None, others: FileNotes | None = None) -> None:
        super().__init__(source)
        self.folder, self.version = folder, SdfVersion(0, 0)
        if others is not None:
            self.findings, self.ignored = others.findings, others.ignored


def parts(
    element: Element, owner: str, known: Sequence[str], notes: Notes, several: Sequence[str] = ()
) -> dict[str, Element]:
    """The known children by tag, at most one each; all others are counted as ignored.

    several: tags that may occur more than once and are read elsewhere
    """
    elements: dict[str, Element] = {}
    for child in element.children:
        tag = child.tag
        if tag in several:
            continue
        if tag not in known:
            ignore_element(child, element.tag, owner, (*known, *several), notes)
        elif tag not in elements:
            elements[tag] = child
        elif not _same(child, elements[tag]):
            message = f"{owner} has a second, different <{tag}>; the first is on line "
            message += str(elements[tag].line)
            notes.error("duplicate-element", child, message, "keep only one of the two elements")
        else:
            message = f"{owner} has two equal <{tag}>; the first is on line {elements[tag].line}"
            notes.add(
                "repeated-element", "note", child, message, "keep only one of the two elements"
            )
    return elements


def _same(one: Element, other: Element) -> bool:
    """Return True if two elements have equal attributes, texts and children."""
    return (
        one.tag == other.tag
        and one.text.split() == other.text.split()
        and one.attributes == other.attributes
        and len(one.children) == len(other.children)
        and all(map(_same, one.children, other.children))
    )


# elements whose parts are listed with the name of the element
_LISTED_INSIDE = ("limit", "dynamics", "axis", "axis2", "inertial", "physics")


def ignore_element(
    child: Element, parent: str, owner: str, known: Sequence[str], notes: Notes
) -> None:
    """Count an unread element; warn if it changes the dynamics or looks misspelt."""
    notes.ignore(f"{parent}/{child.tag}" if parent in _LISTED_INSIDE else child.tag)
    if len(notes.ignored) > MOST_KINDS:
        return
    what = f"<{child.tag}> in {owner} is ignored"
    if effect := _CHANGES_DYNAMICS.get(child.tag):
        left_out(child, f"{what}, although it changes the dynamics: {effect}", notes)
    elif meant := resembled(child.tag, known):
        notes.add("misspelt", "warning", child, what, f"did you mean '{meant}'?")


def left_out(element: Element, message: str, notes: Notes, hint: str = _LEFT_OUT_HINT) -> None:
    """Add a warning: an ignored element changes the dynamics."""
    notes.add("sdf-left-out", "warning", element, message, hint)


def check_attributes(element: Element, owner: str, known: Sequence[str], notes: Notes) -> None:
    """Count the attributes that are not read, and warn about likely misspellings."""
    for name in element.attributes:
        if name not in known and not name.startswith("xmlns"):
            what = f"{element.tag} attribute {name}"
            notes.ignore(what)
            if len(notes.ignored) <= MOST_KINDS and (meant := resembled(name, known)):
                message = f"{owner}: {what} is ignored"
                notes.add("misspelt", "warning", element, message, f"did you mean '{meant}'?")


def element_text(element: Element | None) -> str:
    """The text of an element without surrounding white space; '' if absent."""
    return element.text.strip() if element is not None else ""


def number_text(element: Element | None, owner: str, notes: Notes) -> float | None:
    """A finite number; None if the element is absent or invalid."""
    if element is None or _too_long(element, owner, notes):
        return None
    text = element.text.strip(" \t\r\n")
    return finite_number(text, f"{owner}: <{element.tag}> {quote_value(text)}", element, notes)


def _too_long(element: Element, owner: str, notes: Notes) -> bool:
    """Return True, with an error, if the parser may have cut the text."""
    if len(element.text) < LONGEST_TEXT:
        return False
    message = f"{owner}: the text of <{element.tag}> has more than {LONGEST_TEXT} characters"
    notes.error("wrong-count", element, message, "remove spaces and line breaks")
    return True


def limit(element: Element | None, owner: str, notes: Notes) -> float | None:
    """A number; None for a limit that is absent, infinite or at least 1e16."""
    if element_text(element).lower() in _NO_LIMIT:
        return None
    value = number_text(element, owner, notes)
    return None if value is None or abs(value) >= UNLIMITED_FROM else value


def magnitude_limit(element: Element | None, owner: str, notes: Notes) -> float | None:
    """A limit of an effort or a velocity: in SDF, a negative one does not exist."""
    value = limit(element, owner, notes)
    return None if value is not None and value < 0.0 else value


def vector(element: Element | None, owner: str, notes: Notes, default: Vector3) -> Vector3:
    """Three finite numbers; the default if the element is absent or invalid."""
    if element is None:
        return default
    values = _numbers(element, owner, 3, "three numbers, as in 0 0 0.5", notes)
    return (values[0], values[1], values[2]) if values else default


def _numbers(
    element: Element, owner: str, count: int, rule: str, notes: Notes
) -> list[float] | None:
    """Numbers separated by spaces, as many as required; None after an error."""
    if _too_long(element, owner, notes):
        return None
    what = f"{owner}: <{element.tag}> {quote_value(' '.join(element.text.split()))}"
    values = number_words(element.text, what, element, notes)
    if values is None or len(values) == count:
        return values
    message = f"{what} must have {count} numbers, got {len(values)}"
    notes.error("wrong-count", element, message, f"write {rule}")
    return None


def boolean(element: Element | None, owner: str, notes: Notes, default: bool = False) -> bool:
    """A boolean value; the default if the element is absent or invalid."""
    return default if element is None else _boolean(element.text, element, owner, notes, default)


def boolean_attribute(element: Element, name: str, owner: str, notes: Notes) -> bool:
    """A boolean attribute; False if it is absent or invalid."""
    return _boolean(element.attributes.get(name, "false"), element, owner, notes, False)


_BOOLEANS: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


def _boolean(text: str, element: Element, owner: str, notes: Notes, default: bool) -> bool:
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        message = f"{owner}: <{element.tag}> {quote_value(text.strip())} is neither true nor false"
        notes.error("wrong-kind", element, message, "write true or false")
        return default
    return value


def pose_value(element: Element | None, owner: str, notes: Notes) -> Pose:
    """The pose in an element: x y z with roll pitch yaw, or with a quaternion x y z w."""
    if element is None or not element.text.strip():
        return HERE
    degrees = boolean_attribute(element, "degrees", owner, notes)
    form = element.attributes.get("rotation_format", "euler_rpy")
    if form == "quat_xyzw":
        return _with_quaternion(element, owner, notes)
    if form != "euler_rpy":
        message = f"{owner}: <{element.tag}> has the rotation format {quote_value(form)}"
        notes.error("wrong-kind", element, message, "use euler_rpy or quat_xyzw")
        return HERE
    values = _numbers(element, owner, 6, "x y z roll pitch yaw", notes)
    if values is None:
        return HERE
    x, y, z, *angles = values
    roll, pitch, yaw = map(radians, angles) if degrees else angles
    return Pose(rotation_from_rpy(roll, pitch, yaw), (x, y, z))


def _with_quaternion(element: Element, owner: str, notes: Notes) -> Pose:
    values = _numbers(element, owner, 7, "x y z qx qy qz qw", notes)
    if values is None:
        return HERE
    x, y, z, qx, qy, qz, qw = values
    length = hypot(qx, qy, qz, qw)
    if not 0.0 < length < inf:
        message = f"{owner}: the quaternion of <{element.tag}> is zero or too long"
        notes.error("number-not-finite", element, message, "use a unit quaternion x y z w")
        return HERE
    if abs(length - 1.0) > _QUATERNION_TOLERANCE:
        message = f"{owner}: the quaternion of <{element.tag}> has length {length:.6g}"
        hint = "write a unit quaternion: robolin normalizes it, but libsdformat does not"
        notes.add("sdf-quaternion", "warning", element, message, hint)
    qx, qy, qz, qw = qx / length, qy / length, qz / length, qw / length
    return Pose(rotation_from_quaternion(qw, qx, qy, qz), (x, y, z))


# joint types of URDF that are the same in SDF
_URDF_TYPES = ("revolute", "continuous", "prismatic", "fixed")


def urdf_as_sdf(robot: Element, notes: FileNotes) -> Element:
    """The elements of a valid URDF file as elements of SDF, with the same texts and lines."""
    children: list[Element] = []
    above: dict[str, Element] = {}
    for joint in robot.children:
        if joint.tag == "joint" and (child := _first(joint, "child")) is not None:
            above.setdefault(child.attributes.get("link", ""), joint)
    for part in robot.children:
        if part.tag == "link" and part.attributes.get("name") != "world":
            children.append(_sdf_link(part, above))
        elif part.tag == "joint":
            children.append(_sdf_joint(part, notes))
        elif part.tag != "link":
            notes.ignore(part.tag)
    model = Element("model", robot.attributes, robot.line, "", children)
    return Element("sdf", {}, robot.line, "", [model])


def _sdf_link(link: Element, above: Mapping[str, Element]) -> Element:
    """A link with the frame of the joint above it; without an inertia, it has no mass."""
    name = link.attributes.get("name", "")
    children: list[Element] = []
    if joint := above.get(name):
        frame = {"relative_to": joint.attributes.get("name", "")}
        children.append(Element("pose", frame, joint.line))
    inertial = _first(link, "inertial") or Element("inertial", {}, link.line)
    mass, inertia = _first(inertial, "mass"), _first(inertial, "inertia")
    moments = dict.fromkeys(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), "0")
    if inertia is not None:
        moments |= inertia.attributes
    inside = [
        *_sdf_pose(inertial, {}),
        _text("mass", mass.attributes.get("value", "") if mass else "0", mass or inertial),
        _sdf_values("inertia", moments, inertia or inertial),
    ]
    children.append(Element("inertial", {}, inertial.line, "", inside))
    return Element("link", link.attributes, link.line, "", children)


def _sdf_joint(joint: Element, notes: FileNotes) -> Element:
    kind, name = joint.attributes.get("type", "fixed"), joint.attributes.get("name", "")
    if kind not in _URDF_TYPES:
        message = f"joint {quote_value(name)} of type {quote_value(kind)} is not supported in an "
        hint = f"use one of {', '.join(_URDF_TYPES)}"
        notes.error("sdf-unsupported", joint, f"{message}included URDF file", hint)
    ends = {tag: _first(joint, tag) for tag in ("parent", "child")}
    links = {tag: end.attributes.get("link", "") if end else "" for tag, end in ends.items()}
    above = {"relative_to": links["parent"] if links["parent"] != "world" else "__model__"}
    children = [_text(tag, links[tag], end or joint) for tag, end in ends.items()]
    children += _sdf_pose(joint, above) or [Element("pose", above, joint.line)]
    axis = _first(joint, "axis")
    if kind != "fixed":
        # the default axis of URDF
        inside = [_text("xyz", axis.attributes.get("xyz", "") if axis else "1 0 0", axis or joint)]
        for tag in ("limit", "dynamics"):
            if (part := _first(joint, tag)) is not None:
                inside.append(_sdf_values(tag, part.attributes, part))
        if (part := _first(joint, "mimic")) is not None:
            leads = {"joint": part.attributes.get("joint", "")}
            rule = {"multiplier": "1", "offset": "0"} | dict(part.attributes)
            rule.pop("joint", None)
            inside.append(replace(_sdf_values("mimic", rule, part), attributes=leads))
        children.append(Element("axis", {}, (axis or joint).line, "", inside))
    return Element("joint", joint.attributes, joint.line, "", children)


def _first(element: Element, tag: str) -> Element | None:
    return next((part for part in element.children if part.tag == tag), None)


def _text(tag: str, text: str, origin: Element) -> Element:
    return Element(tag, {}, origin.line, text)


def _sdf_values(tag: str, values: Mapping[str, str], origin: Element) -> Element:
    """An element with one child for every value."""
    children = [_text(key, value, origin) for key, value in values.items()]
    return Element(tag, {}, origin.line, "", children)


def _sdf_pose(element: Element, attributes: Mapping[str, str]) -> list[Element]:
    """The <pose> of an <origin>; an empty list if the element has none."""
    origin = _first(element, "origin")
    if origin is None:
        return []
    xyz, rpy = (origin.attributes.get(key, "0 0 0") for key in ("xyz", "rpy"))
    return [Element("pose", attributes, origin.line, f"{xyz} {rpy}")]
