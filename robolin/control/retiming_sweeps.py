"""Sweeps of TOPP-RA: the largest ṡ² along a path with limits that are affine in s̈ and ṡ².

In every interval, the limits of u = s̈ are lines v₀ + v₁ x of x = ṡ².  A backward sweep finds the
range of x_i from which some u reaches the range of x_{i+1}; its linear programs have one variable
after u is eliminated.  A forward sweep then takes the largest u.  Long paths run in compiled code,
with the bits of the loops in Python.
"""

from __future__ import annotations

import ctypes
from functools import cache
from itertools import pairwise
from typing import Any, Protocol

import numpy as np

from robolin.core.arrays import Floats
from robolin.engine.compiled.kernels import has_compiler

# intervals from which compiled code is used
COMPILED_INTERVALS = 64


class NoSpeedError(Exception):
    """No speed satisfies the limits at a point of the path; None: nothing limits the speed."""

    def __init__(self, point: int | None) -> None:
        super().__init__(point)
        self.point = point


class SpeedProblem(Protocol):
    """Limited quantities a u + b x + c at the points, and their limits in the intervals.

    steps:   (N,) lengths of the intervals
    slope:   (N+1, n) q' at the points
    a, b, c: (N+1, k)
    shift:   (2, N, k) correction of c at both ends of the intervals
    lower, upper: (N, k)
    speed:   (N, n) velocity limits
    """

    @property
    def steps(self) -> Floats: ...
    @property
    def slope(self) -> Floats: ...
    @property
    def a(self) -> Floats: ...
    @property
    def b(self) -> Floats: ...
    @property
    def c(self) -> Floats: ...
    @property
    def shift(self) -> Floats: ...
    @property
    def lower(self) -> Floats: ...
    @property
    def upper(self) -> Floats: ...
    @property
    def speed(self) -> Floats: ...


def squared_speeds(problem: SpeedProblem) -> Floats:
    """The sweeps: largest ṡ² at every point, from rest to rest."""
    step = 2.0 * problem.steps
    most, least = _speed_limits(problem), np.zeros(len(step))
    low, high = _lines(problem, step, most)
    if low[0].size:
        _clip_to_feasible(low, high, least, most)
    low = _on_envelope(*low, least, most[:-1], 1.0)
    high = _on_envelope(*high, least, most[:-1], -1.0)
    return _sweeps(step, low, high, least, most)


def _lines(problem: SpeedProblem, step: Floats, most: Floats) -> tuple[tuple[Floats, Floats], ...]:
    """Bounds of u as lines v₀ + v₁ x, (N, 2k) each: lower and upper ones, infinite if unused.

    A quantity that does not depend on u limits x itself, in `most`.
    """
    used = np.isfinite(problem.lower).any(axis=0) | np.isfinite(problem.upper).any(axis=0)
    lower, upper = problem.lower[:, used], problem.upper[:, used]
    lows, highs, slopes = [], [], []
    for end, point in ((0, slice(None, -1)), (1, slice(1, None))):
        b = problem.b[point, used]
        a = problem.a[point, used] + (step[:, None] * b if end else 0.0)
        c = problem.c[point, used] + problem.shift[end][:, used]
        with np.errstate(divide="ignore", invalid="ignore"):
            ends, slope = ((lower - c) / a, (upper - c) / a), -b / a
            alone = np.where(b > 0.0, upper - c, lower - c) / b
        fine = np.isfinite(slope)
        most[:-1] = np.minimum(
            most[:-1], np.where(fine | (b == 0.0), np.inf, alone).min(axis=1, initial=np.inf)
        )
        lows.append(np.where(fine, np.minimum(*ends), -np.inf))
        highs.append(np.where(fine, np.maximum(*ends), np.inf))
        slopes.append(np.where(fine, slope, 0.0))
    slope = np.hstack(slopes)
    return (np.hstack(lows), slope), (np.hstack(highs), slope)


# larger than every ṡ²: a path without limits
_UNLIMITED = 1e18


def _speed_limits(problem: SpeedProblem) -> Floats:
    """Largest ṡ² at every point by the velocity limits of both neighbouring intervals."""
    with np.errstate(divide="ignore"):
        size = np.abs(problem.slope)
        left = (problem.speed / size[1:]).min(axis=1)
        right = (problem.speed / size[:-1]).min(axis=1)
    most = np.minimum(np.append(np.inf, left), np.append(right, np.inf))
    limited: Floats = np.minimum(most * most, _UNLIMITED)
    return limited


