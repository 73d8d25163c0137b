"""Running an algorithm on lanes of a given width, in memory of a given kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.dynamics.algorithm import Algorithm
from robolin.engine.compiled.plan import Plan, arm_tables, kernel_spec
from robolin.engine.parameters import parameters_of as parameters

WIDTHS = (2, 4, 8)


def plan_for(
    arm: Arm,
    name: str,
    algorithm: Algorithm,
    width: int | None = None,
    optimized: bool | None = None,
) -> Plan:
    """A kernel for the arm; width None is the host's own."""
    tables = arm_tables(parameters(arm))
    return Plan(tables, kernel_spec(name, algorithm, tables, width, optimized))


def on_lanes(
    arm: Arm,
    name: str,
    algorithm: Algorithm,
    states: Mapping[str, np.ndarray],
    *,
    width: int | None = None,
    optimized: bool | None = None,
    jobs: int = 1,
    chunk: int | None = None,
) -> tuple[dict[str, Any], np.ndarray]:
    """Results and status of every row of `states`, arrays (rows, n)."""
    inputs = [np.ascontiguousarray(states[each]) for each in algorithm.needs]
    plan = plan_for(arm, name, algorithm, width, optimized)
    return plan.call_batch(inputs, inputs[0].shape[:-1], jobs, chunk)
