"""Draw panels with matplotlib, in colours that work in greyscale and for colour blindness."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.result import Result
from robolin.core.text import printable
from robolin.display.plots.panels import (
    BarPanel,
    Bounds,
    CurvePanel,
    MatrixPanel,
    Panel,
    PlanePanel,
    Rounding,
)
from robolin.display.plots.result_panels import panels_of
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# Okabe-Ito palette, from dark to bright; dashes distinguish curves beyond the palette
_COLOURS = ("#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999")
_DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)), (0, (1, 2)))
_LIMIT = "#aa3377"
_LONGEST_NAME = 40
# matrices up to this size show their numbers
_WRITTEN = 8
_MOST_NAMES = 45
# in inches: spacing of names, width of a letter, and margins of a panel
_NAME, _LETTER, _FRAME = 0.115, 0.045, 1.0
_FEW_POINTS = 12
_LEAST_SHARE = 0.05
_LEAST_SPREAD = 1e-3
# a curve with a smaller relative change is drawn as constant
_ROUNDING = 1e-12
_MARGIN = 0.05


def text_of_name(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name as plot text: one line, limited length, always visible."""
    text_shown = printable(text)
    text_shown = text_shown if len(text_shown) <= longest else f"{text_shown[: longest - 1]}…"
    # matplotlib hides names that begin with an underscore
    return f" {text_shown}" if text_shown.startswith("_") else text_shown


def min_figure_size(panel: Panel) -> tuple[float, float]:
    """Minimum width and height in inches without overlapping names."""
    under: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    match panel:
        case BarPanel():
            under = panel.names
        case MatrixPanel():
            under, beside = panel.columns, panel.rows
    wide, high = (_NAME * min(len(names), _MOST_NAMES) for names in (under, beside))
    return wide + _longest(beside) + _FRAME, high + _longest(under) + _FRAME


def _longest(names: tuple[str, ...]) -> float:
    return _LETTER * max((len(text_of_name(name)) for name in names), default=0)


def draw_panel(figure: Figure, axes: Axes, panel: Panel) -> None:
    """Draw one panel of any kind."""
    axes.set_title(text_of_name(panel.title, 60))
    match panel:
        case CurvePanel():
            _draw_curves(panel, axes)
        case BarPanel():
            _draw_bars(panel, axes)
        case MatrixPanel():
            _draw_matrix(panel, figure, axes)
        case PlanePanel():
            _draw_plane(panel, figure, axes)


def _draw_curves(panel: CurvePanel, axes: Axes) -> None:
    axes.set_xlabel(text_of_name(panel.x_label))
    axes.set_ylabel(f"[{text_of_name(panel.y_label)}]")
    lines = []
    for i, curve in enumerate(panel.curves):
        style: dict[str, Any] = {"color": _COLOURS[i % 8], "linestyle": _DASHES[i % 8]}
        # mark the computed points if they are few
        marker = "." if len(curve.x) <= _FEW_POINTS else ""
        lines += axes.plot(curve.x, curve.y, marker=marker, **style)
    if panel.log_x:
        _set_log(axes.set_xscale, axes.xaxis)
    if panel.log_y and _spans_decades(panel):
        _set_log(axes.set_yscale, axes.yaxis)
    values = np.concatenate([curve.y for curve in panel.curves])
    _level_line(values, axes)
    _level_rounding(values, panel.rounding, axes)
    if len(lines) > 1:
        axes.legend(lines, [text_of_name(curve.name) for curve in panel.curves])
    _draw_limits(panel, axes)


def _level_rounding(values: Numbers, rounding: Rounding, axes: Axes) -> None:
    """Use the reference scale for curves that are only round-off, and state their size."""
    fine = values[np.isfinite(values)]
    largest = float(np.abs(fine).max(initial=0.0))
    if rounding.covers(largest):
        axes.set_ylim(-rounding.reference, rounding.reference)
        axes.text(0.02, 0.9, rounding.words(largest), transform=axes.transAxes, fontsize=6)


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


def _draw_limits(panel: CurvePanel, axes: Axes) -> None:
    """Draw both limits, and a cross with the margin at the closest approach.

    Limits so far away that the curve would look flat are stated as text.
    """
    limits = [each for each in (panel.bounds.lower, panel.bounds.upper) if isfinite(each)]
    near = _is_visible_with_limits(panel.curves[0].y, limits)
    for limit in limits if near else ():
        axes.axhline(limit, color=_LIMIT, linestyle=(0, (4, 2)), linewidth=0.8)
    if panel.closest is not None:
        axes.plot([panel.closest_x], [panel.closest.value], marker="x", color=_LIMIT)
        far = "" if near else f"limit {' and '.join(f'{each:g}' for each in limits)}, "
        text = f"{far}{panel.closest.words} at {panel.closest_x:.4g}"
        axes.text(0.02, 0.1, text, transform=axes.transAxes, color=_LIMIT, fontsize=6)


def _is_visible_with_limits(values: Numbers, limits: list[float]) -> bool:
    """True if a curve fills enough of a panel that also shows the limits."""
    fine = values[np.isfinite(values)]
    if not limits or not len(fine):
        return True
    low, high = float(fine.min()), float(fine.max())
    return high - low >= _LEAST_SHARE * (max(high, *limits) - min(low, *limits))


