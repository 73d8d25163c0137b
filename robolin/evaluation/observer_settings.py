"""Settings of the momentum observer: its gain, and the constant inputs of its algorithm."""

from __future__ import annotations

from math import exp, isfinite, log

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, require_real
from robolin.errors import UsageError

# algorithms with the constant inputs `observer_decay` and `observer_rate`
OBSERVERS = ("momentum-observer", "momentum-observer-start")

# seconds until the estimate of a constant torque is right to 1 %
SETTLING_TIME = 0.1
_SETTLED = log(100.0)


def observer_gain(settling_time: float) -> float:
    """K in 1/s: the error exp(-K t) of the estimate of a constant torque is 1 % at this time."""
    return _SETTLED / _positive("settling_time", settling_time)


def observer_inputs(arm: Arm, dt: float, settling_time: float) -> dict[str, Floats]:
    """Inputs (n,) of the algorithm for rows every `dt` seconds."""
    decay = exp(-observer_gain(settling_time) * _positive("dt", dt))
    return {"observer_decay": np.full(arm.n, decay), "observer_rate": np.full(arm.n, 1.0 / dt)}


def _positive(name: str, value: float) -> float:
    require_real(**{name: value})
    if not (isfinite(value) and value > 0.0):
        message, hint = f"must be above 0 s, got {value:g}", "use a time in s, for example 0.001"
        raise UsageError(message, where=name, hint=hint)
    return value
