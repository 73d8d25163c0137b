"""The linear equations behind Gramians and Riccati equations."""

from __future__ import annotations

import warnings

import numpy as np

from robolin.control.optional_dependencies import scipy_part
from robolin.core.arrays import Floats
from robolin.errors import RobolinError

DOUBLINGS = 60


def continuous_lyapunov(A: Floats, W: Floats) -> Floats:
    """X with Aᵀ X + X A + W = 0, A stable."""
    linalg = scipy_part("linalg", "a Lyapunov equation")
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
    """X = Σ (Aᵀ)ᵏ W Aᵏ, so that Aᵀ X A - X + W = 0, twice as many terms with every step."""
    X, power = W.copy(), A.copy()
    with np.errstate(all="ignore"):
        for _ in range(DOUBLINGS):
            more = power.T @ X @ power
            X = X + more
            if np.abs(more).max() <= 1e-17 * np.abs(X).max():
                return 0.5 * (X + X.T)
            power = power @ power
    raise RobolinError("a sum over all samples does not end: the closed loop is not stable")
