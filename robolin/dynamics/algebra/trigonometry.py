"""Sine, cosine and tanh from + - * / and comparison alone: every machine gives the same bits.

The argument is reduced to |r| ≤ π/4 by subtracting k π/2, with π/2 split into four parts.  The
first three have 33 bits: k times each of them is exact for |x| ≤ 2²⁰.  A second number stores the
rounding error of the subtraction, and the first terms of the series add it again.
Polynomials are minimax fits of (sin r - r)/r³ and (cos r - 1 + r²/2)/r⁴ in r², with errors below
2⁻⁵⁶ and 2⁻⁵⁸ of the result, coefficients rounded to doubles.

    tanh x = -e / (e + 2) · sign,   e = exp(-2|x|) - 1 = 2ᵏ (exp(r) - 1) + (2ᵏ - 1)

with -2|x| = k ln 2 + r and |r| ≤ ½ ln 2; beyond |x| = 20 the result is 1 to the last bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from robolin.dynamics.algebra.scalar import Scalar


LARGEST_ANGLE = 2.0**20

TWO_OVER_PI = 0.6366197723675814
HALF_PI = (
    float.fromhex("0x1.921fb544p+0"),
    float.fromhex("0x1.0b4611a6p-34"),
    float.fromhex("0x1.3198a2ep-69"),
    float.fromhex("0x1.b839a252049c1p-104"),
)
SINE = (
    -0.16666666666666632,
    0.008333333333322285,
    -0.00019841269829700022,
    2.755731365296509e-06,
    -2.5050751789264593e-08,
    1.5896416637948092e-10,
)
COSINE = (
    0.0416666666666666,
    -0.001388888888887395,
    2.4801587289368326e-05,
    -2.7557314318022854e-07,
    2.0875718429184764e-09,
    -1.1359388203636749e-11,
)

TINY = 2.0**-54

# adding and subtracting this rounds to the nearest integer
ROUNDER = 1.5 * 2.0**52


def if_less(a: Any, b: Any, yes: Any, no: Any) -> Scalar:
    """Return `yes` where a < b, `no` elsewhere; both are always computed.

    Complex numbers are compared by their real parts, as the complex-step derivative requires.
    """
    if type(a) is type(b) is float:
        chosen_float: Scalar = yes if a < b else no
        return chosen_float
    for number in (a, b):
        if hasattr(number, "if_less"):
            chosen: Scalar = number.if_less(a, b, yes, no)
            return chosen
        if hasattr(number, "shape"):
            import numpy

            picked: Scalar = numpy.where(numpy.real(a) < numpy.real(b), yes, no)
            return picked
    either: Scalar = yes if a.real < b.real else no
    return either


def sin_cos_by_polynomials(x: Scalar) -> tuple[Scalar, Scalar]:
    """(sin x, cos x) for |x| ≤ 2²⁰, each with an error of at most 1 ulp."""
    k = nearest_integer(x * TWO_OVER_PI)
    r, tail = _reduced(x, k)
    sine, cosine = turned_by_quarters(_sine(r, tail), _cosine(r, tail), k)

    # a tiny angle is its own sine, down to the sign of zero
    return if_less(x * x, TINY, x, sine), cosine


def turned_by_quarters(
    s: Scalar, c: Scalar, k: Scalar, rounder: float = ROUNDER
) -> tuple[Scalar, Scalar]:
    """Sine and cosine of an angle increased by k π/2."""
    # k modulo 4: 0, ±1 or ±2; odd values swap sine and cosine
    quarter = k - 4.0 * nearest_integer(k * 0.25, rounder)
    size = quarter * quarter
    odd, sign = (size - 1.0) * (size - 1.0), 1.0 - 0.5 * size
    sine = if_less(odd, 0.5, c, s) * if_less(odd, 0.5, quarter, sign)
    cosine = if_less(odd, 0.5, s, c) * if_less(odd, 0.5, -quarter, sign)
    return sine, cosine


def nearest_integer(x: Scalar, rounder: float = ROUNDER) -> Scalar:
    return (x + rounder) - rounder


def _reduced(x: Scalar, k: Scalar) -> tuple[Scalar, Scalar]:
    """x - k π/2 as a rounded number and its rounding error."""
    first = x - k * HALF_PI[0]
    second, lost = _difference(first, k * HALF_PI[1])
    third, lost_again = _difference(second, k * HALF_PI[2])
    tail = (lost + lost_again) - k * HALF_PI[3]
    r = third + tail
    return r, (third - r) + tail


def _difference(a: Scalar, b: Scalar) -> tuple[Scalar, Scalar]:
    """Knuth's two-sum: a - b rounded, and its exact rounding error."""
    total = a - b
    part = total - a
    return total, (a - (total - part)) - (b + part)


