"""What the outputs do after a step or an impulse of each input."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np

from robolin.control.discretize import discretized
from robolin.control.state_space import StateSpace
from robolin.core.array_checks import is_real_number
from robolin.core.arrays import Floats
from robolin.core.notebook import Shown
from robolin.errors import UsageError


@dataclass(frozen=True, eq=False)
class TimeResponse(Shown):
    """What the outputs do after a step or an impulse of each input by itself.

    Fields:
        time: (rows,) in s
        y: outputs (..., rows, p, m)

    Example:
        >>> model = robolin.state_space(robolin.load("two-link"), [0.3, -0.7], outputs="q")
        >>> model.step_response(1.0, rows=11).y.shape
        (11, 2, 2)
    """

    time: Floats
    y: Floats


def step_response(model: StateSpace, duration: float, rows: int = 201) -> TimeResponse:
    """From rest at the operating point, drift left out: changes that the input alone makes."""
    sampled, time = _sampled(model, duration, rows)
    x = np.zeros_like(sampled.B)
    y = np.empty((*model.batch, len(time), *model.D.shape[-2:]))
    for row in range(len(time)):
        y[..., row, :, :] = sampled.C @ x + sampled.D
        x = sampled.A @ x + sampled.B
    return TimeResponse(time, y)


def impulse_response(model: StateSpace, duration: float, rows: int = 201) -> TimeResponse:
    """C exp(A t) B, the impulse itself left out of D; of a discrete model, one sample of 1."""
    sampled, time = _sampled(model, duration, rows)
    x = model.B if model.dt is None else np.zeros_like(model.B)
    y = np.empty((*model.batch, len(time), *model.D.shape[-2:]))
    for row in range(len(time)):
        y[..., row, :, :] = sampled.C @ x
        if model.dt is not None and row == 0:
            y[..., row, :, :] += model.D
            x = model.B
        else:
            x = sampled.A @ x
    return TimeResponse(time, y)


def _sampled(model: StateSpace, duration: float, rows: int) -> tuple[StateSpace, Floats]:
    """The model from row to row, exact for inputs that stay; a discrete one as it is."""
    if not (is_real_number(duration) and isfinite(duration) and duration > 0.0):
        raise UsageError(f"duration is {duration!r}", hint="a positive number of seconds is needed")
    if not isinstance(rows, int) or rows < 2:
        raise UsageError(f"rows is {rows!r}, not a whole number from 2")
    if model.dt is not None:
        rows = int(duration / model.dt + 1e-9) + 1
        return model, model.dt * np.arange(rows, dtype=float)
    time = np.linspace(0.0, duration, rows)
    return discretized(model, float(time[1])), time
