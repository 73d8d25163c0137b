"""How far a number may be from the stored one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from sys import float_info
from typing import Any

from robolin.core.results.result import base_verb
from robolin.errors import UsageError
from robolin.queries.verbs import VERBS

# stands for every array that is not named
ALL = "*"


@dataclass(frozen=True)
class Tolerance:
    """|found - stored| <= atol + rtol |stored|; both 0 asks for the very number.

    The bars are moduli where numbers are complex.
    """

    rtol: float = 0.0
    atol: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rtol", "atol"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise UsageError(f"{value} is no tolerance", where=name, hint="0 or more")

    @property
    def exact(self) -> bool:
        return self.rtol == 0.0 and self.atol == 0.0

    def plain(self) -> dict[str, float]:
        return {"rtol": self.rtol, "atol": self.atol}


EXACT = Tolerance()


@dataclass(frozen=True)
class Tolerances:
    """A tolerance for each array that has one of its own, and one for all others."""

    by_name: Mapping[str, Tolerance]

    def of(self, array: str) -> Tolerance:
        return self.by_name.get(array) or self.by_name.get(ALL, EXACT)

    @property
    def exact(self) -> bool:
        """Whether every array has to be the very same."""
        return all(tolerance.exact for tolerance in self.by_name.values())

    def plain(self) -> dict[str, dict[str, float]]:
        return {name: tolerance.plain() for name, tolerance in self.by_name.items()}


def uniform_tolerances(rtol: float | None, atol: float | None) -> Tolerances | None:
    """One tolerance for every array; None if neither number is given."""
    if rtol is None and atol is None:
        return None
    return Tolerances({ALL: Tolerance(rtol or 0.0, atol or 0.0)})


def tolerances_in(said: Mapping[str, Mapping[str, float]]) -> Tolerances:
    """The tolerances that a result was stored with."""
    return Tolerances({name: Tolerance(**values) for name, values in said.items()})


# a sum over an arm is rounded some tens of times
_ROUNDINGS = 64.0

LIBRARY_NOTE = (
    "a linear-algebra library takes part in these numbers, and its last digits differ between "
    "machines; --rtol and --atol allow for that"
)

# arrays that another algorithm computes than did before, see FORMER_ALGORITHMS of answering
FORMER_ARRAYS = ("mass_matrix_inverse",)

# what rounding leaves of an equation, by verb: an array, and the line of the contract that tells it
_REMAINDERS = {"lqr": ("residual", "Riccati equation")}
# remainders are shares of the largest term, so one that is solved has far less than this left
_SOLVED = 1e-10


def rounding_of(scale: float) -> float:
    """The rounding error to expect in sums of numbers of this size."""
    return _ROUNDINGS * float_info.epsilon * scale


def tolerance_of(verb: str, array: str, asked: Tolerances) -> Tolerance:
    """How far an array may be off; a remainder has no digits that a share of it would allow for."""
    tolerance = asked.of(array)
    remains = array == _REMAINDERS.get(base_verb(verb), ("",))[0] and array not in asked.by_name
    if not remains or tolerance.exact:
        return tolerance
    return Tolerance(tolerance.rtol, max(tolerance.atol, _SOLVED))


def remainder_lines(verb: str) -> tuple[str, ...]:
    """The lines of a contract that tell nothing but rounding."""
    return _REMAINDERS.get(base_verb(verb), ())[1:]


def from_a_library(verb: str, options: Mapping[str, Any], model: Mapping[str, Any] | None) -> bool:
    """Whether matrix products or solvers of NumPy or SciPy had a part in a result.

    They answer for closed loops, adapted steps and ranks; all else is robolin's own arithmetic,
    with the same bits everywhere.
    """
    closed = bool((model or {}).get("loops")) and not options.get("open-loops")
    known = VERBS.get(base_verb(verb))
    fitted = options.get("differentiate") == "savgol"
    return closed or fitted or (known is not None and known.uses_lapack(options))


_FEWEST, _MOST = 5, 17


def distinguishing_digits(old: float | complex, new: float | complex) -> tuple[str, str]:
    """Both numbers in the fewest digits, five at least, that tell one from the other."""
    if isinstance(old, int) and isinstance(new, int):
        return str(old), str(new)
    for digits in range(_FEWEST, _MOST + 1):
        texts = f"{old:.{digits}g}", f"{new:.{digits}g}"
        if texts[0] != texts[1]:
            # one digit more shows how far they are apart
            digits = min(digits + 1, _MOST) if digits > _FEWEST else digits
            return f"{old:.{digits}g}", f"{new:.{digits}g}"
    return f"{old:.{_FEWEST}g}", f"{new:.{_FEWEST}g}"


def percent(share: float) -> str:
    """A share of one as per cent, in two digits or to the unit."""
    if not isfinite(share):
        return "beyond measure"
    hundredths = 100.0 * share
    return f"{hundredths:{'.2g' if abs(hundredths) < 99.5 else '.0f'}} %"
