"""Sweeps of TOPP-RA: the largest ṡ² along a path with limits that are affine in s̈ and ṡ².

In every interval, s̈ = u is constant and ṡ² = x + 2 δ u at the distance δ from its start.  The
limits of u are therefore lines v₀ + v₁ x of x = ṡ² at the start.  A backward sweep finds the range
of x_i from which some u reaches the range of x_{i+1}; its linear programs have one variable after u
is eliminated.  A forward sweep then takes the largest u.  Long paths run in compiled code, with the
bits of the loops in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

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


class Affine(NamedTuple):
    """A limited quantity a u + b x + c at K points of N intervals, for the x of the point.

    a, b, c:      (K, N, n)
    lower, upper: (N, n)
    """

    a: Floats
    b: Floats
    c: Floats
    lower: Floats
    upper: Floats

    def limited(self) -> Affine:
        """The columns that have a limit."""
        used = (np.isfinite(self.lower) | np.isfinite(self.upper)).any(axis=0)
        return self if used.all() else Affine(*(each[..., used] for each in self))


class BoundLines(NamedTuple):
    """Bounds of u in every interval: low + slope x ≤ u ≤ high + slope x, (N, lines) each."""

    low: Floats
    high: Floats
    slope: Floats

    @classmethod
    def of(
        cls,
        step: Floats,
        shares: Floats,
        quantities: Sequence[Affine],
        fastest: Floats,
        most: Floats,
    ) -> BoundLines:
        """Limits of quantities and velocities; a quantity without u limits x, in `most`."""
        quantities = [each.limited() for each in quantities]
        widths = [len(shares) * each.lower.shape[1] for each in quantities]
        between = len(shares) - 2
        lines = cls(*(np.empty((len(step), between + sum(widths))) for _ in range(3)))
        # velocity limits at both ends limit x itself
        far = (step * shares[1:-1, None]).T
        lines.low[:, :between] = -np.inf
        np.divide(fastest[1:-1].T, far, out=lines.high[:, :between])
        np.divide(-1.0, far, out=lines.slope[:, :between])
        compiled = len(step) >= COMPILED_INTERVALS and has_compiler()
        write = _write_compiled if compiled else _write_lines
        for each, stop in zip(quantities, between + np.cumsum(widths), strict=True):
            columns = slice(int(stop) - len(shares) * each.lower.shape[1], int(stop))
            write(step, shares, each, most, cls(*(part[:, columns] for part in lines)))
        return lines


# larger than every ṡ²: a path without limits
_UNLIMITED = 1e18
# part of the largest ṡ² below which ṡ² is round-off: an interval would last for years
_AT_REST = 1e-14


def squared_speeds(
    steps: Floats, shares: Floats, quantities: Sequence[Affine], fastest: Floats
) -> Floats:
    """The sweeps: largest ṡ² at every point, from rest to rest.

    steps:      (N,) lengths of the intervals
    shares:     (K,) places of the points in an interval, from 0 to 1
    quantities: limited quantities
    fastest:    (K, N) largest ṡ² by the velocity limits
    """
    step, least = 2.0 * steps, np.zeros(len(steps))
    most = np.minimum(np.append(np.inf, fastest[-1]), np.append(fastest[0], np.inf))
    most = np.minimum(most, _UNLIMITED)
    lines = BoundLines.of(step, shares, quantities, fastest, most)
    x = _sweeps(step, lines, least, most)
    if x.max() >= 0.99 * _UNLIMITED:
        raise NoSpeedError(None)
    stopped = np.flatnonzero(x[1:] + x[:-1] <= _AT_REST * x.max())
    if stopped.size:
        raise NoSpeedError(int(stopped[0]))
    return x


def _write_lines(
    step: Floats, shares: Floats, quantity: Affine, most: Floats, lines: BoundLines
) -> None:
    """Write the lines of the limits of a quantity, for all points of every interval."""
    a, b, c, lower, upper = quantity
    a = a + (step * shares[:, None])[:, :, None] * b
    to_lower, to_upper = lower - c, upper - c
    with np.errstate(divide="ignore", invalid="ignore"):
        slope, first, last = -b / a, to_lower / a, to_upper / a
        alone = np.where(b > 0.0, to_upper, to_lower) / b
    flat, crossed = ~np.isfinite(slope), last < first
    low, high = np.where(crossed, last, first), np.where(crossed, first, last)
    alone = np.where(flat & (b != 0.0), alone, np.inf)
    most[:-1] = np.minimum(most[:-1], alone.min(axis=(0, 2), initial=np.inf))
    for out, values, unused in zip(lines, (low, high, slope), (-np.inf, np.inf, 0.0), strict=True):
        out[:] = np.hstack([*np.where(flat, unused, values)])


def _write_compiled(
    step: Floats, shares: Floats, quantity: Affine, most: Floats, lines: BoundLines
) -> None:
    """`_write_lines` by compiled code."""
    arrays = [np.ascontiguousarray(each) for each in (step, shares, *quantity)]
    addresses = (each.ctypes.data for each in (*arrays, most, *lines))
    width, stride = quantity.lower.shape[1], lines.low.strides[0] // 8
    _compiled_lines()(len(step), len(shares), width, stride, *addresses)


def _sweeps(step: Floats, lines: BoundLines, least: Floats, most: Floats) -> Floats:
    """Largest ṡ² at every point, from rest to rest, between the lines of u."""
    count = len(step)
    if count < COMPILED_INTERVALS or not has_compiler():
        _clip_to_feasible(lines, least, most)
        return _sweeps_in_python(step, lines, least, most)
    slow, fast, x = (np.zeros(count + 1) for _ in range(3))
    arrays = [np.ascontiguousarray(each) for each in (step, *lines, least, most)]
    addresses = (each.ctypes.data for each in (*arrays, slow, fast, x))
    failed = _compiled_sweeps()(count, lines.low.shape[1], *addresses)
    if failed >= 0:
        raise NoSpeedError(failed)
    return x


def _clip_to_feasible(lines: BoundLines, least: Floats, most: Floats) -> None:
    """Limit ṡ² to values with some u.

    The largest lower bound minus the smallest upper bound is a convex function of x; Newton's steps
    from both sides reach the interval in which it is not positive.  Each step is the crossing of
    two lines, because a difference from the first x, which may be 1e18, would lose all digits.
    """
    failed: list[int] = []
    for x, side in ((most[:-1], 1.0), (least, -1.0)):
        # only rows that the last step moved: the others have their final x
        rows, (low, high, slope) = np.arange(len(x)), lines
        for _ in range(2 * low.shape[1] + 2):
            change, each = slope * x[rows, None], np.arange(len(rows))
            below, above = low + change, high + change
            i, j = below.argmax(axis=1), above.argmin(axis=1)
            gap, size = below[each, i] - above[each, j], np.abs(above[each, j])
            rise = slope[each, i] - slope[each, j]
            wrong = gap > 1e-12 * np.where(np.isfinite(size), size, 0.0)
            stuck = wrong & (side * rise <= 0.0)
            failed += rows[stuck].tolist()
            room = high[each, j] - low[each, i]
            crossing = np.divide(room, rise, out=x[rows], where=wrong & ~stuck)
            moved = crossing != x[rows]
            x[rows] = crossing
            if not moved.any():
                break
            rows, low, high, slope = rows[moved], low[moved], high[moved], slope[moved]
        x[:] = np.maximum(x, 0.0)
    if failed:
        raise NoSpeedError(min(failed))


def _sweeps_in_python(step: Floats, lines: BoundLines, least: Floats, most: Floats) -> Floats:
    """The fastest x, by the smallest and largest controllable x."""
    count = len(step)
    slow, fast, x = (np.zeros(count + 1) for _ in range(3))
    factor = 1.0 + step[:, None] * lines.slope
    low, high = step[:, None] * lines.low, step[:, None] * lines.high
    for i in range(count - 1, -1, -1):
        # some u above its lower bounds reaches a controllable speed, and some below the upper ones
        up, down = factor[i] > 0.0, factor[i] < 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            by_low, by_high = (
                (fast[i + 1] - low[i]) / factor[i],
                (slow[i + 1] - high[i]) / factor[i],
            )
        upper = min(most[i], np.where(up, by_low, by_high)[up | down].min(initial=np.inf))
        lower = max(least[i], np.where(up, by_high, by_low)[up | down].max(initial=-np.inf))
        if lower > upper * (1.0 + 1e-9) + 1e-15:
            raise NoSpeedError(i)
        slow[i], fast[i] = min(lower, upper), upper
    if slow[0] > 0.0:
        raise NoSpeedError(0)
    for i in range(count):
        u = (lines.high[i] + lines.slope[i] * x[i]).min(initial=_UNLIMITED)
        x[i + 1] = max(0.0, slow[i + 1], min(x[i] + step[i] * u, fast[i + 1]))
    return x


@cache
def _compiled_lines() -> Any:
    from robolin.engine.compiled.native import compile_loops

    return compile_loops("lines", _build_lines, numbers=4, arrays=11)


def _build_lines(module: Any) -> None:
    """Code of `lines`: the loops of `_write_lines`, into rows of `stride` numbers."""
    from llvmlite import ir

    from robolin.control.optimization import matrix_code as lib

    numbers = ("count", "points", "n", "stride")
    arrays = ("step", "shares", *Affine._fields, "most", *BoundLines._fields)
    code = lib.Code(module, "lines", lib.arguments(numbers, arrays), ir.VoidType())
    b, at, load, real = code.b, code.at, code.load, lib.float_constant
    pointers, infinite, zero = code.arguments, float("inf"), lib.float_constant(0.0)
    count, points, n = (pointers[name] for name in numbers[:3])
    with code.loop(0, count, []) as (i, _):
        h, limit = load(at(pointers["step"], i)), [load(at(pointers["most"], i))]
        with code.loop(0, points, limit) as (k, outer):
            far = b.fmul(h, load(at(pointers["shares"], k)))
            first_at = b.mul(b.add(b.mul(k, count), i), n)
            out_at = b.add(b.mul(i, pointers["stride"]), b.mul(k, n))
            with code.loop(0, n, outer) as (m, inner):
                a, by_x, c = (load(at(pointers[name], first_at, m)) for name in "abc")
                row = b.add(b.mul(i, n), m)
                to_lower, to_upper = (
                    b.fsub(load(at(pointers[name], row)), c) for name in ("lower", "upper")
                )
                by_u = b.fadd(a, b.fmul(far, by_x))
                slope, first, last = (
                    b.fdiv(each, by_u) for each in (b.fneg(by_x), to_lower, to_upper)
                )
                finite = b.fcmp_ordered("<", code.absolute(slope), real(infinite))
                values = (code.smaller(first, last), code.larger(last, first), slope)
                unused = (real(-infinite), real(infinite), zero)
                for name, value, other in zip(BoundLines._fields, values, unused, strict=True):
                    code.store(b.select(finite, value, other), at(pointers[name], out_at, m))
                positive = b.fcmp_ordered(">", by_x, zero)
                alone = b.fdiv(b.select(positive, to_upper, to_lower), by_x)
                bounds = b.and_(b.not_(finite), b.fcmp_ordered("!=", by_x, zero))
                inner[0] = b.select(bounds, code.smaller(inner[0], alone), inner[0])
        code.store(limit[0], at(pointers["most"], i))
    b.ret_void()


@cache
def _compiled_sweeps() -> Any:
    """`_clip_to_feasible` and `_sweeps_in_python`, as a ctypes function."""
    from robolin.engine.compiled.native import compile_loops

    return compile_loops("sweeps", _build_sweeps, numbers=2, arrays=9, returns_number=True)


def _build_sweeps(module: Any) -> None:
    """Code of `sweeps`: the interval without a speed, or -1.  Infinite lines bound nothing."""
    from robolin.control.optimization import matrix_code as lib

    names = ("step", "low", "high", "slope", "least", "most", "slow", "fast", "x")
    code = lib.Code(module, "sweeps", lib.arguments(("count", "lines"), names), lib.WHOLE)
    b, at, load, real = code.b, code.at, code.load, lib.float_constant
    count, lines, step, low, high, slope, least, most, slow, fast, x = code.arguments.values()

    with code.loop(0, count, []) as (i, _):
        rows = [at(each, b.mul(i, lines)) for each in (low, high, slope)]
        for end, side in ((most, 1.0), (least, -1.0)):
            clipped = _build_newton(code, lines, rows, load(at(end, i)), side, i)
            code.store(code.larger(clipped, real(0.0)), at(end, i))

    with code.loop(0, count, [], down=True) as (i, _):
        h, row = load(at(step, i)), b.mul(i, lines)
        to_slow, to_fast = load(at(slow, i, 1)), load(at(fast, i, 1))
        ends = [load(at(least, i)), load(at(most, i))]
        with code.loop(0, lines, ends) as (j, bounds):
            factor = b.fadd(real(1.0), b.fmul(h, load(at(slope, row, j))))
            by_low = b.fdiv(b.fsub(to_fast, b.fmul(h, load(at(low, row, j)))), factor)
            by_high = b.fdiv(b.fsub(to_slow, b.fmul(h, load(at(high, row, j)))), factor)
            up, down = (b.fcmp_ordered(sign, factor, real(0.0)) for sign in "><")
            some = b.or_(up, down)
            lower = code.larger(bounds[0], b.select(up, by_high, by_low))
            upper = code.smaller(bounds[1], b.select(up, by_low, by_high))
            bounds[:] = b.select(some, lower, bounds[0]), b.select(some, upper, bounds[1])
        lower, upper = ends
        most_lower = b.fadd(b.fmul(upper, real(1.0 + 1e-9)), real(1e-15))
        with b.if_then(b.fcmp_ordered(">", lower, most_lower)):
            b.ret(i)
        code.store(code.smaller(lower, upper), at(slow, i))
        code.store(upper, at(fast, i))
    with b.if_then(b.fcmp_ordered(">", load(slow), real(0.0))):
        b.ret(lib.integer(0))

    code.store(real(0.0), x)
    with code.loop(0, count, [real(0.0)]) as (i, state):
        row, limit = b.mul(i, lines), [real(_UNLIMITED)]
        with code.loop(0, lines, limit) as (j, u):
            change = b.fmul(load(at(slope, row, j)), state[0])
            u[0] = code.smaller(u[0], b.fadd(load(at(high, row, j)), change))
        reached = b.fadd(state[0], b.fmul(load(at(step, i)), limit[0]))
        reached = code.smaller(reached, load(at(fast, i, 1)))
        state[0] = code.larger(code.larger(real(0.0), load(at(slow, i, 1))), reached)
        code.store(state[0], at(x, i, 1))
    b.ret(lib.integer(-1))


def _build_newton(code: Any, lines: Any, rows: list[Any], start: Any, side: float, i: Any) -> Any:
    """Newton's steps of `_clip_to_feasible` in interval i from one side; the final x."""
    from robolin.control.optimization import matrix_code as lib

    b, at, load, real = code.b, code.at, code.load, lib.float_constant
    low, high, slope = rows
    before, head, done = b.block, b.append_basic_block("newton"), b.append_basic_block("done")
    b.branch(head)
    b.position_at_end(head)
    x, tried = b.phi(lib.REAL_TYPE), b.phi(lib.WHOLE)
    x.add_incoming(start, before)
    tried.add_incoming(lib.integer(0), before)
    # value, line at 0 and slope of the largest lower and the smallest upper bound
    extremes = [load(low), load(low), load(slope), load(high), load(high), load(slope)]
    for k in (0, 3):
        extremes[k] = b.fadd(extremes[k + 1], b.fmul(extremes[k + 2], x))
    with code.loop(1, lines, extremes) as (j, held):
        tilt = load(at(slope, j))
        change = b.fmul(tilt, x)
        for k, bound, sign in ((0, low, ">"), (3, high, "<")):
            line = load(at(bound, j))
            value = b.fadd(line, change)
            better = b.fcmp_ordered(sign, value, held[k])
            for m, new in enumerate((value, line, tilt)):
                held[k + m] = b.select(better, new, held[k + m])
    below, low_line, low_slope, above, high_line, high_slope = extremes
    size, rise = code.absolute(above), b.fsub(low_slope, high_slope)
    size = b.select(b.fcmp_ordered("<", size, real(float("inf"))), size, real(0.0))
    wrong = b.fcmp_ordered(">", b.fsub(below, above), b.fmul(real(1e-12), size))
    stuck = b.fcmp_ordered("<=", b.fmul(real(side), rise), real(0.0))
    with b.if_then(b.and_(wrong, stuck)):
        b.ret(i)
    crossing = b.select(wrong, b.fdiv(b.fsub(high_line, low_line), rise), x)
    again = b.add(tried, lib.integer(1))
    most = b.mul(lib.integer(2), b.add(lines, lib.integer(1)))
    more = b.and_(b.fcmp_ordered("!=", crossing, x), b.icmp_signed("<", again, most))
    x.add_incoming(crossing, b.block)
    tried.add_incoming(again, b.block)
    b.cbranch(more, head, done)
    b.position_at_end(done)
    return crossing