def _sine(r: Scalar, tail: Scalar) -> Scalar:
    z = r * r
    return r + (z * r * polynomial(SINE, z) + (tail - 0.5 * z * tail))


def _cosine(r: Scalar, tail: Scalar) -> Scalar:
    z = r * r
    half = 0.5 * z
    leading = 1.0 - half
    return leading + (((1.0 - leading) - half) + (z * z * polynomial(COSINE, z) - r * tail))


def polynomial(coefficients: tuple[float, ...], z: Scalar) -> Scalar:
    value: Scalar = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        value = value * z + coefficient
    return value


LN2_HIGH = float.fromhex("0x1.62e42feep-1")
LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
SERIES = tuple(1.0 / math.factorial(i) for i in range(1, 15))


def tanh_by_series(x: Scalar, rounder: float = ROUNDER) -> Scalar:
    """tanh x with an error of at most 3 ulp."""
    size = if_less(x, 0.0, -x, x)
    doubled = if_less(20.0, size, size * 0.0 - 40.0, size * -2.0)
    k = nearest_integer(doubled * (1.0 / math.log(2.0)), rounder)
    r = (doubled - k * LN2_HIGH) - k * LN2_LOW

    grown: Scalar = SERIES[-1]
    for coefficient in reversed(SERIES[:-1]):
        grown = grown * r + coefficient
    power = _power_of_two(-k)
    e = power * (grown * r) + (power - 1.0)
    value = -e / (e + 2.0)
    return if_less(x, 0.0, -value, value)


def _power_of_two(k: Scalar) -> Scalar:
    """2⁻ᵏ for integers 0 ≤ k < 64, exactly."""
    power: Scalar = 1.0
    for bit in (32.0, 16.0, 8.0, 4.0, 2.0, 1.0):
        power = if_less(k, bit, power, power * 2.0**-bit)
        k = if_less(k, bit, k, k - bit)
    return power


@dataclass(frozen=True)
class Precision:
    """A floating-point format.

    real:          its name in C and LLVM
    size:          bytes of a number
    digits:        bits of the mantissa
    halvings:      powers of two that scale any normal number to 1 … 4
    largest_angle: largest angle with a fully accurate sine
    less_inertia:  factor on the inertia threshold, relative to double
    less_rank:     factor on the rank threshold, relative to double
    """

    real: str
    size: int
    digits: int
    halvings: tuple[int, ...]
    largest_angle: float
    less_inertia: float = 1.0
    less_rank: float = 1.0

    @property
    def ulp(self) -> float:
        """Distance of adjacent numbers between 1 and 2."""
        return 2.0 ** (1 - self.digits)

    @property
    def rounder(self) -> float:
        """Adding and subtracting this number rounds to the nearest integer."""
        return 1.5 * 2.0 ** (self.digits - 1)


DOUBLE = Precision("double", 8, 53, (512, 256, 128, 64, 32, 16, 8, 4, 2), LARGEST_ANGLE)
# floats: an inertia is round-off below 1e-6 of its terms, and a rank is lost below 1e-4 of a pivot
FLOAT = Precision("float", 4, 24, (64, 32, 16, 8, 4, 2), 2.0**13, 1e7, 1e6)
PRECISIONS = {each.real: each for each in (DOUBLE, FLOAT)}

# π/2 for floats: the first two parts have at most 9 bits, so that 2¹³ times each is exact
_FIRST, _SECOND = float.fromhex("0x1.92p+0"), float.fromhex("0x1.fbp-12")
_THIRD = ((HALF_PI[0] - _FIRST) - _SECOND) + HALF_PI[1]


def sin_cos_in(precision: Precision) -> Callable[[Scalar], tuple[Scalar, Scalar]]:
    """(sin x, cos x) for angles up to the precision's largest."""
    return sin_cos_by_polynomials if precision is DOUBLE else _sin_cos_of_float


def _sin_cos_of_float(x: Scalar) -> tuple[Scalar, Scalar]:
    k = (x * TWO_OVER_PI + FLOAT.rounder) - FLOAT.rounder
    r = ((x - k * _FIRST) - k * _SECOND) - k * _THIRD
    z = r * r
    # omitted terms are below half an ulp of a float
    sine = r + z * r * polynomial(SINE[:4], z)
    cosine = (1.0 - 0.5 * z) + z * z * polynomial(COSINE[:4], z)
    return turned_by_quarters(sine, cosine, k, FLOAT.rounder)


def tanh_in(precision: Precision, x: Scalar) -> Scalar:
    return tanh_by_series(x, precision.rounder)
