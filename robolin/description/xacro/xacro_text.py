"""Expansion of xacro files to URDF and SRDF, and search for the ROS packages that they name.

Packages are found without ROS: folders with a `package.xml`, or that look like one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
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
from robolin.errors import RobolinError, UsageError, raise_all

# search depth below a folder of ROS_PACKAGE_PATH
_DEPTH = 3
_NAME = re.compile(rb"<name>\s*([^<\s]+)\s*</name>")
# a manifest is short; a longer file is not a manifest
_LONGEST_MANIFEST = 1 << 20
# subfolders of a package with robot files; they identify a package without a manifest
_PARTS = ("urdf", "xacro", "meshes", "robots")
# the same for models of simulators
_SIMULATOR_PARTS = (*_PARTS, "assets", "mjcf")
# levels above the folder of a file at which such a package is looked for
_LEVELS = 3
# REP 127 and 144: letters, digits, underscores and dashes
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*")


def package_of(file: Path) -> Path | None:
    """The package a file lies in: the nearest folder above it with a `package.xml`."""
    return next((up for up in file.parents if (up / "package.xml").is_file()), None)


def is_package_name(name: str) -> bool:
    """Return True for a valid package name; False for a path such as '/' or '..'."""
    return _PACKAGE_NAME.fullmatch(name) is not None


def searched_folders(file: Path, packages: Mapping[str, str]) -> list[str]:
    """Folders that `find_package` searches, with resolved links, for a file and `packages`."""
    own = package_of(file)
    folders = [file.parent, *map(Path, packages.values())]
    if own is not None:
        folders += [own.parent, *_links(own.parent, 2)]
    folders += _unmarked_packages(file)
    for prefix in _folders("AMENT_PREFIX_PATH"):
        folders += [prefix / "share", *_links(prefix / "share", 1)]
    for folder in _folders("ROS_PACKAGE_PATH"):
        folders += [folder, *_links(folder, _DEPTH)]
    return sorted({os.path.realpath(folder) for folder in folders if folder.is_dir()})


def find_package(name: str, file: Path, packages: Mapping[str, str]) -> Path | None:
    """The folder of the package in `$(find NAME)` of a file, None if it does not exist.

    packages: folders set by the user, by package name; they have priority
    """
    if not is_package_name(name):
        return None
    if name in packages:
        return Path(packages[name]).absolute()
    return next(_candidates(name, file), None) or _unmarked_package(name, file)


def _candidates(name: str, file: Path) -> Iterator[Path]:
    """Candidate folders: around the file itself, then in the search path of ROS."""
    own = package_of(file)
    if own is not None and _is_package(own, name):
        yield own
    if own is not None:
        yield from _below(own.parent, name, 2)
    for prefix in _folders("AMENT_PREFIX_PATH"):
        share = prefix / "share" / name
        if share.is_dir():
            yield share
    for folder in _folders("ROS_PACKAGE_PATH"):
        yield from _below(folder, name, _DEPTH)


def _unmarked_packages(file: Path) -> list[Path]:
    """Folders around a file that look like packages but have no manifest: its own, and siblings."""
    folders = [path for own in _packages_or_similar(file) for path in _subfolders(own.parent)]
    return [path for path in folders if _looks_like_package(path)]


def _unmarked_package(name: str, file: Path) -> Path | None:
    """One of these by name; does not list folders, which the process may not be allowed to do."""
    folders = (own.parent / name for own in _packages_or_similar(file))
    return next(filter(_looks_like_package, folders), None)


def _packages_or_similar(file: Path) -> list[Path]:
    """The package of a file, and the nearest folder above it that looks like one."""
    similar = (package_of(file), _similar(file, _PARTS))
    return [folder for folder in similar if folder is not None]


def _similar(file: Path, parts: tuple[str, ...]) -> Path | None:
    above = file.parents[:_LEVELS]
    return next((up for up in above if _looks_like_package(up, parts)), None)


def _looks_like_package(folder: Path, parts: tuple[str, ...] = _PARTS) -> bool:
    """Return True for a folder with the subfolders of a package, but without its manifest."""
    has_parts = any((folder / part).is_dir() for part in parts)
    return has_parts and not (folder / "package.xml").is_file()


def _folders(variable: str) -> list[Path]:
    listed = os.environ.get(variable, "").split(os.pathsep)
    return [path for text in listed if text and (path := Path(text)).is_absolute()]


def _links(folder: Path, depth: int) -> Iterator[Path]:
    """Targets of symbolic links in the search path, which may be anywhere."""
    if not depth or (folder / "package.xml").is_file():
        return
    for path in _subfolders(folder):
        if path.is_symlink():
            yield path
        yield from _links(path, depth - 1)


def _subfolders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _below(folder: Path, name: str, depth: int) -> Iterator[Path]:
    """The package in this folder or below it; packages do not contain other packages."""
    if _is_package(folder, name):
        yield folder
    elif depth and not (folder / "package.xml").is_file():
        # a folder with the package's name first: it is nearly always the right one
        for path in sorted(_subfolders(folder), key=lambda path: path.name != name):
            yield from _below(path, name, depth - 1)


def _is_package(folder: Path, name: str) -> bool:
    """Return True if the manifest of a folder has this package name."""
    manifest = folder / "package.xml"
    try:
        if not manifest.is_file():
            return False
        with manifest.open("rb") as stream:
            match = _NAME.search(stream.read(_LONGEST_MANIFEST))
    except OSError:
        return False
    return match is not None and match[1].decode(errors="replace") == name


def package_or_repository(file: Path) -> Path | None:
    """The nearest folder above a file with a `package.xml` or the `.git` of a repository.

    Otherwise the nearest folder with the subfolders of a package, such as `meshes`.
    """
    markers = ("package.xml", ".git")
    marked = next((up for up in file.parents if any((up / m).exists() for m in markers)), None)
    return marked or _similar(file, _SIMULATOR_PARTS)


_PACKAGE_HINT = "add --package NAME=FOLDER to allow files in another folder"


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
    path: Path,
    arguments: Mapping[str, str],
    packages: Mapping[str, str],
    errors: list[RobolinError] | None = None,
) -> Expansion:
    """Expand a xacro file to URDF or SRDF.

    arguments: values for its `<xacro:arg>`, by name
    packages:  folders of packages for `$(find NAME)`, by name
    errors:    receives the errors of the expansion, which are raised otherwise
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
    if "errors" in answer:
        failures = [_error(path, {**answer, **each}) for each in answer["errors"]]
        if errors is None:
            raise_all(failures)
        else:
            errors += failures
            return Expansion(answer["text"].encode(), ())
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
        hint = "look for a macro that calls itself, or a number that grows without bound"
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
        value = answer["declared"].get(undefined[1]) or "VALUE"
        hints = [f"add --xacro-arg {undefined[1]}:={value}", _arguments(answer["known"])]
    elif "No such file" in message and answer["known"]:
        hints += ["set the values with --xacro-arg NAME:=VALUE", _arguments(answer["known"])]
    elif message.startswith("unknown macro name"):
        hints = ["add an <xacro:include> of the file that defines the macro, or remove the element"]
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
    message = f"the file does not use {pluralize(len(unused), 'argument')}: {quote_list(unused)}"
    hint = did_you_mean(unused[0], known, _arguments(known))
    error = UnusedArgumentError(message, where=str(path), hint=hint)
    error.names = tuple(unused)
    return error


