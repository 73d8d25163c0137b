"""Complex steps: derivatives of what an algorithm gives, exact to rounding.

Positions move along velocities.  For joints with one freedom that is along q itself; a body with
several moves along its twist, as its derivatives are told.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.checking.verification.bodies import coordinate_rates
from robolin.checking.verification.running import STEP, run_for_check
from robolin.core.arm import Arm
from robolin.core.arrays import Floats


def complex_step(
    arm: Arm, name: str, given: Mapping[str, Floats], along: str
) -> Mapping[str, Floats]:
    """∂result/∂along, exact to rounding: the last axis counts the entries of `along`."""
    steps = {need: values[:, None, :] for need, values in given.items()}
    ways = np.eye(arm.n)
    if along == "q":
        ways = coordinate_rates(arm, steps["q"], ways)
    steps[along] = steps[along] + 1j * STEP * ways
    moved = run_for_check(arm, name, steps).arrays
    return {result: np.moveaxis(values.imag / STEP, 1, -1) for result, values in moved.items()}


def complex_step_along(
    arm: Arm, name: str, given: Mapping[str, Floats], directions: Mapping[str, Floats]
) -> Mapping[str, Floats]:
    """How every result changes when the inputs named in `directions` move along them."""
    moved = dict(given)
    for need, way in directions.items():
        direction = coordinate_rates(arm, given["q"], way) if need == "q" else way
        moved[need] = given[need] + 1j * STEP * direction
    return {result: x.imag / STEP for result, x in run_for_check(arm, name, moved).arrays.items()}
