"""State feedback: linear-quadratic regulators and pole placement."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.poles import EDGE, STABLE, Poles, poles_of, scaled_matrices
from robolin.control.riccati import (
    Weight,
    Weights,
    one_blas_thread,
    require_scipy,
    weights_of,
    with_integrals,
)
from robolin.control.riccati_doubling import Solutions, solve_riccati
from robolin.control.state_space import (
    StateSpace,
    as_complexes,
    as_numbers,
    dominant_joints,
    iter_models,
    joint_shares,
    model_at,
    require_model,
    stack_models,
)
from robolin.core.arrays import Complexes, Floats, JointValues
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.control.simulation.feedback_control import FeedbackControl
    from robolin.control.simulation.simulated_motion import FeedbackCost, Simulation


# largest accepted residual of the Riccati equation, relative to its largest term
SOLVED = 1e-8


@dataclass(frozen=True, eq=False, repr=False)
class Regulator(DisplayMixin):
    """LQR feedback u = -K x, which minimizes ∫ xᵀQx + uᵀRu + 2xᵀNu dt, or the sum over samples.

    Fields:
        K: the gains (..., m, N)
        P: (..., N, N): the cost-to-go from x is xᵀ P x
        residual: residual of the Riccati equation (...), relative to its largest term
        Q: weights of the states (..., N, N)
        R: weights of the torques (..., m, m)
        N: cross weights (..., N, m)
        model: the linear model, with one extra state per integral

    Example:
        >>> model = robolin.state_space(robolin.load("acrobot"), [np.pi, 0.0])
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
        """The closed-loop model; its inputs are added to the feedback."""
        A = self.model.A - self.model.B @ self.K
        return replace(self.model, A=A, C=self.model.C - self.model.D @ self.K)

    @cached_property
    def poles(self) -> Poles:
        """Poles of the closed loop."""
        return poles_of(self.closed_loop)

    def cost(self, x: ArrayLike) -> Floats:
        """Cost-to-go xᵀ P x of a state, as predicted by the linear model.

        Args:
            x: deviation from the operating point (..., N), in the units of the model's states

        Returns:
            (...), in the unit of Q times squared states

        Raises:
            UsageError: a wrong number of states

        Example:
            >>> arm = robolin.load("acrobot")
            >>> model = robolin.state_space(arm, [np.pi, 0.0])
            >>> regulator = robolin.lqr(model)
            >>> bool(np.isclose(regulator.cost([0.1, 0.0, 0.0, 0.0]), 0.01 * regulator.P[0, 0]))
            True
        """
        state = as_numbers("x", x)
        if state.shape[-1:] != self.P.shape[-1:]:
            names = ", ".join(self.model.states)
            size = self.P.shape[-1]
            raise UsageError(
                f"x: must have {size} values along its last axis, got shape {state.shape}",
                hint=f"pass one value per state: {names}",
            )
        cost: Floats = np.einsum("...i,...ij,...j->...", state, self.P, state)
        return cost

    def feedback(
        self, *, allow_model_mismatch: bool = False, other_figures: bool = False
    ) -> FeedbackControl:
        """Control law for `simulate`: τ = τ₀ - K x at the actuated joints.

        Args:
            allow_model_mismatch: True allows an arm whose dynamics differ from the arm of the
                design, for example by the payload; otherwise, `simulate` rejects this arm
            other_figures: earlier name of `allow_model_mismatch`

        Returns:
            a `FeedbackControl`; with a dt, its torques are constant between samples

        Raises:
            UsageError: a batch of regulators, or a model whose states differ from the arm's

        Example:
            >>> arm = robolin.load("acrobot")
            >>> model = robolin.state_space(arm, [np.pi, 0.0])
            >>> law = robolin.lqr(model).feedback()
            >>> motion = robolin.simulate(arm, [np.pi, 0.01], duration=0.01, control=law)
            >>> motion.tau.shape
            (11, 2)
        """
        from robolin.control.closed_loop import feedback

        return feedback(self, allow_model_mismatch or other_figures)

    def sampled_motion(
        self, q: JointValues, qd: JointValues = 0.0, *, samples: int, steps: int = 10
    ) -> Simulation:
        """Simulate the nonlinear arm under the gains of a discrete model.

        Torques are constant between samples and saturate at the effort limits in the robot file.

        Args:
            q, qd: initial state (n,), in rad or m, and rad/s or m/s
            samples: number of samples
            steps: steps of the integrator rk4 per sample

        Returns:
            a `Simulation` with a row at every sample and one at the end: samples + 1 rows

        Raises:
            UsageError: gains of a model without a dt, a batch of regulators, or counts below 1
            RobolinError: a motion that diverges

        Example:
            >>> arm = robolin.load("acrobot")
            >>> model = robolin.state_space(arm, [np.pi, 0.0])
            >>> regulator = robolin.lqr(model.discretize(0.01))
            >>> regulator.sampled_motion([np.pi, 0.001], samples=5, steps=2).q.shape
            (6, 2)
        """
        from robolin.control.responses import sampled_motion

        return sampled_motion(self, q, qd, samples=samples, steps=steps)

    def to_mat(self, path: str | Path) -> None:
        """Write a MAT-file with the model, K, P and the weights.

        Args:
            path: path of the file

        Returns:
            nothing

        Raises:
            FileError: a file that cannot be written

        Example:
            >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
            >>> robolin.lqr(model).to_mat("regulator.mat")
        """
        from robolin.control.matlab import regulator_variables
        from robolin.io.formats.mat_results import write_mat

        write_mat(path, regulator_variables(self))

    def motion_cost(self, motion: Simulation) -> FeedbackCost:
        """Cost of a simulated motion of the nonlinear arm, and xᵀ P x at its initial state.

        The integrator accumulates the cost of a motion under this regulator, for any choice of
        rows.  Any other motion uses Simpson's rule over its rows; with a dt, the sum over samples
        without the last one.

        Args:
            motion: a `Simulation` of the arm; under another controller it needs closely spaced
                rows, including every sample

        Returns:
            a `FeedbackCost` whose parts have the shape (...) of the motion's batch

        Raises:
            UsageError: not a motion of this arm, rows that miss a sample or are too far apart, or a
                batch of regulators

        Example:
            >>> arm = robolin.load("acrobot")
            >>> model = robolin.state_space(arm, [np.pi, 0.0])
            >>> regulator = robolin.lqr(model.discretize(0.01))
            >>> motion = regulator.sampled_motion([np.pi, 0.001], samples=5, steps=2)
            >>> cost = regulator.motion_cost(motion)
            >>> bool(abs(cost.spent + cost.left - cost.predicted) < 1e-4 * cost.predicted)
            True
        """
        from robolin.control.closed_loop import feedback_cost

        return feedback_cost(self, motion)


