"""Controllability, observability and Kalman filters: modes that inputs move and outputs show."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.poles import Poles, ScaledMatrices, poles_of, scaled_matrices, slowest_first
from robolin.control.regulator import require_solved, solve_gains
from robolin.control.riccati import Weights, require_weights, weight_matrix
from robolin.control.state_space import (
    StateSpace,
    dominant_joints,
    iter_models,
    joint_shares,
    require_mode,
    require_model,
)
from robolin.core.arrays import Complexes, Floats, Integers, Mask
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass

# relative change of the model that counts as round-off
MODEL_ROUNDING = 1e-14

Reached = Literal["controllability", "observability"]


@dataclass(frozen=True, eq=False, repr=False)
class Reachability(DisplayMixin):
    """Controllability or observability of a linear model.

    `complete` is True if all states are controllable (observable).  `distance` (..., N) is the
    smallest relative change of the model that makes each mode in `values` uncontrollable
    (unobservable); `worst` is the index of the mode with the smallest distance.

    Fields:
        kind: 'controllability' or 'observability'
        dimension: dimension (...) of the controllable (observable) subspace, by the staircase form
        model: the linear model
        scaled: the balanced A and B in which distances are measured

    Example:
        >>> model = robolin.state_space(robolin.load("panda"), np.zeros(7))
        >>> result = model.controllability()
        >>> result.dimension.item(), result.complete.item()
        (14, True)
    """

    kind: Reached
    dimension: Integers
    model: StateSpace
    scaled: ScaledMatrices

    @cached_property
    def complete(self) -> Mask:
        """(...): whether all states are controllable (observable) by more than round-off."""
        significant = self.distance.min(axis=-1) > MODEL_ROUNDING
        complete: Mask = (self.dimension == self.model.A.shape[-1]) & significant
        return complete

    @cached_property
    def values(self) -> Complexes:
        """The eigenvalues (..., N) of the modes of `distance`, the slowest first."""
        eigenvalues = np.linalg.eigvals(self.scaled.A).astype(complex)
        order = slowest_first(eigenvalues)
        in_order: Complexes = np.take_along_axis(eigenvalues, order, axis=-1)
        return in_order * self.scaled.norm[..., None]

    @cached_property
    def distance(self) -> Floats:
        """(..., N): smallest change of [A B], relative to ‖A‖, that makes a mode uncontrollable.

        σ_min[λ - A, B] in scaled units; for observability σ_min[λ - A; C].
        """
        A, N = self.scaled.A, self.scaled.A.shape[-1]
        flat_A, flat_B = A.reshape(-1, N, N), self.scaled.B.reshape(-1, *self.scaled.B.shape[-2:])
        lam = self._scaled_values.reshape(-1, N)
        if not self.model.batch:
            # the bits of the decomposition with vectors, which decide between equal distances
            pencils = _pencils(A, self.scaled.B[None].repeat(N, axis=0), lam[0])
            return np.linalg.svd(pencils)[1][..., -1]
        distance = np.zeros(lam.shape)
        # conjugate poles have the same distance
        upper = lam.imag >= 0.0
        models, modes = np.nonzero(upper)
        for start in range(0, len(models), _PENCILS_AT_ONCE):
            some = slice(start, start + _PENCILS_AT_ONCE)
            rows, own = models[some], modes[some]
            pencils = _pencils(flat_A[rows], flat_B[rows], lam[rows, own])
            distance[rows, own] = np.linalg.svd(pencils, compute_uv=False)[..., -1]
        partner = (lam.conj()[:, :, None] == lam[:, None, :]).argmax(axis=-1)
        both = np.where(upper, distance, np.take_along_axis(distance, partner, axis=-1))
        return both.reshape(A.shape[:-1])

    @cached_property
    def worst(self) -> Integers:
        """(...): index of the mode with the smallest distance."""
        worst: Integers = self.distance.argmin(axis=-1)
        return worst

    def joints(self, *index: int) -> tuple[str, ...]:
        """Joints that dominate the least controllable (observable) direction of a mode.

        Args:
            index: index of the model in its batch (one per batch axis), then index of the mode

        Returns:
            names of joints, largest participation first; joints below a tenth of the largest are
            omitted

        Raises:
            UsageError: an index without a mode

        Example:
            >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
            >>> reached = model.controllability()
            >>> reached.joints(int(reached.worst))
            ('slide', 'pivot')
        """
        require_mode(self.model, index)
        model, value = index[:-1], self._scaled_values[index]
        U, _, _ = np.linalg.svd(_pencils(self.scaled.A[model], self.scaled.B[model], value))
        return dominant_joints(self.model, joint_shares(self.model, U[..., -1]))

    @cached_property
    def _scaled_values(self) -> Complexes:
        """The eigenvalues of the balanced A."""
        norm = np.where(self.scaled.norm > 0.0, self.scaled.norm, 1.0)
        return self.values / norm[..., None]


# matrices [λ - A, B] that are in memory together
_PENCILS_AT_ONCE = 2048


def _pencils(A: Floats, B: Floats, values: Complexes) -> Complexes:
    """The matrices [λ - A, B] of one mode of each model."""
    shifted = values[..., None, None] * np.eye(A.shape[-1]) - A
    pencils: Complexes = np.concatenate([shifted, B], axis=-1)
    return pencils


def controllability_of(model: StateSpace) -> Reachability:
    """Controllability of a model."""
    units = scaled_matrices(model.A, model.B)
    return Reachability("controllability", staircase_dimension(units.A, units.B), model, units)


def observability_of(model: StateSpace) -> Reachability:
    """Observability of a model: controllability of the dual system (Aᵀ, Cᵀ)."""
    units = scaled_matrices(np.moveaxis(model.A, -1, -2), np.moveaxis(model.C, -1, -2))
    return Reachability("observability", staircase_dimension(units.A, units.B), model, units)


# singular values below this count as zero; A and B have norm 1
ZERO_SINGULAR_VALUE = 1e-10


def staircase_dimension(A: Floats, B: Floats) -> Integers:
    """Dimension (...) of the controllable subspace; A and B have norm 1."""
    N, inputs = B.shape[-2:]
    flat_A, flat_B = A.reshape(-1, N, N), B.reshape(-1, N, inputs)
    dimensions = np.zeros(len(flat_A), dtype=int)
    _count(flat_A, flat_B, np.arange(len(flat_A)), dimensions)
    return dimensions.reshape(A.shape[:-2])


def _count(A: Floats, B: Floats, models: Integers, dimensions: Integers) -> None:
    """Add the rank of B to `dimensions` and recurse into the rest, grouped by rank."""
    if not len(models) or A.shape[-1] == 0:
        return
    U, sizes, _ = np.linalg.svd(B)
    ranks = (sizes > ZERO_SINGULAR_VALUE).sum(axis=-1)
    for rank in np.unique(ranks):
        if rank == 0:
            continue
        some = np.flatnonzero(ranks == rank)
        dimensions[models[some]] += rank
        rotated = np.moveaxis(U[some], -1, -2) @ A[some] @ U[some]
        _count(rotated[:, rank:, rank:], rotated[:, rank:, :rank], models[some], dimensions)


# Kalman filters, solved as the regulator of the dual system


@dataclass(frozen=True, eq=False, repr=False)
class Estimator(DisplayMixin):
    """Kalman filter of a linear model: x̂' = A x̂ + B u + L (y - C x̂ - D u).

    Fields:
        L: the gain (..., N, p)
        covariance: error covariance of x̂ (..., N, N), or of the predicted x̂ if the model has a dt
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
        UsageError: `model` is not a `StateSpace`, or covariances with the wrong sign or shape

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
