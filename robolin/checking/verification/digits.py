"""Correct digits of every result, measured with 50-digit arithmetic.

Each algorithm runs twice with the same parameters, with floats and with 50-digit numbers, in
every checked state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from decimal import Context, Decimal, localcontext
from functools import lru_cache
from math import log10
from typing import Any

import numpy as np

from robolin.checking.verification.algorithms import answering_algorithms
from robolin.checking.verification.check_context import CheckContext
from robolin.checking.verification.checks import (
    Bound,
    Check,
    RightDigits,
    judged,
    not_applicable,
    not_run,
    run_for_check,
    worst,
)
from robolin.core.arrays import AnyArray, Floats
from robolin.core.progress import track
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.catalogue import ALGORITHMS

FAMILY = "digits"

# correct digits of a double
MOST_DIGITS = 16.0

# number of joints above which only one algorithm per result is checked
LARGE = 24

# a result counts as 0 below this, or below this fraction of its round-off
NOTHING, NOTHING_BESIDE = 1e-40, 1e-30


def digits(on: CheckContext) -> Iterator[Check]:
    """Correct digits of each default algorithm's results in the worst state."""
    yield from digits_of(on, answering_algorithms(on))


def digits_of(on: CheckContext, names: Sequence[str]) -> Iterator[Check]:
    """Correct digits of these algorithms' results."""
    try:
        import mpmath  # noqa: F401
    except ImportError:
        yield not_run(
            FAMILY, "all results with 50 digits", "mpmath is not installed (pip install mpmath)"
        )
        return
    covered: set[str] = set()
    for name in track("verifying with 50 digits", names, len(names)):
        gives = set(ALGORITHMS[name].gives)
        if len(on.arm.links) > LARGE and gives <= covered:
            yield not_run(FAMILY, name, "large robot: only one algorithm per result is checked")
            continue
        covered |= gives
        # decimal precision is per thread: restore it before the caller continues
        with fifty_digits():
            check = _digits_of(on, name)
        yield check


def _digits_of(on: CheckContext, name: str) -> Check:
    computed = {array: on.has_result(name, array) for array in ALGORITHMS[name].gives}
    if not any(mask.any() for mask in computed.values()):
        reason = f"no finite result in any of the {len(on.q)} states"
        return not_applicable(FAMILY, name, reason)
    true = _in_fifty_digits(on, name, computed)
    checks, correct = [], []
    for array, mask in computed.items():
        rows = np.flatnonzero(mask)
        if not len(rows):
            correct.append(RightDigits(array, None, None, 0.0, 0, len(on.q)))
            continue
        # subtract with 50 digits, before anything is rounded
        difference = _largest(decimals(on.result(name, array)[rows]) - true[array][rows])
        size = _largest(true[array][rows])
        checks.append(_judged(on, (name, array), difference, size, rows))
        correct.append(_right(array, difference, size, rows, len(on.q)))
    decisive = worst(checks)
    return replace(decisive, detail=", ".join(map(str, correct)), digits=tuple(correct))


def _in_fifty_digits(
    on: CheckContext, name: str, computed: Mapping[str, AnyArray]
) -> dict[str, AnyArray]:
    """Each result as decimals (states, …), 0 in states without a float result.

    States with the same results are computed together; if that gives a NaN, one by one.
    """
    masks = np.array(list(computed.values()))
    true: dict[str, AnyArray] = {}
    for pattern in np.unique(masks, axis=1).T:
        rows = np.flatnonzero((masks == pattern[:, None]).all(axis=0))
        if not pattern.any():
            continue
        together = _exactly(on, name, rows)
        if not all(_finite(x) for x, has in zip(together.values(), pattern, strict=True) if has):
            apart = [_exactly(on, name, rows[[i]]) for i in range(len(rows))]
            together = {array: np.concatenate([x[array] for x in apart]) for array in together}
        for array, values in together.items():
            entries = true.setdefault(array, np.zeros((len(on.q), *values.shape[1:]), dtype=object))
            entries[rows] = values
    return true


def _exactly(on: CheckContext, name: str, rows: AnyArray) -> dict[str, AnyArray]:
    """Results in these states as decimals, states first."""
    inputs = {
        need: np.array([ExactNumbers(column) for column in _columns(values[rows])], dtype=object)
        for need, values in on.inputs(name).items()
    }
    results = run_for_check(on.arm, name, inputs, exact).arrays
    return {array: _by_state(values, len(rows)) for array, values in results.items()}


def _columns(values: AnyArray) -> Iterator[Any]:
    """Values of each joint as decimals: an array for several states, a number for one."""
    for column in decimals(values.T):
        yield column if len(column) > 1 else column[0]


def _by_state(values: AnyArray, states: int) -> AnyArray:
    """Move the state axis from inside the entries to the front."""
    values = np.asarray(values, dtype=object)
    gathered = np.empty((states, *values.shape), dtype=object)
    for index in np.ndindex(values.shape):
        number = values[index]
        plain = number.value if isinstance(number, ExactNumbers) else Decimal(number)
        gathered[(slice(None), *index)] = plain
    return gathered


def _finite(values: AnyArray) -> bool:
    # sums of infinities are infinite or NaN
    return bool(values.sum().is_finite())


def _largest(values: AnyArray) -> AnyArray:
    """Largest entry of each state (states,), NaN if one is not finite."""
    rows = abs(values).reshape(len(values), -1)
    return np.array([float(row.max() if _finite(row) else "nan") for row in rows])


