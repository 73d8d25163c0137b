"""Integrators with fixed steps, and SciPy's methods with adaptive steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import ceil
from typing import Any, Protocol

import numpy as np

from robolin.control.simulation.feedback_control import StateFeedback
from robolin.control.simulation.schedule import DEFAULT_DT, Schedule
from robolin.core.arrays import Floats
from robolin.core.progress import running
from robolin.core.records import dataclass
from robolin.errors import RobolinError, UsageError

# relative step of a difference: the square root of the precision of a float
_DIFFERENCE = 2.0**-26

# SciPy's names of the integrators
SCIPY_INTEGRATORS = {"dop853": "DOP853", "rk45": "RK45", "radau": "Radau"}

# adaptive steps end after more evaluations of dy/dt than this, and than this per second of
# motion: the most demanding tolerances of arms take some ten thousand per second
EVALUATION_BUDGET = 1_000_000

# writes dy/dt at (t, y) into its last argument
Rate = Callable[[float, Floats, Floats], None]
# changes y in place after a step, for example to satisfy constraints
Repair = Callable[[Floats], None]
# adds h times the rates to y in place, positions by the new velocities: (y, h dy/dt, h)
Move = Callable[[Floats, Floats, float], None]
# called with (step, t, y) before each step; steps count from 0
Look = Callable[[int, float, Floats], None]


class Failure(Protocol):
    """Builds the error of an integration that cannot continue."""

    def __call__(
        self, t: float, before: Floats, y: Floats, error: RobolinError
    ) -> RobolinError: ...
    def diverged(self, y: Floats) -> bool: ...
    def stopped(self, t: float, y: Floats) -> RobolinError: ...
    def exhausted(self, t: float, y: Floats, evaluations: int) -> RobolinError: ...


class CompiledSteps(Protocol):
    """Steps in compiled code, which `FixedSteps` uses as far as possible."""

    def steps(self, first: int, last: int) -> int: ...


class FixedSteps:
    """Integration with fixed steps: Runge–Kutta of order 4, or semi-implicit Euler.

    k₁ = f(t, y)                      k₂ = f(t + h/2, y + h k₁/2)
    k₃ = f(t + h/2, y + h k₂/2)       k₄ = f(t + h, y + h k₃)
    y(t + h) = y + h/6 (k₁ + 2 k₂ + 2 k₃ + k₄)

    kept:     y at the stored times of a part (rows, …)
    first:    number of the first row of the part
    stepwise: rows of the part whose step did not run in compiled code, and the row of the end
    """

    y: Floats
    before: Floats
    kept: Floats
    first: int
    stepwise: list[int]

    def __init__(
        self,
        rate: Rate,
        y: Floats,
        schedule: Schedule,
        failure: Failure,
        repair: Repair | None = None,
        look: Look | None = None,
        move: Move | None = None,
        part: int | None = None,
    ) -> None:
        self.y, self.before, self._schedule = y.copy(), y.copy(), schedule
        self._rate, self._failure, self._repair, self._look = rate, failure, repair, look
        self._move = move
        # rows of a part, and the row of the end
        self._most = min(part or schedule.stored_rows, schedule.stored_rows - 1)
        self._reached, self.first, self.stepwise = 0, 0, list[int]()
        self.kept = np.empty((self._most + 1, *y.shape))
        self._k, self._total, self._work = (np.empty_like(y) for _ in range(3))

    @property
    def ended(self) -> bool:
        """True after the last step."""
        return self._reached == self._schedule.steps

    def run(self, compiled: CompiledSteps | None = None) -> Floats:
        """Integrate to the end of the part; return its rows."""
        schedule, step = self._schedule, self._reached
        last = min(schedule.steps, (self.first + self._most) * (schedule.every or schedule.steps))
        with np.errstate(all="ignore"), running("simulating") as update:
            while step < last:
                update(step / schedule.steps)
                reached = step if compiled is None else compiled.steps(step, last)
                if reached == step:
                    self._step(step)
                    reached += 1
                step = reached
            self._reached = last
            if not self.ended:
                return self.kept[: self._most]
            self._require_rates_at_end()
        end = schedule.stored_rows - 1 - self.first
        self.kept[end] = self.y
        self.stepwise.append(end)
        return self.kept[: end + 1]

    def begin_part(self) -> None:
        """Store the next rows in new arrays: the earlier part keeps its own."""
        self.first += self._most
        self.kept, self.stepwise = np.empty_like(self.kept), []

    def _step(self, step: int) -> None:
        t, h = self._schedule.segment(step)
        y = self.y
        if self._schedule.is_kept(step):
            row = self._schedule.row_of(step) - self.first
            self.kept[row] = y
            self.stepwise.append(row)
        self._at, self._state = t, y
        try:
            if self._look is not None:
                self._look(step, t, y)
            self._rate(t, y, self._k)
            if self._schedule.integrator == "euler":
                self._euler(h)
            else:
                self._runge_kutta(t, h)
            self._state = y
            if self._repair is not None:
                self._repair(y)
        except RobolinError as error:
            raise self._failure(self._at, self.before, self._state, error) from error

    def _runge_kutta(self, t: float, h: float) -> None:
        y, k, total, work = self.y, self._k, self._total, self._work
        total[...] = k
        for share, weight in ((0.5, 2.0), (0.5, 2.0), (1.0, 1.0)):
            np.multiply(k, share * h, out=work)
            work += y
            self._at, self._state = t + share * h, work
            self._rate(self._at, work, k)
            np.multiply(k, weight, out=work)
            total += work
        total *= h / 6.0
        self.before[...] = y
        y += total

    def _euler(self, h: float) -> None:
        """All rates from the start of the step, but positions from the new velocities."""
        assert self._move is not None, "the integrator updates the positions"
        self.before[...] = self.y
        self._k *= h
        self._move(self.y, self._k, h)

    def _require_rates_at_end(self) -> None:
        """Raise if the rates of the last state fail: no later step would notice."""
        if self._failure.diverged(self.y):
            end = self._schedule.duration
            try:
                self._rate(end, self.y, self._k)
            except RobolinError as error:
                raise self._failure(end, self.before, self.y, error) from error


def adapted_steps(
    rate: Rate,
    y: Floats,
    schedule: Schedule,
    failure: Failure,
    along: Callable[[Any], None] | None = None,
) -> Floats:
    """Integrate with adaptive steps; return y at the stored times (rows, …).

    The dense output of the method gives the rows between steps.

    Args:
        rate: writes dy/dt
        y: the initial state
        schedule: duration, tolerances and rows
        failure: builds the errors
        along: called with the dense output, y as a function of t, after the last step
    """
    integrate = _solver()
    k, latest, evaluations = np.empty_like(y), [(0.0, y)], 0

    def slope(t: float, y: Floats) -> Floats:
        nonlocal evaluations
        evaluations += 1
        if evaluations > EVALUATION_BUDGET * max(1.0, t):
            raise failure.exhausted(*latest[0], evaluations - 1)
        try:
            rate(t, y, k)
        except RobolinError as error:
            raise failure(t, latest[0][1], y, error) from error
        latest[0] = t, y
        update(t / schedule.duration)
        return k.copy()

    def jacobian(t: float, y: Floats) -> Floats:
        """Differences of the rate; those of SciPy grow without bound for cyclic coordinates."""
        base, columns = slope(t, y), np.empty((y.size, y.size))
        for i, h in enumerate(_DIFFERENCE * np.maximum(1.0, np.abs(y))):
            moved = y.copy()
            moved[i] += h
            columns[:, i] = (slope(t, moved) - base) / (moved[i] - y[i])
        latest[0] = t, y
        return columns

    implicit = {"jac": jacobian} if schedule.integrator == "radau" else {}
    with np.errstate(all="ignore"), running("simulating") as update:
        solution = integrate(
            slope,
            (0.0, schedule.duration),
            y,
            method=SCIPY_INTEGRATORS[schedule.integrator],
            t_eval=schedule.times(),
            rtol=schedule.relative,
            atol=schedule.absolute,
            dense_output=along is not None,
            **implicit,
        )
    if not solution.success:
        raise failure.stopped(*latest[0])
    if along is not None:
        along(solution.sol)
    motion: Floats = solution.y.T
    return motion


def _solver() -> Any:
    try:
        from scipy.integrate import solve_ivp
    except ImportError as error:
        raise RobolinError(
            "adaptive steps need SciPy, which is not installed",
            hint="pip install scipy, or use fixed steps with dt",
        ) from error
    return solve_ivp


# relative round-off of a number of steps, or of a sample time
_ROUNDING = 1e-9


class ZeroOrderHold:
    """Zero-order hold: the torque of the last sample; integrals grow from sample to sample."""

    depends_on_state = False

    def __init__(self, law: StateFeedback, dt: float, batch: tuple[int, ...]) -> None:
        self._law, self._dt = law, dt
        self._torques: list[Floats] = []
        self._integrals = [np.zeros((*batch, law.memory))]

    def sample(self, t: float, q: Floats, qd: Floats) -> None:
        """Sample the state and update the torque."""
        now = self._integrals[-1]
        self._torques.append(self._law.with_integrals(now)(t, q, qd))
        self._integrals.append(now + self._dt * self._law.memory_rate(t, q, qd, now))

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self._torques[-1]

    def integrals_at(self, t: float) -> Floats:
        """The integrals (..., i) at a time up to the last sample, and after it."""
        return self._integrals[int(t / self._dt + _ROUNDING)]

    def history(self) -> HeldTorqueHistory:
        """All torques and integrals, after the motion."""
        return HeldTorqueHistory(self._dt, self._torques, self._integrals)


@dataclass(frozen=True, eq=False)
class HeldTorqueHistory:
    """Torques of all samples; the last one also applies at the end of the motion."""

    dt: float
    torques: list[Floats]
    integrals: list[Floats]
    depends_on_state: bool = False

    def _sample(self, t: float) -> int:
        return int(t / self.dt + _ROUNDING)

    def __call__(self, t: float, q: Floats, qd: Floats) -> Floats:
        return self.torques[min(self._sample(t), len(self.torques) - 1)]

    def integrals_at(self, time: Floats) -> Floats:
        """The integrals (rows, …) at these times."""
        return np.stack([self.integrals[self._sample(t)] for t in time.tolist()])


def steps_between(schedule: Schedule, dt: float) -> int:
    """Number of integrator steps per sample."""
    if not schedule.fixed:
        hint = "omit the tolerance and use rk4"
        raise UsageError(
            "sampled control (zero-order hold) requires an integrator with fixed steps", hint=hint
        )
    step = schedule.dt or DEFAULT_DT
    count = max(1, round(dt / step))
    if abs(count * step - dt) > _ROUNDING * dt:
        fitting = dt / max(1, ceil(dt / step))
        message = f"steps of {step:g} s do not divide the sample time of {dt:g} s"
        raise UsageError(message, where="dt", hint=f"use {fitting:g} s")
    return count


def fitting_schedule(schedule: Schedule, dt: float) -> Schedule:
    """A schedule whose default step divides dt; an explicit step is unchanged."""
    if schedule.dt is not None or not schedule.fixed:
        return schedule
    return replace(schedule, dt=dt / max(1, ceil(dt / DEFAULT_DT - _ROUNDING)))
