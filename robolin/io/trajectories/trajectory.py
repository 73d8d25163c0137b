"""Trajectories and chunks of rows, with every column in the robot's joint order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from robolin.core.arrays import Floats, Mask, Numbers
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.io.table_file import TableBlock


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Positions, velocities, accelerations and efforts, each of shape (rows, n), or None.

    time:   shape (rows,), if the file has it; int64 or datetime64 if all values are
    notes:  what the reader assumed or ignored, for stderr
    digest: SHA-256 of the file
    time_unit: the unit of the time, if known
    lines:  lines for the contract about how the file was read
    """

    rows: int
    q: Floats | None = None
    qd: Floats | None = None
    qdd: Floats | None = None
    tau: Floats | None = None
    time: Numbers | None = None
    notes: tuple[str, ...] = ()
    digest: str = ""
    time_unit: str | None = None
    lines: Mapping[str, str] = field(default_factory=dict)

    @property
    def seconds(self) -> Numbers | None:
        """Seconds from the first row if the unit of the time is known, else the time itself."""
        return None if self.time is None else from_first_row(self.time, self.time_unit)

    def seconds_since(self, times: Numbers | None) -> Numbers | None:
        """Seconds from the first of other times, which have the same unit."""
        if self.time is None or times is None:
            return self.seconds
        return from_first_row(self.time, self.time_unit, times[0])


@dataclass(frozen=True, eq=False)
class Chunk:
    """Consecutive rows of a trajectory.

    columns: 'q', 'qd', 'qdd', 'tau', as far as the file has them, each of shape (rows, n)
    place:   returns the location of a row of the chunk, for messages
    gaps:    the rows with a cell that is not finite, if these are allowed
    reach:   start and end in the file, in the units of the stream's `size`
    carried: columns that are copied to the result, each of shape (rows,)
    """

    rows: int
    columns: Mapping[str, Floats]
    time: Numbers | None
    place: Callable[[int], str]
    gaps: Mask | None
    reach: tuple[int, int]
    carried: Mapping[str, Numbers] = field(default_factory=dict)


def split_chunk(chunk: Chunk, rows: Callable[[], int]) -> Iterator[Chunk]:
    """Split a chunk into parts of at most `rows()` rows, evaluated for each part."""
    first = 0
    while first < chunk.rows:
        stop = min(first + rows(), chunk.rows)
        yield chunk if stop - first == chunk.rows else _piece(chunk, first, stop)
        first = stop


def _piece(chunk: Chunk, first: int, stop: int) -> Chunk:
    begin, end = chunk.reach
    per_row = (end - begin) / chunk.rows
    return Chunk(
        rows=stop - first,
        columns={name: values[first:stop] for name, values in chunk.columns.items()},
        time=None if chunk.time is None else chunk.time[first:stop],
        place=lambda row: chunk.place(first + row),
        gaps=None if chunk.gaps is None else chunk.gaps[first:stop],
        reach=(begin + round(per_row * first), begin + round(per_row * stop)),
        carried={name: values[first:stop] for name, values in chunk.carried.items()},
    )


