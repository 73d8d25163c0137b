"""Survey of a recording for a plan: hash, rows, byte offsets of its parts, and types of columns.

Integers in some recordings and floats in others become floats in all, if no number is rounded.
Other mixtures are rejected.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Numbers
from robolin.core.records import dataclass
from robolin.core.result import Result
from robolin.errors import RobolinError, raise_all
from robolin.io import object_stores
from robolin.io.format_table import file_stamp, is_stored, location_of, split_files, split_part
from robolin.io.formats.row_index import RowIndex, counted_by_lines, index_plain_text
from robolin.io.provenance import is_size, matches
from robolin.io.table_file import INTEGER_COLUMN, FileIndex, RowOffset, digest_of
from robolin.io.trajectories.open_table import (
    is_other_programs,
    is_text,
    open_table,
    recording_bytes,
)
from robolin.io.trajectories.read import TrajectoryStream, open_trajectory
from robolin.io.trajectories.read_options import ReadOptions

# key of the time column: not a possible column name, since a header can be empty
THE_TIME = "\0time"
_FRACTIONS = ""
_HINT = (
    "use the same number type in all recordings, or write one result per recording: -o "
    "FOLDER/ without --part-rows"
)


@dataclass(frozen=True)
class NamedRecording:
    """A file to read, and its name among the others."""

    path: str
    name: str


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a recording that is copied into the result.

    name:  as in the recording; `THE_TIME` for the time
    index: column index
    look:  content type over all rows, as in `FileIndex`
    """

    name: str
    index: int
    look: str


def inspect_columns(stream: TrajectoryStream) -> tuple[ColumnInfo, ...]:
    """Types of the time and the copied columns; reads a text file completely."""
    table, time = stream.table, stream.matched.time
    time_column = {} if time is None else {THE_TIME: time}
    return tuple(
        ColumnInfo(
            name,
            index,
            table.datetime_unit(index) or (INTEGER_COLUMN if table.is_integer(index) else ""),
        )
        for name, index in {**time_column, **stream.carried}.items()
    )


def columns_of_all(
    named: Sequence[NamedRecording], arm: Arm, rules: ReadOptions
) -> dict[NamedRecording, tuple[ColumnInfo, ...]]:
    """Open each recording and return its columns."""
    columns: dict[NamedRecording, tuple[ColumnInfo, ...]] = {}
    problems: list[RobolinError] = []
    for each in named:
        try:
            with open_trajectory(each.path, arm.joint_names, ("q",), (), rules) as stream:
                columns[each] = inspect_columns(stream)
        except RobolinError as error:
            problems += error.parts
    raise_all(problems)
    return columns


def mixed_columns(
    recordings: Mapping[NamedRecording, Sequence[ColumnInfo]],
) -> tuple[str, ...]:
    """Columns that hold integers in some recordings and floats in others.

    Columns that do not fit in one table are rejected before any row is computed.
    """
    looks = {which: {each.name: each.look for each in own} for which, own in recordings.items()}
    names = dict.fromkeys(name for own in looks.values() for name in own)
    raise_all([problem for name in names for problem in _unlike(name, looks)])
    return tuple(
        name
        for name in names
        if {INTEGER_COLUMN, _FRACTIONS} <= {own[name] for own in looks.values()}
    )


def _unlike(name: str, looks: Mapping[NamedRecording, Mapping[str, str]]) -> Iterator[RobolinError]:
    """Errors for recordings whose type of a column differs from most others."""
    kinds = {which: _room(own.get(name)) for which, own in looks.items()}
    usual = Counter(kinds.values()).most_common(1)[0][0]
    like = next(which for which, kind in kinds.items() if kind == usual)
    for which, kind in kinds.items():
        if kind != usual:
            here, there = (_in_words(name, looks[each].get(name)) for each in (which, like))
            message = f"the recording {here}, but '{like.name}' {there}"
            yield RobolinError(message, where=which.path, hint=_HINT)


def _room(look: str | None) -> str | None:
    """Key that is equal for columns which fit in one table."""
    return _FRACTIONS if look == INTEGER_COLUMN else look


def _in_words(name: str, look: str | None) -> str:
    what = "in the time column" if name == THE_TIME else f"in column '{name}'"
    if look is None:
        return "has no time column" if name == THE_TIME else f"has no column '{name}'"
    if look == INTEGER_COLUMN:
        return f"has integers {what}"
    return f"has dates (resolution {look}) {what}" if look else f"has numbers {what}"


def with_fractions(
    parts: Iterable[Result], columns: Collection[str], where: str
) -> Iterator[Result]:
    """Convert these columns from integers to floats.

    where: the recording of the rows
    """
    for part in parts:
        time = part.time
        if time is not None and THE_TIME in columns:
            time = _as_fractions(time, "time", where)
        arrays = tuple(
            replace(array, values=_as_fractions(array.values, f"'{array.name}'", where))
            if array.name in columns
            else array
            for array in part.arrays
        )
        yield replace(part, time=time, arrays=arrays)


