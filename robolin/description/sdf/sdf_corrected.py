"""SDF text with other inertias and joint dynamics, edited in place."""

from __future__ import annotations

from collections.abc import Sequence

from robolin.core.arm import Inertia, Joint
from robolin.description.xml_edits import INERTIA_ENTRIES, XmlEditor, XmlNode, number_list
from robolin.errors import RobolinError

_ROTOR, _RATIO = "drake:rotor_inertia", "drake:gear_ratio"
_TWO_AXES = ("universal", "revolute2")


class SdfEditor(XmlEditor):
    """Sets values of links and joints of one model of an SDF text."""

    missing_hint = (
        "give the included file with the robot as ARM, "
        "or save it as one file: gz sdf --print FILE > arm.sdf"
    )
    mismatch_hint = "check the file with robolin validate"

    def __init__(self, text: bytes, shown: str, model: str) -> None:
        """model: name of the model of the robot"""
        super().__init__(text, shown)
        world = self.edits.root.child("world") or self.edits.root
        models = [node for node in world.children if node.tag == "model" and node.name == model]
        if len(models) != 1:
            message = f"model '{model}' is not written in this file"
            raise RobolinError(message, where=shown, hint=self.missing_hint)
        self._axes: dict[str, str] = {}
        self._collect(world, "", inner=False)
        self._collect(models[0], "")

    def _collect(self, model: XmlNode, prefix: str, *, inner: bool = True) -> None:
        """Links and joints by name; those of nested models begin with the name of the model."""
        for node in model.children:
            path = f"{prefix}{node.name}"
            if node.tag == "link":
                self._links[path] = node
            elif node.tag == "joint":
                two = node.attributes.get("type", "").strip().lower() in _TWO_AXES
                for axis in ("axis", "axis2") if two else ("axis",):
                    name = f"{path}:{axis}" if two else path
                    self._joints[name], self._axes[name] = node, axis
            elif node.tag == "model" and inner:
                self._collect(node, f"{path}::")

    @property
    def relative_files(self) -> Sequence[str]:
        """Files relative to the folder of the file."""
        names = (node.text.strip() for node in self.edits.root.all_nodes() if node.tag == "uri")
        return [name for name in names if name and "://" not in name and not name.startswith("/")]

    def set_body(self, link: str, body: Inertia) -> None:
        node = self._links[link]
        pose = f"{number_list(body.com)} 0 0 0"
        entries = dict(zip(INERTIA_ENTRIES, map(repr, body.rotary), strict=True))
        texts = {
            "pose": f"<pose>{pose}</pose>",
            "mass": f"<mass>{body.mass!r}</mass>",
            "inertia": f"<inertia>{_elements(entries)}</inertia>",
        }
        inertial = node.child("inertial")
        if inertial is None:
            self.edits.insert(node, f"<inertial>{''.join(texts.values())}</inertial>")
            return
        if missing := [tag for tag in texts if inertial.child(tag) is None]:
            self.edits.insert(inertial, *(texts[tag] for tag in missing))
        if child := inertial.child("pose"):
            self.edits.set_content(child, pose, ("rotation_format", "degrees"))
        if child := inertial.child("mass"):
            self.edits.set_content(child, repr(body.mass))
        if child := inertial.child("inertia"):
            self._set_values(child, entries)

    def set_joint(self, name: str, old: Joint, new: Joint) -> bool:
        """Set damping and friction, and armature if the joint has Drake's rotor inertia."""
        node, which = self._joints[name], self._axes[name]
        axis = node.child(which)
        values = {"damping": repr(new.damping), "friction": repr(new.friction)}
        if axis is None:
            self.edits.insert(node, f"<{which}><dynamics>{_elements(values)}</dynamics></{which}>")
        elif dynamics := axis.child("dynamics"):
            self._set_values(dynamics, values)
        else:
            self.edits.insert(axis, f"<dynamics>{_elements(values)}</dynamics>")
        rotor = node.child(_ROTOR)
        if rotor is None or old.armature == 0.0:
            return False
        ratio = node.child(_RATIO)
        gear = float(ratio.text) if ratio else 1.0
        self.edits.set_content(rotor, repr(new.armature / (gear * gear)))
        return True

    def _set_values(self, node: XmlNode, values: dict[str, str]) -> None:
        """Set the texts of children, and add those that are missing."""
        missing = {tag: text for tag, text in values.items() if node.child(tag) is None}
        if missing:
            self.edits.insert(node, *(f"<{tag}>{text}</{tag}>" for tag, text in missing.items()))
        for tag, text in values.items():
            if child := node.child(tag):
                self.edits.set_content(child, text)


def _elements(values: dict[str, str]) -> str:
    return "".join(f"<{tag}>{text}</{tag}>" for tag, text in values.items())
