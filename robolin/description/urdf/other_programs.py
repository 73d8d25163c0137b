"""Parts of a URDF file that other programs read differently, or ignore."""

from __future__ import annotations

import re
from collections.abc import Iterator

from robolin.core.text import quote_list
from robolin.description.model import Description, Finding, JointEntry, SourceLocation
from robolin.description.urdf.urdf_fields import Notes, shown
from robolin.description.xml_tree import Element

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
        owner = f"{part.tag} {shown(part.attributes.get('name', ''))}"
        for inertial in part.children if part.tag == "link" else []:
            if inertial.tag == "inertial":
                inside = inertial.children
        for each in inside:
            name = strange.get((each.tag, each.line))
            if name and (part.tag == "link" or each.tag in _OF_JOINT):
                link = part.tag == "link"
                lost = "reads this inertia as zero" if each.tag == "inertia" else _NO_INERTIAL
                effect = lost if link else "rejects the file"
                message = f"{owner}: white space in '{name}' of <{each.tag}>: urdfdom {effect}"
                hint = "write one space between numbers and none after the last, on one line"
                found = "inertia-urdfdom" if link else "joint-urdfdom"
                notes.add(found, "warning", each, message, hint)


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
        what = f"{_listed(damped)} have damping, which the algorithms of Pinocchio ignore"
        yield _note("damping-elsewhere", damped[0].at("dynamics"), what)


def _listed(joints: list[JointEntry]) -> str:
    return f"joints {quote_list([joint.name for joint in joints])}"


def _note(name: str, location: SourceLocation, message: str) -> Finding:
    hint = f"nothing, if only robolin reads the file; --ignore {name} hides this note"
    return Finding(name, "note", location, message, hint)