def lqr(
    model: StateSpace,
    Q: Weight | None = None,
    R: Weight | None = None,
    N: ArrayLike | None = None,
    *,
    bryson: bool = False,
    integral: Sequence[str] | str = (),
) -> Regulator:
    """Design the linear-quadratic regulator of a model, or of each model of a batch.

    Args:
        model: a `StateSpace`
        Q: weights of states in units of 1/state²: a matrix (N, N), (N,), one number, or by name,
            {'q': 9, 'elbow/qd': 5}; None for 1
        R: weights of torques in units of 1/torque²: a matrix (m, m), (m,), one number, or by name,
            {'elbow': 0.1}; None for 1
        N: cross weights (..., N, m), in the same units; None for 0
        bryson: weights 1/(largest value)² from the limits in the file; weights set by name override
            these
        integral: outputs with integral action, such as 'elbow/position'

    Returns:
        a `Regulator`

    Raises:
        RobolinError: no regulator exists (the error names the uncontrollable mode), a limit that
            Bryson's rule needs is missing, or SciPy is not installed
        UsageError: `model` is not a `StateSpace`, an unknown name, or weights with the wrong sign
            or shape

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7])
        >>> robolin.lqr(model, {"q": 100.0, "elbow/qd": 5.0}).K.round(3)
        array([[12.828, -0.733,  7.662,  1.503],
               [-3.197,  8.381,  0.303,  2.698]])
    """
    require_model(model)
    model = with_integrals(model, integral)
    if model.basis is None:
        # the weights depend on names and limits only, so all models share them
        count = int(np.prod(model.batch))
        weights = [weights_of(model_at(model, 0), Q, R, N, bryson)] * count
    else:
        weights = [weights_of(each, Q, R, N, bryson) for each in iter_models(model)]
    K, P, residual = solve_gains(model, weights)
    matrices = [stack_models(parts, model.batch) for parts in zip(*weights, strict=True)]
    regulator = Regulator(K, P, residual, matrices[0], matrices[1], matrices[2], model)
    with one_blas_thread():
        require_solved(model, weights, residual, regulator.poles)
    return regulator