def _draw_bars(panel: BarPanel, axes: Axes) -> None:
    positions = np.arange(len(panel.names))
    axes.bar(positions, panel.values, color=_COLOURS[1], edgecolor="black", linewidth=0.5)
    for position, bounds in zip(positions, panel.bounds, strict=True):
        _mark_bounds(axes, float(position), bounds)
    _level_rounding(panel.values, panel.rounding, axes)
    _name_ticks(axes.xaxis, panel.names, rotation=60)
    axes.set_ylabel(f"[{text_of_name(panel.y_label)}]")
    axes.axhline(0.0, color="black", linewidth=0.6)


def _mark_bounds(axes: Axes, position: float, bounds: Bounds) -> None:
    for limit in (bounds.lower, bounds.upper):
        if isfinite(limit):
            axes.plot([position - 0.4, position + 0.4], [limit, limit], color=_LIMIT, linewidth=1.2)


def _draw_matrix(panel: MatrixPanel, figure: Figure, axes: Axes) -> None:
    axes.grid(False)
    # from dark to bright, so that greyscale is readable
    image = axes.imshow(panel.values, cmap="cividis", aspect="auto", interpolation="none")
    rounding, largest = panel.rounding, float(np.nanmax(np.abs(panel.values), initial=0.0))
    if rounding.covers(largest):
        image.set_clim(-rounding.reference, rounding.reference)
        axes.set_xlabel(rounding.words(largest), fontsize=6)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(f"[{text_of_name(panel.unit)}]")
    _name_ticks(axes.xaxis, panel.columns, rotation=60)
    _name_ticks(axes.yaxis, panel.rows)
    if max(panel.values.shape) > _WRITTEN:
        return
    middle = (np.nanmin(panel.values) + np.nanmax(panel.values)) / 2.0
    for (i, j), value in np.ndenumerate(panel.values):
        color = "black" if value > middle else "white"
        text = "~0" if rounding.covers(abs(value)) else f"{value:.2g}"
        axes.text(j, i, text, ha="center", va="center", color=color, fontsize=5)


def _name_ticks(axis: Any, names: tuple[str, ...], rotation: float = 0.0) -> None:
    """Label every tick, or every n-th if there are too many to read."""
    step = -(-len(names) // _MOST_NAMES)
    ticks = range(0, len(names), step)
    axis.set_ticks(list(ticks), [text_of_name(names[i]) for i in ticks])
    axis.set_tick_params(labelsize=5, labelrotation=rotation)


def _draw_plane(panel: PlanePanel, figure: Figure, axes: Axes) -> None:
    axes.axhline(0.0, color="black", linewidth=0.6)
    axes.axvline(0.0, color="black", linewidth=0.6)
    axes.set_xlabel(f"real [{text_of_name(panel.unit)}]")
    axes.set_ylabel(f"imaginary [{text_of_name(panel.unit)}]")
    flat = np.asarray(panel.values).ravel()
    _level_scales(flat, axes)
    largest = float(np.nanmax(np.abs(flat), initial=0.0))
    if panel.rounding.covers(largest):
        axes.set_xlim(-panel.rounding.reference, panel.rounding.reference)
        _level_rounding(np.abs(flat), panel.rounding, axes)
    if panel.x is None:
        axes.scatter(flat.real, flat.imag, marker="x", color=_COLOURS[2], s=25)
        return
    when = np.repeat(panel.x, panel.values.shape[1])
    dots = axes.scatter(
        flat.real, flat.imag, c=when, cmap="cividis", s=5, rasterized=len(flat) > 5000
    )
    figure.colorbar(dots, ax=axes).set_label(text_of_name(panel.x_label))


def _level_scales(flat: Numbers, axes: Axes) -> None:
    """If all poles lie on one axis, use the scale of the other axis for both."""
    across, up = (float(np.nanmax(np.abs(part), initial=0.0)) for part in (flat.real, flat.imag))
    if up < _LEAST_SPREAD * across:
        axes.set_ylim(-across, across)
    elif across < _LEAST_SPREAD * up:
        axes.set_xlim(-up, up)


# metadata of each format that would contain a date or a version
_LEFT_OUT: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_PANEL = (3.8, 2.6)
_SETTINGS: dict[str, Any] = {
    # do not parse names as mathematical text
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.0,
    "legend.fontsize": 6,
    # fixed text and ids in every file
    "svg.fonttype": "none",
    "svg.hashsalt": "robolin",
    "path.simplify": False,
}


def figure_of(result: Result, only: Sequence[str] = ()) -> Figure:
    """Plot the result, or these arrays of it."""
    return drawn_panels(panels_of(result, only), f"{result.verb}: {_source(result)}")


def drawn_panels(panels: Sequence[Panel], title: str) -> Figure:
    """Panels in a grid under one title."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    columns = next(c for c, most in ((1, 1), (2, 4), (3, 9), (4, 1 << 30)) if len(panels) <= most)
    rows = -(-len(panels) // columns)
    needed = [_PANEL, *(min_figure_size(panel) for panel in panels)]
    width, height = (max(each) for each in zip(*needed, strict=True))
    with _drawing():
        figure = Figure(
            figsize=(columns * width, rows * height + 0.4), dpi=120, layout="constrained"
        )
        figure.suptitle(text_of_name(title, 100))
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for axis, panel in zip(axes, panels, strict=False):
            draw_panel(figure, axis, panel)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
    return figure


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
        settings.update(_SETTINGS)
        with rc_context(settings):
            yield


def _source(result: Result) -> str:
    return str(result.contract.get("arm", "")) or ", ".join(result.inputs)


def _require_matplotlib() -> None:
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        message = "pictures need matplotlib, which is not installed"
        hint = "pip install 'robolin[plot]'; --plot draws on a terminal without it"
        raise RobolinError(message, hint=hint) from error
