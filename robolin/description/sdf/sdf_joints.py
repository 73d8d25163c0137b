"""Joints of SDF models as entries of a description.

A joint frame may be anywhere on its child link.  If it is not at the origin of the link, the joint
has a link of its own, `LINK@JOINT`, and the child is fixed to it.  A universal joint is two joints,
and a screw joint a rotation that a translation mimics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from math import isfinite, pi

from robolin.core.arm import HERE, ORIGIN, UNLIMITED, Limits, Mimic, Pose, Vector3
from robolin.core.arm_parts import rotate_point, transpose, without_direction
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, quote_value
from robolin.description.model import UNREAD, EntryKind, JointEntry, LinkEntry, SourceLocation
from robolin.description.sdf.sdf_fields import (
    FileNotes,
    boolean,
    check_attributes,
    element_text,
    left_out,
    limit,
    magnitude_limit,
    number_text,
    parts,
    vector,
)
from robolin.description.sdf.sdf_frames import WORLD, FrameNode, Scope, link_of, pose_between
from robolin.description.structure import parallel_axes
from robolin.description.xml_tree import Element, name_of, number_attribute

DEFAULT_AXIS: Vector3 = (0.0, 0.0, 1.0)
_ROTOR, _RATIO = "drake:rotor_inertia", "drake:gear_ratio"
# joints with one coordinate, and joints with one axis for each of two coordinates
_ONE_AXIS = ("revolute", "continuous", "prismatic", "screw")
_TWO_AXES = ("universal", "revolute2")
_KINDS = (*_ONE_AXIS, *_TWO_AXES, "fixed", "ball")
# travel per revolution of a screw joint that does not specify it, in m
_DEFAULT_PITCH = 1.0


@dataclass
class SdfParts:
    """Links and joints of a robot, and whether a joint has the world as its parent.

    written: one joint without numbers for each joint of the file, to check the tree
    """

    written: list[JointEntry] = field(default_factory=list)
    links: list[LinkEntry] = field(default_factory=list)
    joints: list[JointEntry] = field(default_factory=list)
    on_world: bool = False


@dataclass(frozen=True)
class _JointAxis:
    """One axis of a joint, in the axes of the joint frame, with its limits and dynamics."""

    xyz: Vector3 = DEFAULT_AXIS
    limits: Limits = UNLIMITED
    damping: float = 0.0
    friction: float = 0.0
    stiffness: float = 0.0
    rest: float = 0.0
    mimic: Mimic | None = None
    locations: Mapping[str, SourceLocation] = field(default_factory=dict)


@dataclass(frozen=True)
class _JointStep:
    """One joint entry of a joint: most joints have one."""

    name: str
    kind: EntryKind
    axis: _JointAxis = _JointAxis()


def read_joint(node: FrameNode, scope: Scope, robot: SdfParts) -> None:
    """Add the entries of a joint, and the links between them."""
    element, notes = node.element, node.notes
    name = name_of(element, "a joint", notes)
    owner = f"joint {quote_value(node.path)}" if name else "a joint"
    check_attributes(element, owner, ("name", "type"), notes)
    kind = _kind(element, owner, notes)
    axes = ("axis", "axis2") if kind in _TWO_AXES else () if kind == "fixed" else ("axis",)
    known = ("parent", "child", "pose", *axes, _ROTOR, _RATIO, "drake:mimic")
    if kind == "screw":
        known += ("screw_thread_pitch", "thread_pitch")
    elements = parts(element, owner, known, notes)
    parent = _end("parent", elements, node, scope, owner)
    child = _end("child", elements, node, scope, owner)
    robot.on_world |= parent is scope.ground
    steps = _steps(kind, node, elements, scope, owner)
    before, after = (each.path if each is not None else "" for each in (parent, child))
    where = {tag: notes.at(part) for tag, part in elements.items()}
    entry = JointEntry(node.path, "fixed", before, after, notes.at(element), locations=where)
    robot.written.append(entry)
    if parent is not None and child is not None:
        armature = _armature(kind, steps[0].axis, elements, owner, notes)
        _add_steps(steps, armature, (parent, node, child), robot)
    else:
        # the numbers of the joint are checked although its links are unknown
        at = notes.at(element)
        robot.joints += [_entry(x, before, after, HERE, x.axis.xyz, at) for x in steps]


def _add_steps(
    steps: list[_JointStep],
    armature: float,
    frames: tuple[FrameNode, FrameNode, FrameNode],
    robot: SdfParts,
) -> None:
    """Add the entries of a joint, from its parent to its child.

    frames: parent link, joint and child link
    """
    parent, node, child = frames
    location = node.notes.at(node.element)
    at, end = parent.path, pose_between(node, child)
    for k, step in enumerate(steps):
        pose = HERE if k else pose_between(parent, node)
        xyz, to = step.axis.xyz, f"{child.path}@{step.name}"
        if step is steps[-1] and _at_child(step, end):
            pose, to = end if k else pose_between(parent, child), child.path
            if end.rotation != HERE.rotation:
                xyz = rotate_point(transpose(end.rotation), xyz)
        else:
            robot.links.append(LinkEntry(to, location))
        entry = _entry(step, at, to, pose, xyz, location)
        robot.joints.append(entry if k else replace(entry, armature=armature))
        at = to
    if at != child.path:
        name = f"{child.path}/fixed"
        robot.joints.append(JointEntry(name, "fixed", at, child.path, location, end))


def _at_child(step: _JointStep, end: Pose) -> bool:
    """Return True if the frame of the child link can serve as the frame of the joint.

    end: pose of the child link in the joint frame
    """
    if end == HERE or step.kind in ("fixed", "prismatic"):
        return True
    return step.kind != "spherical" and end.translation == ORIGIN


def _entry(
    step: _JointStep, parent: str, child: str, pose: Pose, xyz: Vector3, location: SourceLocation
) -> JointEntry:
    axis = step.axis
    return JointEntry(
        name=step.name,
        kind=step.kind,
        parent=parent,
        child=child,
        location=location,
        pose=pose,
        axis=xyz,
        limits=axis.limits,
        damping=axis.damping,
        friction=axis.friction,
        mimic=axis.mimic,
        actuated=axis.limits.effort != 0.0,
        stiffness=axis.stiffness,
        rest=axis.rest,
        locations=axis.locations,
    )


def _kind(element: Element, owner: str, notes: FileNotes) -> str:
    """The type of a joint; after an error, revolute if it has an axis to check, else fixed."""
    text = element.attributes.get("type")
    kind = (text or "").strip().lower()
    if text is None:
        hint = "use one of " + ", ".join(_KINDS)
        notes.error("missing-attribute", element, f"{owner} has no type", hint)
    elif kind == "gearbox":
        message = f"{owner} is a gearbox, which is not supported"
        hint = "use two joints, and <mimic> in the second"
        notes.error("sdf-unsupported", element, message, hint)
    elif kind not in _KINDS:
        message = f"{owner} has an unknown type {quote_value(text)}"
        notes.error("unknown-joint-type", element, message, did_you_mean(kind, _KINDS))
    if kind in _KINDS:
        return kind
    return "revolute" if any(part.tag == "axis" for part in element.children) else "fixed"


def _end(
    end: str, elements: Mapping[str, Element], node: FrameNode, scope: Scope, owner: str
) -> FrameNode | None:
    """The link at one end of a joint, or the world; None after reporting an error."""
    part, notes = elements.get(end), node.notes
    name = element_text(part)
    if part is None or not name:
        message = f"{owner} has no <{end}>" if part is None else f"{owner} has an empty <{end}>"
        notes.error("missing-element", part or node.element, message, f"write <{end}>LINK</{end}>")
        return None
    if name == WORLD:
        if end == "parent":
            return scope.ground
        notes.error(
            "unknown-link",
            part,
            f"{owner}: the child of a joint cannot be the world",
            "swap both links",
        )
        return None
    frame = scope.find(name)
    link = link_of(frame)
    if frame is None:
        message = f"{owner} names an unknown {end} link {quote_value(name)}"
        notes.error("unknown-link", part, message, scope.closest(name, notes))
    elif link is None:
        message = f"{owner}: the {end} frame {quote_value(name)} is not attached to a link"
        notes.error("sdf-frame", part, message, "check its attached_to")
    return link


def _steps(
    kind: str, node: FrameNode, elements: Mapping[str, Element], scope: Scope, owner: str
) -> list[_JointStep]:
    """The entries of a joint, from its parent to its child."""
    name, notes = node.path, node.notes
    for part in ("axis", "axis2")[: 2 if kind in _TWO_AXES else kind in _ONE_AXIS]:
        if part not in elements:
            hint = f"write <{part}><xyz>0 0 1</xyz></{part}>"
            notes.error("missing-element", node.element, f"{owner} has no <{part}>", hint)
    axis = _axis(kind, "axis", node, elements, scope, owner)
    if kind == "fixed":
        return [_JointStep(name, "fixed")]
    if kind == "ball":
        return [_JointStep(name, "spherical", axis)]
    if kind == "prismatic":
        return [_JointStep(name, "prismatic", axis)]
    turning: EntryKind = "revolute"
    if axis.limits.lower is None and axis.limits.upper is None:
        turning = "continuous"
    if kind in _TWO_AXES:
        second = _axis(kind, "axis2", node, elements, scope, owner)
        pair = JointEntry(
            name, "universal", "", "", notes.at(node.element), axis=axis.xyz, axis2=second.xyz
        )
        notes.findings += parallel_axes([replace(pair, locations=second.locations)])
        after: EntryKind = "revolute"
        if second.limits.lower is None and second.limits.upper is None:
            after = "continuous"
        return [
            _JointStep(f"{name}:axis", turning, axis),
            _JointStep(f"{name}:axis2", after, second),
        ]
    if kind == "screw" and (pitch := _pitch(elements, owner, notes)):
        slide = _JointAxis(xyz=axis.xyz, mimic=Mimic(name, pitch / (2.0 * pi)))
        return [_JointStep(name, turning, axis), _JointStep(f"{name}:slide", "prismatic", slide)]
    return [_JointStep(name, turning, axis)]


def _pitch(elements: Mapping[str, Element], owner: str, notes: FileNotes) -> float:
    """Travel per revolution of a screw joint in m, right-handed; 0 after an error."""
    if "screw_thread_pitch" in elements:
        return number_text(elements["screw_thread_pitch"], owner, notes) or 0.0
    if "thread_pitch" not in elements:
        return _DEFAULT_PITCH
    # the older element is in rad/m, and its thread is left-handed
    rate = number_text(elements["thread_pitch"], owner, notes)
    if rate == 0.0 or (rate and not isfinite(-2.0 * pi / rate)):
        message = f"{owner}: <thread_pitch> must not be 0"
        notes.error(
            "number-not-finite", elements["thread_pitch"], message, "use screw_thread_pitch"
        )
        return 0.0
    return -2.0 * pi / rate if rate else 0.0


def _axis(
    kind: str,
    which: str,
    node: FrameNode,
    elements: Mapping[str, Element],
    scope: Scope,
    owner: str,
) -> _JointAxis:
    """One axis of a joint, with the frame of its direction, its limits and its dynamics."""
    element, notes = elements.get(which), node.notes
    if element is None:
        return _JointAxis()
    known: tuple[str, ...] = ("xyz", "limit", "dynamics", "mimic")
    if notes.version < (1, 7):
        known += ("use_parent_model_frame",)
    inside = parts(element, owner, known, notes)
    where = {key: notes.at(part) for key, part in inside.items()}
    locations = {**where, which: where.get("xyz", notes.at(element))}
    if "limit" in inside:
        check_attributes(inside["limit"], owner, (), notes)
    dynamics = ("damping", "friction", "spring_stiffness", "spring_reference")
    values = parts(inside["dynamics"], owner, dynamics, notes) if "dynamics" in inside else {}
    damping, friction, stiffness, rest = (
        number_text(values.get(name), owner, notes) or 0.0 for name in dynamics
    )
    if rest and not stiffness:
        notes.ignore("dynamics/spring_reference without stiffness")
    if kind == "ball":
        notes.ignored.update(
            f"{key} of a ball joint" for key in ("xyz", "limit", "mimic") if key in inside
        )
        return _JointAxis(
            damping=damping, friction=friction, stiffness=stiffness, locations=locations
        )
    return _JointAxis(
        xyz=_direction(element, inside, node, scope, owner),
        limits=_limits(kind, inside.get("limit"), owner, notes),
        damping=damping,
        friction=friction,
        stiffness=stiffness,
        rest=rest if stiffness else 0.0,
        mimic=_mimic(inside.get("mimic"), elements.get("drake:mimic"), scope, owner, notes),
        locations=locations,
    )


def _direction(
    axis: Element, inside: Mapping[str, Element], node: FrameNode, scope: Scope, owner: str
) -> Vector3:
    """The direction of an axis in the axes of the joint frame."""
    notes, element = node.notes, inside.get("xyz")
    xyz = vector(element, owner, notes, DEFAULT_AXIS)
    if why := without_direction(xyz):
        message = f"{owner}: <xyz> {quote_value(element_text(element))} {why}"
        notes.error("zero-axis", element or axis, message, "give a non-zero axis")
        return UNREAD
    frame: FrameNode | None = node
    in_model = boolean(inside.get("use_parent_model_frame"), owner, notes, notes.version < (1, 5))
    if element is not None:
        check_attributes(element, owner, ("expressed_in",), notes)
        if name := element.attributes.get("expressed_in", ""):
            frame = scope.frame(name, node, element)
        elif in_model:
            frame = scope.model
    elif in_model:
        frame = scope.model
    if frame is node or frame is None:
        return xyz
    return rotate_point(pose_between(node, frame).rotation, xyz)


def _limits(kind: str, element: Element | None, owner: str, notes: FileNotes) -> Limits:
    if element is None:
        return UNLIMITED
    elements = parts(element, owner, ("lower", "upper", "velocity", "effort"), notes)
    lower, upper = (limit(elements.get(name), owner, notes) for name in ("lower", "upper"))
    if kind == "continuous" and (lower is not None or upper is not None):
        notes.ignore("limit of a continuous joint")
        lower = upper = None
    velocity, effort = (
        magnitude_limit(elements.get(name), owner, notes) for name in ("velocity", "effort")
    )
    return Limits(lower, upper, velocity, effort)


def _mimic(
    element: Element | None, drake: Element | None, scope: Scope, owner: str, notes: FileNotes
) -> Mimic | None:
    """The mimic rule: multiplier · (leader - reference) + offset, or that of Drake's extension."""
    if element is None and drake is None:
        return None
    if element is None:
        assert drake is not None, "one of both"
        check_attributes(drake, owner, ("joint", "multiplier", "offset"), notes)
        leader = name_of(drake, f"<drake:mimic> of {owner}", notes, "joint")
        ratio = number_attribute(drake, "multiplier", owner, notes, required=True)
        offset = number_attribute(drake, "offset", owner, notes, required=True)
        return Mimic(_leader(leader, "axis", scope), ratio or 0.0, offset or 0.0)
    check_attributes(element, owner, ("joint", "axis"), notes)
    elements = parts(element, owner, ("multiplier", "offset", "reference"), notes)
    leader = name_of(element, f"<mimic> of {owner}", notes, "joint")
    if "multiplier" not in elements:
        message = f"{owner}: <mimic> has no <multiplier>"
        notes.error("missing-element", element, message, "write <multiplier>1</multiplier>")
        return None
    ratio, offset, reference = (
        number_text(elements.get(name), owner, notes) or 0.0
        for name in ("multiplier", "offset", "reference")
    )
    which = element.attributes.get("axis", "axis")
    if not isfinite(offset - ratio * reference):
        message = f"{owner}: multiplier · reference of <mimic> is too large"
        notes.error("number-not-finite", element, message, "check the exponents")
        return None
    return Mimic(_leader(leader, which, scope), ratio, offset - ratio * reference)


