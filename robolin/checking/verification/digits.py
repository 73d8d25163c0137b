"""How many digits of every result are right, told by 50-digit arithmetic.

The algorithm that answers runs twice from the same figures, on floats and on 50-digit numbers, in
every state that is looked at.
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
    worst,
)
from robolin.checking.verification.running import run_for_check
from robolin.core.arrays import AnyArray, Floats
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.catalogue import ALGORITHMS

FAMILY = "digits"

# a double has no more
MOST_DIGITS = 16.0

# joints beyond which a result is worked out by one algorithm only
LARGE = 24

# a result is 0 of which fifty digits leave no more than this, or this share of its rounding error
NOTHING, NOTHING_BESIDE = 1e-40, 1e-30


def digits(on: CheckContext) -> Iterator[Check]:
    """For each question, the right digits of its results in the worst of all states."""
    yield from digits_of(on, answering_algorithms(on))


def digits_of(on: CheckContext, names: Sequence[str]) -> Iterator[Check]:
    """The same for these algorithms."""
    try:
        import mpmath  # noqa: F401
    except ImportError:
        yield not_run(FAMILY, "every result in 50 digits", "install robolin[verify] (mpmath)")
        return
    told: set[str] = set()
    for name in names:
        gives = set(ALGORITHMS[name].gives)
        if len(on.arm.links) > LARGE and gives <= told:
            yield not_run(FAMILY, name, "on a large arm one algorithm tells of each result")
            continue
        told |= gives
        # the precision is the thread's: nobody else runs before it is given back
        with fifty_digits():
            check = _digits_of(on, name)
        yield check


def _digits_of(on: CheckContext, name: str) -> Check:
    answered = {array: on.answered(name, array) for array in ALGORITHMS[name].gives}
    if not any(mask.any() for mask in answered.values()):
        reason = f"it has no finite answer in any of the {len(on.q)} states"
        return not_applicable(FAMILY, name, reason)
    true = _in_fifty_digits(on, name, answered)
    checks, told = [], []
    for array, mask in answered.items():
        rows = np.flatnonzero(mask)
        if not len(rows):
            told.append(RightDigits(array, None, None, 0.0, 0, len(on.q)))
            continue
        # differences are taken in 50 digits, before anything is rounded
        difference = _largest(decimals(on.result(name, array)[rows]) - true[array][rows])
        size = _largest(true[array][rows])
        checks.append(_judged(on, (name, array), difference, size, rows))
        told.append(_right(array, difference, size, rows, len(on.q)))
    decisive = worst(checks)
    return replace(decisive, detail=", ".join(map(str, told)), digits=tuple(told))


def _in_fifty_digits(
    on: CheckContext, name: str, answered: Mapping[str, AnyArray]
) -> dict[str, AnyArray]:
    """Each result as decimals (states, …), 0 in states where floats have no answer at all.

    States with the same results are worked out together; where that leaves one without a number,
    one by one.
    """
    masks = np.array(list(answered.values()))
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
            whole = true.setdefault(array, np.zeros((len(on.q), *values.shape[1:]), dtype=object))
            whole[rows] = values
    return true


def _exactly(on: CheckContext, name: str, rows: AnyArray) -> dict[str, AnyArray]:
    """The results in these states as decimals, states first."""
    given = {
        need: np.array([ExactNumbers(column) for column in _columns(values[rows])], dtype=object)
        for need, values in on.given(name).items()
    }
    found = run_for_check(on.arm, name, given, exact).arrays
    return {array: _by_state(values, len(rows)) for array, values in found.items()}


def _columns(values: AnyArray) -> Iterator[Any]:
    """Each joint's values as decimals: an array for all states, the number itself for one."""
    for column in decimals(values.T):
        yield column if len(column) > 1 else column[0]


def _by_state(values: AnyArray, states: int) -> AnyArray:
    """What has an entry for each state in every place, as states that have places."""
    values = np.asarray(values, dtype=object)
    gathered = np.empty((states, *values.shape), dtype=object)
    for place in np.ndindex(values.shape):
        number = values[place]
        plain = number.value if isinstance(number, ExactNumbers) else Decimal(number)
        gathered[(slice(None), *place)] = plain
    return gathered


def _finite(values: AnyArray) -> bool:
    # sums of infinities are infinite or no numbers
    return bool(values.sum().is_finite())


def _largest(values: AnyArray) -> AnyArray:
    """The largest entry of each state (states,), NaN where one is not finite."""
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
    """The fewest digits in which the worst entry is right, counted from the largest one's first."""
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
    """Within, decimals and mpmath round to 50 digits; what is undefined is NaN, not an error."""
    import mpmath

    with mpmath.workdps(EXACT_DIGITS), localcontext(Context(prec=EXACT_DIGITS, traps=[])):
        yield


class ExactNumbers:
    """A decimal, or an array of them with one for each state."""

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

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> ExactNumbers:
        return ExactNumbers(-self.value)

    def __abs__(self) -> ExactNumbers:
        return ExactNumbers(abs(self.value))

    def __lt__(self, other: Any) -> bool:
        """Whether it is less in every state."""
        return bool(np.all(self.value < _plain(other)))

    def __gt__(self, other: Any) -> bool:
        """Whether it is more in every state."""
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


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = ExactNumbers


def exact(number: float) -> ExactNumbers:
    """Exactly the number that this double is."""
    return ExactNumbers(Decimal(number))


def decimals(values: Floats) -> Floats:
    """Doubles as decimals, none of their bits rounded."""
    each = np.array([Decimal(x) for x in values.ravel().tolist()], dtype=object)
    return each.reshape(values.shape)


def _plain(number: Any) -> Any:
    return number.value if isinstance(number, ExactNumbers) else Decimal(number)


def _each(function: Callable[[Decimal], Decimal], value: Any) -> Any:
    if isinstance(value, Decimal):
        return function(value)
    return np.array([function(x) for x in value], dtype=object)


# every algorithm asks for those of the same angles


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
    """A function of mpmath's, to the digits that both keep."""
    import mpmath

    sign, mantissa, exponent, _ = function(mpmath.mpf(str(x)))._mpf_
    value: Decimal = Decimal(-mantissa if sign else mantissa) * Decimal(2) ** exponent
    return value
