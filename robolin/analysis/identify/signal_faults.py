"""Faults within the signals of a recording: spikes, bursts, signals that keep one value, gaps.

Spikes of up to 7 rows are replaced by linear interpolation: numbers far from the running median
that jump away and back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from robolin.analysis.identify.design_rows import MOVING_SPEED
from robolin.analysis.identify.recording import LARGEST, ROBUST, Recording
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.text import join_and, pluralize
from robolin.errors import RobolinError

# rows of the running median, and the deviation in robust standard deviations that it replaces
MEDIAN_ROWS, _MEDIAN_DEVIATIONS = 15, 6.0
# factor by which third differences must show more noise than the running median does
_MORE_NOISE = 1.5
# rows, and numbers, whose running median is found together
_ROWS_TOGETHER, _NUMBERS_TOGETHER = 512, 4096
# rows of a burst of equal values (fewer rows are a spike), and of one that is cut off at an end
_FEWEST_EQUAL, MOST_EQUAL = 8, 256
# factor of a jump to the median of neighbouring steps, number of these steps on each side, and the
# smallest jump relative to the range
_LARGER, _NEIGHBOURS, _PART_OF_RANGE = 6.0, 8, 0.02
# part of the range below which values are equal
_ROUNDING = 1e-12
# part of the rows from which on torques that keep their values are usual
_USUAL = 0.3
# seconds and rows for which a sound signal of a moving joint does not keep one value, and the part
# of the rows from which on such signals are reported
_HELD_SECONDS, _HELD_ROWS, _HELD_PART = 0.1, 10, 0.005
# part of the rows from which on missing rows are reported
_MISSING_PART = 0.01


def running_median(values: Floats, rows: int = MEDIAN_ROWS) -> Floats:
    """Median of the finite numbers among `rows` neighbours, column by column."""
    half = rows // 2
    padded = np.pad(values, ((half, half), (0, 0)), mode="edge")
    windows = np.lib.stride_tricks.sliding_window_view(padded, rows, axis=0)
    middle = np.empty_like(values)
    together = max(_ROWS_TOGETHER, _NUMBERS_TOGETHER // values.shape[1])
    for i in range(0, len(values), together):
        middle[i : i + together] = _medians(windows[i : i + together])
    return middle


def _medians(windows: Floats) -> Floats:
    """Median of the finite numbers of every window (..., w)."""
    if np.isfinite(windows).all():
        return np.asarray(np.median(windows, axis=-1))
    with np.errstate(all="ignore"):
        ordered = np.sort(windows, axis=-1)
    count = np.isfinite(ordered).sum(axis=-1, keepdims=True)
    low, high = np.maximum((count - 1) // 2, 0), np.maximum(count // 2, 0)
    middle = 0.5 * (
        np.take_along_axis(ordered, low, axis=-1) + np.take_along_axis(ordered, high, axis=-1)
    )
    return np.asarray(middle[..., 0])


def without_spikes(values: Floats) -> tuple[Floats, Mask]:
    """Replace single wrong numbers by those between their neighbours; also their mask (rows,)."""
    repaired = values.copy()
    wrong = np.zeros(len(values), dtype=bool)
    for j in range(values.shape[1]):
        column, spikes = _column_without_spikes(values[:, j : j + 1])
        repaired[:, j] = column[:, 0]
        wrong |= spikes[:, 0]
    return repaired, wrong


def _column_without_spikes(values: Floats) -> tuple[Floats, Mask]:
    finite = np.where(np.abs(values) < LARGEST, values, np.nan)
    middle = running_median(finite)
    distance = np.abs(finite - middle)
    scale = ROBUST * np.nanmedian(distance, axis=0)
    scale = np.maximum(scale, _noise_of_a_steep_signal(finite[:, 0], float(scale[0])))
    # a signal without noise, or at rest, deviates by rounding alone
    swing = np.nanpercentile(finite, 99.0, axis=0) - np.nanpercentile(finite, 1.0, axis=0)
    scale = np.maximum(scale, 2e-3 * swing)
    limit = _MEDIAN_DEVIATIONS * scale + 1e-12
    spikes = _cut_off(finite, (distance <= limit)[:, 0], float(limit[0]))[:, None]
    repaired, rows = finite.copy(), np.arange(len(values))
    for j in np.flatnonzero(spikes.any(axis=0) & ~spikes.all(axis=0)):
        wrong = spikes[:, j]
        repaired[wrong, j] = np.interp(rows[wrong], rows[~wrong], finite[~wrong, j])
    return repaired, spikes


def _noise_of_a_steep_signal(column: Floats, scale: float) -> float:
    """Standard deviation by third differences; 0 if `scale`, by the running median, is right.

    In a steep signal, whose steps exceed the noise, many rows are the median of their neighbours.
    """
    changes = np.abs(np.diff(column, 3))
    changes = changes[np.isfinite(changes)]
    if not changes.size:
        return 0.0
    noise = ROBUST / np.sqrt(20.0) * float(np.median(changes))
    steep = np.nanmedian(np.abs(np.diff(column))) > noise
    return noise if steep and noise > _MORE_NOISE * scale else 0.0


def _cut_off(column: Floats, usual: Mask, limit: float) -> Mask:
    """Rows between two jumps without any usual row: a glitch leaves the signal and returns.

    Rows next to a step, such as friction of a joint that turns, are far from the median too, but
    connect to usual rows.
    """
    steps = np.diff(column, axis=0)
    # a steep signal has large steps, but equal ones
    usual_steps = running_median(steps) if len(steps) else steps
    jumps = ~(np.abs(steps - usual_steps)[:, 0] <= limit)
    piece = np.concatenate([[0], np.cumsum(jumps)])
    kept = np.zeros(piece[-1] + 1, dtype=bool)
    kept[piece[usual]] = True
    return np.asarray(~kept[piece])


def constant_bursts(recording: Recording) -> Mask:
    """Rows (rows,) of bursts: a signal jumps to one value, keeps it exactly, and jumps back.

    A robot at rest keeps its values too, but does not jump.  Velocities that agree with the
    positions, and torques of a robot at rest, are no burst.
    """
    time, q, qd, tau = recording.time, recording.q, recording.qd, recording.tau
    wrong = np.zeros(len(time), dtype=bool)
    for j in range(q.shape[1]):
        for first, last in _equal_runs(q[:, j]):
            wrong[first:last] = True
    for values in [each for each in (qd, tau) if each is not None]:
        for j in range(values.shape[1]):
            column = values[:, j]
            runs = [run for run in _equal_runs(column) if run[0] > 0 and run[1] < len(column)]
            if values is tau and _equal_part(column) > _USUAL:
                continue
            for first, last in runs:
                seconds = time[last] - time[first - 1]
                with np.errstate(all="ignore"):
                    speed = (q[last] - q[first - 1]) / (seconds if seconds > 0.0 else np.inf)
                jump = abs(column[first] - 0.5 * (column[first - 1] + column[last]))
                moves = bool((np.abs(speed) > MOVING_SPEED).any())
                gap = abs(speed[j] - column[first])
                if moves if values is tau else gap > max(0.5 * jump, MOVING_SPEED):
                    wrong[first:last] = True
    return wrong


def _equal_part(column: Floats) -> float:
    """Part of the values that equal the value before."""
    return float(np.mean(column[1:] == column[:-1]))


def _equal_runs(column: Floats) -> Iterator[tuple[int, int]]:
    """Rows from `first` to `last` of one value, with jumps of opposite signs on both sides.

    A run at the beginning or the end has a jump on one side only.
    """
    possible = np.abs(column) < LARGEST
    if not possible.any():
        return
    low, high = np.percentile(column[possible], [1.0, 99.0])
    steps = np.diff(np.where(possible, column, np.nan))
    changes = np.flatnonzero(~(np.abs(steps) <= _ROUNDING * (high - low)))
    if not changes.size:
        return
    size = np.nan_to_num(np.abs(steps[changes]), nan=0.0)
    # steps of a quantized signal are multiples of the smallest one
    least = max(
        _PART_OF_RANGE * (high - low), _LARGER * float(size[size > 0.0].min(initial=np.inf))
    )
    jumps = np.where(size > least, steps[changes], 0.0)
    # run i is between changes i - 1 and i
    into, out = np.concatenate([[0.0], jumps]), np.concatenate([jumps, [0.0]])
    ends = np.concatenate([changes + 1, [len(column)]])
    lengths = np.diff(ends, prepend=0)
    back = (into * out < 0.0) & (lengths <= MOST_EQUAL)
    back[[0, -1]] = out[0] != 0.0, into[-1] != 0.0
    for i in np.flatnonzero(back & (lengths >= _FEWEST_EQUAL)).tolist():
        neighbours = np.concatenate(
            [size[max(0, i - 1 - _NEIGHBOURS) : max(0, i - 1)], size[i + 1 :][:_NEIGHBOURS]]
        )
        usual = float(np.median(neighbours)) if neighbours.size else 0.0
        if min(abs(each) for each in (into[i], out[i]) if each) > _LARGER * usual:
            yield int(ends[i] - lengths[i]), int(ends[i])


def held_values(recording: Recording) -> dict[str, Mask]:
    """Masks (rows, n) of "position", "velocity" and "effort" that keep one value.

    The joint moves in the meantime, so that the sensor is saturated, stuck or coarse.
    """
    time, q, qd = recording.time, recording.q, recording.qd
    named = {"position": q, "effort": recording.tau} | ({} if qd is None else {"velocity": qd})
    masks = {name: np.zeros(q.shape, dtype=bool) for name in named}
    for name, values in named.items():
        for j in range(q.shape[1]):
            ends = np.flatnonzero(np.diff(values[:, j]) != 0.0) + 1
            starts, ends = np.concatenate([[0], ends]), np.concatenate([ends, [len(values)]])
            long = ends - starts >= _HELD_ROWS
            for first, last in zip(starts[long].tolist(), ends[long].tolist(), strict=True):
                run = slice(first, last)
                seconds = time[last - 1] - time[first]
                if not seconds >= _HELD_SECONDS:
                    continue
                way = q[run, j]
                if name == "velocity":
                    # a robot may move at a constant velocity
                    way = way - values[first, j] * (time[run] - time[first])
                elif name == "position":
                    way = np.zeros(1) if qd is None else np.cumsum(qd[run, j]) * seconds / len(way)
                masks[name][run, j] = np.ptp(way) > MOVING_SPEED * min(seconds, 1.0)
    return masks


def count_held(held: dict[str, Floats], part: Recording, bursts: Mask, own: slice) -> None:
    """Add the rows (n,) of `held_values` that are no bursts, for the own rows of a part."""
    for name, mask in held_values(part).items():
        count = np.sum((mask & ~bursts[:, None])[own], axis=0)
        held[name] = held.get(name, np.zeros(mask.shape[1])) + count


def held_notes(arm: Arm, held: Mapping[str, Floats], rows: int) -> Iterator[str]:
    """Notes about signals that keep one value while the joint moves.

    held: number of such rows (n,) of each signal
    """
    for name, counts in held.items():
        joints = [n for n, c in zip(arm.joint_names, counts, strict=True) if c > _HELD_PART * rows]
        if joints:
            part = 100.0 * float(np.max(counts)) / rows
            yield (
                f"the {name} of {join_and(joints)} keeps one value for {_HELD_SECONDS:g} s or more "
                f"in {'up to ' if len(joints) > 1 else ''}{part:.2g} % of the rows, although the "
                "joint moves: the sensor is saturated, stuck or too coarse"
            )


def lag_notes(lag: float, lags: Floats) -> Iterator[str]:
    """A note about a lag in s that is the smallest or largest one of all that are tried."""
    if lag in (lags[0], lags[-1]):
        yield (
            f"the best lag, {1e3 * lag:.0f} ms, is an end of the range of all lags that are tried, "
            f"{1e3 * lags[0]:.0f} to {1e3 * lags[-1]:.0f} ms: if you know the delay of the "
            "efforts, set --lag"
        )


# periods by which a late stamp may lie before the next one
_LATE_STAMPS = 10.0


def require_ordered_times(recording: Recording, clock: str | float) -> None:
    """Reject time stamps that decrease: by any amount, or by ten periods if these replace them."""
    allowed = _LATE_STAMPS * clock if isinstance(clock, float) else 0.0
    steps = np.diff(recording.time)
    row = int(np.argmin(steps)) if len(steps) else 0
    if len(steps) and steps[row] < -allowed:
        before, after = recording.time[row : row + 2]
        raise RobolinError(
            f"the time decreases from {before:.6g} s to {after:.6g} s",
            where=recording.name,
            hint="sort the rows by time; pass joined recordings as separate files",
        )


def missing_rows(time: Floats, period: float) -> int:
    """Number of rows that are missing between rows at these times."""
    steps = np.diff(time) / period if period > 0.0 else np.zeros(0)
    return int(np.sum(np.maximum(np.rint(steps) - 1.0, 0.0)))


def fault_notes(
    arm: Arm,
    name: str,
    counts: tuple[int, int, int, int],
    held: Mapping[str, Floats],
) -> Iterator[str]:
    """Notes about the faults of a recording.

    counts: sound rows, incomplete or damaged rows, rows of bursts, missing rows
    """
    rows, left_out, constant, missing = counts
    if left_out:
        yield f"{name}: {pluralize(left_out, 'incomplete or damaged row')} ignored"
    if constant:
        ignored = pluralize(constant, "row")
        yield f"{name}: {ignored} ignored: values jump to a constant and back"
    # rows that are left out are gaps in the times too
    if (lost := missing - left_out - constant) > _MISSING_PART * rows:
        yield f"{name}: about {pluralize(lost, 'row')} missing, according to the time stamps"
    yield from (f"{name}: {note}" for note in held_notes(arm, held, rows))
