"""One call for every algorithm on numbers of any kind: a state or a batch in, named arrays out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from robolin.algebra.axes import Shape
from robolin.algebra.scalar import Scalar
from robolin.arrays import Arrays
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import Parameters
from robolin.engine.shortfall import Shortfall

# so many states take less time one after the other, as plain numbers, than as arrays of them
MOST_ONE_BY_ONE = 3


class AlgorithmRun(NamedTuple):
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
) -> AlgorithmRun:
    """Results of shape batch + axes for values (..., n), in public order.

    Leading axes broadcast and come back in front.  Values are floats, complex numbers or objects of
    a number type, which `number` makes of the arm's own numbers.
    """
    names = list(inputs)
    arrays = np.broadcast_arrays(*inputs.values())
    batch, kind = arrays[0].shape[:-1], np.result_type(float, *arrays)
    n = len(parameters.order)
    if batch and 0 < prod(batch) <= MOST_ONE_BY_ONE and not kind.hasobject:
        rows = [dict(zip(names, row, strict=True)) for row in _rows(arrays, n)]
        # arrays are infinite where plain numbers refuse to be divided by zero
        with suppress(ArithmeticError):
            each = [run_on(parameters, algorithm, gives, row, number) for row in rows]
            return _stacked(each, batch)
    given = {name: _columns(array, n) for name, array in zip(names, arrays, strict=True)}

    chain = DirectChain(parameters, given, number, gives)
    with np.errstate(all="ignore"):
        algorithm(chain)
    found = chain.results
    results = {
        name: gathered_array(
            found.get(name, {}),
            batch,
            parameters.sizes(shape),
            kind,
        )
        for name, shape in gives.items()
    }
    return AlgorithmRun(results, chain.shortfalls, chain.divides)


def _rows(arrays: Sequence[np.ndarray], n: int) -> Iterable[tuple[np.ndarray, ...]]:
    return zip(*(array.reshape(-1, n) for array in arrays), strict=True)


def _stacked(states: Sequence[AlgorithmRun], batch: tuple[int, ...]) -> AlgorithmRun:
    """What a batch gave whose states were run one by one."""
    results = {
        name: np.stack([state.arrays[name] for state in states]).reshape(batch + first.shape)
        for name, first in states[0].arrays.items()
    }
    shortfalls = [
        replace(shortfall, rows=np.array([row]))
        for row, state in enumerate(states)
        for shortfall in state.shortfalls
    ]
    return AlgorithmRun(results, shortfalls, any(state.divides for state in states))


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
    result = np.zeros((*shape, prod(batch)) if batch else shape, dtype=kind)
    for index, value in entries.items():
        result[index] = value
    if batch:
        result = np.ascontiguousarray(np.moveaxis(result, -1, 0)).reshape(batch + shape)
    # adding nothing turns -0.0 into 0.0: a result has one zero only
    return result + 0.0