def solve_gains(model: StateSpace, weights: Sequence[Weights]) -> Solutions:
    """K, P and residuals of all models; `require_solved` checks them."""
    A, B = (each.reshape(-1, *each.shape[-2:]) for each in (model.A, model.B))
    with one_blas_thread():
        flat = solve_riccati(A, B, weights, model.dt is not None)
    return Solutions(*(each.reshape((*model.batch, *each.shape[1:])) for each in flat))


def require_solved(
    model: StateSpace, weights: Sequence[Weights], residual: Floats, poles: Poles
) -> None:
    """Raise the failure of the first model without a solution or with an unstable closed loop."""
    bad = np.flatnonzero(~(poles.stable & (residual <= SOLVED)))
    if len(bad):
        raise lqr_failure(model_at(model, int(bad[0])), weights[bad[0]], int(bad[0]))


# a relative distance to uncontrollability below this counts as zero
LOST = 1e-9


def lqr_failure(model: StateSpace, weights: Weights, index: int) -> RobolinError:
    """Error for a model without a stabilizing regulator."""
    prefix = f"model {index}: " if index else ""
    poles = poles_of(model)
    mode = _uncontrollable_mode(model.A, model.B, poles.values[poles.stability != STABLE])
    if mode is not None:
        value, direction = mode
        return RobolinError(
            f"{prefix}the model is not stabilizable: {_mode_text(model, value, direction)} "
            "is uncontrollable",
            where=model.arm.source,
            hint="actuate more joints, or linearize at another operating point",
        )
    size, vectors = np.linalg.eigh(weights.Q)
    seen = vectors * np.sqrt(np.maximum(size, 0.0))
    mode = _uncontrollable_mode(model.A.T, seen, poles.values[poles.stability == EDGE])
    if mode is not None:
        value, direction = mode
        return RobolinError(
            f"{prefix}no stabilizing gains exist for these weights: "
            f"{_mode_text(model, value, direction)} is marginally stable and has no weight",
            where=model.arm.source,
            hint="set a weight > 0 for the positions of these joints",
        )
    return RobolinError(
        f"{prefix}the Riccati equation has no numerical solution",
        where=model.arm.source,
        hint="use weights with more similar magnitudes",
    )


def _uncontrollable_mode(A: Floats, B: Floats, values: Floats) -> tuple[complex, Floats] | None:
    """Find the least controllable of these eigenvalues and its direction; None if none is lost."""
    units = scaled_matrices(A, B)
    norm = float(units.norm) or 1.0
    nearest = None
    for value in values:
        shifted = value / norm * np.eye(len(A)) - units.A
        U, sizes, _ = np.linalg.svd(np.concatenate([shifted, units.B], axis=1))
        # double poles are accurate to half the digits, and so is their distance
        if sizes[-1] <= LOST and (nearest is None or sizes[-1] < nearest[2]):
            nearest = (complex(value), U[:, -1], float(sizes[-1]))
    return None if nearest is None else nearest[:2]


