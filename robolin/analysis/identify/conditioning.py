"""From recordings to smoothed rows: what is not given is found from the data.

lag    of the torques behind the motion: the one that leaves the smallest residual behind the
       widest filter, which leaves the least noise
width  of the filter: the one whose model predicts the unfiltered torques best, with this lag and
       for the same rows

Rows pass in parts, so that memory does not grow with a recording.  Both trials use rows that are
spread over the recordings, at most `_TRIAL_ROWS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import numpy as np

from robolin.analysis.identify.design_rows import DesignRows, column_sizes, parameter_list
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
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Integers, Mask
from robolin.core.records import dataclass
from robolin.errors import RobolinError

WIDTHS = (0.03, 0.05, 0.1, 0.2)
DEFAULT_WIDTH = 0.1
# rows per width of the filter that are kept: the filter leaves no information between them
_ROWS_PER_WIDTH = 10
_FEWEST_PER_WIDTH = 8
# a recording lasts at least as long as this many widths
_WIDTHS_IN = 5
LAGS = np.arange(-0.02, 0.0401, 0.004)
# rows of the trials that find width and lag, and rows of recordings in memory for them
_TRIAL_ROWS, _MOST_IN_TRIALS = 900, 1 << 17
# friction velocity in the trials
_TRIAL_VELOCITY = 0.03
# a lag counts if it lowers the squared residual by this part
_WORTH = 0.01
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
    choice = choice if first.qdd is None else "stamps"
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
        joined = sound if previous is None else _joined([previous, sound])
        timing = clock(joined, choice, now)
        choice = timing.choice
        require_ordered_times(joined, choice)
        new = slice(len(joined.time) - len(sound.time), None)
        previous, now = joined.rows_of(slice(-1, None)), float(timing.time[-1])
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


def _joined(parts: Sequence[Recording]) -> Recording:
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
    stride = 1 if clean.exact else _stride(clean.period, width)
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
        yield _smoothed(part, at, width, lag)[0]


def _stride(period: float, width: float) -> int:
    return max(1, int(width / _ROWS_PER_WIDTH / period))


def _smoothed(
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


class Trial(NamedTuple):
    """Rows of a recording in memory; at: the rows (m,) of the trials, None for evenly spread ones.

    Between the windows around the rows of the trials, rows of long recordings are missing.
    """

    recording: Recording
    period: float
    exact: bool
    at: Integers | None
    most: int

    def rows(self, width: float) -> Integers:
        """Numbers of the rows that are smoothed."""
        if self.at is not None:
            return self.at
        count = len(self.recording.time)
        return np.arange(0, count, max(_stride(self.period, width), -(-count // self.most)))


def trials(recordings: Sequence[CleanRecording], width: float | None) -> list[Trial]:
    """Evenly spread rows of the recordings, with all neighbours that the filter needs."""
    most, share = -(-_TRIAL_ROWS // len(recordings)), _MOST_IN_TRIALS // len(recordings)
    reach = 0.5 * max(width or 0.0, *WIDTHS) + float(np.abs(LAGS).max())
    result = []
    for each in recordings:
        if each.rows <= share or each.exact:
            rows = min(each.rows, _MOST_IN_TRIALS)
            result.append(Trial(each.part(0, rows), each.period, each.exact, None, most))
            continue
        count = max(30, min(most, int(share * each.period / (2.0 * reach))))
        tables, at, end, total = [], [], 0, 0
        for row in np.linspace(0, each.rows - 1, count).astype(int).tolist():
            part, before = each.around(row, row + 1, reach)
            near = np.flatnonzero(np.abs(part.time - part.time[before]) <= reach)
            # windows of neighbours may overlap
            fresh = near[near + row - before >= end]
            at.append(total + before - (int(fresh[0]) if fresh.size else 0))
            tables.append(part.rows_of(fresh))
            end, total = row - before + int(near[-1]) + 1, total + len(fresh)
        result.append(Trial(_joined(tables), each.period, False, np.array(at), most))
    return result


def stacked(parts: Sequence[SmoothRows]) -> SmoothRows:
    """Rows of several recordings, with times that do not overlap."""
    start, shifted = 0.0, []
    for part in parts:
        if len(part.time):
            shifted.append(part._replace(time=part.time - part.time[0] + start))
            start = float(np.ceil(shifted[-1].time[-1])) + 10.0
    if not shifted:
        raise no_rows()
    return SmoothRows(*(np.concatenate(values) for values in zip(*shifted, strict=True)))


def no_rows() -> RobolinError:
    """The error of recordings without rows to fit."""
    return RobolinError(
        "no row has enough adjacent rows for the smoothing filter",
        hint="set a wider filter (--width), or use a longer recording",
    )


def fitting_widths(trials: Sequence[Trial]) -> tuple[float, ...]:
    """The widths that hold enough rows and that are short enough, the widest last."""
    period = float(np.median([each.period for each in trials]))
    fitting = tuple(width for width in WIDTHS if width >= _FEWEST_PER_WIDTH * period)
    if len(fitting) <= 1:
        return (max(DEFAULT_WIDTH, 2.0 * _FEWEST_PER_WIDTH * period),)
    times = [each.recording.time for each in trials]
    seconds = float(np.median([time.max(initial=0.0) - time.min(initial=0.0) for time in times]))
    # near both ends of a recording, rows have no complete window
    return tuple(width for width in fitting if _WIDTHS_IN * width <= seconds) or fitting[:1]


def find_width(arm: Arm, trials: Sequence[Trial], lag: float) -> float:
    """The width whose fit predicts the unfiltered torques best."""
    fitting = fitting_widths(trials)
    if len(fitting) == 1:
        return fitting[0]
    raw: list[Floats] = []
    parts: list[list[SmoothRows]] = [[] for _ in fitting]
    for each in trials:
        at = each.rows(fitting[0])
        times = each.recording.time[at] - lag
        smoothed = [_smoothed(each.recording, times, width, lag) for width in fitting]
        # all widths are compared on the same rows
        common = np.logical_and.reduce([keep for _, keep in smoothed])
        raw.append(each.recording.tau[at][common])
        for part, (rows, keep) in zip(parts, smoothed, strict=True):
            part.append(rows.part(common[keep]))
    measured, costs = np.concatenate(raw), []
    for part in parts:
        rows = stacked(part)
        costs.append(np.mean((measured - _projected(arm, rows, rows.tau)) ** 2, axis=0))
    relative = np.array(costs) / np.maximum(np.min(costs, axis=0), 1e-300)
    return fitting[int(np.argmin(relative.sum(axis=1)))]


def find_lag(arm: Arm, trials: Sequence[Trial], width: float) -> float:
    """Lag in s of the torques behind the motion; 0 unless another one is clearly better."""
    rows, torques = [], []
    for each in trials:
        time, tau = each.recording.time, each.recording.tau
        smoothed, _ = _smoothed(each.recording, time[each.rows(width)], width, 0.0)
        inner = _away_from_ends(smoothed, time, width)
        torques.append([smooth(time - lag, [tau], inner.time, width)[0] for lag in LAGS])
        rows.append(inner)
    basis, size = _column_space(arm, stacked(rows))
    costs = []
    for parts in zip(*torques, strict=True):
        scaled = (np.concatenate(parts) / size).ravel()
        left = (scaled - basis @ (basis.T @ scaled)).reshape(-1, arm.n)
        costs.append(np.mean(left**2, axis=0))
    # every joint counts by its own smallest residual
    total = np.sum(np.array(costs) / np.maximum(np.min(costs, axis=0), 1e-300), axis=1)
    best, at_zero = int(np.argmin(total)), int(np.argmin(np.abs(LAGS)))
    if total[best] > (1.0 - _WORTH) * total[at_zero]:
        return 0.0
    if 0 < best < len(LAGS) - 1:
        left, middle, right = total[best - 1 : best + 2]
        bend = left - 2.0 * middle + right
        shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
        return float(LAGS[best] + shift * (LAGS[1] - LAGS[0]))
    return float(LAGS[best])


def _away_from_ends(rows: SmoothRows, time: Floats, width: float) -> SmoothRows:
    """The rows whose windows exist for every lag."""
    margin = 0.5 * width + float(np.abs(LAGS).max())
    return rows.part((rows.time >= time[0] + margin) & (rows.time <= time[-1] - margin))


def _projected(arm: Arm, rows: SmoothRows, tau: Floats) -> Floats:
    """Torques (rows, n) that plain least squares fits, all joints with equal weight."""
    basis, size = _column_space(arm, rows)
    fitted = basis @ (basis.T @ (tau / size).ravel())
    return np.asarray(fitted.reshape(tau.shape) * size)


def _column_space(arm: Arm, rows: SmoothRows) -> tuple[Floats, Floats]:
    """Orthonormal basis (rows · n, rank) of the columns, and the size (n,) of the torques."""
    design = DesignRows(arm, parameter_list(arm))
    design.append(rows)
    size = np.maximum(np.sqrt(np.mean(rows.tau**2, axis=0)), 1e-12)
    v0 = np.full(arm.n, _TRIAL_VELOCITY)
    Y = np.concatenate([columns for _, columns in design.blocks(v0)]) / size[:, None]
    Y = Y.reshape(-1, Y.shape[-1])
    Y = Y / column_sizes(Y)
    sizes, axes = np.linalg.eigh(Y.T @ Y)
    kept = sizes > 1e-10 * sizes.max(initial=0.0)
    return Y @ (axes[:, kept] / np.sqrt(sizes[kept])), size
