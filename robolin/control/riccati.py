"""Riccati equations: SciPy's solution, refined by Newton–Kleinman steps to round-off.

continuous   Aᵀ P + P A - Kᵀ R K + Q = 0         K = R⁻¹ (Bᵀ P + Nᵀ)
discrete     Aᵀ P A - P - Kᵀ (R + Bᵀ P B) K + Q = 0,   K = (R + Bᵀ P B)⁻¹ (Bᵀ P A + Nᵀ)

A step solves the Lyapunov equation of P for a fixed K: F = A - B K, and
Fᵀ P + P F + W = 0 or Fᵀ P F - P + W = 0 with W = Q + Kᵀ R K - N K - Kᵀ Nᵀ.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from robolin.control.optional_dependencies import require_scipy
from robolin.control.state_space import StateSpace
from robolin.control.weights import INTEGRAL, Weights
from robolin.core.arrays import Floats
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError

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
    Q, R, N = weights
    inner = R + B.T @ P @ B if discrete else R
    right = B.T @ P @ A + N.T if discrete else B.T @ P + N.T
    K = np.asarray(np.linalg.solve(inner, right), dtype=np.float64)
    linear_terms = [A.T @ P @ A, -P] if discrete else [A.T @ P, P @ A]
    terms = [*linear_terms, -K.T @ inner @ K, Q]
    left = np.abs(terms[0] + terms[1] + terms[2] + terms[3]).max()
    largest = max(np.abs(term).max() for term in terms)
    return Solution(K, P, float(left / largest) if largest > 0.0 else 0.0)


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
                "two poles of the closed loop add up to 0: no stable one"
            ) from warning
    return 0.5 * (X + X.T)


def discrete_lyapunov(A: Floats, W: Floats) -> Floats:
    """Solve Aᵀ X A - X + W = 0 by X = Σ (Aᵀ)ᵏ W Aᵏ, doubling the terms in every step."""
    X, power = W.copy(), A.copy()
    with np.errstate(all="ignore"):
        for _ in range(DOUBLINGS):
            more = power.T @ X @ power
            X = X + more
            if np.abs(more).max() <= 1e-17 * np.abs(X).max():
                return 0.5 * (X + X.T)
            power = power @ power
    raise RobolinError("a sum over all samples does not end: the closed loop is not stable")


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
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    if not names:
        return model
    for name in names:
        if name not in model.outputs:
            hint = did_you_mean(name, model.outputs)
            raise UsageError(f"integral: there is no output '{name}'", hint=hint)
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
