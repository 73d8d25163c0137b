"""Functions of a scalar that an algorithm may use in addition to + - * /.

Algorithms accept any scalar: floats, complex numbers, NumPy arrays, 50-digit numbers, counters or
compiled lanes.  The functions here dispatch on the type.  A type that is not Python's or NumPy's
provides its own implementation as methods of the same name.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, cast

from robolin.dynamics.algebra.trigonometry import sin_cos_by_polynomials, tanh_by_series


class Scalar(Protocol):
    """Required operators: + - * / with the same type and with floats, and negation.

    Comparison, sine, square root and tanh have no common operators.  A scalar type may override the
    functions below with methods `if_less(a, b, yes, no)`, `sin_cos()`, `sqrt()` and `tanh()`.
    """

    def __add__(self, other: Any, /) -> Scalar: ...
    def __radd__(self, other: Any, /) -> Scalar: ...
    def __sub__(self, other: Any, /) -> Scalar: ...
    def __rsub__(self, other: Any, /) -> Scalar: ...
    def __mul__(self, other: Any, /) -> Scalar: ...
    def __rmul__(self, other: Any, /) -> Scalar: ...
    def __truediv__(self, other: Any, /) -> Scalar: ...
    def __rtruediv__(self, other: Any, /) -> Scalar: ...
    def __neg__(self) -> Scalar: ...


Vector = tuple[Scalar, ...]
S = TypeVar("S", bound=Scalar)


def sin_cos(x: S) -> tuple[S, S]:
    """(sin x, cos x)."""
    number: Any = x
    pair: Any
    if type(number) is float:
        pair = sin_cos_by_polynomials(number)
    elif isinstance(number, complex):
        pair = cmath.sin(number), cmath.cos(number)
    elif hasattr(number, "sin_cos"):
        pair = number.sin_cos()
    elif (library := _library(number)) is not None:
        pair = library.sin(number), library.cos(number)
    else:
        pair = sin_cos_by_polynomials(number)
    sine, cosine = pair
    return sine, cosine


def sqrt(x: S) -> S:
    """The square root; NaN, not an error, for a negative float."""
    number: Any = x
    root: Any
    if type(number) is float:
        root = math.sqrt(number) if number >= 0.0 else math.nan
    elif isinstance(number, complex):
        root = cmath.sqrt(number)
    elif hasattr(number, "sqrt"):
        root = number.sqrt()
    elif isinstance(number, float):
        root = math.sqrt(number) if number >= 0.0 else math.nan
    else:
        root = (_library(number) or _numpy()).sqrt(number)
    return cast(S, root)


def tanh(x: S) -> S:
    """The hyperbolic tangent."""
    number: Any = x
    value: Any
    if isinstance(number, complex):
        value = cmath.tanh(number)
    elif hasattr(number, "tanh"):
        value = number.tanh()
    elif (library := _library(number)) is not None:
        value = library.tanh(number)
    else:
        value = tanh_by_series(number)
    return cast(S, value)


def float_sum(values: Iterable[float]) -> float:
    """The sum of floats from left to right, rounded after each term.

    The built-in `sum` compensates rounding errors of floats from Python 3.12 on, so its last bits
    depend on the Python version.  This function returns the same bits on every version.
    """
    total = 0.0
    for value in values:
        total += value
    return total


def where(condition: Any, yes: Vector, no: Vector) -> Vector:
    """`yes` where the condition holds, `no` elsewhere, number by number.

    The condition depends on the arm, such as the type of a joint, never on the state.
    """
    if isinstance(condition, bool):
        return yes if condition else no
    return tuple(condition.where(a, b) for a, b in zip(yes, no, strict=True))


def _numpy() -> Any:
    import numpy

    return numpy


def _library(x: Any) -> Any:
    """The module that implements functions of x, or None for floats and float arrays."""
    if type(x).__module__.partition(".")[0] == "mpmath":
        import mpmath

        return mpmath
    if getattr(getattr(x, "dtype", None), "kind", "") == "c":
        return _numpy()
    return None
