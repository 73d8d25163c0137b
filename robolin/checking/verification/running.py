"""Run an algorithm on any number type: floats, complex steps, 50-digit decimals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import parameters_of
from robolin.engine.run import AlgorithmRun

# far below the square root of the smallest double, far above the smallest double
STEP = 1e-30


def run_for_check(
    arm: Arm, name: str, inputs: Mapping[str, Floats], number: Any = float
) -> AlgorithmRun:
    """Run an algorithm; inputs have shape (..., n), results (..., …) of the same number type."""
    algorithm = ALGORITHMS[name]
    values = {need: np.asarray(inputs[need]) for need in algorithm.needs}
    return run.run_on(parameters_of(arm), algorithm.run, algorithm.gives, values, number)
