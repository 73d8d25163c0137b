"""Load an arm from a path, standard input or a bundled name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Never

from robolin.core.arm import Arm, WrenchModel
from robolin.core.text import pluralize
from robolin.description.building.build_arm import DEFAULTS, build
from robolin.description.building.keywords import (
    Keywords,
    ModelOptions,
    PayloadLike,
    model_options,
    require_known_keywords,
    texts_of_options,
)
from robolin.description.model import Description, Finding, Reading, model_dict_of
from robolin.description.robot_source import INLINE_TEXT, RobotText, Source, name_of, robot_text
from robolin.description.validate import physical_findings, plain_arm
from robolin.errors import UsageError, raise_all


def load(
    source: Source,
    *,
    gravity: Sequence[float] | float | None = None,
    base: str | None = None,
    tip: str | None = None,
    lock: Mapping[str, float] | None = None,
    payload: PayloadLike | Sequence[PayloadLike] | None = None,
    wrench: Mapping[str, Sequence[float]] | None = None,
    wrench_frame: WrenchModel = "follower",
    damping: bool = True,
    springs: bool = True,
    friction: bool = True,
    friction_velocity: float | Mapping[str, float] | None = None,
    armature: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
    floating_base: bool = False,
    base_joint: str | None = None,
    open_loops: bool = False,
    strict: bool = False,
    xacro_args: Mapping[str, object] | None = None,
    packages: Mapping[str, str | PathLike[str]] | None = None,
    srdf: str | PathLike[str] | None = None,
    **unknown: Never,
) -> Arm:
    """Load a robot from a file, or a bundled robot by name.

    Args:
        source: a path to a .urdf, .xacro, .sdf, .mjcf or .yaml file, `-` for standard input, a name
            such as "panda" or "robot_descriptions:ur10e", or the text itself: XML or YAML as str or
            bytes, or an open file
        gravity: (3,) in m/s² in the root link's axes, or a magnitude in the direction of the
            file's gravity (else -z); None for the file's gravity, else 9.81
        base, tip: links between which joints move; all other joints are locked
        lock: joint -> fixed position in rad or m
        payload: (link, mass), (link, mass, position) or a list of these: added point masses, in kg
            and m
        wrench: link -> (fx, fy, fz, tx, ty, tz) applied to the arm, in N and N·m
        wrench_frame: frame of the wrenches: "follower", "dead" or "world"
        damping: False ignores the description's damping
        springs: False ignores the description's joint springs
        friction: False ignores the description's friction
        friction_velocity: applies friction as μ tanh(q̇ / friction_velocity), in rad/s or m/s;
            {joint: velocity} for one value per joint; None for the value in the file, or no
            friction
        armature: joint -> reflected rotor inertia in kg·m² or kg, instead of the file's
        joints: order of joints in inputs and outputs; None for the description's order
        floating_base: True adds a 6-DoF joint 'base' between world and base link
        base_joint: type of such a joint 'base': "planar", "spherical" or "floating"
        open_loops: True ignores loop closures and keeps only the tree of joints
        strict: True turns warnings of `robolin validate` into errors
        xacro_args: values for the arguments of a xacro file, by name
        packages: folders of packages for `$(find NAME)` in a xacro file and of models for
            `model://NAME` in an SDF file, by name
        srdf: SRDF file with named poses for a URDF or xacro file; None for the file of the same
            name next to it, if any
        unknown: any other keyword is an error, with the closest option as a hint

    Returns:
        an `Arm` of n joints

    Raises:
        RobolinError: all errors in the file, with their lines
        UsageError: an unknown option or an invalid value
        FileError: a missing or unreadable file

    Example:
        >>> arm = robolin.load("two-link", payload=("tip", 0.5), lock={"elbow": 0.3})
        >>> arm.joint_names
        ('shoulder',)
        >>> arm.contract["payload"]
        "0.5 kg on link 'tip'"
    """
    require_known_keywords(unknown)
    options: Keywords = {
        "gravity": gravity,
        "base": base,
        "tip": tip,
        "lock": lock,
        "payload": payload,
        "wrench": wrench,
        "wrench_frame": wrench_frame,
        "damping": damping,
        "springs": springs,
        "friction": friction,
        "friction_velocity": friction_velocity,
        "armature": armature,
        "joints": joints,
        "floating_base": floating_base,
        "base_joint": base_joint,
        "open_loops": open_loops,
        "strict": strict,
        "xacro_args": xacro_args,
        "packages": packages,
        "srdf": srdf,
    }
    return load_with(source, model_options(options))


def load_with(source: Source, options: ModelOptions) -> Arm:
    """Load the arm of a file or of a bundled name, with the options as one object."""
    name, texts = name_of(source), texts_of_options(options)
    again = texts is not None and name != INLINE_TEXT
    loaded_with = {"arm": name, **(texts or {})} if again else None
    return arm_of(read(source, options), options, name, loaded_with)


def from_urdfpy(
    urdf: Any,
    *,
    gravity: Sequence[float] | float | None = None,
    base: str | None = None,
    tip: str | None = None,
    lock: Mapping[str, float] | None = None,
    payload: PayloadLike | Sequence[PayloadLike] | None = None,
    wrench: Mapping[str, Sequence[float]] | None = None,
    wrench_frame: WrenchModel = "follower",
    damping: bool = True,
    springs: bool = True,
    friction: bool = True,
    friction_velocity: float | Mapping[str, float] | None = None,
    armature: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
    floating_base: bool = False,
    base_joint: str | None = None,
    open_loops: bool = False,
    strict: bool = False,
    **unknown: Never,
) -> Arm:
    """Load the arm of a urdfpy or urchin object, with the same options as `load`.

    Args:
        urdf: result of `urdfpy.URDF.load` or `urchin.URDF.load`
        gravity: (3,) in m/s² in the root link's axes, or a magnitude in the direction of the
            file's gravity (else -z); None for the file's gravity, else 9.81
        base, tip: links between which joints move; all other joints are locked
        lock: joint -> fixed position in rad or m
        payload: (link, mass), (link, mass, position) or a list of these: added point masses, in kg
            and m
        wrench: link -> (fx, fy, fz, tx, ty, tz) applied to the arm, in N and N·m
        wrench_frame: frame of the wrenches: "follower", "dead" or "world"
        damping: False ignores the description's damping
        springs: False ignores the description's joint springs
        friction: False ignores the description's friction
        friction_velocity: applies friction as μ tanh(q̇ / friction_velocity), in rad/s or m/s;
            {joint: velocity} for one value per joint; None for the value in the file, or no
            friction
        armature: joint -> reflected rotor inertia in kg·m² or kg, instead of the file's
        joints: order of joints in inputs and outputs; None for the description's order
        floating_base: True adds a 6-DoF joint 'base' between world and base link
        base_joint: type of such a joint 'base': "planar", "spherical" or "floating"
        open_loops: True ignores loop closures and keeps only the tree of joints
        strict: True turns warnings of `robolin validate` into errors
        unknown: any other keyword is an error, with the closest option as a hint

    Returns:
        an `Arm` of n joints

    Raises:
        RobolinError: all errors in the robot
        UsageError: an unknown option or an invalid value

    Example:
        >>> from urchin import URDF
        >>> arm = robolin.from_urdfpy(URDF.load("arm.urdf"), gravity=0)
        >>> arm.n, arm.joint_names[0]
        (6, 'shoulder_pan_joint')
    """
    from robolin.description.urdf.urdfpy_objects import read_urdfpy

    require_known_keywords(unknown)
    options: Keywords = {
        "gravity": gravity,
        "base": base,
        "tip": tip,
        "lock": lock,
        "payload": payload,
        "wrench": wrench,
        "wrench_frame": wrench_frame,
        "damping": damping,
        "springs": springs,
        "friction": friction,
        "friction_velocity": friction_velocity,
        "armature": armature,
        "joints": joints,
        "floating_base": floating_base,
        "base_joint": base_joint,
        "open_loops": open_loops,
        "strict": strict,
    }
    return arm_of(read_urdfpy(urdf), model_options(options))


def arm_of(
    reading: Reading,
    options: ModelOptions,
    source: str | None = None,
    loaded_with: Mapping[str, Any] | None = None,
) -> Arm:
    """The arm in a reading; its errors, and warnings if strict, are raised together.

    source:      name of the source, if it differs from the name of the file
    loaded_with: arguments that load the same arm again
    """
    description = _sound(reading)
    plain = plain_arm(description, source, loaded_with)
    warnings = _warnings(reading, plain)
    if options.strict:
        raise_all([finding.error() for finding in warnings])
    matter = _of_moving_parts(warnings, description, options)
    notes = [_note(matter)] if matter else []
    if plain is None or replace(options, strict=False) != DEFAULTS:
        return build(description, options, source, notes, loaded_with)
    # the options are the defaults, so this arm is the result; only the notes are missing
    plain.contract["notes"].extend(notes)
    return plain


def _warnings(reading: Reading, plain: Arm | None) -> list[Finding]:
    """The warnings of `validate`, by line."""
    assert reading.description is not None, "a reading without errors has a description"
    findings = [*reading.findings, *physical_findings(reading.description, plain)]
    warnings = [finding for finding in findings if finding.level == "warning"]
    return sorted(warnings, key=lambda finding: (finding.location.line, finding.location.column))


def _of_moving_parts(
    warnings: Sequence[Finding], description: Description, options: ModelOptions
) -> list[Finding]:
    """Warnings without those about links on a fixed base, which no result depends on."""
    if options.floating_base:
        return [*warnings]
    base, size = {description.root}, 0
    fixed = [joint for joint in description.joints if joint.kind == "fixed"]
    while len(base) > size:
        size = len(base)
        base |= {joint.child for joint in fixed if joint.parent in base}
    names = tuple(f"link '{name}'" for name in base)
    return [each for each in warnings if not each.message.startswith(names)]


def _sound(reading: Reading) -> Description:
    """The description in a reading; its errors are raised together."""
    if errors := [each.error() for each in reading.findings if each.level == "error"]:
        raise_all(errors)
    assert reading.description is not None, "a reading without errors has a description"
    return reading.description


def _note(warnings: list[Finding]) -> str:
    """The contract's note on the warnings of `validate`."""
    ids = ", ".join(dict.fromkeys(finding.id for finding in warnings))
    return f"{pluralize(len(warnings), 'warning')} by `robolin validate`: {ids}"


