"""From a path, standard input or a bundled name to an arm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Never

from robolin.core.arm import Arm, WrenchModel
from robolin.core.text import pluralize
from robolin.description.building.build_arm import DEFAULTS, build
from robolin.description.building.keywords import (
    Keywords,
    PayloadLike,
    model_options,
    require_known_keywords,
)
from robolin.description.building.option_texts import ModelOptions, texts_of_options
from robolin.description.model import Description, Finding, Reading, figures_of
from robolin.description.robot_source import GIVEN_TEXT, RobotText, Source, name_of, robot_text
from robolin.description.validate.validate import physical_findings, plain_arm
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
    friction_velocity: float | None = None,
    armature: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
    floating_base: bool = False,
    base_joint: str | None = None,
    open_loops: bool = False,
    strict: bool = False,
    xacro_args: Mapping[str, object] | None = None,
    packages: Mapping[str, str | PathLike[str]] | None = None,
    **unknown: Never,
) -> Arm:
    """The arm in a file or of a bundled name, under the given options.

    Args:
        source: a path to a .urdf, .xacro, .mjcf or .yaml file, `-` for standard input, a name such
            as "panda" or "robot_descriptions:ur10", or the text itself: XML or YAML as str or
            bytes, or an open file
        gravity: (3,) in m/s² in the root link's axes, or its size alone, in the direction of the
            file's own (else -z); None takes the file's, else 9.81
        base, tip: links between which joints move; everything else is rigid
        lock: joint -> position at which it stands still, in rad or m
        payload: (link, mass), (link, mass, position) or a list of them: point masses added, in kg
            and m
        wrench: link -> (fx, fy, fz, tx, ty, tz) applied to the arm, in N and N·m
        wrench_frame: "follower", "dead" or "world": what those six numbers are fixed to
        damping: False leaves out the description's damping
        springs: False leaves out the description's joint springs
        friction_velocity: applies friction as μ tanh(q̇ / friction_velocity), in rad/s or m/s;
            None for no friction
        armature: joint -> reflected rotor inertia in kg·m² or kg, in place of the description's
        joints: order of inputs and outputs alike; None takes the description's
        floating_base: True puts a joint 'base' with six freedoms between world and base link
        base_joint: "planar" or "spherical" for one with fewer freedoms there, or "floating"
        open_loops: True leaves out the closures of loops: the arm is its tree of joints
        strict: True refuses what `robolin validate` warns about
        xacro_args: values for the arguments of a xacro file, by name
        packages: folders of the packages that `$(find NAME)` means in a xacro file, by name
        unknown: any other keyword is refused, with the option that was probably meant

    Returns:
        an `Arm` of n joints

    Raises:
        RobolinError: everything that is wrong with the file, with its lines
        UsageError: an option that does not exist, or a value it cannot have
        FileError: a file that is not there or cannot be read

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
        "friction_velocity": friction_velocity,
        "armature": armature,
        "joints": joints,
        "floating_base": floating_base,
        "base_joint": base_joint,
        "open_loops": open_loops,
        "strict": strict,
        "xacro_args": xacro_args,
        "packages": packages,
    }
    return load_with(source, model_options(options))


