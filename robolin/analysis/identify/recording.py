"""Recordings of a motion with measured torques: clock, cleaning, and smoothed rows.

Stamps are often those of a host that read the robot late.  The true steps follow from the motion:
the step that explains the increments of q best by the velocities is

    dt(i) = Σ_j Δq_j v_j / Σ_j v_j²          v = mean velocity of both rows

It is rounded to a multiple of the period; a multiple of 0 is a repeated row, which is dropped.
All signals pass the same zero-phase filter: a local cubic with tricube weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from os import SEEK_END
from tempfile import SpooledTemporaryFile
from typing import Any, NamedTuple
from weakref import finalize

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import RobolinError

# a normal distribution has 1.4826 times its median absolute deviation as standard deviation
ROBUST = 1.4826
# rows that are cleaned together, and bytes of rows that stay in memory
PART_ROWS, IN_MEMORY = 1 << 16, 1 << 24
# numbers above this cannot be measured values, and their squares would overflow
LARGEST = 1e100
# speeds in rad/s or m/s below which a motion shows nothing about the clock
_SLOW = 0.05
_ORDER = 3
# rows that are smoothed together
_ROWS_TOGETHER = 512


@dataclass(frozen=True, eq=False, repr=False)
class Recording(DisplayMixin):
    """One recorded motion with measured torques.

    Fields:
        time: (rows,) in s
        q: positions (rows, n) in rad or m, in the order of `arm.joint_names`
        tau: measured torques (rows, n) in N·m, or forces in N
        qd: velocities (rows, n) in rad/s or m/s; None to differentiate positions
        qdd: accelerations (rows, n); None to differentiate; otherwise the rows are used unchanged
        name: name in messages

    Example:
        >>> time = np.linspace(0.0, 1.0, 101)
        >>> q = np.sin(time)[:, None] * [1.0, 0.5]
        >>> robolin.Recording(time, q, np.zeros((101, 2))).name
        'recording'
    """

    time: Floats
    q: Floats
    tau: Floats
    qd: Floats | None = None
    qdd: Floats | None = None
    name: str = "recording"

    def rows_of(self, keep: Mask | slice) -> Recording:
        """The rows that a mask or a slice selects.

        Args:
            keep: mask (rows,), or slice

        Returns:
            a recording with these rows

        Raises:
            IndexError: a mask of another length

        Example:
            >>> time = np.linspace(0.0, 1.0, 101)
            >>> robolin.Recording(time, time[:, None], time[:, None]).rows_of(slice(3)).time
            array([0.  , 0.01, 0.02])
        """
        parts = {name: getattr(self, name) for name in ("time", "q", "qd", "qdd", "tau")}
        kept: dict[str, Any] = {n: v[keep] for n, v in parts.items() if v is not None}
        return replace(self, **kept)


class SmoothRows(NamedTuple):
    """Rows of a recording after the filter, each (rows, n) but `time` and `loaded`.

    loaded: (rows,), 1 for rows with a payload, 0 for rows without
    """

    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    loaded: Floats

    def part(self, keep: Mask | slice) -> SmoothRows:
        """The rows that a mask or a slice selects."""
        return SmoothRows(*(values[keep] for values in self))


class RowStore:
    """Rows of numbers, the time first: in memory while they are few, else in a temporary file."""

    def __init__(self, columns: int) -> None:
        self._file = SpooledTemporaryFile(max_size=IN_MEMORY)  # noqa: SIM115
        self._columns = columns
        self.rows: int = 0
        self.close: finalize[[], RowStore] = finalize(self, self._file.close)

    def append(self, *tables: Floats) -> None:
        """Add rows, whose columns are in tables (rows, some columns) or (rows,)."""
        rows = np.column_stack(tables).astype(np.float64, copy=False)
        try:
            self._file.seek(0, SEEK_END)
            self._file.write(np.ascontiguousarray(rows).data)
        except OSError as error:
            message = f"rows cannot be stored in a temporary file: {error.strerror or error}"
            raise RobolinError(message, hint="set TMPDIR to a folder with more space") from error
        self.rows += len(rows)

    def read(self, start: int, stop: int) -> Floats:
        """The rows from `start` to `stop` (rows, columns)."""
        size = 8 * self._columns
        self._file.seek(start * size)
        data = self._file.read(max(stop - start, 0) * size)
        return np.frombuffer(data, dtype=np.float64).reshape(-1, self._columns)

    def around(
        self, start: int, stop: int, seconds: float, within: tuple[int, int]
    ) -> tuple[Floats, int]:
        """Some rows and all rows `within` a range that are up to `seconds` away from them.

        Returns:
            the rows, and the number of rows before `start` among them
        """
        margin = 256
        while True:
            first, last = max(within[0], start - margin), min(within[1], stop + margin)
            rows = self.read(first, last)
            time, own = rows[:, 0], rows[start - first : stop - first, 0]
            enough_before = first == within[0] or time[0] < own[0] - seconds
            enough_behind = last == within[1] or time[-1] > own[-1] + seconds
            if enough_before and enough_behind:
                return rows, start - first
            margin *= 4


@dataclass(frozen=True, eq=False)
class StoredRecording:
    """A recording in rows of a store, which are read in parts.

    names: of the columns after the time, n each: 'q', 'tau', and 'qd' and 'qdd' if there are any
    """

    name: str
    store: RowStore
    names: tuple[str, ...]
    n: int
    start: int
    rows: int

    def part(self, first: int, last: int) -> Recording:
        """Some of the rows."""
        return self.recording(self.store.read(self.start + first, self.start + last))

    def recording(self, table: Floats) -> Recording:
        """Rows of the store as a recording."""
        columns: dict[str, Any] = {
            name: table[:, 1 + i * self.n : 1 + (i + 1) * self.n]
            for i, name in enumerate(self.names)
        }
        return Recording(table[:, 0], name=self.name, **columns)


def recorded_rows(source: Recording | StoredRecording) -> int:
    """Number of rows of a recording."""
    return len(source.time) if isinstance(source, Recording) else source.rows


def recording_parts(
    source: Recording | StoredRecording, edge: int = 0, stop: int | None = None
) -> Iterator[tuple[Recording, slice]]:
    """Parts of `PART_ROWS` rows, with `edge` rows on each side, and which rows are the part."""
    stop = recorded_rows(source) if stop is None else stop
    for first in range(0, stop, PART_ROWS):
        last = min(first + PART_ROWS, stop)
        start, end = max(0, first - edge), min(stop, last + edge)
        part = (
            source.rows_of(slice(start, end))
            if isinstance(source, Recording)
            else source.part(start, end)
        )
        yield part, slice(first - start, last - start)


def checked_recording(recording: Recording, n: int) -> Recording:
    """The recording as arrays, checked for its shapes."""
    arrays: dict[str, Any] = {
        name: None if (values := getattr(recording, name)) is None else _table(name, values)
        for name in ("q", "qd", "qdd", "tau")
    }
    time = np.asarray(recording.time, dtype=np.float64)
    for name, values in arrays.items():
        if values is not None and values.shape != (len(time), n):
            message = f"{name} must have shape ({len(time)}, {n}), got {values.shape}"
            raise RobolinError(message, where=recording.name, hint="use one row per time stamp")
    return replace(recording, time=time, **arrays)


def _table(name: str, values: object) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2:
        raise RobolinError(f"{name} must have two axes, rows and joints, got {array.ndim}")
    return array


class Clock(NamedTuple):
    """Times (rows,) of all rows, and which are kept.

    choice: "stamps", the period in s, or "auto" if the rows do not show which is better
    late:   number of rows that last longer than a period
    """

    time: Floats
    keep: Mask
    choice: str | float
    late: int = 0


def clock(recording: Recording, choice: str | float = "auto", start: float = 0.0) -> Clock:
    """The time of every row: "stamps", a period in s, or the better of stamps and motion.

    start: time of the first row, if the stamps are replaced
    """
    stamps = recording.time
    steps = np.diff(stamps)
    of_stamps = Clock(stamps, np.concatenate([[True], steps > 0.0]), "stamps")
    if choice == "stamps" or (recording.qd is None and not isinstance(choice, float)):
        return of_stamps
    positive = steps[steps > 0.0]
    if not positive.size and not isinstance(choice, float):
        if (steps < 0.0).any():
            message, hint = "the time decreases between some rows", "sort the rows by time"
        else:
            message, hint = "all time stamps are equal", "set the period in s: --clock SECONDS"
        raise RobolinError(message, where=recording.name, hint=hint)
    period = choice if isinstance(choice, float) else _rounded(float(np.median(positive)))
    multiples, seen, moving = _steps_of_motion(recording, period)
    at_rest = np.maximum(np.rint(np.where(steps > 0.0, steps, period) / period), 1.0)
    multiples = np.where(moving, multiples, at_rest)
    if not isinstance(choice, float):
        if np.count_nonzero(moving) < 20:
            return of_stamps._replace(choice="auto")
        error_of_stamps, error = (
            float(np.percentile(np.abs(seen - each)[moving], 90.0))
            for each in (steps, multiples * period)
        )
        if error_of_stamps <= 1.2 * error:
            return of_stamps
    keep = np.concatenate([[True], multiples > 0.0])
    time = start + np.concatenate([[0.0], np.cumsum(multiples)]) * period
    return Clock(time, keep, period, int(np.count_nonzero(multiples > 1.0)))


def _rounded(period: float) -> float:
    """The period, rounded to a frequency that a controller has."""
    frequency = 1.0 / period
    nice = round(frequency / 25.0) * 25.0 if frequency > 40.0 else frequency
    return 1.0 / nice if abs(nice - frequency) < 0.15 * frequency else period


def _steps_of_motion(recording: Recording, period: float) -> tuple[Floats, Floats, Mask]:
    """Multiples of the period between rows, the time between them, and where a joint moves."""
    assert recording.qd is not None
    change = np.diff(recording.q, axis=0)
    velocity = 0.5 * (recording.qd[1:] + recording.qd[:-1])
    square = np.sum(velocity * velocity, axis=1)
    moving = square > _SLOW * _SLOW
    seen = np.sum(change * velocity, axis=1) / np.where(moving, square, 1.0)
    # a row that repeats the row before is a repeated row at any speed
    same = ~change.any(axis=1) & ~np.diff(recording.qd, axis=0).any(axis=1)
    multiples = np.clip(np.rint(seen / period), 0.0, 1e6)
    return np.where(same, 0.0, np.maximum(multiples, 1.0)), seen, moving


def smooth(
    time: Floats, tables: Sequence[Floats], at: Floats, width: float
) -> tuple[Floats, Floats, Floats, Mask]:
    """Value, first and second derivative (m, c) of local cubics at the times `at` (m,).

    tables: each (rows, some columns), c columns together
    The mask (m,) is true where the window is filled on both sides.
    """
    half = 0.5 * width
    first = np.searchsorted(time, at - half, side="left")
    last = np.searchsorted(time, at + half, side="right")
    shape = (len(at), sum(table.shape[1] for table in tables))
    value, slope, bend = np.empty(shape), np.empty(shape), np.empty(shape)
    enough = np.zeros(len(at), dtype=bool)
    for i in range(0, len(at), _ROWS_TOGETHER):
        part = slice(i, i + _ROWS_TOGETHER)
        fitted, enough[part] = _local_cubics(time, tables, at[part], half, first[part], last[part])
        value[part], slope[part] = fitted[:, 0], fitted[:, 1] / half
        bend[part] = 2.0 * fitted[:, 2] / half**2
    return value, slope, bend, enough


def _local_cubics(
    time: Floats,
    tables: Sequence[Floats],
    at: Floats,
    half: float,
    first: Integers,
    last: Integers,
) -> tuple[Floats, Mask]:
    """Coefficients (m, 4, c) of the powers of (t - at) / half, and whether a window suffices."""
    index, gram, weighted, enough = _windows(time, at, half, first, last)
    values = np.concatenate([table[index] for table in tables], axis=-1)
    right = np.matmul(weighted, values)
    return np.linalg.solve(gram, right).astype(np.float64, copy=False), enough


def _windows(
    time: Floats, at: Floats, half: float, first: Integers, last: Integers
) -> tuple[Integers, Floats, Floats, Mask]:
    """Rows (m, w) of every window, normal equations (m, 4, 4), weighted powers (m, 4, w), mask."""
    width = int((last - first).max(initial=1))
    index: Integers = first[:, None] + np.arange(width)
    inside = index < last[:, None]
    np.minimum(index, len(time) - 1, out=index)
    x = np.where(inside, (time[index] - at[:, None]) / half, 0.0)
    # products instead of powers, which take far more time
    size = np.abs(x)
    rest = np.maximum(1.0 - size * size * size, 0.0)
    power = np.where(inside, rest * rest * rest, 0.0)
    weighted, moments = np.empty((len(at), _ORDER + 1, width)), []
    for k in range(2 * _ORDER + 1):
        if k <= _ORDER:
            weighted[:, k] = power
        moments.append(power.sum(axis=1))
        power *= x
    orders = np.arange(_ORDER + 1)
    gram: Floats = np.stack(moments, axis=1)[:, orders[:, None] + orders]
    before, after = np.sum(inside & (x < 0.0), axis=1), np.sum(inside & (x > 0.0), axis=1)
    reach = np.minimum(-x.min(axis=1), x.max(axis=1))
    enough: Mask = (before >= 2) & (after >= 2) & (before + after >= _ORDER + 2) & (reach > 0.6)
    gram[~enough] = np.eye(_ORDER + 1)
    return index, gram, weighted, enough


class FilterKernel(NamedTuple):
    """The filter as sums over neighbours: rows (m, w) and their factors (m, w)."""

    rows: Integers
    factors: Floats

    def smoothed(self, values: Floats) -> Floats:
        """Smoothed values (m, c) of all values (rows, c)."""
        return np.asarray(np.einsum("mw,mwc->mc", self.factors, values[self.rows]))


def filter_kernel(time: Floats, at: Floats, width: float) -> FilterKernel:
    """The filter of `smooth` at the times `at`, which are among `time`.

    A row without enough neighbours keeps its own value.
    """
    half = 0.5 * width
    first = np.searchsorted(time, at - half, side="left")
    last = np.searchsorted(time, at + half, side="right")
    rows, gram, weighted, enough = _windows(time, at, half, first, last)
    unit = np.zeros((len(at), _ORDER + 1, 1))
    unit[:, 0] = 1.0
    solved = np.linalg.solve(gram, unit)
    factors = np.matmul(solved.transpose(0, 2, 1), weighted)[:, 0]
    own = (rows == np.searchsorted(time, at)[:, None]).astype(np.float64)
    # a window that is too short repeats the last row
    own /= own.sum(axis=1, keepdims=True)
    # half the memory of row numbers with 64 bits
    return FilterKernel(rows.astype(np.int32), np.where(enough[:, None], factors, own))
