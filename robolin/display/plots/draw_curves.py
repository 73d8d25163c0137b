"""Draw curves with their limits and events, and bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.records import dataclass
from robolin.display.plots.panels import (
    AT_LIMIT,
    BEYOND_LIMIT,
    DISTURBANCE,
    BarPanel,
    Bounds,
    CurvePanel,
    Panel,
    Rounding,
    array_of,
)
from robolin.display.plots.result_panels import DECIBELS, DEGREES
from robolin.display.plots.style import DASHES, PlotStyle, name_ticks, text_of_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_FEW_POINTS = 12
# utilization from which the axis extends to the limits
_NEAR_LIMIT = 0.5
# a curve with a smaller relative change is drawn as constant
_ROUNDING = 1e-12
_MARGIN = 0.05
# height of a band beyond a limit, relative to the axis
_BAND = 0.08
# height of the strip with events, relative to the axis, and the longest title next to a text
_STRIP, _SHORT_TITLE = 0.035, 26


def draw_curves(panel: CurvePanel, axes: Axes, style: PlotStyle) -> None:
    """Draw the curves of a panel without their limits."""
    axes.set_xlabel(text_of_name(panel.x_label))
    bode = {DECIBELS: "magnitude ", DEGREES: "phase "} if panel.log_x else {}
    axes.set_ylabel(f"{bode.get(panel.y_label, '')}[{text_of_name(panel.y_label)}]")
    for i, curve in enumerate(panel.curves):
        line: dict[str, Any] = {"color": style.curves[i % 8], "linestyle": DASHES[i % 8]}
        # mark the computed points if they are few
        marker = "." if len(curve.x) <= _FEW_POINTS else ""
        label = text_of_name(curve.name) if len(panel.curves) > 1 else None
        axes.plot(curve.x, curve.y, marker=marker, label=label, **line)
    if panel.log_x:
        _set_log(axes.set_xscale, axes.xaxis)
    if panel.log_y and _spans_decades(panel):
        _set_log(axes.set_yscale, axes.yaxis)
    if panel.y_label == DEGREES:
        _set_right_angles(axes)
    values = _all_values(panel)
    _level_line(values, axes)
    _level_rounding(values, panel.rounding, axes, style)


def _set_right_angles(axes: Axes) -> None:
    """Ticks of a phase at multiples of 15°, 45°, 90° or 180°, at most seven."""
    from matplotlib.ticker import MultipleLocator

    low, high = axes.get_ylim()
    steps = (15.0, 45.0, 90.0, 180.0, 360.0)
    step = next((each for each in steps if high - low <= 6.0 * each), (high - low) / 6.0)
    axes.yaxis.set_major_locator(MultipleLocator(step))


def _all_values(panel: CurvePanel) -> Numbers:
    return np.concatenate([curve.y for curve in panel.curves])


def _level_rounding(values: Numbers, rounding: Rounding, axes: Axes, style: PlotStyle) -> None:
    """Use the reference scale for values that are only round-off; state their size, or zero."""
    fine = values[np.isfinite(values)]
    largest = float(np.abs(fine).max(initial=0.0))
    if rounding.covers(largest):
        axes.set_ylim(-rounding.reference, rounding.reference)
    if len(fine) and (remark := rounding.remark(largest)):
        at: dict[str, Any] = {"transform": axes.transAxes, "fontsize": 7 * style.text}
        axes.text(0.02, 0.9, remark, **at)


def _level_line(values: Numbers, axes: Axes) -> None:
    """Draw curves that change only by round-off as constant lines."""
    fine = values[np.isfinite(values)]
    largest = float(np.abs(fine).max(initial=0.0))
    if len(fine) and 0.0 < float(np.ptp(fine)) < _ROUNDING * largest:
        axes.set_ylim(fine.min() - _MARGIN * largest, fine.max() + _MARGIN * largest)


def _spans_decades(panel: CurvePanel) -> bool:
    """True if a logarithmic scale shows more than a linear one."""
    values = np.concatenate([curve.y for curve in panel.curves])
    values = values[np.isfinite(values)]
    return bool(len(values) and values.min() > 0.0 and values.max() > 10.0 * values.min())


def _set_log(set_scale: Any, axis: Any) -> None:
    """Logarithmic scale with plain labels."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    set_scale("log")
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(NullFormatter())


@dataclass(frozen=True)
class SharedScale:
    """Range of the values of all panels of one array and unit, and of limits that are near."""

    low: float
    high: float


def shared_scales(panels: Sequence[Panel], own: bool) -> dict[int, SharedScale]:
    """Common scale of panels that show one joint each, by the index of the panel."""
    groups: dict[Any, list[int]] = {}
    for i, panel in enumerate(panels):
        if isinstance(panel, CurvePanel) and panel.bounds.exist:
            key = i if own else (array_of(panel), panel.y_label)
            groups.setdefault(key, []).append(i)
    return {i: scale for group in groups.values() for i, scale in _group_scales(panels, group)}