def load_with(source: Source, options: ModelOptions) -> Arm:
    """The arm in a file or of a bundled name, the options given as one object."""
    name, texts = name_of(source), texts_of_options(options)
    again = texts is not None and name != GIVEN_TEXT
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
    friction_velocity: float | None = None,
    armature: Mapping[str, float] | None = None,
    joints: Sequence[str] | None = None,
    floating_base: bool = False,
    base_joint: str | None = None,
    open_loops: bool = False,
    strict: bool = False,
    **unknown: Never,
) -> Arm:
    """The arm in an object that urdfpy or urchin loaded, under the same options as `load`.

    Args:
        urdf: what `urdfpy.URDF.load` or `urchin.URDF.load` gave
        gravity: (3,) in m/s² in the root link's axes, or its size alone, in the direction of the
            file's own (else -z); None takes the file's, else 9.81
        base, tip: links between which joints move; everything else is rigid
        lock: joint -> position at which it stands still, in rad or m
        payload: (link, mass), (link, mass, position) or a list of them: point masses added, in kg
            and m
        wrench: link -> (fx, fy, fz, tx, ty, tz) applied to the arm, in N and N·m
        wrench_frame: "follower", "dead" or "world": what those six numbers are fixed to
        damping: False leaves out the description's damping
        springs: False leaves out the description's joint springs
        friction_velocity: applies friction as μ tanh(q̇ / friction_velocity), in rad/s or m/s;
            None for no friction
        armature: joint -> reflected rotor inertia in kg·m² or kg, in place of the description's
        joints: order of inputs and outputs alike; None takes the description's
        floating_base: True puts a joint 'base' with six freedoms between world and base link
        base_joint: "planar" or "spherical" for one with fewer freedoms there, or "floating"
        open_loops: True leaves out the closures of loops: the arm is its tree of joints
        strict: True refuses what `robolin validate` warns about
        unknown: any other keyword is refused, with the option that was probably meant

    Returns:
        an `Arm` of n joints

    Raises:
        RobolinError: everything that is wrong with the robot
        UsageError: an option that does not exist, or a value it cannot have

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

    source:      what the arm was asked for by, where that is not the name of the file
    loaded_with: what asks for it again
    """
    description = _sound(reading)
    plain = plain_arm(description, source, loaded_with)
    warnings = _warnings(reading, plain)
    if options.strict:
        raise_all([found.error() for found in warnings])
    notes = [_note(warnings)] if warnings else []
    if plain is None or replace(options, strict=False) != DEFAULTS:
        return build(description, options, source, notes, loaded_with)
    # nobody has seen this arm yet: it is the one, and lacks only what was found by it
    plain.contract["notes"].extend(notes)
    return plain


def _warnings(reading: Reading, plain: Arm | None) -> list[Finding]:
    """What `validate` would warn about, by line."""
    assert reading.description is not None, "a sound reading has a description"
    findings = [*reading.findings, *physical_findings(reading.description, plain)]
    warnings = [found for found in findings if found.level == "warning"]
    return sorted(warnings, key=lambda found: (found.place.line, found.place.column))


def _sound(reading: Reading) -> Description:
    """The description in a reading; its errors are raised together."""
    raise_all([found.error() for found in reading.findings if found.level == "error"])
    assert reading.description is not None, "a reading without errors has a description"
    return reading.description


def _note(warnings: list[Finding]) -> str:
    """What the contract says about what `validate` would warn about."""
    ids = ", ".join(dict.fromkeys(found.id for found in warnings))
    return f"{pluralize(len(warnings), 'warning')} by `robolin validate`: {ids}"


def figures(source: Source, options: ModelOptions = DEFAULTS) -> dict[str, Any]:
    """Every figure of the description in a file or of a bundled name."""
    return figures_of(_sound(read(source, options)))


def read(source: Source, options: ModelOptions = DEFAULTS) -> Reading:
    """What a path, '-' for standard input, a bundled name or a text holds, errors included."""
    found = robot_text(source)
    reading = _read(found, options)
    if not found.origin or reading.description is None:
        return reading
    notes = (*reading.description.notes, found.origin)
    return replace(reading, description=replace(reading.description, notes=notes))


def _read(found: RobotText, options: ModelOptions) -> Reading:
    if found.kind == "xacro":
        from robolin.description.xacro.xacro_text import read_xacro

        return read_xacro(found, options.xacro_args, options.packages)
    if options.xacro_args:
        raise _without_effect("--xacro-arg", f"{found.shown} is no xacro file")
    if found.kind == "mjcf":
        from robolin.description.mjcf.mjcf_reader import read_mjcf

        return read_mjcf(found, options.packages.values())
    if options.packages:
        raise _without_effect("--package", f"{found.shown} reads no other files")
    return _reader(found.kind)(found.text, found.shown)


def _without_effect(option: str, reason: str) -> UsageError:
    return UsageError(f"has no effect: {reason}", where=option, hint="leave it out")


def _reader(kind: str) -> Callable[[bytes, str], Reading]:
    """Imported on use: YAML is needed for YAML files only."""
    if kind == "urdf":
        from robolin.description.urdf.urdf_reader import read_urdf

        return read_urdf
    from robolin.description.yaml.yaml_arm import read_yaml

    return read_yaml
