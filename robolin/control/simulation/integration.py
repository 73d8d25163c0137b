"""Integration of a motion: steps, callbacks between the steps, and cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from robolin.control.simulation.equations import Equations
from robolin.control.simulation.integrators import Look, Repair, adapted_steps, fixed_steps
from robolin.control.simulation.running_cost import IntegralsAt, RunningCost
from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import FeedbackCost
from robolin.control.simulation.step_failure import StepFailure
from robolin.core.arrays import Floats

# projects q and q̇ onto the constraints
Project = Callable[[Floats, Floats], tuple[Floats, Floats]]


@dataclass(frozen=True, eq=False)
class Integration:
    """Equations of motion, their integrator, and callbacks between the steps.

    account:      accumulates the cost of a regulator
    project:      projects states onto the constraints after each fixed step
    look:         called before each step; samples held torques
    integrals_at: integrals of the control law that are not part of y
    """

    equations: Equations
    schedule: Schedule
    account: RunningCost | None = None
    project: Project | None = None
    look: Look | None = None
    integrals_at: IntegralsAt | None = None

    def steps(self, y: Floats) -> tuple[Floats, FeedbackCost | None]:
        """Integrate; return y at the stored times (rows, …) and the cost of the motion."""
        may_adapt = self.project is None and self.look is None
        failure = StepFailure(self.equations, self.schedule, may_adapt)
        rate, schedule, account = self.equations.rate, self.schedule, self.account
        if schedule.fixed:
            look = self.look if account is None else self._look
            kept = fixed_steps(rate, y, schedule, failure, self._repair(), look)
            if account is None:
                return kept, None
            return kept, account.after_steps(self.equations, kept[-1], self._integrals)
        if account is None:
            return adapted_steps(rate, y, schedule, failure), None
        costs: list[FeedbackCost | None] = []

        def along(solution: Any) -> None:
            costs.append(account.along(self.equations, solution))

        return adapted_steps(rate, y, schedule, failure, along), costs[0]

    def _look(self, step: int, t: float, y: Floats) -> None:
        assert self.account is not None, "without a cost there is nothing to add"
        if self.look is not None:
            self.look(step, t, y)
        self.account.look(self.equations, t, y, self._integrals)

    def _integrals(self, t: float, y: Floats) -> Floats:
        return self.equations.integrals(y) if self.integrals_at is None else self.integrals_at(t, y)

    def _repair(self) -> Repair | None:
        project = self.project
        if project is None:
            return None

        def repair(y: Floats) -> None:
            self.equations.replace(y, *project(*self.equations.state(y)))

        return repair
