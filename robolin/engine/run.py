"""One call for every algorithm on numbers of any kind: a state or a batch in, named arrays out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from robolin.algebra.axes import Shape
from robolin.algebra.scalar import Scalar
from robolin.arrays import Arrays
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import Parameters
from robolin.engine.shortfall import Shortfall


class Ran(NamedTuple):
    """What an algorithm gave.

    shortfalls: the joints that had no inertia
    divides:    whether it divides by the inertia of joints
    """

    arrays: Arrays
    shortfalls: list[Shortfall]
    divides: bool


def run_on(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    gives: Mapping[str, Shape],
    inputs: Mapping[str, np.ndarray],
    number: Callable[[float], Scalar] = float,
) -> Ran:
    """Results of shape batch + axes for values (..., n), in public order.

    Leading axes broadcast and come back in front.  Values are floats, complex numbers or objects of
    a number type, which `number` makes of the arm's own numbers.
    """
    names = list(inputs)
    arrays = np.broadcast_arrays(*inputs.values())
    batch, kind = arrays[0].shape[:-1], np.result_type(float, *arrays)
    n = len(parameters.order)
    given = {name: _columns(array, n) for name, array in zip(names, arrays, strict=True)}

    chain = DirectChain(parameters, given, number, gives)
    with np.errstate(all="ignore"):
        algorithm(chain)
    results = {
        name: gathered_array(
            chain.results.get(name, {}),
            batch,
            parameters.sizes(shape),
            kind,
        )
        for name, shape in gives.items()
    }
    return Ran(results, chain.shortfalls, chain.divides)


def _columns(array: np.ndarray, n: int) -> Sequence[Any]:
    """The values of each joint: plain numbers in one state, one array for all states of a batch."""
    if array.ndim == 1:
        values: list[Any] = array.tolist()
        return values
    return list(np.ascontiguousarray(array.reshape(-1, n).T))


def gathered_array(
    entries: Mapping[tuple[int, ...], Scalar],
    batch: tuple[int, ...],
    shape: tuple[int, ...],
    kind: Any = float,
) -> np.ndarray:
    """Entries by public index as one array, batch axes first."""
    result = np.zeros((*shape, int(np.prod(batch))), dtype=kind)
    for index, value in entries.items():
        result[index] = value
    # adding nothing turns -0.0 into 0.0: a result has one zero only
    return np.ascontiguousarray(np.moveaxis(result, -1, 0)).reshape(batch + shape) + 0.0
