"""Columns that go from recordings into one table as they are: of one kind, or refused at once.

Whole numbers in some recordings beside fractions in others become fractions in all of them, as far
as no number is rounded by that.
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
from robolin.io.table_file import WHOLE
from robolin.io.trajectories.column_rules import ReadOptions
from robolin.io.trajectories.read import TrajectoryStream, open_trajectory

# what the time is called here, as no column is: a header may be empty, but nobody can ask for this
THE_TIME = "\0time"
_FRACTIONS = ""
_HINT = (
    "write them alike everywhere, or let each recording have a result of its own: -o FOLDER/ "
    "without --part-rows"
)


@dataclass(frozen=True)
class ColumnInfo:
    """A column of a recording that goes into the result as it is.

    name:  as in the recording; that of the time is `THE_TIME`
    place: where it stands
    look:  what it looks like from the first row to the last, as in `FileIndex`
    """

    name: str
    place: int
    look: str


def inspect_columns(stream: TrajectoryStream) -> tuple[ColumnInfo, ...]:
    """What the time and the columns that go along look like; a text is looked through for it."""
    table, time = stream.table, stream.matched.time
    meant = {} if time is None else {THE_TIME: time}
    return tuple(
        ColumnInfo(name, place, table.moments(place) or (WHOLE if table.whole(place) else ""))
        for name, place in {**meant, **stream.carried}.items()
    )


def columns_of_all(
    found: Sequence[NamedRecording], arm: Arm, rules: ReadOptions
) -> dict[NamedRecording, tuple[ColumnInfo, ...]]:
    """The columns of each recording, which is opened for it."""
    columns: dict[NamedRecording, tuple[ColumnInfo, ...]] = {}
    problems: list[RobolinError] = []
    for each in found:
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
    """The columns that are whole in some recordings and fractions in others.

    Those that no one table has room for are refused, before rows are computed that never go
    together.
    """
    looks = {which: {each.name: each.look for each in own} for which, own in recordings.items()}
    names = dict.fromkeys(name for own in looks.values() for name in own)
    raise_all([problem for name in names for problem in _unlike(name, looks)])
    return tuple(
        name for name in names if {WHOLE, _FRACTIONS} <= {own[name] for own in looks.values()}
    )


def _unlike(name: str, looks: Mapping[NamedRecording, Mapping[str, str]]) -> Iterator[RobolinError]:
    """What is wrong with recordings that have something else in a column than most others."""
    kinds = {which: _room(own.get(name)) for which, own in looks.items()}
    usual = Counter(kinds.values()).most_common(1)[0][0]
    like = next(which for which, kind in kinds.items() if kind == usual)
    for which, kind in kinds.items():
        if kind != usual:
            here, there = (_in_words(name, looks[each].get(name)) for each in (which, like))
            message = f"has {here}, '{like.name}' has {there}"
            yield RobolinError(message, where=which.path, hint=_HINT)


def _room(look: str | None) -> str | None:
    """Columns of which this is the same can be in one table."""
    return _FRACTIONS if look == WHOLE else look


def _in_words(name: str, look: str | None) -> str:
    what = "as times" if name == THE_TIME else f"in '{name}'"
    if look is None:
        return "no time" if name == THE_TIME else f"no column '{name}'"
    if look == WHOLE:
        return f"whole numbers {what}"
    return f"dates in {look} {what}" if look else f"numbers {what}"


def with_fractions(
    parts: Iterable[Result], columns: Collection[str], where: str
) -> Iterator[Result]:
    """The same rows with fractions in these columns, where these are whole numbers.

    where: the recording that they are of
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
    """Whole numbers as float64; one that would be rounded is refused."""
    if values.dtype != np.int64:
        return values
    found = values.astype(np.float64)
    with np.errstate(invalid="ignore"):
        # what rounds up to 2⁶³ is no int64, and processors differ in what they make of it
        rounded = np.flatnonzero((found >= 2.0**63) | (found.astype(np.int64) != values))
    if len(rounded):
        message = f"{what} {values[rounded[0]]} would be rounded: other recordings have fractions"
        raise RobolinError(message, where=where, hint=_HINT)
    return found
