"""Gramians of stable models: how much energy it takes to reach a state, or how much it shows."""

from __future__ import annotations

from typing import Literal

import numpy as np

from robolin.control.lyapunov import continuous_lyapunov, discrete_lyapunov
from robolin.control.model_parts import one_by_one, stacked_models
from robolin.control.state_space import StateSpace
from robolin.core.arrays import Floats
from robolin.errors import RobolinError, UsageError


def gramian(model: StateSpace, kind: Literal["controllability", "observability"]) -> Floats:
    """W (..., N, N) with A W + W Aᵀ + B Bᵀ = 0, or Aᵀ W + W A + Cᵀ C = 0."""
    if kind not in ("controllability", "observability"):
        hint = "'controllability' or 'observability'"
        raise UsageError(f"there is no Gramian of '{kind}'", hint=hint)
    _require_stable(model)
    solve = continuous_lyapunov if model.dt is None else discrete_lyapunov
    found = []
    for each in one_by_one(model):
        if kind == "controllability":
            found.append(solve(each.A.T, each.B @ each.B.T))
        else:
            found.append(solve(each.A, each.C.T @ each.C))
    return stacked_models(found, model.batch)


def _require_stable(model: StateSpace) -> None:
    poles = model.poles()
    if not np.all(poles.stable):
        place = np.unravel_index(int(np.argmax(poles.stability != "stable")), poles.values.shape)
        state = f"model {place[:-1]}: " if model.batch else ""
        raise RobolinError(
            f"{state}the Gramian exists for stable models, and the pole "
            f"{poles.values[place]:.4g} is not",
            hint="distances of controllability() and observability() hold for every model",
        )
