"""Angles on which sines go wrong, if they do."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np

from robolin.dynamics.algebra.trigonometry import LARGEST_ANGLE

LAST_QUARTER = 667543  # quarter turns within 2²⁰ rad


def random_angles(rng: np.random.Generator, count: int) -> np.ndarray:
    """A third of the angles everywhere, some within two revolutions, some of every magnitude."""
    third = count // 3
    everywhere = rng.uniform(-LARGEST_ANGLE, LARGEST_ANGLE, third)
    near = rng.uniform(-4.0 * np.pi, 4.0 * np.pi, third)
    rest = count - 2 * third
    magnitudes = np.ldexp(rng.uniform(0.5, 1.0, rest), rng.integers(-1073, 21, rest))
    return np.concatenate([everywhere, near, magnitudes * rng.choice([-1.0, 1.0], rest)])


def near_multiples(rng: np.random.Generator, count: int) -> np.ndarray:
    """Doubles next to multiples of π/4, where a result vanishes or the reduction changes over."""
    eighths = rng.integers(1, 2 * LAST_QUARTER + 1, count // 3)
    eighths[:64] = np.arange(1, 65)
    x = eighths * (np.pi / 4.0) * rng.choice([-1.0, 1.0], len(eighths))
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf)])


def edges() -> np.ndarray:
    """Zeros, denormals, powers of two with their neighbours, and the ends of the range."""
    powers = np.ldexp(1.0, np.arange(-1074, 20))
    inside = np.nextafter(LARGEST_ANGLE, 0.0)
    few = np.array([0.0, 5e-324, 1e-310, 2.2250738585072014e-308, inside, LARGEST_ANGLE])
    x = np.concatenate([few, powers, np.nextafter(powers, 0.0), np.nextafter(powers, 1e300)])
    return np.concatenate([x, -x])


def closest_to_multiples() -> np.ndarray:
    """The doubles of each size closest to a multiple of π/2, by continued fractions."""
    angles = []
    for exponent in range(20):
        unit = Fraction(2) ** (exponent - 52)
        with mpmath.workdps(80):
            quarter = Fraction(int(mpmath.pi / 2 * mpmath.mpf(2) ** 240), 2**240)
        for q in _denominators(unit / quarter, 2**53):
            for multiple in range(-(-(2**52) // q), min(2**53 // q, 2**52 // q + 4) + 1):
                angles.append(float(q * multiple * unit))
    x = np.array([angle for angle in angles if angle <= LARGEST_ANGLE])
    return np.concatenate([x, -x])


def _denominators(number: Fraction, largest: int) -> list[int]:
    """Denominators of the best approximations to a number, up to the largest allowed."""
    denominators, before, q = [], 0, 1
    rest = number - number.numerator // number.denominator
    while q <= largest and rest:
        denominators.append(q)
        rest = 1 / rest
        integer = rest.numerator // rest.denominator
        rest -= integer
        before, q = q, integer * q + before
    return denominators
