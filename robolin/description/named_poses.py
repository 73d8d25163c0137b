"""Named poses of a description: group states of SRDF, keyframes of MJCF, names and limits.

The SRDF file, MoveIt's companion, of `panda.urdf` or `panda.urdf.xacro` is `panda.srdf` or
`panda.srdf.xacro` in the same folder, or the one that the option `srdf` names.  Everything in it
except <group_state> is ignored without a finding, since none of it has an effect on the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import atan2, cos, hypot, inf, isfinite, pi, radians, sin
from pathlib import Path
from typing import TYPE_CHECKING, Any

from robolin.core.arm import Limits, Matrix3, Pose, Vector3
from robolin.core.arm_parts import compose, inverse_rotation, rotation_from_quaternion
from robolin.core.quantity_table import joint_unit
from robolin.core.text import did_you_mean, is_number, path_hint, quote_value
from robolin.description.building.keywords import ModelOptions
from robolin.description.finding_ids import finding
from robolin.description.model import (
    JOINT_TYPES,
    Description,
    Finding,
    JointEntry,
    Level,
    PoseEntry,
    Reading,
    SourceLocation,
    coordinate_names,
    group_kind,
)
from robolin.description.robot_source import RobotText, robot_file_bytes
from robolin.description.xml_tree import Element, Notes, name_of, number_list, parse_xml
from robolin.errors import FileError, RobolinError

if TYPE_CHECKING:
    from robolin.description.mjcf.mjcf_files import ModelFiles


_TURNS, _SLIDES = ("rx", "ry", "rz"), ("x", "y", "z")


def usable_poses(
    poses: Iterable[PoseEntry], joints: Sequence[JointEntry], level: Level, findings: list[Finding]
) -> tuple[PoseEntry, ...]:
    """The poses that a name selects without ambiguity; each other pose becomes a finding.

    level: 'error' for robolin's own format, 'warning' for files of other programs
    """
    taken = {joint.name for joint in joints}
    taken |= {name for joint in joints for name in coordinate_names(joint)}
    usable: dict[str, PoseEntry] = {}
    for pose in poses:
        problem = _name_problem(pose.name, taken)
        if problem is None and not all(map(isfinite, pose.positions.values())):
            problem = "a position is not a finite number"
        if problem is None and pose.name in usable:
            problem = f"another pose has this name, at {usable[pose.name].location}"
        if problem is None:
            usable[pose.name] = pose
            continue
        what = "pose-name" if level == "error" else "pose-ignored"
        message = f"pose '{pose.name}' cannot be selected by --q: {problem}"
        findings.append(Finding(what, level, pose.location, message, "rename the pose"))
    return tuple(usable.values())


def _name_problem(name: str, joint_names: set[str]) -> str | None:
    if name in joint_names:
        return "a joint has this name"
    if is_number(name):
        return "the name is a number"
    if not name or name != name.strip() or not name.isprintable() or set(name) & set(",="):
        return "the name is blank, or contains ',', '=' or a character that cannot be shown"
    return None


def rpy_from_rotation(R: Matrix3) -> Vector3:
    """Roll, pitch and yaw of a rotation matrix; they reproduce it also at gimbal lock."""
    yaw = atan2(R[3], R[0])
    c, s = cos(yaw), sin(yaw)
    pitch = atan2(-R[6], c * R[0] + s * R[3])
    roll = atan2(s * R[2] - c * R[5], c * R[4] - s * R[1])
    return roll + 0.0, pitch + 0.0, yaw + 0.0


def normalized(quaternion: Sequence[float]) -> list[float]:
    """The quaternion divided by its length; (1, 0, 0, 0) if all components are 0."""
    length = hypot(*quaternion)
    return [part / length for part in quaternion] if length else [1.0, 0.0, 0.0, 0.0]


def rotation_positions(joint: str, quaternion: Sequence[float]) -> dict[str, float]:
    """Roll, pitch and yaw of a joint from a quaternion w, x, y, z of any length."""
    R = rotation_from_quaternion(*normalized(quaternion))
    return dict(zip((f"{joint}:{part}" for part in _TURNS), rpy_from_rotation(R), strict=True))


def pose_positions(joint: str, pose: Pose) -> dict[str, float]:
    """Positions of a floating joint whose child link has this pose in the joint's frame."""
    turn: Vector3 = rpy_from_rotation(pose.rotation)
    names = (f"{joint}:{part}" for part in (*_TURNS, *_SLIDES))
    return dict(zip(names, (*turn, *pose.translation), strict=True))


def pose_findings(description: Description) -> Iterator[Finding]:
    """A note for every pose with joints outside their limits; only written positions count."""
    joints = {joint.name: joint for joint in description.joints if not group_kind(joint)}
    for pose in description.poses:
        outside = [
            text
            for name, position in pose.positions.items()
            if name in joints and (text := _outside(joints[name], position))
        ]
        if outside:
            message = f"pose '{pose.name}' is outside the joint limits: {'; '.join(outside)}"
            hint = "correct the pose or the limits; --q also accepts a pose outside the limits"
            yield finding("pose-outside-limits", pose.location, message, hint)


