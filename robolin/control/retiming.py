"""Time-optimal retiming of a path: the fastest motion within speed, acceleration and effort limits.

Along a path q(s), with x = ṡ² and u = s̈, the motion and its torques are affine in u and x:

    q̇² = q'² x        q̈ = q' u + q'' x        τ = a u + b x + c
    a = τ(q, 0, q') - c,  b = τ(q, q', q'') - c,  c = τ(q, 0, 0)

Between the points s₀ … s_N of the grid, u is constant, so x is linear: x_{i+1} = x_i + 2 Δ_i u_i.
The sweeps of TOPP-RA (Pham & Pham, IEEE T-RO 2018) then find the largest x at every point:

    backward   largest x_i from which some u_i reaches x_{i+1} ≤ K_{i+1}     controllable speeds K_i
    forward    largest u_i with x_{i+1} ≤ K_{i+1}, from x_0 = 0

Limits hold at both ends of every interval.  All limits are checked at ten times as many points;
where one is exceeded, it is tightened by the excess and the sweeps are repeated.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.control.optimization.joint_limits import (
    JointRanges,
    require_positive,
    require_simple,
    scaled_ranges,
)
from robolin.control.retiming_sweeps import NoSpeedError, corner_text, squared_speeds
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, JointValues, Mask, as_joint_array, require_real
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError, UsageError

# points per interval at which limits are checked
FINER = 10
# solutions at most: one without losses, which are not affine in ṡ², others with tighter limits
_REPEATS = 30
# losses below this part of the range of a limit hardly change the motion
_SMALL_LOSS = 0.01
# limits are tightened by this multiple of the excess, and by this part of the limit for round-off
_TIGHTER, _SPARE = 1.5, 1e-9
# neighbours within this part of the length are equal: a spline through round-off has corners
_ROUND_OFF = 1e-12


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

    @property
    def duration(self) -> float:
        """Duration of the motion in s."""
        return float(self.time[-1])


@dataclass(frozen=True)
class _Path:
    """Cubic spline through the points of a path: knots (N+1,), values and second derivatives."""

    s: Floats
    q: Floats
    bend: Floats

    def at(self, index: AnyArray, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Position, first and second derivative at s, which is in the interval of this index."""
        h = (self.s[index + 1] - self.s[index])[:, None]
        after = (s - self.s[index])[:, None] / h
        before = 1.0 - after
        q0, q1, m0, m1 = self.q[index], self.q[index + 1], self.bend[index], self.bend[index + 1]
        value = before * q0 + after * q1
        value += ((before**3 - before) * m0 + (after**3 - after) * m1) * (h * h / 6.0)
        slope = (q1 - q0) / h
        slope += ((3.0 * after**2 - 1.0) * m1 - (3.0 * before**2 - 1.0) * m0) * (h / 6.0)
        return value, slope, before * m0 + after * m1


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

    Args:
        arm: the arm, from `robolin.load`
        q: points of the path (rows, n) in rad or m; equal neighbours count once
        max_velocity: velocity limits in rad/s or m/s, one number or (n,), instead of those of the
            file
        max_acceleration: acceleration limits in rad/s² or m/s², one number or (n,); None for none
        max_effort: effort limits in N·m or N, one number or (n,), instead of those of the file
        limit_scale: factor of the velocity and effort limits of the file
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
    limits = _Limits.of(arm, max_velocity, max_acceleration, max_effort, limit_scale)
    path = _spline(_points(arm, q))
    fine = _FineGrid.of(path)
    _require_positions(arm, fine, limits.ranges)
    problem = _Problem.of(arm, path, fine, limits)
    x, problem, repeats, used = _within_limits(problem)
    return replace(_motion(problem, x, dt), used=used, repeats=repeats)


def _points(arm: Arm, q: JointValues) -> Floats:
    points = as_joint_array(arm, "q", q)
    if points.ndim != 2:
        raise UsageError(
            f"a path has several rows of positions, got shape {points.shape}",
            where="q",
            hint="pass an array of shape (rows, n)",
        )
    lengths = np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))
    moved: Mask = np.append(True, lengths > _ROUND_OFF * lengths.sum())
    if moved.sum() < 3:
        text = "a path of two points has no motion from rest to rest: ṡ² is linear between points"
        text = text if moved.sum() == 2 else "the path does not move"
        raise RobolinError(text, hint="give at least three different rows")
    return points[moved]