def _as_fractions(values: Numbers, what: str, where: str) -> Numbers:
    """Integers as float64; a value that would be rounded is rejected."""
    if values.dtype != np.int64:
        return values
    floats = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        # values that round up to 2⁶³ exceed int64, and processors convert them differently
        rounded = np.flatnonzero((floats >= 2.0**63) | (floats.astype(np.int64) != values))
    if len(rounded):
        message = (
            f"{what} {values[rounded[0]]} would be rounded: other recordings have non-integer "
            "values"
        )
        raise RobolinError(message, where=where, hint=_HINT)
    return floats


# nanoseconds in which file systems may give two changes the same time stamp
_CLOCK_TICK = 20_000_000


@dataclass(frozen=True)
class SurveyedRecording:
    """A recording at the time of its survey.

    path:    current path; not stored, since other machines may read the plan
    part:    the topic or episode of a bag or dataset, '' elsewhere
    stamp:   time stamps, size and inode number, which change with its bytes; ETag of an object
    sha256:  hash of the file; size and ETag of an object, which is read only once
    rows:    number of rows, if it was needed
    marks:   byte offsets of the parts of a text
    even:    all lines of a text are rows with one cell per column name
    columns: columns that are copied into the result, if their types were needed
    """

    path: str = field(compare=False)
    name: str
    part: str
    size: int
    stamp: str
    sha256: str
    rows: int | None = None
    marks: tuple[RowOffset, ...] = ()
    columns: tuple[ColumnInfo, ...] = ()
    even: bool = False

    def is_unchanged(self) -> bool:
        """True if size and time stamps are unchanged."""
        return _stamp(self.path) == (self.size, self.stamp)

    def known(self, first: int = 0, stop: int | None = None) -> FileIndex:
        """File index for reading the rows from `first` to `stop`."""
        table = FileIndex(self.sha256, self.marks)
        needed = (table.mark_before(first), table.mark_at(stop))
        marks = tuple(dict.fromkeys(mark for mark in needed if mark))
        looks = {each.index: each.look for each in self.columns}
        return FileIndex(self.sha256, marks, looks, self.even)


def surveyed_recording(
    recording: NamedRecording, arm: Arm, rules: ReadOptions, every: int | None, first: int
) -> SurveyedRecording:
    """Survey a recording in one pass; without `every` its rows are not counted.

    every: rows from one part to the next; the first part begins at row `first`
    """
    _wait_for_next_tick(recording.path)
    size, stamp = _stamp(recording.path)
    columns: tuple[ColumnInfo, ...] = ()
    with open_trajectory(recording.path, arm.joint_names, ("q",), (), rules) as stream:
        has_size = not is_text(recording.path) and not is_other_programs(recording.path)
        rows = stream.table.size if has_size else None
        # requires reading a text completely: only worthwhile for parts
        if every is not None if is_text(recording.path) else has_size:
            columns = inspect_columns(stream)
        if is_other_programs(recording.path):
            # these are hashed while they are read
            for _ in stream.chunks(gaps=True):
                pass
        digest = "" if is_text(recording.path) else stream.table.digest()
    counted = _counted(recording.path, every, first, RowIndex(digest, rows), rules.header)
    if (size, stamp) != _stamp(recording.path):
        raise recording_changed(recording.path)
    contents = (counted.digest, counted.rows, counted.marks, columns, counted.even)
    part = split_part(recording.path)[1]
    return SurveyedRecording(recording.path, recording.name, part, size, stamp, *contents)


def _counted(path: str, every: int | None, first: int, known: RowIndex, header: bool) -> RowIndex:
    """Row index of a text; for other recordings the known one."""
    if is_stored(path):
        known = replace(known, digest=object_stores.require_exists(path).text)
    if not is_text(path) or (is_stored(path) and every is None):
        return known
    index = _text(path, every, first, header)
    return replace(index, digest=known.digest) if is_stored(path) else index


# hashes of recordings whose stamp differs from the plan, by path and stamp
_DIGESTED: dict[tuple[str, int, str], str] = {}


def require_unchanged(known: SurveyedRecording, joints: Sequence[str], header: bool = True) -> None:
    """Reject a recording whose bytes have changed since the survey.

    A copy, or a file with other permissions, has another stamp: its bytes are hashed once.
    """
    if known.is_unchanged():
        return
    key = (known.path, *_stamp(known.path))
    if key not in _DIGESTED:
        _wait_for_next_tick(known.path)
        digest = _digest(known.path, joints, header)
        if key[1:] != _stamp(known.path):
            raise recording_changed(known.path)
        _DIGESTED[key] = digest
    if _DIGESTED[key] != known.sha256:
        raise recording_changed(known.path)


