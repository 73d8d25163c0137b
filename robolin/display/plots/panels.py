"""What is drawn of a result, as plain data: curves, bars, matrices and points in the plane.

Every number is one of the result's own, but for times of dates, which count from the first, and
the condition of a mass matrix, which is worked out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isfinite
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.core.natural_scales import (
    NaturalScales,
    contract_gravity,
    natural_scales,
    rounding_share,
)

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


@dataclass(frozen=True)
class Rounding:
    """What of the numbers of a panel is nothing but rounding.

    beside: the size of the numbers that they were computed with
    share:  what is smaller than this share of it is rounding
    """

    beside: float = 0.0
    share: float = 0.0

    def covers(self, largest: float) -> bool:
        """Whether a number of this size is rounding; an exact zero is none."""
        return 0.0 < largest < self.share * self.beside

    def words(self, largest: float) -> str:
        """How large it is, and beside what."""
        return f"~0: rounding, at most {largest:.2g} beside {self.beside:.4g}"


NO_ROUNDING = Rounding()
# what tables show as ~0
_NOISE = 1e-15


def array_rounding(name: str, unit: str, values: Numbers, scales: NaturalScales) -> Rounding:
    """What is rounding beside the largest value of an array, or beside its natural scale."""
    largest, natural, share = _largest(values), scales.of_unit(unit), rounding_share(name)
    if share * natural > _NOISE * largest:
        return Rounding(natural, share)
    return Rounding(largest, _NOISE)


def motion_scales(
    model: Mapping[str, Any] | None,
    contract: Mapping[str, Any],
    qd: Numbers | None,
    qdd: Numbers | None,
) -> NaturalScales:
    """The natural scales of a model; without gravity, those of its motion where it is known."""
    scales = natural_scales(model, contract_gravity(contract))
    return scales if scales.gravity else scales.in_motion(_largest(qd), _largest(qdd))


def _largest(values: Numbers | None) -> float:
    if values is None:
        return 0.0
    sizes = np.abs(values)
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: y over the panel's x, at the rows that are kept."""

    name: str
    x: Numbers
    y: Numbers


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """Curves over time, rows or frequencies; limits and the closest approach where one has them."""

    title: str
    x_label: str
    y_label: str
    curves: tuple[Curve, ...]
    bounds: Bounds = NO_BOUNDS
    closest: ClosestPoint | None = None
    closest_x: float = 0.0
    log_x: bool = False
    log_y: bool = False
    rounding: Rounding = NO_ROUNDING


@dataclass(frozen=True, eq=False)
class BarPanel:
    """One number per name, with its limits."""

    title: str
    y_label: str
    names: tuple[str, ...]
    values: Numbers
    bounds: tuple[Bounds, ...]
    rounding: Rounding = NO_ROUNDING


@dataclass(frozen=True, eq=False)
class MatrixPanel:
    """A matrix with names on both axes."""

    title: str
    unit: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: Numbers
    rounding: Rounding = NO_ROUNDING


@dataclass(frozen=True, eq=False)
class PlanePanel:
    """Complex numbers, such as poles; in rows along a motion where x says when."""

    title: str
    unit: str
    values: Numbers
    x_label: str = ""
    x: Numbers | None = None
    rounding: Rounding = NO_ROUNDING


Panel = CurvePanel | BarPanel | MatrixPanel | PlanePanel


# about as many as a screen has columns
MOST_POINTS = 2000


def decimate_keep_extremes(values: Numbers, most: int = MOST_POINTS) -> Numbers:
    """The rows to draw, ascending: at most so many, with the extremes of every stretch of rows.

    What is drawn are rows of the data themselves, so every number in a picture is one of them.
    A stretch in which a number is missing keeps one such row, so that the gap is seen too.

    values: (rows,) or (rows, curves); several curves are drawn over the same rows
    most:   how many rows there may be; more only where two per curve do not fit into it
    """
    rows = len(values)
    if rows <= most:
        return np.arange(rows)
    curves = np.asarray(values, np.float64).reshape(rows, -1)
    missing: Numbers = np.any(np.isnan(curves), axis=1)
    for_each = 2 * curves.shape[1] + bool(missing.any())
    size = -(-rows // max((most - 2) // for_each, 1))
    starts = np.arange(0, rows, size)
    picked = [
        *_highest(-curves, starts, size).T,
        *_highest(curves, starts, size).T,
        np.array([0, rows - 1]),
    ]
    if missing.any():
        gaps = _highest(missing[:, None].astype(np.float64), starts, size)[:, 0]
        picked.append(gaps[missing[gaps]])
    return np.unique(np.concatenate(picked))


def _highest(curves: Floats, starts: Numbers, size: int) -> Numbers:
    """In every stretch, the row in which each curve is highest: (stretches, curves)."""
    rows, count = curves.shape
    filled = np.full((len(starts) * size, count), -np.inf)
    filled[:rows] = np.where(np.isnan(curves), -np.inf, curves)
    highest: Numbers = filled.reshape(len(starts), size, count).argmax(axis=1) + starts[:, None]
    return highest
