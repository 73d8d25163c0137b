"""Time-optimal retiming of a path: the fastest motion within speed, acceleration and effort limits.

Along a path q(s), with x = ṡ² and u = s̈, the motion and its torques are affine in u and x:

    q̇² = q'² x        q̈ = q' u + q'' x        τ = a u + b x + c
    a = τ(q, 0, q') - c,  b = τ(q, q', q'') - c,  c = τ(q, 0, 0)

Between the points s₀ … s_N of the grid, u is constant, so x is linear: x_{i+1} = x_i + 2 Δ_i u_i.
The sweeps of TOPP-RA (Pham & Pham, IEEE T-RO 2018) then find the largest x at every point:

    backward   largest x_i from which some u_i reaches x_{i+1} ≤ K_{i+1}     controllable speeds K_i
    forward    largest u_i with x_{i+1} ≤ K_{i+1}, from x_0 = 0

Limits hold at ten times as many points: between s_i and s_{i+1}, they are affine in u_i and x_i.
The motion is checked at these points.  Where losses, which are not affine, exceed a limit, it is
tightened by the excess and the sweeps are repeated.  Rows at equal times lie between these points,
and are checked as well.  The path is also split at sharp corners; the motion stops there if this is
faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.control.optimization.joint_limits import JointRanges, require_simple
from robolin.control.retiming_problem import (
    Extremes,
    FineGrid,
    MotionSamples,
    PathLimits,
    PathProblem,
    SplinePath,
    indices_apart,
    turns_of,
)
from robolin.control.retiming_sweeps import NoSpeedError
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Indices, JointValues, Mask, as_joint_array, require_real
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import joint_unit
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError

# solutions at most: one without losses, which are not affine in ṡ², others with tighter limits
_REPEATS = 30
# motions at most whose rows at equal times are checked: most have fewer than five
_ROW_REPEATS = 100
# factor of ṡ² for a motion that would take longer than this factor with tighter limits
_SLOWER, _LONGER = 0.98, 1.05
# round-off of positions at their limits
_BEYOND = 1e-9
# neighbours within this part of the length are equal: a spline through round-off has corners
_ROUND_OFF = 1e-12
# intervals of a straight line between two points
_LINE = 20
# turns in degrees: a sampled smooth path has smaller ones; beyond the second, the path reverses
_CORNER, REVERSAL = 10.0, 170.0
# stops are tried at all corners of at least this part of the sharpest one
_AS_SHARP = 0.9


class PathStop(NamedTuple):
    """A stop at a corner of a path.

    Fields:
        row: number of the row of the path, from 0
        time: when the motion stops, in s
        turn: change of direction in degrees; 180 for a reversal
    """

    row: int
    time: float
    turn: float


@dataclass(frozen=True, eq=False, repr=False)
class RetimedMotion(DisplayMixin):
    """The fastest motion along a path within the limits.

    Fields:
        time: (rows,) in s, from 0
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        qdd: accelerations (rows, n) in rad/s² or m/s²
        tau: torques (rows, n) in N·m, or forces in N
        s: (rows,) path parameter: the length of the path in joint space
        used: (3, n) largest fraction of the velocity, acceleration and effort limits between the
            rows, 0 without a limit
        repeats: number of repetitions with tighter limits
        stops: corners at which the motion stops, because a stop is faster than passing the corner

    Example:
        >>> arm = robolin.load("two-link")
        >>> motion = robolin.retime(arm, [[0.0, 0.0], [0.5, 0.2], [1.0, -0.3]], max_velocity=2.0)
        >>> motion.qd[0].tolist(), bool(np.abs(motion.qd).max() <= 2.0)
        ([0.0, 0.0], True)
    """

    time: Floats
    q: Floats
    qd: Floats
    qdd: Floats
    tau: Floats
    s: Floats
    used: Floats
    repeats: int
    stops: tuple[PathStop, ...] = ()

    @property
    def duration(self) -> float:
        """Duration of the motion in s."""
        return float(self.time[-1])


def retime(
    arm: Arm,
    q: JointValues,
    *,
    max_velocity: JointValues | None = None,
    max_acceleration: JointValues | None = None,
    max_effort: JointValues | None = None,
    limit_scale: float = 1.0,
    dt: float | None = None,
) -> RetimedMotion:
    """Find the fastest motion along a path, from rest to rest.

    The path is a cubic spline through the points; its parameter s is the length in joint space.
    The result is the fastest motion whose squared speed ṡ² is linear between the points, so more
    points give a faster motion.  The motion stops at corners and reversals where a stop is faster
    than the overshoot of the spline.

    Args:
        arm: the arm, from `robolin.load`
        q: points of the path (rows, n) in rad or m; repeated points count once; a path with only
            two points gets 19 points in between
        max_velocity: velocity limits in rad/s or m/s, one number or (n,), instead of those of the
            file
        max_acceleration: acceleration limits in rad/s² or m/s², one number or (n,); None for none
        max_effort: effort limits in N·m or N, one number or (n,), instead of those of the file
        limit_scale: factor of the velocity and effort limits in the file
        dt: time between rows in s; None for one row per point of the path.  Limits also hold in
            rows between the points

    Returns:
        a `RetimedMotion`: times, positions, velocities, accelerations and torques

    Raises:
        RobolinError: a path that violates the limits at every speed, or no limits
        UsageError: `arm` is not an `Arm`, or an invalid argument

    Example:
        >>> arm = robolin.load("two-link")
        >>> path = np.linspace([0.0, 0.0], [1.0, 0.0], 201)
        >>> motion = robolin.retime(arm, path, max_acceleration=4.0, max_effort=1e3)
        >>> round(motion.duration, 6)  # bang-bang: 2 √(1 / 4)
        1.0
    """
    require_simple(arm, "retime")
    require_real(limit_scale=limit_scale, dt=1.0 if dt is None else dt)
    limits = PathLimits.of(arm, max_velocity, max_acceleration, max_effort, limit_scale)
    if dt is not None and not 0.0 < dt < np.inf:
        raise UsageError(f"must be > 0, got {dt}", where="dt", hint="try 0.01")
    parts = _parts(arm, *_points(arm, q), limits)
    return _joined(arm, parts, None) if dt is None else _at_equal_times(arm, parts, dt)


def _at_equal_times(arm: Arm, parts: Sequence[_PathPart], dt: float) -> RetimedMotion:
    """Rows at equal times; where rows exceed limits, the limits are tightened."""
    for _ in range(_ROW_REPEATS):
        motion, previous = _joined(arm, parts, dt), parts
        starts = np.cumsum([0.0, *(part.duration for part in parts[:-1])])
        index = np.searchsorted(starts, motion.time, side="right") - 1
        parts = [
            _with_rows(part, motion, np.flatnonzero(index == i), float(start))
            for i, (part, start) in enumerate(zip(parts, starts, strict=True))
        ]
        if all(new is old for new, old in zip(parts, previous, strict=True)):
            return motion
    raise _still_exceeded(arm, _ROW_REPEATS, parts[0].problem.rows[0], parts[-1].problem.rows[-1])


def _with_rows(part: _PathPart, motion: RetimedMotion, rows: Indices, start: float) -> _PathPart:
    """The part with tighter limits in intervals whose rows exceed them, else the same part."""
    index = _intervals(part.times, motion.time[rows] - start)
    rates, values = np.abs(motion.qd[rows]), np.hstack([motion.tau[rows], motion.qdd[rows]])
    changes = Extremes.of_rows(len(part.x) - 1, index, rates, values).excess(part.problem.limits)
    if not any(change.any() for change in changes):
        return part
    if not part.slowed:
        # the fastest motion may almost rest at a point, or come to rest where it cannot stay: then
        # the same motion, but slower, takes less time
        with suppress(_NoMotionError):
            tighter = _within_limits(part.problem.reduced(changes, part.extremes))
            if tighter.duration <= _LONGER * part.duration:
                return replace(tighter, repeats=part.repeats + 1 + tighter.repeats, turn=part.turn)
    extremes = Extremes.of(MotionSamples.of(part.problem, x := _SLOWER * part.x))
    return replace(part, x=x, extremes=extremes, repeats=part.repeats + 1, slowed=True)


def _intervals(times: Floats, at: Floats) -> Indices:
    """The interval of each time between the times of the points."""
    index: Indices = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    return index


def _points(arm: Arm, q: JointValues) -> tuple[Floats, Indices]:
    """Points of the path that differ, and their rows."""
    points = as_joint_array(arm, "q", q)
    if points.ndim != 2:
        raise UsageError(
            f"a path must have several rows of positions, got shape {points.shape}",
            where="q",
            hint="pass an array of shape (rows, n)",
        )
    lengths = np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))
    moved: Mask = np.append(True, lengths > _ROUND_OFF * lengths.sum())
    if moved.sum() < 2:
        raise RobolinError("the path has only one point", hint="pass at least two different rows")
    return points[moved], np.flatnonzero(moved)


# parts between stops


@dataclass(frozen=True)
class _PathPart:
    """A part of the path from rest to rest, with ṡ² at its points: by sweeps, or slowed down."""

    problem: PathProblem
    x: Floats
    extremes: Extremes
    repeats: int
    turn: float = 0.0
    slowed: bool = False

    @property
    def times(self) -> Floats:
        """Times of the points from the start of the part."""
        s, speed = self.problem.path.s, np.sqrt(self.x)
        return np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (speed[1:] + speed[:-1]))])

    @property
    def duration(self) -> float:
        return float(self.times[-1])


def _parts(arm: Arm, points: Floats, rows: Indices, limits: PathLimits) -> list[_PathPart]:
    """Parts of the fastest motion: the whole path, or parts between stops at corners."""
    if turns_of(points).max(initial=0.0) >= _CORNER:
        kept = indices_apart(points)
        points, rows = points[kept], rows[kept]
    unsplit = _attempt(arm, points, rows, limits)
    if isinstance(unsplit, _NoMotionError):
        _require_held(arm, points, rows, limits.ranges)
    return _fastest(arm, points, rows, limits, unsplit)


def _fastest(
    arm: Arm, points: Floats, rows: Indices, limits: PathLimits, unsplit: _PathPart | _NoMotionError
) -> list[_PathPart]:
    """The whole path, or its parts between stops at its sharpest corners if they are faster."""
    turns = turns_of(points)
    sharpest = turns.max(initial=0.0)
    if sharpest < _CORNER:
        if isinstance(unsplit, _NoMotionError):
            raise unsplit.reason from None
        return [unsplit]
    corners = 1 + np.flatnonzero(turns >= max(_CORNER, _AS_SHARP * sharpest))
    ends = pairwise([0, *corners.tolist(), len(points) - 1])
    split = [(points[i : j + 1], rows[i : j + 1]) for i, j in ends]
    attempts = [_attempt(arm, *each, limits) for each in split]
    if isinstance(unsplit, _PathPart):
        solved = [each for each in attempts if isinstance(each, _PathPart)]
        if len(solved) < len(attempts) or sum(each.duration for each in solved) >= unsplit.duration:
            return [unsplit]
    parts = [_fastest(arm, *each, limits, part) for each, part in zip(split, attempts, strict=True)]
    for part, turn in zip(parts[1:], turns[corners - 1].tolist(), strict=True):
        part[0] = replace(part[0], turn=turn)
    return [*chain(*parts)]


def _attempt(
    arm: Arm, points: Floats, rows: Indices, limits: PathLimits
) -> _PathPart | _NoMotionError:
    try:
        return _solved(arm, points, rows, limits)
    except _NoMotionError as error:
        return error


class _NoMotionError(Exception):
    """A part of the path without a motion within the limits, for this reason."""

    def __init__(self, reason: RobolinError) -> None:
        super().__init__(reason)
        self.reason = reason


def _solved(arm: Arm, points: Floats, rows: Indices, limits: PathLimits) -> _PathPart:
    if len(points) == 2:
        # ṡ² is linear between points: two points at rest have no motion
        points = np.linspace(points[0], points[1], _LINE + 1)
        rows = np.append(np.repeat(rows[:1], _LINE), rows[1:])
    path = SplinePath.through(points)
    problem = PathProblem.of(arm, path, rows, FineGrid.of(path), limits)
    _require_positions(problem)
    return _within_limits(problem)


def _require_positions(problem: PathProblem) -> None:
    """Reject a path that leaves the position limits, also between its points."""
    arm, fine, ranges = problem.arm, problem.fine, problem.limits.ranges
    beyond = np.maximum(ranges.q_lower - fine.q, fine.q - ranges.q_upper)
    point, interval, joint = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    excess = beyond[point, interval, joint]
    unit = joint_unit("position", arm.joints[joint].turns)
    if excess > _BEYOND:
        raise _NoMotionError(
            RobolinError(
                f"the path exceeds the position limit of joint '{arm.joint_names[joint]}' by "
                f"{excess:.3g} {unit} after point {problem.rows[interval] + 1} of the path",
                where=arm.source,
                hint="change the path; `robolin inspect` lists the limits",
            )
        )


def _require_held(arm: Arm, points: Floats, rows: Indices, ranges: JointRanges) -> None:
    """Reject points at which a joint cannot hold the robot at rest."""
    hold = inverse(arm, points)
    beyond = np.maximum(hold - ranges.tau_upper, ranges.tau_lower - hold)
    if not (beyond > 0.0).any():
        return
    at = int(np.argmax((beyond > 0.0).any(axis=1)))
    joint = int(np.argmax(beyond[at]))
    unit = joint_unit("effort", arm.joints[joint].turns)
    upper = hold[at, joint] > ranges.tau_upper[joint]
    limit = ranges.tau_upper[joint] if upper else ranges.tau_lower[joint]
    raise RobolinError(
        f"joint '{arm.joint_names[joint]}' cannot hold the robot at point {rows[at] + 1} of the "
        f"path: it needs {hold[at, joint]:.4g} {unit}, but its effort limit is {limit:.4g} {unit}",
        where=arm.source,
        hint="change the path, reduce the payload, or raise the limit with --max-effort",
    )


def _within_limits(problem: PathProblem) -> _PathPart:
    """Solve, check all points, and repeat with tighter limits where one is exceeded."""
    corrected, tightened = problem.affine, 0
    for _ in range(_REPEATS):
        try:
            x = problem.sweep()
        except NoSpeedError as error:
            raise _no_speed(problem, error) from None
        samples = MotionSamples.of(problem, x)
        if not corrected:
            corrected, problem = True, replace(problem, shift=samples.losses(problem))
            continue
        extremes = Extremes.of(samples)
        below, above, fast = extremes.excess(problem.limits)
        if not (below.any() or above.any() or fast.any()):
            return _PathPart(problem, x, extremes, tightened)
        tightened += 1
        problem = problem.tightened(below, above, fast)
    raise _NoMotionError(_still_exceeded(problem.arm, _REPEATS, problem.rows[0], problem.rows[-1]))


def _still_exceeded(arm: Arm, repeats: int, first: int, last: int) -> RobolinError:
    return RobolinError(
        f"the motion still exceeds the limits between points {first + 1} and {last + 1} of "
        f"the path after {repeats} repetitions",
        where=arm.source,
        hint="use more points, or a smoother path",
    )


def _no_speed(problem: PathProblem, error: NoSpeedError) -> Exception:
    """The error of a path without a speed within the limits."""
    where = problem.arm.source
    if error.point is None:
        hint = "add --max-velocity, --max-acceleration or --max-effort"
        return RobolinError(
            "the moving joints have no limit that bounds the speed", where=where, hint=hint
        )
    text = (
        f"no path speed satisfies all limits at point {problem.rows[error.point] + 1} of the path"
    )
    hint = "change the path, or set --max-effort"
    return _NoMotionError(RobolinError(text, where=where, hint=hint))


def _joined(arm: Arm, parts: Sequence[_PathPart], dt: float | None) -> RetimedMotion:
    """Rows at the points of the path, or at equal times."""
    each = [part.times for part in parts]
    ends = np.cumsum([times[-1] for times in each])
    starts = np.append(0.0, ends[:-1])
    if dt is None:
        # a stop has one row, with the acceleration after it
        at = [
            times if part is parts[-1] else times[:-1]
            for part, times in zip(parts, each, strict=True)
        ]
        time = np.concatenate([start + local for start, local in zip(starts, at, strict=True)])
    else:
        time = np.linspace(0.0, ends[-1], max(2, 1 + round(ends[-1] / dt)))
        index = np.searchsorted(starts, time, side="right") - 1
        at = [time[index == i] - start for i, start in enumerate(starts)]
    rows = [
        _states(part, times, local, dt is None)
        for part, times, local in zip(parts, each, at, strict=True)
    ]
    lengths = np.cumsum([0.0, *(part.problem.path.s[-1] for part in parts[:-1])])
    s = np.concatenate([start + own for start, (own, *_) in zip(lengths, rows, strict=True)])
    q, qd, qdd = (np.concatenate([row[k] for row in rows]) for k in (1, 2, 3))
    stops = tuple(
        PathStop(int(part.problem.rows[0]), float(start), part.turn)
        for part, start in zip(parts[1:], starts[1:], strict=True)
    )
    used = np.max([part.extremes.used(part.problem.limits) for part in parts], axis=0)
    repeats = max(part.repeats for part in parts)
    return RetimedMotion(time, q, qd, qdd, inverse(arm, q, qd, qdd), s, used, repeats, stops)


def _states(
    part: _PathPart, times: Floats, at: Floats, points: bool
) -> tuple[Floats, Floats, Floats, Floats]:
    """s, positions, velocities and accelerations of a part, at its first points or at times."""
    path, x, speed = part.problem.path, part.x, np.sqrt(part.x)
    s, last = path.s, len(path.s) - 2
    if points:
        index = np.minimum(np.arange(len(at)), last)
    else:
        index = _intervals(times, at)
    u = (np.diff(x) / (2.0 * np.diff(s)))[index]
    after = at - times[index]
    rate = np.maximum(speed[index] + u * after, 0.0)
    where = np.clip(s[index] + (speed[index] + 0.5 * u * after) * after, 0.0, s[-1])
    if points:
        where, rate = s[: len(at)], speed[: len(at)]
    q, slope, bend = path.at(index, where)
    # adding 0 turns -0.0 into 0.0
    qd, qdd = slope * rate[:, None] + 0.0, slope * u[:, None] + bend * (rate * rate)[:, None]
    return where, q, qd, qdd
