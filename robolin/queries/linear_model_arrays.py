"""Linear models and derived quantities as named arrays with axis labels."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from robolin.core.arrays import Floats
from robolin.core.quantity_table import QUANTITIES
from robolin.core.results.result import Array
from robolin.core.units import rate_of, unit_alternatives, unit_of
from robolin.queries.linear_model_spec import LinearModelSpec
from robolin.queries.named_arrays import operating_point_arrays
from robolin.queries.values import POINT

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace


# names of the model axes in tables and files
_KINDS = {"model state": "state", "joint": ""}
# arrays whose name belongs to another quantity
_QUANTITIES = {"D": "feedthrough"}


def matrix_arrays(model: StateSpace) -> tuple[Array, ...]:
    """Return A, B, drift, C, D and y as named arrays."""
    names = ("A", "B", "drift", "C", "D", "y")
    return tuple(model_array(model, name, getattr(model, name)) for name in names)


def model_point_arrays(model: StateSpace) -> tuple[Array, ...]:
    """Return the operating point, and for closed loops the basis of independent motions."""
    point = {name: getattr(model, name) for name in POINT}
    arrays = tuple(operating_point_arrays(model.arm, point, model.batch))
    return arrays if model.basis is None else (*arrays, model_array(model, "basis", model.basis))


def model_array(model: StateSpace, name: str, values: Any) -> Array:
    """Return an array of a model with labels and unit from the quantity table."""
    quantity = _QUANTITIES.get(name, name)
    axes = QUANTITIES[quantity].axes
    sizes = values.shape[values.ndim - len(axes) :]
    labels = tuple(_labels(model, str(axis), size) for axis, size in zip(axes, sizes, strict=True))
    kinds = [joint.kind for joint in model.arm.joints]
    words = tuple(_KINDS.get(str(axis), str(axis)) for axis in axes)
    return Array(name, values, labels, unit_of(quantity, kinds, _units(model)), None, words)


def _labels(model: StateSpace, axis: str, size: int) -> tuple[str, ...]:
    """Labels along an axis; modes are numbered, the slowest first."""
    named = {
        "model state": model.states,
        "input": model.inputs,
        "output": model.outputs,
        "joint": model.arm.joint_names,
        "motion": tuple(f"motion{i + 1}" for i in range(size)),
        "mode": tuple(str(i + 1) for i in range(size)),
    }
    return named[axis]


def _units(model: StateSpace) -> dict[str, str]:
    """Units of the model's states, inputs, outputs and rates (per sample if discrete)."""
    x, u, y = (
        unit_alternatives(model.units[name] for name in names)
        for names in (model.states, model.inputs, model.outputs)
    )
    units = {"model state": x, "model input": u, "model output": y}
    if model.dt is not None:
        return {**units, "model rate": x, "pole": unit_of("stability", ())}
    return {**units, "model rate": rate_of(x)}


def model_lines(model: StateSpace) -> dict[str, Any]:
    """Contract entries of one model: actuated joints, operating point and sample time."""
    actuated = [model.arm.joint_names[i] for i in model.actuated]
    all_actuated = len(actuated) == model.arm.n
    lines: dict[str, Any] = {"actuated": "all joints" if all_actuated else ", ".join(actuated)}
    if not model.batch:
        lines["operating point"] = _point_line(model)
    if model.dt is not None:
        lines["sample time"] = f"{model.dt:g} s"
    return lines


def units_line(model: StateSpace, names: Sequence[str]) -> Mapping[str, str]:
    """Units by name."""
    return {name: model.units[name] for name in names}


def _point_line(model: StateSpace) -> str:
    from robolin.control.operating_point import is_equilibrium

    if is_equilibrium(model.arm, model.q, model.qd, model.qdd, model.tau):
        return "an equilibrium"
    return "it moves there: drift is not zero, and poles are not those of an equilibrium"


ModelArrays = tuple[Array, ...]
Values = Mapping[str, Floats]


@dataclass(frozen=True)
class LinearModelTask:
    """Function that computes arrays from a state (n,) or states (rows, n), and its contract."""

    spec: LinearModelSpec
    arrays: Callable[[Values], ModelArrays]
    lines: dict[str, Any] = field(default_factory=dict)
