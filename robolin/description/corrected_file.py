"""Write a robot file with other inertial and joint parameters: edited in place.

Comments, order, meshes and all other elements stay as they are.  The difference of every moving
link, which includes the links that are fixed to it, goes into the link itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from xml.parsers import expat

from robolin.core.arm import Arm, Inertia, Joint
from robolin.core.arm_parts import merged_inertia
from robolin.core.text import join_and
from robolin.description.model import Description
from robolin.description.validate.validate import possible_inertia
from robolin.errors import RobolinError, UsageError

_ROTARY = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass(slots=True)
class _Node:
    """An XML element and its byte ranges: its start tag, and the element without its end tag."""

    tag: str
    attributes: Mapping[str, str]
    start: int
    content_start: int
    end: int = 0
    empty: bool = False
    children: list[_Node] = field(default_factory=list)

    def child(self, tag: str) -> _Node | None:
        return next((node for node in self.children if node.tag == tag), None)


@dataclass(frozen=True)
class Correction:
    """New values for a robot file.

    bodies: link -> its own inertia, without links that are fixed to it
    joints: joints with new damping or friction
    """

    bodies: Mapping[str, Inertia]
    joints: Mapping[str, Joint]


def correction(description: Description, before: Arm, after: Arm) -> Correction:
    """The changes from one arm to another, as values of the description's links and joints.

    Raises:
        RobolinError: a link whose own part would be impossible, because links that are fixed to
            it have more than its new inertia
    """
    own = {link.name: link.inertia for link in description.links}
    bodies: dict[str, Inertia] = {}
    joints: dict[str, Joint] = {}
    for old, new in zip(before.links, after.links, strict=True):
        if old.inertia != new.inertia and old.name in own:
            bodies[old.name] = _own_part(own[old.name], old.inertia, new.inertia)
            _require_possible(description, old.name, old.merged, bodies[old.name])
        if old.joint != new.joint:
            joints[new.joint.name] = new.joint
    return Correction(bodies, joints)


def _own_part(own: Inertia | None, old: Inertia, new: Inertia) -> Inertia:
    """own + new - old, as bodies in one frame."""
    own = own or Inertia()
    if own == old:
        return new
    xx, xy, xz, yy, yz, zz = (0.0 - x for x in old.rotary)
    try:
        return merged_inertia([own, new, Inertia(-old.mass, old.com, (xx, xy, xz, yy, yz, zz))])
    except ZeroDivisionError:
        return Inertia(0.0)


def _require_possible(
    description: Description, link: str, merged: Sequence[str], body: Inertia
) -> None:
    if body.mass > 0.0 and possible_inertia(body.rotary):
        return
    heavy = [
        each.name
        for each in description.links
        if each.name in merged and each.inertia and each.inertia.mass > 0.0
    ]
    reason = f", because {join_and(heavy)} fixed to it have more" if heavy else ""
    raise RobolinError(
        f"link '{link}' itself would have {body.mass:.4g} kg and be impossible{reason}",
        hint="remove fixed links that were not mounted from the robot file, and identify again",
    )


def corrected_urdf(text: bytes, new: Correction, remarks: Sequence[str] = ()) -> bytes:
    """A URDF text with new values; all other bytes stay.

    remarks: lines of a comment at the end, about values that a URDF cannot hold
    """
    root = _tree(text)
    if root.tag != "robot":
        raise UsageError(f"cannot edit <{root.tag}>", hint="use a URDF file")
    edits: list[tuple[int, int, bytes]] = []
    for node in root.children:
        name = node.attributes.get("name", "")
        if node.tag == "link" and name in new.bodies:
            edits += _inertial_edits(text, node, new.bodies[name])
        elif node.tag == "joint" and name in new.joints:
            edits += _dynamics_edits(text, node, new.joints[name])
    if remarks:
        # a comment may not contain two hyphens: name options without them
        lines = "".join(f"  {line}\n" for line in remarks)
        lines = re.sub(r" --(?=[a-z])", " ", lines).replace("--", "- -")
        edits.append((root.end, root.end, f"<!--\n{lines}-->\n".encode()))
    for start, stop, replacement in sorted(edits, reverse=True):
        text = text[:start] + replacement + text[stop:]
    return text


def _inertial_edits(text: bytes, link: _Node, body: Inertia) -> Iterator[tuple[int, int, bytes]]:
    values = {
        "origin": {"xyz": _numbers(body.com), "rpy": "0 0 0"},
        "mass": {"value": repr(body.mass)},
        "inertia": dict(zip(_ROTARY, map(repr, body.rotary), strict=True)),
    }
    inertial = link.child("inertial")
    if inertial is None:
        yield _inserted(
            text, link, f"<inertial>{''.join(map(_tag, values, values.values()))}</inertial>"
        )
        return
    for tag, attributes in values.items():
        node = inertial.child(tag)
        if node is None:
            yield _inserted(text, inertial, _tag(tag, attributes))
        else:
            yield _retagged(text, node, attributes)


def _dynamics_edits(text: bytes, node: _Node, joint: Joint) -> Iterator[tuple[int, int, bytes]]:
    values = {"damping": repr(joint.damping), "friction": repr(joint.friction)}
    dynamics = node.child("dynamics")
    if dynamics is None:
        yield _inserted(text, node, _tag("dynamics", values))
    else:
        yield _retagged(text, dynamics, values)


def _numbers(values: Sequence[float]) -> str:
    return " ".join(map(repr, values))


def _tag(tag: str, attributes: Mapping[str, str]) -> str:
    texts = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{texts}/>"


def _inserted(text: bytes, node: _Node, inner: str) -> tuple[int, int, bytes]:
    """Insert an element as the first child."""
    if not node.empty:
        return node.content_start, node.content_start, inner.encode()
    opened = text[node.start : node.content_start].rstrip()[:-2].rstrip() + b">"
    return node.start, node.content_start, opened + f"{inner}</{node.tag}>".encode()


def _retagged(text: bytes, node: _Node, values: Mapping[str, str]) -> tuple[int, int, bytes]:
    """Set attributes of a start tag; others keep their text."""
    tag = text[node.start : node.content_start]
    for name, value in values.items():
        pattern = re.compile(rb"(\s" + name.encode() + rb"\s*=\s*)(\"[^\"]*\"|'[^']*')")
        quoted = f'"{value}"'.encode()
        if found := pattern.search(tag):
            tag = tag[: found.start(2)] + quoted + tag[found.end(2) :]
        else:
            ends = len(tag) - (2 if node.empty else 1)
            tag = tag[:ends].rstrip() + f" {name}={quoted.decode()}".encode() + tag[ends:]
    return node.start, node.content_start, tag


_TAG_END = re.compile(rb"(?:[^>\"']|\"[^\"]*\"|'[^']*')*>")


def _tree(text: bytes) -> _Node:
    """All elements of a text with their byte ranges."""
    open_nodes: list[_Node] = []
    roots: list[_Node] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        first = parser.CurrentByteIndex
        found = _TAG_END.match(text, first)
        inner = found.end() if found else first
        node = _Node(tag, attributes, first, inner, empty=text[inner - 2 : inner] == b"/>")
        (open_nodes[-1].children if open_nodes else roots).append(node)
        open_nodes.append(node)

    def end(_: str) -> None:
        node = open_nodes.pop()
        node.end = node.content_start if node.empty else parser.CurrentByteIndex

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        raise RobolinError(f"is not valid XML: {error}") from error
    return roots[0]
