"""Panels as a figure of matplotlib, and figures as files whose bytes depend on the data alone."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any

from robolin.core.results.result import Result
from robolin.display.plots.panels import Panel
from robolin.display.plots.result_panels import panels_of
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# what each format would say of the day and the program
_LEFT_OUT: dict[str, dict[str, Any]] = {
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
_PANEL = (3.8, 2.6)
_SETTINGS: dict[str, Any] = {
    # names are text, whatever they look like
    "text.parse_math": False,
    "text.usetex": False,
    "font.family": "DejaVu Sans",
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "lines.linewidth": 1.0,
    "legend.fontsize": 6,
    # the same text and the same marks in every file
    "svg.fonttype": "none",
    "svg.hashsalt": "robolin",
    "path.simplify": False,
}


def figure_of(result: Result, only: Sequence[str] = ()) -> Figure:
    """The result, or these arrays of it, as a figure."""
    return drawn_panels(panels_of(result, only), f"{result.verb}: {_source(result)}")


def drawn_panels(panels: Sequence[Panel], title: str) -> Figure:
    """Panels side by side under one title."""
    _require_matplotlib()
    from matplotlib.figure import Figure

    from robolin.display.plots.draw_panels import draw_panel, room_for_names, text_of_name

    columns = next(c for c, most in ((1, 1), (2, 4), (3, 9), (4, 1 << 30)) if len(panels) <= most)
    rows = -(-len(panels) // columns)
    needed = [_PANEL, *(room_for_names(panel) for panel in panels)]
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
    """The figure as an svg, png or pdf file; no date, no version, no random name in it."""
    stream = BytesIO()
    with _drawing():
        figure.savefig(stream, format=form, metadata=_LEFT_OUT[form])
    return stream.getvalue()


@contextmanager
def _drawing() -> Iterator[None]:
    """Our settings, whatever a user's own are; letters that no font has are drawn as boxes."""
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
