"""An algorithm of the catalogue on numbers of any kind: floats, complex steps, 50 digits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from robolin.algebra.axes import sizes
from robolin.algebra.scalar import Scalar
from robolin.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct import DirectChain, Shortfall
from robolin.engine.parameters import parameters_of
from robolin.verification.checks import Array

# far below the square root of the smallest number, far above the smallest number
STEP = 1e-30


@dataclass(frozen=True)
class Ran:
    """What an algorithm gave.

    divides:    whether it divided by the inertia of a joint
    shortfalls: the joints that had none
    """

    arrays: Mapping[str, Array]
    divides: bool
    shortfalls: tuple[Shortfall, ...]


class _WatchedChain(DirectChain):
    """A chain that remembers whether inertia was divided by."""

    divides = False

    def positive(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        self.divides = True
        return super().positive(k, value, size)


def run_on(arm: Arm, name: str, given: Mapping[str, Array], number: Any = float) -> Ran:
    """Each input is an array (..., n) of numbers, each result an array (..., …) of the same."""
    algorithm = ALGORITHMS[name]
    values = np.broadcast_arrays(*(np.asarray(given[need]) for need in algorithm.needs))
    columns = {
        need: [array[..., i][()] for i in range(arm.n)]
        for need, array in zip(algorithm.needs, values, strict=True)
    }
    parameters = parameters_of(arm)
    chain = _WatchedChain(parameters, columns, number, algorithm.gives)
    with np.errstate(all="ignore"):
        run: Callable[[Any], None] = algorithm.run
        run(chain)
    batch, kind = values[0].shape[:-1], np.result_type(*values)
    arrays = {}
    for result, shape in algorithm.gives.items():
        axes = sizes(shape, arm.n, len(arm.links), parameters.closure_rows)
        array = np.zeros(batch + axes, dtype=kind)
        for index, value in chain.results.get(result, {}).items():
            place: Any = (..., *index)
            array[place] = value
        arrays[result] = array
    return Ran(arrays, chain.divides, tuple(chain.shortfalls))
