"""Torques of a control law that looks at the arm now and then, and holds them in between."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil

import numpy as np

from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.schedule import DEFAULT_DT, Schedule
from robolin.core.arrays import Floats
from robolin.errors import UsageError

# what rounding may make of a whole number of steps, or of a sample's moment
_ROUNDING = 1e-9


class HeldTorque:
    """The torque of the last sample; integrals of the law grow from sample to sample."""

    of_state = False

    def __init__(self, law: StateFeedback, dt: float, batch: tuple[int, ...]) -> None:
        self._law, self._dt = law, dt
        self._torques: list[Floats] = []
        self._integrals = [np.zeros((*batch, law.memory))]

    def sample(self, t: float, q: Floats, qd: Floats) -> None:
        """Look at the arm, and take another torque."""
        now = self._integrals[-1]
        self._torques.append(self._law.given(now)(t, q, qd))
        self._integrals.append(now + self._dt * self._law.memory_rate(t, q, qd, now))

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self._torques[-1]

    def integrals_at(self, t: float) -> Floats:
        """The integrals (..., i) at a time up to the last sample, and after it."""
        return self._integrals[int(t / self._dt + _ROUNDING)]

    def taken(self) -> TakenTorques:
        """All of them, once the motion is over."""
        return TakenTorques(self._dt, self._torques, self._integrals)


@dataclass(frozen=True, eq=False)
class TakenTorques:
    """The torques of all samples; the last one also counts for the end of the motion."""

    dt: float
    torques: list[Floats]
    integrals: list[Floats]
    of_state: bool = False

    def _sample(self, t: float) -> int:
        return int(t / self.dt + _ROUNDING)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.torques[min(self._sample(t), len(self.torques) - 1)]

    def integrals_at(self, time: Floats) -> Floats:
        """The integrals (rows, …) at these moments."""
        return np.stack([self.integrals[self._sample(t)] for t in time.tolist()])


def steps_between(schedule: Schedule, dt: float) -> int:
    """How many steps of the integrator there are from sample to sample."""
    if not schedule.fixed:
        hint = "leave out the tolerance and take rk4"
        raise UsageError("torques held between samples need steps of fixed size", hint=hint)
    step = schedule.dt or DEFAULT_DT
    count = max(1, round(dt / step))
    if abs(count * step - dt) > _ROUNDING * dt:
        fitting = dt / max(1, ceil(dt / step))
        message = f"steps of {step:g} s do not divide the time between samples, {dt:g} s"
        raise UsageError(message, where="dt", hint=f"{fitting:g} s does")
    return count


def fitting_schedule(schedule: Schedule, dt: float) -> Schedule:
    """The schedule with steps that divide dt, unless it says which ones to take."""
    if schedule.dt is not None or not schedule.fixed:
        return schedule
    return replace(schedule, dt=dt / max(1, ceil(dt / DEFAULT_DT - _ROUNDING)))