def _outside(joint: JointEntry, position: float) -> str:
    if joint.mimic or joint.kind == "continuous":
        return ""
    return outside_limits(joint.name, joint.limits, position, JOINT_TYPES[joint.kind].rotary)


def outside_limits(name: str, limits: Limits, position: float, turns: bool) -> str:
    """Text about a joint position outside its limits; '' if it is within."""
    low = -inf if limits.lower is None else limits.lower
    high = inf if limits.upper is None else limits.upper
    if low <= position <= high:
        return ""
    unit = joint_unit("position", turns)
    return f"'{name}' is at {position:.6g} {unit}, its limits are {low:.6g} to {high:.6g}"


def movable(joints: Iterable[JointEntry]) -> Mapping[str, bool]:
    """Names of all coordinates of movable joints -> True for an angle."""
    return {
        name: JOINT_TYPES[joint.kind].rotary or name.rpartition(":")[2] in _TURNS
        for joint in joints
        if joint.kind != "fixed"
        for name in coordinate_names(joint)
    }


def keyframe_poses(
    model: Mapping[str, Any],
    joints: Sequence[JointEntry],
    files: ModelFiles,
    findings: list[Finding],
) -> tuple[PoseEntry, ...]:
    """The positions of every <key>; an unnamed one is 'key' and its number, from 0."""
    entries = {joint.name: joint for joint in joints}
    poses = [
        PoseEntry(key["name"], files.at("key", key["name"]), _positions(model, key, entries))
        for key in model["key"]
    ]
    return usable_poses(poses, joints, "warning", findings)


def _positions(
    model: Mapping[str, Any], key: Mapping[str, Any], entries: Mapping[str, JointEntry]
) -> dict[str, float]:
    positions: dict[str, float] = {}
    for joint in model["joint"]:
        positions |= _of_joint(entries[joint["name"]], key["qpos"][joint["qposadr"] :])
    return positions


def _of_joint(joint: JointEntry, qpos: Sequence[float]) -> Mapping[str, float]:
    """Positions of one joint; MuJoCo stores quaternions as w, x, y, z."""
    if joint.kind == "spherical":
        return rotation_positions(joint.name, qpos[:4])
    if joint.kind == "floating":
        x, y, z, *quaternion = qpos[:7]
        # MuJoCo has the pose in the world, a floating joint relative to where the body is at 0
        there = Pose(rotation_from_quaternion(*normalized(quaternion)), (x, y, z))
        return pose_positions(joint.name, compose(inverse_rotation(joint.pose), there))
    return {joint.name: qpos[0]}


_ENDINGS = (".xacro", ".urdf", ".xml")

IGNORED = "pose-ignored"


def with_group_states(reading: Reading, robot: RobotText, options: ModelOptions) -> Reading:
    """The reading with the poses of its SRDF file, if there is one.

    options: `srdf` is the path of the SRDF file; None for the one next to the robot file
    """
    option = options.srdf
    path = Path(option) if option is not None else _companion(robot.path)
    if path is None or reading.description is None:
        return reading
    if option is not None and not path.is_file():
        raise FileError("no such file", where=f"--srdf={option}", hint=path_hint(option))
    poses: tuple[PoseEntry, ...] = ()
    try:
        poses, findings = read_srdf(_srdf_text(path, options), path.name, reading.description)
    except RobolinError as error:
        if option is not None:
            raise
        findings = [Finding(IGNORED, "error", SourceLocation(path.name), error.message, error.hint)]
    if option is None:
        # a robot file that loads alone also loads next to an SRDF file with mistakes
        findings = [_as_warning(finding) for finding in findings]
    wrong = any(finding.level == "error" for finding in findings)
    description = None if wrong else replace(reading.description, poses=poses)
    files = (*reading.files, str(path))
    return Reading(description, [*reading.findings, *findings], files=files)


def _srdf_text(path: Path, options: ModelOptions) -> bytes:
    if path.suffix.lower() != ".xacro":
        return robot_file_bytes(path)
    from robolin.description.xacro.xacro_text import expanded_srdf

    return expanded_srdf(path, options.xacro_args, options.packages)


def _companion(path: Path | None) -> Path | None:
    """The SRDF file next to a robot file, None if there is none."""
    if path is None:
        return None
    name = path.name
    for ending in _ENDINGS:
        name = name[: -len(ending)] if name.lower().endswith(ending) else name
    files = (path.with_name(f"{name}{ending}") for ending in (".srdf", ".srdf.xacro"))
    return next((file for file in files if file.is_file()), None)


def _as_warning(finding: Finding) -> Finding:
    if finding.level != "error":
        return finding
    return replace(finding, id=IGNORED, level="warning", message=f"not read: {finding.message}")


