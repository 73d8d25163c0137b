"""Models and regulators under MATLAB's names: StateName, Ts, Offsets, SamplingGrid."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.control.regulator import Regulator
from robolin.control.riccati import python_control, require_scipy
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Floats
from robolin.errors import UsageError
from robolin.io.formats.mat_results import discretization, sampling_grid


def model_variables(model: StateSpace) -> dict[str, Any]:
    """Variables of a MAT-file; `sys = ss(A, B, C, D, Ts)` builds the model from them.

    Batch axes come last, as in MATLAB model arrays.  `Offsets` is the operating point: dx (drift),
    x, u and y; `OperatingPoint` has q, qd, qdd and tau of every joint.  `Discretization` has method
    and dt; `SamplingGrid` has the row of each model of an array.
    """
    dt = 0.0 if model.dt is None else model.dt
    names = {"State": model.states, "Input": model.inputs, "Output": model.outputs}
    variables: dict[str, Any] = {name: _batch_last(getattr(model, name), 2) for name in "ABCD"}
    variables |= {"Ts": dt, "dt": dt, "Name": model.arm.name}
    variables |= discretization(dt, model.method or "")
    if len(model.batch) == 1:
        variables |= sampling_grid(model.batch[0])
    for kind, own in names.items():
        variables[f"{kind}Name"] = list(own)
        variables[f"{kind}Unit"] = [model.units[name] for name in own]
    variables["Offsets"] = {
        "dx": _batch_last(model.drift, 1),
        "x": _batch_last(_offset_state(model), 1),
        "u": _batch_last(model.tau[..., list(model.actuated)], 1),
        "y": _batch_last(model.y, 1),
    }
    variables["OperatingPoint"] = {
        name: _batch_last(getattr(model, name), 1) for name in ("q", "qd", "qdd", "tau")
    }
    variables["JointName"] = list(model.arm.joint_names)
    if model.basis is not None:
        variables["Basis"] = _batch_last(model.basis, 2)
    return variables


def regulator_variables(regulator: Regulator) -> dict[str, Any]:
    """Variables of the model, and K, P, Q, R, N of u = -K x."""
    gains = {name: _batch_last(getattr(regulator, name), 2) for name in "KPQRN"}
    return model_variables(regulator.model) | gains


def _offset_state(model: StateSpace) -> Floats:
    """Operating point in state coordinates; zero for closed loops, whose states are relative."""
    batch = model.batch
    x = np.zeros((*batch, len(model.states)))
    if model.basis is None:
        x[..., : 2 * model.dof] = np.concatenate([model.q, model.qd], axis=-1)
    return x


def _batch_last(array: Floats, own: int) -> Floats:
    """Move the batch axes behind the last `own` axes."""
    batch = array.ndim - own
    return np.moveaxis(array, range(batch), range(own, own + batch))


def to_control(model: StateSpace) -> Any:
    """Convert to python-control's StateSpace with the same names."""
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
    """Convert to SciPy's StateSpace."""
    _require_one(model)
    signal = require_scipy("signal", "to_scipy")
    matrices = (model.A, model.B, model.C, model.D)
    if model.dt is None:
        return signal.StateSpace(*matrices)
    return signal.StateSpace(*matrices, dt=model.dt)


def _require_one(model: StateSpace) -> None:
    if model.batch:
        hint = "select one model by its index: model[0]"
        raise UsageError(f"must be a single model, got a batch of {model.batch}", hint=hint)
