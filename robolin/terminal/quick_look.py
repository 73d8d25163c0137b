"""Panels drawn with block characters: a quick look that needs nothing but a terminal."""

from __future__ import annotations

from math import isfinite

import numpy as np

from robolin.arrays import Numbers
from robolin.pictures.panels import BarPanel, Curve, CurvePanel, MatrixPanel, Panel, PlanePanel
from robolin.shown import in_short
from robolin.wording import printable

_HEIGHT = 8
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
_NAME = 24
_ROUNDING = 1e-12


def quick_look(panels: tuple[Panel, ...], width: int) -> str:
    """Every panel as lines of at most this width."""
    drawn = ([_cut(line, width).rstrip() for line in _lines(panel, width)] for panel in panels)
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in drawn)


def _cut(line: str, width: int) -> str:
    """Names may be longer than a terminal is wide."""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _lines(panel: Panel, width: int) -> list[str]:
    match panel:
        case CurvePanel():
            return [line for curve in panel.curves for line in _curve(panel, curve, width)]
        case BarPanel():
            return _bars(panel, width)
        case MatrixPanel():
            return _matrix(panel, width)
        case PlanePanel():
            return _plane(panel, width)


def _title(*words: str) -> str:
    return printable(" ".join(word for word in words if word))


def _curve(panel: CurvePanel, curve: Curve, width: int) -> list[str]:
    """A curve as columns that reach from the lowest to the highest number of each stretch."""
    name, x, y = curve.name, curve.x, curve.y
    known = y[np.isfinite(y)]
    title = panel.title if len(panel.curves) == 1 else f"{panel.title}, {name}"
    if not len(known):
        return [_title(title, "has no numbers")]
    low, high = float(known.min()), float(known.max())
    labels = [f"{high:.4g}", f"{low:.4g}"]
    room = max(map(len, labels))
    rows = _filled(x, y, low, high, max(width - room - 2, 10))
    left = [labels[0], *[""] * (_HEIGHT - 2), labels[1]]
    drawn = [f"{text:>{room}} {row}" for text, row in zip(left, rows, strict=True)]
    margin = ""
    if panel.closest is not None:
        margin = f", {panel.closest.words} at {panel.closest_x:.4g}"
    under = f"{float(x[0]):.4g} to {float(x[-1]):.4g}, {panel.x_label}{margin}"
    return [_title(title, f"[{panel.y_label}]"), *drawn, f"{'':>{room}} {under}"[:width]]


def _filled(x: Numbers, y: Numbers, low: float, high: float, columns: int) -> list[str]:
    """Lines of blocks: in every column, all between the extremes of its stretch."""
    # what changes by rounding alone is a line
    span = high - low if high - low > _ROUNDING * max(abs(low), abs(high)) else 1.0
    reach = float(x[-1] - x[0]) or 1.0
    at = np.minimum(((x - x[0]) / reach * columns).astype(int), columns - 1)
    cells = [[" "] * columns for _ in range(_HEIGHT)]
    previous = None
    for column in range(columns):
        inside = y[at == column]
        inside = inside[np.isfinite(inside)]
        if not len(inside):
            # a line goes on where the data are sparse
            inside = np.array([] if previous is None else [previous])
        if not len(inside):
            continue
        previous = float(inside[-1])
        for extreme in np.linspace(inside.min(), inside.max(), _HEIGHT):
            level = (float(extreme) - low) / span * (_HEIGHT - 1e-9)
            row = _HEIGHT - 1 - int(level)
            cells[row][column] = _EIGHTHS[1 + int((level % 1.0) * 7.999)]
    return ["".join(row) for row in cells]


def _bars(panel: BarPanel, width: int) -> list[str]:
    """One bar per name, with how much of its limit it takes where it has one."""
    names = [printable(in_short(name)) for name in panel.names]
    room = min(max(map(len, names)), _NAME)
    largest = float(np.nanmax(np.abs(panel.values))) or 1.0
    lines = [_title(panel.title, f"[{panel.y_label}]")]
    for name, value, bounds in zip(names, panel.values.tolist(), panel.bounds, strict=True):
        limit = bounds.upper if value >= 0 else bounds.lower
        share = f" {value / limit:.0%} of limit" if isfinite(limit) and limit else ""
        text = f"{name[:room]:<{room}} {value:>11.4g}{share:<16}"
        bar = "█" * round(abs(value) / largest * max(width - len(text) - 1, 1))
        lines.append(f"{text} {bar}"[:width])
    return lines


def _matrix(panel: MatrixPanel, width: int) -> list[str]:
    """Shades of every entry beside the largest, signs shown by - before a shade."""
    largest = float(np.nanmax(np.abs(panel.values))) or 1.0
    names = [printable(in_short(name)) for name in panel.rows]
    room = min(max(map(len, names)), _NAME)
    lines = [_title(panel.title, f"[{panel.unit}], █ is {largest:.4g}")]
    columns = max((width - room - 1) // 2, 1)
    for name, row in zip(names, panel.values.tolist(), strict=True):
        cells = "".join(_shade(value, largest) for value in row[:columns])
        lines.append(f"{name[:room]:<{room}} {cells}")
    if len(panel.columns) > columns:
        lines.append(f"… {len(panel.columns) - columns} more columns")
    return lines


def _shade(value: float, largest: float) -> str:
    level = round(abs(value) / largest * 4) if isfinite(value) else 0
    sign = "-" if value < 0.0 and level else " "
    return sign + (_SHADES[level] if level or value == 0.0 else "·")


def _plane(panel: PlanePanel, width: int) -> list[str]:
    """Points of the complex plane as crosses on a grid, axes through 0."""
    flat = np.asarray(panel.values).ravel()
    columns, rows = min(width - 2, 61), 15
    reach_x = float(np.abs(flat.real).max()) or 1.0
    reach_y = float(np.abs(flat.imag).max()) or 1.0
    cells = [["│" if i == columns // 2 else " " for i in range(columns)] for _ in range(rows)]
    cells[rows // 2] = ["─"] * columns
    for point in flat.tolist():
        i = round((point.real / reach_x + 1.0) / 2.0 * (columns - 1))
        j = round((1.0 - point.imag / reach_y) / 2.0 * (rows - 1))
        cells[j][i] = "×"
    title = _title(panel.title, f"[{panel.unit}], ±{reach_x:.4g} across, ±{reach_y:.4g}j up")
    return [title, *("".join(row) for row in cells)]
