"""Worker process that expands a xacro file: returns the URDF text, or an error.

Xacro files are programs: they contain Python expressions and include other files.  Expressions are
evaluated from an allow-list.  The process has limits on time and memory and opens only files of the
robot's packages; if the system supports it, the process drops all other rights.
"""

from __future__ import annotations

import os
import sys
from collections import ChainMap
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, Never, cast

from robolin.description.worker_process import ProcessBounds, give_up_rights
from robolin.description.xacro.expression_rules import (
    ForbiddenError,
    math_names,
    safe_builtins,
    safe_symbols,
)
from robolin.description.xacro.expressions import Evaluator

# the largest published arms take 0.1 s
BOUNDS = ProcessBounds(seconds=4, memory=1 << 29)
MOST_WARNINGS = 50
MOST_ERRORS = 50

# Python audit events that no robot file needs
_FORBIDDEN = ("os.", "socket.", "subprocess.", "shutil.", "ctypes.", "signal.", "pty.", "ftplib.")
_LISTING = ("os.listdir", "os.scandir")

# functions that the xacro package defines for expressions
_XACRO_FUNCTIONS = frozenset(
    (
        *("abs_filename", "arg", "dotify", "error", "fatal", "load_yaml", "message"),
        *("print_location", "range", "sorted", "tokenize", "warning"),
    )
)
# an expression takes more frames here than in Python's own `eval`
_RECURSION_LIMIT = 3000


class Roots:
    """The readable folders; packages are added as they are found."""

    def __init__(self, file: Path, packages: Mapping[str, str]) -> None:
        from robolin.description.xacro.xacro_text import package_of

        self._file, self._packages = file, packages
        self._roots = {os.path.realpath(package_of(file) or file.parent)}
        self._roots |= {os.path.realpath(folder) for folder in packages.values()}
        self._found: dict[str, str] = {}
        self._searching = False
        # paths of the files that were read, in order
        self.opened: dict[str, None] = {}

    def find(self, name: str) -> str:
        """The folder of a package; adds it to the readable folders."""
        from robolin.description.xacro.xacro_text import find_package, is_package_name

        if not is_package_name(name):
            raise ForbiddenError(f"package '{name}' not found: invalid package name")
        self._searching = True
        try:
            folder = find_package(name, self._file, self._packages)
        finally:
            self._searching = False
        if folder is None or not folder.is_dir():
            raise ForbiddenError(f"package '{name}' not found")
        self._roots.add(os.path.realpath(folder))
        self._found[str(folder)] = f"package://{name}"
        return str(folder)

    def without_places(self, text: str) -> str:
        """The text with machine-specific folders removed, so that it is reproducible."""
        replacements = {str(self._file.parent): ".", **self._found}
        for folder in sorted(replacements, key=len, reverse=True):
            text = text.replace(folder + "/", replacements[folder] + "/")
        return text

    def guard(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Audit hook that blocks everything except reading and listing readable folders."""
        if self._searching:
            return
        if event == "open" or event in _LISTING:
            self._require_inside(event, arguments[0])
        elif event.startswith(_FORBIDDEN):
            raise ForbiddenError(f"the file uses {event}, which is not allowed")

    def _require_inside(self, event: str, path: Any) -> None:
        if isinstance(path, int):
            return
        real = os.path.realpath(os.fsdecode("." if path is None else path))
        if not any(os.path.commonpath((root, real)) == root for root in self._roots):
            raise ForbiddenError(f"'{os.fsdecode(path)}' is outside the robot's packages")
        if event == "open":
            self.opened[real] = None


class Arguments(dict[str, str]):
    """The arguments of the user; records which of them the file uses."""

    def __init__(self, values: Mapping[str, str]) -> None:
        super().__init__(values)
        self.unused: dict[str, None] = dict.fromkeys(values)

    def __contains__(self, name: object) -> bool:
        self.unused.pop(cast(str, name), None)
        return super().__contains__(name)

    def __getitem__(self, name: str) -> str:
        self.unused.pop(name, None)
        return super().__getitem__(name)


def prepare() -> None:
    """Import all modules: once the guard is active, even Python's files cannot be opened."""
    modules = (
        "difflib",
        "encodings.idna",
        "encodings.latin_1",
        "glob",
        "xml.dom.expatbuilder",
        "yaml",
    )
    for name in (*modules, "xacro", "xacro.substitution_args"):
        import_module(name)


def reply(request: Mapping[str, Any]) -> dict[str, Any]:
    """The text of the expansion and xacro's warnings, arguments without effect, or an error."""
    return _expanded(Path(request["file"]), request["arguments"], request["packages"])


def _expanded(file: Path, values: dict[str, str], packages: dict[str, str]) -> dict[str, Any]:
    from robolin.description.xacro.xacro_text import searched_folders

    roots = Roots(file, packages)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _RECURSION_LIMIT))
    give_up_rights(searched_folders(file, packages))
    xacro = _guarded(roots)
    arguments = Arguments(values)
    errors: list[dict[str, Any]] = []
    _continue_after_errors(xacro, errors)
    warnings: list[str] = []
    declared: dict[str, str] = {}
    xacro.warning = lambda *texts, **_: warnings.append(" ".join(map(str, texts)))
    try:
        xacro.init_stacks(str(file))
        document = xacro.parse(None, str(file))
        # the name of the robot may use an argument before its declaration
        for part in document.getElementsByTagName("xacro:arg"):
            declared.setdefault(part.getAttribute("name"), part.getAttribute("default"))
        xacro.process_doc(document, mappings=arguments)
        text = document.toprettyxml(indent="  ")
    except Exception as error:
        errors.append(_wrong(xacro, error))
        text = ""
    if errors:
        known = [*dict.fromkeys([*declared, *arguments])]
        text = roots.without_places(text)
        return {"errors": _causes(errors), "text": text, "known": known, "declared": declared}
    if arguments.unused:
        return {"unused": list(arguments.unused), "known": [*arguments]}
    files = [*roots.opened]
    text = roots.without_places(text)
    return {"text": text, "warnings": warnings[:MOST_WARNINGS], "files": files}


