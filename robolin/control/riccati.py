"""Riccati equations: SciPy's solution, refined by Newton–Kleinman steps to round-off.

continuous   Aᵀ P + P A - Kᵀ R K + Q = 0         K = R⁻¹ (Bᵀ P + Nᵀ)
discrete     Aᵀ P A - P - Kᵀ (R + Bᵀ P B) K + Q = 0,   K = (R + Bᵀ P B)⁻¹ (Bᵀ P A + Nᵀ)

A step solves the Lyapunov equation of P for a fixed K: F = A - B K, and
Fᵀ P + P F + W = 0 or Fᵀ P F - P + W = 0 with W = Q + Kᵀ R K - N K - Kᵀ Nᵀ.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.state_space import StateSpace, as_numbers
from robolin.core.arm import Limits
from robolin.core.arrays import Floats, list_of_names
from robolin.core.text import closest_match, did_you_mean
from robolin.errors import RobolinError, UsageError

Weight = ArrayLike | Mapping[str, float]

# relative size of a negative eigenvalue that counts as round-off
WEIGHT_ROUNDING = 1e-12

INTEGRAL = "integral"


class Weights(NamedTuple):
    """xᵀ Q x + uᵀ R u + 2 xᵀ N u, for one model."""

    Q: Floats
    R: Floats
    N: Floats


def weights_of(
    model: StateSpace,
    Q: Weight | None,
    R: Weight | None,
    N: ArrayLike | None,
    bryson: bool = False,
) -> Weights:
    """Build and check weight matrices; the default is 1, or Bryson's rule."""
    weights = Weights(
        _state_weight(model, Q, bryson), _input_weight(model, R, bryson), _cross_weight(model, N)
    )
    require_weights("Q", weights.Q, positive=False)
    require_weights("R", weights.R, positive=True)
    if weights.N.any():
        top = np.concatenate([weights.Q, weights.N], axis=1)
        bottom = np.concatenate([weights.N.T, weights.R], axis=1)
        require_weights("[[Q, N], [Nᵀ, R]]", np.concatenate([top, bottom]), positive=False)
    return weights


def _state_weight(model: StateSpace, Q: Weight | None, bryson: bool) -> Floats:
    size, d = len(model.states), model.dof
    if Q is not None and not isinstance(Q, Mapping):
        if bryson:
            raise UsageError("Q and bryson cannot be combined", where="Q")
        return weight_matrix("Q", Q, size)
    joints = _joint_weights(model, Q or {}, bryson)
    matrix = np.zeros((size, size))
    for at, weights in zip((0, d), joints, strict=True):
        own = slice(at, at + d)
        N = model.basis
        matrix[own, own] = np.diag(weights) if N is None else N.T @ np.diag(weights) @ N
    for i in range(2 * d, size):
        named = (Q or {}).get(model.states[i], (Q or {}).get(INTEGRAL, 1.0))
        matrix[i, i] = _number(model.states[i], named)
    return matrix


def _joint_weights(model: StateSpace, named: Mapping[str, float], bryson: bool) -> list[Floats]:
    """Weights (n,) of positions and of velocities; 'elbow/q' overrides 'q'."""
    joints = model.arm.joint_names
    known = {"q", "qd", *model.states[2 * model.dof :]}
    if len(model.states) > 2 * model.dof:
        known.add(INTEGRAL)
    values_per_quantity = []
    for short, word in (("q", "position"), ("qd", "velocity")):
        known |= {f"{joint}/{suffix}" for joint in joints for suffix in (short, word)}
        base = _bryson(model, word) if bryson else np.ones(len(joints))
        every = np.full(len(joints), _number(short, named[short])) if short in named else base
        own = [named.get(f"{j}/{short}", named.get(f"{j}/{word}")) for j in joints]
        values = [
            e if o is None else _number(j, o) for j, e, o in zip(joints, every, own, strict=True)
        ]
        values_per_quantity.append(np.array(values))
    if unknown := next((name for name in named if name not in known), None):
        common = "use q, qd, JOINT/q or JOINT/qd"
        near = closest_match(unknown, known) if len(unknown) > 1 else None
        hint = f"did you mean '{near}'? {common}" if near else common
        raise UsageError(f"Q: state '{unknown}' not found", hint=hint)
    return values_per_quantity


def _input_weight(model: StateSpace, R: Weight | None, bryson: bool) -> Floats:
    names = [model.arm.joint_names[i] for i in model.actuated]
    if R is not None and not isinstance(R, Mapping):
        return weight_matrix("R", R, len(names))
    weights = _bryson(model, "effort")[list(model.actuated)] if bryson else np.ones(len(names))
    for name, value in (R or {}).items():
        joint = name.removesuffix("/effort")
        if joint not in names:
            hint = did_you_mean(joint, names)
            raise UsageError(f"R: actuated joint '{joint}' not found", hint=hint)
        weights[names.index(joint)] = _number(name, value)
    return np.diag(weights)


