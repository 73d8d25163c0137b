"""Curves of a page: what its program draws, and what stands there without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin.core.arrays import Floats
from robolin.display.plots.decimation import kept_rows
from robolin.display.plots.panels import NO_ROUNDING, Rounding
from robolin.display.report.page_markup import element, figure_cell
from robolin.display.report.page_numbers import PageNumbers


@dataclass
class PageFigures:
    """The curves of a page: what the program draws, and what stands where they will be."""

    numbers: PageNumbers
    drawn: list[dict[str, Any]] = field(default_factory=list)

    def add(self, x: Floats, series: dict[str, Floats], **more: Any) -> int:
        """Keep curves over one axis, and tell their place."""
        curves = [{"label": label, "y": self.numbers.add(y)} for label, y in series.items()]
        self.drawn.append({"x": self.numbers.add(x), "series": curves, **more})
        return len(self.drawn) - 1


def curve_figure(
    time: Floats,
    curves: dict[str, Floats],
    caption: Sequence[Element | str],
    figures: PageFigures,
    *,
    rounding: Rounding = NO_ROUNDING,
    **more: Any,
) -> Element:
    """Curves with as many rows as can be seen, and their extremes in words.

    Curves that are nothing but rounding are drawn on the scale that they are rounding of.
    """
    sizes = [np.abs(y[np.isfinite(y)]).max(initial=0.0) for y in curves.values()]
    largest = float(max(sizes, default=0.0))
    if rounding.covers(largest):
        more["reach"] = rounding.beside
    rows = kept_rows(np.stack(list(curves.values()), axis=1))
    number = figures.add(time[rows], {k: y[rows] for k, y in curves.items()}, **more)
    told = "; ".join(_extremes(label, y) for label, y in curves.items())
    if rounding.covers(largest):
        told = rounding.words(largest)
    return element(
        "figure",
        element("figcaption", *caption, told),
        element("div", class_="curves"),
        class_="plot",
        data_figure=str(number),
    )


def _extremes(label: str, values: Floats) -> str:
    fine = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(fine).all():
        return f"{label}: no numbers"
    low, high = int(np.nanargmin(fine)), int(np.nanargmax(fine))
    name = "" if label == "value" else f"{label} "
    if values[low] == values[high]:
        return f"{name}{figure_cell(float(values[low]))} throughout"
    ends = [f"{figure_cell(float(values[row]))} in row {row + 1}" for row in (low, high)]
    return f"{name}from {ends[0]} to {ends[1]}"