# findings about text or links that the expansion did not produce
_OF_EXPANSION = ("xacro-unexpanded", "unknown-link", "several-roots", "no-links", "mimic-unknown")


def _with_errors(errors: Sequence[RobolinError], text: bytes, shown: str) -> Reading:
    """The errors of an expansion, and the findings about all elements that were expanded."""
    findings = []
    for error in errors:
        file, _, line = error.where.rpartition(":")
        location = SourceLocation(file, int(line)) if file and line.isdigit() else None
        location = location or SourceLocation(error.where)
        findings.append(Finding("xacro-failed", "error", location, error.message, error.hint))
    if not text:
        return Reading(None, findings)
    reading = read_urdf(text, shown)
    more = [finding for finding in reading.findings if finding.id not in _OF_EXPANSION]
    if (partial := reading.partial) is not None:
        failed = " ".join(x.message for x in reading.findings if x.id == "xacro-unexpanded")
        links = tuple(x for x in partial.links if f"link '{x.name}'" not in failed)
        joints = tuple(x for x in partial.joints if f"joint '{x.name}'" not in failed)
        partial = replace(partial, links=links, joints=joints)
    return Reading(None, [*findings, *more], partial)


def read_xacro(
    robot: RobotText, arguments: Mapping[str, str], packages: Mapping[str, str]
) -> Reading:
    """The description of a xacro file, of URDF or SDF; findings name lines of the expansion."""
    if robot.path is None:
        hint = "pass the path of the file, because a xacro file may include other files"
        raise UsageError("xacro cannot be read from standard input", where="-", hint=hint)
    errors: list[RobolinError] = []
    expansion = expanded_xacro(robot.path, arguments, packages, errors)
    if errors:
        return _with_errors(errors, expansion.text, f"{robot.shown} (expanded)")
    if b"<joint" not in expansion.text:
        hint = "if this file only defines macros, use the file that includes it"
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
