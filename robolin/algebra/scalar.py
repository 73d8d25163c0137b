"""The few functions of a number that an algorithm may use besides + - * /.

An algorithm never asks what its numbers are: floats, complex numbers, NumPy arrays, 50-digit
numbers, counters or compiled lanes.  The functions here find the right implementation.  A number
type that is not one of Python's or NumPy's brings its own, as methods of the same name.
"""

from __future__ import annotations

import cmath
import math
from typing import Any

from robolin.algebra.hyperbolic import tanh_by_series
from robolin.algebra.trigonometry import sin_cos_by_polynomials

Scalar = Any
Vector = tuple[Scalar, ...]


def sin_cos(x: Scalar) -> tuple[Scalar, Scalar]:
    """(sin x, cos x)."""
    if isinstance(x, complex):
        return cmath.sin(x), cmath.cos(x)
    if hasattr(x, "sin_cos"):
        sine, cosine = x.sin_cos()
        return sine, cosine
    library = _library(x)
    if library is None:
        return sin_cos_by_polynomials(x)
    return library.sin(x), library.cos(x)


def sqrt(x: Scalar) -> Scalar:
    """The square root; NaN, not an error, for a negative float."""
    if isinstance(x, float):
        return math.sqrt(x) if x >= 0.0 else math.nan
    if isinstance(x, complex):
        return cmath.sqrt(x)
    if hasattr(x, "sqrt"):
        return x.sqrt()
    library = _library(x)
    if library is None:
        import numpy as library
    return library.sqrt(x)


def tanh(x: Scalar) -> Scalar:
    """The hyperbolic tangent."""
    if isinstance(x, complex):
        return cmath.tanh(x)
    if hasattr(x, "tanh"):
        return x.tanh()
    library = _library(x)
    return tanh_by_series(x) if library is None else library.tanh(x)


def where(condition: Any, yes: Vector, no: Vector) -> Vector:
    """`yes` where the condition holds, `no` elsewhere, number by number.

    The condition is a fact about the arm, such as the kind of a joint, never about a state.
    """
    if isinstance(condition, bool):
        return yes if condition else no
    return tuple(condition.where(a, b) for a, b in zip(yes, no, strict=True))


def _library(x: Scalar) -> Any:
    """The module whose functions understand x, or None for floats and arrays of them."""
    if type(x).__module__.partition(".")[0] == "mpmath":
        import mpmath

        return mpmath
    if getattr(getattr(x, "dtype", None), "kind", "") == "c":
        import numpy

        return numpy
    return None
