"""Time-optimal retiming of a path: the fastest motion within speed, acceleration and effort limits.

Along a path q(s), with x = ṡ² and u = s̈, the motion and its torques are affine in u and x:

    q̇² = q'² x        q̈ = q' u + q'' x        τ = a u + b x + c
    a = τ(q, 0, q') - c,  b = τ(q, q', q'') - c,  c = τ(q, 0, 0)

Between the points s₀ … s_N of the grid, u is constant, so x is linear: x_{i+1} = x_i + 2 Δ_i u_i.
The sweeps of TOPP-RA (Pham & Pham, IEEE T-RO 2018) then find the largest x at every point:

    backward   largest x_i from which some u_i reaches x_{i+1} ≤ K_{i+1}     controllable speeds K_i
    forward    largest u_i with x_{i+1} ≤ K_{i+1}, from x_0 = 0

Limits hold at both ends of every interval.  All limits are checked at ten times as many points;
where one is exceeded, it is tightened by the excess and the sweeps are repeated.  Where the spline
bends too sharply for any speed, the path is split: the motion stops at this corner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.control.optimization.joint_limits import JointRanges, require_simple
from robolin.control.retiming_problem import (
    FINER,
    FineGrid,
    PathLimits,
    PathProblem,
    SplinePath,
    has_losses,
    indices_apart,
    turns_of,
)
from robolin.control.retiming_sweeps import NoSpeedError, squared_speeds
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Indices, JointValues, Mask, as_joint_array, require_real
from robolin.core.notebook import DisplayMixin
from robolin.core.quantity_table import joint_unit
from robolin.errors import RobolinError, UsageError

# solutions at most: one without losses, which are not affine in ṡ², others with tighter limits
_REPEATS = 30
# losses below this part of the range of a limit hardly change the motion
_SMALL_LOSS = 0.01
# limits are tightened by this multiple of the excess, and by this part of the limit for round-off
_TIGHTER, _SPARE = 1.5, 1e-9
# neighbours within this part of the length are equal: a spline through round-off has corners
_ROUND_OFF = 1e-12
# intervals of a straight line between two points
_LINE = 20
# turns in degrees: a sampled smooth path has smaller ones; beyond the second, the path reverses
_CORNER, REVERSAL = 10.0, 170.0
# the path stops at all corners of at least this part of its sharpest one
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
    """A motion along a path, as fast as its limits allow.

    Fields:
        time: (rows,) in s, from 0
        q: positions (rows, n) in rad or m
        qd: velocities (rows, n) in rad/s or m/s
        qdd: accelerations (rows, n) in rad/s² or m/s²
        tau: torques (rows, n) in N·m, or forces in N
        s: (rows,) path parameter: the length of the path in joint space
        used: (3, n) largest fraction of the velocity, acceleration and effort limits between the
            rows, 0 without a limit
        repeats: repetitions with tighter limits
        stops: corners at which the motion stops, because no speed passes them within the limits

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

    The path is a cubic spline through the points, by length in joint space.  The motion is the
    fastest one whose speed ṡ² is linear between the points: more points give a faster motion.
    It stops at corners and reversals that no speed passes within the limits.

    Args:
        arm: the arm, from `robolin.load`
        q: points of the path (rows, n) in rad or m; equal neighbours count once, and a line
            between two points gets 19 more
        max_velocity: velocity limits in rad/s or m/s, one number or (n,), instead of those of the
            file
        max_acceleration: acceleration limits in rad/s² or m/s², one number or (n,); None for none
        max_effort: effort limits in N·m or N, one number or (n,), instead of those of the file
        limit_scale: factor of the velocity and effort limits in the file
        dt: time between rows in s; None for one row per point of the path

    Returns:
        a `RetimedMotion`: times, positions, velocities, accelerations and torques

    Raises:
        RobolinError: a path that no speed keeps within the limits, or without any limit
        UsageError: not an arm, or an invalid argument

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
    return _joined(arm, _parts(arm, *_points(arm, q), limits), dt)


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
        raise RobolinError("the path does not move", hint="give at least two different rows")
    return points[moved], np.flatnonzero(moved)


