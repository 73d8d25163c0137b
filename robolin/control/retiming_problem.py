"""A path and its limits: a cubic spline, its corners, and limits that are affine in s̈ and ṡ²."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from robolin.api.inverse_and_forward import inverse
from robolin.control.optimization.joint_limits import (
    JointRanges,
    require_positive,
    scaled_ranges,
)
from robolin.control.retiming_sweeps import COMPILED_INTERVALS
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats, Indices, JointValues
from robolin.engine.compiled.kernels import has_compiler
from robolin.errors import UsageError

# points per interval at which limits are checked
FINER = 10
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
        h = (self.s[index + 1] - self.s[index])[:, None]
        after = (s - self.s[index])[:, None] / h
        before = 1.0 - after
        q0, q1, m0, m1 = self.q[index], self.q[index + 1], self.bend[index], self.bend[index + 1]
        value = before * q0 + after * q1
        value += ((before**3 - before) * m0 + (after**3 - after) * m1) * (h * h / 6.0)
        slope = (q1 - q0) / h
        slope += ((3.0 * after**2 - 1.0) * m1 - (3.0 * before**2 - 1.0) * m0) * (h / 6.0)
        return value, slope, before * m0 + after * m1

    @classmethod
    def through(cls, points: Floats) -> SplinePath:
        """Natural cubic spline, by chord length."""
        s = np.append(0.0, np.cumsum(np.sqrt((np.diff(points, axis=0) ** 2).sum(axis=1))))
        h, slope = np.diff(s), np.diff(points, axis=0) / np.diff(s)[:, None]
        return cls(s, points, _bends(h, 6.0 * np.diff(slope, axis=0)))


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
    from llvmlite import ir

    from robolin.engine.compiled.native import compile_module

    module, count_type = ir.Module("bends"), ctypes.c_int64
    _build_bends(module)
    compiled = compile_module(module, vectorize=False)
    return compiled.function("bends", None, count_type, count_type, *(ctypes.c_void_p,) * 3)


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
    """The path at ten times as many points, with both ends of every interval.

    index, share: interval of each point, and its place between the ends; (FINER + 1, N) in order
    """

    index: AnyArray
    share: Floats
    q: Floats
    slope: Floats
    bend: Floats

    @classmethod
    def of(cls, path: SplinePath) -> FineGrid:
        intervals = len(path.s) - 1
        index = np.tile(np.arange(intervals), FINER + 1)
        share = np.repeat(np.linspace(0.0, 1.0, FINER + 1), intervals)
        s = path.s[index] + share * np.diff(path.s)[index]
        return cls(index, share, *path.at(index, s))


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
        ranges = scaled_ranges(arm, True, scale, effort, velocity, "max_velocity")
        most = np.full(arm.n, np.inf)
        if acceleration is not None:
            most = require_positive(arm, "max_acceleration", acceleration)
        return cls(ranges, most)


@dataclass(frozen=True)
class PathProblem:
    """Coefficients of the limited quantities, and their limits in every interval.

    rows:         (N+1,) rows of the path that have these points
    a, b, c:      (N+1, 2n) torque and acceleration at the points: a u + b x + c
    shift:        (2, N, 2n) correction of c at both ends, for torques that are not affine
    lower, upper: (N, 2n) limits of torque and acceleration
    speed:        (N, n) velocity limits
    """

    arm: Arm
    path: SplinePath
    rows: Indices
    limits: PathLimits
    slope: Floats
    fine: FineGrid
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
    def of(
        cls, arm: Arm, path: SplinePath, rows: Indices, fine: FineGrid, limits: PathLimits
    ) -> PathProblem:
        index = np.minimum(np.arange(len(path.s)), len(path.s) - 2)
        q, slope, bend = path.at(index, path.s)
        zero = np.zeros_like(q)
        c = inverse(arm, q, zero, zero)
        a = inverse(arm, q, zero, slope) - c
        # losses change sign with the velocity; the mean of both directions has none
        b = inverse(arm, q, slope, bend)
        if has_losses(arm):
            b = 0.5 * (b + inverse(arm, q, -slope, bend))
        intervals, ranges = len(path.s) - 1, limits.ranges
        lower = np.concatenate([ranges.tau_lower, -limits.acceleration])
        upper = np.concatenate([ranges.tau_upper, limits.acceleration])
        return cls(
            arm,
            path,
            rows,
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
