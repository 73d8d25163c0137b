"""What is drawn of a result, as plain data: curves, bars, matrices and points in the plane.

Every number is one of the result's own, but for times of dates, which count from the first, and
the condition of a mass matrix, which is worked out here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.natural_scales import (
    NaturalScales,
    contract_gravity,
    natural_scales,
    rounding_share,
)
from robolin.display.plots.joint_bounds import NO_BOUNDS, Bounds, ClosestPoint


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
