"""Styles of plots: colours that are safe for colour blindness, text sizes and panel sizes.

A notebook shows a plot without any setup.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from functools import cache
from typing import TYPE_CHECKING, Any

from robolin.core.choices import PLOT_STYLES
from robolin.core.records import dataclass
from robolin.core.text import did_you_mean, printable
from robolin.errors import UsageError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)), (0, (1, 2)))
MARKERS = ("x", "+", "1", "2")
_LONGEST_NAME = 40
MOST_NAMES = 45

_SETTINGS: dict[str, Any] = {
    # do not parse names as mathematical text
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a929b",
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "lines.linewidth": 1.4,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    # fixed text and ids in every file
    "svg.fonttype": "none",
    "svg.hashsalt": "robolin",
    "path.simplify": False,
    "pdf.fonttype": 42,
}


@dataclass(frozen=True)
class PlotStyle:
    """Colours, text sizes and sizes of panels.

    settings: of matplotlib, in addition to the common ones
    curves:   Okabe-Ito palette; dashes distinguish curves in greyscale
    levels:   utilization of a limit: within, from 80 %, beyond
    band:     area beyond a limit
    text:     factor of all text sizes
    panel:    smallest width and height of a panel in inches
    widths:   of a plot in inches, for one column of text and for two; () for any width
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    curves: tuple[str, ...] = (
        *("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999"),
    )
    levels: tuple[str, str, str] = ("#00785a", "#b36b00", "#b3261e")
    band: str = "#f4d9d6"
    unstable: str = "#fbeeea"
    faint: str = "#5b6570"
    grid: str = "#b8bec6"
    text: float = 1.0
    panel: tuple[float, float] = (3.8, 2.5)
    plane: float = 4.2
    widths: tuple[float, ...] = ()

    @property
    def all_settings(self) -> dict[str, Any]:
        """Settings of matplotlib."""
        return {**_SETTINGS, **self.settings}

    def level(self, share: float) -> str:
        """Colour of a utilization."""
        within, near, beyond = self.levels
        if share > 1.0 + 1e-9:
            return beyond
        return near if share >= 0.8 else within


LIGHT = PlotStyle()
_DARK_PAPER, _DARK_INK = "#15181c", "#e6e9ec"
_DARK: dict[str, Any] = {
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), _DARK_PAPER),
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.titlecolor"), _DARK_INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), "#a2acb6"),
    "axes.edgecolor": "#5b6570",
    "grid.color": "#8a929b",
}
_LARGE: dict[str, Any] = {
    "font.size": 13,
    "axes.titlesize": 14.5,
    "legend.fontsize": 12,
    "lines.linewidth": 2.4,
    "lines.markersize": 8,
}
STYLES: dict[str, PlotStyle] = {
    "light": LIGHT,
    "dark": replace(
        LIGHT,
        settings=_DARK,
        curves=(
            *("#56b4e9", "#f0a35e", "#38c79d", "#e3a6cb", "#f0d442", "#8fb8ff"),
            *("#ffffff", "#a2acb6"),
        ),
        levels=("#38c79d", "#e0a030", "#ff8a80"),
        band="#4a2b2c",
        unstable="#2c2226",
        faint="#a2acb6",
        grid="#4a545e",
    ),
    # column widths of IEEE journals, with text of at least 7 pt when printed
    "paper": replace(LIGHT, panel=(2.3, 1.75), plane=3.3, widths=(3.5, 7.16)),
    **dict.fromkeys(
        ("slides", "presentation"),
        replace(LIGHT, settings=_LARGE, text=1.65, panel=(5.6, 3.6), plane=6.4),
    ),
}


def style_named(name: str) -> PlotStyle:
    """A style by its name."""
    if name not in STYLES:
        hint = did_you_mean(name, PLOT_STYLES)
        raise UsageError(f"unknown style '{name}'", where="style", hint=hint)
    return STYLES[name]


def text_of_name(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name as plot text: one line, limited length with both ends, always visible."""
    shown = printable(text)
    if len(shown) > longest:
        # names of joints often differ at the end
        tail = longest // 3
        shown = f"{shown[: longest - 1 - tail]}…{shown[-tail:]}"
    # matplotlib hides names that begin with an underscore
    return f" {shown}" if shown.startswith("_") else shown


def name_ticks(axis: Any, names: tuple[str, ...], style: PlotStyle, rotation: float = 0.0) -> None:
    """Label every tick, or every n-th if there are too many to read."""
    step = -(-len(names) // MOST_NAMES)
    ticks = range(0, len(names), step)
    axis.set_ticks(list(ticks), [text_of_name(names[i]) for i in ticks])
    axis.set_tick_params(labelsize=7 * style.text, labelrotation=rotation)


@cache
def notebook_figure() -> type[Figure]:
    """The class of plots; it needs matplotlib, which other functions of this module do not."""
    from matplotlib.figure import Figure

    class NotebookFigure(Figure):
        """Plot with a PNG representation.

        Notebooks show plots of matplotlib only after `%matplotlib` or an import of pyplot.
        """

        def _repr_png_(self) -> bytes:
            from robolin.display.plots.draw_panels import picture_bytes

            return picture_bytes(self, "png")

    # pickles name the class as an attribute of this module
    NotebookFigure.__qualname__ = "NotebookFigure"
    return NotebookFigure


def __getattr__(name: str) -> Any:
    if name == "NotebookFigure":
        return notebook_figure()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