def _spline(points: Floats) -> _Path:
    """Natural cubic spline, by chord length."""
    s = np.append(0.0, np.cumsum(np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))))
    h, slope = np.diff(s), np.diff(points, axis=0) / np.diff(s)[:, None]
    bend = np.zeros_like(points)
    _fill_bends(h.tolist(), (6.0 * np.diff(slope, axis=0)).T.tolist(), bend)
    return _Path(s, points, bend)


def _fill_bends(h: list[float], known: list[list[float]], bend: Floats) -> None:
    """Second derivatives at the inner points: a tridiagonal system, solved by elimination."""
    count = len(h) - 1
    upper, pivots, previous = [0.0] * count, [0.0] * count, 0.0
    for i in range(count):
        pivots[i] = 2.0 * (h[i] + h[i + 1]) - h[i] * previous
        previous = upper[i] = h[i + 1] / pivots[i]
    for j, values in enumerate(known):
        last = 0.0
        for i in range(count):
            last = values[i] = (values[i] - h[i] * last) / pivots[i]
        for i in range(count - 2, -1, -1):
            values[i] -= upper[i] * values[i + 1]
        bend[1:-1, j] = values


@dataclass(frozen=True)
class _Limits:
    """Limits of all joints, each (n,), infinite without a limit."""

    ranges: JointRanges
    acceleration: Floats

    @classmethod
    def of(
        cls,
        arm: Arm,
        velocity: JointValues | None,
        acceleration: JointValues | None,
        effort: JointValues | None,
        scale: float,
    ) -> _Limits:
        if not 0.0 < scale < np.inf:
            raise UsageError(f"must be > 0, got {scale}", where="limit_scale", hint="try 0.9")
        ranges = scaled_ranges(arm, True, scale, effort, velocity, "max_velocity")
        most = np.full(arm.n, np.inf)
        if acceleration is not None:
            most = require_positive(arm, "max_acceleration", acceleration)
        return cls(ranges, most)


@dataclass(frozen=True)
class _FineGrid:
    """The path at ten times as many points, with both ends of every interval.

    index, share: interval of each point, and its place between the ends
    """

    index: AnyArray
    share: Floats
    q: Floats
    slope: Floats
    bend: Floats

    @classmethod
    def of(cls, path: _Path) -> _FineGrid:
        intervals = len(path.s) - 1
        index = np.repeat(np.arange(intervals), FINER + 1)
        share = np.tile(np.linspace(0.0, 1.0, FINER + 1), intervals)
        s = path.s[index] + share * np.diff(path.s)[index]
        return cls(index, share, *path.at(index, s))


def _require_positions(arm: Arm, fine: _FineGrid, ranges: JointRanges) -> None:
    """Reject a path that leaves the position limits, also between its points."""
    beyond = np.maximum(ranges.q_lower - fine.q, fine.q - ranges.q_upper)
    row, joint = np.unravel_index(int(np.argmax(beyond)), beyond.shape)
    if beyond[row, joint] > _SPARE:
        raise RobolinError(
            f"the path exceeds the position limit of joint '{arm.joint_names[joint]}' by "
            f"{beyond[row, joint]:.3g} after point {int(fine.index[row]) + 1} of the path",
            where=arm.source,
            hint="change the path; `robolin inspect` lists the limits",
        )