def description_of(source: Source, options: ModelOptions = DEFAULTS) -> Description:
    """The description in a file or of a bundled name."""
    return _sound(read(source, options))


def model_dict(source: Source, options: ModelOptions = DEFAULTS) -> dict[str, Any]:
    """All parameters of the description in a file or of a bundled name."""
    return model_dict_of(description_of(source, options))


def read(source: Source, options: ModelOptions = DEFAULTS) -> Reading:
    """Read a path, '-' for standard input, a bundled name or a text; errors become findings."""
    robot = robot_text(source)
    reading = _with_poses(_read(robot, options), robot, options)
    if not robot.origin or reading.description is None:
        return reading
    notes = (*reading.description.notes, robot.origin)
    return replace(reading, description=replace(reading.description, notes=notes))


def _read(robot: RobotText, options: ModelOptions) -> Reading:
    if robot.kind == "xacro":
        from robolin.description.xacro.xacro_text import read_xacro

        return read_xacro(robot, options.xacro_args, options.packages)
    if robot.kind == "urdf":
        return _read_urdf(robot, options)
    if options.xacro_args:
        raise _without_effect("--xacro-arg", f"{robot.shown} is not a xacro file")
    if robot.kind == "mjcf":
        from robolin.description.mjcf.mjcf_reader import read_mjcf

        return read_mjcf(robot, options.packages.values(), options.open_loops)
    if robot.kind == "sdf":
        from robolin.description.sdf.sdf_reader import read_sdf

        return read_sdf(robot, options.packages)
    if options.packages:
        raise _without_effect("--package", f"{robot.shown} does not include other files")
    from robolin.description.yaml.yaml_arm import read_yaml

    return read_yaml(robot.text, robot.shown)


