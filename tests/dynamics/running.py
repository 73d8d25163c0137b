"""Run an algorithm on other number types, and measure the difference of two results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.evaluation.evaluate import arm_cache


def run_on(
    arm: Arm, algorithm: str, inputs: Mapping[str, Any], number: Any = float
) -> dict[str, np.ndarray]:
    """Run an algorithm of the catalogue on numbers of any type: floats, complex, mpmath.

    Each input is an array (..., n) of such numbers, each result an array (..., n, …) of the same.
    """
    entry = ALGORITHMS[algorithm]
    values = {name: np.asarray(value) for name, value in inputs.items()}
    ran = run.run_on(arm_cache(arm).parameters, entry.run, entry.gives, values, number)
    assert not ran.shortfalls
    return ran.arrays


# far below the square root of the smallest number, far above the smallest number
STEP = 1e-30


def complex_step(
    arm: Arm, algorithm: str, inputs: Mapping[str, np.ndarray], along: str
) -> dict[str, np.ndarray]:
    """∂result/∂along, exact to rounding: the last axis counts the entries of `along`."""
    steps = {name: np.asarray(values)[..., None, :] for name, values in inputs.items()}
    steps[along] = steps[along] + 1j * STEP * np.eye(arm.n)
    moved = run_on(arm, algorithm, steps)
    return {
        name: np.moveaxis(values.imag / STEP, -1 - len(ALGORITHMS[algorithm].gives[name]), -1)
        for name, values in moved.items()
    }


def complex_step_along(
    arm: Arm,
    algorithm: str,
    inputs: Mapping[str, np.ndarray],
    directions: Mapping[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """The change of every result when the inputs named in `directions` move along them."""
    moved = {
        name: values + 1j * STEP * directions[name] if name in directions else values
        for name, values in inputs.items()
    }
    return {name: x.imag / STEP for name, x in run_on(arm, algorithm, moved).items()}


def gap(
    computed: np.ndarray,
    true: np.ndarray | float,
    made_of: float = 0.0,
    beside: np.ndarray | None = None,
) -> float:
    """The largest difference relative to the largest entry, over all states of one arm.

    One state alone may be small because its terms cancel, while the round-off is relative to the
    terms; the states of one arm together have the size of the terms. If all states can cancel, as
    the Coriolis forces of a single joint do, `made_of` is the size of the terms. `beside` holds all
    states if `true` has only one of them.
    """
    size = max(float(np.abs(true if beside is None else beside).max()), made_of)
    return float(np.abs(computed - true).max()) / (size or 1.0)


# results below this fraction of their terms are numerically zero
NOTHING = 1e-10


def gap_by_state(
    computed: np.ndarray, true: np.ndarray, made_of: np.ndarray | float = 0.0
) -> np.ndarray:
    """The largest difference relative to the largest entry, for each state.

    Only a result that is zero to round-off is measured relative to its terms.
    """
    axes = tuple(range(1, np.ndim(true)))
    size = np.abs(true).max(axis=axes)
    size = np.where(size > NOTHING * np.asarray(made_of), size, made_of)
    return np.abs(computed - true).max(axis=axes) / np.where(size == 0.0, 1.0, size)


def inertia_bound(arm: Arm) -> float:
    """An upper bound of the arm's inertia about its base in any pose with |q| ≤ 1.5, kg m²."""
    total, reach = 0.0, {arm.base: 0.0}
    for k in range(arm.base - 1, 0, -1):
        link = arm.link(k)
        slide = 0.0 if link.joint.turns else 1.5
        reach[k] = reach[link.parent] + slide + float(np.linalg.norm(link.joint.pose.translation))
        distance = reach[k] + float(np.linalg.norm(link.inertia.com))
        xx, _, _, yy, _, zz = link.inertia.rotary
        total += xx + yy + zz + link.inertia.mass * distance**2
    return total
