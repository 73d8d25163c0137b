"""What is worked out about an arm once, and kept with it."""

from __future__ import annotations

from typing import Any

from robolin.arm import Arm, kept_with
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters, parameters_of
from robolin.evaluation.quick_calls import QuickCall, quick_call_of

# lanes of the kernels that are called for one state at a time
NARROWEST = 2


class ArmCache:
    """The numbers of an arm, which algorithm answers which question on it, and kernels for them."""

    def __init__(self, arm: Arm) -> None:
        self.parameters: Parameters = parameters_of(arm)
        self.names: dict[tuple[str, str], str] = {}
        self.plans: dict[str, Any] = {}
        self._calls_so_far: dict[str, int] = {}
        self._narrow_plans: dict[str, Any] = {}
        self._calls: dict[str, QuickCall] = {}
        self._tables: Any = None

    def count_call(self, name: str) -> int:
        """How often an algorithm ran without a kernel, this time included."""
        self._calls_so_far[name] = self._calls_so_far.get(name, 0) + 1
        return self._calls_so_far[name]

    def plan(self, name: str) -> Any:
        """The kernel of an algorithm for this arm; compiled, if it must be."""
        if name not in self.plans:
            self.plans.setdefault(name, self._plan_of(self._recipe(name)))
        return self.plans[name]

    def narrow_plan(self, name: str) -> Any:
        """The same on the narrowest lanes, which are the quickest for one state."""
        if name not in self._narrow_plans:
            plan = self._plan_of(self._recipe(name, NARROWEST))
            self._narrow_plans.setdefault(name, plan)
        return self._narrow_plans[name]

    def _recipe(self, name: str, width: int | None = None) -> Any:
        from robolin.engine.compiled.plan import arm_tables, recipe_for

        self._tables = self._tables or arm_tables(self.parameters)
        return recipe_for(name, ALGORITHMS[name], self._tables, width)

    def _plan_of(self, recipe: Any) -> Any:
        from robolin.engine.compiled.plan import Plan

        return Plan(self._tables, recipe)

    def quick_call(self, name: str) -> QuickCall:
        """The quick call of an algorithm, on narrow lanes unless those had to be compiled."""
        call = self._calls.get(name)
        if call is None:
            from robolin.engine.compiled.kernels import at_hand

            narrow = at_hand(self._recipe(name, NARROWEST))
            plan = self.narrow_plan(name) if narrow else self.plan(name)
            call = self._calls.setdefault(name, quick_call_of(plan))
        return call


def arm_cache(arm: Arm) -> ArmCache:
    """The arm's own cache, made when it is first asked for."""
    return kept_with(arm, "evaluation", ArmCache)
