"""A path and its limits: a cubic spline, its corners, and limits that are affine in s̈ and ṡ²."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.control.optimization.joint_limits import (
    JointRanges,
    require_positive,
    scaled_ranges,
)
from robolin.control.retiming_sweeps import COMPILED_INTERVALS, Affine, squared_speeds
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, Indices, JointValues
from robolin.core.records import dataclass
from robolin.engine.compiled.kernels import has_compiler
from robolin.errors import UsageError

# points per interval at which limits hold, and their places between its ends
FINER = 10
SHARES = np.linspace(0.0, 1.0, FINER + 1)
# part of a limit that is not used, for round-off
_SPARE = 1e-13
# losses below this part of the range of a limit reduce the limit
_SMALL_LOSS = 1e-3
# exceeded limits are tightened by this multiple of the excess, and by this part of the limit
_TIGHTER, _FIRM = 1.5, 1e-9
# neighbours within this part of the length are equal in a path that has no motion otherwise
ALMOST_EQUAL = 1e-6


@dataclass(frozen=True)
class SplinePath:
    """Cubic spline through the points of a path: knots (N+1,), values and second derivatives."""

    s: Floats
    q: Floats
    bend: Floats

    def at(self, index: AnyArray, s: Floats) -> tuple[Floats, Floats, Floats]:
        """Position, first and second derivative at s, which is in the interval of this index."""
        part = SplinePath(self.s[index], self.q[index], self.bend[index])
        h = (self.s[index + 1] - part.s)[:, None]
        after = (s - part.s)[:, None] / h
        return _between(h, after, (part.q, self.q[index + 1]), (part.bend, self.bend[index + 1]))

    def inside(self, shares: Floats) -> tuple[Floats, Floats, Floats]:
        """Position, first and second derivative (len(shares), N, n) in all intervals."""
        h, after = np.diff(self.s)[:, None], shares[:, None, None]
        return _between(h, after, (self.q[:-1], self.q[1:]), (self.bend[:-1], self.bend[1:]))

    @classmethod
    def through(cls, points: Floats) -> SplinePath:
        """Natural cubic spline, by chord length."""
        s = np.append(0.0, np.cumsum(np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))))
        h, slope = np.diff(s), np.diff(points, axis=0) / np.diff(s)[:, None]
        return cls(s, points, _bends(h, 6.0 * np.diff(slope, axis=0)))


def _between(
    h: Floats, after: Floats, values: tuple[Floats, Floats], bends: tuple[Floats, Floats]
) -> tuple[Floats, Floats, Floats]:
    """Position, first and second derivative at parts of intervals of length h."""
    before, (q0, q1), (m0, m1) = 1.0 - after, values, bends
    value = before * q0 + after * q1
    value += (before**3 - before) * (m0 * (h * h / 6.0)) + (after**3 - after) * (m1 * (h * h / 6.0))
    slope = (3.0 * after**2 - 1.0) * (m1 * (h / 6.0)) - (3.0 * before**2 - 1.0) * (m0 * (h / 6.0))
    slope += (q1 - q0) / h
    return value, slope, before * m0 + after * m1


def _bends(h: Floats, known: Floats) -> Floats:
    """Second derivatives at the points: a tridiagonal system, solved by elimination."""
    count, n = known.shape
    bend = np.zeros((count + 2, n))
    if count >= COMPILED_INTERVALS and has_compiler():
        bend[1:-1], upper = known, np.empty(count)
        _compiled_bends()(count, n, h.ctypes.data, upper.ctypes.data, bend[1:].ctypes.data)
        return bend
    steps, columns = h.tolist(), known.T.tolist()
    ratios, pivots, previous = [0.0] * count, [0.0] * count, 0.0
    for i in range(count):
        pivots[i] = 2.0 * (steps[i] + steps[i + 1]) - steps[i] * previous
        previous = ratios[i] = steps[i + 1] / pivots[i]
    for j, values in enumerate(columns):
        last = 0.0
        for i in range(count):
            last = values[i] = (values[i] - steps[i] * last) / pivots[i]
        for i in range(count - 2, -1, -1):
            values[i] -= ratios[i] * values[i + 1]
        bend[1:-1, j] = values
    return bend


@cache
def _compiled_bends() -> Any:
    """The elimination of `_bends`, as a ctypes function."""
    from robolin.engine.compiled.native import compile_loops

    return compile_loops("bends", _build_bends, numbers=2, arrays=3)


def _build_bends(module: Any) -> None:
    """Code of `bends`: rows `values` between two zero rows become second derivatives."""
    from llvmlite import ir

    from robolin.control.optimization import matrix_code as lib

    numbers, arrays = ("count", "n"), ("step", "upper", "values")
    code = lib.Code(module, "bends", lib.arguments(numbers, arrays), ir.VoidType())
    b, at, load = code.b, code.at, code.load
    count, n, step, upper, values = code.arguments.values()
    with code.loop(0, count, [lib.float_constant(0.0)]) as (i, last):
        h, after = load(at(step, i)), load(at(step, i, 1))
        pivot = b.fsub(b.fmul(lib.float_constant(2.0), b.fadd(h, after)), b.fmul(h, last[0]))
        last[0] = b.fdiv(after, pivot)
        code.store(last[0], at(upper, i))
        row = at(values, b.mul(i, n))
        with code.loop(0, n, []) as (j, _):
            less = b.fmul(h, load(at(row, j, b.neg(n))))
            code.store(b.fdiv(b.fsub(load(at(row, j)), less), pivot), at(row, j))
    with code.loop(0, b.sub(count, lib.integer(1)), [], down=True) as (i, _):
        row, ratio = at(values, b.mul(i, n)), load(at(upper, i))
        with code.loop(0, n, []) as (j, _):
            less = b.fmul(ratio, load(at(row, j, n)))
            code.store(b.fsub(load(at(row, j)), less), at(row, j))
    b.ret_void()


@dataclass(frozen=True)
class FineGrid:
    """Position, first and second derivative (FINER + 1, N, n) at ten times as many points.

    Both ends of every interval are among the points.
    """

    q: Floats
    slope: Floats
    bend: Floats

    @classmethod
    def of(cls, path: SplinePath) -> FineGrid:
        return cls(*path.inside(SHARES))


@dataclass(frozen=True)
class PathLimits:
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
    ) -> PathLimits:
        if not 0.0 < scale < np.inf:
            raise UsageError(f"must be > 0, got {scale}", where="limit_scale", hint="try 0.9")
        ranges = scaled_ranges(arm, True, scale, effort, velocity)
        most = np.full(arm.n, np.inf)
        if acceleration is not None:
            most = require_positive(arm, "max_acceleration", acceleration)
        return cls(ranges, most)


@dataclass(frozen=True)
class PathProblem:
    """Coefficients of the limited quantities at all points, and their limits in every interval.

    rows:         (N+1,) rows of the path that have these points
    a, b, c:      (FINER + 1, N, n) torque a u + b x + c
    shift:        (FINER + 1, N, n) correction of c, for torques that are not affine
    lower, upper: (N, 2n) limits of torque and acceleration
    speed:        (N, n) velocity limits
    fastest:      (FINER + 1, N) largest x by the velocity limits
    affine:       torques are affine, or losses are part of the limits
    """

    arm: Arm
    path: SplinePath
    rows: Indices
    limits: PathLimits
    fine: FineGrid
    a: Floats
    b: Floats
    c: Floats
    shift: Floats
    lower: Floats
    upper: Floats
    speed: Floats
    fastest: Floats
    affine: bool

    @classmethod
    def of(
        cls, arm: Arm, path: SplinePath, rows: Indices, fine: FineGrid, limits: PathLimits
    ) -> PathProblem:
        intervals, ranges = len(path.s) - 1, limits.ranges
        speed = np.tile((1.0 - _SPARE) * ranges.qd_upper, (intervals, 1))
        fastest = _fastest(fine.slope, speed)
        coefficients, losses = _coefficients(arm, fine, fastest)
        lower, upper = ranges.tau_lower, ranges.tau_upper
        lower, upper = (np.tile(each, (intervals, 1)) for each in (lower, upper))
        affine = bool((np.abs(losses) <= _SMALL_LOSS * (upper - lower)).all())
        if affine and has_losses(arm):
            lower -= losses.min(axis=0, initial=0.0)
            upper -= losses.max(axis=0, initial=0.0)
        most = np.tile(limits.acceleration, (intervals, 1))
        lower, upper = np.hstack([lower, -most]), np.hstack([upper, most])
        return cls(
            arm,
            path,
            rows,
            limits,
            fine,
            *coefficients,
            np.zeros_like(fine.q),
            lower + _spare(lower),
            upper - _spare(upper),
            speed,
            fastest,
            affine,
        )

    def tightened(self, below: Floats, above: Floats, fast: Floats) -> PathProblem:
        """The problem with other limits of torque and acceleration, and of the velocity."""
        lower, upper, speed, fastest = self.lower, self.upper, self.speed, self.fastest
        if fast.any():
            speed = speed - fast
            fastest = _fastest(self.fine.slope, speed)
        return replace(self, lower=lower + below, upper=upper - above, speed=speed, fastest=fastest)

    def reduced(self, changes: tuple[Floats, ...], reached: Extremes) -> PathProblem:
        """The problem with limits that are reduced by changes from what the points reach."""
        unused = (reached.least - self.lower, self.upper - reached.largest, self.speed - reached.qd)
        reductions = (
            np.where(change > 0.0, change + np.maximum(spare, 0.0), 0.0)
            for change, spare in zip(changes, unused, strict=True)
        )
        return self.tightened(*reductions)

    def sweep(self) -> Floats:
        """Largest ṡ² at the points."""
        n, slope, bend = self.arm.n, self.fine.slope, self.fine.bend
        quantities = [
            Affine(self.a, self.b, self.c + self.shift, self.lower[:, :n], self.upper[:, :n]),
            Affine(slope, bend, np.zeros_like(slope), self.lower[:, n:], self.upper[:, n:]),
        ]
        return squared_speeds(np.diff(self.path.s), SHARES, quantities, self.fastest)


def _fastest(slope: Floats, speed: Floats) -> Floats:
    """Largest ṡ² by the velocity limits, (FINER + 1, N)."""
    with np.errstate(divide="ignore"):
        rates = speed / np.abs(slope)
    least = rates[..., 0]
    for j in range(1, rates.shape[-1]):
        least = np.minimum(least, rates[..., j])
    return least * least


def _coefficients(
    arm: Arm, fine: FineGrid, fastest: Floats
) -> tuple[tuple[Floats, Floats, Floats], Floats]:
    """a, b and c, and the largest losses, from one batch of inverse dynamics.

    Losses are odd functions of the velocity: the mean of both directions has none.  They grow
    with the speed, so their bound is the loss at the velocity limits; infinite without limits.
    """
    q, slope, bend = fine.q, fine.slope, fine.bend
    lossy = has_losses(arm)
    qd, qdd = (np.zeros((3 + lossy, *q.shape)) for _ in range(2))
    qdd[0] = slope
    if not lossy:
        qd[2], qdd[2] = slope, bend
        a, c, b = inverse(arm, q, qd, qdd)
        return (a - c, b - c, c), np.zeros(())
    limited = np.isfinite(fastest)
    x = np.where(limited, fastest, 1.0)[..., None]
    qd[2] = slope * np.sqrt(x)
    qdd[2] = qdd[3] = bend * x
    np.negative(qd[2], out=qd[3])
    a, c, there, back = inverse(arm, q, qd, qdd)
    b = (0.5 * (there + back) - c) / x
    losses = 0.5 * (there - back)
    return (a - c, b, c), losses if limited.all() else np.full((1, 1, arm.n), np.inf)


def _spare(limit: Floats) -> Floats:
    return np.where(np.isfinite(limit), _SPARE * np.abs(limit), 0.0)


@dataclass(frozen=True)
class MotionSamples:
    """Velocities, accelerations, torques and ṡ² at all points; s̈ of the intervals."""

    qd: Floats
    qdd: Floats
    tau: Floats
    u: Floats
    x: Floats

    @classmethod
    def of(cls, problem: PathProblem, x: Floats) -> MotionSamples:
        fine, u = problem.fine, np.diff(x) / (2.0 * np.diff(problem.path.s))
        x = x[:-1] + SHARES[:, None] * np.diff(x)
        qd = fine.slope * np.sqrt(x)[..., None]
        qdd = fine.slope * u[:, None] + fine.bend * x[..., None]
        return cls(qd, qdd, inverse(problem.arm, fine.q, qd, qdd), u, x)

    def losses(self, problem: PathProblem) -> Floats:
        """Torques that are not affine in s̈ and ṡ²."""
        affine = problem.a * self.u[:, None] + problem.b * self.x[..., None] + problem.c
        return self.tau - affine


@dataclass(frozen=True)
class Extremes:
    """Largest speed (N, n), largest and smallest torque and acceleration (N, 2n) of intervals."""

    qd: Floats
    largest: Floats
    least: Floats

    @classmethod
    def of(cls, samples: MotionSamples) -> Extremes:
        tau, qdd = samples.tau, samples.qdd
        return cls(
            np.abs(samples.qd).max(axis=0),
            np.hstack([tau.max(axis=0), qdd.max(axis=0)]),
            np.hstack([tau.min(axis=0), qdd.min(axis=0)]),
        )

    @classmethod
    def of_rows(cls, count: int, index: Indices, rates: Floats, values: Floats) -> Extremes:
        """Rows of a motion, each in the interval `index`; infinite for intervals without rows."""
        least = np.full((count, values.shape[1]), np.inf)
        largest, most = -least, np.full((count, rates.shape[1]), -np.inf)
        np.maximum.at(most, index, rates)
        np.maximum.at(largest, index, values)
        np.minimum.at(least, index, values)
        return cls(most, largest, least)

    def excess(self, limits: PathLimits) -> tuple[Floats, Floats, Floats]:
        """Change of the lower, upper and velocity limits of every interval; 0 within them."""
        ranges, most = limits.ranges, limits.acceleration
        above = self.largest - np.concatenate([ranges.tau_upper, most])
        below = np.concatenate([ranges.tau_lower, -most]) - self.least
        fast = self.qd - ranges.qd_upper
        sizes = np.concatenate([np.abs(ranges.tau_upper), most])
        return (
            _tightening(below, sizes),
            _tightening(above, sizes),
            _tightening(fast, ranges.qd_upper),
        )

    def used(self, limits: PathLimits) -> Floats:
        """Largest used fraction of the velocity, acceleration and effort limits, (3, n)."""
        largest, least = self.largest.max(axis=0), self.least.min(axis=0)
        ranges, n = limits.ranges, len(limits.acceleration)
        efforts = np.maximum(largest[:n] / ranges.tau_upper, least[:n] / ranges.tau_lower)
        accelerations = np.maximum(largest[n:], -least[n:]) / limits.acceleration
        return np.stack([self.qd.max(axis=0) / ranges.qd_upper, accelerations, efforts])


def _tightening(excess: Floats, limit: Floats) -> Floats:
    spare = _FIRM * np.where(np.isfinite(limit), limit, 0.0)
    return np.where(excess > 0.0, _TIGHTER * excess + spare, 0.0)


def has_losses(arm: Arm) -> bool:
    joints = [link.joint for link in arm.links_tip_to_base]
    friction = arm.friction_velocity is not None and any(any(j.friction_sides) for j in joints)
    return friction or (arm.damping and any(joint.damping for joint in joints))


def turns_of(points: Floats) -> Floats:
    """Changes of direction at the inner points, in degrees."""
    chords = np.diff(points, axis=0)
    chords /= np.sqrt((chords * chords).sum(axis=1))[:, None]
    cosines = np.clip((chords[1:] * chords[:-1]).sum(axis=1), -1.0, 1.0)
    turns: Floats = np.degrees(np.arccos(cosines))
    return turns


def indices_apart(points: Floats) -> list[int]:
    """Indices of points that are apart from their neighbours, both ends included."""
    least = ALMOST_EQUAL * np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1)).sum()
    kept, last = [0], len(points) - 1
    for i in range(1, last):
        if np.linalg.norm(points[i] - points[kept[-1]]) > least:
            kept.append(i)
    while len(kept) > 1 and np.linalg.norm(points[kept[-1]] - points[last]) <= least:
        kept.pop()
    return [*kept, last]
