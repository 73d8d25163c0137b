"""Kalman filters, by the equation of regulators turned around."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.model_parts import iter_models, require_model
from robolin.control.poles import Poles, poles_of
from robolin.control.regulator import solved_gains
from robolin.control.state_space import StateSpace
from robolin.control.weights import Weights, require_weights, weight_matrix
from robolin.core.arrays import Floats
from robolin.core.notebook import DisplayMixin


@dataclass(frozen=True, eq=False)
class Estimator(DisplayMixin):
    """x̂' = A x̂ + B u + L (y - C x̂ - D u), the Kalman filter of a model.

    Fields:
        L: the gain (..., N, p)
        covariance: of the error of x̂ (..., N, N); of its prediction where there is a dt
        residual: what is left of the Riccati equation (...), beside the largest of its terms
        model: the model estimated

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
        """The poles of the error."""
        return poles_of(replace(self.model, A=self.model.A - self.L @ self.model.C))


def kalman(model: StateSpace, process: ArrayLike = 1.0, measurement: ArrayLike = 1.0) -> Estimator:
    """The Kalman filter of a model, by the regulator of Aᵀ and Cᵀ.

    Args:
        model: a `StateSpace`
        process: covariance of what disturbs ẋ or x(k+1), a matrix (..., N, N), (N,) or a number, in
            units of the states
        measurement: covariance of what disturbs y: a matrix (p, p), (p,), or one number, in units
            of the outputs; (n,) for outputs="q"

    Returns:
        an `Estimator`

    Raises:
        RobolinError: no filter exists, or SciPy is not installed
        UsageError: no model, or covariances of the wrong sign or shape

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
    turned = {name: np.moveaxis(getattr(model, name), -1, -2) for name in "ABCD"}
    dual = replace(model, A=turned["A"], B=turned["C"], C=turned["B"], D=turned["D"])
    K, P, residual = solved_gains(dual, [weights] * len(iter_models(model)))
    return Estimator(np.moveaxis(K, -1, -2), P, residual, model)