def _group_scales(
    panels: Sequence[Panel], group: Sequence[int]
) -> Iterator[tuple[int, SharedScale]]:
    shown = [each for i in group if isinstance(each := panels[i], CurvePanel)]
    values = np.concatenate([_all_values(panel) for panel in shown])
    values = values[np.isfinite(values)]
    if not len(values) or any(
        panel.rounding.covers(float(np.abs(values).max())) for panel in shown
    ):
        return
    low, high = float(values.min()), float(values.max())
    used = [panel for panel in shown if (panel.utilization or 0.0) >= _NEAR_LIMIT]
    ends = [end for panel in used for end in _limits(panel)]
    low, high = min([low, *ends]), max([high, *ends])
    # a constant curve is not enlarged to its round-off
    room = max(_MARGIN * (high - low), _MARGIN * max(abs(low), abs(high))) or 1.0
    yield from ((i, SharedScale(low - room, high + room)) for i in group)


def _limits(panel: CurvePanel) -> list[float]:
    return [each for each in (panel.bounds.lower, panel.bounds.upper) if isfinite(each)]


def draw_limits(panel: CurvePanel, axes: Axes, scale: SharedScale | None, style: PlotStyle) -> None:
    """Draw limits as bands, and write the utilization at the right margin."""
    if scale is not None:
        axes.set_ylim(scale.low, scale.high)
    low, high = axes.get_ylim()
    band: dict[str, Any] = {"color": style.band, "linewidth": 0.0, "zorder": 0.1}
    deep = _BAND * (high - low)
    if low < panel.bounds.upper < high:
        axes.axhspan(panel.bounds.upper, min(panel.bounds.upper + deep, high), **band)
    if low < panel.bounds.lower < high:
        axes.axhspan(max(panel.bounds.lower - deep, low), panel.bounds.lower, **band)
    axes.set_ylim(low, high)
    if panel.closest is None:
        return
    share = panel.utilization
    colour = style.level(share if share is not None else float(panel.closest.margin < 0.0) * 2.0)
    axes.plot([panel.closest_x], [panel.closest.value], marker="o", markersize=4, color=colour)
    used = "" if share is None else f"{100.0 * share:.3g} %, "
    ends = _limits(panel)
    both = f"±{ends[1]:g}" if len(ends) == 2 and ends[0] == -ends[1] else _joined(ends)
    text = f"{used}limit {both}"
    position: dict[str, Any] = {
        "rotation": 270,
        "va": "center",
        "ha": "left",
        "fontsize": 7.5 * style.text,
    }
    axes.text(1.015, 0.5, text, transform=axes.transAxes, color=colour, **position)


def _joined(limits: Sequence[float]) -> str:
    return " to ".join(f"{each:.4g}" for each in limits)


def draw_bars(panel: BarPanel, axes: Axes, style: PlotStyle) -> None:
    """Draw bars, and the limits of each."""
    positions = np.arange(len(panel.names))
    series = [(panel.series, panel.values), *panel.others]
    width = 0.8 / len(series)
    for i, (name, values) in enumerate(series):
        at = positions + (i - (len(series) - 1) / 2.0) * width
        label = text_of_name(name) if name else None
        axes.bar(at, values, width, color=style.curves[i % 8], label=label)
    for position, bounds in zip(positions, panel.bounds, strict=True):
        _mark_bounds(axes, float(position), bounds, style)
    everything = np.concatenate([np.ravel(values) for _, values in series])
    _level_rounding(everything, panel.rounding, axes, style)
    name_ticks(axes.xaxis, panel.names, style, rotation=60)
    axes.set_ylabel(f"[{text_of_name(panel.y_label)}]")
    axes.axhline(0.0, color=style.faint, linewidth=0.8)


def _mark_bounds(axes: Axes, position: float, bounds: Bounds, style: PlotStyle) -> None:
    """Draw the limits of a bar as short lines."""
    for limit in (bounds.lower, bounds.upper):
        if isfinite(limit):
            ends = [position - 0.4, position + 0.4]
            axes.plot(ends, [limit, limit], color=style.levels[2], linewidth=1.4)


def draw_events(panel: CurvePanel, axes: Axes, style: PlotStyle) -> None:
    """Strip above the curves: when a limit is exceeded or reached, and rows without a result."""
    colours = {
        BEYOND_LIMIT: style.levels[2],
        AT_LIMIT: style.levels[1],
        DISTURBANCE: style.curves[3],
    }
    strip: dict[str, Any] = {"ymin": 1.0 - _STRIP, "ymax": 1.0, "linewidth": 0.0, "zorder": 2.5}
    limits = axes.get_xlim()
    # an interval of one row is still visible
    least = 0.006 * (limits[1] - limits[0])
    for event in panel.events:
        room = max(least - (event.end - event.start), 0.0) / 2.0
        colour = colours.get(event.kind, style.faint)
        axes.axvspan(event.start - room, event.end + room, color=colour, **strip)
    axes.set_xlim(limits)
    if panel.events and len(panel.title) <= _SHORT_TITLE:
        first = min(panel.events, key=lambda event: [*colours, event.kind].index(event.kind))
        unit = " s" if panel.x_label.endswith("[s]") else ""
        text = f"{first.kind} from {first.start:.4g}{unit}"
        colour = colours.get(first.kind, style.faint)
        axes.set_title(text, loc="right", fontsize=7 * style.text, color=colour)
