"""A motion, row by row, with every column in the arm's joint order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from robolin.core.arrays import Floats, Mask, Numbers
from robolin.io.trajectories.time_units import from_first_row


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Positions, velocities, accelerations and efforts, each of shape (rows, n), or None.

    time:   shape (rows,), if the file has it; int64 or datetime64 where all of it is
    notes:  what the reader assumed or left aside, for stderr
    digest: SHA-256 of the file
    time_unit: what the time counts, where that is known
    lines:  what a contract tells of the way the file was read
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
        """The time to reckon with: from the first row on, if it is known what it counts."""
        return None if self.time is None else from_first_row(self.time, self.time_unit)

    def seconds_since(self, times: Numbers | None) -> Numbers | None:
        """The same from the first of other times on, which are counted as these are."""
        if self.time is None or times is None:
            return self.seconds
        return from_first_row(self.time, self.time_unit, times[0])


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some consecutive rows of a trajectory.

    columns: 'q', 'qd', 'qdd', 'tau', as far as the file has them, each of shape (rows, n)
    place:   where a row of the chunk stands, for messages
    gaps:    the rows with a cell that is no finite number, where these were let through
    reach:   from where to where in the file, in the units of the stream's `size`
    carried: columns that go along into the result, each of shape (rows,)
    """

    rows: int
    columns: Mapping[str, Floats]
    time: Numbers | None
    place: Callable[[int], str]
    gaps: Mask | None
    reach: tuple[int, int]
    carried: Mapping[str, Numbers] = field(default_factory=dict)


def pieces(chunk: Chunk, rows: Callable[[], int]) -> Iterator[Chunk]:
    """The chunk in parts of at most so many rows, which may change from part to part."""
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


def joined_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Consecutive chunks as one."""
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
    """The rows where one of the tables has no finite number."""
    mask: Mask = np.any([~np.isfinite(table).all(axis=1) for table in tables], axis=0)
    return mask