def read_srdf(
    text: bytes, source: str, description: Description
) -> tuple[tuple[PoseEntry, ...], list[Finding]]:
    """The poses of an SRDF file for a robot, and all findings.

    States of the same name in several groups, such as arm and hand, form one pose.
    """
    robot, broken = parse_xml(text, source)
    notes = Notes(source)
    notes.findings += broken
    if robot is None:
        return (), notes.findings
    if robot.tag != "robot":
        message = f"the root element is <{robot.tag}>, not <robot>"
        notes.error(
            "not-a-robot",
            robot,
            message,
            'use <robot name="…"> as the root element of an SRDF file',
        )
        return (), notes.findings
    if macros := [part for part in robot.children if part.tag.startswith("xacro:")]:
        message, hint = (
            f"the file contains unexpanded xacro: <{macros[0].tag}>",
            "use the extension .srdf.xacro, or expand the file first: xacro FILE > arm.srdf",
        )
        notes.error("xacro-unexpanded", macros[0], message, hint)
    joints = {joint.name: joint for joint in description.joints}
    poses: dict[str, PoseEntry] = {}
    for state in robot.children:
        if state.tag == "group_state" and (name := name_of(state, "a group state", notes)):
            pose = poses.setdefault(name, PoseEntry(name, notes.at(state), {}))
            poses[name] = replace(pose, positions=_merged(pose, state, joints, notes))
    return (
        usable_poses(poses.values(), description.joints, "warning", notes.findings),
        notes.findings,
    )


def _merged(
    pose: PoseEntry, state: Element, joints: Mapping[str, JointEntry], notes: Notes
) -> dict[str, float]:
    """The positions of a pose and of another state of the same name."""
    positions = dict(pose.positions)
    for element in state.children:
        for name, value in _state_positions(
            element, f"pose {quote_value(pose.name)}", joints, notes
        ):
            if positions.setdefault(name, value) != value:
                message = f"pose {quote_value(pose.name)} contains joint '{name}' twice"
                message += f": {positions[name]:.6g} and {value:.6g}"
                hint = "robolin uses the first position; rename one of the group states"
                notes.add(IGNORED, "warning", element, message, hint)
    return positions


def _state_positions(
    element: Element, owner: str, joints: Mapping[str, JointEntry], notes: Notes
) -> Iterator[tuple[str, float]]:
    """Coordinates and positions of a <joint> element; nothing after a finding."""
    if element.tag != "joint":
        return
    name = name_of(element, f"a joint of {owner}", notes)
    values = number_list(element, "value", owner, notes)
    if not name or values is None:
        return
    joint = joints.get(name)
    if joint is None or joint.kind == "fixed":
        # an SRDF file often serves several variants of a robot
        problem = "is fixed" if joint else "is not in the robot file"
        hint = "" if joint else did_you_mean(name, joints, "the position is ignored")
        message = f"{owner}: joint {quote_value(name)} {problem}"
        notes.add("srdf-other-joint", "note", element, message, hint)
        return
    positions = _by_coordinate(joint, values)
    if not positions:
        message = f"{owner}: {len(values)} values do not fit joint '{name}', which is {joint.kind}"
        hint = "write 'x y theta' (planar), 'x y z qx qy qz qw' (floating), or one number"
        notes.add(IGNORED, "warning", element, message, hint)
    yield from positions.items()


def _by_coordinate(joint: JointEntry, values: list[float]) -> dict[str, float]:
    """Positions by coordinate, {} for a wrong number of values; MoveIt's order of variables."""
    kind = group_kind(joint)
    if kind == "floating" and len(values) == 7:
        x, y, z, qx, qy, qz, qw = values
        slides = {f"{joint.name}:{part}": each for part, each in zip("xyz", (x, y, z), strict=True)}
        return rotation_positions(joint.name, (qw, qx, qy, qz)) | slides
    names = coordinate_names(joint)
    if len(values) != len(names) or kind in ("floating", "spherical"):
        return {}
    return dict(zip(names, values, strict=True))


def unit_findings(joint: JointEntry) -> Iterator[Finding]:
    """Limits and rest positions whose unit is likely wrong; springs may be preloaded at a limit."""
    lower, upper, rest = joint.limits.lower, joint.limits.upper, joint.rest
    if lower is None or upper is None or joint.kind == "continuous":
        return
    turns = joint.kind == "revolute"
    if turns and lower < upper and _resemble_degrees(lower, upper):
        message = f"joint '{joint.name}': the limits {lower:g} and {upper:g} rad look like degrees"
        hint = f"if the limits are in degrees, write {radians(lower):.4g} and {radians(upper):.4g}"
        yield finding("limits-in-degrees", joint.at("limit"), message, hint)
    if joint.stiffness and rest and joint.limits.far_outside(rest, rest, turns=turns):
        spring = f"the rest position {rest:.6g} {joint_unit('position', turns)} of the spring"
        outside = f"is far outside the limits from {lower:.6g} to {upper:.6g}"
        hint = f"if the position is in degrees, write {radians(rest):.4g}"
        hint = hint if turns else "check the unit: positions are in m"
        message = f"joint '{joint.name}': {spring} {outside}"
        yield finding("rest-outside-limits", joint.at("rest"), message, hint)


def _resemble_degrees(lower: float, upper: float) -> bool:
    """True for multiples of 0.5 beyond two revolutions; more than 400 replaces no limit."""
    exact = lower % 0.5 == upper % 0.5 == 0.0
    return exact and 4.0 * pi < max(-lower, upper) <= 400.0
