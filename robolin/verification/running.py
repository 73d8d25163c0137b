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
    chain = _WatchedChain(parameters_of(arm), columns, number, algorithm.gives)
    with np.errstate(all="ignore"):
        algorithm.run(chain)
    batch, kind = values[0].shape[:-1], np.result_type(*values)
    arrays = {}
    for result, shape in algorithm.gives.items():
        array = np.zeros(batch + sizes(shape, arm.n, len(arm.links)), dtype=kind)
        for index, value in chain.results.get(result, {}).items():
            array[(..., *index)] = value
        arrays[result] = array
    return Ran(arrays, chain.divides, tuple(chain.shortfalls))


def complex_step(
    arm: Arm, name: str, given: Mapping[str, Array], along: str
) -> Mapping[str, Array]:
    """∂result/∂along, exact to rounding: the last axis counts the entries of `along`."""
    steps = {need: values[:, None, :] for need, values in given.items()}
    steps[along] = steps[along] + 1j * STEP * np.eye(arm.n)
    moved = run_on(arm, name, steps).arrays
    return {result: np.moveaxis(values.imag / STEP, 1, -1) for result, values in moved.items()}


def complex_step_along(
    arm: Arm, name: str, given: Mapping[str, Array], directions: Mapping[str, Array]
) -> Mapping[str, Array]:
    """How every result changes when the inputs named in `directions` move along them."""
    moved = dict(given)
    for need, direction in directions.items():
        moved[need] = given[need] + 1j * STEP * direction
    return {result: x.imag / STEP for result, x in run_on(arm, name, moved).arrays.items()}
