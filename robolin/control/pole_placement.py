"""Gains that put the poles of the closed loop where one wants them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from robolin.control.model_parts import as_complexes, iter_models, require_model, stacked_models
from robolin.control.optional_dependencies import require_scipy
from robolin.control.poles import Poles, poles_of
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Complexes, Floats
from robolin.core.notebook import DisplayMixin
from robolin.errors import RobolinError, UsageError

# how far a pole may end from where it was wanted, beside the largest of them
MISSED = 1e-6


@dataclass(frozen=True, eq=False)
class PlacedPoles(DisplayMixin):
    """u = -K x with the poles wanted.

    Fields:
        K: the gains (..., m, N)
        missed: how far the farthest pole is from its place (...), in 1/s
        model: the model regulated

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
        """The poles of the closed loop."""
        return poles_of(replace(self.model, A=self.model.A - self.model.B @ self.K))


def place_poles(model: StateSpace, poles: ArrayLike) -> PlacedPoles:
    """Gains for these poles, by Tits and Yang's method.

    Of the gains that do it, those are sought whose poles depend least on the model.

    Args:
        model: a `StateSpace`
        poles: N of them (n. of states,), complex ones in conjugate pairs, in 1/s; per sample, in no
            units, where there is a dt

    Returns:
        a `PlacedPoles`

    Raises:
        RobolinError: the poles cannot be placed, or SciPy is not installed
        UsageError: no model, or not as many poles as there are states

    Example:
        >>> model = robolin.state_space(robolin.load("cart-pole"), [0.0, 0.0])
        >>> robolin.place_poles(model, [-1.0, -2.0, -3.0, -4.0]).K.shape
        (1, 4)
    """
    require_model(model)
    wanted = as_complexes("poles", poles)
    N = len(model.states)
    if wanted.shape != (N,) or not np.isfinite(wanted).all():
        raise UsageError(f"poles are {N} finite numbers, not {wanted.shape}", where="poles")
    found = [_placed(each, wanted) for each in iter_models(model)]
    K, missed = (stacked_models(parts, model.batch) for parts in zip(*found, strict=True))
    return PlacedPoles(K, missed, model)


def _placed(model: StateSpace, wanted: Complexes) -> tuple[Floats, float]:
    signal = require_scipy("signal", "pole placement")
    with warnings.catch_warnings():
        # what the iteration did not reach is told by how far poles are off
        warnings.simplefilter("ignore")
        try:
            K = signal.place_poles(model.A, model.B, wanted).gain_matrix
        except ValueError as error:
            raise RobolinError(f"the poles cannot be placed: {error}") from error
    missed = _farthest(np.linalg.eigvals(model.A - model.B @ K), wanted)
    if not missed <= MISSED * np.abs(wanted).max(initial=1.0):
        raise RobolinError(
            f"the poles cannot be placed: the nearest gains miss one by {missed:.3g}",
            where=model.arm.source,
            hint="controllability() says which mode is out of reach",
        )
    return K, missed


def _farthest(found: Floats | Complexes, wanted: Complexes) -> float:
    """How far the worst pole is off, each wanted one taking the nearest that is left."""
    left, worst = list(found), 0.0
    for pole in wanted:
        gaps = [abs(each - pole) for each in left]
        at = int(np.argmin(gaps))
        worst = max(worst, float(gaps[at]))
        left.pop(at)
    return worst