# parts between stops


@dataclass(frozen=True)
class _PathPart:
    """A part of the path from rest to rest, with ṡ² at its points."""

    problem: PathProblem
    x: Floats
    used: Floats
    repeats: int
    turn: float = 0.0

    @property
    def times(self) -> Floats:
        """Times of the points from the start of the part."""
        s, speed = self.problem.path.s, np.sqrt(self.x)
        return np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (speed[1:] + speed[:-1]))])


def _parts(arm: Arm, points: Floats, rows: Indices, limits: PathLimits) -> list[_PathPart]:
    """Solve the path; where it has no motion, split it at its sharpest corners."""
    try:
        return [_solved(arm, points, rows, limits)]
    except _NoMotionError:
        _require_held(arm, points, rows, limits.ranges)
        kept = indices_apart(points)
        points, rows = points[kept], rows[kept]
    # the first part is the last of the list; each has the turn at its start
    waiting, parts = [(points, rows, 0.0)], list[_PathPart]()
    while waiting:
        points, rows, turn = waiting.pop()
        try:
            parts.append(replace(_solved(arm, points, rows, limits), turn=turn))
        except _NoMotionError as error:
            turns = turns_of(points)
            sharpest = turns.max(initial=0.0)
            if sharpest < _CORNER:
                raise error.reason from None
            corners = 1 + np.flatnonzero(turns >= max(_CORNER, _AS_SHARP * sharpest))
            ends = [0, *corners.tolist(), len(points) - 1]
            starting = [turn, *turns[corners - 1].tolist()]
            split = [
                (points[i : j + 1], rows[i : j + 1], at)
                for i, j, at in zip(ends[:-1], ends[1:], starting, strict=True)
            ]
            waiting += reversed(split)
    return parts


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
    row, joint = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    if beyond[row, joint] > _SPARE:
        raise _NoMotionError(
            RobolinError(
                f"the path exceeds the position limit of joint '{arm.joint_names[joint]}' by "
                f"{beyond[row, joint]:.3g} after point {problem.rows[fine.index[row]] + 1} of "
                "the path",
                where=arm.source,
                hint="change the path; `robolin inspect` lists the limits",
            )
        )


def _require_held(arm: Arm, points: Floats, rows: Indices, ranges: JointRanges) -> None:
    """Reject points at which a joint cannot hold the arm at rest."""
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
        f"joint '{arm.joint_names[joint]}' cannot hold the arm at point {rows[at] + 1} of the "
        f"path: it needs {hold[at, joint]:.4g} {unit}, its limit is {limit:.4g} {unit}",
        where=arm.source,
        hint="change the path, reduce the payload, or raise the limit with --max-effort",
    )


def _within_limits(problem: PathProblem) -> _PathPart:
    """Solve, check between the points, and repeat with tighter limits where one is exceeded."""
    corrected, tightened = not has_losses(problem.arm), 0
    for _ in range(_REPEATS):
        try:
            x = squared_speeds(problem)
        except NoSpeedError as error:
            raise _no_speed(problem, error) from None
        samples = _samples(problem, x)
        if not corrected:
            corrected, shift = True, _losses(problem, samples)
            if (np.abs(shift) > _SMALL_LOSS * (problem.upper - problem.lower)).any():
                problem = replace(problem, shift=shift)
                continue
        below, above, fast = _excess(problem, samples)
        if not (below.any() or above.any() or fast.any()):
            return _PathPart(problem, x, _used(problem, samples), tightened)
        tightened += 1
        problem = replace(
            problem,
            lower=problem.lower + below,
            upper=problem.upper - above,
            speed=problem.speed - fast,
        )
    first, last = problem.rows[0] + 1, problem.rows[-1] + 1
    raise _NoMotionError(
        RobolinError(
            f"the limits are still exceeded after {_REPEATS} repetitions between points {first} "
            f"and {last} of the path",
            where=problem.arm.source,
            hint="use more points, or a smoother path",
        )
    )


