"""Findings that a project ignores: by id, by id in some files, and by a baseline.

    [validate]
    ignore = ["massless-link"]
    baseline = "known-findings.json"

    [validate.per-file-ignores]
    "legacy/*.urdf" = ["placeholder-inertia"]

Paths are relative to the folder of the settings file.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from robolin.checking.suite import PROJECT, find_suite, line_of
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean
from robolin.description.finding_ids import READING_IDS, VALIDATION_IDS
from robolin.description.model import Finding
from robolin.errors import FileError, RobolinError, UsageError, raise_all

KNOWN_IDS = {**READING_IDS, **VALIDATION_IDS}
_KEYS = ("ignore", "per-file-ignores", "baseline")
_FORMAT = 1
_ENTRY = {"file", "id", "message", "count"}

# identity of a finding independent of line numbers: file, id and message
_Fingerprint = tuple[str, str, str]


@dataclass(frozen=True)
class ValidateSettings:
    """Findings that are not counted.

    ignore:   ids ignored in all files
    per_file: pattern of files -> ids
    baseline: number of occurrences of each known finding
    folder:   base of the patterns and of the files in the baseline
    files:    the settings file, and the baseline if there is one
    """

    ignore: frozenset[str] = frozenset()
    per_file: Mapping[str, frozenset[str]] = field(default_factory=dict)
    baseline: Mapping[_Fingerprint, int] = field(default_factory=dict)
    folder: Path = Path()
    files: tuple[Path, ...] = ()

    def split(self, file: str, findings: Sequence[Finding]) -> tuple[list[Finding], list[Finding]]:
        """Findings of a file that count, and those that do not; errors always count."""
        silent = set(self.ignore)
        path = relative(file, self.folder)
        for pattern, ids in self.per_file.items():
            if fnmatchcase(path, pattern):
                silent |= ids
        left = Counter(self.baseline)
        counted: list[Finding] = []
        ignored: list[Finding] = []
        for finding in findings:
            known = _fingerprint(path, finding)
            if finding.level == "error":
                counted.append(finding)
            elif finding.id in silent:
                ignored.append(finding)
            elif left[known]:
                left[known] -= 1
                ignored.append(finding)
            else:
                counted.append(finding)
        return counted, ignored


def require_ids(ids: Iterable[str], where: str) -> frozenset[str]:
    """The ids; rejects an unknown id or one that cannot be ignored."""
    problems = []
    for each in ids:
        if each not in KNOWN_IDS:
            hint = did_you_mean(each, list(KNOWN_IDS))
            problems.append(UsageError(f"unknown finding '{each}'", where=where, hint=hint))
        elif KNOWN_IDS[each][0] == "error":
            message = f"'{each}' is an error; errors cannot be ignored"
            hint = "exclude the file"
            problems.append(UsageError(message, where=where, hint=hint))
    raise_all(problems)
    return frozenset(ids)


def read_settings(config: Path | None, folder: Path) -> ValidateSettings:
    """Settings of a file, or of the nearest file in a folder and its parents, if any."""
    if config is None:
        try:
            config = find_suite(folder)
        except FileError:
            return ValidateSettings(folder=folder)
    try:
        text = config.read_text("utf-8")
        table: Any = tomllib.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise FileError(f"reading the settings failed: {error}", where=str(config)) from error
    return _SettingsReader(config, text).settings(table)


class _SettingsReader:
    """Parser of a settings file; reports errors with their line."""

    def __init__(self, path: Path, text: str) -> None:
        self._path, self._text = path, text
        top = ("tool", "robolin") if path.name == PROJECT else ()
        self._prefix = (*top, "validate")

    def settings(self, document: Any) -> ValidateSettings:
        table = document
        for key in self._prefix:
            table = table.get(key, {}) if isinstance(table, dict) else {}
        if not isinstance(table, dict):
            raise self._wrong((), "validate must be a table", "start the table with [validate]")
        for key in table:
            if key not in _KEYS:
                raise self._wrong((key,), f"unknown key '{key}'", did_you_mean(key, _KEYS))
        per_file = table.get("per-file-ignores", {})
        if not isinstance(per_file, dict):
            hint = 'for example "legacy/*.urdf" = ["massless-link"]'
            raise self._wrong(("per-file-ignores",), "must be a table of patterns", hint)
        folder = self._path.resolve().parent
        return ValidateSettings(
            ignore=self._ids(("ignore",), table.get("ignore", [])),
            per_file={p: self._ids(("per-file-ignores", p), ids) for p, ids in per_file.items()},
            baseline=self._baseline(table.get("baseline"), folder),
            folder=folder,
            files=(self._path, *self._baseline_file(table.get("baseline"), folder)),
        )

    def _ids(self, at: tuple[str, ...], value: Any) -> frozenset[str]:
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._wrong(at, "must be a list of ids", 'for example ["massless-link"]')
        return require_ids(value, self._where(at))

    def _baseline(self, value: Any, folder: Path) -> Mapping[_Fingerprint, int]:
        if value is None:
            return {}
        if not isinstance(value, str):
            raise self._wrong(("baseline",), "must be a file name", "write the name in quotes")
        return read_baseline(folder / value)

    def _baseline_file(self, value: Any, folder: Path) -> tuple[Path, ...]:
        return (folder / value,) if isinstance(value, str) else ()

    def _where(self, at: tuple[str, ...]) -> str:
        line = line_of(self._text, (*self._prefix, *at))
        return f"{self._path}:{line}" if line else str(self._path)

    def _wrong(self, at: tuple[str, ...], message: str, hint: str) -> RobolinError:
        return RobolinError(message, where=self._where(at), hint=hint)


def baseline_text(findings: Mapping[str, Sequence[Finding]], folder: Path) -> str:
    """The findings of some files as text of a baseline file; errors are omitted."""
    counts = Counter(
        _fingerprint(relative(file, folder), finding)
        for file, several in findings.items()
        for finding in several
        if finding.level != "error"
    )
    known = [
        {"file": file, "id": name, "message": message, "count": count}
        for (file, name, message), count in sorted(counts.items())
    ]
    document = {"format": _FORMAT, "findings": known}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def read_baseline(path: Path) -> Mapping[_Fingerprint, int]:
    """Number of occurrences of each finding in a baseline."""
    hint = "write a baseline: `robolin validate FILES --write-baseline FILE`"
    try:
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        message = f"reading the baseline failed: {error.strerror}"
        raise FileError(message, where=str(path), hint=hint) from error
    except (ValueError, RecursionError) as error:
        raise RobolinError(f"not a baseline: {error}", where=str(path), hint=hint) from error
    entries = document.get("findings") if isinstance(document, dict) else None
    if not isinstance(entries, list) or document.get("format") != _FORMAT:
        raise RobolinError(
            "the version of the baseline is not supported", where=str(path), hint=hint
        )
    if not all(isinstance(each, dict) and each.keys() >= _ENTRY for each in entries):
        raise RobolinError("not a baseline: an entry is incomplete", where=str(path), hint=hint)
    return {
        (str(each["file"]), str(each["id"]), str(each["message"])): each["count"]
        for each in entries
        if isinstance(each["count"], int)
    }


def relative(file: str, folder: Path) -> str:
    """A path relative to a folder, with slashes; bundled names and standard input are unchanged."""
    path = Path(file)
    if not path.is_file():
        return file
    try:
        return Path(os.path.relpath(path.resolve(), folder.resolve())).as_posix()
    except ValueError:
        # on another drive (Windows)
        return path.resolve().as_posix()


def _fingerprint(file: str, finding: Finding) -> _Fingerprint:
    return file, finding.id, finding.message
