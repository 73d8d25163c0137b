"""Text plots with block characters, for terminals."""

from __future__ import annotations

from math import isfinite

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.notebook import ROUNDED_ZERO, in_short
from robolin.core.text import printable
from robolin.display.plots.panels import (
    BarPanel,
    Curve,
    CurvePanel,
    MatrixPanel,
    Panel,
    PlanePanel,
    Rounding,
)

_HEIGHT = 8
_EIGHTHS = " ▁▂▃▄▅▆▇█"
_SHADES = " ░▒▓█"
_NAME = 24
_ROUNDING = 1e-12
# above this number, curves have one line each
_TALL_CURVES = 3


def text_plot(panels: tuple[Panel, ...], width: int) -> str:
    """All panels as lines of at most this width."""
    drawn = ([_cut(line, width).rstrip() for line in _lines(panel, width)] for panel in panels)
    return "\n".join("".join(f"{line}\n" for line in lines) for lines in drawn)


def _cut(line: str, width: int) -> str:
    """Shorten a line, since names may be wider than the terminal."""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _lines(panel: Panel, width: int) -> list[str]:
    match panel:
        case CurvePanel() if len(panel.curves) > _TALL_CURVES:
            return _summary_lines(panel, width)
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


def _number(value: float, rounding: Rounding) -> str:
    """Four digits; round-off as in tables."""
    return ROUNDED_ZERO if rounding.covers(abs(value)) else f"{value:.4g}"


def _extremes(curve: Curve, rounding: Rounding) -> list[str]:
    """Minimum and maximum of a curve as text; empty without finite numbers."""
    known = curve.y[np.isfinite(curve.y)]
    ends = (known.min(), known.max()) if len(known) else ()
    return [_number(float(end), rounding) for end in ends]


def _level(values: Numbers, rounding: Rounding) -> Numbers:
    """The numbers, or zeros if they are only round-off."""
    largest = float(np.abs(values[np.isfinite(values)]).max(initial=0.0))
    return values * 0.0 if rounding.covers(largest) else values


def _summary_lines(panel: CurvePanel, width: int) -> list[str]:
    """Every curve as one line of blocks, after its name and range."""
    names = [printable(in_short(curve.name)) for curve in panel.curves]
    room = min(max(map(len, names)), _NAME)
    lines = [_title(panel.title, f"[{panel.y_label}]")]
    for name, curve in zip(names, panel.curves, strict=True):
        ends = _extremes(curve, panel.rounding)
        if not ends:
            lines.append(f"{name[:room]:<{room}} has no numbers")
            continue
        text = f"{name[:room]:<{room}} {ends[0]:>10} to {ends[1]:<10}"
        y, columns = _level(curve.y, panel.rounding), max(width - len(text) - 1, 10)
        lines += [f"{text} {row}" for row in _filled(curve.x, y, columns, 1)]
    return [*lines, _under(panel, panel.curves[0])]


def _under(panel: CurvePanel, curve: Curve) -> str:
    """Range of the x axis and the unit."""
    return f"{float(curve.x[0]):.4g} to {float(curve.x[-1]):.4g}, {panel.x_label}"


def _curve(panel: CurvePanel, curve: Curve, width: int) -> list[str]:
    """A curve as columns from the minimum to the maximum of each block of rows."""
    title = panel.title if len(panel.curves) == 1 else f"{panel.title}, {curve.name}"
    ends = _extremes(curve, panel.rounding)
    if not ends:
        return [_title(title, "has no numbers")]
    room, y = max(map(len, ends)), _level(curve.y, panel.rounding)
    rows = _filled(curve.x, y, max(width - room - 2, 10), _HEIGHT)
    left = [ends[1], *[""] * (_HEIGHT - 2), ends[0]]
    drawn = [f"{text:>{room}} {row}" for text, row in zip(left, rows, strict=True)]
    margin = ""
    if panel.closest is not None:
        margin = f", {panel.closest.words(panel.utilization)} at {panel.closest_x:.4g}"
    under = f"{_under(panel, curve)}{margin}"
    return [_title(title, f"[{panel.y_label}]"), *drawn, f"{'':>{room}} {under}"[:width]]


