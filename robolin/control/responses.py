"""Discretization of linear models, and their responses in frequency and time.

Holds of zero and first order, Tustin and Euler; C (jω - A)⁻¹ B + D, Gramians, step and impulse.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import isfinite
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.closed_loop import feedback
from robolin.control.regulator import Regulator
from robolin.control.riccati import continuous_lyapunov, discrete_lyapunov, require_scipy
from robolin.control.simulation.simulate import simulate
from robolin.control.simulation.simulated_motion import Simulation
from robolin.control.state_space import StateSpace, as_numbers, iter_models, stack_models
from robolin.core.arrays import Complexes, Floats, JointValues, is_real_number
from robolin.core.choices import Discretization
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError


class DiscreteMatrices(NamedTuple):
    """Matrices of a discrete-time model, and its outputs at x = 0, u = 0."""

    A: Floats
    B: Floats
    C: Floats
    D: Floats
    drift: Floats
    y: Floats


def discretize(model: StateSpace, dt: float, method: Discretization = "zoh") -> StateSpace:
    """Discretize a model with sample time dt in seconds, drift included.

    zoh:    torques constant between samples; exact
    foh:    torques piecewise linear between samples; exact, with state x - Γ u
    tustin: the trapezoidal rule
    euler:  x + dt ẋ
    """
    if model.dt is not None:
        raise UsageError(f"the model is already discrete, with dt = {model.dt:g} s", where="dt")
    if not (isinstance(dt, int | float) and isfinite(dt) and dt > 0.0):
        raise UsageError(f"dt: must be > 0, got {dt!r}", hint="pass a time in s")
    if method not in DISCRETIZERS:
        hint = f"discretizations: {', '.join(DISCRETIZERS)}"
        raise UsageError(f"unknown discretization '{method}'", where="method", hint=hint)
    sampled = DISCRETIZERS[method](model, float(dt))
    return replace(model, **sampled._asdict(), dt=float(dt), method=method)


def by_zero_order_hold(model: StateSpace, dt: float) -> DiscreteMatrices:
    """exp([[A, B, drift], [0, 0, 0]] dt) = [[A', B', drift'], [0, 1]]."""
    N, m = model.B.shape[-2:]
    E = exponential(_augmented_matrix(model, m + 1) * dt)
    return DiscreteMatrices(
        E[..., :N, :N], E[..., :N, N : N + m], model.C, model.D, E[..., :N, N + m], model.y
    )


def by_first_order_hold(model: StateSpace, dt: float) -> DiscreteMatrices:
    """With x' = Φ x + Γ u + Γ₂ (u' - u), the state ξ = x - Γ₂ u follows ξ' = Φ ξ + B' u."""
    N, m = model.B.shape[-2:]
    augmented = np.zeros((*model.batch, N + 2 * m + 1, N + 2 * m + 1))
    augmented[..., : N + m + 1, : N + m + 1] = _augmented_matrix(model, m + 1) * dt
    # the torque's slope per sample integrates to the torque
    augmented[..., N : N + m, N + m + 1 :] = np.eye(m)
    E = exponential(augmented)
    A, hold, slope = E[..., :N, :N], E[..., :N, N : N + m], E[..., :N, N + m + 1 :]
    B = hold + A @ slope - slope
    return DiscreteMatrices(A, B, model.C, model.D + model.C @ slope, E[..., :N, N + m], model.y)


def by_trapezoids(model: StateSpace, dt: float) -> DiscreteMatrices:
    """x' - x = dt (ẋ + ẋ')/2, its state the x that makes A' = (1 - A dt/2)⁻¹ (1 + A dt/2)."""
    half = 0.5 * dt * model.A
    one = np.eye(model.A.shape[-1])
    drift = model.drift[..., None]
    right = np.concatenate([one + half, dt * model.B, dt * drift], axis=-1)
    solution = np.linalg.solve(one - half, right)
    N, m = model.B.shape[-2:]
    A, B, drift_column = solution[..., :N], solution[..., N : N + m], solution[..., N + m :]
    back = np.moveaxis(one - half, -1, -2)
    C_transposed = np.linalg.solve(back, np.moveaxis(model.C, -1, -2))
    C = np.asarray(np.moveaxis(C_transposed, -1, -2), dtype=np.float64)
    y = model.y + 0.5 * (model.C @ drift_column)[..., 0]
    return DiscreteMatrices(A, B, C, model.D + 0.5 * model.C @ B, drift_column[..., 0], y)


def by_euler(model: StateSpace, dt: float) -> DiscreteMatrices:
    """x' = x + dt ẋ."""
    A = np.eye(model.A.shape[-1]) + dt * model.A
    return DiscreteMatrices(A, dt * model.B, model.C, model.D, dt * model.drift, model.y)


DISCRETIZERS: Mapping[Discretization, Callable[[StateSpace, float], DiscreteMatrices]] = {
    "zoh": by_zero_order_hold,
    "foh": by_first_order_hold,
    "tustin": by_trapezoids,
    "euler": by_euler,
}


def _augmented_matrix(model: StateSpace, more: int) -> Floats:
    """Augmented matrix [[A, B, drift], [0, 0, 0]]."""
    N = model.A.shape[-1]
    augmented = np.zeros((*model.batch, N + more, N + more))
    augmented[..., :N, :N], augmented[..., :N, N:-1] = model.A, model.B
    augmented[..., :N, -1] = model.drift
    return augmented


# numerator of the [13/13] Padé approximant, accurate to round-off up to norm 5.37 (Higham 2005)
PADE = (
    64764752532480000.0, 32382376266240000.0, 7771770303897600.0, 1187353796428800.0,
    129060195264000.0, 10559470521600.0, 670442572800.0, 33522128640.0, 1323241920.0,
    40840800.0, 960960.0, 16380.0, 182.0, 1.0,
)  # fmt: skip
LARGEST_NORM = 5.371920351148152


def exponential(X: Floats) -> Floats:
    """Matrix exponential (..., N, N); each matrix has its own scaling, independent of the batch."""
    norm = np.abs(X).sum(axis=-2).max(axis=-1)
    ratio = np.maximum(norm / LARGEST_NORM, 1.0)
    halvings = np.ceil(np.log2(ratio)).astype(int)
    E = _pade(X * (0.5**halvings)[..., None, None])
    for i in range(int(halvings.max(initial=0))):
        E = np.where((halvings > i)[..., None, None], E @ E, E)
    return E


def _pade(X: Floats) -> Floats:
    b = PADE
    one = np.eye(X.shape[-1])
    X2 = X @ X
    X4 = X2 @ X2
    X6 = X2 @ X4
    odd = X6 @ (b[13] * X6 + b[11] * X4 + b[9] * X2) + b[7] * X6 + b[5] * X4 + b[3] * X2
    even = X6 @ (b[12] * X6 + b[10] * X4 + b[8] * X2) + b[6] * X6 + b[4] * X4 + b[2] * X2
    U, V = X @ (odd + b[1] * one), even + b[0] * one
    return np.asarray(np.linalg.solve(V - U, V + U), dtype=np.float64)


def sampled_motion(
    regulator: Regulator,
    q: JointValues,
    qd: JointValues = 0.0,
    *,
    samples: int,
    steps: int = 10,
    limits: bool = True,
) -> Simulation:
    """Simulate from q and q̇ (n,), with one row per sample and one at the end.

    steps: integrator steps per sample
    """
    law = feedback(regulator)
    if law.dt is None:
        hint = "use simulate(..., control=regulator.feedback()) for continuous gains"
        raise UsageError(
            "sampled control requires gains with a sample time, got gains for continuous time",
            hint=hint,
        )
    for name, count in (("samples", samples), ("steps", steps)):
        if not isinstance(count, int) or count < 1:
            raise UsageError(f"{name}: must be an integer ≥ 1, got {count!r}")
    return simulate(
        regulator.model.arm,
        q,
        qd,
        duration=samples * law.dt,
        dt=law.dt / steps,
        every=steps,
        control=law,
        limits=limits,
    )


def frequency_response(model: StateSpace, omega: ArrayLike) -> Complexes:
    """Frequency response (..., len(omega), p, m); with a dt, exp(jω dt) replaces jω."""
    w = as_numbers("omega", omega)
    if w.ndim != 1 or not len(w) or not np.isfinite(w).all():
        raise UsageError(
            "omega: must be a one-dimensional array of finite numbers",
            hint="pass one or more frequencies in rad/s",
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
            raise RobolinError(
                f"the response cannot be computed, because the model has a pole at {where:g} rad/s",
                hint=hint,
            )
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
        raise UsageError(f"duration: must be > 0, got {duration!r}", hint="pass a time in s")
    if not isinstance(rows, int) or rows < 2:
        raise UsageError(f"rows: must be an integer ≥ 2, got {rows!r}")
    if model.dt is not None:
        rows = int(duration / model.dt + 1e-9) + 1
        return model, model.dt * np.arange(rows, dtype=float)
    time = np.linspace(0.0, duration, rows)
    return discretize(model, float(time[1])), time
