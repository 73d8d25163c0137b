"""Suite files: the requests of a project and the paths of their stored results.

    [[case]]
    name = "holding"
    verb = "inverse"
    arm = "arm.urdf"
    state = { q = [0.3, -0.7], qd = { elbow = 0.5 } }
    options = { payload = "tool:1.5", no-damping = true }
    stored = "stored/holding.npz"
    tolerances = { tau = { rtol = 1e-9 } }

Paths are relative to the folder of the suite file.
"""

from __future__ import annotations

import os
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from robolin.checking.differences import ALL, Tolerance, Tolerances
from robolin.checking.recorded_question import RecordedQuestion
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.core.text_parsing import text_of
from robolin.errors import FileError, RobolinError, raise_all
from robolin.io.format_table import with_companion
from robolin.queries.option_specs import OptionSpec
from robolin.queries.question import answering_verb

KeyPath = tuple[str | int, ...]

_TABLE = re.compile(r"^\s*(\[\[?)\s*(.+?)\s*\]\]?\s*(?:#.*)?$")
_NAME = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"^\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=")
_PART = re.compile(_NAME)


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Line of a key; `path` holds table names, list indices and the key itself.

    A key of an inline table is searched from the line of that table. Returns 0 if not found.
    """
    keys = tuple(path)
    lines_by_key = _line_by_key(text)
    if keys in lines_by_key:
        return lines_by_key[keys]
    for length in range(len(keys) - 1, 0, -1):
        start = lines_by_key.get(keys[:length], 0)
        if start:
            name = re.compile(rf"(?<![\w-])[\"']?{re.escape(str(keys[length]))}[\"']?\s*=")
            lines = text.splitlines()[start - 1 :]
            return next((start + i for i, line in enumerate(lines) if name.search(line)), start)
    return 0


@lru_cache(maxsize=2)
def _line_by_key(text: str) -> dict[KeyPath, int]:
    return dict(_keys_with_lines(text))


def _keys_with_lines(text: str) -> Iterator[tuple[KeyPath, int]]:
    """Every table and every key at the start of a line, with its line number."""
    table: KeyPath = ()
    counts: dict[KeyPath, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TABLE.match(line):
            table = _with_list_indices(_names(match[2]), counts)
            if match[1] == "[[":
                counts[table] = counts.get(table, -1) + 1
                table = (*table, counts[table])
            yield table, number
        elif match := _KEY.match(line):
            yield (*table, *_names(match[1])), number


def _with_list_indices(names: KeyPath, counts: dict[KeyPath, int]) -> KeyPath:
    """The names, with the index of the current entry after every list except the last."""
    path: KeyPath = ()
    for i, name in enumerate(names):
        path = (*path, name)
        if i < len(names) - 1 and path in counts:
            path = (*path, counts[path])
    return path


def _names(text: str) -> KeyPath:
    return tuple(part.strip("\"'") for part in _PART.findall(text))


SUITE, PROJECT = "robolin.toml", "pyproject.toml"
# tables of a suite inside pyproject.toml
_TOOL = ("tool", "robolin")

_TOP = ("case", "rtol", "atol", "validate")
_CASE = (
    *("name", "verb", "arm", "state", "trajectory", "options"),
    *("stored", "rtol", "atol", "tolerances"),
)
_NEEDED = ("verb", "arm", "stored")
_TEXTS = (*_NEEDED, "name", "trajectory")
_TOLERANCE = ("rtol", "atol")
_LOCATION = re.compile(r"\s*\(at line (\d+), column (\d+)\)")


@dataclass(frozen=True)
class Case:
    """One request of a suite, and the path of its stored result."""

    name: str
    question: RecordedQuestion
    stored: Path
    tolerances: Tolerances | None
    where: str


def find_suite(folder: Path) -> Path:
    """The suite file of a folder, or of its nearest parent that has one."""
    for parent in (folder, *folder.parents):
        if (parent / SUITE).is_file():
            return parent / SUITE
        if (parent / PROJECT).is_file() and _has_suite(parent / PROJECT):
            return parent / PROJECT
    raise FileError(
        f"no {SUITE} in this folder or its parents, and no [tool.robolin] in a {PROJECT}",
        where=str(folder),
        hint="list stored results on the command line, or write a suite file: see docs/howto/ci.md",
    )


def nearest_suite(path: str | None) -> tuple[Case, ...]:
    """Cases of a suite file; None finds the file nearest to the current folder."""
    return read_suite(suite_file(path))


def suite_file(path: str | None) -> Path:
    """The path as a suite file, or the nearest suite file as a relative path."""
    return Path(os.path.relpath(find_suite(Path.cwd())) if path is None else path)


def read_suite(path: Path) -> tuple[Case, ...]:
    """Read the cases of a suite file; all errors are reported together."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"could not read: {reason}", where=str(path)) from error
    return _SuiteReader(path, text).cases()


