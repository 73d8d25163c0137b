"""Which panels show a result: small multiples of curves, bars, heat maps and planes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

import numpy as np

from robolin.arrays import Numbers
from robolin.errors import UsageError
from robolin.pictures.joint_bounds import NO_BOUNDS, Bounds, closest_approach, joint_bounds
from robolin.pictures.kept_rows import MOST_POINTS, kept_rows
from robolin.pictures.panels import (
    BarPanel,
    Curve,
    CurvePanel,
    MatrixPanel,
    Panel,
    PlanePanel,
)
from robolin.quantities.units import unit_of
from robolin.results.result import Array, Result
from robolin.results.swept_verbs import asked_verb, is_swept

# what is looked at first; everything else on request
_FIRST = {
    "response": ("frequency_response", "step_response", "impulse_response"),
    "poles": ("poles", "frequency", "mode_shape"),
    "lqr": ("K", "poles"),
    "state-space": ("A", "B"),
}
_CURVES_TOGETHER = 8
# more joints than this share panels, and then have no room for limits
_OWN_PANELS = 12
_SLICES = 12
MOST_PANELS = 60


def panels_of(result: Result, only: Sequence[str] = ()) -> tuple[Panel, ...]:
    """The panels that show these arrays, or those of the verb that are looked at first."""
    known = [array.name for array in result.arrays]
    for name in only:
        if name not in known:
            hint = f"arrays here are {', '.join(known)}"
            raise UsageError(f"there is no array '{name}'", where="--only", hint=hint)
    wanted = tuple(only) or [
        name for name in _FIRST.get(asked_verb(result.verb), known) if name in known
    ]
    axis = _Axis(result)
    chosen = [array for array in result.arrays if array.name in wanted]
    panels = tuple(
        panel for array in _without_scalars(chosen) for panel in _panels(array, result, axis)
    )
    if len(panels) > MOST_PANELS:
        hint = f"choose arrays with --only: {', '.join(known)}"
        raise UsageError(f"{len(panels)} panels are too many for one picture", hint=hint)
    if not panels:
        raise UsageError("there is nothing to draw: one number has no picture")
    return panels


def _without_scalars(arrays: Sequence[Array]) -> Iterator[Array]:
    """Arrays of a state that are more than one number; everything along a motion."""
    yield from (array for array in arrays if array.rank or array.batch is not None)


class _Axis:
    """What curves are drawn over: frequencies, times or rows."""

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
        yield _curves(array.name, array, axis, [array.name], array.values[:, None])
    elif array.values.dtype.kind == "c" and array.rank == 1:
        kept = kept_rows(array.values.real, MOST_POINTS)
        yield PlanePanel(
            array.name, array.unit, array.values[kept], axis.label, np.asarray(axis.x)[kept]
        )
    elif array.rank == 1:
        yield from _joint_curves(array, result, axis)
    elif array.name in _FIRST["response"]:
        yield from _responses(array, axis)
    else:
        yield from _matrices_along(array, axis)


def _of_one_state(array: Array, result: Result) -> Iterator[Panel]:
    title = array.name
    if array.rank == 1 and array.values.dtype.kind == "c":
        yield PlanePanel(title, array.unit, array.values)
    elif array.rank == 1:
        bounds = tuple(joint_bounds(result.model, array.name, name) for name in array.labels[0])
        yield BarPanel(title, array.unit, array.labels[0], array.values, bounds)
    else:
        yield from _slices(title, array, array.values)


def _slices(title: str, array: Array, values: Numbers) -> Iterator[Panel]:
    """A matrix, or the first matrices of an array with more axes."""
    rows, columns, *along = array.labels
    sizes = np.abs(values) if values.dtype.kind == "c" else values
    places = list(product(*(range(len(names)) for names in along)))
    for place in places[:_SLICES]:
        by = "".join(f", {names[i]}" for names, i in zip(along, place, strict=True))
        at: Any = (slice(None), slice(None), *place)
        yield MatrixPanel(f"{title}{by}", array.unit, rows, columns, sizes[at])


def _joint_curves(array: Array, result: Result, axis: _Axis) -> Iterator[Panel]:
    """One panel per joint where it has limits, else several curves to a panel."""
    names = array.labels[0]
    bounds = [joint_bounds(result.model, array.name, name) for name in names]
    if len(names) <= _OWN_PANELS and any(each.given for each in bounds):
        for i, name in enumerate(names):
            title = f"{array.name}, {name}"
            yield _curves(title, array, axis, [name], array.values[:, i : i + 1], bounds[i])
        return
    for first in range(0, len(names), _CURVES_TOGETHER):
        part = slice(first, first + _CURVES_TOGETHER)
        yield _curves(array.name, array, axis, names[part], array.values[:, part])


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
) -> CurvePanel:
    closest = closest_approach(values[:, 0], bounds) if bounds.given else None
    curves = []
    for name, column in zip(names, values.T, strict=True):
        kept = kept_rows(column)
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
    )


def _responses(array: Array, axis: _Axis) -> Iterator[Panel]:
    """For every input, how each output answers: size and angle over frequencies, or over time."""
    outputs, inputs = array.labels
    for i, name in enumerate(inputs):
        values = array.values[:, :, i]
        title = f"{array.name}, from {name}"
        for first in range(0, len(outputs), _CURVES_TOGETHER):
            part = slice(first, first + _CURVES_TOGETHER)
            shown, names = values[:, part], outputs[part]
            if values.dtype.kind != "c":
                yield _curves(title, array, axis, names, shown)
                continue
            yield _curves(f"{title}, size", array, axis, names, np.abs(shown), log_y=True)
            angle = np.degrees(np.unwrap(np.angle(shown), axis=0))
            yield _curves(f"{title}, angle", array, axis, names, angle, unit="°")


def _matrices_along(array: Array, axis: _Axis) -> Iterator[Panel]:
    """Matrices at the first, the middle and the last row; of mass matrices also the condition."""
    rows = array.batch or 0
    if array.name == "mass_matrix":
        condition = np.linalg.cond(array.values)[:, None]
        yield _curves("cond(M)", array, axis, ["cond(M)"], condition, unit="1", log_y=True)
    for row in dict.fromkeys((0, rows // 2, rows - 1)):
        yield from _slices(f"{array.name}, row {row + 1} of {rows}", array, array.values[row])
