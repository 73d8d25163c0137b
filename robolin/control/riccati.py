"""Riccati equations: SciPy's solution, then Newton–Kleinman steps until only rounding is left.

continuous   Aᵀ P + P A - Kᵀ R K + Q = 0         K = R⁻¹ (Bᵀ P + Nᵀ)
discrete     Aᵀ P A - P - Kᵀ (R + Bᵀ P B) K + Q = 0,   K = (R + Bᵀ P B)⁻¹ (Bᵀ P A + Nᵀ)

A step solves the linear equation that P meets when K is kept: F = A - B K, and
Fᵀ P + P F + W = 0 or Fᵀ P F - P + W = 0 with W = Q + Kᵀ R K - N K - Kᵀ Nᵀ.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from robolin.control.lyapunov import continuous_lyapunov, discrete_lyapunov
from robolin.control.optional_dependencies import scipy_part
from robolin.control.weights import Weights
from robolin.core.arrays import Floats
from robolin.errors import RobolinError

REFINEMENT_STEPS = 6


class Solution(NamedTuple):
    """K (m, N), P (N, N), and the largest entry left over beside the largest of any term."""

    K: Floats
    P: Floats
    residual: float


def riccati(A: Floats, B: Floats, weights: Weights, discrete: bool) -> Solution:
    """The stabilizing solution; LinAlgError where SciPy finds none."""
    linalg = scipy_part("linalg", "a Riccati equation")
    solve = linalg.solve_discrete_are if discrete else linalg.solve_continuous_are
    Q, R, N = weights
    try:
        P = solve(A, B, Q, R, s=N if N.any() else None)
    except ValueError as error:
        # a pencil that cannot be put in order has no half that is stable
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
    moved = [A.T @ P @ A, -P] if discrete else [A.T @ P, P @ A]
    terms = [*moved, -K.T @ inner @ K, Q]
    left = np.abs(terms[0] + terms[1] + terms[2] + terms[3]).max()
    largest = max(np.abs(term).max() for term in terms)
    return Solution(K, P, float(left / largest) if largest > 0.0 else 0.0)