def recording_changed(path: str) -> RobolinError:
    """Error for a recording that has changed."""
    hint = "write to another folder"
    return RobolinError("the recording was changed after planning", where=path, hint=hint)


def _stamp(path: str) -> tuple[int, str]:
    """Size and stamp of a file, or of all files in a folder."""
    if is_stored(path):
        version = object_stores.stat(path)
        return (version.size, version.etag) if version else (-1, "")
    location, stats = Path(location_of(path)), _stats(path)
    if not stats:
        return -1, ""
    size = sum(each.st_size for each in stats.values())
    if len(split_files(path)) > 1:
        stamps = "".join(f"{file_stamp(each)}\n" for each in stats.values())
        return size, hashlib.sha256(stamps.encode()).hexdigest()
    if not location.is_dir():
        return size, file_stamp(stats[location])
    lines = (
        f"{file.relative_to(location).as_posix()} {file_stamp(each)}\n"
        for file, each in stats.items()
    )
    return size, hashlib.sha256("".join(lines).encode(errors="surrogateescape")).hexdigest()


def _stats(path: str) -> dict[Path, os.stat_result]:
    """The files of a recording, in order; a missing file is reported when it is opened."""
    files: list[Path] = []
    for location in map(Path, map(location_of, split_files(path))):
        files += sorted(location.rglob("*")) if location.is_dir() else [location]
    return {each: each.stat() for each in files if each.is_file()}


def _wait_for_next_tick(path: str) -> None:
    """Wait until a change of the recording would get a new time stamp."""
    if is_stored(path):
        return
    newest = max((each.st_ctime_ns for each in _stats(path).values()), default=0)
    left = newest + _CLOCK_TICK - time.time_ns()
    if 0 < left <= _CLOCK_TICK:
        time.sleep(left / 1e9)


def _digest(path: str, joints: Sequence[str], header: bool) -> str:
    if is_stored(path):
        return object_stores.require_exists(path).text
    if is_other_programs(path):
        with open_table(path, path, joints, rules=ReadOptions(header=header)) as table:
            return table.digest()
    if is_text(path):
        return _text(path, None, 0, header).digest
    with recording_bytes(path) as stream:
        return digest_of(stream)


def _text(path: str, every: int | None, first: int, header: bool) -> RowIndex:
    with recording_bytes(path, header) as stream:
        plainly = index_plain_text(stream, every, first, header)
    if plainly is not None:
        return plainly
    with recording_bytes(path, header) as stream:
        return counted_by_lines(stream, every, first, path, header)


def surveyed_plain(known: SurveyedRecording) -> dict[str, Any]:
    """A surveyed recording as JSON types."""
    return {
        "name": known.name,
        "part": known.part,
        "size": known.size,
        "stamp": known.stamp,
        "sha256": known.sha256,
        "rows": known.rows,
        "marks": [[mark.row, mark.line, mark.byte] for mark in known.marks],
        "columns": [[each.name, each.index, each.look] for each in known.columns],
        "even": known.even,
    }


def surveyed_from(stored: Any) -> SurveyedRecording:
    """Parse a surveyed recording from JSON types; the path must be added.

    Raises:
        ValueError: this is not what `surveyed_plain` returns
    """
    if not isinstance(stored, dict) or set(stored) != set(_FIELDS):
        raise ValueError("the entry of a recording lacks fields or has unknown fields")
    if not matches(stored, _FIELDS):
        raise ValueError("a field has an invalid value")
    rows = stored["rows"]
    marks = tuple(RowOffset(*mark) for mark in stored["marks"])
    if any(marks[i].row >= marks[i + 1].row for i in range(len(marks) - 1)):
        raise ValueError("offsets are not in ascending order")
    if marks and (rows is None or marks[-1].row > rows):
        raise ValueError("an offset is beyond the last row")
    columns = tuple(ColumnInfo(*column) for column in stored["columns"])
    return SurveyedRecording(path="", **{**stored, "marks": marks, "columns": columns})


def _list_of(*checks: Any) -> Callable[[Any], bool]:
    """Check for a list of lists with one entry per check."""

    def checked(value: Any) -> bool:
        return isinstance(value, list) and all(
            isinstance(each, list)
            and len(each) == len(checks)
            and all(matches(item, check) for check, item in zip(checks, each, strict=True))
            for each in value
        )

    return checked


_FIELDS = {
    **dict.fromkeys(("name", "part", "stamp", "sha256"), str),
    "size": is_size,
    "rows": (type(None), is_size),
    "marks": _list_of(is_size, is_size, is_size),
    "columns": _list_of(str, is_size, str),
    "even": bool,
}
