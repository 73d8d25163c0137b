"""Frequency response C (jω - A)⁻¹ B + D, Gramians, step and impulse responses."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.discretize import discretize
from robolin.control.riccati import continuous_lyapunov, discrete_lyapunov, require_scipy
from robolin.control.state_space import StateSpace, as_numbers, iter_models, stack_models
from robolin.core.arrays import Complexes, Floats, is_real_number
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError, UsageError


def frequency_response(model: StateSpace, omega: ArrayLike) -> Complexes:
    """Frequency response (..., len(omega), p, m); with a dt, exp(jω dt) replaces jω."""
    w = as_numbers("omega", omega)
    if w.ndim != 1 or not len(w) or not np.isfinite(w).all():
        raise UsageError(
            "omega: must be a row of finite frequencies",
            hint="give one or more frequencies in rad/s",
        )
    rates = 1j * w
    at = np.asarray(rates if model.dt is None else np.exp(rates * model.dt), dtype=np.complex128)
    return stack_models([_response(each, at, w) for each in iter_models(model)], model.batch)


def _response(model: StateSpace, at: Complexes, omega: Floats) -> Complexes:
    """Use one Schur form A = Z T Z*: back substitution with s - T for all frequencies."""
    linalg = require_scipy("linalg", "a frequency response")
    T, Z = linalg.schur(model.A, output="complex")
    pushed, seen = Z.conj().T @ model.B, model.C @ Z
    N, m = pushed.shape
    x = np.zeros((len(at), N, m), dtype=complex)
    for i in reversed(range(N)):
        pivot = at - T[i, i]
        if (pivot == 0.0).any():
            where = omega[int(np.argmax(pivot == 0.0))]
            hint = "omit this frequency"
            raise RobolinError(f"the model has a pole at {where:g} rad/s", hint=hint)
        x[:, i] = (pushed[i] + T[i, i + 1 :] @ x[:, i + 1 :]) / pivot[:, None]
    return np.asarray(seen @ x + model.D)


def gramian(model: StateSpace, kind: Literal["controllability", "observability"]) -> Floats:
    """W (..., N, N) with A W + W Aᵀ + B Bᵀ = 0, or Aᵀ W + W A + Cᵀ C = 0."""
    if kind not in ("controllability", "observability"):
        hint = "use 'controllability' or 'observability'"
        raise UsageError(f"unknown Gramian '{kind}'", hint=hint)
    _require_stable(model)
    solve = continuous_lyapunov if model.dt is None else discrete_lyapunov
    gramians = []
    for each in iter_models(model):
        if kind == "controllability":
            gramians.append(solve(each.A.T, each.B @ each.B.T))
        else:
            gramians.append(solve(each.A, each.C.T @ each.C))
    return stack_models(gramians, model.batch)


def _require_stable(model: StateSpace) -> None:
    poles = model.poles()
    if not np.all(poles.stable):
        worst = np.unravel_index(int(np.argmax(poles.stability != "stable")), poles.values.shape)
        state = f"model {worst[:-1]}: " if model.batch else ""
        raise RobolinError(
            f"{state}the Gramian requires a stable model, but the pole "
            f"{poles.values[worst]:.4g} is not stable",
            hint="use the distances of controllability() and observability() for unstable models",
        )


@dataclass(frozen=True, eq=False, repr=False)
class TimeResponse(DisplayMixin):
    """Outputs after a step or an impulse of one input at a time.

    Fields:
        time: (rows,) in s
        y: outputs (..., rows, p, m)

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
        >>> model.step_response(1.0, rows=11).y.shape
        (11, 2, 2)
    """

    time: Floats
    y: Floats


def step_response(model: StateSpace, duration: float, rows: int = 201) -> TimeResponse:
    """Step response from rest at the operating point, without drift."""
    sampled, time = _discretize_rows(model, duration, rows)
    x = np.zeros_like(sampled.B)
    y = np.empty((*model.batch, len(time), *model.D.shape[-2:]))
    for row in range(len(time)):
        y[..., row, :, :] = sampled.C @ x + sampled.D
        x = sampled.A @ x + sampled.B
    return TimeResponse(time, y)


def impulse_response(model: StateSpace, duration: float, rows: int = 201) -> TimeResponse:
    """Impulse response C exp(A t) B without the impulse in D; with a dt, one unit sample."""
    sampled, time = _discretize_rows(model, duration, rows)
    x = model.B if model.dt is None else np.zeros_like(model.B)
    y = np.empty((*model.batch, len(time), *model.D.shape[-2:]))
    for row in range(len(time)):
        y[..., row, :, :] = sampled.C @ x
        if model.dt is not None and row == 0:
            y[..., row, :, :] += model.D
            x = model.B
        else:
            x = sampled.A @ x
    return TimeResponse(time, y)


def _discretize_rows(model: StateSpace, duration: float, rows: int) -> tuple[StateSpace, Floats]:
    """Discretize from row to row, exact for constant inputs; a discrete model is unchanged."""
    if not (is_real_number(duration) and isfinite(duration) and duration > 0.0):
        raise UsageError(f"duration: must be > 0, got {duration!r}", hint="give a time in s")
    if not isinstance(rows, int) or rows < 2:
        raise UsageError(f"rows: must be an integer ≥ 2, got {rows!r}")
    if model.dt is not None:
        rows = int(duration / model.dt + 1e-9) + 1
        return model, model.dt * np.arange(rows, dtype=float)
    time = np.linspace(0.0, duration, rows)
    return discretize(model, float(time[1])), time
