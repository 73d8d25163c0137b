"""From recordings to smoothed rows: what is not given is found from the data.

width  of the filter: the one whose model predicts the unfiltered torques best
lag    of the torques behind the motion: the one that leaves the smallest residual
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robolin.analysis.identify.design_rows import DesignRows, parameter_list
from robolin.analysis.identify.recording import (
    Recording,
    SmoothRows,
    clock,
    smooth,
    without_spikes,
)
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.errors import RobolinError

WIDTHS = (0.03, 0.05, 0.1, 0.2)
DEFAULT_WIDTH = 0.1
# rows per width of the filter that are kept: the filter leaves no information between them
_ROWS_PER_WIDTH = 10
_FEWEST_PER_WIDTH = 8
# rows that are smoothed before the next ones, a multiple of those that share one window size
_SMOOTHED_TOGETHER = 8192
LAGS = np.arange(-0.02, 0.0401, 0.004)
# rows of the trials that find width and lag
_TRIAL_ROWS = 900
# friction velocity in the trials
_TRIAL_VELOCITY = 0.03
# a lag counts if it lowers the squared residual by this part
_WORTH = 0.01


@dataclass(frozen=True, eq=False)
class CleanRecording:
    """A recording with a sound clock and without spikes.

    cleaned: (rows,) true where a number was replaced
    words:   how the clock was found
    left_out: number of rows without all numbers
    """

    recording: Recording
    cleaned: Mask
    words: str
    left_out: int = 0

    @property
    def period(self) -> float:
        return float(np.median(np.diff(self.recording.time)))


def clean(recording: Recording, choice: str | float, *, in_place: bool = False) -> CleanRecording:
    """Replace single wrong numbers and rebuild the clock.

    in_place: overwrite the arrays of the recording
    """
    names = [name for name in ("q", "qd", "tau") if getattr(recording, name) is not None]
    rows = len(recording.time)
    if rows < 30:
        message = f"identification requires at least 30 rows, got {rows}"
        raise RobolinError(message, where=recording.name, hint="record a longer motion")
    # single missing numbers are interpolated, rows at the end that lack some are left out
    incomplete = _incomplete_end(recording, names)
    rows -= int(incomplete.sum())
    recording = _rows(recording, slice(0, rows))
    replaced: dict[str, Any] = {}
    spikes = np.zeros(rows, dtype=bool)
    if recording.qdd is None:
        for name in names:
            values = getattr(recording, name)
            replaced[name], wrong = without_spikes(values, in_place=in_place)
            spikes |= wrong
    sound = replace(recording, **replaced)
    valid = np.isfinite(sound.time)
    for name in names:
        valid &= np.isfinite(getattr(sound, name)).all(axis=1)
    if not valid.all():
        sound = _rows(sound, valid)
        spikes = spikes[valid]
    found = clock(sound, choice if recording.qdd is None else "stamps")
    kept = _rows(replace(sound, time=found.time), found.keep)
    left_out = int(np.count_nonzero(~valid)) + int(incomplete.sum())
    return CleanRecording(kept, spikes[found.keep], found.words, left_out)


def _incomplete_end(recording: Recording, names: Sequence[str]) -> Mask:
    """Mask of the rows after the last complete one: a file may end in the middle of a row."""
    complete = np.isfinite(recording.time)
    for name in names:
        complete &= np.isfinite(getattr(recording, name)).all(axis=1)
    last = int(np.flatnonzero(complete)[-1]) if complete.any() else -1
    return np.arange(len(complete)) > last


def _rows(recording: Recording, keep: Mask | slice) -> Recording:
    """The rows that a mask or a slice selects, without a copy of all rows."""
    if not isinstance(keep, slice) and keep.all():
        return recording
    parts = {name: getattr(recording, name) for name in ("time", "q", "qd", "qdd", "tau")}
    kept: dict[str, Any] = {n: v[keep] for n, v in parts.items() if v is not None}
    return replace(recording, **kept)


def smooth_rows(
    clean: CleanRecording, width: float, lag: float, most: int | None = None
) -> tuple[SmoothRows, Floats]:
    """Smoothed rows, and the torques (rows, n) of the same rows before the filter.

    most: the largest number of rows, evenly spread; None for all
    """
    recording = clean.recording
    time, n = recording.time, recording.q.shape[1]
    if recording.qdd is not None and recording.qd is not None:
        rows = SmoothRows(time, recording.q, recording.qd, recording.qdd, recording.tau)
        return rows, recording.tau
    stride = max(1, int(width / _ROWS_PER_WIDTH / clean.period))
    if most is not None:
        stride = max(stride, -(-len(time) // most))
    at = time[::stride]
    moving = [recording.q] if recording.qd is None else [recording.q, recording.qd]
    rows = SmoothRows(np.empty(len(at)), *(np.empty((len(at), n)) for _ in range(4)))
    keep = np.zeros(len(at), dtype=bool)
    late, count = time - lag, 0
    for i in range(0, len(at), _SMOOTHED_TOGETHER):
        part = slice(i, i + _SMOOTHED_TOGETHER)
        value, slope, bend, enough = smooth(time, moving, at[part], width)
        tau, _, _, also = smooth(late, [recording.tau], at[part], width)
        if recording.qd is None:
            found = SmoothRows(at[part], value, slope, bend, tau)
        else:
            found = SmoothRows(at[part], value[:, :n], value[:, n:], slope[:, n:], tau)
        keep[part] = enough & also
        first, count = count, count + int(np.count_nonzero(keep[part]))
        for target, some in zip(rows, found.part(keep[part]), strict=True):
            target[first:count] = some
    return rows.part(slice(0, count)), recording.tau[::stride][keep]


def stacked(parts: Iterable[SmoothRows]) -> SmoothRows:
    """Rows of several recordings, with times that do not overlap."""
    listed, start, shifted = list(parts), 0.0, []
    for part in listed:
        if len(part.time):
            shifted.append(part._replace(time=part.time - part.time[0] + start))
            start = float(np.ceil(shifted[-1].time[-1])) + 10.0
    if not shifted:
        raise RobolinError(
            "no row has enough neighbours for the filter",
            hint="set a wider filter (--width), or use a longer recording",
        )
    if len(shifted) == 1:
        return shifted[0]
    return SmoothRows(*(np.concatenate(values) for values in zip(*shifted, strict=True)))


def find_width(arm: Arm, recordings: Sequence[CleanRecording]) -> float:
    """The width whose fit predicts the unfiltered torques best."""
    period = float(np.median([each.period for each in recordings]))
    fitting = [width for width in WIDTHS if width >= _FEWEST_PER_WIDTH * period]
    if len(fitting) <= 1:
        return max(DEFAULT_WIDTH, 2.0 * _FEWEST_PER_WIDTH * period)
    most = -(-_TRIAL_ROWS // len(recordings))
    costs = []
    for width in fitting:
        parts = [smooth_rows(each, width, 0.0, most) for each in recordings]
        rows = stacked(part for part, _ in parts)
        raw = np.concatenate([tau for _, tau in parts])
        fitted = _projected(arm, rows, rows.tau)
        costs.append(np.mean((raw - fitted) ** 2, axis=0))
    relative = np.array(costs) / np.maximum(np.min(costs, axis=0), 1e-300)
    return fitting[int(np.argmin(relative.sum(axis=1)))]


def find_lag(arm: Arm, recordings: Sequence[CleanRecording], width: float) -> float:
    """Lag in s of the torques behind the motion; 0 unless another one is clearly better."""
    most = -(-_TRIAL_ROWS // len(recordings))
    rows, torques = [], []
    for each in recordings:
        inner = _away_from_ends(smooth_rows(each, width, 0.0, most)[0], each, width)
        time, tau = each.recording.time, each.recording.tau
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


def _away_from_ends(rows: SmoothRows, clean: CleanRecording, width: float) -> SmoothRows:
    """The rows whose windows exist for every lag."""
    time, margin = clean.recording.time, 0.5 * width + float(np.abs(LAGS).max())
    return rows.part((rows.time >= time[0] + margin) & (rows.time <= time[-1] - margin))


def _projected(arm: Arm, rows: SmoothRows, tau: Floats) -> Floats:
    """Torques (rows, n) that plain least squares fits, all joints with equal weight."""
    basis, size = _column_space(arm, rows)
    fitted = basis @ (basis.T @ (tau / size).ravel())
    return np.asarray(fitted.reshape(tau.shape) * size)


def _column_space(arm: Arm, rows: SmoothRows) -> tuple[Floats, Floats]:
    """Orthonormal basis (rows · n, rank) of the columns, and the size (n,) of the torques."""
    design = DesignRows(arm, parameter_list(arm), rows)
    size = np.maximum(np.sqrt(np.mean(rows.tau**2, axis=0)), 1e-12)
    v0 = np.full(arm.n, _TRIAL_VELOCITY)
    Y = np.concatenate([columns for _, columns in design.blocks(v0)]) / size[:, None]
    Y = Y.reshape(-1, Y.shape[-1])
    length = np.linalg.norm(Y, axis=0)
    Y = Y[:, length > 0.0] / length[length > 0.0]
    sizes, axes = np.linalg.eigh(Y.T @ Y)
    kept = sizes > 1e-10 * sizes.max(initial=0.0)
    return Y @ (axes[:, kept] / np.sqrt(sizes[kept])), size
