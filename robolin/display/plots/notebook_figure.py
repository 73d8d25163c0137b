"""Plot of matplotlib that a notebook shows without any setup."""

from __future__ import annotations

from matplotlib.figure import Figure


class NotebookFigure(Figure):
    """Plot with a PNG representation.

    Notebooks show plots of matplotlib only after `%matplotlib` or an import of pyplot.
    """

    def _repr_png_(self) -> bytes:
        from robolin.display.plots.draw_panels import picture_bytes

        return picture_bytes(self, "png")
