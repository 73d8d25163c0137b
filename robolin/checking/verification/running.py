"""An algorithm of the catalogue on numbers of any kind: floats, complex steps, 50 digits."""

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

# far below the square root of the smallest number, far above the smallest number
STEP = 1e-30


def run_for_check(
    arm: Arm, name: str, given: Mapping[str, Floats], number: Any = float
) -> AlgorithmRun:
    """Each input is an array (..., n) of numbers, each result an array (..., …) of the same."""
    algorithm = ALGORITHMS[name]
    values = {need: np.asarray(given[need]) for need in algorithm.needs}
    return run.run_on(parameters_of(arm), algorithm.run, algorithm.gives, values, number)