@dataclass(frozen=True)
class _Problem:
    """Coefficients of the limited quantities, and their limits in every interval.

    a, b, c:      (N+1, 2n) torque and acceleration at the points: a u + b x + c
    shift:        (2, N, 2n) correction of c at both ends, for torques that are not affine
    lower, upper: (N, 2n) limits of torque and acceleration
    speed:        (N, n) velocity limits
    """

    arm: Arm
    path: _Path
    limits: _Limits
    slope: Floats
    fine: _FineGrid
    a: Floats
    b: Floats
    c: Floats
    shift: Floats
    lower: Floats
    upper: Floats
    speed: Floats

    @property
    def steps(self) -> Floats:
        return np.diff(self.path.s)

    @classmethod
    def of(cls, arm: Arm, path: _Path, fine: _FineGrid, limits: _Limits) -> _Problem:
        index = np.minimum(np.arange(len(path.s)), len(path.s) - 2)
        q, slope, bend = path.at(index, path.s)
        zero = np.zeros_like(q)
        c = inverse(arm, q, zero, zero)
        a = inverse(arm, q, zero, slope) - c
        # losses change sign with the velocity; the mean of both directions has none
        b = inverse(arm, q, slope, bend)
        if _has_losses(arm):
            b = 0.5 * (b + inverse(arm, q, -slope, bend))
        intervals, ranges = len(path.s) - 1, limits.ranges
        lower = np.concatenate([ranges.tau_lower, -limits.acceleration])
        upper = np.concatenate([ranges.tau_upper, limits.acceleration])
        return cls(
            arm,
            path,
            limits,
            slope,
            fine,
            np.hstack([a, slope]),
            np.hstack([b - c, bend]),
            np.hstack([c, zero]),
            np.zeros((2, intervals, 2 * arm.n)),
            np.tile(lower, (intervals, 1)),
            np.tile(upper, (intervals, 1)),
            np.tile(ranges.qd_upper, (intervals, 1)),
        )


def _has_losses(arm: Arm) -> bool:
    joints = [link.joint for link in arm.links_tip_to_base]
    friction = arm.friction_velocity is not None and any(any(j.friction_sides) for j in joints)
    return friction or (arm.damping and any(joint.damping for joint in joints))


def _within_limits(problem: _Problem) -> tuple[Floats, _Problem, int, Floats]:
    """Solve, check between the points, and repeat with tighter limits where one is exceeded."""
    corrected, tightened = not _has_losses(problem.arm), 0
    for _ in range(_REPEATS):
        try:
            x = squared_speeds(problem)
        except NoSpeedError as error:
            raise _impossible(problem, error) from None
        samples = _samples(problem, x)
        if not corrected:
            corrected, shift = True, _losses(problem, samples)
            if (np.abs(shift) > _SMALL_LOSS * (problem.upper - problem.lower)).any():
                problem = replace(problem, shift=shift)
                continue
        below, above, fast = _excess(problem, samples)
        if not (below.any() or above.any() or fast.any()):
            return x, problem, tightened, _used(problem, samples)
        tightened += 1
        problem = replace(
            problem,
            lower=problem.lower + below,
            upper=problem.upper - above,
            speed=problem.speed - fast,
        )
    raise RobolinError(
        f"the limits are still exceeded after {_REPEATS} repetitions",
        where=problem.arm.source,
        hint="use more points, or a smoother path",
    )


@dataclass(frozen=True)
class _Samples:
    """Velocities, accelerations, torques, s̈ and ṡ² at ten times as many points."""

    qd: Floats
    qdd: Floats
    tau: Floats
    u: Floats
    x: Floats


def _samples(problem: _Problem, x: Floats) -> _Samples:
    fine, s = problem.fine, problem.path.s
    u = (np.diff(x) / (2.0 * np.diff(s)))[fine.index]
    x = x[fine.index] + fine.share * np.diff(x)[fine.index]
    qd = fine.slope * np.sqrt(x)[:, None]
    qdd = fine.slope * u[:, None] + fine.bend * x[:, None]
    return _Samples(qd, qdd, inverse(problem.arm, fine.q, qd, qdd), u, x)


def _excess(problem: _Problem, samples: _Samples) -> tuple[Floats, Floats, Floats]:
    """Change of the lower, upper and velocity limits of every interval; 0 within them."""
    parts = (len(problem.path.s) - 1, FINER + 1, -1)
    ranges, most = problem.limits.ranges, problem.limits.acceleration
    largest, least = (
        np.hstack([take(each.reshape(parts), axis=1) for each in (samples.tau, samples.qdd)])
        for take in (np.max, np.min)
    )
    above = largest - np.concatenate([ranges.tau_upper, most])
    below = np.concatenate([ranges.tau_lower, -most]) - least
    fast = np.abs(samples.qd).reshape(parts).max(axis=1) - ranges.qd_upper
    sizes = np.concatenate([np.abs(ranges.tau_upper), most])
    return _tightening(below, sizes), _tightening(above, sizes), _tightening(fast, ranges.qd_upper)


