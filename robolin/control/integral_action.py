"""Integrals of outputs as states of their own, for a regulator that leaves no lasting error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from robolin.control.state_space import StateSpace
from robolin.control.weights import INTEGRAL
from robolin.core.text import did_you_mean
from robolin.errors import UsageError


def with_integrals(model: StateSpace, outputs: Sequence[str] | str) -> StateSpace:
    """The model with a state ∫ y dt, or dt Σ y, for each output named."""
    names = [outputs] if isinstance(outputs, str) else list(outputs)
    if not names:
        return model
    for name in names:
        if name not in model.outputs:
            hint = did_you_mean(name, model.outputs)
            raise UsageError(f"integral: there is no output '{name}'", hint=hint)
    rows = [model.outputs.index(name) for name in names]
    step = 1.0 if model.dt is None else model.dt
    *batch, N, m = model.B.shape
    more = len(rows)
    A, B = np.zeros((*batch, N + more, N + more)), np.zeros((*batch, N + more, m))
    A[..., :N, :N], A[..., N:, :N] = model.A, step * model.C[..., rows, :]
    B[..., :N, :], B[..., N:, :] = model.B, step * model.D[..., rows, :]
    if model.dt is not None:
        A[..., N:, N:] = np.eye(more)
    C = np.concatenate([model.C, np.zeros((*batch, len(model.outputs), more))], axis=-1)
    drift = np.concatenate([model.drift, np.zeros((*batch, more))], axis=-1)
    own = {f"{name}/{INTEGRAL}": f"{model.units[name]}·s" for name in names}
    states = (*model.states, *own)
    return replace(model, A=A, B=B, C=C, drift=drift, states=states, units={**model.units, **own})
