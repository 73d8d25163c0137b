"""Group states of an SRDF file, MoveIt's companion of a URDF, as named poses.

The file of `panda.urdf` or `panda.urdf.xacro` is `panda.srdf` or `panda.srdf.xacro` in the same
folder, or the one that the option `srdf` names.  Everything except <group_state> is ignored without
a finding, since none of it has an effect on the dynamics.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from robolin.core.text import did_you_mean
from robolin.description.building.option_texts import ModelOptions
from robolin.description.model import (
    Description,
    Finding,
    JointEntry,
    PoseEntry,
    Reading,
    SourceLocation,
)
from robolin.description.named_poses import rotation_positions, usable_poses
from robolin.description.robot_source import RobotText, robot_file_bytes
from robolin.description.tree import coordinate_names, group_kind
from robolin.description.urdf.urdf_fields import Notes, name_of, number_list, shown
from robolin.description.xml_tree import Element, parse_xml
from robolin.errors import FileError, RobolinError

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
        raise FileError("no such file", where=f"--srdf={option}", hint="check the path")
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
    return Reading(description, [*reading.findings, *findings])


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
        message = f"the outermost element is <{robot.tag}>, not <robot>"
        notes.error("not-a-robot", robot, message, 'an SRDF file has <robot name="…"> outermost')
        return (), notes.findings
    if macros := [part for part in robot.children if part.tag.startswith("xacro:")]:
        message, hint = (
            f"unexpanded xacro: <{macros[0].tag}>",
            "name the file .srdf.xacro, or expand it first: xacro FILE > arm.srdf",
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
        for name, value in _positions(element, f"pose {shown(pose.name)}", joints, notes):
            if positions.setdefault(name, value) != value:
                message = f"pose {shown(pose.name)} has two positions of joint '{name}'"
                message += f": {positions[name]:.6g} and {value:.6g}"
                hint = "the first one is used; give one of the group states another name"
                notes.add(IGNORED, "warning", element, message, hint)
    return positions


def _positions(
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
        message = f"{owner}: joint {shown(name)} {problem}"
        notes.add("srdf-other-joint", "note", element, message, hint)
        return
    positions = _by_coordinate(joint, values)
    if not positions:
        message = f"{owner}: {len(values)} values do not fit joint '{name}', which is {joint.kind}"
        hint = "one number; planar joints have x y theta, floating ones x y z qx qy qz qw"
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
