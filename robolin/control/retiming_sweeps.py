"""Sweeps of TOPP-RA: the largest ṡ² along a path with limits that are affine in s̈ and ṡ².

In every interval, the limits of u = s̈ are lines v₀ + v₁ x of x = ṡ².  A backward sweep finds the
range of x_i from which some u reaches the range of x_{i+1}; its linear programs have one variable
after u is eliminated.  A forward sweep then takes the largest u.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Protocol

import numpy as np

from robolin.core.arrays import Floats


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
    lines = [_on_envelope(*low, least, most[:-1], 1.0), _on_envelope(*high, least, most[:-1], -1.0)]
    return _sweeps(step.tolist(), lines, least.tolist(), most.tolist())


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
        for _ in range(2 * low[0].shape[1] + 2):
            below, above = low[0] + low[1] * x[:, None], high[0] + high[1] * x[:, None]
            i, j = below.argmax(axis=1)[:, None], above.argmin(axis=1)[:, None]
            gap = (np.take_along_axis(below, i, 1) - np.take_along_axis(above, j, 1))[:, 0]
            rise = (np.take_along_axis(low[1], i, 1) - np.take_along_axis(high[1], j, 1))[:, 0]
            size = np.abs(np.take_along_axis(above, j, 1))[:, 0]
            wrong = gap > 1e-12 * np.where(np.isfinite(size), size, 0.0)
            if not wrong.any():
                break
            stuck = wrong & (side * rise <= 0.0)
            if stuck.any():
                raise NoSpeedError(int(np.argmax(stuck)))
            room = (np.take_along_axis(high[0], j, 1) - np.take_along_axis(low[0], i, 1))[:, 0]
            x[wrong] = room[wrong] / rise[wrong]
        x[:] = np.maximum(x, 0.0)


BoundLines = list[list[tuple[float, float]]]


def _on_envelope(
    start: Floats, slope: Floats, least: Floats, most: Floats, sign: float
) -> BoundLines:
    """Lines that are the largest (sign 1) or smallest somewhere between both ends."""
    first, last = sign * (start + slope * least[:, None]), sign * (start + slope * most[:, None])
    order = np.argsort(-first, axis=1, kind="stable")
    first, last = np.take_along_axis(first, order, 1), np.take_along_axis(last, order, 1)
    best = np.maximum.accumulate(last, axis=1)
    kept = np.isfinite(first)
    kept[:, 1:] &= last[:, 1:] > best[:, :-1]
    values = (np.take_along_axis(each, order, 1)[kept].tolist() for each in (start, slope))
    pairs = list(zip(*values, strict=True))
    ends = [0, *np.cumsum(kept.sum(axis=1)).tolist()]
    return [pairs[i:j] for i, j in pairwise(ends)]


def _sweeps(
    step: list[float], lines: list[BoundLines], least: list[float], most: list[float]
) -> Floats:
    lows, highs = lines
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
    if slow[0] > 0.0:
        raise NoSpeedError(0)
    x = [0.0] * (count + 1)
    for i in range(count):
        h, here = step[i], x[i]
        u = _UNLIMITED
        for start, slope in highs[i]:
            bound = start + slope * here
            u = bound if bound < u else u
        x[i + 1] = max(0.0, slow[i + 1], min(here + h * u, fast[i + 1]))
    if max(x) >= 0.99 * _UNLIMITED:
        raise NoSpeedError(None)
    stopped = [i for i, (a, b) in enumerate(pairwise(x)) if a + b == 0.0]
    if stopped:
        raise NoSpeedError(stopped[0])
    return np.array(x)


def _less(factor: float, bound: float, lower: float, upper: float) -> tuple[float, float]:
    """Interval of x with factor · x ≤ bound."""
    if factor > 0.0:
        return lower, min(upper, bound / factor)
    if factor < 0.0:
        return max(lower, bound / factor), upper
    return lower, upper


# turns in degrees: a sampled smooth path has smaller ones; beyond the second, the path reverses
_CORNER, _REVERSAL = 10.0, 170.0


def corner_text(points: Floats) -> str:
    """The sharpest corner of a path (rows, n); '' for a smooth path.

    If every point can be held at rest, only a bend that the points do not resolve excludes a slow
    motion.
    """
    chords = np.diff(points, axis=0)
    chords /= np.sqrt((chords * chords).sum(axis=1))[:, None]
    cosines = np.clip((chords[1:] * chords[:-1]).sum(axis=1), -1.0, 1.0)
    inner = int(cosines.argmin())
    turn = float(np.degrees(np.arccos(cosines[inner])))
    if turn < _CORNER:
        return ""
    what = "reverses" if turn > _REVERSAL else f"has a corner of {turn:.0f}°"
    return (
        f"the path {what} at point {inner + 2}: the spline bends there too sharply for the limits"
    )
