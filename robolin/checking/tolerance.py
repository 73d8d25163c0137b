"""Tolerances of stored numbers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from sys import float_info
from typing import Any

from robolin.core.results.swept_verbs import base_verb
from robolin.errors import UsageError
from robolin.queries.verbs import VERBS

# key for all arrays without a tolerance of their own
ALL = "*"


@dataclass(frozen=True)
class Tolerance:
    """|found - stored| <= atol + rtol |stored|; both 0 require equality.

    The bars are absolute values; complex numbers use the modulus.
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
    """Tolerances by array, and a default for all other arrays."""

    by_name: Mapping[str, Tolerance]

    def of(self, array: str) -> Tolerance:
        return self.by_name.get(array) or self.by_name.get(ALL, EXACT)

    @property
    def exact(self) -> bool:
        """True if every array has to be equal."""
        return all(tolerance.exact for tolerance in self.by_name.values())

    def plain(self) -> dict[str, dict[str, float]]:
        return {name: tolerance.plain() for name, tolerance in self.by_name.items()}


def uniform_tolerances(rtol: float | None, atol: float | None) -> Tolerances | None:
    """One tolerance for every array; None without numbers."""
    if rtol is None and atol is None:
        return None
    return Tolerances({ALL: Tolerance(rtol or 0.0, atol or 0.0)})


def tolerances_in(stored: Mapping[str, Mapping[str, float]]) -> Tolerances:
    """Tolerances stored with a result."""
    return Tolerances({name: Tolerance(**values) for name, values in stored.items()})


# round-off grows with the tens of additions in a sum over a robot
_ROUNDINGS = 64.0

LIBRARY_NOTE = (
    "a linear-algebra library takes part in these numbers, and its last digits differ between "
    "machines; --rtol and --atol allow for that"
)

# arrays whose algorithm has changed, see FORMER_ALGORITHMS
FORMER_ARRAYS = ("mass_matrix_inverse",)

# residuals by verb: the array, and the entry of the contract that reports it
_REMAINDERS = {"lqr": ("residual", "Riccati equation")}
# residuals are relative to the largest term: a solved equation is far below this
_SOLVED = 1e-10


def rounding_of(scale: float) -> float:
    """Round-off to expect in sums of numbers of this size."""
    return _ROUNDINGS * float_info.epsilon * scale


def tolerance_of(verb: str, array: str, tolerances: Tolerances) -> Tolerance:
    """Tolerance of an array; residuals get an absolute tolerance."""
    tolerance = tolerances.of(array)
    remains = (
        array == _REMAINDERS.get(base_verb(verb), ("",))[0] and array not in tolerances.by_name
    )
    if not remains or tolerance.exact:
        return tolerance
    return Tolerance(tolerance.rtol, max(tolerance.atol, _SOLVED))


def remainder_lines(verb: str) -> tuple[str, ...]:
    """Contract entries that contain only round-off."""
    return _REMAINDERS.get(base_verb(verb), ())[1:]


def from_a_library(verb: str, options: Mapping[str, Any], model: Mapping[str, Any] | None) -> bool:
    """True if NumPy or SciPy linear algebra contributes to a result.

    Closed loops, adaptive steps and ranks use it; everything else is robolin's own arithmetic,
    which is bit-identical on all machines.
    """
    closed = bool((model or {}).get("loops")) and not options.get("open-loops")
    known = VERBS.get(base_verb(verb))
    fitted = options.get("differentiate") == "savgol"
    return closed or fitted or (known is not None and known.uses_lapack(options))


_FEWEST, _MOST = 5, 17


def distinguishing_digits(old: float | complex, new: float | complex) -> tuple[str, str]:
    """Both numbers with the fewest digits, five at least, that distinguish them."""
    if isinstance(old, int) and isinstance(new, int):
        return str(old), str(new)
    for digits in range(_FEWEST, _MOST + 1):
        texts = f"{old:.{digits}g}", f"{new:.{digits}g}"
        if texts[0] != texts[1]:
            # one more digit shows the size of the difference
            digits = min(digits + 1, _MOST) if digits > _FEWEST else digits
            return f"{old:.{digits}g}", f"{new:.{digits}g}"
    return f"{old:.{_FEWEST}g}", f"{new:.{_FEWEST}g}"


def percent(share: float) -> str:
    """A fraction in per cent, with two digits or as an integer."""
    if not isfinite(share):
        return "beyond measure"
    hundredths = 100.0 * share
    return f"{hundredths:{'.2g' if abs(hundredths) < 99.5 else '.0f'}} %"
