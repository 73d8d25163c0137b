"""Schedule of a simulation: steps and stored times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, isfinite
from typing import Any

import numpy as np

from robolin.core.arrays import require_real
from robolin.core.choices import FIXED_STEPS, Integrator
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.errors import UsageError

INTEGRATOR_NAMES: Mapping[Integrator, str] = {
    "rk4": "Runge–Kutta of order 4",
    "euler": "semi-implicit Euler",
    "dop853": "Dormand–Prince 8(5,3)",
    "rk45": "Dormand–Prince 5(4)",
    "radau": "Radau IIA of order 5",
}

DEFAULT_DT = 1e-3
DEFAULT_RTOL = 1e-9
DEFAULT_ROWS = 101
MOST_STEPS = 100_000_000

# a last step shorter than this fraction of the others is round-off of duration / dt
_SLIVER = 1e-9
# smallest relative tolerance that double precision can meet
_TIGHTEST = 1e-13


@dataclass(frozen=True)
class Schedule:
    """Duration, step sizes and stored rows of a simulation.

    dt:    step of rk4 and euler; with adaptive steps, the time between rows
    every: fixed steps store every n-th step, the first and the last; None stores only these two
    rows:  number of rows with adaptive steps
    """

    duration: float
    integrator: Integrator = "rk4"
    dt: float | None = None
    rtol: float | None = None
    atol: float | None = None
    every: int | None = 1
    rows: int | None = None

    @property
    def fixed(self) -> bool:
        return self.integrator in FIXED_STEPS

    @property
    def steps(self) -> int:
        """Number of steps of dt to the end; the last one may be shorter."""
        return max(1, ceil(self.duration / self.step - _SLIVER))

    @property
    def step(self) -> float:
        """The fixed step; the last one may be shorter."""
        return DEFAULT_DT if self.dt is None else self.dt

    @property
    def longest(self) -> float:
        """The longest fixed step."""
        return min(self.step, self.duration)

    @property
    def relative(self) -> float:
        """Relative tolerance of each step."""
        return DEFAULT_RTOL if self.rtol is None else self.rtol

    @property
    def absolute(self) -> float:
        """Absolute tolerance of each step."""
        return self.relative if self.atol is None else self.atol

    def with_steps(self, factor: float) -> Schedule:
        """A schedule with steps scaled by 2 or 1/2, or tolerances by 10 or 1/10; two rows."""
        if self.fixed:
            return replace(self, dt=factor * self.step, every=None)
        wider = 5.0 * factor if factor > 1.0 else factor / 5.0
        rtol = max(_TIGHTEST, wider * self.relative)
        return replace(self, dt=None, rows=2, rtol=rtol, atol=wider * self.absolute)

    def times(self) -> Any:
        """The times of the rows, from 0 to the duration."""
        if self.fixed or (self.rows is None and self.dt is not None):
            apart = (self.every or self.steps) if self.fixed else 1
            return np.append(np.arange(0, self.steps, apart) * self.step, self.duration)
        return np.linspace(0.0, self.duration, self.rows or DEFAULT_ROWS)

    def times_of(self, rows: slice) -> Any:
        """The times of consecutive rows of fixed steps."""
        apart, last = self.every or self.steps, self.stored_rows - 1
        steps = np.arange(rows.start, min(rows.stop, last)) * apart
        end = [self.duration] if rows.stop > last else []
        return np.append(steps * self.step, end)

    def is_kept(self, step: int) -> bool:
        """Return whether the time after this number of steps, before the end, is stored."""
        return step % self.every == 0 if self.every else step == 0

    @property
    def stored_rows(self) -> int:
        """Number of stored rows with fixed steps, the last state included."""
        return 1 + (-(-self.steps // self.every) if self.every else 1)

    def row_of(self, step: int) -> int:
        """Row of a stored step."""
        return step // self.every if self.every else 0

    def segment(self, step: int) -> tuple[float, float]:
        """Start time and length of a fixed step."""
        start = step * self.step
        return start, self.duration - start if step == self.steps - 1 else self.step

    def long_step_text(self) -> str:
        """A warning if the fixed step is longer than the simulation."""
        if not self.fixed or self.step * (1.0 - _SLIVER) <= self.duration:
            return ""
        return (
            f"dt = {self.step:g} s is longer than the duration of {self.duration:g} s, so the "
            "simulation has one step of this duration"
        )

    def settings_text(self) -> str:
        """Describe the integrator and its settings."""
        name = INTEGRATOR_NAMES[self.integrator]
        if self.fixed:
            steps = pluralize(self.steps, "step")
            return f"{name}, dt = {self.longest:g} s, {steps}"
        return f"{name}, rtol = {self.relative:g}, atol = {self.absolute:g}"


def scheduled(
    duration: float,
    integrator: Integrator | None,
    dt: float | None,
    rtol: float | None,
    atol: float | None,
    every: int | None,
    rows: int | None,
) -> Schedule:
    """Build a schedule from these settings; a tolerance selects adaptive steps."""
    chosen = integrator or ("rk4" if rtol is None and atol is None else "dop853")
    if chosen not in tuple(INTEGRATOR_NAMES):
        hint = f"integrators: {', '.join(INTEGRATOR_NAMES)}"
        raise UsageError(f"unknown integrator '{chosen}'", where="integrator", hint=hint)
    optional = {"dt": dt, "rtol": rtol, "atol": atol}
    numbers = {name: value for name, value in optional.items() if value is not None}
    require_real(duration=duration, **numbers)
    for name, value in (("duration", duration), ("dt", dt), ("rtol", rtol), ("atol", atol)):
        if value is not None and not (isfinite(value) and value > 0.0):
            raise UsageError(f"{name}: must be > 0, got {value:g}")
    for name, count, least in (("every", every, 1), ("rows", rows, 2)):
        if count is not None and (not isinstance(count, int) or count < least):
            raise UsageError(f"{name}: must be an integer ≥ {least}, got {count!r}")
    schedule = Schedule(duration, chosen, dt, rtol, atol, every, rows)
    _require_consistent(schedule)
    return schedule


def _require_consistent(schedule: Schedule) -> None:
    if schedule.fixed and (schedule.rtol or schedule.atol):
        hint = "omit the tolerance, or use dop853, rk45 or radau"
        message = f"{schedule.integrator} has fixed steps and no tolerance"
        raise UsageError(message, where="rtol", hint=hint)
    if schedule.fixed and schedule.rows:
        hint = "use every=N (--every N) to store every N-th step"
        message = f"{schedule.integrator} has fixed steps, so the number of rows cannot be set"
        raise UsageError(message, where="rows", hint=hint)
    if not schedule.fixed and schedule.every not in (None, 1):
        hint = "for adaptive steps, set rows, or dt as the time between rows"
        raise UsageError("every: applies only to integrators with fixed steps", hint=hint)
    if schedule.rows and schedule.dt:
        raise UsageError("dt and rows cannot be combined", where="rows")
    if not schedule.fixed and schedule.relative < _TIGHTEST:
        hint = f"use at least {_TIGHTEST:g}, the limit of double precision"
        raise UsageError(f"rtol: must be ≥ {_TIGHTEST:g}, got {schedule.relative:g}", hint=hint)
    if schedule.duration / schedule.step > MOST_STEPS:
        message = f"the simulation would have more than {MOST_STEPS} steps"
        raise UsageError(message, where="dt", hint="use a larger dt")
