"""MJCF text with other inertias and joint dynamics, edited in place.

A body whose inertia MuJoCo computes from geoms gets an <inertial>.  Values of joints are written
into the <joint> itself, so defaults and classes stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robolin.core.arm import Inertia, Joint
from robolin.description.xml_edits import XmlEditor, XmlNode, empty_element, number_list
from robolin.errors import RobolinError

_TURNS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_JOINTS = ("joint", "freejoint")
# elements that stand for other bodies than those written in them
_CREATING = ("include", "replicate", "attach", "composite", "flexcomp")
# settings of <compiler> that change the inertias of a file
_COMPILER = ("settotalmass", "boundmass", "boundinertia", "balanceinertia", "fusestatic")
_SAVED = "load it in MuJoCo and save it as one file with mujoco.mj_saveLastXML, then identify again"


class MjcfEditor(XmlEditor):
    """Sets values of bodies and joints of an MJCF text."""

    def __init__(self, text: bytes, shown: str) -> None:
        super().__init__(text, shown)
        bodies: list[XmlNode] = []
        joints: list[XmlNode] = []
        for section in self.edits.root.children:
            if section.tag == "worldbody":
                _collect(section, bodies, joints)
        # unnamed elements have the names that the reader generates
        self._links = dict(_named(bodies, "body", 1))
        self._joints = dict(_named(joints, "joint", 0))

    @property
    def missing_hint(self) -> str:
        """Elements that create the bodies of other elements or files."""
        nodes = list(self.edits.root.all_nodes())
        files = [node.attributes.get("file", "") for node in nodes if node.tag == "include"]
        if files:
            return f"give the included file with the robot as ARM ({', '.join(files)}), or {_SAVED}"
        if any("fusestatic" in node.attributes for node in nodes):
            return self.mismatch_hint
        made = [f"<{tag}>" for tag in _CREATING if any(node.tag == tag for node in nodes)]
        return f"{' and '.join(made)} creates it: {_SAVED}" if made else _SAVED

    @property
    def mismatch_hint(self) -> str:
        """Settings of the file that change values."""
        settings = [
            f"{name} in <compiler>"
            for node in self.edits.root.all_nodes()
            if node.tag == "compiler"
            for name in _COMPILER
            if name in node.attributes
        ]
        nodes = list(self.edits.root.all_nodes())
        if any("springdamper" in node.attributes for node in nodes):
            settings.append("springdamper of joints (write stiffness and damping)")
        for section in (node for node in nodes if node.tag == "actuator"):
            for name in ("armature", "damping"):
                if any(name in node.attributes for node in section.children):
                    settings.append(f"{name} of actuators (write it in the joint)")
        if any(node.tag == "flag" for node in nodes):
            settings.append("disabled features in <flag>")
        return f"remove {', '.join(settings)} from the file" if settings else _SAVED

    @property
    def relative_files(self) -> Sequence[str]:
        """Names of files that MuJoCo opens relative to the folder of the file."""
        return [
            name
            for node in self.edits.root.all_nodes()
            for attribute, name in node.attributes.items()
            if attribute.startswith("file") and name and not name.startswith("/")
        ]

    def set_body(self, link: str, body: Inertia) -> None:
        self._require_inertials_count()
        node = self._links[link]
        inertial = node.child("inertial")
        xx, xy, xz, yy, yz, zz = body.rotary
        values = {
            "pos": number_list(body.com),
            "mass": repr(body.mass),
            "fullinertia": number_list((xx, yy, zz, xy, xz, yz)),
        }
        if inertial is None:
            self.edits.insert(node, empty_element("inertial", values))
        else:
            self.edits.set_attributes(inertial, values, ("diaginertia", *_TURNS))

    def set_joint(self, name: str, old: Joint, new: Joint) -> bool:
        node = self._joints[name]
        changed = {
            attribute: repr(after)
            for attribute, before, after in (
                ("damping", old.damping, new.damping),
                ("frictionloss", old.friction, new.friction),
                ("armature", old.armature, new.armature),
            )
            if before != after
        }
        if node.tag == "freejoint" and changed:
            message = f"<freejoint> '{name}' has no {' or '.join(changed)}"
            raise RobolinError(message, where=self.edits.shown, hint='use <joint type="free">')
        for attribute in changed:
            # further numbers of the attribute are nonlinear terms
            _, space, more = node.attributes.get(attribute, "").strip().partition(" ")
            changed[attribute] += space + more
        self.edits.set_attributes(node, changed)
        return True

    def _require_inertials_count(self) -> None:
        for node in self.edits.root.all_nodes():
            if node.tag == "compiler" and node.attributes.get("inertiafromgeom") == "true":
                message = '<compiler inertiafromgeom="true"> ignores every <inertial>'
                hint = 'write inertiafromgeom="auto", and identify again'
                raise RobolinError(message, where=self.edits.shown, hint=hint)


def _collect(node: XmlNode, bodies: list[XmlNode], joints: list[XmlNode]) -> None:
    """Bodies and joints in the order in which MuJoCo numbers them."""
    inner: list[XmlNode] = []
    _collect_joints(node, joints, inner)
    for body in inner:
        bodies.append(body)
        _collect(body, bodies, joints)


def _collect_joints(node: XmlNode, joints: list[XmlNode], inner: list[XmlNode]) -> None:
    """The joints of one body, and the bodies on it; frames only move what is in them."""
    for child in node.children:
        if child.tag in _JOINTS:
            joints.append(child)
        elif child.tag == "body":
            inner.append(child)
        elif child.tag == "frame":
            _collect_joints(child, joints, inner)


def _named(nodes: Sequence[XmlNode], kind: str, first: int) -> Iterator[tuple[str, XmlNode]]:
    taken = {node.name for node in nodes}
    for k, node in enumerate(nodes, start=first):
        name = node.name or f"{kind}{k}"
        while not node.name and name in taken:
            name += "_"
        taken.add(name)
        yield name, node
