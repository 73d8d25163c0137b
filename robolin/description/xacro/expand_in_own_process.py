"""What expands a xacro file, in a process of its own: the URDF it stands for, or what is wrong.

Xacro files are programs: expressions in them are Python's, and they include other files.  So they
run apart, with bounds on time and memory, and open nothing but the robot's own packages.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import CodeType
from typing import Any, cast

from robolin.description.separate_process import ProcessBounds

# the largest arms that are published take a tenth of a second
BOUNDS = ProcessBounds(seconds=4, memory=1 << 29)
MOST_WARNINGS = 50

# events of Python's audit that no robot file has a use for
_FORBIDDEN = ("os.", "socket.", "subprocess.", "shutil.", "ctypes.", "signal.", "pty.", "ftplib.")
_LISTING = ("os.listdir", "os.scandir")


class OutsideError(Exception):
    """Something that lies outside the robot's packages was asked for."""


class Roots:
    """The folders that may be read, packages among them as they are found."""

    def __init__(self, file: Path, packages: Mapping[str, str]) -> None:
        from robolin.description.xacro.ros_packages import package_of

        self._file, self._given = file, packages
        self._roots = {os.path.realpath(package_of(file) or file.parent)}
        self._roots |= {os.path.realpath(folder) for folder in packages.values()}
        self._found: dict[str, str] = {}
        self._searching = False

    def find(self, name: str) -> str:
        """The folder of a package, which may be read from then on."""
        from robolin.description.xacro.ros_packages import find_package

        self._searching = True
        try:
            folder = find_package(name, self._file, self._given)
        finally:
            self._searching = False
        if folder is None or not folder.is_dir():
            raise OutsideError(f"package '{name}' is not found")
        self._roots.add(os.path.realpath(folder))
        self._found[str(folder)] = f"package://{name}"
        return str(folder)

    def without_places(self, text: str) -> str:
        """The text without the folders of this machine: elsewhere it is the same."""
        places = {str(self._file.parent): ".", **self._found}
        for folder in sorted(places, key=len, reverse=True):
            text = text.replace(folder + "/", places[folder] + "/")
        return text

    def guard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """An audit hook that lets nothing be opened, listed or started but what may be read."""
        if self._searching:
            return
        if event == "open" or event in _LISTING:
            self._require_inside(arguments[0])
        elif event.startswith(_FORBIDDEN):
            raise OutsideError(f"the file wants to use {event}")

    def _require_inside(self, path: Any) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode("." if path is None else path))
        if not any(os.path.commonpath((root, real)) == root for root in self._roots):
            raise OutsideError(f"'{os.fsdecode(path)}' lies outside the robot's packages")


class Arguments(dict[str, str]):
    """The arguments given, which know whether the file ever asked for them."""

    def __init__(self, given: Mapping[str, str]) -> None:
        super().__init__(given)
        self.unused = dict.fromkeys(given)

    def __contains__(self, name: object) -> bool:
        self.unused.pop(cast(str, name), None)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.unused.pop(name, None)
        return super().__getitem__(name)


def prepare() -> None:
    """Import whatever is needed: once the guard stands, not even Python's files can be opened."""
    modules = ("encodings.idna", "encodings.latin_1", "glob", "xml.dom.expatbuilder", "yaml")
    for name in (*modules, "xacro", "xacro.substitution_args"):
        import_module(name)


def reply(request: Mapping[str, Any]) -> dict[str, Any]:
    """The text of the expansion and xacro's warnings, arguments without effect, or an error."""
    return _expanded(Path(request["file"]), request["arguments"], request["packages"])


def _expanded(file: Path, given: dict[str, str], packages: dict[str, str]) -> dict[str, Any]:
    roots = Roots(file, packages)
    xacro = _guarded(roots)
    arguments = Arguments(given)
    warnings: list[str] = []
    xacro.warning = lambda *texts, **_: warnings.append(" ".join(map(str, texts)))
    try:
        xacro.init_stacks(str(file))
        document = xacro.parse(None, str(file))
        xacro.process_doc(document, mappings=arguments)
        text = document.toprettyxml(indent="  ")
    except Exception as error:
        return _wrong(xacro, error)
    if arguments.unused:
        return {"unused": list(arguments.unused), "known": [*arguments]}
    return {"text": roots.without_places(text), "warnings": warnings[:MOST_WARNINGS]}


def _guarded(roots: Roots) -> Any:
    """The package, behind the guard."""
    xacro: Any = import_module("xacro")
    substitution: Any = import_module("xacro.substitution_args")
    xacro.verbosity = 0
    xacro.safe_eval = _evaluated
    substitution._eval_find = roots.find
    substitution._eval_dict["find"] = roots.find
    sys.addaudithook(roots.guard)
    return xacro


def _evaluated(expression: str, names: dict[str, Any], more: Any = None) -> Any:
    """An expression's value; names with two underscores reach out of it, at any depth."""
    code = compile(expression.strip(), "<expression>", "eval")
    inner = [name for name in _names(code) if "__" in name]
    if inner:
        raise OutsideError(f"an expression may not use '{inner[0]}'")
    names.update(__builtins__={})
    return eval(code, names, more)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _wrong(xacro: Any, error: BaseException) -> dict[str, Any]:
    """What is wrong, in which file, and how the file came to be read."""
    cause = error
    while isinstance(inner := getattr(cause, "exc", None), Exception):
        # xacro wraps whatever goes wrong in errors of its own
        cause = inner
    told = cause if isinstance(cause, OutsideError) else error
    message = str(told).strip() or type(error).__name__
    files = [str(file) for file in xacro.filestack or () if file]
    if isinstance(cause, OutsideError) and f"'{files[-1]}'" in message:
        # the mistake stands in the file that wanted it
        files.pop()
    macros = [macro.body.getAttribute("name") for macro in xacro.macrostack or ()]
    line = getattr(error, "lineno", None)
    if isinstance(cause, MemoryError):
        message = "it grows beyond all bounds"
    if isinstance(cause, RecursionError):
        message = "its macros or includes go round in a circle"
    return {"error": message, "files": files, "macros": macros, "line": line}