def _continue_after_errors(xacro: Any, errors: list[dict[str, Any]]) -> None:
    """Make xacro record errors and continue.

    The text of an invalid expression stays unexpanded; an invalid element is removed.
    """
    plain_text, plain_boolean = xacro.eval_text, xacro.get_boolean_value
    plain_include, plain_call = xacro.process_include, xacro.handle_macro_call
    inside = [0]
    unexpanded: set[str] = set()

    def record(error: Exception) -> None:
        if isinstance(error, RecursionError) or len(errors) >= MOST_ERRORS:
            raise error
        errors.append(_wrong(xacro, error))

    def eval_text(text: str, symbols: Any) -> Any:
        # an expression inside another one fails with it
        inside[0] += 1
        try:
            return plain_text(text, symbols)
        except Exception as error:
            if inside[0] > 1:
                raise
            record(error)
            unexpanded.add(text)
            return text
        finally:
            inside[0] -= 1

    def element(plain: Any, node: Any, *rest: Any) -> Any:
        files, macros, depth = [*xacro.filestack], [*xacro.macrostack], inside[0]
        inside[0] = 0
        try:
            return plain(node, *rest)
        except Exception as error:
            record(error)
            xacro.filestack[:], xacro.macrostack[:] = files, macros
            if node.parentNode is not None:
                node.parentNode.removeChild(node)
            return True
        finally:
            inside[0] = depth

    def boolean(value: Any, condition: Any) -> bool:
        try:
            return cast(bool, plain_boolean(value, condition))
        except Exception as error:
            if condition is None:
                # xacro tries several types of a value
                raise
            # the text of a failed expression is not a second error
            if value not in unexpanded:
                record(error)
            return False

    xacro.eval_text, xacro.get_boolean_value = eval_text, boolean
    xacro.process_include = lambda node, *rest: element(plain_include, node, *rest)
    xacro.handle_macro_call = lambda node, *rest: element(plain_call, node, *rest)


