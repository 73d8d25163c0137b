"""Sines and cosines to about 30 digits, a million in seconds.

The argument is reduced exactly, in integer multiples of 2⁻²⁰⁰ rad. The remainder is the sum of two
doubles, and the Taylor series are summed in that arithmetic. Nothing here is shared with
`robolin.dynamics.algebra`, and the numbers are themselves compared with mpmath's.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np

FRACTION_BITS = 200
DIGITS = 80
with mpmath.workdps(DIGITS):
    HALF_PI = int(mpmath.nint(mpmath.pi / 2 * mpmath.mpf(2) ** FRACTION_BITS))

Double = tuple[np.ndarray, np.ndarray]  # a number as the sum of two


def true_sin_cos(x: np.ndarray) -> tuple[Double, Double]:
    """sin x and cos x, each as a double and its rounding error."""
    quarter, r = _reduced(x)
    s, c = _sine(r), _cosine(r)
    odd = quarter % 2 == 1
    sine = [np.where(odd, b, a) for a, b in zip(s, c, strict=True)]
    cosine = [np.where(odd, a, b) for a, b in zip(s, c, strict=True)]
    sine_sign = np.where(quarter >= 2, -1.0, 1.0)
    cosine_sign = np.where((quarter == 1) | (quarter == 2), -1.0, 1.0)
    return (
        (sine[0] * sine_sign, sine[1] * sine_sign),
        (cosine[0] * cosine_sign, cosine[1] * cosine_sign),
    )


def _reduced(x: np.ndarray) -> tuple[np.ndarray, Double]:
    """Quarter turns modulo 4 and the remainder of x; small arguments are their own remainder."""
    quarters = np.zeros(len(x), dtype=np.int64)
    high, low = x.copy(), np.zeros(len(x))
    for i in np.flatnonzero(np.abs(x) >= 0.5).tolist():
        scaled = int(math.ldexp(float(x[i]), FRACTION_BITS))
        k = (2 * scaled + HALF_PI) // (2 * HALF_PI)
        rest = scaled - k * HALF_PI
        nearest = float(rest)
        quarters[i] = k % 4
        high[i] = math.ldexp(nearest, -FRACTION_BITS)
        low[i] = math.ldexp(float(rest - int(nearest)), -FRACTION_BITS)
    return quarters, (high, low)


def _sine(r: Double) -> Double:
    return _times(r, _series(_times(r, r), first=1))


def _cosine(r: Double) -> Double:
    return _series(_times(r, r), first=0)


def _series(z: Double, first: int) -> Double:
    """1 - z/((first+1)(first+2)) + …, to well below 2⁻¹⁰⁰ for z ≤ (π/4)²."""
    total: Double = (np.zeros(len(z[0])), np.zeros(len(z[0])))
    for i in reversed(range(14)):
        exact = Fraction((-1) ** i, math.factorial(2 * i + first))
        high = float(exact)
        low = float(exact - Fraction(high))
        total = _plus(_times(total, z), (np.full(len(z[0]), high), np.full(len(z[0]), low)))
    return total


def _plus(a: Double, b: Double) -> Double:
    total, lost = _two_sum(a[0], b[0])
    return _two_sum(total, lost + (a[1] + b[1]))


def _times(a: Double, b: Double) -> Double:
    product, lost = _two_product(a[0], b[0])
    return _two_sum(product, lost + (a[0] * b[1] + a[1] * b[0]))


def _two_sum(a: np.ndarray, b: np.ndarray) -> Double:
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _two_product(a: np.ndarray, b: np.ndarray) -> Double:
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: np.ndarray) -> Double:
    shifted = a * 134217729.0
    high = shifted - (shifted - a)
    return high, a - high


def ulps_off(computed: np.ndarray, true: Double) -> np.ndarray:
    """Error of each number, in units of the last place of the reference."""
    return np.abs((computed - true[0]) - true[1]) / np.spacing(np.abs(true[0]))