def _clip_to_feasible(
    low: tuple[Floats, Floats],
    high: tuple[Floats, Floats],
    least: Floats,
    most: Floats,
) -> None:
    """Limit ṡ² to values with some u.

    The largest lower bound minus the smallest upper bound is a convex function of x; Newton's steps
    from both sides reach the interval in which it is not positive.  Each step is the crossing of
    two lines, because a difference from the first x, which may be 1e18, would lose all digits.
    """
    for x, side in ((most[:-1], 1.0), (least, -1.0)):
        # only rows that the last step moved: the others have their final x
        rows = np.arange(len(x))
        (low_start, low_slope), (high_start, high_slope) = low, high
        for _ in range(2 * low[0].shape[1] + 2):
            at, each = x[rows, None], np.arange(len(rows))
            below, above = low_start + low_slope * at, high_start + high_slope * at
            i, j = below.argmax(axis=1), above.argmin(axis=1)
            gap, size = below[each, i] - above[each, j], np.abs(above[each, j])
            rise = low_slope[each, i] - high_slope[each, j]
            wrong = gap > 1e-12 * np.where(np.isfinite(size), size, 0.0)
            stuck = wrong & (side * rise <= 0.0)
            if stuck.any():
                raise NoSpeedError(int(rows[np.argmax(stuck)]))
            room = high_start[each, j] - low_start[each, i]
            crossing = np.divide(room, rise, out=x[rows], where=wrong)
            moved = crossing != x[rows]
            x[rows] = crossing
            if not moved.any():
                break
            rows = rows[moved]
            low_start, low_slope = low_start[moved], low_slope[moved]
            high_start, high_slope = high_start[moved], high_slope[moved]
        x[:] = np.maximum(x, 0.0)


def _on_envelope(
    start: Floats, slope: Floats, least: Floats, most: Floats, sign: float
) -> tuple[Floats, Floats]:
    """Lines that are the largest (sign 1) or smallest somewhere between both ends; others infinite.

    The order of the lines is another one.
    """
    first, last = sign * (start + slope * least[:, None]), sign * (start + slope * most[:, None])
    order = np.argsort(-first, axis=1, kind="stable")
    first, last = np.take_along_axis(first, order, 1), np.take_along_axis(last, order, 1)
    best = np.maximum.accumulate(last, axis=1)
    kept = np.isfinite(first)
    kept[:, 1:] &= last[:, 1:] > best[:, :-1]
    starts, slopes = (np.take_along_axis(each, order, 1) for each in (start, slope))
    return np.where(kept, starts, -sign * np.inf), np.where(kept, slopes, 0.0)


_Lines = tuple[Floats, Floats]


def _sweeps(step: Floats, low: _Lines, high: _Lines, least: Floats, most: Floats) -> Floats:
    """Largest ṡ² at every point, from rest to rest, between lower and upper lines of u."""
    count = len(step)
    if count >= COMPILED_INTERVALS and has_compiler():
        slow, fast, x = (np.zeros(count + 1) for _ in range(3))
        arrays = [np.ascontiguousarray(each) for each in (step, *low, *high, least, most)]
        addresses = (each.ctypes.data for each in (*arrays, slow, fast, x))
        failed = _compiled_sweeps()(count, low[0].shape[1], *addresses)
        if failed >= 0:
            raise NoSpeedError(failed)
    else:
        slow, fast, x = _sweeps_in_python(
            step.tolist(), _listed(*low), _listed(*high), least.tolist(), most.tolist()
        )
    if slow[0] > 0.0:
        raise NoSpeedError(0)
    if x.max() >= 0.99 * _UNLIMITED:
        raise NoSpeedError(None)
    stopped = np.flatnonzero(x[1:] + x[:-1] == 0.0)
    if stopped.size:
        raise NoSpeedError(int(stopped[0]))
    return x


_BoundLines = list[list[tuple[float, float]]]


def _listed(start: Floats, slope: Floats) -> _BoundLines:
    """The finite lines of every interval."""
    kept = np.isfinite(start)
    pairs = list(zip(start[kept].tolist(), slope[kept].tolist(), strict=True))
    ends = [0, *np.cumsum(kept.sum(axis=1)).tolist()]
    return [pairs[i:j] for i, j in pairwise(ends)]


