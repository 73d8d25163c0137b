"""Complex-step derivatives of an algorithm, exact to round-off.

Positions move along velocities.  For single-DoF joints that is along q itself;
a multi-DoF joint moves along its twist, as in robolin's derivatives.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from robolin.checking.verification.bodies import coordinate_rates
from robolin.checking.verification.running import STEP, run_for_check
from robolin.core.arm import Arm
from robolin.core.arrays import Floats


def complex_step(
    arm: Arm, name: str, inputs: Mapping[str, Floats], along: str
) -> Mapping[str, Floats]:
    """∂result/∂along, exact to round-off: the last axis is that of `along`."""
    steps = {need: values[:, None, :] for need, values in inputs.items()}
    ways = np.eye(arm.n)
    if along == "q":
        ways = coordinate_rates(arm, steps["q"], ways)
    steps[along] = steps[along] + 1j * STEP * ways
    moved = run_for_check(arm, name, steps).arrays
    return {result: np.moveaxis(values.imag / STEP, 1, -1) for result, values in moved.items()}


def complex_step_along(
    arm: Arm, name: str, inputs: Mapping[str, Floats], directions: Mapping[str, Floats]
) -> Mapping[str, Floats]:
    """Directional derivative of every result along `directions` of the inputs."""
    moved = dict(inputs)
    for need, way in directions.items():
        direction = coordinate_rates(arm, inputs["q"], way) if need == "q" else way
        moved[need] = inputs[need] + 1j * STEP * direction
    return {result: x.imag / STEP for result, x in run_for_check(arm, name, moved).arrays.items()}