def _filled(x: Numbers, y: Numbers, columns: int, height: int) -> list[str]:
    """Lines of blocks; each column is filled between the extremes of its rows."""
    known = y[np.isfinite(y)]
    low, high = float(known.min()), float(known.max())
    # a curve that changes only by round-off is a line
    span = high - low if high - low > _ROUNDING * max(abs(low), abs(high)) else 1.0
    reach = float(x[-1] - x[0]) or 1.0
    at = np.minimum(((x - x[0]) / reach * columns).astype(int), columns - 1)
    cells = [[" "] * columns for _ in range(height)]
    previous = None
    for column in range(columns):
        inside = y[at == column]
        inside = inside[np.isfinite(inside)]
        if not len(inside):
            # connect points where data are sparse
            inside = np.array([] if previous is None else [previous])
        if not len(inside):
            continue
        previous = float(inside[-1])
        for extreme in np.linspace(inside.max(), inside.min(), height)[::-1]:
            level = (float(extreme) - low) / span * (height - 1e-9)
            row = height - 1 - int(level)
            cells[row][column] = _EIGHTHS[1 + int((level % 1.0) * 7.999)]
    return ["".join(row) for row in cells]


def _bars(panel: BarPanel, width: int) -> list[str]:
    """One bar per name, with the used fraction of its limit if there is one."""
    names = [printable(in_short(name)) for name in panel.names]
    room = min(max(map(len, names)), _NAME)
    largest = _reach(panel.values, panel.rounding)
    lines = [_title(panel.title, f"[{panel.y_label}]")]
    for name, value, bounds in zip(names, panel.values.tolist(), panel.bounds, strict=True):
        limit = bounds.upper if value >= 0 else bounds.lower
        share = f" {value / limit:.0%} of limit" if isfinite(limit) and limit else ""
        text = f"{name[:room]:<{room}} {_number(value, panel.rounding):>11}{share:<16}"
        bar = "█" * round(abs(value) / largest * max(width - len(text) - 1, 1))
        lines.append(f"{text} {bar}"[:width])
    return lines


def _matrix(panel: MatrixPanel, width: int) -> list[str]:
    """Shades of all entries relative to the largest; negative ones have a minus sign."""
    largest = _reach(panel.values, panel.rounding)
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


def _reach(values: Numbers, rounding: Rounding) -> float:
    """Largest magnitude, or the reference magnitude if the numbers are only round-off."""
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    return rounding.reference if rounding.covers(largest) else largest or 1.0


def _shade(value: float, largest: float) -> str:
    level = round(abs(value) / largest * 4) if isfinite(value) else 0
    sign = "-" if value < 0.0 and level else " "
    return sign + (_SHADES[level] if level or value == 0.0 else "·")


def _plane(panel: PlanePanel, width: int) -> list[str]:
    """Points of the complex plane as crosses on a grid, with axes through 0."""
    flat = np.asarray(panel.values).ravel()
    columns, rows = min(width - 2, 61), 15
    reach_x, reach_y = (_reach(part, panel.rounding) for part in (flat.real, flat.imag))
    cells = [["│" if i == columns // 2 else " " for i in range(columns)] for _ in range(rows)]
    cells[rows // 2] = ["─"] * columns
    for point in flat.tolist():
        i = round((point.real / reach_x + 1.0) / 2.0 * (columns - 1))
        j = round((1.0 - point.imag / reach_y) / 2.0 * (rows - 1))
        cells[j][i] = "×"
    title = _title(
        panel.title, f"[{panel.unit}], real axis ±{reach_x:.4g}, imaginary axis ±{reach_y:.4g}j"
    )
    return [title, *("".join(row) for row in cells)]
