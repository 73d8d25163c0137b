"""Derivatives of local polynomials are those of exact least squares, for any time stamps."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from robolin.io.trajectories.local_polynomials import LocalPolynomials

SEED = np.random.default_rng(3)
# steps of 0.5 to 1.5 ms, in ns
UNEVEN = np.cumsum(SEED.integers(500_000, 1_500_000, 120))
NOISE = SEED.normal(size=(120, 2))
NANOSECOND = 1e-9


def derivatives(ticks, values, width, order=3, tick=1.0, degrees=(1, 2)):
    """First and second derivatives of all rows; the width is in s."""
    fit = LocalPolynomials(width / tick, order, tick)
    windows = fit.windows(ticks, 0, len(ticks))
    return fit.derivatives(ticks, values, windows, 0, degrees)


# both ends, rows next to them, and one in the middle
SOME = [0, 3, 25, 38, 39]


def exact(ticks, values, width, order, degree):
    """The same with rational numbers for some rows: normal equations without rounding."""
    ticks = [Fraction(int(each)) for each in ticks]
    slopes = []
    for own in (ticks[i] for i in SOME):
        begin = min(max(own - width / 2, ticks[0]), max(ticks[-1] - width, ticks[0]))
        rows = [i for i, each in enumerate(ticks) if begin <= each <= begin + width]
        x = [(ticks[i] - own) / width for i in rows]
        matrix = [
            [sum(u ** (k + m) for u in x) for m in range(order + 1)] for k in range(order + 1)
        ]
        right = [
            sum(u**k * Fraction(float(values[i])) for u, i in zip(x, rows, strict=True))
            for k in range(order + 1)
        ]
        coefficient = solved(matrix, right)[degree]
        slopes.append(float(coefficient * degree / Fraction(width) ** degree))
    return np.array(slopes)


def solved(matrix, right):
    """Gaussian elimination; a Gram matrix needs no pivots."""
    rows = [[*row, b] for row, b in zip(matrix, right, strict=True)]
    for k in range(len(rows)):
        for i in range(len(rows)):
            if i != k:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[-1] / row[k] for k, row in enumerate(rows)]


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_noise_has_the_derivatives_of_exact_least_squares(order):
    """Uneven rows have the derivatives of rational least squares, at both ends too."""
    # the exact solution needs no tolerance of the width: no row is within 1e-4 of it
    width = 20_000_100
    rows = slice(0, 40)
    computed = derivatives(UNEVEN[rows], NOISE[rows], width, order)
    for degree in (1, 2):
        truth = exact(UNEVEN[rows], NOISE[rows, 0], width, order, degree)
        # condition of the powers of x up to the fifth, some 1e3, times 1e-16
        assert np.abs(computed[degree - 1][SOME, 0] - truth).max() < 1e-12 * np.abs(truth).max()


@pytest.mark.parametrize("order", [2, 3, 4, 5])
def test_polynomials_up_to_the_order_are_exact(order):
    """A polynomial of the order has its own derivatives in every row, both ends among them."""
    seconds = (UNEVEN - UNEVEN[0]) * NANOSECOND
    polynomial = np.polynomial.Polynomial(
        SEED.normal(size=order + 1) * 10.0 ** np.arange(order + 1)
    )
    values = polynomial(seconds)[:, None]
    first, second = derivatives(UNEVEN, values, 0.03, order, NANOSECOND)
    for computed, degree in ((first, 1), (second, 2)):
        truth = polynomial.deriv(degree)(seconds)
        # rounding, 1e-16, times the condition 1e3, divided by half the width for each degree
        tolerance = 1e-13 * np.abs(values).max() / 0.015**degree
        assert np.abs(computed[:, 0] - truth).max() < tolerance


@pytest.mark.parametrize("order, rows", [(2, 11), (3, 11), (3, 51), (4, 11), (5, 21)])
def test_even_rows_agree_with_scipy(order, rows):
    """Even rows have the derivatives of savgol_filter, and of its mode 'interp' at the ends."""
    signal = pytest.importorskip("scipy.signal")
    step = 0.01
    computed = derivatives(np.arange(120) * step, NOISE, (rows - 1) * step, order)
    for degree in (1, 2):
        other = signal.savgol_filter(NOISE, rows, order, degree, step, axis=0, mode="interp")
        assert np.abs(computed[degree - 1] - other).max() < 1e-12 * np.abs(other).max()


def test_the_origin_of_the_clock_changes_no_bit():
    """Nanoseconds since 1970 have the derivatives of nanoseconds since the first row."""
    here = derivatives(UNEVEN, NOISE, 0.02, tick=NANOSECOND)
    there = derivatives(UNEVEN + 1_700_000_000_000_000_001, NOISE, 0.02, tick=NANOSECOND)
    assert [each.tobytes() for each in here] == [each.tobytes() for each in there]


def test_derivatives_have_no_phase():
    """A motion that runs backwards has the opposite velocities and the same accelerations."""
    forth = derivatives(UNEVEN, NOISE, 0.02, tick=NANOSECOND)
    back = derivatives(-UNEVEN[::-1], NOISE[::-1], 0.02, tick=NANOSECOND)
    for one, other, sign in zip(forth, back, (-1.0, 1.0), strict=True):
        assert np.abs(one - sign * other[::-1]).max() < 1e-12 * np.abs(one).max()


def test_rows_at_rest_have_no_derivatives():
    """Equal values of any size have derivatives of exactly 0."""
    first, second = derivatives(UNEVEN, np.full((120, 1), 1e6 / 3.0), 0.02, tick=NANOSECOND)
    assert not first.any()
    assert not second.any()


def test_no_window_spans_a_gap():
    """Rows on both sides of a gap have the derivatives of two separate recordings, to the bit."""
    later = np.where(np.arange(120) < 60, UNEVEN, UNEVEN + 50_000_000)
    reference = derivatives(later, NOISE, 0.02, tick=NANOSECOND)
    halves = [
        derivatives(later[part], NOISE[part], 0.02, tick=NANOSECOND)
        for part in (slice(60), slice(60, None))
    ]
    for degree in (0, 1):
        apart = np.concatenate([half[degree] for half in halves])
        assert reference[degree].tobytes() == apart.tobytes()


def test_equal_time_stamps_count_twice():
    """A row that is repeated has the weight of two, as in exact least squares."""
    ticks = np.sort(np.concatenate([UNEVEN[:36], UNEVEN[[1, 2, 20, 21]]]))
    values = NOISE[:40]
    computed = derivatives(ticks, values, 20_000_100.0)
    truth = exact(ticks, values[:, 0], 20_000_100, 3, 2)
    assert np.abs(computed[1][SOME, 0] - truth).max() < 1e-12 * np.abs(truth).max()


def test_rows_with_few_neighbours_have_no_window():
    """A window needs order + 2 different time stamps over half the width."""
    few = np.array([0, 10, 20, 20, 30, 1000, 1001, 1002, 1003, 1004, 1005])
    windows = LocalPolynomials(40.0, 3, 1.0).windows(few, 0, len(few))
    assert not windows.enough.any()
    windows = LocalPolynomials(40.0, 2, 1.0).windows(few, 0, len(few))
    assert windows.enough.tolist() == [True] * 5 + [False] * 6