def _mode_text(model: StateSpace, value: complex, direction: Floats) -> str:
    names = dominant_joints(model, joint_shares(model, direction))
    number = f"{value.real:.4g}" if value.imag == 0.0 else f"{value:.4g}"
    if not names:
        return f"the mode with pole {number}"
    listed = ", ".join(f"'{name}'" for name in names)
    return f"the mode with pole {number} (joint{'s' * (len(names) > 1)} {listed})"


# largest distance of a placed pole from the desired one, relative to the largest pole
MISSED = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class PlacedPoles(DisplayMixin):
    """State feedback u = -K x with the desired poles.

    Fields:
        K: the gains (..., m, N)
        missed: largest distance between a pole and the desired pole (...), in 1/s
        model: the linear model

    Example:
        >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
        >>> placed = robolin.place_poles(model, [-1.0, -2.0, -3.0, -4.0])
        >>> placed.poles.values.real.round(6)
        array([-1., -2., -3., -4.])
    """

    K: Floats
    missed: Floats
    model: StateSpace

    @property
    def poles(self) -> Poles:
        """Poles of the closed loop."""
        return poles_of(replace(self.model, A=self.model.A - self.model.B @ self.K))


def place_poles(model: StateSpace, poles: ArrayLike) -> PlacedPoles:
    """Compute gains that place the closed-loop poles, by Tits and Yang's method.

    Among the possible gains, the method chooses gains whose poles are insensitive to model errors.

    Args:
        model: a `StateSpace`
        poles: the desired poles (number of states,), complex poles in conjugate pairs, in 1/s; of
            the discrete model, without unit, if it has a dt

    Returns:
        a `PlacedPoles`

    Raises:
        RobolinError: the poles cannot be placed, or SciPy is not installed
        UsageError: `model` is not a `StateSpace`, or not as many poles as states

    Example:
        >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
        >>> robolin.place_poles(model, [-1.0, -2.0, -3.0, -4.0]).K.shape
        (1, 4)
    """
    require_model(model)
    desired = as_complexes("poles", poles)
    N = len(model.states)
    if desired.shape != (N,) or not np.isfinite(desired).all():
        raise UsageError(f"must be {N} finite numbers, got shape {desired.shape}", where="poles")
    placed = [_place_poles(each, desired) for each in iter_models(model)]
    K, missed = (stack_models(parts, model.batch) for parts in zip(*placed, strict=True))
    return PlacedPoles(K, missed, model)


def _place_poles(model: StateSpace, desired: Complexes) -> tuple[Floats, float]:
    signal = require_scipy("signal", "pole placement")
    with warnings.catch_warnings():
        # convergence is judged by the distance of the poles below
        warnings.simplefilter("ignore")
        try:
            K = signal.place_poles(model.A, model.B, desired).gain_matrix
        except ValueError as error:
            raise RobolinError(f"the poles cannot be placed: {error}") from error
    missed = _max_distance(np.linalg.eigvals(model.A - model.B @ K), desired)
    if not missed <= MISSED * np.abs(desired).max(initial=1.0):
        raise RobolinError(
            "the poles cannot be placed: with the best gains, the error of one pole is "
            f"{missed:.3g}",
            where=model.arm.source,
            hint="use controllability() to find the uncontrollable mode",
        )
    return K, missed


def _max_distance(actual: Floats | Complexes, desired: Complexes) -> float:
    """Largest distance of a pole, matching each desired pole with the nearest remaining one."""
    remaining, worst = list(actual), 0.0
    for pole in desired:
        gaps = [abs(each - pole) for each in remaining]
        at = int(np.argmin(gaps))
        worst = max(worst, float(gaps[at]))
        remaining.pop(at)
    return worst
