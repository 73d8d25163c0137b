"""Types of columns that are copied from many recordings into one table.

Integers in some recordings and floats in others become floats in all, if no number is rounded.
Other mixtures are rejected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robolin.batch.recordings import NamedRecording
from robolin.core.arm import Arm
from robolin.core.arrays import Numbers
from robolin.core.results.result import Result
from robolin.errors import RobolinError, raise_all
from robolin.io.table_file import INTEGER_COLUMN
from robolin.io.trajectories.column_rules import ReadOptions
from robolin.io.trajectories.read import TrajectoryStream, open_trajectory

# key of the time column: not a possible column name, since a header can be empty
THE_TIME = "\0time"
_FRACTIONS = ""
_HINT = (
    "use the same number type in all recordings, or write one result per recording: -o "
    "FOLDER/ without --part-rows"
)


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a recording that is copied into the result.

    name:  as in the recording; `THE_TIME` for the time
    place: column index
    look:  content type over all rows, as in `FileIndex`
    """

    name: str
    place: int
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
            message = f"{here}, but {there} in '{like.name}'"
            yield RobolinError(message, where=which.path, hint=_HINT)


def _room(look: str | None) -> str | None:
    """Key that is equal for columns which fit in one table."""
    return _FRACTIONS if look == INTEGER_COLUMN else look


def _in_words(name: str, look: str | None) -> str:
    what = "as time" if name == THE_TIME else f"in column '{name}'"
    if look is None:
        return "no time" if name == THE_TIME else f"no column '{name}'"
    if look == INTEGER_COLUMN:
        return f"integers {what}"
    return f"dates in {look} {what}" if look else f"numbers {what}"


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