def _read_urdf(robot: RobotText, options: ModelOptions) -> Reading:
    """The description of a URDF file; a file with xacro in it is expanded, as launch files do."""
    from robolin.description.urdf.urdf_reader import read_urdf

    reading = read_urdf(robot.text, robot.shown)
    if robot.path is not None and any(each.id == "xacro-unexpanded" for each in reading.findings):
        from robolin.description.xacro.xacro_text import read_xacro

        return read_xacro(robot, options.xacro_args, options.packages)
    if options.xacro_args:
        raise _without_effect("--xacro-arg", f"{robot.shown} is not a xacro file")
    if options.packages:
        raise _without_effect("--package", f"{robot.shown} does not include other files")
    return reading


def _with_poses(reading: Reading, robot: RobotText, options: ModelOptions) -> Reading:
    """The reading with the poses of an SRDF file; YAML and MJCF files have their own."""
    if robot.kind in ("urdf", "xacro"):
        from robolin.description.named_poses import with_group_states

        return with_group_states(reading, robot, options)
    if options.srdf is not None:
        raise _without_effect("--srdf", f"{robot.shown} is not a URDF or xacro file")
    return reading


def _without_effect(option: str, reason: str) -> UsageError:
    return UsageError(f"has no effect: {reason}", where=option, hint="omit it")