def _has_suite(path: Path) -> bool:
    try:
        tool = tomllib.loads(path.read_text("utf-8")).get("tool")
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(tool, dict) and "robolin" in tool


class _SuiteReader:
    """Parser of a suite file; collects the errors."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        self._prefix: tuple[str, ...] = _TOOL if path.name == PROJECT else ()
        self._problems: list[RobolinError] = []

    def cases(self) -> tuple[Case, ...]:
        table = self._table()
        self._require_keys(table, _TOP, ())
        general = self._tolerance(table, ())
        entries = table.get("case", [])
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            self._wrong(
                ("case",), "each case must be a table", "start each case with a line [[case]]"
            )
            entries = []
        cases = [case for i, e in enumerate(entries) if (case := self._case(e, i, general))]
        self._require_different(cases)
        raise_all(self._problems)
        if not cases:
            hint = "start a case with a line [[case]]: see docs/howto/ci.md"
            raise RobolinError("the suite has no cases", where=str(self._path), hint=hint)
        return tuple(cases)

    def _table(self) -> Mapping[str, Any]:
        try:
            table: Any = tomllib.loads(self._text)
        except RecursionError as error:
            message = "the tables of the suite are nested too deeply"
            raise RobolinError(message, where=str(self._path)) from error
        except ValueError as error:
            # a syntax error, or an integer with thousands of digits
            location = _LOCATION.search(str(error))
            where = f"{self._path}:{location[1]}:{location[2]}" if location else str(self._path)
            message = _LOCATION.sub("", str(error))
            raise RobolinError(f"not TOML: {message}", where=where) from error
        for key in self._prefix:
            table = table.get(key, {}) if isinstance(table, dict) else {}
        return table if isinstance(table, dict) else {}

    def _case(self, entry: Mapping[str, Any], i: int, general: Tolerance | None) -> Case | None:
        at = ("case", i)
        before = len(self._problems)
        self._require_keys(entry, _CASE, at)
        for key in _CASE:
            if key in _NEEDED and key not in entry:
                self._wrong(at, f"{key} is required", f'add {key} = "…"')
            elif key in _TEXTS and not isinstance(entry.get(key, ""), str):
                self._wrong((*at, key), f"{key} must be text", "write the value in quotes")
            elif key in _TEXTS and key in entry and not entry[key].strip("\0"):
                self._wrong((*at, key), f"{key} is empty", "remove the key, or set a value")
            elif key in _TEXTS and "\0" in entry.get(key, ""):
                self._wrong(
                    (*at, key), f"{key} must not contain a zero byte", "remove the zero byte"
                )
        tolerances = self._tolerances(entry, at, general)
        if len(self._problems) > before:
            return None
        options = dict(self._options(entry, at))
        return Case(
            name=entry.get("name", Path(entry["stored"]).stem),
            question=RecordedQuestion(entry["verb"], self._file(entry["arm"]), options),
            stored=self._path.parent / entry["stored"],
            tolerances=tolerances,
            where=self._where(at),
        )

    def _options(
        self, entry: Mapping[str, Any], at: tuple[str | int, ...]
    ) -> Iterator[tuple[str, Any]]:
        """State, trajectory and options by name, as on a command line."""
        verb = answering_verb(entry["verb"])
        if verb is None:
            self._wrong((*at, "verb"), f"'{entry['verb']}' is not a command that returns results")
            return
        known = verb.options
        for section in ("state", "options"):
            values = entry.get(section, {})
            if not isinstance(values, dict):
                self._wrong(
                    (*at, section), f"{section} must be a table", "for example q = [0, 0.5]"
                )
                continue
            for flag, value in values.items():
                if flag not in known:
                    where = (*at, section, flag)
                    self._wrong(
                        where,
                        f"{verb.name} does not support --{flag}",
                        did_you_mean(flag, known, f"choose one of {', '.join(known)}"),
                    )
                elif value is not False:
                    yield flag, self._value(known[flag], value)
        if "trajectory" in entry:
            yield "trajectory", str(self._path.parent / entry["trajectory"])

    def _value(self, spec: OptionSpec, value: Any) -> Any:
        """A value of the suite file in the form of an option value."""
        if spec.kind == "file" and isinstance(value, str):
            return str(self._path.parent / value)
        if value is True or spec.kind == "count":
            return value
        if spec.multiple:
            return [text_of(item) for item in (value if isinstance(value, list) else [value])]
        return text_of(value)

    def _file(self, name: str) -> str:
        """Path of a robot relative to the suite; a bare name without a file stays a name."""
        path = self._path.parent / name
        return name if Path(name).name == name and not path.exists() else str(path)

    def _tolerances(
        self, entry: Mapping[str, Any], at: tuple[str | int, ...], general: Tolerance | None
    ) -> Tolerances | None:
        own = self._tolerance(entry, at) or general
        by_name = {} if own is None else {ALL: own}
        named = entry.get("tolerances", {})
        if not isinstance(named, dict) or not all(isinstance(v, dict) for v in named.values()):
            hint = "for example tolerances = { tau = { rtol = 1e-9 } }"
            self._wrong((*at, "tolerances"), "tolerances must be a table of tables", hint)
            return None
        for array, values in named.items():
            self._require_keys(values, _TOLERANCE, (*at, "tolerances", array))
            tolerance = self._tolerance(values, (*at, "tolerances", array))
            if tolerance is not None:
                by_name[array] = tolerance
        return Tolerances(by_name) if by_name else None

    def _tolerance(self, table: Mapping[str, Any], at: tuple[str | int, ...]) -> Tolerance | None:
        values = {key: table[key] for key in _TOLERANCE if key in table}
        for key, value in values.items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not number or not 0 <= value <= sys.float_info.max:
                self._wrong((*at, key), f"{key} must be a number >= 0, got {value!r}")
                return None
        return Tolerance(**values) if values else None

    def _require_keys(
        self, table: Mapping[str, Any], known: Sequence[str], at: tuple[str | int, ...]
    ) -> None:
        for key in table:
            if key not in known:
                self._wrong(
                    (*at, key),
                    f"unknown key '{key}'",
                    did_you_mean(key, known, f"choose one of {', '.join(known)}"),
                )

    def _require_different(self, cases: Sequence[Case]) -> None:
        names: dict[str, Case] = {}
        files: dict[str, Case] = {}
        for case in cases:
            if (other := names.setdefault(case.name, case)) is not case:
                self._twice(case, other, f"name '{case.name}'")
            # symbolic links and spellings such as x/../a.npz can name the same file
            paths = [os.path.realpath(each) for each in with_companion(case.stored)]
            others = [files.setdefault(path, case) for path in paths]
            if (other := next((each for each in others if each is not case), case)) is not case:
                self._twice(case, other, f"stored '{case.stored}'")

    def _twice(self, case: Case, other: Case, what: str) -> None:
        hint = f"change one of the two cases; the other one is at {other.where}"
        message = f"two cases have the same {what}"
        self._problems.append(RobolinError(message, where=case.where, hint=hint))

    def _where(self, at: tuple[str | int, ...]) -> str:
        line = line_of(self._text, (*self._prefix, *at))
        return f"{self._path}:{line}" if line else str(self._path)

    def _wrong(self, at: tuple[str | int, ...], message: str, hint: str = "") -> None:
        self._problems.append(RobolinError(message, where=self._where(at), hint=hint))
