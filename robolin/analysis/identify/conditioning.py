"""From recordings to smoothed rows: correct time stamps, remove spikes, choose held-out rows.

Rows are processed in parts, so that memory does not grow with a recording.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

import numpy as np

from robolin.analysis.identify.design_rows import DesignRows
from robolin.analysis.identify.recording import (
    LARGEST,
    PART_ROWS,
    Recording,
    RowStore,
    SmoothRows,
    StoredRecording,
    clock,
    recorded_rows,
    recording_parts,
    smooth,
)
from robolin.analysis.identify.signal_faults import (
    MEDIAN_ROWS,
    MOST_EQUAL,
    constant_bursts,
    count_held,
    missing_rows,
    require_ordered_times,
    without_spikes,
)
from robolin.core.arrays import Floats, Mask
from robolin.core.records import dataclass
from robolin.errors import RobolinError

# rows per width of the filter that are kept: the filter leaves no information between them
_ROWS_PER_WIDTH = 10
# held-out rows: a part of each recording, in blocks of at least these seconds, at most four
SPREAD_BLOCKS, _HELD_OUT, _BLOCK_SECONDS, _MOST_BLOCKS = "spread", 0.3, 1.0, 4
# rows before and after a part that show its spikes
_EDGE = 64 + MOST_EQUAL


@dataclass(frozen=True, eq=False)
class CleanRecording(StoredRecording):
    """A recording with a sound clock and without spikes.

    cleaned: number of rows in which a number was replaced
    words:   how the clock was found
    left_out: number of rows without all numbers
    constant: number of rows left out because values jump to a constant and back
    period:  median time between rows in s
    held:    number of rows (n,) in which signals of a moving joint keep one value, by signal
    missing: number of rows that the times of the recording show to be missing
    """

    cleaned: int = 0
    words: str = ""
    left_out: int = 0
    constant: int = 0
    period: float = 0.0
    held: Mapping[str, Floats] = field(default_factory=dict)
    missing: int = 0

    @property
    def exact(self) -> bool:
        """Return whether velocities and accelerations are given, so that rows are not smoothed."""
        return {"qd", "qdd"} <= {*self.names}

    def around(self, first: int, last: int, seconds: float) -> tuple[Recording, int]:
        """Rows and their neighbours in time, and the number of neighbours before them."""
        start, ends = self.start, (self.start, self.start + self.rows)
        table, before = self.store.around(start + first, start + last, seconds, ends)
        return self.recording(table), before


def recording_columns(recording: Recording) -> tuple[str, ...]:
    """Names of the columns of a recording, as in `StoredRecording`."""
    return ("q", "tau", *(k for k in ("qd", "qdd") if getattr(recording, k) is not None))


def clean(
    source: Recording | StoredRecording,
    choice: str | float,
    store: RowStore,
    advanced: Callable[[float], None] = lambda _: None,
) -> CleanRecording:
    """Replace single wrong numbers and rebuild the clock.

    store: receives the rows; it has columns for the time and four quantities
    advanced: receives the fraction of the rows that are clean
    """
    total = recorded_rows(source)
    if total < 30:
        message = f"identification requires at least 30 rows, got {total}"
        raise RobolinError(message, where=source.name, hint="record a longer motion")
    # single missing numbers are interpolated, rows at the end that lack some are left out
    rows = _complete_rows(source, total)
    first, _ = next(recording_parts(source, stop=1))
    names, n = recording_columns(first), first.q.shape[1]
    choice, by_user = (choice, choice) if first.qdd is None else ("stamps", "stamps")
    start, previous, now, period = store.rows, None, 0.0, 0.0
    cleaned = valid_rows = late = constant = missing = 0
    unused, held = n * (4 - len(names)), dict[str, Floats]()
    for number, (part, own) in enumerate(recording_parts(source, _EDGE, rows)):
        advanced(min(1.0, number * PART_ROWS / rows))
        sound, spikes = _without_spikes(part)
        valid = np.isfinite(sound.time) & ~_damaged(part, spikes)
        if part.qdd is None:
            bursts = constant_bursts(part) & valid
            constant, valid = constant + int(bursts[own].sum()), valid & ~bursts
            count_held(held, part, bursts, own)
        sound, spikes, valid = sound.rows_of(own), spikes[own], valid[own]
        for name in names:
            valid &= np.isfinite(getattr(sound, name)).all(axis=1)
        if not valid.all():
            sound, spikes = sound.rows_of(valid), spikes[valid]
        if not len(sound.time):
            continue
        # the row before decides whether the first row repeats it
        both = sound if previous is None else joined([previous, sound])
        timing = clock(both, choice, now)
        choice = timing.choice
        if not isinstance(by_user, float):
            require_ordered_times(both, choice)
        new = slice(len(both.time) - len(sound.time), None)
        previous, now = both.rows_of(slice(-1, None)), float(timing.time[-1])
        keep, time = timing.keep[new], timing.time[new]
        kept = replace(sound, time=time).rows_of(keep)
        tables = [getattr(kept, name) for name in names]
        store.append(kept.time, *tables, np.zeros((len(kept.time), unused)))
        cleaned, late = cleaned + int(spikes[keep].sum()), late + timing.late
        valid_rows += len(sound.time)
        period = period or float(np.median(np.diff(kept.time))) if len(kept.time) > 1 else period
        missing += 0 if isinstance(choice, float) else missing_rows(kept.time, period)
    kept_rows, words = store.rows - start, "time stamps of the recording"
    if isinstance(choice, float):
        words = (
            f"computed from the motion, period {1e3 * choice:g} ms: "
            f"{100.0 * (valid_rows - kept_rows) / valid_rows:.1f} % of the rows are repeated, "
            f"{100.0 * late / valid_rows:.1f} % last longer than one period"
        )
    left_out = total - valid_rows - constant
    counts = (cleaned, words, left_out, constant, period, held, missing)
    return CleanRecording(source.name, store, names, n, start, kept_rows, *counts)


def _without_spikes(part: Recording) -> tuple[Recording, Mask]:
    """The rows without spikes, and the mask of the rows in which numbers were replaced."""
    spikes = np.zeros(len(part.time), dtype=bool)
    if part.qdd is not None:
        return part, spikes
    repaired: dict[str, Any] = {}
    for name in recording_columns(part):
        repaired[name], wrong = without_spikes(getattr(part, name))
        spikes |= wrong
    return replace(part, **repaired), spikes


def _damaged(part: Recording, spikes: Mask) -> Mask:
    """Rows (rows,) of windows with replaced numbers out of all range in at least half of the rows.

    The running median fails there, and rows with shifted columns look like sound ones.

    spikes: rows in which numbers were replaced
    """
    if not spikes.any() or len(spikes) < MEDIAN_ROWS:
        return np.zeros(len(spikes), dtype=bool)
    broken = np.zeros(len(spikes), dtype=bool)
    for name in recording_columns(part):
        values = getattr(part, name)
        values = np.where(np.abs(values) < LARGEST, values, np.nan)
        low, high = np.nanpercentile(values, [1.0, 99.0], axis=0)
        swing = high - low
        inside = (values >= low - swing) & (values <= high + swing)
        broken |= spikes & ~inside.all(axis=1)
    windows = np.lib.stride_tricks.sliding_window_view(broken, MEDIAN_ROWS)
    starts = 2 * np.count_nonzero(windows, axis=1) >= MEDIAN_ROWS
    return np.convolve(starts, np.ones(MEDIAN_ROWS)) > 0.5


def joined(parts: Sequence[Recording]) -> Recording:
    """Rows of several recordings as one."""
    names = ("time", *recording_columns(parts[0]))
    tables: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in parts]) for name in names
    }
    return replace(parts[0], **tables)


def _complete_rows(source: Recording | StoredRecording, rows: int) -> int:
    """Number of rows up to the last complete one: a file may end in the middle of a row."""
    last = 0
    start = 0
    for part, own in recording_parts(source):
        complete = np.isfinite(part.time)
        for name in recording_columns(part):
            complete &= np.isfinite(getattr(part, name)).all(axis=1)
        if complete.any():
            last = start + int(np.flatnonzero(complete)[-1]) + 1
        start += own.stop - own.start
    return min(last, rows)


def smooth_parts(clean: CleanRecording, width: float, lag: float) -> Iterator[SmoothRows]:
    """All smoothed rows, in parts."""
    stride = 1 if clean.exact else row_stride(clean.period, width)
    length = stride * max(1, PART_ROWS // stride)
    for first in range(0, clean.rows, length):
        last = min(first + length, clean.rows)
        if clean.exact:
            each = clean.part(first, last)
            assert each.qd is not None
            assert each.qdd is not None
            ones = np.ones(len(each.time))
            yield SmoothRows(each.time, each.q, each.qd, each.qdd, each.tau, ones)
            continue
        part, before = clean.around(first, last, 0.5 * width + abs(lag))
        at = part.time[before : before + last - first : stride]
        yield smoothed_rows(part, at, width, lag)[0]


def row_stride(period: float, width: float) -> int:
    """Number of rows from one smoothed row to the next."""
    return max(1, int(width / _ROWS_PER_WIDTH / period))


def smoothed_rows(
    recording: Recording, at: Floats, width: float, lag: float
) -> tuple[SmoothRows, Mask]:
    """Smoothed rows at some times, and the mask of the times that have enough neighbours."""
    time, n = recording.time, recording.q.shape[1]
    moving = [recording.q] if recording.qd is None else [recording.q, recording.qd]
    value, slope, bend, enough = smooth(time, moving, at, width)
    tau, _, _, also = smooth(time - lag, [recording.tau], at, width)
    loaded = np.ones(len(at))
    if recording.qd is None:
        rows = SmoothRows(at, value, slope, bend, tau, loaded)
    else:
        rows = SmoothRows(at, value[:, :n], value[:, n:], slope[:, n:], tau, loaded)
    keep = enough & also
    return rows.part(keep), keep


def held_out_parts(
    rows: DesignRows, part: float | str, width: float
) -> Iterator[tuple[slice, bool]]:
    """Rows of the fit, and whether they are held out; windows of fit and test do not overlap.

    part: the end of the recording, or `SPREAD_BLOCKS` for blocks that are spread over it
    """
    blocks, held_out = 1, _HELD_OUT if isinstance(part, str) else part
    ends = rows.rows(slice(0, 1)), rows.rows(slice(rows.count - 1, rows.count))
    if isinstance(part, str) and rows.count:
        seconds = held_out * float(ends[1].time[0] - ends[0].time[0])
        blocks = max(1, min(_MOST_BLOCKS, int(seconds / _BLOCK_SECONDS)))
    for block in range(blocks):
        first, last = (round(rows.count * (block + i) / blocks) for i in range(2))
        middle = round(first + (last - first) * (1.0 - held_out))
        yield slice(_after_gap(rows, first, width) if block else 0, middle), False
        if middle > first:
            yield slice(min(_after_gap(rows, middle, width), last), last), True


def _after_gap(rows: DesignRows, row: int, width: float) -> int:
    """The first row that is a width of the filter after the row before `row`."""
    reach = row - 1 + 2 * _ROWS_PER_WIDTH
    while True:
        times = rows.rows(slice(row - 1, min(reach, rows.count))).time
        index = int(np.searchsorted(times, times[0] + width))
        if index < len(times) or reach >= rows.count:
            return row - 1 + index
        reach += reach - row + 1


def no_rows() -> RobolinError:
    """The error of recordings without rows to fit."""
    return RobolinError(
        "no row has enough adjacent rows for the smoothing filter",
        hint="set a wider filter (--width), or use a longer recording",
    )