def _causes(errors: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The errors without repetitions, and without names that a missing file would define."""
    first = {(error["error"], *error["files"], error["line"]): error for error in errors[::-1]}
    unique = [*first.values()][::-1]
    missing = [each for each in unique if "No such file" in each["error"]]
    missing += [each for each in unique if "package '" in each["error"]]
    if not missing:
        return unique
    names = ("unknown macro name", "is not defined", "Undefined")
    return [each for each in unique if not any(name in each["error"] for name in names)]


def _guarded(roots: Roots) -> Any:
    """The xacro package with the safe evaluator instead of Python's, and the guard active."""
    xacro: Any = import_module("xacro")
    substitution: Any = import_module("xacro.substitution_args")
    xacro.verbosity = 0
    functions = safe_symbols(xacro._global_symbols, xacro.NameSpace, _XACRO_FUNCTIONS)
    evaluate = Evaluator(functions, xacro.NameSpace, xacro.YamlDictWrapper)
    _replace(xacro, "safe_eval", lambda text, names, more=None: evaluate(text, names))
    _replace(substitution, "_eval_find", roots.find)
    _replace(substitution, "_eval", lambda text, context: _eval(substitution, text, context))
    for module in (xacro, substitution):
        # blocks any remaining call of Python's own eval
        module.eval = module.exec = module.compile = _no_eval
    sys.addaudithook(roots.guard)
    return xacro


def _replace(module: Any, name: str, value: Any) -> None:
    """Replace a function of the package; fail if it is missing, since that version is unsafe."""
    if not callable(getattr(module, name, None)):
        raise ForbiddenError(f"this version of the package xacro has no function {name}")
    setattr(module, name, value)


def _no_eval(*_: object, **__: object) -> Never:
    raise ForbiddenError("the package xacro evaluates an expression outside robolin's evaluator")


def _eval(substitution: Any, expression: str, context: dict[str, Any]) -> str:
    """The text of `$(eval EXPRESSION)`: functions come before arguments, as in roslaunch."""
    if "__" in expression:
        raise ForbiddenError("$(eval ...) must not contain double underscores")
    arguments = context.setdefault("arg", {})

    def arg(name: str) -> Any:
        return substitution.convert_value(substitution._eval_arg(name, arguments), "auto")

    def dirname() -> str:
        return cast(str, substitution._eval_dirname(context["filename"]))

    functions = {"arg": arg, "dirname": dirname, "find": substitution._eval_find}
    functions |= {"env": substitution._eval_env, "optenv": substitution._eval_optenv}
    functions |= math_names()
    constants = {"true": True, "false": False}
    converted = substitution._DictWrapper(arguments, {})
    names: Any = ChainMap({**functions, **constants}, converted, safe_builtins())
    allowed = (*functions.values(), *safe_builtins().values())
    return str(Evaluator(allowed, _Nothing, _Nothing)(expression, names))


class _Nothing:
    """A type without instances: `$(eval ...)` has neither namespaces nor dotted dictionaries."""


def _wrong(xacro: Any, error: BaseException) -> dict[str, Any]:
    """The error with its file, and the chain of includes and macros to it."""
    cause = error
    while isinstance(inner := getattr(cause, "exc", None), Exception):
        # xacro wraps exceptions in its own errors
        cause = inner
    reported = cause if isinstance(cause, ForbiddenError) else error
    message = str(reported).strip() or type(error).__name__
    files = [str(file) for file in xacro.filestack or () if file]
    if isinstance(cause, ForbiddenError) and f"'{files[-1]}'" in message:
        # report the including file, not the file that may not be read
        files.pop()
    macros = [macro.body.getAttribute("name") for macro in xacro.macrostack or ()]
    line = getattr(error, "lineno", None)
    if isinstance(cause, MemoryError):
        message = "a value exceeds the size limits"
    if isinstance(cause, RecursionError):
        message = "macros or includes are infinitely recursive"
    return {"error": message, "files": files, "macros": macros, "line": line}
