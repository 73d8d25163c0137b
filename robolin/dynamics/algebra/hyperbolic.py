"""The hyperbolic tangent from + - * / and comparison alone, for smoothed friction.

    tanh x = -e / (e + 2) · sign,   e = exp(-2|x|) - 1 = 2ᵏ (exp(r) - 1) + (2ᵏ - 1)

with -2|x| = k ln 2 + r and |r| ≤ ½ ln 2; beyond |x| = 20 the result is 1 to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from robolin.dynamics.algebra.comparison import if_less
from robolin.dynamics.algebra.trigonometry import ROUNDER, nearest_integer

if TYPE_CHECKING:
    from robolin.dynamics.algebra.scalar import Scalar

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