def _cross_weight(model: StateSpace, N: ArrayLike | None) -> Floats:
    shape = (len(model.states), len(model.inputs))
    matrix = np.zeros(shape) if N is None else as_numbers("N", N)
    if matrix.shape != shape or not np.isfinite(matrix).all():
        raise UsageError(f"N: must be finite and of shape {shape}, got {matrix.shape}")
    return matrix


def _bryson(model: StateSpace, word: str) -> Floats:
    """Bryson weights 1/(largest)² per joint: half the range, or the velocity or effort limit.

    An effort limit with two ends counts as half its range.
    """
    weights = []
    for i, joint in enumerate(model.arm.joints):
        limits = joint.limits
        if word == "position":
            lower, upper = limits.lower, limits.upper
            most = None if lower is None or upper is None else 0.5 * (upper - lower)
        else:
            most = limits.velocity if word == "velocity" else _effort_limit(limits)
        if word == "effort" and i not in model.actuated:
            most = 1.0
        if most is None or not most > 0.0:
            raise RobolinError(
                f"Bryson's rule requires the {word} limit of joint '{joint.name}', which is "
                "not set",
                where=model.arm.source,
                hint="add the limit to the robot file, or set the weights",
            )
        weights.append(1.0 / most**2)
    return np.array(weights)


def _effort_limit(limits: Limits) -> float | None:
    if limits.effort_lower is None:
        return limits.effort
    lower, upper = limits.effort_range
    return 0.5 * (upper - lower)


def weight_matrix(name: str, value: ArrayLike, size: int) -> Floats:
    """Expand a weight to a matrix: from one number, a diagonal, or a matrix."""
    array = as_numbers(name, value)
    if not np.isfinite(array).all():
        raise UsageError(f"{name}: must be finite")
    if array.ndim == 0:
        return float(array) * np.eye(size)
    if array.shape == (size,):
        return np.diag(array)
    if array.shape != (size, size):
        shapes = f"({size},) or ({size}, {size})"
        message = f"{name}: must be one number or have shape {shapes}, got {array.shape}"
        raise UsageError(message)
    return array.copy()


def require_weights(name: str, matrix: Floats, positive: bool) -> None:
    """Require a symmetric matrix that is positive semidefinite, or definite if `positive`."""
    size = np.abs(matrix).max(initial=0.0)
    if np.abs(matrix - matrix.T).max(initial=0.0) > WEIGHT_ROUNDING * size:
        raise UsageError(f"{name}: must be symmetric")
    least = np.linalg.eigvalsh(matrix).min()
    if positive and not least > WEIGHT_ROUNDING * size:
        hint = "set a weight > 0 for every torque"
        raise UsageError(
            f"{name}: must be positive definite; its smallest eigenvalue is {least:.3g}", hint=hint
        )
    if not least >= -WEIGHT_ROUNDING * size:
        hint = "use weights ≥ 0"
        raise UsageError(
            f"{name}: must be positive semidefinite; its smallest eigenvalue is {least:.3g}",
            hint=hint,
        )


def _number(name: str, value: object) -> float:
    if not isinstance(value, Real) or not np.isfinite(float(value)):
        raise UsageError(
            f"the weight of '{name}' must be finite, got {value!r}", hint="give a finite number"
        )
    if value < 0.0:
        hint = "use weights ≥ 0"
        raise UsageError(f"the weight of '{name}' must be ≥ 0, got {value:g}", hint=hint)
    return float(value)


REFINEMENT_STEPS = 6


class Solution(NamedTuple):
    """K (m, N), P (N, N), and the residual relative to the largest term."""

    K: Floats
    P: Floats
    residual: float


def riccati(A: Floats, B: Floats, weights: Weights, discrete: bool) -> Solution:
    """Stabilizing solution of the Riccati equation; LinAlgError if SciPy finds none."""
    linalg = require_scipy("linalg", "a Riccati equation")
    solve = linalg.solve_discrete_are if discrete else linalg.solve_continuous_are
    Q, R, N = weights
    try:
        P = solve(A, B, Q, R, s=N if N.any() else None)
    except ValueError as error:
        # a pencil that cannot be reordered has no stable half
        raise np.linalg.LinAlgError(str(error)) from error
    best = _solution(A, B, weights, 0.5 * (P + P.T), discrete)
    for _ in range(REFINEMENT_STEPS):
        K = best.K
        F, W = A - B @ K, Q + K.T @ R @ K - N @ K - K.T @ N.T
        try:
            P = discrete_lyapunov(F, W) if discrete else continuous_lyapunov(F, W)
        except RobolinError as error:
            raise np.linalg.LinAlgError(error.message) from error
        better = _solution(A, B, weights, P, discrete)
        if not better.residual < best.residual:
            break
        best = better
    return best


def _solution(A: Floats, B: Floats, weights: Weights, P: Floats, discrete: bool) -> Solution:
    many = [part[None] for part in weights]
    K, residual, _ = gains_of(A[None], B[None], Weights(*many), P[None], discrete)
    return Solution(K[0], P, float(residual[0]))


