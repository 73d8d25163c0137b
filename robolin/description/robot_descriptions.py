"""Arms of the `robot_descriptions` package, by name: `robot_descriptions:panda`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from robolin.core.text import did_you_mean
from robolin.errors import FileError, RobolinError

PREFIX = "robot_descriptions:"
_ENDING = "_description"
# what a description may offer, the most direct first
_PATHS = ("URDF_PATH", "XACRO_PATH", "MJCF_PATH")


class FoundDescription(NamedTuple):
    """The file of a named robot, and which version of which repository it is from."""

    path: Path
    origin: str


def fetched_description(name: str) -> FoundDescription:
    """The robot file that `robot_descriptions:NAME` stands for, fetched if it is not there yet."""
    robot = name.removeprefix(PREFIX)
    if find_spec("robot_descriptions") is None:
        hint = "pip install 'robolin[descriptions]'"
        raise RobolinError("needs the package robot_descriptions", where=name, hint=hint)
    known = list(_known())
    module = next((each for each in (robot, robot + _ENDING) if each in known), None)
    if module is None:
        names = [each.removesuffix(_ENDING) for each in known]
        hint = did_you_mean(robot, names, "its README lists what there is")
        raise FileError("robot_descriptions has no robot of that name", where=name, hint=hint)
    found = _fetched(name, module)
    for each in _PATHS:
        if path := getattr(found, each, None):
            return FoundDescription(Path(path), _origin(found))
    raise RobolinError("has neither URDF, xacro nor MJCF", where=name)


def _known() -> Iterator[str]:
    from pkgutil import iter_modules

    folder: Any = import_module("robot_descriptions")
    for module in iter_modules(folder.__path__):
        if module.name.endswith(_ENDING) and not module.name.startswith("_"):
            yield module.name


def _fetched(name: str, module: str) -> Any:
    """The module of a robot; importing it fetches its repository."""
    try:
        # it tells its progress on standard output, where only answers belong
        with redirect_stdout(sys.stderr):
            return import_module(f"robot_descriptions.{module}")
    except Exception as error:
        told = " ".join(str(error).split())[:200]
        hint = "it is fetched from the network the first time, with git"
        raise FileError(f"could not be fetched: {told}", where=name, hint=hint) from error


def _origin(module: Any) -> str:
    """Which repository at which commit the file is from, as far as it is told."""
    folder = Path(str(getattr(module, "REPOSITORY_PATH", "")))
    head = folder / ".git" / "HEAD"
    commit = head.read_text().strip() if head.is_file() else "an unknown commit"
    return f"robot_descriptions, repository {folder.name} at {commit.removeprefix('ref: ')}"
