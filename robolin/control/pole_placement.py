"""Pole placement by state feedback."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.model_parts import as_complexes, iter_models, require_model, stack_models
from robolin.control.optional_dependencies import require_scipy
from robolin.control.poles import Poles, poles_of
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Complexes, Floats
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError, UsageError

# largest distance of a placed pole from the desired one, relative to the largest pole
MISSED = 1e-6


@dataclass(frozen=True, eq=False)
class PlacedPoles(DisplayMixin):
    """State feedback u = -K x with the desired poles.

    Fields:
        K: the gains (..., m, N)
        missed: largest distance of a pole from the desired one (...), in 1/s
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

    Among the possible gains, the method looks for poles that are insensitive to the model.

    Args:
        model: a `StateSpace`
        poles: the N desired poles (n. of states,), complex ones in conjugate pairs, in 1/s; of the
            discrete model, without unit, if it has a dt

    Returns:
        a `PlacedPoles`

    Raises:
        RobolinError: the poles cannot be placed, or SciPy is not installed
        UsageError: not a model, or not as many poles as states

    Example:
        >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
        >>> robolin.place_poles(model, [-1.0, -2.0, -3.0, -4.0]).K.shape
        (1, 4)
    """
    require_model(model)
    desired = as_complexes("poles", poles)
    N = len(model.states)
    if desired.shape != (N,) or not np.isfinite(desired).all():
        raise UsageError(f"poles are {N} finite numbers, not {desired.shape}", where="poles")
    placed = [_place(each, desired) for each in iter_models(model)]
    K, missed = (stack_models(parts, model.batch) for parts in zip(*placed, strict=True))
    return PlacedPoles(K, missed, model)


def _place(model: StateSpace, desired: Complexes) -> tuple[Floats, float]:
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
            f"the poles cannot be placed: the nearest gains miss one by {missed:.3g}",
            where=model.arm.source,
            hint="controllability() says which mode is out of reach",
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
