"""Linear models for other programs."""

from __future__ import annotations

from typing import Any

from robolin.control.optional_dependencies import python_control, scipy_part
from robolin.control.state_space import StateSpace
from robolin.errors import UsageError


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
    signal = scipy_part("signal", "to_scipy")
    matrices = (model.A, model.B, model.C, model.D)
    if model.dt is None:
        return signal.StateSpace(*matrices)
    return signal.StateSpace(*matrices, dt=model.dt)


def _require_one(model: StateSpace) -> None:
    if model.batch:
        hint = "choose one of them by its place: model[0]"
        raise UsageError(f"there are {model.batch} models", hint=hint)
