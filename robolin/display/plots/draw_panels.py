"""Draw panels with matplotlib: curves with limits, bars, and the layout of a plot."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from robolin.core.result import Result
from robolin.display.plots.draw_curves import (
    draw_bars,
    draw_curves,
    draw_events,
    draw_limits,
    shared_scales,
)
from robolin.display.plots.draw_planes import WRITTEN, draw_matrix, draw_plane, has_pole_table
from robolin.display.plots.panels import (
    AT_LIMIT_WITHIN,
    BarPanel,
    CurvePanel,
    MatrixPanel,
    Panel,
    PlanePanel,
    array_of,
    utilization,
)
from robolin.display.plots.result_panels import (
    DECIBELS,
    DEGREES,
    RESIDUAL,
    is_bode,
    panels_of,
)
from robolin.display.plots.style import (
    LIGHT,
    MOST_NAMES,
    PlotStyle,
    style_named,
    text_of_name,
)
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


# in inches: spacing of names, width of a letter, and margins of a panel
_NAME, _LETTER, _FRAME = 0.15, 0.06, 1.0
# letters of a title per inch
_TITLE_LETTERS = 10.5
_CELL = 0.4
# width of the table of poles in inches
_TABLE_WIDTH = 2.6

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


def min_figure_size(panel: Panel, style: PlotStyle) -> tuple[float, float]:
    """Minimum width and height in inches without overlapping names."""
    under: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    match panel:
        case BarPanel():
            under = panel.names
        case MatrixPanel():
            under, left = panel.columns, panel.rows
    wide, high = (_NAME * min(len(names), MOST_NAMES) for names in (under, left))
    if isinstance(panel, MatrixPanel) and max(panel.values.shape) <= WRITTEN:
        wide = max(wide, _CELL * len(under) + _FRAME)
    wide, high = wide + _longest(left) + _FRAME, high + _longest(under) + _FRAME
    return (wide * style.text, high * style.text) if under or left else style.panel


def _longest(names: tuple[str, ...]) -> float:
    return _LETTER * max((len(text_of_name(name)) for name in names), default=0)


def draw_panel(figure: Figure, axes: Axes, panel: Panel, style: PlotStyle, width: float) -> None:
    """Draw one panel of any kind; its title fits into the width in inches."""
    axes.set_title(_panel_title(panel, int(_TITLE_LETTERS * width / style.text)))
    match panel:
        case CurvePanel():
            draw_curves(panel, axes, style)
        case BarPanel():
            draw_bars(panel, axes, style)
        case MatrixPanel():
            draw_matrix(panel, figure, axes, style)
        case PlanePanel():
            draw_plane(panel, figure, axes, style)


def _panel_title(panel: Panel, longest: int) -> str:
    """Title of a panel; of a Bode plot, the input above the magnitude."""
    if is_bode(panel, DECIBELS):
        return text_of_name(panel.title.split(", ")[1], longest)
    return "" if is_bode(panel, DEGREES) else text_of_name(panel.title, longest)


# metadata of each format that would contain a date or a version
_LEFT_OUT: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def figure_of(result: Result, only: Sequence[str] = (), style: str = "light") -> Figure:
    """Plot the result, or these arrays of it."""
    look, panels = style_named(style), panels_of(result, only)
    return drawn_panels(panels, plot_title(panels, robot_name(result)), style=look)


def plot_title(panels: Sequence[Panel], robot: str) -> str:
    """Title of a plot: the robot and its quantities."""
    names = dict.fromkeys(map(array_of, panels))
    words = [_TITLES.get(name, name) for name in names]
    return f"{robot}: {', '.join(words)}" if robot else ", ".join(words)


def drawn_panels(
    panels: Sequence[Panel], title: str, own_scales: bool = False, style: PlotStyle = LIGHT
) -> Figure:
    """Panels in a grid under one title, the joint nearest to its limit first.

    own_scales: scale every panel by itself instead of all panels of one unit together
    """
    _require_matplotlib()
    from robolin.display.plots.style import notebook_figure

    panels, columns = _arranged(panels)
    columns, width, height = _fitted(panels, columns, style)
    rows = -(-len(panels) // columns)
    scales = shared_scales(panels, own_scales)
    finding = _finding(panels)
    with _drawing(style):
        figure = notebook_figure()(
            figsize=(columns * width, rows * height + 0.5 * style.text),
            dpi=120,
            layout="constrained",
        )
        heading = "\n".join([text_of_name(title, 100), *finding])
        figure.suptitle(heading, fontsize=10 * style.text)
        axes = figure.subplots(rows, columns, squeeze=False).ravel()
        for i, (axis, panel) in enumerate(zip(axes, panels, strict=False)):
            draw_panel(figure, axis, panel, style, width)
            if isinstance(panel, CurvePanel):
                draw_limits(panel, axis, scales.get(i), style)
                draw_events(panel, axis, style)
        for axis in axes[len(panels) :]:
            axis.set_axis_off()
        _share_frequencies(axes, panels, columns)
        _draw_legends(figure, axes[: len(panels)], style)
    return figure


def _has_table(panel: Panel) -> bool:
    return isinstance(panel, PlanePanel) and has_pole_table(panel)


def _fitted(panels: Sequence[Panel], columns: int, style: PlotStyle) -> tuple[int, float, float]:
    """Number of columns, and width and height of each panel in inches."""
    needed = [style.panel, *(min_figure_size(panel, style) for panel in panels)]
    if any(isinstance(panel, PlanePanel) for panel in panels):
        table = _TABLE_WIDTH * style.text if any(map(_has_table, panels)) else 0.0
        needed.append((style.plane + table, style.plane))
    width, height = (max(each) for each in zip(*needed, strict=True))
    if not style.widths:
        return columns, width, height
    columns = max(min(columns, int(style.widths[-1] / width)), 1)
    total = next((each for each in style.widths if each >= columns * width), columns * width)
    return columns, total / columns, height


def _draw_legends(figure: Figure, axes: Any, style: PlotStyle) -> None:
    """One legend below all panels if they have the same names, otherwise one right of each."""
    legends = [(axis, *axis.get_legend_handles_labels()) for axis in axes]
    legends = [(axis, handles, names) for axis, handles, names in legends if names]
    _, handles, names = max(legends, key=lambda each: len(each[2]), default=(None, [], []))
    # panels with fewer curves have the first names and colours
    if legends and all(each == names[: len(each)] for _, _, each in legends):
        # in inches: a line, its gap, and the letters of the longest name
        size = style.all_settings["legend.fontsize"] / 72.0
        wide = size * (0.6 * max(map(len, names)) + 5.0)
        columns = max(min(len(names), 4, int(figure.get_figwidth() / wide)), 1)
        figure.legend(handles, names, loc="outside lower center", ncols=columns)
        return
    for axis, handles, names in legends:
        position = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0), "borderaxespad": 0.0}
        axis.legend(handles, names, **position)


def _arranged(panels: Sequence[Panel]) -> tuple[list[Panel], int]:
    """Order of the panels and number of columns.

    Magnitudes stand above their phases, and torques above their residuals.
    """
    lower = [panel for panel in panels if is_bode(panel, DEGREES) or array_of(panel) == RESIDUAL]
    if lower and 2 * len(lower) == len(panels):
        columns, ordered = min(len(lower), 3), []
        upper = [panel for panel in panels if panel not in lower]
        for first in range(0, len(lower), columns):
            ordered += [*upper[first : first + columns], *lower[first : first + columns]]
        if len(lower) % columns == 0:
            return ordered, columns
        return list(panels), 2
    by_joint = _one_row_per_joint(panels)
    if by_joint:
        return by_joint
    ordered = sorted(panels, key=lambda panel: -_importance(panel))
    names = list(dict.fromkeys(map(array_of, panels)))
    ordered.sort(key=lambda panel: names.index(array_of(panel)))
    count = len(panels)
    return ordered, next(c for c, most in ((1, 1), (2, 4), (3, 9), (4, 1 << 30)) if count <= most)


def _one_row_per_joint(panels: Sequence[Panel]) -> tuple[list[Panel], int] | None:
    """A column per quantity of a motion and a row per joint, the most used joint first.

    None if the quantities have other joints.
    """
    columns: dict[str, dict[str, Panel]] = {}
    for panel in panels:
        if not isinstance(panel, CurvePanel) or ", " not in panel.title:
            return None
        columns.setdefault(array_of(panel), {})[panel.title.partition(", ")[2]] = panel
    joints, *others = (list(each) for each in columns.values())
    count = len(columns)
    if not 2 <= count <= 4 or any(each != joints for each in others):
        return None
    if len(panels) != count * len(joints):
        return None
    used = {joint: max(_importance(each[joint]) for each in columns.values()) for joint in joints}
    ordered = sorted(joints, key=lambda joint: -used[joint])
    return [each[joint] for joint in ordered for each in columns.values()], count


def _importance(panel: Panel) -> float:
    """Utilization of the limit of a panel, 0 without a limit."""
    return (panel.utilization or 0.0) if isinstance(panel, CurvePanel) else 0.0


def _share_frequencies(axes: Any, panels: Sequence[Panel], columns: int) -> None:
    """Use one frequency axis for a magnitude and the phase below it."""
    for i, panel in enumerate(panels):
        above = i - columns
        if is_bode(panel, DEGREES) and above >= 0 and is_bode(panels[above], DECIBELS):
            axes[i].sharex(axes[above])
            axes[above].set_xlabel("")
            axes[above].tick_params(labelbottom=False)


def _finding(panels: Sequence[Panel]) -> list[str]:
    """One line about the poles or the tightest limit; [] without them."""
    verdicts: list[tuple[float, str, str]] = []
    poles = [each.finding for each in panels if isinstance(each, PlanePanel) and each.finding]
    if poles:
        return poles[:1]
    for panel in panels:
        word = _LIMITED.get(array_of(panel))
        if word is None:
            continue
        if isinstance(panel, CurvePanel) and panel.utilization is not None:
            joint = panel.title.partition(", ")[2]
            at = f" at {panel.closest_x:.4g}{' s' if panel.x_label.endswith('[s]') else ''}"
            verdicts.append((panel.utilization, f"{text_of_name(joint)} {word}", at))
        elif isinstance(panel, BarPanel):
            shares = map(utilization, map(float, panel.values), panel.bounds)
            pairs = zip(panel.names, shares, strict=True)
            verdicts += [(s, f"{text_of_name(n)} {word}", "") for n, s in pairs if s is not None]
    if not verdicts:
        return []
    share, joint, at = max(verdicts)
    verdict = "limit exceeded" if share > 1.0 + AT_LIMIT_WITHIN else "smallest margin"
    return [f"{verdict}: {joint}, {100.0 * share:.1f} % used{at}"]


def picture_bytes(figure: Figure, form: str) -> bytes:
    """The plot as an svg, png or pdf file without date, version or random ids."""
    stream = BytesIO()
    with _drawing(LIGHT):
        figure.savefig(stream, format=form, metadata=_LEFT_OUT[form])
    return stream.getvalue()


@contextmanager
def _drawing(style: PlotStyle) -> Iterator[None]:
    """Apply fixed settings instead of the user's; glyphs missing from the font become boxes."""
    from matplotlib import rc_context, rcParamsDefault

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*[Gg]lyph.*")
        warnings.filterwarnings("ignore", message=".*constrained_layout not applied.*")
        settings: Any = {
            name: rcParamsDefault[name] for name in rcParamsDefault if "backend" not in name
        }
        settings.update(style.all_settings)
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
        hint = "pip install matplotlib, or plot in the terminal with --plot"
        raise RobolinError(message, hint=hint) from error
