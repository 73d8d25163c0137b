"""Expansion of xacro files to URDF and SRDF."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from robolin.core.text import did_you_mean, pluralize, printable, quote_list
from robolin.description.model import Finding, Reading, SourceLocation
from robolin.description.robot_source import RobotText, format_of_text
from robolin.description.urdf.urdf_reader import read_urdf
from robolin.description.worker_process import OutOfBoundsError, run_in_separate_process
from robolin.description.xacro import xacro_worker as expand_in_own_process
from robolin.errors import RobolinError, UsageError

_PACKAGE_HINT = "add --package NAME=FOLDER for the folder of a package and other readable files"


# xacro's message for `$(arg NAME)` without `<xacro:arg name="NAME">`
_UNDEFINED = re.compile(r"Undefined substitution argument (\S+)(.*)", re.DOTALL)


class UnusedArgumentError(UsageError):
    """Arguments that the file does not have, by name."""

    names: tuple[str, ...] = ()


class Expansion(NamedTuple):
    """The URDF text of a xacro file, the warnings of xacro, and the paths of all files it read."""

    text: bytes
    warnings: tuple[str, ...]
    files: tuple[str, ...] = ()


def expanded_xacro(
    path: Path, arguments: Mapping[str, str], packages: Mapping[str, str]
) -> Expansion:
    """Expand a xacro file to URDF or SRDF.

    arguments: values for its `<xacro:arg>`, by name
    packages:  folders of packages for `$(find NAME)`, by name
    """
    if find_spec("xacro") is None:
        hint = "pip install xacro, or expand it first: xacro FILE > arm.urdf"
        raise RobolinError(
            "xacro files need the package xacro, which is not installed", where=str(path), hint=hint
        )
    for name, folder in packages.items():
        if not os.path.isdir(folder):
            raise UsageError(f"'{folder}' is not a folder", where=f"--package={name}={folder}")
    answer = _answer(path, arguments, packages)
    if "error" in answer:
        raise _error(path, answer)
    if "unused" in answer:
        raise _unused(path, answer)
    text: str = answer["text"]
    warnings = tuple(map(printable, answer["warnings"]))
    return Expansion(text.encode(), warnings, tuple(answer["files"]))


def expanded_srdf(path: Path, arguments: Mapping[str, str], packages: Mapping[str, str]) -> bytes:
    """Expand the SRDF file of a robot; it need not have all arguments of the robot file."""
    try:
        return expanded_xacro(path, arguments, packages).text
    except UnusedArgumentError as error:
        used = {name: text for name, text in arguments.items() if name not in error.names}
        return expanded_xacro(path, used, packages).text


def _answer(
    path: Path, arguments: Mapping[str, str], packages: Mapping[str, str]
) -> dict[str, Any]:
    request = {
        "file": str(path.absolute()),
        "arguments": dict(arguments),
        "packages": {name: os.path.abspath(folder) for name, folder in packages.items()},
    }
    try:
        return run_in_separate_process(
            expand_in_own_process.__name__, request, expand_in_own_process.BOUNDS
        )
    except OutOfBoundsError:
        message = f"the expansion took more than {expand_in_own_process.BOUNDS.seconds} s"
        hint = "check for a macro that calls itself, or a number that grows without bound"
        raise RobolinError(message, where=str(path), hint=hint) from None


def _error(path: Path, answer: Mapping[str, Any]) -> RobolinError:
    files: list[str] = answer["files"] or [str(path)]
    where = _shown(files[-1], path)
    if answer["line"]:
        where += f":{answer['line']}"
    ways = [f"in macro '{name}'" for name in reversed(answer["macros"])]
    ways += [f"included from {_shown(file, path)}" for file in reversed(files[:-1])]
    message: str = answer["error"]
    package = "package '" in message or "outside the robot's packages" in message
    hints = [_PACKAGE_HINT] * package
    if undefined := _UNDEFINED.match(message):
        message = f"argument '{undefined[1]}' has no value{undefined[2]}"
        hints = [f"add --xacro-arg {undefined[1]}:=VALUE", _arguments(answer["known"])]
    hint = "; ".join([*hints, *ways[:4]])
    return RobolinError(printable(" ".join(message.split())), where=where, hint=printable(hint))


def _shown(file: str, path: Path) -> str:
    """A file relative to the folder that the user named, if it is in that folder."""
    try:
        return str(path.parent / Path(file).relative_to(path.parent.absolute()))
    except ValueError:
        return file


def _arguments(names: Sequence[str]) -> str:
    """The arguments that a file declares, for a hint."""
    return f"arguments of the file: {quote_list(names)}" if names else "the file has no arguments"


def _unused(path: Path, answer: Mapping[str, Any]) -> UnusedArgumentError:
    unused: list[str] = answer["unused"]
    known = [name for name in answer["known"] if name not in unused]
    message = f"{pluralize(len(unused), 'argument')} not used by the file: {quote_list(unused)}"
    hint = did_you_mean(unused[0], known, _arguments(known))
    error = UnusedArgumentError(message, where=str(path), hint=hint)
    error.names = tuple(unused)
    return error


def read_xacro(
    robot: RobotText, arguments: Mapping[str, str], packages: Mapping[str, str]
) -> Reading:
    """The description of a xacro file, of URDF or SDF; findings name lines of the expansion."""
    if robot.path is None:
        hint = "give the path of the file: it includes other files"
        raise UsageError("xacro cannot be read from standard input", where="-", hint=hint)
    expansion = expanded_xacro(robot.path, arguments, packages)
    if b"<joint" not in expansion.text:
        hint = "if this file only defines macros, give the file that includes it"
        raise RobolinError("the expanded file has no joints", where=str(robot.path), hint=hint)
    shown = f"{robot.shown} (expanded)"
    if format_of_text(expansion.text) == "sdf":
        from robolin.description.sdf.sdf_reader import read_sdf

        reading = read_sdf(robot._replace(text=expansion.text, shown=shown), packages)
    else:
        reading = read_urdf(expansion.text, shown)
    location, description = SourceLocation(robot.shown), reading.description
    warnings = [Finding("xacro-warning", "warning", location, text) for text in expansion.warnings]
    if description is not None:
        description = replace(description, source=robot.shown)
    files = (*expansion.files, *reading.files)
    return Reading(description, [*warnings, *reading.findings], reading.partial, files)
