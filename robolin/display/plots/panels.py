"""Plot data: curves, bars, matrices and points in the complex plane.

All numbers are copied from the result, except times of dates, which count from the first row,
and the condition number of a mass matrix, which is computed here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
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
from robolin.core.notebook import ROUNDED_ZERO
from robolin.core.records import dataclass

# values equal a limit up to this share: round-off of saturated torques, tolerance of `optimize`
AT_LIMIT_WITHIN = 2e-6
# smaller used parts of a limit are round-off
_NOT_USED = 1e-10
# more intervals are a pattern of the data, not events
_MOST_EVENTS = 200
_SIZES = {"qd": "velocity limit", "tau": "effort limit"}


@dataclass(frozen=True)
class Bounds:
    """The range of one curve; infinite without a limit.

    by_range: True for positions, whose utilization is relative to the middle of the range
    """

    lower: float = -inf
    upper: float = inf
    by_range: bool = field(default=False, compare=False)

    @property
    def exist(self) -> bool:
        """True if there is a limit."""
        return isfinite(self.lower) or isfinite(self.upper)


NO_BOUNDS = Bounds()


@dataclass(frozen=True)
class ClosestPoint:
    """The point where a curve is closest to a limit, or exceeds it most.

    margin: distance to the limit; negative beyond it
    """

    row: int
    value: float
    limit: float
    margin: float

    def words(self, used: float | None) -> str:
        """The used part of the limit, or the amount of excess, as text; round-off is neither."""
        if abs(self.margin) <= AT_LIMIT_WITHIN * abs(self.limit):
            return "at the limit"
        if self.margin < 0.0:
            return f"limit {self.limit:.4g} EXCEEDED by {-self.margin:.3g}"
        if used is None:
            return f"limit {self.limit:.4g}"
        percent = ROUNDED_ZERO if 0.0 < used < _NOT_USED else f"{100.0 * used:.3g}"
        return f"{percent} % of limit used"


def utilization(value: float, bounds: Bounds) -> float | None:
    """Used part of a limit, 1 at the limit; None without limits.

    |value| / |limit|; for positions and ranges that exclude 0, the distance from the middle of the
    range divided by half of the range.
    """
    lower, upper = bounds.lower, bounds.upper
    by_range = bounds.by_range or not lower < 0.0 < upper
    if by_range and isfinite(lower) and isfinite(upper):
        half = (upper - lower) / 2.0
        return abs(value - lower - half) / half if half > 0.0 else None
    limit = upper if value >= 0.0 else lower
    return value / limit if isfinite(limit) and limit else None


def joint_bounds(model: Mapping[str, Any] | None, quantity: str, joint: str) -> Bounds:
    """Limits of a joint's position, velocity or effort in a model.

    model:    `Result.model` or `Arm.model_dict`
    quantity: 'q', 'qd' or 'tau'; nothing else has limits
    """
    parameters = (model or {}).get("joints", {}).get(joint, {})
    if quantity == "q" and parameters.get("type") != "continuous":
        ends = parameters.get("lower limit", -inf), parameters.get("upper limit", inf)
        return Bounds(*ends, by_range=True)
    size = parameters.get(_SIZES.get(quantity, ""), inf)
    lower = parameters.get(f"lower {_SIZES.get(quantity, '')}", -size)
    return Bounds(lower, size)


def closest_approach(values: Numbers, bounds: Bounds) -> ClosestPoint | None:
    """Closest approach of values (rows,) to their limits; None without limits or numbers."""
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
    """Threshold below which numbers of a panel are only round-off.

    reference: magnitude of the numbers that enter the computation
    share:     fraction of it below which a value is round-off
    """

    reference: float = 0.0
    share: float = 0.0

    def covers(self, largest: float) -> bool:
        """True if a number of this size is round-off; an exact zero is not."""
        return 0.0 < largest < self.share * self.reference

    def words(self, largest: float) -> str:
        """The size of the round-off and its reference, as text."""
        return f"~0: round-off, at most {largest:.2g} relative to {self.reference:.4g}"

    def remark(self, largest: float) -> str:
        """Text for a panel of zeros or round-off, which looks empty; '' for other panels."""
        if self.covers(largest):
            return self.words(largest)
        return "" if largest else "all values are 0"


NO_ROUNDING = Rounding()
# shown as ~0 in tables
_NOISE = 1e-15


def array_rounding(name: str, unit: str, values: Numbers, scales: NaturalScales) -> Rounding:
    """Round-off relative to the largest value of an array, or to its natural scale."""
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
    """Natural scales of a model; without gravity, those of its motion if known."""
    scales = natural_scales(model, contract_gravity(contract))
    return scales if scales.gravity else scales.in_motion(_largest(qd), _largest(qdd))


def _largest(values: Numbers | None) -> float:
    if values is None:
        return 0.0
    sizes = np.abs(values)
    return float(sizes[np.isfinite(sizes)].max(initial=0.0))


# kinds of events
BEYOND_LIMIT, AT_LIMIT, NO_RESULT = "limit exceeded", "at the limit", "no result"
DISTURBANCE = "disturbance"


@dataclass(frozen=True)
class Event:
    """Consecutive rows of one kind, from x = start to x = end."""

    kind: str
    start: float
    end: float


def events_of(x: Numbers, values: Numbers, bounds: Bounds) -> tuple[Event, ...]:
    """Rows (rows,) of values (rows, curves) beyond or at the limits, and rows with NaN."""
    missing = np.isnan(values).any(axis=1)
    masks = {NO_RESULT: missing}
    if bounds.exist and values.shape[1] == 1:
        column = values[:, 0]
        below, above = column - bounds.lower, bounds.upper - column
        margin, limit = np.minimum(below, above), np.where(below < above, *_ends(bounds))
        room = AT_LIMIT_WITHIN * np.abs(limit)
        masks |= {BEYOND_LIMIT: margin < -room, AT_LIMIT: np.abs(margin) <= room}
    events = []
    for kind, mask in masks.items():
        edges = np.flatnonzero(np.diff(np.concatenate([[False], mask, [False]]).astype(np.int8)))
        for first, stop in zip(edges[::2][:_MOST_EVENTS], edges[1::2], strict=False):
            events.append(Event(kind, float(x[first]), float(x[stop - 1])))
    return tuple(events)


def _ends(bounds: Bounds) -> tuple[float, float]:
    return bounds.lower, bounds.upper


def array_of(panel: Panel) -> str:
    """Name of the array of a panel."""
    return panel.title.split(",")[0]


@dataclass(frozen=True, eq=False)
class Curve:
    """One line: y over x, at the selected rows."""

    name: str
    x: Numbers
    y: Numbers


@dataclass(frozen=True, eq=False)
class CurvePanel:
    """Curves over time, rows or frequencies, with limits and closest approach if there are any."""

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
    events: tuple[Event, ...] = ()

    @property
    def utilization(self) -> float | None:
        """Used part of the limit at the closest approach; None without limits."""
        return None if self.closest is None else utilization(self.closest.value, self.bounds)


@dataclass(frozen=True, eq=False)
class BarPanel:
    """One number per name, with its limits.

    series: name of the values, '' for a single result
    others: names and values of other results in the same panel
    """

    title: str
    y_label: str
    names: tuple[str, ...]
    values: Numbers
    bounds: tuple[Bounds, ...]
    rounding: Rounding = NO_ROUNDING
    series: str = ""
    others: tuple[tuple[str, Numbers], ...] = ()


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
    """Complex numbers, such as poles; in rows over x along a motion.

    names:  joint that dominates each number, () if unknown
    series: name of the values, '' for a single result
    others: names and values of other results in the same panel
    finding: one line about the numbers, '' without one
    """

    title: str
    unit: str
    values: Numbers
    x_label: str = ""
    x: Numbers | None = None
    rounding: Rounding = NO_ROUNDING
    names: tuple[str, ...] = ()
    series: str = ""
    others: tuple[tuple[str, Numbers], ...] = ()
    finding: str = ""


Panel = CurvePanel | BarPanel | MatrixPanel | PlanePanel


# about the number of pixel columns of a screen
MOST_POINTS = 2000


def decimate_keep_extremes(values: Numbers, most: int = MOST_POINTS) -> Numbers:
    """Indices of the rows to draw, ascending, with the extremes of every block of rows.

    Only rows of the data are drawn, so every number in a plot is one of them.  A block with NaN
    keeps one such row, so that the gap is visible.

    values: (rows,) or (rows, curves); all curves use the same rows
    most:   maximum number of rows, unless two per curve need more
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
    """Row of the maximum of each curve in every block: (blocks, curves)."""
    rows, count = curves.shape
    filled = np.full((len(starts) * size, count), -np.inf)
    filled[:rows] = np.where(np.isnan(curves), -np.inf, curves)
    highest: Numbers = filled.reshape(len(starts), size, count).argmax(axis=1) + starts[:, None]
    return highest