def _judged(
    on: CheckContext, result: tuple[str, str], difference: AnyArray, size: AnyArray, rows: AnyArray
) -> Check:
    bound, states = on.bound(*result), len(on.q)
    here = Bound(bound.at(states)[rows], bound.why)
    terms = np.broadcast_to(on.terms(*result), (states,))[rows]
    check = judged(FAMILY, result[0], difference, size, here, terms)
    return replace(check, state=int(rows[check.state or 0]))


def _right(
    array: str, difference: AnyArray, size: AnyArray, rows: AnyArray, states: int
) -> RightDigits:
    """Correct digits of the worst entry, relative to the largest entry, in the worst state."""
    nothing = size <= np.maximum(NOTHING, NOTHING_BESIDE * difference)
    counted = np.flatnonzero(~nothing)
    if not len(counted):
        return RightDigits(array, None, None, 0.0, len(rows), states)
    error = difference[counted] / size[counted]
    i = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    digits, state = _digits(float(error[i])), int(counted[i])
    return RightDigits(array, digits, int(rows[state]), float(size[state]), len(rows), states)


def _digits(error: float) -> float:
    if not np.isfinite(error):
        return 0.0
    return MOST_DIGITS if error < 10.0**-MOST_DIGITS else max(0.0, -log10(error))


EXACT_DIGITS = 50


@contextmanager
def fifty_digits() -> Iterator[None]:
    """Set decimal and mpmath to 50 digits; undefined operations give NaN instead of an error."""
    import mpmath

    with mpmath.workdps(EXACT_DIGITS), localcontext(Context(prec=EXACT_DIGITS, traps=[])):
        yield


class ExactNumbers:
    """A decimal, or an array with one decimal per state."""

    value: Any

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    @property
    def real(self) -> ExactNumbers:
        return self

    def __add__(self, other: Any) -> ExactNumbers:
        number = other.value if type(other) is ExactNumbers else Decimal(other)
        return ExactNumbers(self.value + number)

    def __sub__(self, other: Any) -> ExactNumbers:
        number = other.value if type(other) is ExactNumbers else Decimal(other)
        return ExactNumbers(self.value - number)

    def __rsub__(self, other: Any) -> ExactNumbers:
        return ExactNumbers(_plain(other) - self.value)

    def __mul__(self, other: Any) -> ExactNumbers:
        number = other.value if type(other) is ExactNumbers else Decimal(other)
        return ExactNumbers(self.value * number)

    def __truediv__(self, other: Any) -> ExactNumbers:
        number = other.value if type(other) is ExactNumbers else Decimal(other)
        return ExactNumbers(self.value / number)

    def __rtruediv__(self, other: Any) -> ExactNumbers:
        return ExactNumbers(_plain(other) / self.value)

    def __radd__(self, other: Any) -> ExactNumbers:
        return self.__add__(other)

    def __rmul__(self, other: Any) -> ExactNumbers:
        return self.__mul__(other)

    def __neg__(self) -> ExactNumbers:
        return ExactNumbers(-self.value)

    def __abs__(self) -> ExactNumbers:
        return ExactNumbers(abs(self.value))

    def __lt__(self, other: Any) -> bool:
        """True if less in every state."""
        return bool(np.all(self.value < _plain(other)))

    def __gt__(self, other: Any) -> bool:
        """True if greater in every state."""
        return bool(np.all(self.value > _plain(other)))

    def if_less(self, a: Any, b: Any, yes: Any, no: Any) -> ExactNumbers:
        less = np.asarray(_plain(a) < _plain(b), dtype=bool)
        return ExactNumbers(np.where(less, _plain(yes), _plain(no)))

    def sqrt(self) -> ExactNumbers:
        return ExactNumbers(_each(Decimal.sqrt, self.value))

    def sin_cos(self) -> tuple[ExactNumbers, ExactNumbers]:
        return ExactNumbers(_each(_sine, self.value)), ExactNumbers(_each(_cosine, self.value))

    def tanh(self) -> ExactNumbers:
        return ExactNumbers(_each(_tanh, self.value))


# checked by the type checker
_IS_A_SCALAR: type[Scalar] = ExactNumbers


def exact(number: float) -> ExactNumbers:
    """The double as an exact decimal."""
    return ExactNumbers(Decimal(number))


def decimals(values: Floats) -> Floats:
    """Doubles as exact decimals."""
    each = np.array([Decimal(x) for x in values.ravel().tolist()], dtype=object)
    return each.reshape(values.shape)


def _plain(number: Any) -> Any:
    return number.value if isinstance(number, ExactNumbers) else Decimal(number)


def _each(function: Callable[[Decimal], Decimal], value: Any) -> Any:
    if isinstance(value, Decimal):
        return function(value)
    return np.array([function(x) for x in value], dtype=object)


# cached: every algorithm needs them for the same angles


@lru_cache(maxsize=4096)
def _sine(x: Decimal) -> Decimal:
    import mpmath

    return _by(mpmath.sin, x)


@lru_cache(maxsize=4096)
def _cosine(x: Decimal) -> Decimal:
    import mpmath

    return _by(mpmath.cos, x)


def _tanh(x: Decimal) -> Decimal:
    import mpmath

    return _by(mpmath.tanh, x)


def _by(function: Callable[[Any], Any], x: Decimal) -> Decimal:
    """Evaluate an mpmath function with 50 digits."""
    import mpmath

    sign, mantissa, exponent, _ = function(mpmath.mpf(str(x)))._mpf_
    value: Decimal = Decimal(-mantissa if sign else mantissa) * Decimal(2) ** exponent
    return value
