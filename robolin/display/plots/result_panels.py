"""Choose the panels of a result: curves, bars, heat maps and complex planes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from robolin.analysis.identify.identification_result import Identification
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Numbers
from robolin.core.choices import base_verb, is_swept
from robolin.core.quantity_table import entry_units, joint_unit, slides_in, unit_of
from robolin.core.result import Array, Result
from robolin.display.plots.panels import (
    DISTURBANCE,
    MOST_POINTS,
    NO_BOUNDS,
    NO_ROUNDING,
    BarPanel,
    Bounds,
    Curve,
    CurvePanel,
    Event,
    MatrixPanel,
    Panel,
    PlanePanel,
    Rounding,
    array_rounding,
    closest_approach,
    decimate_keep_extremes,
    events_of,
    joint_bounds,
    motion_scales,
)
from robolin.display.terminal.screen import VERDICTS, screen_of, short_names
from robolin.display.terminal.show import summarized
from robolin.errors import UsageError
from robolin.queries.question import answering_verb
from robolin.queries.verbs import VERBS

_CURVES_TOGETHER = 8
# with more inputs, a plot shows each position and its own effort
_FEW_INPUTS = 3
# above this number, joints share panels, without limits
_OWN_PANELS = 12
_SLICES = 12
MOST_PANELS = 60
# drawn below the torques it belongs to
RESIDUAL = "tau_residual"
# units of the two panels of a Bode plot
DECIBELS, DEGREES = "dB", "°"
# two computations of the same value differ by many roundings of their inputs
_NOISE_OF_DIFFERENCES = 1e-12


def is_bode(panel: Panel, unit: str) -> bool:
    """True for the magnitudes (dB) or the phases (degrees) of a Bode plot."""
    return isinstance(panel, CurvePanel) and panel.log_x and panel.y_label == unit


def panels_of(result: Result, only: Sequence[str] = ()) -> tuple[Panel, ...]:
    """Panels of these arrays, or of the main arrays of the command."""
    available = [array.name for array in result.arrays]
    for name in only:
        if name not in available:
            hint = f"choose one of {', '.join(available)}"
            raise UsageError(f"unknown array '{name}'", hint=hint)
    verb = answering_verb(result.verb)
    names = tuple(only) or (verb and verb.default_plot_arrays) or available
    axis = _Axis(result)
    chosen = [array for array in result.arrays if array.name in names]
    if not only:
        chosen = _main_first(chosen, result)
    if not only and RESIDUAL in result and result.compared is None:
        return tuple(_residual_panels(result, axis))
    panels = tuple(
        panel for array in _without_scalars(chosen) for panel in _panels(array, result, axis)
    )
    if not only and result.verb == "optimize" and result.compared is None:
        panels += tuple(_cost_panel(result))
    if len(panels) > MOST_PANELS:
        hint = f"choose arrays with --only NAME or plot(NAME): {', '.join(available)}"
        raise UsageError(f"a plot has at most {MOST_PANELS} panels, got {len(panels)}", hint=hint)
    if not panels:
        raise UsageError("single numbers cannot be plotted")
    return panels


def _residual_panels(result: Result, axis: _Axis) -> Iterator[CurvePanel]:
    """Two panels per joint: measured torque with that of the model, and the residual."""
    model, measured, residual = (
        next(array for array in result.arrays if array.name == name)
        for name in ("tau", "tau_measured", RESIDUAL)
    )
    units = entry_units("tau", model.unit, model.labels, slides_in(result.model))
    most = slice(MOST_PANELS // 2)
    for i, (joint, unit) in enumerate(list(zip(model.labels[0], units, strict=True))[most]):
        both = np.stack([measured.values[:, i], model.values[:, i]], axis=1)
        names = ["measured", "model"]
        yield _curves(f"tau, {joint}", model, axis, names, both, unit=unit)
        own = residual.values[:, i : i + 1]
        yield _curves(f"{RESIDUAL}, {joint}", residual, axis, [joint], own, unit=unit)


def _without_scalars(arrays: Sequence[Array]) -> Iterator[Array]:
    """Arrays of one state with more than one number; all arrays along a motion."""
    yield from (array for array in arrays if array.rank or array.batch is not None)


def _main_first(arrays: Sequence[Array], result: Result) -> list[Array]:
    """The arrays in the order of the terminal; vectors of zeros next to others are left out."""
    first = screen_of(result).first
    rank = {name: i for i, name in enumerate(first)}
    ordered = sorted(arrays, key=lambda array: rank.get(array.name, len(rank)))
    shown = [
        array
        for array in ordered
        if array.batch is not None or array.rank != 1 or array.values.any() or array.name in rank
    ]
    return shown or ordered


class _Axis:
    """The x axis of curves: frequencies, times or rows."""

    def __init__(self, result: Result) -> None:
        self.log = "omega" in result and result.batch is not None
        swept = result.arrays[0] if is_swept(result.verb) else None
        if swept is not None:
            self.label, self.x = f"{swept.name} [{swept.unit}]", swept.values
        elif self.log:
            self.label, self.x = f"frequency [{unit_of('omega', ())}]", result["omega"]
        elif result.time is not None:
            self.label, self.x = _times(result.time)
        else:
            self.label, self.x = "row", np.arange(1.0, (result.batch or 0) + 1.0)
        self.events = tuple(_disturbances(result, self.x))


def _disturbances(result: Result, x: Numbers) -> Iterator[Event]:
    """The interval of a disturbance torque in a simulated motion."""
    text = str(result.contract.get("disturbance", ""))
    span = re.search(r", from (\S+) to (\S+) s;", text)
    if span and result.time is not None and len(x):
        start, end = float(span[1]), min(float(span[2]), float(x[-1]))
        if start <= end:
            yield Event(DISTURBANCE, start, end)


def _times(time: Numbers) -> tuple[str, Numbers]:
    if time.dtype.kind != "M":
        return "time [s]", time
    seconds = (time - time[0]) / np.timedelta64(1, "s")
    return f"time since {time[0]} [s]", seconds


def _panels(array: Array, result: Result, axis: _Axis) -> Iterator[Panel]:
    if array.batch is None:
        yield from _of_one_state(array, result)
    elif array.name == "omega" or (is_swept(result.verb) and array is result.arrays[0]):
        return
    elif array.rank == 0:
        values, rounding = array.values[:, None], _rounding(array, result)
        yield _curves(array.name, array, axis, [array.name], values, rounding=rounding)
    elif array.values.dtype.kind == "c" and array.rank == 1:
        kept = decimate_keep_extremes(array.values.real, MOST_POINTS)
        x, rounding = np.asarray(axis.x)[kept], _rounding(array, result)
        yield PlanePanel(array.name, array.unit, array.values[kept], axis.label, x, rounding)
    elif array.rank == 1:
        yield from _joint_curves(array, result, axis)
    elif array.name in VERBS["response"].default_plot_arrays:
        yield from _responses(array, axis, _rounding(array, result))
    elif array.name == "K" and result.verb == "optimize":
        yield from _gains(array, axis, _rounding(array, result))
    else:
        yield from _matrices_along(array, result, axis)


def _rounding(array: Array, result: Result) -> Rounding:
    """Round-off relative to the values of the array, or of the two terms of a difference."""
    if result.compared is not None:
        return Rounding(result.compared[array.name], _NOISE_OF_DIFFERENCES)
    known = dict(result.stored()) if result.batch is not None else {}
    scales = motion_scales(result.model, result.contract, known.get("qd"), known.get("qdd"))
    return array_rounding(array.name, array.unit, array.values, scales)


def _bounds(array: Array, result: Result) -> tuple[Bounds, ...]:
    """Limits of every joint; none for a difference of two results."""
    model = result.model if result.compared is None else None
    bounds = tuple(joint_bounds(model, array.name, name) for name in array.labels[0])
    if result.verb == "optimize" and result.compared is None:
        return _bounds_of_options(bounds, array.name, result.options)
    return bounds


def _bounds_of_options(
    bounds: tuple[Bounds, ...], quantity: str, options: Mapping[str, Any]
) -> tuple[Bounds, ...]:
    """Limits that `optimize` used: scaled, replaced or ignored.

    A replacement that names single joints is not drawn.
    """
    none = (NO_BOUNDS,) * len(bounds)
    text = options.get({"qd": "max-velocity", "tau": "max-effort"}.get(quantity, ""))
    if text is not None:
        try:
            sizes = [float(each) for each in str(text).split(",")]
        except ValueError:
            return none
        sizes = sizes * len(bounds) if len(sizes) == 1 else sizes
        return tuple(Bounds(-size, size) for size in sizes) if len(sizes) == len(bounds) else none
    if options.get("ignore-limits"):
        return none
    if quantity not in ("qd", "tau"):
        return bounds
    scale = float(options.get("limit-scale") or 1.0)
    return tuple(Bounds(scale * each.lower, scale * each.upper) for each in bounds)


def _of_one_state(array: Array, result: Result) -> Iterator[Panel]:
    title, rounding = array.name, _rounding(array, result)
    if array.rank == 1 and array.values.dtype.kind == "c":
        names, finding = _dominating_joints(array, result), _verdict(array, result)
        yield PlanePanel(
            title, array.unit, array.values, rounding=rounding, names=names, finding=finding
        )
    elif array.rank == 1:
        bounds = _bounds(array, result)
        yield BarPanel(title, array.unit, array.labels[0], array.values, bounds, rounding)
    else:
        yield from _slices(title, array, array.values, rounding)


def _dominating_joints(array: Array, result: Result) -> tuple[str, ...]:
    """Joint with the largest part of each mode shape; () for results without mode shapes."""
    if array.name != "poles" or "mode_shape" not in result:
        return ()
    shapes = next(each for each in result.arrays if each.name == "mode_shape")
    parts = np.nan_to_num(np.abs(shapes.values))
    if parts.shape[0] != len(array.values):
        return ()
    short = short_names(result.joints)
    return tuple(short.of(shapes.labels[1][i]) for i in parts.argmax(axis=-1))


def _verdict(array: Array, result: Result) -> str:
    """The verdict about poles, as on a terminal, and the legend of the joints."""
    verb = base_verb(result.verb)
    if array.name != "poles" or result.compared is not None or verb not in VERDICTS:
        return ""
    legend = short_names(result.joints).legend if "mode_shape" in result else ""
    return "; ".join(filter(None, [VERDICTS[verb](result, summarized(result)), legend]))


def _slices(title: str, array: Array, values: Numbers, rounding: Rounding) -> Iterator[Panel]:
    """A matrix, or the first matrices of an array with more axes."""
    rows, columns, *along = array.labels
    sizes = np.abs(values) if values.dtype.kind == "c" else values
    indices = list(product(*(range(len(names)) for names in along)))
    for index in indices[:_SLICES]:
        by = "".join(f", {names[i]}" for names, i in zip(along, index, strict=True))
        at: Any = (slice(None), slice(None), *index)
        yield MatrixPanel(f"{title}{by}", array.unit, rows, columns, sizes[at], rounding)


def _joint_curves(array: Array, result: Result, axis: _Axis) -> Iterator[Panel]:
    """One panel per joint if it has limits, otherwise several curves per panel."""
    names, bounds, rounding = array.labels[0], _bounds(array, result), _rounding(array, result)
    units = entry_units(array.name, array.unit, array.labels, slides_in(result.model))
    if len(names) <= _OWN_PANELS and any(each.exist for each in bounds):
        for i, name in enumerate(names):
            title, values = f"{array.name}, {name}", array.values[:, i : i + 1]
            yield _curves(
                title, array, axis, [name], values, bounds[i], unit=units[i], rounding=rounding
            )
        return
    for first in range(0, len(names), _CURVES_TOGETHER):
        part = slice(first, first + _CURVES_TOGETHER)
        values, unit = array.values[:, part], units[first]
        if any(other != unit for other in units[part]):
            unit = array.unit
        yield _curves(array.name, array, axis, names[part], values, unit=unit, rounding=rounding)


def _curves(
    title: str,
    array: Array,
    axis: _Axis,
    names: Sequence[str],
    values: Numbers,
    bounds: Bounds = NO_BOUNDS,
    *,
    unit: str | None = None,
    log_y: bool = False,
    rounding: Rounding = NO_ROUNDING,
) -> CurvePanel:
    closest = closest_approach(values[:, 0], bounds) if bounds.exist else None
    curves = []
    for name, column in zip(names, values.T, strict=True):
        kept = decimate_keep_extremes(column)
        curves.append(Curve(name, np.asarray(axis.x)[kept], column[kept]))
    return CurvePanel(
        title,
        axis.label,
        array.unit if unit is None else unit,
        tuple(curves),
        bounds,
        closest,
        0.0 if closest is None else float(axis.x[closest.row]),
        axis.log,
        log_y,
        rounding,
        () if axis.log else (*axis.events, *events_of(np.asarray(axis.x), values, bounds)),
    )


def _responses(array: Array, axis: _Axis, rounding: Rounding) -> Iterator[Panel]:
    """Responses to each input, or of many joints to their own inputs; complex ones in dB and °."""
    outputs, inputs = array.labels
    own = [f"{name.partition('/')[0]}/position" for name in inputs]
    if len(inputs) > _FEW_INPUTS and {*own} <= {*outputs}:
        pairs = [(outputs.index(name), i) for i, name in enumerate(own)]
        values = np.stack([array.values[:, i, j] for i, j in pairs], axis=1)
        groups = [("from each effort to the position of the same joint", tuple(own), values)]
    else:
        groups = [
            (f"from {name}", tuple(outputs), array.values[:, :, j]) for j, name in enumerate(inputs)
        ]
    for words, names, values in groups:
        title = f"{array.name}, {words}"
        for first in range(0, len(names), _CURVES_TOGETHER):
            part = slice(first, first + _CURVES_TOGETHER)
            yield from _response_curves(title, array, axis, names[part], values[:, part], rounding)


def _response_curves(
    title: str,
    array: Array,
    axis: _Axis,
    names: Sequence[str],
    values: Numbers,
    rounding: Rounding,
) -> Iterator[Panel]:
    if values.dtype.kind != "c":
        yield _curves(title, array, axis, names, values, rounding=rounding)
        return
    # a response of 0 has no decibels
    sizes = np.abs(values)
    decibels = 20.0 * np.log10(np.where(sizes > 0.0, sizes, np.nan))
    yield _curves(f"{title}, magnitude", array, axis, names, decibels, unit=DECIBELS)
    phase = np.degrees(np.unwrap(np.angle(values), axis=0))
    yield _curves(f"{title}, phase", array, axis, names, phase, unit=DEGREES)


def _gains(array: Array, axis: _Axis, rounding: Rounding) -> Iterator[Panel]:
    """Time-varying gains of each motor: by positions, and by velocities."""
    motors, states = array.labels
    half = len(states) // 2
    for i, name in enumerate(motors):
        for part in (slice(0, half), slice(half, None)):
            values = array.values[:, i, part]
            yield _curves(f"K, {name}", array, axis, states[part], values, rounding=rounding)


def _cost_panel(result: Result) -> Iterator[CurvePanel]:
    """Cost of an optimal motion after each iteration, if the result has it."""
    from robolin.queries.planning_answers import COST_BY_ITERATION

    text = str(result.contract.get(COST_BY_ITERATION, ""))
    costs = np.array([float(each) for each in text.split(",") if each.strip()])
    if len(costs) > 1:
        curve = Curve("cost", np.arange(float(len(costs))), costs)
        is_positive = bool((costs > 0.0).all())
        yield CurvePanel("cost", "iteration", "1", (curve,), log_y=is_positive)


def _matrices_along(array: Array, result: Result, axis: _Axis) -> Iterator[Panel]:
    """Matrices at the first, middle and last row; for mass matrices also the condition number."""
    rows = array.batch or 0
    if array.name == "mass_matrix" and result.compared is None:
        condition = np.linalg.cond(array.values)[:, None]
        yield _curves("cond(M)", array, axis, ["cond(M)"], condition, unit="1", log_y=True)
    rounding = _rounding(array, result)
    for row in dict.fromkeys((0, rows // 2, rows - 1)):
        title = f"{array.name}, row {row + 1} of {rows}"
        yield from _slices(title, array, array.values[row], rounding)


def identification_panels(arm: Arm, result: Identification) -> tuple[Panel, ...]:
    """Two panels per joint for held-out rows: torques, and residuals before and after."""
    time = held_out_time(result)
    panels = []
    for j, joint in enumerate(arm.joint_names[: MOST_PANELS // 2]):
        torques = np.stack(
            [result.predicted_before[:, j], result.predicted[:, j], result.measured[:, j]], axis=1
        )
        residuals = torques[:, 2:] - torques[:, :2]
        for title, values in (("tau", torques), (RESIDUAL, residuals)):
            rows = decimate_keep_extremes(values)
            curves = tuple(
                Curve(name, time[rows], values[rows, i])
                for i, name in enumerate(("file", "identified", "measured")[: values.shape[1]])
            )
            panels.append(
                CurvePanel(
                    f"{title}, {joint}",
                    "time [s]",
                    joint_unit("effort", arm.joints[j].turns),
                    curves,
                )
            )
    return tuple(panels)


def held_out_time(result: Identification) -> Floats:
    """Time of the held-out rows in s, with several recordings one after the other."""
    steps = np.diff(result.time, prepend=result.time[:1])
    usual = float(np.median(steps[1:])) if len(steps) > 2 else 0.0
    # between two recordings
    steps = np.where((steps < 0.0) | (steps > 100.0 * usual), usual, steps)
    return np.asarray(np.cumsum(steps))
