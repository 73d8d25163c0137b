"""Kalman filters, solved as the regulator of the dual system."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.poles import Poles, poles_of
from robolin.control.regulator import require_solved, solve_gains
from robolin.control.riccati import Weights, require_weights, weight_matrix
from robolin.control.state_space import StateSpace, iter_models, require_model
from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin


@dataclass(frozen=True, eq=False, repr=False)
class Estimator(DisplayMixin):
    """x̂' = A x̂ + B u + L (y - C x̂ - D u), the Kalman filter of a model.

    Fields:
        L: the gain (..., N, p)
        covariance: error covariance of x̂ (..., N, N); of the prediction if the model has a dt
        residual: residual of the Riccati equation (...), relative to its largest term
        model: the linear model

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
        >>> estimator = robolin.kalman(model, 1.0, 1e-4)
        >>> estimator.L.shape, bool(estimator.poles.stable)
        ((4, 2), True)
    """

    L: Floats
    covariance: Floats
    residual: Floats
    model: StateSpace

    @property
    def poles(self) -> Poles:
        """Poles of the estimation error."""
        return poles_of(replace(self.model, A=self.model.A - self.L @ self.model.C))


def kalman(model: StateSpace, process: ArrayLike = 1.0, measurement: ArrayLike = 1.0) -> Estimator:
    """Design the Kalman filter of a linear model, via the LQR of the dual system (Aᵀ, Cᵀ).

    Args:
        model: a `StateSpace`
        process: noise covariance of ẋ or x(k+1): a matrix (..., N, N), (N,) or one number, in
            units of the states
        measurement: covariance of the noise on y: a matrix (p, p), (p,) or one number, in units
            of the outputs; (n,) for outputs="q"

    Returns:
        an `Estimator`

    Raises:
        RobolinError: no filter exists, or SciPy is not installed
        UsageError: not a model, or covariances with the wrong sign or shape

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
        >>> robolin.kalman(model).L.round(3)
        array([[  2.352,  -2.395],
               [ -2.395,   3.989],
               [  5.134,  -5.014],
               [-10.171,  10.322]])
    """
    require_model(model)
    W = weight_matrix("process", process, len(model.states))
    V = weight_matrix("measurement", measurement, len(model.outputs))
    require_weights("process", W, positive=False)
    require_weights("measurement", V, positive=True)
    weights = Weights(W, V, np.zeros((len(model.states), len(model.outputs))))
    T = {name: np.moveaxis(getattr(model, name), -1, -2) for name in "ABCD"}
    dual = replace(model, A=T["A"], B=T["C"], C=T["B"], D=T["D"])
    every = [weights] * len(iter_models(model))
    K, P, residual = solve_gains(dual, every)
    require_solved(dual, every, residual, poles_of(replace(dual, A=dual.A - dual.B @ K)))
    return Estimator(np.moveaxis(K, -1, -2), P, residual, model)
