"""Draw panels with matplotlib: curves with limits, bars, and the layout of a plot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.result import Result
from robolin.display.plots.draw_planes import WRITTEN, draw_matrix, draw_plane
from robolin.display.plots.panels import (
    BarPanel,
    Bounds,
    CurvePanel,
    MatrixPanel,
    Panel,
    PlanePanel,
    Rounding,
    utilization,
)
from robolin.display.plots.result_panels import DECIBELS, DEGREES, RESIDUAL, panels_of
from robolin.display.plots.style import (
    COLOURS,
    DASHES,
    LIMIT_BAND,
    MOST_NAMES,
    SETTINGS,
    level_colour,
    name_ticks,
    text_of_name,
)
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# in inches: spacing of names, width of a letter, and margins of a panel
_NAME, _LETTER, _FRAME = 0.15, 0.06, 1.0
_CELL = 0.4
_FEW_POINTS = 12
# utilization from which the axis extends to the limits
_NEAR_LIMIT = 0.5
# a curve with a smaller relative change is drawn as constant
_ROUNDING = 1e-12
_MARGIN = 0.05
# height of a band beyond a limit, relative to the axis
_BAND = 0.08

# words of a title, by array
_TITLES = {
    "mass_matrix": "mass matrix",
    "mode_shape": "mode shapes",
    "q": "joint positions",
    "qd": "joint velocities",
    "qdd": "joint accelerations",
    "tau": "joint torques",
    "tau_residual": "residuals (measured − model)",
    "frequency_response": "Bode plot",
}
_LIMITED = {"q": "position", "qd": "velocity", "tau": "effort"}


def min_figure_size(panel: Panel) -> tuple[float, float]:
    """Minimum width and height in inches without overlapping names."""
    under: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    match panel:
        case BarPanel():
            under = panel.names
        case MatrixPanel():
            under, beside = panel.columns, panel.rows
    wide, high = (_NAME * min(len(names), MOST_NAMES) for names in (under, beside))
    if isinstance(panel, MatrixPanel) and max(panel.values.shape) <= WRITTEN:
        wide = max(wide, _CELL * len(under) + _FRAME)
    return wide + _longest(beside) + _FRAME, high + _longest(under) + _FRAME


def _longest(names: tuple[str, ...]) -> float:
    return _LETTER * max((len(text_of_name(name)) for name in names), default=0)


def draw_panel(figure: Figure, axes: Axes, panel: Panel) -> None:
    """Draw one panel of any kind."""
    axes.set_title(_panel_title(panel))
    match panel:
        case CurvePanel():
            _draw_curves(panel, axes)
        case BarPanel():
            _draw_bars(panel, axes)
        case MatrixPanel():
            draw_matrix(panel, figure, axes)
        case PlanePanel():
            draw_plane(panel, figure, axes)


def _panel_title(panel: Panel) -> str:
    """Title of a panel; of a Bode plot, the input above the magnitude."""
    if _is_bode(panel, DECIBELS):
        return text_of_name(panel.title.split(", ")[1], 60)
    return "" if _is_bode(panel, DEGREES) else text_of_name(panel.title, 60)


def _draw_curves(panel: CurvePanel, axes: Axes) -> None:
    axes.set_xlabel(text_of_name(panel.x_label))
    bode = {DECIBELS: "magnitude ", DEGREES: "phase "} if panel.log_x else {}
    axes.set_ylabel(f"{bode.get(panel.y_label, '')}[{text_of_name(panel.y_label)}]")
    for i, curve in enumerate(panel.curves):
        style: dict[str, Any] = {"color": COLOURS[i % 8], "linestyle": DASHES[i % 8]}
        # mark the computed points if they are few
        marker = "." if len(curve.x) <= _FEW_POINTS else ""
        label = text_of_name(curve.name) if len(panel.curves) > 1 else None
        axes.plot(curve.x, curve.y, marker=marker, label=label, **style)
    if panel.log_x:
        _set_log(axes.set_xscale, axes.xaxis)
    if panel.log_y and _spans_decades(panel):
        _set_log(axes.set_yscale, axes.yaxis)
    if panel.y_label == DEGREES:
        _set_right_angles(axes)
    values = _all_values(panel)
    _level_line(values, axes)
    _level_rounding(values, panel.rounding, axes)


def _set_right_angles(axes: Axes) -> None:
    """Ticks of a phase at multiples of 45° or 90°."""
    from matplotlib.ticker import MaxNLocator

    axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 1.5, 3, 4.5, 9, 10]))


def _all_values(panel: CurvePanel) -> Numbers:
    return np.concatenate([curve.y for curve in panel.curves])


def _level_rounding(values: Numbers, rounding: Rounding, axes: Axes) -> None:
    """Use the reference scale for curves that are only round-off, and state their size."""
    fine = values[np.isfinite(values)]
    largest = float(np.abs(fine).max(initial=0.0))
    if rounding.covers(largest):
        axes.set_ylim(-rounding.reference, rounding.reference)
        axes.text(0.02, 0.9, rounding.words(largest), transform=axes.transAxes, fontsize=7)


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
class _Scale:
    """Range of the values of all panels of one array and unit, and of limits that are near."""

    low: float
    high: float


def _scales(panels: Sequence[Panel], own: bool) -> dict[int, _Scale]:
    """Common scale of panels that show one joint each, by the index of the panel."""
    groups: dict[Any, list[int]] = {}
    for i, panel in enumerate(panels):
        if isinstance(panel, CurvePanel) and panel.bounds.given:
            key = i if own else (_array_of(panel), panel.y_label)
            groups.setdefault(key, []).append(i)
    return {i: scale for group in groups.values() for i, scale in _group_scales(panels, group)}


def _group_scales(panels: Sequence[Panel], group: Sequence[int]) -> Iterator[tuple[int, _Scale]]:
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
    yield from ((i, _Scale(low - room, high + room)) for i in group)


def _limits(panel: CurvePanel) -> list[float]:
    return [each for each in (panel.bounds.lower, panel.bounds.upper) if isfinite(each)]


def _draw_limits(panel: CurvePanel, axes: Axes, scale: _Scale | None) -> None:
    """Draw limits as bands, and write the utilization at the right margin."""
    if scale is not None:
        axes.set_ylim(scale.low, scale.high)
    low, high = axes.get_ylim()
    band: dict[str, Any] = {"color": LIMIT_BAND, "linewidth": 0.0, "zorder": 0.1}
    deep = _BAND * (high - low)
    if low < panel.bounds.upper < high:
        axes.axhspan(panel.bounds.upper, min(panel.bounds.upper + deep, high), **band)
    if low < panel.bounds.lower < high:
        axes.axhspan(max(panel.bounds.lower - deep, low), panel.bounds.lower, **band)
    axes.set_ylim(low, high)
    if panel.closest is None:
        return
    share = panel.utilization
    colour = level_colour(share if share is not None else float(panel.closest.margin < 0.0) * 2.0)
    axes.plot([panel.closest_x], [panel.closest.value], marker="o", markersize=4, color=colour)
    used = "" if share is None else f"{100.0 * share:.3g} %, "
    ends = _limits(panel)
    both = f"±{ends[1]:g}" if len(ends) == 2 and ends[0] == -ends[1] else _joined(ends)
    text = f"{used}limit {both}"
    place: dict[str, Any] = {"rotation": 270, "va": "center", "ha": "left", "fontsize": 7.5}
    axes.text(1.015, 0.5, text, transform=axes.transAxes, color=colour, **place)


def _joined(limits: Sequence[float]) -> str:
    return " to ".join(f"{each:.4g}" for each in limits)


def _draw_bars(panel: BarPanel, axes: Axes) -> None:
    positions = np.arange(len(panel.names))
    series = [(panel.series, panel.values), *panel.others]
    width = 0.8 / len(series)
    for i, (name, values) in enumerate(series):
        at = positions + (i - (len(series) - 1) / 2.0) * width
        label = text_of_name(name) if name else None
        axes.bar(at, values, width, color=COLOURS[i % 8], label=label)
    for position, bounds in zip(positions, panel.bounds, strict=True):
        _mark_bounds(axes, float(position), bounds)
    _level_rounding(panel.values, panel.rounding, axes)
    name_ticks(axes.xaxis, panel.names, rotation=60)
    axes.set_ylabel(f"[{text_of_name(panel.y_label)}]")
    axes.axhline(0.0, color="#5b6570", linewidth=0.8)


def _mark_bounds(axes: Axes, position: float, bounds: Bounds) -> None:
    """Draw the limits of a bar as short lines."""
    for limit in (bounds.lower, bounds.upper):
        if isfinite(limit):
            ends = [position - 0.4, position + 0.4]
            axes.plot(ends, [limit, limit], color="#b3261e", linewidth=1.4)


# metadata of each format that would contain a date or a version
_LEFT_OUT: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_PANEL = (3.8, 2.5)
_PLANE = 4.2


def figure_of(result: Result, only: Sequence[str] = ()) -> Figure:
    """Plot the result, or these arrays of it."""
    panels = panels_of(result, only)
    return drawn_panels(panels, plot_title(panels, robot_name(result)))


def plot_title(panels: Sequence[Panel], robot: str) -> str:
    """Title of a plot: the robot and its quantities."""
    names = dict.fromkeys(map(_array_of, panels))
    words = [_TITLES.get(name, name) for name in names]
    return f"{robot}: {', '.join(words)}" if robot else ", ".join(words)


def _array_of(panel: Panel) -> str:
    """Name of the array of a panel."""
    return panel.title.split(",")[0]


def drawn_panels(panels: Sequence[Panel], title: str, own_scales: bool = False) -> Figure:
    """Panels in a grid under one title, the joint nearest to its limit first.

    own_scales: scale every panel by itself instead of all panels of one unit together
    """
    _require_matplotlib()
    from robolin.display.plots.notebook_figure import NotebookFigure

    panels, columns = _arranged(panels)
    rows = -(-len(panels) // columns)
    needed = [_PANEL, *(min_figure_size(panel) for panel in panels)]
    if any(isinstance(panel, PlanePanel) for panel in panels):
        needed.append((_PLANE, _PLANE))
    width, height = (max(each) for each in zip(*needed, strict=True))
    scales = _scales(panels, own_scales)
    finding = _finding(panels)
    with _drawing():
        figure = NotebookFigure(
            figsize=(columns * width, rows * height + 0.5), dpi=120, layout="constrained"
        )
        figure.suptitle("\n".join([text_of_name(title, 100), *finding]), fontsize=10)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for i, (axis, panel) in enumerate(zip(axes, panels, strict=False)):
            draw_panel(figure, axis, panel)
            if isinstance(panel, CurvePanel):
                _draw_limits(panel, axis, scales.get(i))
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        _share_frequencies(axes, panels, columns)
        _draw_legends(figure, axes[: len(panels)])
    return figure


def _draw_legends(figure: Figure, axes: Any) -> None:
    """One legend below all panels if they have the same names, otherwise one right of each."""
    legends = [(axis, *axis.get_legend_handles_labels()) for axis in axes]
    legends = [(axis, handles, names) for axis, handles, names in legends if names]
    if len({tuple(names) for _, _, names in legends}) == 1:
        _, handles, names = legends[0]
        figure.legend(handles, names, loc="outside lower center", ncols=min(len(names), 4))
        return
    for axis, handles, names in legends:
        place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        axis.legend(handles, names, **place)


def _arranged(panels: Sequence[Panel]) -> tuple[list[Panel], int]:
    """Order of the panels and number of columns.

    Magnitudes stand above their phases, and torques above their residuals.
    """
    lower = [panel for panel in panels if _is_bode(panel, DEGREES) or _array_of(panel) == RESIDUAL]
    if lower and 2 * len(lower) == len(panels):
        columns, ordered = min(len(lower), 3), []
        upper = [panel for panel in panels if panel not in lower]
        for first in range(0, len(lower), columns):
            ordered += [*upper[first : first + columns], *lower[first : first + columns]]
        if len(lower) % columns == 0:
            return ordered, columns
        return list(panels), 2
    ordered = sorted(panels, key=lambda panel: -_importance(panel))
    names = list(dict.fromkeys(map(_array_of, panels)))
    ordered.sort(key=lambda panel: names.index(_array_of(panel)))
    count = len(panels)
    return ordered, next(c for c, most in ((1, 1), (2, 4), (3, 9), (4, 1 << 30)) if count <= most)


def _is_bode(panel: Panel, unit: str) -> bool:
    return isinstance(panel, CurvePanel) and panel.log_x and panel.y_label == unit


def _importance(panel: Panel) -> float:
    """Utilization of the limit of a panel, 0 without a limit."""
    return (panel.utilization or 0.0) if isinstance(panel, CurvePanel) else 0.0


def _share_frequencies(axes: Any, panels: Sequence[Panel], columns: int) -> None:
    """Use one frequency axis for a magnitude and the phase below it."""
    for i, panel in enumerate(panels):
        above = i - columns
        if _is_bode(panel, DEGREES) and above >= 0 and _is_bode(panels[above], DECIBELS):
            axes[i].sharex(axes[above])
            axes[above].set_xlabel("")
            axes[above].tick_params(labelbottom=False)


def _finding(panels: Sequence[Panel]) -> list[str]:
    """One line about the tightest limit; [] without limits."""
    found: list[tuple[float, str]] = []
    for panel in panels:
        word = _LIMITED.get(_array_of(panel))
        if word is None:
            continue
        if isinstance(panel, CurvePanel) and panel.utilization is not None:
            joint = panel.title.partition(", ")[2]
            at = f" at {panel.closest_x:.4g}{' s' if panel.x_label.endswith('[s]') else ''}"
            found.append((panel.utilization, f"{text_of_name(joint)} {word}{at}"))
        elif isinstance(panel, BarPanel):
            shares = map(utilization, map(float, panel.values), panel.bounds)
            pairs = zip(panel.names, shares, strict=True)
            found += [(s, f"{text_of_name(n)} {word}") for n, s in pairs if s is not None]
    if not found:
        return []
    share, where = max(found)
    verdict = "limit exceeded" if share > 1.0 + _ROUNDING else "tightest limit"
    return [f"{verdict}: {where}, {100.0 * share:.3g} %"]


def picture_bytes(figure: Figure, form: str) -> bytes:
    """The plot as an svg, png or pdf file without date, version or random ids."""
    stream = BytesIO()
    with _drawing():
        figure.savefig(stream, format=form, metadata=_LEFT_OUT[form])
    return stream.getvalue()


@contextmanager
def _drawing() -> Iterator[None]:
    """Apply fixed settings instead of the user's; glyphs missing from the font become boxes."""
    from matplotlib import rc_context, rcParamsDefault

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied.*")
        settings: Any = {
            name: rcParamsDefault[name] for name in rcParamsDefault if "backend" not in name
        }
        settings.update(SETTINGS)
        with rc_context(settings):
            yield


def robot_name(result: Result) -> str:
    """Name of the robot without its file, or the names of the input files."""
    name = str(result.contract.get("arm", ""))
    return name.partition(" (")[0] or ", ".join(result.inputs)


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        message = "plots require matplotlib, which is not installed"
        hint = "pip install matplotlib, or draw on the terminal with --plot"
        raise RobolinError(message, hint=hint) from error
