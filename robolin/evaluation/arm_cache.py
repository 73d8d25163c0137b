"""What is worked out about an arm once, and kept with it."""

from __future__ import annotations

from typing import Any

from robolin.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.parameters import Parameters, parameters_of
from robolin.kept_with import kept_with


class ArmCache:
    """The numbers of an arm, which algorithm answers which question on it, and kernels for them."""

    def __init__(self, arm: Arm) -> None:
        self.parameters: Parameters = parameters_of(arm)
        self.names: dict[tuple[str, str], str] = {}
        self.plans: dict[str, Any] = {}
        self._tables: Any = None

    def plan(self, name: str) -> Any:
        """The kernel of an algorithm for this arm; compiled, if it must be."""
        from robolin.engine.compiled.plan import Plan, arm_tables, recipe_for

        if name in self.plans:
            return self.plans[name]
        self._tables = self._tables or arm_tables(self.parameters)
        recipe = recipe_for(name, ALGORITHMS[name], self._tables)
        return self.plans.setdefault(name, Plan(self._tables, recipe))


def arm_cache(arm: Arm) -> ArmCache:
    """The arm's own cache, made when it is first asked for."""
    return kept_with(arm, "evaluation", ArmCache)
