"""Cost of a motion under state feedback, accumulated per step and not per stored row."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np

from robolin.control.simulation.equations import Equations
from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import FeedbackCost
from robolin.core.arrays import Floats, Mask

# largest distance of a step or row from a sample, as a fraction of the sample time
ON_TIME = 1e-6
# nodes of Gauss–Legendre quadrature on every adaptive step: exact up to degree 13
_NODES = 7

# returns the integrals (..., i) of the control law at a time t and a state y
IntegralsAt = Callable[[float, Floats], Floats]


class RunningCost:
    """∫ xᵀQx + uᵀRu + 2xᵀNu dt, or its sum over samples, over the time range of the gains.

    With fixed steps the integral is a state of the integrator, and `Equations.rate` calls `rate`;
    only complete steps within the time range of the gains count.  With adaptive steps it is a
    quadrature of the dense output on every step, so that the cost changes no step size.
    """

    def __init__(self, law: StateFeedback, schedule: Schedule, batch: tuple[int, ...]) -> None:
        self._law, self._schedule, self._batch = law, schedule, batch
        times, self._dt = law.times, law.cost_dt
        self._begin, self._end = 0.0, schedule.duration
        if times is not None:
            self._begin, self._end = max(0.0, times[0]), min(self._end, times[-1])
        self._samples = self._sample_times(0.0 if times is None else float(times[0]))
        self.counting = False
        self._spent, self._pending = np.zeros(batch), np.zeros(batch)
        self._first: Floats | None = None
        self._last: Floats | None = None
        self._sampled = 0

    @property
    def integrated(self) -> bool:
        """True if the cost is an integral over time; otherwise it is a sum over samples."""
        return self._dt is None

    def _sample_times(self, origin: float) -> Floats:
        """Times of the samples within the motion, for a cost that is a sum."""
        if self._dt is None:
            return np.zeros(0)
        first = max(0, ceil(-origin / self._dt - ON_TIME))
        last = int((self._end - origin) / self._dt + ON_TIME)
        return origin + self._dt * np.arange(first, last + 1, dtype=np.float64)

    def rate(
        self, t: float, q: Floats, qd: Floats, integrals: Floats, tau: Floats
    ) -> Floats | float:
        """Rate (...) of the cost; 0 during steps that do not count."""
        return self._law.cost_rate(t, q, qd, integrals, tau) if self.counting else 0.0

    def look(self, equations: Equations, t: float, y: Floats, integrals_at: IntegralsAt) -> None:
        """Record the state y at time t, before the fixed step that begins there."""
        if not self.integrated:
            self._sample(equations, t, y, integrals_at)
            return
        counts = bool(self._counts(np.array(t)))
        if counts != self.counting:
            value = self._to_go(equations, t, y, integrals_at)
            if counts:
                self._first = value
            else:
                self._last = value
        self.counting = counts

    def _counts(self, t: Floats) -> Mask:
        """True for steps from times t that are within the time range of the gains."""
        step = np.minimum(self._schedule.longest, self._schedule.duration - t)
        room = ON_TIME * step
        return (t >= self._begin - room) & (t + step <= self._end + room)

    def unchanged_steps(self, first: int, last: int) -> int:
        """The last of these steps, exclusive, up to which all count like the first or none."""
        counts = self._counts(np.arange(first, last, dtype=np.float64) * self._schedule.step)
        return first + int(np.argmin(counts == counts[0])) if (counts != counts[0]).any() else last

    def _sample(self, equations: Equations, t: float, y: Floats, integrals_at: IntegralsAt) -> None:
        """Add the cost of the previous sample, if there is a sample at time t."""
        assert self._dt is not None, "only sums are sampled"
        at = self._samples[self._sampled] if self._sampled < len(self._samples) else np.inf
        if abs(t - at) > ON_TIME * self._dt:
            return
        integrals = integrals_at(t, y)
        q, qd = equations.state(y)
        tau = equations.motor_torque(t, q, qd, integrals)
        self._spent = self._spent + self._pending
        self._pending = self._law.cost_rate(t, q, qd, integrals, tau)
        self._last = self._law.cost_to_go(t, q, qd, integrals)
        self._first = self._last if self._first is None else self._first
        self._sampled += 1

    def _to_go(
        self, equations: Equations, t: float, y: Floats, integrals_at: IntegralsAt
    ) -> Floats:
        return self._law.cost_to_go(t, *equations.state(y), integrals_at(t, y))

    def after_steps(
        self, equations: Equations, y: Floats, integrals_at: IntegralsAt
    ) -> FeedbackCost | None:
        """Cost after the last fixed step; None if gains or samples do not match the steps."""
        end = self._schedule.duration
        if not self.integrated:
            self._sample(equations, end, y, integrals_at)
            return self._cost(self._spent) if self._sampled == len(self._samples) else None
        if self.counting:
            self._last = self._to_go(equations, end, y, integrals_at)
        return self._cost(equations.cost(y).copy())

    def along(self, equations: Equations, solution: Any) -> FeedbackCost | None:
        """Cost of a motion with adaptive steps, from its dense output.

        Args:
            equations: equations of the motion
            solution: SciPy's `OdeSolution`, y as a function of t
        """

        def integrals_at(t: float, y: Floats) -> Floats:
            return equations.integrals(y)

        if not self.integrated:
            for t in self._samples.tolist():
                self._sample(equations, t, solution(t), integrals_at)
            return self._cost(self._spent)
        if self._end <= self._begin:
            return None
        breaks = [] if self._law.times is None else self._law.times.tolist()
        every = [self._begin, *solution.ts, *breaks, self._end]
        edges = np.unique(np.clip(every, self._begin, self._end))
        nodes, shares = np.polynomial.legendre.leggauss(_NODES)
        self.counting = True
        for start, stop in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            half = 0.5 * (stop - start)
            for node, share in zip(nodes.tolist(), shares.tolist(), strict=True):
                t = start + half * (1.0 + node)
                self._spent = self._spent + half * share * self._rate_at(equations, t, solution(t))
        self._first, self._last = (
            self._to_go(equations, t, solution(t), integrals_at) for t in (self._begin, self._end)
        )
        return self._cost(self._spent)

    def _rate_at(self, equations: Equations, t: float, y: Floats) -> Floats | float:
        (q, qd), integrals = equations.state(y), equations.integrals(y)
        return self.rate(t, q, qd, integrals, equations.motor_torque(t, q, qd, integrals))

    def _cost(self, spent: Floats) -> FeedbackCost | None:
        if self._first is None or self._last is None:
            return None
        return FeedbackCost(spent, self._last, self._first)
