"""Models and regulators in MATLAB's words: StateName, Ts, Offsets, SamplingGrid."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.control.optional_dependencies import python_control, require_scipy
from robolin.control.regulator import Regulator
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Floats
from robolin.errors import UsageError
from robolin.io.formats.mat_results import discretization, sampling_grid


def model_variables(model: StateSpace) -> dict[str, Any]:
    """The variables of a MAT-file: `sys = ss(A, B, C, D, Ts)` makes the model of them.

    The axes of a batch come last, as MATLAB counts an array of models.  `Offsets` is the operating
    point: dx (drift), x, u and y; `OperatingPoint` has q, qd, qdd and tau of every joint.
    `Discretization` has method and dt; `SamplingGrid` the row of each model of an array.
    """
    dt = 0.0 if model.dt is None else model.dt
    names = {"State": model.states, "Input": model.inputs, "Output": model.outputs}
    found: dict[str, Any] = {name: _batch_last(getattr(model, name), 2) for name in "ABCD"}
    found |= {"Ts": dt, "dt": dt, "Name": model.arm.name}
    found |= discretization(dt, model.method or "")
    if len(model.batch) == 1:
        found |= sampling_grid(model.batch[0])
    for kind, own in names.items():
        found[f"{kind}Name"] = list(own)
        found[f"{kind}Unit"] = [model.units[name] for name in own]
    found["Offsets"] = {
        "dx": _batch_last(model.drift, 1),
        "x": _batch_last(_place(model), 1),
        "u": _batch_last(model.tau[..., list(model.actuated)], 1),
        "y": _batch_last(model.y, 1),
    }
    found["OperatingPoint"] = {
        name: _batch_last(getattr(model, name), 1) for name in ("q", "qd", "qdd", "tau")
    }
    found["JointName"] = list(model.arm.joint_names)
    if model.basis is not None:
        found["Basis"] = _batch_last(model.basis, 2)
    return found


def regulator_variables(regulator: Regulator) -> dict[str, Any]:
    """Those of the model, and K, P, Q, R, N of u = -K x."""
    gains = {name: _batch_last(getattr(regulator, name), 2) for name in "KPQRN"}
    return model_variables(regulator.model) | gains


def _place(model: StateSpace) -> Floats:
    """The operating point in coordinates of the state; where loops are closed, it is their zero."""
    batch = model.batch
    x = np.zeros((*batch, len(model.states)))
    if model.basis is None:
        x[..., : 2 * model.freedoms] = np.concatenate([model.q, model.qd], axis=-1)
    return x


def _batch_last(array: Floats, own: int) -> Floats:
    """The axes of a batch behind the `own` last ones."""
    batch = array.ndim - own
    return np.moveaxis(array, range(batch), range(own, own + batch))


def to_control(model: StateSpace) -> Any:
    """python-control's StateSpace with the same names."""
    _require_one(model)
    return python_control().ss(
        model.A,
        model.B,
        model.C,
        model.D,
        0 if model.dt is None else model.dt,
        states=list(model.states),
        inputs=list(model.inputs),
        outputs=list(model.outputs),
        name=model.arm.name,
    )


def to_scipy(model: StateSpace) -> Any:
    """SciPy's StateSpace."""
    _require_one(model)
    signal = require_scipy("signal", "to_scipy")
    matrices = (model.A, model.B, model.C, model.D)
    if model.dt is None:
        return signal.StateSpace(*matrices)
    return signal.StateSpace(*matrices, dt=model.dt)


def _require_one(model: StateSpace) -> None:
    if model.batch:
        hint = "choose one of them by its place: model[0]"
        raise UsageError(f"there are {model.batch} models", hint=hint)
