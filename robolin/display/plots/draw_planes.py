"""Draw matrices as heat maps and poles in the complex plane."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.natural_scales import UNDECIDED_RATE
from robolin.display.plots.panels import MatrixPanel, PlanePanel
from robolin.display.plots.style import MARKERS, PlotStyle, name_ticks, text_of_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# matrices up to this size show their numbers
WRITTEN = 10
_DAMPING = (0.2, 0.4, 0.6, 0.8)
_POSITIVE: dict[str, Any] = {"cmap": "Blues", "vmin": 0.0}
# poles closer than this, relative to the reach of the plot, share a label
_CLUSTER = 0.12
# ratio of magnitudes from which the larger pole is drawn as an arrow
_FAR = 4.0

# rows of the table of poles
_MOST_ROWS = 16


def draw_matrix(panel: MatrixPanel, figure: Figure, axes: Axes, style: PlotStyle) -> None:
    """Heat map: diverging colours centred on 0 if there are negative numbers."""
    axes.grid(False)
    rounding, largest = panel.rounding, float(np.nanmax(np.abs(panel.values), initial=0.0))
    reach = rounding.reference if rounding.covers(largest) else largest or 1.0
    signed = rounding.covers(largest) or bool(np.nanmin(panel.values, initial=0.0) < 0.0)
    colours: dict[str, Any] = {"cmap": "RdBu_r", "vmin": -reach} if signed else _POSITIVE
    image = axes.imshow(panel.values, vmax=reach, aspect="auto", interpolation="none", **colours)
    if np.isfinite(panel.values).any() and (remark := rounding.remark(largest)):
        axes.set_xlabel(remark, fontsize=7 * style.text)
    bar = figure.colorbar(image, ax=axes)
    bar.set_label(f"[{text_of_name(panel.unit)}]")
    bar.outline.set_visible(False)
    axes.spines[:].set_visible(False)
    name_ticks(axes.xaxis, panel.columns, style, rotation=60)
    name_ticks(axes.yaxis, panel.rows, style)
    if max(panel.values.shape) > WRITTEN:
        return
    size = (7.0 if max(panel.values.shape) <= 7 else 5.5) * style.text
    for (i, j), value in np.ndenumerate(panel.values):
        colour = "white" if abs(value) > 0.6 * reach else "black"
        axes.text(j, i, _cell(value, panel), ha="center", va="center", color=colour, fontsize=size)


def _cell(value: float, panel: MatrixPanel) -> str:
    """Number of a cell; empty for 0."""
    if panel.rounding.covers(abs(value)):
        return "~0"
    if not value:
        return ""
    text = f"{value:.3g}" if 10.0 <= abs(value) < 1e4 else f"{value:.2g}"
    if len(text) > 6 or "e" in text:
        text = f"{value:.0e}".replace("e-0", "e-").replace("e+0", "e")
    return text


def draw_plane(panel: PlanePanel, figure: Figure, axes: Axes, style: PlotStyle) -> None:
    """Poles with equal axes, damping ratios, natural frequencies and the unstable half-plane."""
    axes.set_xlabel(f"real [{text_of_name(panel.unit)}]")
    axes.set_ylabel(f"imaginary [{text_of_name(panel.unit)}]")
    series = [(panel.series, np.asarray(panel.values).ravel()), *panel.others]
    poles = np.concatenate([np.ravel(each) for _, each in series])
    largest = float(np.nanmax(np.abs(poles), initial=0.0))
    reach = 1.15 * (largest if panel.x is not None else near_reach(poles)) or 1.0
    small: dict[str, Any] = {"fontsize": 7 * style.text}
    if panel.rounding.covers(largest):
        reach = panel.rounding.reference
        axes.text(0.02, 1.02, panel.rounding.words(largest), transform=axes.transAxes, **small)
    _draw_pole_grid(axes, reach, style)
    if panel.x is not None:
        flat = series[0][1]
        when = np.repeat(panel.x, panel.values.shape[1])
        shown: dict[str, Any] = {"c": when, "cmap": "cividis", "s": 6, "zorder": 3}
        dots = axes.scatter(flat.real, flat.imag, rasterized=len(flat) > 5000, **shown)
        figure.colorbar(dots, ax=axes).set_label(text_of_name(panel.x_label))
        return
    for i, (name, flat) in enumerate(series):
        colour = style.curves[i % 8]
        marks: dict[str, Any] = {"marker": MARKERS[i % len(MARKERS)], "color": colour}
        label = text_of_name(name) if name else None
        near = flat[~(np.abs(flat) > reach)]
        marks |= {"s": 32 * style.text, "linewidths": 1.4 * style.text, "zorder": 3}
        axes.scatter(near.real, near.imag, label=label, **marks)
        _draw_far_poles(flat[np.abs(flat) > reach], reach, axes, colour, style)
    if panel.names and not panel.others:
        close = np.abs(series[0][1]) <= reach
        names = tuple(name for name, near in zip(panel.names, close, strict=True) if near)
        _label_poles(series[0][1][close], names, reach, axes, style)
    if has_pole_table(panel):
        _draw_pole_table(series[0][1], axes, style)


def has_pole_table(panel: PlanePanel) -> bool:
    """True for the poles of one continuous model."""
    return panel.x is None and not panel.others and panel.unit == "1/s"


def _draw_pole_table(poles: Numbers, axes: Axes, style: PlotStyle) -> None:
    """Poles, frequencies, damping ratios and time constants right of the plane; conjugates once."""
    shown = sorted((pole for pole in poles if pole.imag >= 0.0), key=lambda pole: -pole.real)
    lines = [f"{'pole [1/s]':>17} {'rad/s':>8} {'ζ':>7} {'time [s]':>9}"]
    for pole in shown[:_MOST_ROWS]:
        size = abs(pole)
        if size < UNDECIDED_RATE:
            lines.append(f"{'~0':>17}")
            continue
        text = f"{pole.real:.3g}" + (f" ± {pole.imag:.3g}i" if pole.imag else "")
        time = f"{1.0 / abs(pole.real):.3g}" if abs(pole.real) > UNDECIDED_RATE else ""
        lines.append(f"{text:>17} {size:8.3g} {-pole.real / size + 0.0:7.3f} {time:>9}")
    if len(shown) > _MOST_ROWS:
        lines.append(f"{len(shown) - _MOST_ROWS} more")
    anchor: dict[str, Any] = {"transform": axes.transAxes, "va": "top", "ha": "left"}
    axes.text(1.04, 1.0, "\n".join(lines), family="monospace", fontsize=6.5 * style.text, **anchor)


def near_reach(poles: Numbers) -> float:
    """Largest magnitude in the frame: without poles that are far from at least half of all.

    A pole is far if the next smaller magnitude is less than a quarter of its own.
    """
    sizes = np.sort(np.abs(poles[np.isfinite(poles)]))
    if not len(sizes):
        return 0.0
    far = _FAR * sizes[:-1] < sizes[1:]
    # poles at 0 need no room, and half of the poles are always shown
    far &= (sizes[:-1] > 0.0) & (np.arange(1, len(sizes)) >= len(sizes) / 2.0)
    return float(sizes[np.argmax(far)] if far.any() else sizes[-1])


def _draw_far_poles(
    poles: Numbers, reach: float, axes: Axes, colour: str, style: PlotStyle
) -> None:
    """Arrows at the edge of the frame with the values of the poles beyond it; conjugates once."""
    for row, pole in enumerate(sorted(poles[poles.imag >= 0.0], key=abs)):
        direction = pole / max(abs(pole.real), abs(pole.imag))
        tip, tail = 0.98 * reach * direction, 0.88 * reach * direction
        arrow = {"arrowstyle": "-|>", "color": colour, "linewidth": 1.4 * style.text}
        ends = [(tip, tail), (tip.conjugate(), tail.conjugate())]
        for end, start in dict.fromkeys(ends):
            where = (end.real, end.imag), (start.real, start.imag)
            axes.annotate("", *where, arrowprops=arrow, zorder=4)
        size = f"{pole.real:.3g}" + (f" ± {pole.imag:.3g}i" if pole.imag else "")
        left = direction.real < 0.0
        axes.annotate(
            size,
            (tip.real, tail.imag),
            textcoords="offset points",
            xytext=(2 if left else -2, (5 + 9 * row) * style.text),
            ha="left" if left else "right",
            color=colour,
            fontsize=7 * style.text,
            zorder=4,
        )


def _draw_pole_grid(axes: Axes, reach: float, style: PlotStyle) -> None:
    """Lines of constant damping ratio, arcs of constant frequency, tinted right half-plane."""
    axes.grid(False)
    axes.set_aspect("equal")
    axes.set_xlim(-reach, reach)
    axes.set_ylim(-reach, reach)
    axes.axvspan(0.0, reach, color=style.unstable, zorder=0.2, linewidth=0.0)
    axes.axhline(0.0, color=style.faint, linewidth=0.8, zorder=1)
    axes.axvline(0.0, color=style.faint, linewidth=0.8, zorder=1)
    lines: dict[str, Any] = {"color": style.grid, "linewidth": 0.6, "zorder": 0.5}
    words: dict[str, Any] = {"fontsize": 6.5 * style.text, "color": style.faint}
    for ratio in _DAMPING:
        across, up = ratio, sqrt(1.0 - ratio * ratio)
        length = reach / max(across, up)
        for side in (-1.0, 1.0):
            axes.plot([0.0, -length * across], [0.0, side * length * up], linestyle=":", **lines)
        at = (-0.9 * length * across, 0.9 * length * up)
        axes.text(*at, f"ζ {ratio:g}", ha="center", va="center", **words)
    angles = np.linspace(np.pi / 2.0, 1.5 * np.pi, 61)
    step = _round_step(reach)
    for frequency in np.arange(step, 0.999 * reach, step):
        axes.plot(frequency * np.cos(angles), frequency * np.sin(angles), **lines)


def _round_step(reach: float) -> float:
    """1, 2 or 5 times a power of ten, for two to five arcs."""
    power = 10.0 ** np.floor(np.log10(reach))
    return float(next(k * power for k in (0.2, 0.5, 1.0, 2.0) if reach < 5.5 * k * power))


def _label_poles(
    poles: Numbers, names: tuple[str, ...], reach: float, axes: Axes, style: PlotStyle
) -> None:
    """Name the dominating joints of every cluster of poles; conjugate poles once."""
    clusters: list[tuple[complex, list[str]]] = []
    for pole, name in sorted(zip(poles, names, strict=True), key=lambda each: -abs(each[0])):
        if pole.imag < 0.0 or not np.isfinite(pole):
            continue
        near = [each for each in clusters if abs(each[0] - pole) < _CLUSTER * reach]
        if not near:
            clusters.append((complex(pole), [name]))
        elif name not in near[0][1]:
            near[0][1].append(name)
    for pole, joints in clusters:
        text = ", ".join(text_of_name(joint, 16) for joint in joints[:2])
        text += ", …" if len(joints) > 2 else ""
        # labels of neighbours on the real axis would overlap
        on_axis = pole.imag < _CLUSTER * reach
        right = on_axis or pole.real <= 0.4 * reach
        axes.annotate(
            text,
            (pole.real, pole.imag),
            textcoords="offset points",
            xytext=(-1 if on_axis else 6 if right else -6, 5 if on_axis else -2),
            ha="left" if right else "right",
            va="bottom" if on_axis else "baseline",
            rotation=60 if on_axis else 0,
            rotation_mode="anchor",
            fontsize=7 * style.text,
        )
