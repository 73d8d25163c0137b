"""Fits of some rows before the fit of all rows, to find what is not given and what is wrong.

lag    of the torques: the delay with the smallest residual after the widest filter, which removes
       the most noise
width  of the filter: the one whose model predicts the unfiltered torques best, with this lag and
       for the same rows
late   are joints whose residual is far smaller with another lag than with that of all joints
drift  of a joint is a trend of its residual over a recording that no motion explains

At most `_TRIAL_ROWS` rows are used, spread over the recordings.  All fits are plain least squares,
projections to the space of the columns.  The scatter between `_BLOCKS` blocks of time decides
whether a lag or a trend is significant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from robolin.analysis.identify.conditioning import (
    CleanRecording,
    joined,
    no_rows,
    row_stride,
    smoothed_rows,
)
from robolin.analysis.identify.design_rows import (
    MOVING_SPEED,
    DesignRows,
    column_sizes,
    parameter_list,
    without_known_torques,
)
from robolin.analysis.identify.deviations import BLOCK_SECONDS
from robolin.analysis.identify.recording import Recording, SmoothRows, smooth
from robolin.analysis.identify.signal_faults import lag_notes
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Integers

WIDTHS = (0.03, 0.05, 0.1, 0.2)
DEFAULT_WIDTH = 0.1
_FEWEST_PER_WIDTH = 8
# a recording lasts at least as long as this many widths
_WIDTHS_IN = 5
LAGS = np.arange(-0.02, 0.0401, 0.004)
# rows of the trials, and rows of recordings in memory for them
_TRIAL_ROWS, _MOST_IN_TRIALS = 900, 1 << 17
# friction velocity in the trials
_TRIAL_VELOCITY = 0.03
# a lag counts if it lowers the squared residual by this part
_WORTH = 0.01
# blocks of time, and the fewest rows of a recording that show a drift
_BLOCKS, _FEWEST_ROWS = 16, 64
# rows of a trial that may have no complete window
_MARGIN_ROWS = 16
# a joint is late if a lag that differs by these seconds lowers its squared residual by this part,
# and by this number of standard deviations
_LATE_SECONDS, _LATE_PART, _LATE_DEVIATIONS = 0.01, 0.15, 4.5
# a drift counts from this part of the RMS torque and this many standard deviations on, if the
# motion explains less than this part of a trend
_DRIFT_PART, _DRIFT_DEVIATIONS, _EXPLAINED = 0.05, 6.0, 0.5
# part of an offset that is zero but for rounding
_ROUNDING = 1e-9


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
        """Indices of the rows that are smoothed."""
        if self.at is not None:
            return self.at
        count = len(self.recording.time)
        return np.arange(0, count, max(row_stride(self.period, width), -(-count // self.most)))


def tried_lags(lag: float | None) -> Floats:
    """Lags in s that are tried: around a given one, to compare the joints."""
    return LAGS if lag is None else lag + LAGS


def trials(
    recordings: Sequence[CleanRecording], width: float | None, lag: float | None = None
) -> list[Trial]:
    """Evenly spread rows of the recordings, with all neighbours that the filter needs."""
    share = _MOST_IN_TRIALS // len(recordings)
    most = max(-(-_TRIAL_ROWS // len(recordings)), _FEWEST_ROWS + _MARGIN_ROWS)
    reach = 0.5 * max(width or 0.0, *WIDTHS) + float(np.abs(tried_lags(lag)).max())
    result = []
    for each in recordings:
        if each.rows <= share:
            result.append(Trial(each.part(0, each.rows), each.period, each.exact, None, most))
            continue
        if each.exact:
            # rows with accelerations need no neighbours
            rows = np.unique(np.linspace(0, each.rows - 1, most).astype(int))
            parts = [each.part(row, row + 1) for row in rows.tolist()]
            result.append(Trial(joined(parts), each.period, True, np.arange(len(rows)), most))
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
        result.append(Trial(joined(tables), each.period, False, np.array(at), most))
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


class FilterChoice(NamedTuple):
    """Width of the filter and lag in s, and warnings about joints."""

    width: float
    lag: float
    warnings: list[str]


def choose_filter(
    arm: Arm, recordings: Sequence[CleanRecording], width: float | None, lag: float | None
) -> FilterChoice:
    """Find the width and the lag that are not given, and joints that are late or drift."""
    exact, warnings = all(each.exact for each in recordings), list[str]()
    common = 0.0 if exact else lag
    parts, lags = trials(recordings, width, common), tried_lags(common)
    fit = trial_fit(arm, parts, width or fitting_widths(parts)[-1], lags)
    if common is None:
        if fit is None:
            raise no_rows()
        common = find_lag(fit)
        warnings += lag_notes(common, lags)
    if fit is not None:
        warnings += [*late_joints(arm, fit, common), *drifting_joints(arm, fit, common)]
    width = width or (DEFAULT_WIDTH if exact else find_width(arm, parts, common))
    return FilterChoice(width, common, warnings)


class TrialFit(NamedTuple):
    """Rows of the trials, their torques with every lag, and the columns that explain them.

    names:   of the recordings
    rows:    of every recording
    basis:   orthonormal basis (rows, n, rank) of the columns
    size:    RMS torques (n,)
    lags:    (lags,) in s
    torques: (lags, rows, n), relative to `size`
    """

    names: list[str]
    rows: list[SmoothRows]
    basis: Floats
    size: Floats
    lags: Floats
    torques: Floats

    def residual(self, torques: Floats) -> Floats:
        """The part (rows, n) of relative torques (rows, n) that the columns do not explain."""
        flat = self.basis.reshape(torques.size, self.basis.shape[-1])
        return np.asarray(torques - (flat @ (flat.T @ torques.ravel())).reshape(torques.shape))

    def nearest(self, lag: float) -> int:
        """Index of the nearest lag."""
        return int(np.argmin(np.abs(self.lags - lag)))


def trial_fit(arm: Arm, trials: Sequence[Trial], width: float, lags: Floats) -> TrialFit | None:
    """Smooth the rows of the trials, and compute what their columns explain; None without rows."""
    rows, torques = [], []
    for each in trials:
        time, tau, at = each.recording.time, each.recording.tau, each.rows(width)
        if each.exact:
            inner = _unchanged(each.recording, at)
            torques.append([inner.tau for _ in lags])
        else:
            smoothed, _ = smoothed_rows(each.recording, time[at], width, 0.0)
            margin = 0.5 * width + float(np.abs(lags).max())
            inside = (smoothed.time >= time[0] + margin) & (smoothed.time <= time[-1] - margin)
            inner = smoothed.part(inside)
            delayed = [smooth(time - lag, [tau], inner.time, width) for lag in lags]
            # next to a gap, the windows of some lags are not filled
            common = np.logical_and.reduce([enough for *_, enough in delayed])
            inner = inner.part(common)
            torques.append([values[common] for values, *_ in delayed])
        rows.append(inner)
    if not any(len(part.time) for part in rows):
        return None
    joined_rows = stacked(rows)
    known = joined_rows.tau - without_known_torques(arm, joined_rows).tau
    basis, size = _column_space(arm, joined_rows)
    stacked_torques = np.array([np.concatenate(parts) for parts in zip(*torques, strict=True)])
    scaled = (stacked_torques - known) / size
    names = [each.recording.name for each in trials]
    return TrialFit(names, rows, basis.reshape(-1, arm.n, basis.shape[1]), size, lags, scaled)


def _unchanged(recording: Recording, at: Integers) -> SmoothRows:
    """Rows of a recording with accelerations."""
    assert recording.qd is not None
    assert recording.qdd is not None
    signals = (recording.time, recording.q, recording.qd, recording.qdd, recording.tau)
    time, q, qd, qdd, tau = (values[at] for values in signals)
    return SmoothRows(time, q, qd, qdd, tau, np.ones(len(at)))


def find_lag(fit: TrialFit) -> float:
    """Delay in s of the torques; 0 unless another lag reduces the residual by 1 % or more."""
    lags, costs = fit.lags, [np.mean(fit.residual(each) ** 2, axis=0) for each in fit.torques]
    # relative to the smallest residual of each joint
    total = np.sum(np.array(costs) / np.maximum(np.min(costs, axis=0), 1e-300), axis=1)
    best, at_zero = int(np.argmin(total)), fit.nearest(0.0)
    if total[best] > (1.0 - _WORTH) * total[at_zero]:
        return 0.0
    if 0 < best < len(lags) - 1:
        left, middle, right = total[best - 1 : best + 2]
        bend = left - 2.0 * middle + right
        shift = 0.5 * (left - right) / bend if bend > 0.0 else 0.0
        return float(lags[best] + shift * (lags[1] - lags[0]))
    return float(lags[best])


def late_joints(arm: Arm, fit: TrialFit, lag: float) -> Iterator[str]:
    """Warnings about joints whose torques fit far better with another lag than the common lag."""
    common = fit.torques[fit.nearest(lag)]
    before = fit.residual(common)
    seconds = sum(float(rows.time[-1] - rows.time[0]) for rows in fit.rows if len(rows.time))
    if seconds < _BLOCKS * BLOCK_SECONDS:
        # errors of shorter blocks are not independent
        return
    for j, name in enumerate(arm.joint_names):
        # only the torques of this joint are shifted
        columns, change = fit.basis[:, j], (fit.torques[:, :, j] - common[:, j]).T
        squares = (before[:, [j]] + change - columns @ (columns.T @ change)) ** 2
        best = int(np.argmin(squares.mean(axis=0)))
        gain, own = before[:, j] ** 2 - squares[:, best], float(fit.lags[best])
        sums = _block_sums(gain)
        clear = sums.sum() > _LATE_DEVIATIONS * np.sqrt(_BLOCKS) * np.std(sums, ddof=1)
        enough = gain.sum() > _LATE_PART * np.sum(before[:, j] ** 2)
        if clear and enough and abs(own - lag) >= _LATE_SECONDS:
            end = {0: " or less", len(fit.lags) - 1: " or more"}.get(best, "")
            yield (
                f"the efforts of joint '{name}' have a lag of {1e3 * own:.0f} ms{end}, but all "
                f"joints together have a lag of {1e3 * lag:.0f} ms: "
                f"{_shift(own - lag, bool(end))} the times of the efforts of this joint"
            )


def _shift(seconds: float, at_end: bool) -> str:
    """The correction of times that are late by these seconds, or by more."""
    milliseconds = f"{'at least ' * at_end}{1e3 * abs(seconds):.0f} ms"
    return f"subtract {milliseconds} from" if seconds > 0.0 else f"add {milliseconds} to"


def drifting_joints(arm: Arm, fit: TrialFit, lag: float) -> Iterator[str]:
    """Warnings about drifting torques, from the rows in which the joint moves."""
    rows, start = stacked(fit.rows), 0
    # at rest, stiction hides a drift
    moves = (np.abs(rows.qd) > MOVING_SPEED).astype(np.float64)
    basis, _ = _column_space(arm, rows, moves)
    fit = fit._replace(basis=basis.reshape(*moves.shape, basis.shape[1]))
    residual = fit.residual(moves * fit.torques[fit.nearest(lag)])
    for recording, part in zip(fit.names, fit.rows, strict=True):
        own = slice(start, start := start + len(part.time))
        if len(part.time) < _FEWEST_ROWS:
            continue
        ramp = (part.time - part.time[0]) / (part.time[-1] - part.time[0]) - 0.5
        for j, joint in enumerate(arm.joints):
            trends = np.zeros((2, *residual.shape))
            trends[:, own, j] = moves[own, j] * [ramp, np.ones_like(ramp)]
            slope, deviation = _slope(fit, residual, trends, own)
            if abs(slope) > max(_DRIFT_PART, _DRIFT_DEVIATIONS * deviation):
                unit = "N·m" if joint.turns else "N"
                size, error = fit.size[j] * slope, fit.size[j] * deviation
                digits = int(np.clip(np.ceil(-np.log10(max(error, 1e-9))), 0, 6))
                amount = f"{size:.{digits}f} ± {error:.{digits}f} {unit}"
                yield (
                    f"{recording}: the effort of joint '{joint.name}' drifts by {amount} during "
                    "the recording: calibrate the sensor, or warm up the robot before the recording"
                )


def _slope(fit: TrialFit, residual: Floats, trends: Floats, own: slice) -> tuple[float, float]:
    """Slope of a trend in a residual (rows, n) and its deviation; 0 if motions explain the trend.

    trends: (2, rows, n), the trend and an offset of the recording, whose rows are `own`
    """
    total = float(np.sum(trends[0] ** 2))
    # the parts that no column explains
    trend, level = (fit.residual(each) for each in trends)
    size = float(np.sum(level**2))
    if size > _ROUNDING * float(np.sum(trends[1] ** 2)):
        trend = trend - level * (np.sum(level * trend) / size)
        residual = residual - level * (np.sum(level * residual) / size)
    square = float(np.sum(trend**2))
    if square <= (1.0 - _EXPLAINED) * total:
        return 0.0, 0.0
    slope = float(np.sum(trend * residual)) / square
    scores = np.sum(trend * (residual - slope * trend), axis=1)[own]
    return slope, float(np.linalg.norm(_block_sums(scores))) / square


def _block_sums(values: Floats) -> Floats:
    """Sums (`_BLOCKS`,) of consecutive values."""
    return np.array([part.sum() for part in np.array_split(values, _BLOCKS)])


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
        smoothed = [smoothed_rows(each.recording, times, width, lag) for width in fitting]
        # all widths are compared on the same rows
        common = np.logical_and.reduce([keep for _, keep in smoothed])
        raw.append(each.recording.tau[at][common])
        for part, (rows, keep) in zip(parts, smoothed, strict=True):
            part.append(rows.part(common[keep]))
    measured, costs = np.concatenate(raw), []
    for part in parts:
        rows = stacked(part)
        own = without_known_torques(arm, rows).tau
        left = measured - (rows.tau - own) - _projected(arm, rows, own)
        costs.append(np.mean(left**2, axis=0))
    relative = np.array(costs) / np.maximum(np.min(costs, axis=0), 1e-300)
    return fitting[int(np.argmin(relative.sum(axis=1)))]


def _projected(arm: Arm, rows: SmoothRows, tau: Floats) -> Floats:
    """Torques (rows, n) that plain least squares fits, all joints with equal weight."""
    basis, size = _column_space(arm, rows)
    fitted = basis @ (basis.T @ (tau / size).ravel())
    return np.asarray(fitted.reshape(tau.shape) * size)


def _column_space(
    arm: Arm, rows: SmoothRows, weights: Floats | float = 1.0
) -> tuple[Floats, Floats]:
    """Orthonormal basis (rows · n, rank) of the columns, and the size (n,) of the torques.

    weights: of the torques (rows, n)
    """
    design = DesignRows(arm, parameter_list(arm))
    design.append(rows)
    size = np.maximum(np.sqrt(np.mean(rows.tau**2, axis=0)), 1e-12)
    v0 = np.full(arm.n, _TRIAL_VELOCITY)
    Y = np.concatenate([columns for _, columns in design.blocks(v0)]) / size[:, None]
    Y = (Y * np.broadcast_to(weights, rows.tau.shape)[..., None]).reshape(-1, Y.shape[-1])
    Y = Y / column_sizes(Y)
    sizes, axes = np.linalg.eigh(Y.T @ Y)
    kept = sizes > 1e-10 * sizes.max(initial=0.0)
    return Y @ (axes[:, kept] / np.sqrt(sizes[kept])), size
