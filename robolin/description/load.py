"""From a path, standard input or a bundled name to an arm."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO, Unpack

from robolin.arm import Arm
from robolin.description.building.build_arm import build
from robolin.description.building.keywords import Keywords, model_options
from robolin.description.building.option_texts import texts_of_options
from robolin.description.building.options import ModelOptions
from robolin.description.bundled import bundled_names, bundled_path
from robolin.description.figures import figures_of
from robolin.description.model import Finding, Reading
from robolin.description.structure import quoted
from robolin.description.validate.validate import validate
from robolin.errors import FileError, RobolinError, UsageError, raise_all

Source = str | os.PathLike[str]

FORMATS = {".urdf": "urdf", ".xml": "urdf", ".yaml": "yaml", ".yml": "yaml"}

# what messages call the file that '-' stands for
STANDARD_INPUT = "<stdin>"

# no robot file comes near; it keeps an endless stream from filling the memory
LARGEST_FILE = 64 * 1024 * 1024


def load(source: Source, **options: Unpack[Keywords]) -> Arm:
    """The arm in a file or of a bundled name, under the given options.

    gravity            three components in the root link's axes (m/s²), or one number downwards
    base, tip          links between which joints move; everything else is rigid
    lock               joint -> position at which it stands still
    payload            (link, mass[, position]) or a list of them: point masses, added
    wrench             link -> fx, fy, fz, tx, ty, tz applied to the arm
    wrench_frame       'follower', 'dead' or 'world': what those six numbers are fixed to
    damping            False leaves out the description's damping
    friction_velocity  applies friction as μ tanh(q̇ / friction_velocity)
    armature           joint -> reflected rotor inertia, in place of the description's
    joints             order of inputs and outputs alike
    floating_base      True puts a joint 'base' with six freedoms between world and base link
    open_loops         True leaves out the closures of loops: the arm is its tree of joints
    strict             refuses what `validate` warns about
    """
    return load_with(source, model_options(options))


def load_with(source: Source, options: ModelOptions) -> Arm:
    """The arm in a file or of a bundled name, the options given as one object."""
    arm = arm_of(read(source), options)
    name, texts = _name(source), texts_of_options(options)
    return replace(arm, source=name, loaded_with=None if texts is None else {"arm": name, **texts})


def from_urdfpy(urdf: Any, **options: Unpack[Keywords]) -> Arm:
    """The arm in an object that urdfpy or urchin loaded, under the same options as `load`."""
    from robolin.description.urdf.urdfpy_objects import read_urdfpy

    return arm_of(read_urdfpy(urdf), model_options(options))


def arm_of(reading: Reading, options: ModelOptions) -> Arm:
    """The arm in a reading; its errors, and warnings if strict, are raised together."""
    raise_all([found.error() for found in reading.findings if found.level == "error"])
    assert reading.description is not None, "a reading without errors has a description"
    warnings = [found for found in validate(reading) if found.level == "warning"]
    if options.strict:
        raise_all([found.error() for found in warnings])
    arm = build(reading.description, options)
    return _noting(arm, warnings) if warnings else arm


def _noting(arm: Arm, warnings: list[Finding]) -> Arm:
    """The arm with a line in its contract that says what `validate` would warn about."""
    ids = ", ".join(dict.fromkeys(found.id for found in warnings))
    count = f"{len(warnings)} warning{'s' * (len(warnings) != 1)}"
    note = f"{count} by `robolin validate`: {ids}"
    return replace(arm, contract={**arm.contract, "notes": [*arm.contract["notes"], note]})


def figures(source: Source) -> dict[str, Any]:
    """Every figure of the description in a file or of a bundled name."""
    reading = read(source)
    raise_all([found.error() for found in reading.findings if found.level == "error"])
    assert reading.description is not None, "a reading without errors has a description"
    return figures_of(reading.description)


def read(source: Source) -> Reading:
    """What a path, '-' for standard input, or a bundled name holds, errors included."""
    name = _name(source)
    if name == "-":
        text = _standard_input()
        return _reader(_sniffed(text))(text, STANDARD_INPUT)
    path = _found(name)
    text = _bytes(path)
    shown = path.name if path == bundled_path(name) else name
    return _reader(_format(path, text))(text, shown)


def _name(source: object) -> str:
    name = os.fspath(source) if isinstance(source, str | os.PathLike) else None
    if isinstance(name, str):
        return name
    hint = "a path to a .urdf or .yaml file, or the name of a bundled arm such as 'panda'"
    raise UsageError(f"{source!r} is no file and no name of an arm", hint=hint)


def _found(name: str) -> Path:
    """The file that a name stands for: a path that exists, or else a bundled arm."""
    if not name:
        raise UsageError("no arm given", hint="a .urdf or .yaml file, or a bundled name")
    if "\0" in name:
        raise UsageError(f"{name!r} is no file name", hint="it holds a zero byte")
    path = Path(name)
    try:
        exists, folder = path.exists(), path.is_dir()
    except OSError as error:
        raise _unreadable(name, error) from error
    bare = path.name == name and path.suffix not in FORMATS
    if bare and (folder or not exists) and (bundled := bundled_path(name)):
        return bundled
    if folder:
        hint = "give the robot file inside it"
        raise FileError("is a folder, not a robot file", where=name, hint=hint)
    if not exists:
        raise _missing(path, bare)
    return path


def _missing(path: Path, bare: bool) -> FileError:
    """The error for a file that is not there, with the name that was probably meant."""
    from difflib import get_close_matches

    names = bundled_names()
    if bare:
        close = get_close_matches(path.name.lower(), names, n=1)
        meant = f"did you mean '{close[0]}'?" if close else f"bundled are {quoted(names)}"
        hint = f"{meant} (`robolin models` tells more)"
        return FileError("no such file and no bundled arm of that name", where=str(path), hint=hint)
    stems = _stems_beside(path)
    if path.stem.lower() in names and path.name == str(path):
        hint = f"the bundled arm goes by its bare name: '{path.stem.lower()}'"
    elif close := get_close_matches(path.stem, stems, n=1):
        hint = f"did you mean '{path.parent / stems[close[0]]}'?"
    else:
        hint = "check the path; `robolin models` lists the arms that need none"
    return FileError("no such file", where=str(path), hint=hint)


def _stems_beside(path: Path) -> dict[str, str]:
    """The robot files in the folder where a path was looked for, by name without extension."""
    try:
        return {
            other.stem: other.name for other in path.parent.iterdir() if other.suffix in FORMATS
        }
    except OSError:
        return {}


def _bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return _take(stream, str(path))
    except OSError as error:
        raise _unreadable(str(path), error) from error


def _standard_input() -> bytes:
    name = STANDARD_INPUT
    if sys.stdin is None:
        raise FileError("is closed", where=name, hint="pipe a robot file into the command")
    try:
        return _take(sys.stdin.buffer, name)
    except OSError as error:
        raise _unreadable(name, error) from error


def _take(stream: BinaryIO, name: str) -> bytes:
    text = stream.read(LARGEST_FILE + 1)
    if len(text) > LARGEST_FILE:
        raise FileError(f"larger than {LARGEST_FILE >> 20} MiB, so no robot file", where=name)
    return text


def _unreadable(name: str, error: OSError) -> FileError:
    return FileError(f"could not be read: {error.strerror or error}", where=name)


def _format(path: Path, text: bytes) -> str:
    """By the extension; a path without one, such as a pipe, by its first character."""
    suffix = path.suffix.lower()
    if suffix in FORMATS:
        return FORMATS[suffix]
    if not suffix:
        return _sniffed(text)
    if suffix == ".xacro":
        hint = f"expand it first: xacro {path.name} > {path.stem.removesuffix('.urdf')}.urdf"
        raise RobolinError("xacro is a macro language over URDF", where=str(path), hint=hint)
    hint = f"robot files end in {', '.join(FORMATS)}; '-' reads standard input"
    raise RobolinError(f"'{suffix}' is no robot file's extension", where=str(path), hint=hint)


def _sniffed(text: bytes) -> str:
    return "urdf" if text.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] == b"<" else "yaml"


def _reader(kind: str) -> Callable[[bytes, str], Reading]:
    """Imported on use: YAML is needed for YAML files only."""
    if kind == "urdf":
        from robolin.description.urdf.urdf_reader import read_urdf

        return read_urdf
    from robolin.description.yaml.yaml_arm import read_yaml

    return read_yaml
