"""What joints may do as far as a result tells, and where a curve comes closest to it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from robolin.core.arrays import Numbers

# torques cut off at a limit come back within a few roundings of it
_ROUNDING = 1e-12
_SIZES = {"qd": "velocity limit", "tau": "effort limit"}


@dataclass(frozen=True)
class Bounds:
    """The range of one curve; infinite where there is no limit."""

    lower: float = -inf
    upper: float = inf

    @property
    def given(self) -> bool:
        """Whether there is a limit at all."""
        return isfinite(self.lower) or isfinite(self.upper)


NO_BOUNDS = Bounds()


@dataclass(frozen=True)
class ClosestPoint:
    """Where a curve comes closest to a limit, or goes furthest beyond it.

    margin: what is left; negative beyond the limit
    """

    row: int
    value: float
    limit: float
    margin: float

    @property
    def words(self) -> str:
        """How much is left, or how far it is exceeded; what is rounding is neither."""
        if abs(self.margin) <= _ROUNDING * abs(self.limit):
            return "at the limit"
        word = "EXCEEDED by" if self.margin < 0.0 else "margin"
        return f"{word} {abs(self.margin):.3g}"


def joint_bounds(model: Mapping[str, Any] | None, quantity: str, joint: str) -> Bounds:
    """The limits of a joint's position, velocity or effort in the figures of a model.

    model:    `Result.model` or `Arm.figures`
    quantity: 'q', 'qd' or 'tau'; nothing else has limits
    """
    figures = (model or {}).get("joints", {}).get(joint, {})
    if quantity == "q" and figures.get("type") != "continuous":
        return Bounds(figures.get("lower limit", -inf), figures.get("upper limit", inf))
    size = figures.get(_SIZES.get(quantity, ""), inf)
    lower = figures.get(f"lower {_SIZES.get(quantity, '')}", -size)
    return Bounds(lower, size)


def closest_approach(values: Numbers, bounds: Bounds) -> ClosestPoint | None:
    """Where values (rows,) are closest to their limits; None without limits or numbers."""
    margins = np.minimum(values - bounds.lower, bounds.upper - values)
    row = int(np.argmin(np.where(np.isnan(margins), inf, margins)))
    if not isfinite(margins[row]):
        return None
    value = float(values[row])
    below, above = value - bounds.lower, bounds.upper - value
    limit, margin = (bounds.lower, below) if below < above else (bounds.upper, above)
    return ClosestPoint(row, value, limit, margin)
