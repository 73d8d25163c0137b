"""URDF, SDF and MJCF text with other inertias and joint dynamics, edited in place.

In MJCF, a body whose inertia MuJoCo computes from geoms gets an <inertial>.  Values of joints are
written into the <joint> itself, so defaults and classes stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from robolin.core.arm import Inertia, Joint
from robolin.description.xml_edits import (
    INERTIA_ENTRIES,
    XmlEditor,
    XmlNode,
    empty_element,
    number_list,
)
from robolin.errors import RobolinError, UsageError


class UrdfEditor(XmlEditor):
    """Sets values of links and joints of a URDF text."""

    missing_hint = "add the link to the robot file"
    mismatch_hint = "check the file with robolin validate"

    def __init__(self, text: bytes, shown: str) -> None:
        super().__init__(text, shown)
        root = self.edits.root
        if root.tag != "robot":
            raise UsageError(
                f"cannot edit a file with the root element <{root.tag}>", hint="use a URDF file"
            )
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


_ROTOR, _RATIO = "drake:rotor_inertia", "drake:gear_ratio"
_TWO_AXES = ("universal", "revolute2")


class SdfEditor(XmlEditor):
    """Sets values of links and joints of one model of an SDF text."""

    missing_hint = (
        "if an included file contains the robot, use that file as ARM; "
        "or save everything in one file: gz sdf --print FILE > arm.sdf"
    )
    mismatch_hint = "check the file with robolin validate"

    def __init__(self, text: bytes, shown: str, model: str) -> None:
        """model: name of the model of the robot"""
        super().__init__(text, shown)
        world = self.edits.root.child("world") or self.edits.root
        models = [node for node in world.children if node.tag == "model" and node.name == model]
        if len(models) != 1:
            message = f"model '{model}' is not in this file"
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


_TURNS = ("quat", "axisangle", "xyaxes", "zaxis", "euler")
_JOINTS = ("joint", "freejoint")
# elements that stand for other bodies than those written in them
_CREATING = ("include", "replicate", "attach", "composite", "flexcomp")
# settings of <compiler> that change the inertias of a file
_COMPILER = ("settotalmass", "boundmass", "boundinertia", "balanceinertia", "fusestatic")
_SAVED = (
    "load the main file in MuJoCo, save it as one file with mujoco.mj_saveLastXML, "
    "and run identify again"
)


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
            shown = ", ".join(files)
            advice = f"if an included file ({shown}) contains the robot, use that file as ARM"
            return f"{advice}; or {_SAVED}"
        if any("fusestatic" in node.attributes for node in nodes):
            return self.mismatch_hint
        made = [f"<{tag}>" for tag in _CREATING if any(node.tag == tag for node in nodes)]
        return f"{' and '.join(made)} creates the element: {_SAVED}" if made else _SAVED

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
