"""Linear models and what is made of them as named arrays, with the names of their axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from robolin.answering.linear_point import POINT, point_arrays
from robolin.results.result import Array

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace

STATE_AXIS, INPUT_AXIS, OUTPUT_AXIS, MODE_AXIS, MOTION_AXIS = (
    "state",
    "input",
    "output",
    "mode",
    "motion",
)
_RATES = {
    "rad": "rad/s",
    "m": "m/s",
    "rad or m": "rad/s or m/s",
    "rad/s": "rad/s²",
    "m/s": "m/s²",
    "rad/s or m/s": "rad/s² or m/s²",
}
_OR, _PER = " or ", " per "


def matrix_arrays(model: StateSpace) -> tuple[Array, ...]:
    """A, B, drift, C, D and y."""
    x, u, y = (either(model, names) for names in (model.states, model.inputs, model.outputs))
    rate = x if model.dt is not None else _either(_rate(model.units[name]) for name in model.states)
    axes = {STATE_AXIS: model.states, INPUT_AXIS: model.inputs, OUTPUT_AXIS: model.outputs}

    def array(name: str, unit: str, *kinds: str) -> Array:
        labels = tuple(axes[kind] for kind in kinds)
        return Array(name, getattr(model, name), labels, unit, None, kinds)

    return (
        array("A", f"{rate}{_PER}{x}", STATE_AXIS, STATE_AXIS),
        array("B", f"{rate}{_PER}{u}", STATE_AXIS, INPUT_AXIS),
        array("drift", rate, STATE_AXIS),
        array("C", f"{y}{_PER}{x}", OUTPUT_AXIS, STATE_AXIS),
        array("D", f"{y}{_PER}{u}", OUTPUT_AXIS, INPUT_AXIS),
        array("y", y, OUTPUT_AXIS),
    )


def model_point_arrays(model: StateSpace) -> tuple[Array, ...]:
    """The operating point, and the independent motions where loops are closed."""
    point = {name: getattr(model, name) for name in POINT}
    arrays = tuple(point_arrays(model.arm, point, model.batch))
    if model.basis is None:
        return arrays
    joints = model.arm.joint_names
    motions = tuple(f"motion{i + 1}" for i in range(model.basis.shape[-1]))
    return (*arrays, Array("basis", model.basis, (joints, motions), "1", None, ("", MOTION_AXIS)))


def mode_labels(count: int) -> tuple[str, ...]:
    """Modes have no names but their number, the slowest first."""
    return tuple(str(i + 1) for i in range(count))


def mode_array(name: str, values: Any, unit: str) -> Array:
    """One number for every mode."""
    return Array(name, values, (mode_labels(values.shape[-1]),), unit, None, (MODE_AXIS,))


def model_lines(model: StateSpace) -> dict[str, Any]:
    """What the contract tells of one model: its motors, its point, and units by name."""
    driven = [model.arm.joint_names[i] for i in model.actuated]
    whole = len(driven) == model.arm.n
    lines: dict[str, Any] = {"actuated": "all joints" if whole else ", ".join(driven)}
    if not model.batch:
        lines["operating point"] = _point_line(model)
    if model.dt is not None:
        lines["sample time"] = f"{model.dt:g} s"
    return lines


def units_line(model: StateSpace, names: Sequence[str]) -> Mapping[str, str]:
    """Units by name."""
    return {name: model.units[name] for name in names}


def either(model: StateSpace, names: Sequence[str]) -> str:
    """The units along an axis, each once."""
    return _either(model.units[name] for name in names)


def _either(units: Any) -> str:
    parts = [part for unit in units for part in unit.split(_OR)]
    return _OR.join(dict.fromkeys(parts))


def _rate(unit: str) -> str:
    return _RATES.get(unit) or unit.removesuffix("·s")


def _point_line(model: StateSpace) -> str:
    from robolin.control.operating_point import rests

    if rests(model.arm, model.q, model.qd, model.qdd, model.tau):
        return "an equilibrium"
    return "it moves there: drift is not zero, and poles are not those of an equilibrium"