def concat_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Concatenate consecutive chunks."""
    starts = np.cumsum([0, *(chunk.rows for chunk in chunks)])

    def place(row: int) -> str:
        at = int(np.searchsorted(starts, row, side="right")) - 1
        return chunks[at].place(row - int(starts[at]))

    def together(values: Sequence[Numbers | None]) -> Numbers | None:
        there = [each for each in values if each is not None]
        return np.concatenate(there) if there else None

    first = chunks[0]
    return Chunk(
        rows=int(starts[-1]),
        columns={
            name: np.concatenate([chunk.columns[name] for chunk in chunks])
            for name in first.columns
        },
        time=together([chunk.time for chunk in chunks]),
        place=place,
        gaps=together([chunk.gaps for chunk in chunks]),
        reach=(first.reach[0], chunks[-1].reach[1]),
        carried={
            name: np.concatenate([chunk.carried[name] for chunk in chunks])
            for name in first.carried
        },
    )


def without_numbers(tables: Iterable[Floats]) -> Mask:
    """The rows where one of the tables has a number that is not finite."""
    mask: Mask = np.any([~np.isfinite(table).all(axis=1) for table in tables], axis=0)
    return mask


# units per second
PER_SECOND = {"ns": 10**9, "us": 10**6, "ms": 10**3, "s": 1}


def from_first_row(time: Numbers, unit: str | None, first: Numbers | None = None) -> Numbers:
    """Seconds since the first row if the unit is known, else the time itself.

    unit:  'ns', 'us', 'ms', 's', or None if unknown
    first: the time of the first row, if `time` begins later
    """
    if unit is None:
        return time
    since: Floats = np.asarray(time - (time[0] if first is None else first))
    return np.asarray(since, dtype=np.float64) / PER_SECOND[unit]


def increasing_seconds(time: Numbers | None, unit: str | None, file: str) -> Floats:
    """Seconds since the first row, checked to be strictly increasing."""
    if time is None:
        hint = "--time COLUMN says which column is the time"
        raise RobolinError("derivatives need a time, and there is none", where=file, hint=hint)
    if time.dtype.kind == "M":
        since = (time - time[0]) / np.timedelta64(1, "s")
    elif unit is None and time.dtype.kind in "iu":
        hint = "--time-unit ns, us, ms or s"
        message = f"the time is whole numbers such as {time[0]}, and nobody said of what"
        raise RobolinError(message, where=file, hint=hint)
    else:
        since = from_first_row(time, unit or "s")
    seconds: Floats = np.asarray(since, dtype=np.float64)
    if (falls := np.flatnonzero(~(np.diff(seconds) > 0.0))).size:
        row = int(falls[0])
        message = f"time does not go on from row {row + 1} to row {row + 2}"
        raise RobolinError(message, where=file, hint="derivatives need rising times")
    return seconds


_TEXT = r"\s*(\d{0,18})\s*:\s*(\d{0,18})\s*"


@dataclass(frozen=True)
class RowSlice:
    """The rows first, first + stride, … below stop, counted from 0; stop None is the end."""

    first: int = 0
    stop: int | None = None
    stride: int = 1

    def of(self, before: int, rows: int) -> slice:
        """The selected rows among `rows` rows that follow `before` others."""
        stop = rows if self.stop is None else min(rows, self.stop - before)
        start = max(self.first - before, (self.first - before) % self.stride)
        return slice(start, max(start, stop), self.stride)

    def count(self, rows: int) -> int:
        """The number of selected rows in a file with this many rows."""
        return len(range(*self.of(0, rows).indices(rows)))

    def part(self, first: int, rows: int) -> RowSlice:
        """The slice of `rows` selected rows after the first `first` of them."""
        begin = self.first + first * self.stride
        end = begin + rows * self.stride
        stop = end if self.stop is None else min(end, self.stop)
        return RowSlice(begin, stop, self.stride)


ALL_ROWS = RowSlice()


def parse_row_slice(rows: str | None, stride: int | None) -> RowSlice:
    """Parse the options --rows and --stride."""
    if rows is None:
        return RowSlice(stride=stride or 1)
    where = f"--rows={rows}"
    found = re.fullmatch(_TEXT, rows)
    if found is None:
        hint = "for example 1000:2000, 1000: or :2000, where the first row is 0"
        raise UsageError("this is not FIRST:STOP", where=where, hint=hint)
    first, stop = int(found[1] or 0), int(found[2]) if found[2] else None
    if stop is not None and stop <= first:
        hint = "STOP is the first row that is left out"
        raise UsageError("there is no row in between", where=where, hint=hint)
    return RowSlice(first, stop, stride or 1)


def chosen_rows(choice: RowSlice, block: TableBlock, row: int) -> TableBlock:
    """The selected rows of a block that begins at this row."""
    chosen, place = choice.of(row, len(block.values)), block.place
    return replace(
        block,
        values=block.values[chosen],
        integers={i: values[chosen] for i, values in block.integers.items()},
        place=lambda some: place(chosen.start + chosen.step * some),
    )


def no_row(choice: RowSlice, file: str) -> RobolinError:
    """The error for a recording without any of the selected rows."""
    if choice == ALL_ROWS:
        return RobolinError("there is no row below the header", where=file)
    hint = "the first row is 0; --rows and --stride say which are meant"
    return RobolinError("it has none of the rows that are meant", where=file, hint=hint)