def _sweeps_in_python(
    step: list[float], lows: _BoundLines, highs: _BoundLines, least: list[float], most: list[float]
) -> tuple[Floats, Floats, Floats]:
    """Smallest and largest controllable x, and the fastest x."""
    count = len(step)
    slow, fast = [0.0] * (count + 1), [0.0] * (count + 1)
    for i in range(count - 1, -1, -1):
        h, lower, upper = step[i], least[i], most[i]
        # some u above its lower bounds reaches a controllable speed, and some below the upper ones
        for start, slope in lows[i]:
            lower, upper = _less(1.0 + h * slope, fast[i + 1] - h * start, lower, upper)
        for start, slope in highs[i]:
            lower, upper = _less(-1.0 - h * slope, h * start - slow[i + 1], lower, upper)
        if lower > upper * (1.0 + 1e-9) + 1e-15:
            raise NoSpeedError(i)
        slow[i], fast[i] = min(lower, upper), upper
    x = [0.0] * (count + 1)
    for i in range(count):
        h, here = step[i], x[i]
        u = _UNLIMITED
        for start, slope in highs[i]:
            bound = start + slope * here
            u = bound if bound < u else u
        x[i + 1] = max(0.0, slow[i + 1], min(here + h * u, fast[i + 1]))
    return np.array(slow), np.array(fast), np.array(x)


def _less(factor: float, bound: float, lower: float, upper: float) -> tuple[float, float]:
    """Interval of x with factor · x ≤ bound."""
    if factor > 0.0:
        return lower, min(upper, bound / factor)
    if factor < 0.0:
        return max(lower, bound / factor), upper
    return lower, upper


@cache
def _compiled_sweeps() -> Any:
    """The loops of `_sweeps_in_python`, as a ctypes function."""
    from llvmlite import ir

    from robolin.engine.compiled.native import compile_module

    module, count_type = ir.Module("sweeps"), ctypes.c_int64
    _build_sweeps(module)
    compiled = compile_module(module, vectorize=False)
    return compiled.function("sweeps", count_type, count_type, count_type, *(ctypes.c_void_p,) * 10)


def _build_sweeps(module: Any) -> None:
    """Code of `sweeps`: the interval without a speed, or -1.  Infinite lines bound nothing."""
    from robolin.control.optimization import matrix_code as lib

    names = ("step", "low", "low_slope", "high", "high_slope", "least", "most", "slow", "fast", "x")
    code = lib.Code(module, "sweeps", lib.arguments(("count", "lines"), names), lib.WHOLE)
    b, at, load, real = code.b, code.at, code.load, lib.float_constant
    count, lines, step, low, low_slope, high, high_slope, least, most, slow, fast, x = (
        code.arguments.values()
    )

    def smaller(a: Any, other: Any) -> Any:
        return b.select(b.fcmp_ordered("<", other, a), other, a)

    def larger(a: Any, other: Any) -> Any:
        return b.select(b.fcmp_ordered(">", other, a), other, a)

    with code.loop(0, count, [], down=True) as (i, _):
        h, row = load(at(step, i)), b.mul(i, lines)
        to_slow, to_fast = load(at(slow, i, 1)), load(at(fast, i, 1))
        ends = [load(at(least, i)), load(at(most, i))]
        with code.loop(0, lines, ends) as (j, bounds):
            lows = load(at(low, row, j)), load(at(low_slope, row, j))
            highs = load(at(high, row, j)), load(at(high_slope, row, j))
            for factor, bound in (
                (
                    b.fadd(real(1.0), b.fmul(h, lows[1])),
                    b.fsub(to_fast, b.fmul(h, lows[0])),
                ),
                (
                    b.fsub(real(-1.0), b.fmul(h, highs[1])),
                    b.fsub(b.fmul(h, highs[0]), to_slow),
                ),
            ):
                end = b.fdiv(bound, factor)
                above, below = (b.fcmp_ordered(sign, factor, real(0.0)) for sign in "<>")
                bounds[0] = b.select(above, larger(bounds[0], end), bounds[0])
                bounds[1] = b.select(below, smaller(bounds[1], end), bounds[1])
        lower, upper = ends
        most_lower = b.fadd(b.fmul(upper, real(1.0 + 1e-9)), real(1e-15))
        with b.if_then(b.fcmp_ordered(">", lower, most_lower)):
            b.ret(i)
        code.store(smaller(lower, upper), at(slow, i))
        code.store(upper, at(fast, i))
    code.store(real(0.0), x)
    with code.loop(0, count, [real(0.0)]) as (i, state):
        row, limit = b.mul(i, lines), [real(_UNLIMITED)]
        with code.loop(0, lines, limit) as (j, u):
            line = b.fmul(load(at(high_slope, row, j)), state[0])
            u[0] = smaller(u[0], b.fadd(load(at(high, row, j)), line))
        reached = b.fadd(state[0], b.fmul(load(at(step, i)), limit[0]))
        reached = smaller(reached, load(at(fast, i, 1)))
        state[0] = larger(larger(real(0.0), load(at(slow, i, 1))), reached)
        code.store(state[0], at(x, i, 1))
    b.ret(lib.integer(-1))
