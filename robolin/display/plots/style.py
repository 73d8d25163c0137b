"""Colours, names and settings of plots: readable in greyscale and with colour blindness."""

from __future__ import annotations

from typing import Any

from robolin.core.text import printable

# Okabe-Ito palette; dashes distinguish curves in greyscale
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
DASHES = ("-", "--", "-.", ":", (0, (6, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (2, 1)), (0, (1, 2)))
MARKERS = ("x", "+", "1", "2")
# utilization of a limit: within, from 80 %, beyond
WITHIN, NEAR, BEYOND = "#00785a", "#b36b00", "#b3261e"
LIMIT_BAND = "#f4d9d6"
_LONGEST_NAME = 40
MOST_NAMES = 45

SETTINGS: dict[str, Any] = {
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


def text_of_name(text: str, longest: int = _LONGEST_NAME) -> str:
    """A name as plot text: one line, limited length, always visible."""
    text_shown = printable(text)
    text_shown = text_shown if len(text_shown) <= longest else f"{text_shown[: longest - 1]}…"
    # matplotlib hides names that begin with an underscore
    return f" {text_shown}" if text_shown.startswith("_") else text_shown


def name_ticks(axis: Any, names: tuple[str, ...], rotation: float = 0.0) -> None:
    """Label every tick, or every n-th if there are too many to read."""
    step = -(-len(names) // MOST_NAMES)
    ticks = range(0, len(names), step)
    axis.set_ticks(list(ticks), [text_of_name(names[i]) for i in ticks])
    axis.set_tick_params(labelsize=7, labelrotation=rotation)


def level_colour(share: float) -> str:
    """Colour of a utilization."""
    if share > 1.0 + 1e-9:
        return BEYOND
    return NEAR if share >= 0.8 else WITHIN