def _tightening(excess: Floats, limit: Floats) -> Floats:
    spare = _SPARE * np.where(np.isfinite(limit), limit, 0.0)
    return np.where(excess > 0.0, _TIGHTER * excess + spare, 0.0)


def _losses(problem: _Problem, samples: _Samples) -> Floats:
    """Torques at both ends of every interval that are not affine in s̈ and ṡ²."""
    n, intervals = problem.arm.n, len(problem.path.s) - 1
    tau = samples.tau.reshape(intervals, FINER + 1, n)
    u, x = (each.reshape(intervals, -1) for each in (samples.u, samples.x))
    shift = np.zeros_like(problem.shift)
    for end, point in ((0, slice(None, -1)), (1, slice(1, None))):
        a, b, c = (each[point, :n] for each in (problem.a, problem.b, problem.c))
        shift[end, :, :n] = tau[:, -end] - (a * u[:, [-end]] + b * x[:, [-end]] + c)
    return shift


def _impossible(problem: _Problem, error: NoSpeedError) -> RobolinError:
    """The error of a path without a motion within the limits."""
    where = problem.arm.source
    if error.point is None:
        hint = "add --max-velocity, --max-acceleration or --max-effort"
        return RobolinError("no limit of a moving joint bounds the speed", where=where, hint=hint)
    hold, ranges = problem.c[error.point, : problem.arm.n], problem.limits.ranges
    joint = int(np.argmax(np.maximum(hold - ranges.tau_upper, ranges.tau_lower - hold)))
    text = f"no speed keeps the limits at point {error.point + 1} of the path"
    if not ranges.tau_lower[joint] <= hold[joint] <= ranges.tau_upper[joint]:
        text += f"; holding it takes {hold[joint]:.4g} from '{problem.arm.joint_names[joint]}'"
    elif corner := corner_text(problem.path.q):
        return RobolinError(corner, where=where, hint="split the path there, or round the corner")
    return RobolinError(text, where=where, hint="change the path, or set --max-effort")


def _motion(problem: _Problem, x: Floats, dt: float | None) -> RetimedMotion:
    """Rows at the points of the path, or at equal times."""
    s, speed = problem.path.s, np.sqrt(x)
    times = np.concatenate([[0.0], np.cumsum(2.0 * np.diff(s) / (speed[1:] + speed[:-1]))])
    index, at = np.minimum(np.arange(len(s)), len(s) - 2), times
    if dt is not None:
        if not 0.0 < dt < np.inf:
            raise UsageError(f"must be > 0, got {dt}", where="dt", hint="try 0.01")
        at = np.linspace(0.0, times[-1], max(2, 1 + round(times[-1] / dt)))
        index = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(s) - 2)
    u = (np.diff(x) / (2.0 * np.diff(s)))[index]
    after = at - times[index]
    rate = np.maximum(speed[index] + u * after, 0.0)
    where = np.clip(s[index] + (speed[index] + 0.5 * u * after) * after, 0.0, s[-1])
    if dt is None:
        where, rate = s, speed
    q, slope, bend = problem.path.at(index, where)
    # adding 0 turns -0.0 into 0.0
    qd, qdd = slope * rate[:, None] + 0.0, slope * u[:, None] + bend * (rate * rate)[:, None]
    tau = inverse(problem.arm, q, qd, qdd)
    return RetimedMotion(at, q, qd, qdd, tau, where, np.zeros((3, problem.arm.n)), 0)


def _used(problem: _Problem, samples: _Samples) -> Floats:
    """Largest used fraction of every limit, between the points too."""
    qd, qdd, tau = samples.qd, samples.qdd, samples.tau
    ranges = problem.limits.ranges
    efforts = np.maximum(tau / ranges.tau_upper, tau / ranges.tau_lower)
    shares = (np.abs(qd) / ranges.qd_upper, np.abs(qdd) / problem.limits.acceleration, efforts)
    return np.stack([share.max(axis=0) for share in shares])