def overlaid(panels: Sequence[Sequence[Panel]], names: Sequence[str]) -> list[Panel]:
    """Panels with the same title and kind as one; the others one after another."""
    groups: dict[object, list[tuple[str, Panel]]] = {}
    for name, own in zip(names, panels, strict=True):
        for panel in own:
            groups.setdefault(_key(panel), []).append((name, panel))
    return [panel for group in groups.values() for panel in _together(group)]


def _key(panel: Panel) -> tuple[object, ...]:
    match panel:
        case CurvePanel():
            return CurvePanel, panel.title, panel.x_label, panel.y_label
        case BarPanel():
            return BarPanel, panel.title, panel.y_label, panel.names
        case MatrixPanel():
            return MatrixPanel, panel.title.split(",")[0], panel.unit
    return PlanePanel, panel.title, panel.unit


def _together(group: Sequence[tuple[str, Panel]]) -> Iterator[Panel]:
    name, first = group[0]
    if isinstance(first, CurvePanel):
        yield _curves([(label, each) for label, each in group if isinstance(each, CurvePanel)])
    elif isinstance(first, BarPanel):
        others = [(n, each.values) for n, each in group[1:] if isinstance(each, BarPanel)]
        yield replace(first, series=name, others=tuple(others))
    elif isinstance(first, PlanePanel) and first.x is None:
        others = [(n, each.values) for n, each in group[1:] if isinstance(each, PlanePanel)]
        yield replace(first, series=name, others=tuple(others))
    else:
        yield from (replace(each, title=f"{each.title}, {label}") for label, each in group)


def _curves(group: Sequence[tuple[str, CurvePanel]]) -> CurvePanel:
    """All curves, with the closest approach of the result that is nearest to its limit."""
    curves = [
        Curve(name if len(panel.curves) == 1 else f"{curve.name}, {name}", curve.x, curve.y)
        for name, panel in group
        for curve in panel.curves
    ]
    limited = [panel for _, panel in group if panel.closest is not None]
    worst = max(limited, key=lambda panel: panel.utilization or -np.inf, default=group[0][1])
    events = tuple(event for _, panel in group for event in panel.events)
    return replace(worst, curves=tuple(curves), events=events)