@dataclass(frozen=True)
class _Samples:
    """Velocities, accelerations, torques, s̈ and ṡ² at ten times as many points."""

    qd: Floats
    qdd: Floats
    tau: Floats
    u: Floats
    x: Floats


def _samples(problem: PathProblem, x: Floats) -> _Samples:
    fine, s = problem.fine, problem.path.s
    u = (np.diff(x) / (2.0 * np.diff(s)))[fine.index]
    x = x[fine.index] + fine.share * np.diff(x)[fine.index]
    qd = fine.slope * np.sqrt(x)[:, None]
    qdd = fine.slope * u[:, None] + fine.bend * x[:, None]
    return _Samples(qd, qdd, inverse(problem.arm, fine.q, qd, qdd), u, x)


def _excess(problem: PathProblem, samples: _Samples) -> tuple[Floats, Floats, Floats]:
    """Change of the lower, upper and velocity limits of every interval; 0 within them."""
    parts = (FINER + 1, len(problem.path.s) - 1, -1)
    ranges, most = problem.limits.ranges, problem.limits.acceleration
    largest, least = (
        np.hstack([take(each.reshape(parts), axis=0) for each in (samples.tau, samples.qdd)])
        for take in (np.max, np.min)
    )
    above = largest - np.concatenate([ranges.tau_upper, most])
    below = np.concatenate([ranges.tau_lower, -most]) - least
    fast = np.abs(samples.qd).reshape(parts).max(axis=0) - ranges.qd_upper
    sizes = np.concatenate([np.abs(ranges.tau_upper), most])
    return _tightening(below, sizes), _tightening(above, sizes), _tightening(fast, ranges.qd_upper)


def _tightening(excess: Floats, limit: Floats) -> Floats:
    spare = _SPARE * np.where(np.isfinite(limit), limit, 0.0)
    return np.where(excess > 0.0, _TIGHTER * excess + spare, 0.0)


def _losses(problem: PathProblem, samples: _Samples) -> Floats:
    """Torques at both ends of every interval that are not affine in s̈ and ṡ²."""
    n, intervals = problem.arm.n, len(problem.path.s) - 1
    tau = samples.tau.reshape(FINER + 1, intervals, n)
    u, x = (each.reshape(FINER + 1, intervals, 1) for each in (samples.u, samples.x))
    shift = np.zeros_like(problem.shift)
    for end, point in ((0, slice(None, -1)), (1, slice(1, None))):
        a, b, c = (each[point, :n] for each in (problem.a, problem.b, problem.c))
        shift[end, :, :n] = tau[-end] - (a * u[-end] + b * x[-end] + c)
    return shift


def _no_speed(problem: PathProblem, error: NoSpeedError) -> Exception:
    """The error of a path without a speed within the limits."""
    where = problem.arm.source
    if error.point is None:
        hint = "add --max-velocity, --max-acceleration or --max-effort"
        return RobolinError(
            "the moving joints have no limit that bounds the speed", where=where, hint=hint
        )
    text = f"every speed exceeds a limit at point {problem.rows[error.point] + 1} of the path"
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
    used = np.max([part.used for part in parts], axis=0)
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
        index = np.clip(np.searchsorted(times, at, side="right") - 1, 0, last)
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


def _used(problem: PathProblem, samples: _Samples) -> Floats:
    """Largest used fraction of every limit, between the points too."""
    qd, qdd, tau = samples.qd, samples.qdd, samples.tau
    ranges = problem.limits.ranges
    efforts = np.maximum(tau / ranges.tau_upper, tau / ranges.tau_lower)
    shares = (np.abs(qd) / ranges.qd_upper, np.abs(qdd) / problem.limits.acceleration, efforts)
    return np.stack([share.max(axis=0) for share in shares])
