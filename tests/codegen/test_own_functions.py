"""Functions for programs without a library: roots rounded correctly, sines for floats."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from robolin.codegen.functions import root_in
from robolin.dynamics.algebra.trigonometry import DOUBLE, FLOAT, sin_cos_in, tanh_in


def test_roots_are_the_machines_own() -> None:
    """√x has the bits that the processor's own root has, from the smallest numbers to the largest.

    Squares and their neighbours are next to the numbers that are hardest to round.
    """
    draw = random.Random(3)
    numbers = [0.0, 1.0, 2.0**-1022, 1.7e308, math.nextafter(4.0, 0.0), math.nextafter(1.0, 0.0)]
    for _ in range(1500):
        square = draw.uniform(1.0, 2.0) ** 2
        numbers += [square, math.nextafter(square, 9.0), math.nextafter(square, 0.0)]
        numbers.append(draw.uniform(1.0, 4.0) * 2.0 ** draw.randint(-1021, 1021))
    assert [x for x in numbers if root_in(DOUBLE, x) != math.sqrt(x)] == []


@pytest.mark.parametrize("span", [0.01, 3.2, 1000.0, FLOAT.largest_angle])
def test_sines_of_floats_are_as_exact_as_floats(span: float) -> None:
    """Sine and cosine in single precision are within 2⁻²² up to the largest angle."""
    x = np.random.default_rng(1).uniform(-span, span, 4000).astype(np.float32)
    sine, cosine = sin_cos_in(FLOAT)(_Single(x))
    exact = x.astype(float)
    assert np.abs(sine.values - np.sin(exact)).max() < 2.0**-22
    assert np.abs(cosine.values - np.cos(exact)).max() < 2.0**-22


def test_tanh_of_floats_is_nearly_exact() -> None:
    """Friction is smoothed within 2⁻²⁰ in single precision, far out too."""
    x = np.linspace(-30.0, 30.0, 4001).astype(np.float32)
    computed = tanh_in(FLOAT, _Single(x)).values
    assert np.abs(computed - np.tanh(x.astype(float))).max() < 2.0**-20


class _Single:
    """Arrays of floats that take no constant for a double."""

    def __init__(self, values: np.ndarray) -> None:
        self.values = np.asarray(values, dtype=np.float32)

    @staticmethod
    def _of(other: object) -> np.ndarray:
        return other.values if isinstance(other, _Single) else np.float32(other)

    def __add__(self, other: object) -> _Single:
        return _Single(self.values + self._of(other))

    __radd__ = __add__

    def __sub__(self, other: object) -> _Single:
        return _Single(self.values - self._of(other))

    def __rsub__(self, other: object) -> _Single:
        return _Single(self._of(other) - self.values)

    def __mul__(self, other: object) -> _Single:
        return _Single(self.values * self._of(other))

    __rmul__ = __mul__

    def __truediv__(self, other: object) -> _Single:
        return _Single(self.values / self._of(other))

    def __neg__(self) -> _Single:
        return _Single(-self.values)

    def if_less(self, a: object, b: object, yes: object, no: object) -> _Single:
        return _Single(np.where(self._of(a) < self._of(b), self._of(yes), self._of(no)))
