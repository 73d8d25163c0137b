"""How far a number may be from the stored one."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from robolin.errors import UsageError

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


def same_for_all(rtol: float | None, atol: float | None) -> Tolerances | None:
    """One tolerance for every array; None if neither number is given."""
    if rtol is None and atol is None:
        return None
    return Tolerances({ALL: Tolerance(rtol or 0.0, atol or 0.0)})


def tolerances_in(said: Mapping[str, Mapping[str, float]]) -> Tolerances:
    """The tolerances that a result was stored with."""
    return Tolerances({name: Tolerance(**values) for name, values in said.items()})