def _leader(name: str, which: str, scope: Scope) -> str:
    """The entry of a joint, or of one axis of a joint with two; unknown names are kept."""
    node = scope.find(name)
    if node is None or node.kind != "joint":
        return name
    kind = node.element.attributes.get("type", "").strip().lower()
    return f"{node.path}:{which}" if kind in _TWO_AXES else node.path


def _armature(
    kind: str, axis: _JointAxis, elements: Mapping[str, Element], owner: str, notes: FileNotes
) -> float:
    """The reflected inertia gear_ratio² · rotor_inertia of Drake's extension."""
    rotor = number_text(elements.get(_ROTOR), owner, notes)
    ratio = number_text(elements.get(_RATIO), owner, notes) if _RATIO in elements else 1.0
    if rotor is None:
        if _RATIO in elements:
            notes.ignore(f"{_RATIO} without {_ROTOR}")
        return 0.0
    hint = "--armature JOINT=VALUE sets gear_ratio² · rotor_inertia"
    if kind not in _ONE_AXIS or axis.limits.effort == 0.0:
        why = "the joint has an effort limit of 0, so it has no motor"
        why = why if kind in _ONE_AXIS else f"the joint is {kind}"
        left_out(elements[_ROTOR], f"{owner}: {_ROTOR} is not applied: {why}", notes, hint)
        return 0.0
    reflected = rotor * (ratio or 0.0) * (ratio or 0.0)
    if not isfinite(reflected):
        message = f"{owner}: gear_ratio² · rotor_inertia is too large"
        notes.error(
            "number-not-finite",
            elements[_ROTOR],
            message,
            "check that gear_ratio and rotor_inertia are in SI units",
        )
        return 0.0
    return reflected
