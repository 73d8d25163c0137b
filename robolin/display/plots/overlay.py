"""Panels of several results in one plot: curves, bars and poles together, matrices in a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from robolin.display.plots.panels import BarPanel, Curve, CurvePanel, MatrixPanel, Panel, PlanePanel


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
