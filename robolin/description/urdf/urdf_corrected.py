"""URDF text with other inertias and joint dynamics, edited in place."""

from __future__ import annotations

from collections.abc import Sequence

from robolin.core.arm import Inertia, Joint
from robolin.description.xml_edits import (
    INERTIA_ENTRIES,
    XmlEditor,
    XmlNode,
    empty_element,
    number_list,
)
from robolin.errors import UsageError


class UrdfEditor(XmlEditor):
    """Sets values of links and joints of a URDF text."""

    missing_hint = "add the link to the robot file"
    mismatch_hint = "check the file with robolin validate"

    def __init__(self, text: bytes, shown: str) -> None:
        super().__init__(text, shown)
        root = self.edits.root
        if root.tag != "robot":
            raise UsageError(f"cannot edit <{root.tag}>", hint="use a URDF file")
        self._links = {node.name: node for node in root.children if node.tag == "link"}
        self._joints = {node.name: node for node in root.children if node.tag == "joint"}

    @property
    def relative_files(self) -> Sequence[str]:
        """Names of meshes relative to the folder of the file."""
        names = (node.attributes.get("filename", "") for node in self._meshes())
        return [name for name in names if name and "://" not in name and not name.startswith("/")]

    def _meshes(self) -> list[XmlNode]:
        return [node for node in self.edits.root.all_nodes() if node.tag == "mesh"]

    def set_body(self, link: str, body: Inertia) -> None:
        node = self._links[link]
        values = {
            "origin": {"xyz": number_list(body.com), "rpy": "0 0 0"},
            "mass": {"value": repr(body.mass)},
            "inertia": dict(zip(INERTIA_ENTRIES, map(repr, body.rotary), strict=True)),
        }
        inertial = node.child("inertial")
        if inertial is None:
            inner = "".join(map(empty_element, values, values.values()))
            self.edits.insert(node, f"<inertial>{inner}</inertial>")
            return
        missing = [tag for tag in values if inertial.child(tag) is None]
        if missing:
            self.edits.insert(inertial, *(empty_element(tag, values[tag]) for tag in missing))
        for tag, attributes in values.items():
            if (child := inertial.child(tag)) is not None:
                self.edits.set_attributes(child, attributes)

    def set_joint(self, name: str, _: Joint, new: Joint) -> bool:
        """Set damping and friction; a URDF has no place for armature."""
        node = self._joints[name]
        values = {"damping": repr(new.damping), "friction": repr(new.friction)}
        dynamics = node.child("dynamics")
        if dynamics is None:
            self.edits.insert(node, empty_element("dynamics", values))
        else:
            self.edits.set_attributes(dynamics, values)
        return False
