"""Linear-quadratic regulators, and estimators by the dual equation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robolin.arrays import Floats, JointValues
from robolin.control.blas_threads import one_blas_thread
from robolin.control.integral_action import with_integrals
from robolin.control.model_parts import as_numbers, one_by_one, require_model, stacked_models
from robolin.control.no_solution import no_regulator
from robolin.control.poles import Poles, poles_of
from robolin.control.riccati import riccati
from robolin.control.state_space import StateSpace
from robolin.control.weights import Weight, Weights, require_weights, weight_matrix, weights_of
from robolin.shown import Shown

if TYPE_CHECKING:
    from robolin.control.closed_loop import FeedbackCost
    from robolin.simulation.feedback_control import FeedbackControl
    from robolin.simulation.simulated_motion import Simulation

# what may be left of a Riccati equation beside its largest term
SOLVED = 1e-8


@dataclass(frozen=True, eq=False)
class Regulator(Shown):
    """u = -K x, which makes ∫ xᵀQx + uᵀRu + 2xᵀNu dt least; a sum over samples where there is a dt.

    Fields:
        K: the gains (..., m, N)
        P: (..., N, N): the cost from x is xᵀ P x
        residual: what is left of the Riccati equation (...), beside the largest of its terms
        Q: the weights of states (..., N, N)
        R: the weights of torques (..., m, m)
        N: the cross term (..., N, m)
        model: the model regulated, with a state more for every integral

    Example:
        >>> model = robolin.state_space(robolin.load("acrobot"), [np.pi, 0.0], passive="shoulder")
        >>> regulator = robolin.lqr(model, Q={"q": 10, "qd": 1}, R=1.0)
        >>> regulator.K.round(4)
        array([[-278.4422, -112.2913, -119.7246,  -56.8282]])
        >>> bool(regulator.poles.stable)
        True
    """

    K: Floats
    P: Floats
    residual: Floats
    Q: Floats
    R: Floats
    N: Floats
    model: StateSpace

    @property
    def closed_loop(self) -> StateSpace:
        """The model under its regulator; inputs come on top of the feedback."""
        A = self.model.A - self.model.B @ self.K
        return replace(self.model, A=A, C=self.model.C - self.model.D @ self.K)

    @property
    def poles(self) -> Poles:
        """The poles of the closed loop."""
        return poles_of(self.closed_loop)

    def cost(self, x: ArrayLike) -> Floats:
        """xᵀ P x of states (..., N): what it costs to come to rest from there."""
        state = as_numbers("x", x)
        cost: Floats = np.einsum("...i,...ij,...j->...", state, self.P, state)
        return cost

    def feedback(self, *, other_figures: bool = False) -> FeedbackControl:
        """The control law for `simulate`: τ = τ₀ - K x at the joints with a motor.

        `simulate` refuses it for an arm that moves otherwise, unless `other_figures` allows that.
        """
        from robolin.control.closed_loop import feedback

        return feedback(self, other_figures)

    def sampled_motion(
        self, q: JointValues, qd: JointValues = 0.0, *, samples: int, steps: int = 10
    ) -> Simulation:
        """The nonlinear arm under gains of a sampled model, torques held between samples."""
        from robolin.control.sampled_motion import sampled_motion

        return sampled_motion(self, q, qd, samples=samples, steps=steps)

    def to_mat(self, path: str | Path) -> None:
        """A MAT-file with the model, K, P and the weights."""
        from robolin.control.matlab import regulator_variables
        from robolin.files.mat.mat_writer import write_mat

        write_mat(path, regulator_variables(self))

    def motion_cost(self, motion: Simulation) -> FeedbackCost:
        """What a simulated motion of the nonlinear arm cost, beside xᵀ P x."""
        from robolin.control.closed_loop import feedback_cost

        return feedback_cost(self, motion)


@dataclass(frozen=True, eq=False)
class Estimator(Shown):
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


def lqr(
    model: StateSpace,
    Q: Weight | None = None,
    R: Weight | None = None,
    N: ArrayLike | None = None,
    *,
    bryson: bool = False,
    integral: Sequence[str] | str = (),
) -> Regulator:
    """The linear-quadratic regulator of a model, or of each of a batch.

    Args:
        model: a `StateSpace`
        Q: weights of states in units of 1/state²: a matrix (N, N), (N,), one number, or by name,
            {'q': 9, 'elbow/qd': 5}; None for 1
        R: weights of torques in units of 1/torque²: a matrix (m, m), (m,), one number, or by name,
            {'elbow': 0.1}; None for 1
        N: the cross term (..., N, m), in their units; None for 0
        bryson: weights from the limits in the file, 1/(largest value)²; names given go before them
        integral: outputs whose integral is brought to zero as well, such as 'elbow/position'

    Returns:
        a `Regulator`

    Raises:
        RobolinError: no regulator exists, with the mode that is not reached; or a limit that
            Bryson's rule needs is not in the file; or SciPy is not installed
        UsageError: no model, a name that does not exist, weights of the wrong sign or shape

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
        >>> robolin.lqr(model, {"q": 100.0, "elbow/qd": 5.0}).K.round(3)
        array([[12.828, -0.733,  7.662,  1.503],
               [-3.197,  8.381,  0.303,  2.698]])
    """
    require_model(model)
    model = with_integrals(model, integral)
    weights = [weights_of(each, Q, R, N, bryson) for each in one_by_one(model)]
    K, P, residual = _solved(model, weights)
    matrices = [stacked_models(parts, model.batch) for parts in zip(*weights, strict=True)]
    return Regulator(K, P, residual, matrices[0], matrices[1], matrices[2], model)


def _solved(model: StateSpace, weights: Sequence[Weights]) -> tuple[Floats, Floats, Floats]:
    """K, P and residuals of all models, each of which must be solved, and stable for certain."""
    models, found = one_by_one(model), []
    with one_blas_thread():
        for place, (each, own) in enumerate(zip(models, weights, strict=True)):
            try:
                found.append(riccati(each.A, each.B, own, model.dt is not None))
            except np.linalg.LinAlgError as error:
                raise no_regulator(each, own, place) from error
        K, P, residual = (stacked_models(parts, model.batch) for parts in zip(*found, strict=True))
        stable = poles_of(replace(model, A=model.A - model.B @ K)).stable
    bad = np.flatnonzero(~(stable & (residual <= SOLVED)))
    if len(bad):
        raise no_regulator(models[bad[0]], weights[bad[0]], int(bad[0]))
    return K, P, residual


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
    K, P, residual = _solved(dual, [weights] * len(one_by_one(model)))
    return Estimator(np.moveaxis(K, -1, -2), P, residual, model)