def gains_of(
    A: Floats, B: Floats, weights: Weights, P: Floats, discrete: bool
) -> tuple[Floats, Floats, Floats]:
    """K (rows, m, N), relative residuals (rows,), and what is left of the equations."""
    Q, R, N = weights
    At, Bt, Nt = (np.swapaxes(X, -1, -2) for X in (A, B, N))
    inner = R + Bt @ P @ B if discrete else R
    right = Bt @ P @ A + Nt if discrete else Bt @ P + Nt
    K: Floats = np.linalg.solve(inner, right).astype(np.float64, copy=False)
    linear_terms = [At @ P @ A, -P] if discrete else [At @ P, P @ A]
    terms = [*linear_terms, -np.swapaxes(K, -1, -2) @ inner @ K, Q]
    left: Floats = terms[0] + terms[1] + terms[2] + terms[3]
    largest = np.max([largest_entry(term) for term in terms], axis=0)
    return K, largest_entry(left) / np.where(largest > 0.0, largest, 1.0), left


def largest_entry(X: Floats) -> Floats:
    """Largest magnitude (rows,) of an entry."""
    largest: Floats = np.abs(X).max(axis=(-2, -1))
    return largest


DOUBLINGS = 60


def continuous_lyapunov(A: Floats, W: Floats) -> Floats:
    """Solve Aᵀ X + X A + W = 0 for a stable A."""
    linalg = require_scipy("linalg", "a Lyapunov equation")
    X: Floats
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            X = linalg.solve_continuous_lyapunov(A.T, -W)
        except RuntimeWarning as warning:
            raise RobolinError(
                "the closed loop is not stable: the sum of two poles is 0"
            ) from warning
    return 0.5 * (X + X.T)


def discrete_lyapunov(A: Floats, W: Floats) -> Floats:
    """Solve Aᵀ X A - X + W = 0 by X = Σ (Aᵀ)ᵏ W Aᵏ, doubling the terms in every step."""
    with np.errstate(all="ignore"):
        X, unfinished = doubled_sum(A[None], W[None], 1e-17)
    if unfinished:
        raise RobolinError(
            "the closed loop is not stable: the sum over all samples does not converge"
        )
    symmetric: Floats = 0.5 * (X[0] + X[0].T)
    return symmetric


def doubled_sum(power: Floats, X: Floats, tolerance: float) -> tuple[Floats, bool]:
    """Σ (Fᵀ)ᵏ X Fᵏ of matrices (rows, N, N), and whether one did not converge."""
    active = np.ones(len(X), dtype=bool)
    for _ in range(DOUBLINGS):
        more = np.swapaxes(power, -1, -2) @ X @ power
        X = np.where(active[:, None, None], X + more, X)
        # a sum that is not finite is not waited for
        active &= largest_entry(more) > tolerance * largest_entry(X)
        if not active.any():
            break
        power = power @ power
    return X, bool(active.any() or not np.isfinite(X).all())


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread if threadpoolctl is installed; results do not change."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(limits=1, user_api="blas"):
        yield


def with_integrals(model: StateSpace, outputs: Sequence[str] | str) -> StateSpace:
    """Append a state ∫ y dt, or dt Σ y, for each named output."""
    names = list_of_names("integral", outputs)
    if not names:
        return model
    for name in names:
        if name not in model.outputs:
            hint = did_you_mean(name, model.outputs)
            raise UsageError(f"integral: output '{name}' not found", hint=hint)
    rows = [model.outputs.index(name) for name in names]
    step = 1.0 if model.dt is None else model.dt
    *batch, N, m = model.B.shape
    more = len(rows)
    A, B = np.zeros((*batch, N + more, N + more)), np.zeros((*batch, N + more, m))
    A[..., :N, :N], A[..., N:, :N] = model.A, step * model.C[..., rows, :]
    B[..., :N, :], B[..., N:, :] = model.B, step * model.D[..., rows, :]
    if model.dt is not None:
        A[..., N:, N:] = np.eye(more)
    C = np.concatenate([model.C, np.zeros((*batch, len(model.outputs), more))], axis=-1)
    drift = np.concatenate([model.drift, np.zeros((*batch, more))], axis=-1)
    own = {f"{name}/{INTEGRAL}": f"{model.units[name]}·s" for name in names}
    states = (*model.states, *own)
    return replace(model, A=A, B=B, C=C, drift=drift, states=states, units={**model.units, **own})


INSTALL = "pip install scipy"


def require_scipy(name: str, purpose: str) -> Any:
    """Import a SciPy module such as 'linalg', or raise with the install command."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        message = f"{purpose} needs SciPy, which is not installed"
        raise RobolinError(message, hint=INSTALL) from error


def python_control() -> Any:
    """Import the package `control`, or raise with the install command."""
    try:
        return import_module("control")
    except ImportError as error:
        message = "to_control needs python-control, which is not installed"
        raise RobolinError(message, hint=INSTALL) from error
