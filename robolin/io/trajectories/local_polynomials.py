"""Derivatives by local least-squares polynomials, for rows with any time steps.

For every row a polynomial of the given order is fitted to all rows within half a width, without
weights, and differentiated at the row.  This is the Savitzky-Golay filter for uneven rows.

    window(i) = [t(i) - w/2, t(i) + w/2]            shifted inward at both ends of a segment
    x(j)      = (t(j) - centre) / (half the span)   of the rows j of the window, in [-1, 1]
    G(k, l)   = Σ x(j)^(k+l)                        Gram matrix of the powers of x
    G a       = d-th derivative of the powers at x(i)
    y^(d)(i)  = Σ (Σ a(k) x(j)^k) (y(j) - y(i)) / (half the span)^d

Times enter as differences, which are exact for integers, so results do not depend on the origin
of the clock.  All operations are element by element in a fixed order, so the bits of a row depend
on its window alone: neither on the number of rows in memory nor on the machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import factorial, floor

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask, Numbers
from robolin.core.records import dataclass

# rows evaluated together: their arrays stay in the cache
_ROWS_TOGETHER = 8192
# relative tolerance of the width, so that rounded time stamps at its ends belong to the window
_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Windows:
    """First and last row of the window of each row, and whether the window suffices for a fit."""

    first: Integers
    last: Integers
    enough: Mask


@dataclass(frozen=True)
class LocalPolynomials:
    """Local polynomials over a width, in units of the time stamps ('ticks').

    width: in ticks
    order: of the polynomials
    tick:  seconds per tick
    """

    width: float
    order: int
    tick: float

    def in_ticks(self, ticks: Numbers) -> tuple[float, float]:
        """Half the width, which is also the longest step within a segment, and the width.

        Both include a tolerance.  They are integers for integer ticks: comparisons are then exact.
        """
        half, full = self.width * (0.5 + _TOLERANCE), self.width * (1.0 + _TOLERANCE)
        return (floor(half), floor(full)) if ticks.dtype.kind == "i" else (half, full)

    @property
    def fewest(self) -> int:
        """The smallest number of different time stamps in a window."""
        return self.order + 2

    def windows(self, ticks: Numbers, first: int, stop: int) -> Windows:
        """Windows of the rows from `first` to before `stop`; `ticks` (rows,) do not decrease.

        A window stays within its segment, has at least `fewest` different time stamps and covers
        at least half the width.
        """
        half, full = self.in_ticks(ticks)
        starts = np.concatenate([[0], np.flatnonzero(np.diff(ticks) > half) + 1])
        ends = np.append(starts[1:], len(ticks)) - 1
        rows = np.arange(first, stop)
        segment = np.searchsorted(starts, rows, side="right") - 1
        lowest, highest = starts[segment], ends[segment]
        begin, end = ticks[lowest], ticks[highest]
        own = ticks[first:stop]
        early, late = own - half < begin, own + half > end
        left = np.where(early, begin, np.where(late, end - full, own - half))
        right = np.where(early, begin + full, np.where(late, end, own + half))
        low = np.maximum(np.searchsorted(ticks, left, side="left"), lowest)
        high = np.minimum(np.searchsorted(ticks, right, side="right") - 1, highest)
        different = np.concatenate([[0], np.cumsum(np.diff(ticks) > 0)])
        count = different[high] - different[low] + 1
        covered = ticks[high] - ticks[low] >= self.width * (0.5 - _TOLERANCE)
        return Windows(low, high, (count >= self.fewest) & covered)

    def derivatives(
        self, ticks: Numbers, values: Floats, windows: Windows, first: int, degrees: Sequence[int]
    ) -> list[Floats]:
        """Derivatives of `values` (rows, n), one (windows, n) for each of `degrees`.

        first: the row of the first window; rows without a sufficient window are NaN
        """
        columns = np.ascontiguousarray(values.T)
        computed = [np.empty((len(windows.first), values.shape[1])) for _ in degrees]
        for begin in range(0, len(windows.first), _ROWS_TOGETHER):
            part = slice(begin, begin + _ROWS_TOGETHER)
            some = Windows(windows.first[part], windows.last[part], windows.enough[part])
            # numbers that are not finite are reported with their rows
            with np.errstate(all="ignore"):
                fitted = self._fit(ticks, columns, some, first + begin, degrees)
            for target, each in zip(computed, fitted, strict=True):
                target[part] = np.where(some.enough, each, np.nan).T
        return computed

    def _fit(
        self, ticks: Numbers, columns: Floats, windows: Windows, first: int, degrees: Sequence[int]
    ) -> list[Floats]:
        """Derivatives (n, windows) of `columns` (n, rows)."""
        block = _Block(ticks, columns, windows, first)
        moments = np.zeros((2 * self.order + 1, block.rows))
        for offset in block.offsets:
            x, power = block.scaled(offset), block.inside(offset)
            moments[0] += power
            for moment in moments[1:]:
                power *= x
                moment += power
        at = block.scaled(0)
        sums = [np.zeros((len(columns), block.rows)) for _ in degrees]
        product = np.empty((len(columns), block.rows))
        coefficients = _solved(moments, [_slopes(at, self.order, degree) for degree in degrees])
        for offset in block.offsets:
            x, inside, change = block.scaled(offset), block.inside(offset), block.change(offset)
            for total, factors in zip(sums, coefficients, strict=True):
                weight = factors[-1] * x
                for factor in factors[-2:0:-1]:
                    weight += factor
                    weight *= x
                weight += factors[0]
                if not block.is_common(offset):
                    weight *= inside
                total += np.multiply(change, weight, out=product)
        rate = block.per_radius / self.tick
        return [total * _power(rate, degree) for total, degree in zip(sums, degrees, strict=True)]


class _Block:
    """Rows that are fitted together, with their neighbours at every offset."""

    def __init__(self, ticks: Numbers, columns: Floats, windows: Windows, first: int) -> None:
        self.rows = len(windows.first)
        number = np.arange(first, first + self.rows)
        self._low, self._high = windows.first - number, windows.last - number
        self.offsets = range(int(self._low.min()), int(self._high.max()) + 1)
        self._common = range(int(self._low.max()), int(self._high.min()) + 1)
        # rows beyond both ends, which no window contains, repeat the last row
        needed = np.arange(first + self.offsets.start, first + self.rows + self.offsets.stop - 1)
        needed = np.clip(needed, 0, len(ticks) - 1)
        # differences of integers are exact, also as floats
        origin = ticks[first] if ticks.dtype.kind == "i" else 0.0
        self._times = (ticks[needed] - origin).astype(np.float64)
        self._columns = columns[:, needed]
        low, high = (
            (ticks[each] - origin).astype(np.float64) for each in (windows.first, windows.last)
        )
        self._centre = 0.5 * (low + high)
        self.per_radius = 2.0 / np.where(windows.enough, high - low, 1.0)
        self._own = self._columns[:, self._at(0)].copy()
        self._change = np.empty_like(self._own)

    def _at(self, offset: int) -> slice:
        begin = offset - self.offsets.start
        return slice(begin, begin + self.rows)

    def is_common(self, offset: int) -> bool:
        """Return whether the neighbours at this offset belong to the windows of all rows."""
        return offset in self._common

    def scaled(self, offset: int) -> Floats:
        """Scaled times x of the neighbours at this offset; 0 outside the window."""
        x: Floats = (self._times[self._at(offset)] - self._centre) * self.per_radius
        return x if self.is_common(offset) else np.where(self._within(offset), x, 0.0)

    def inside(self, offset: int) -> Floats:
        """1 where the neighbour at this offset belongs to the window, else 0."""
        if self.is_common(offset):
            return np.ones(self.rows)
        return self._within(offset).astype(np.float64)

    def _within(self, offset: int) -> Mask:
        within: Mask = (self._low <= offset) & (offset <= self._high)
        return within

    def change(self, offset: int) -> Floats:
        """Values of the neighbours minus those of the rows."""
        np.subtract(self._columns[:, self._at(offset)], self._own, out=self._change)
        return self._change


def _power(base: Floats, exponent: int) -> Floats:
    """Power by multiplication, which has the same bits on every machine."""
    return base if exponent == 1 else base * _power(base, exponent - 1)


def _slopes(x: Floats, order: int, degree: int) -> list[Floats]:
    """Derivatives of the given degree of 1, x, x², … up to the order."""
    slopes, power = [np.zeros_like(x) for _ in range(degree)], np.ones_like(x)
    for k in range(degree, order + 1):
        slopes.append(factorial(k) / factorial(k - degree) * power)
        power = power * x
    return slopes


def _solved(moments: Floats, right: Sequence[list[Floats]]) -> list[list[Floats]]:
    """Solve G a = b for each right side b, by Cholesky factors of G(k, l) = moments(k + l)."""
    size = (len(moments) + 1) // 2
    factor: list[list[Floats]] = []
    for k in range(size):
        row: list[Floats] = []
        for j in range(k + 1):
            entry = moments[k + j].copy()
            for i in range(j):
                entry -= (factor[j] if j < k else row)[i] * row[i]
            row.append(np.sqrt(entry) if j == k else entry / factor[j][j])
        factor.append(row)
    return [_substituted(factor, b) for b in right]


def _substituted(factor: list[list[Floats]], b: list[Floats]) -> list[Floats]:
    """Solve L Lᵀ a = b."""
    size = len(b)
    between: list[Floats] = []
    for k in range(size):
        entry = b[k].copy()
        for i in range(k):
            entry -= factor[k][i] * between[i]
        between.append(entry / factor[k][k])
    for k in reversed(range(size)):
        for i in range(k + 1, size):
            between[k] = between[k] - factor[i][k] * between[i]
        between[k] = between[k] / factor[k][k]
    return between
