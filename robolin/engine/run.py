"""One call for every algorithm on numbers of any kind: a state or a batch in, named arrays out."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from robolin.core.arrays import Arrays
from robolin.dynamics.algebra.comparison import Shape
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.direct import DirectChain
from robolin.engine.direct_storage import Entries, Reduce
from robolin.engine.operation_graph import (
    ADDITION,
    COSINE_OF,
    DIVISION,
    MULTIPLICATION,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
    GraphNumber,
    OperationGraph,
    ancestors,
)
from robolin.engine.operation_tally import TalliedEntries, TalliedNumber
from robolin.engine.parameters import Parameters
from robolin.engine.singular_pivot import SingularPivot

# so many states take less time one after the other, as plain numbers, than as arrays of them
MAX_SCALAR_STATES = 3


class AlgorithmRun(NamedTuple):
    """What an algorithm gave.

    shortfalls: the joints that had no inertia
    divides:    whether it divides by the inertia of joints
    """

    arrays: Arrays
    shortfalls: list[SingularPivot]
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
    arrays = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
    first = next(iter(arrays.values()))
    batch, kind = first.shape[:-1], np.result_type(float, *arrays.values())
    together = partial(_run_together, parameters, algorithm, gives, number=number)
    if kind.hasobject or not 0 < prod(batch) <= MAX_SCALAR_STATES:
        return together(arrays)
    rows = [
        {name: array.reshape(-1, array.shape[-1])[row] for name, array in arrays.items()}
        for row in range(prod(batch))
    ]
    try:
        return _stacked([together(row) for row in rows], batch)
    except ArithmeticError:
        # plain numbers refuse to be divided by zero; arrays of them are infinite, and told of
        some = {name: np.stack([row[name] for row in rows]) for name in arrays}
        return _in_shape(together(some), batch)


def _run_together(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    gives: Mapping[str, Shape],
    arrays: Mapping[str, np.ndarray],
    number: Callable[[float], Scalar],
) -> AlgorithmRun:
    """Results of one state on plain numbers, of a batch on arrays with a number for each state."""
    first = next(iter(arrays.values()))
    batch, kind = first.shape[:-1], np.result_type(float, *arrays.values())
    given = {name: _columns(array, len(parameters.order)) for name, array in arrays.items()}

    chain = DirectChain(parameters, given, number, gives)
    with np.errstate(all="ignore"):
        algorithm(chain)
    found = chain.results
    results = {
        name: gathered_array(found.get(name, {}), batch, parameters.sizes(shape), kind)
        for name, shape in gives.items()
    }
    return AlgorithmRun(results, chain.shortfalls, chain.divides)


def _stacked(states: Sequence[AlgorithmRun], batch: tuple[int, ...]) -> AlgorithmRun:
    """What a batch gave whose states were run one by one."""
    if not batch:
        return states[0]
    results = {name: np.stack([each.arrays[name] for each in states]) for name in states[0].arrays}
    divides = any(each.divides for each in states)
    return _in_shape(AlgorithmRun(results, _of_all(states), divides), batch)


def _of_all(states: Sequence[AlgorithmRun]) -> list[SingularPivot]:
    """Every shortfall once, with all states that have it."""
    found: dict[tuple[str, str], list[tuple[int, SingularPivot]]] = {}
    for row, state in enumerate(states):
        for each in state.shortfalls:
            found.setdefault((each.joint, each.result), []).append((row, each))
    return [
        replace(
            same[0][1],
            negative=any(each.negative for _, each in same),
            rows=np.array([row for row, _ in same]),
        )
        for same in found.values()
    ]


def _in_shape(run: AlgorithmRun, batch: tuple[int, ...]) -> AlgorithmRun:
    """What states in one row gave, with the axes of their batch; of one state without any."""
    arrays = {name: array.reshape(batch + array.shape[1:]) for name, array in run.arrays.items()}
    shortfalls = run.shortfalls if batch else [replace(each, rows=None) for each in run.shortfalls]
    return run._replace(arrays=arrays, shortfalls=shortfalls)


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


# what is done twice costs twice, unless the algorithm itself keeps what it has
_UNSHARED = OperationGraph(shares=False)

# what a kind of node costs; the others are free
_COUNTED_AS = {
    ADDITION: "addition",
    MULTIPLICATION: "multiplication",
    DIVISION: "division",
    ROOT_OF: "root",
    SINE_OF: "function",
    COSINE_OF: "function",
    TANH_OF: "function",
}


def unknown_number() -> GraphNumber:
    """A number that knows only how others are made from it."""
    return _UNSHARED.input()


@dataclass(frozen=True)
class Cost:
    """Operations of one algorithm on one arm; placing the links in space counted apart."""

    algorithm: Counter[str]
    kinematics: Counter[str]

    @property
    def total(self) -> Counter[str]:
        return self.algorithm + self.kinematics


class CountingChain(DirectChain):
    """A chain whose constants and inputs only count; losses and rotors that are absent are free."""

    def __init__(
        self,
        parameters: Parameters,
        names: Sequence[str],
        shapes: Mapping[str, Shape] | None = None,
        unknown: Callable[[], Scalar] = unknown_number,
    ) -> None:
        inputs = {name: [unknown() for _ in parameters.order] for name in names}
        super().__init__(parameters, inputs, number=lambda value: unknown(), shapes=shapes)

    def positive(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return value

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        return value

    def armature(self, k: int) -> Scalar:
        return self._absent_or_count(self._rows[k - 1].armature)

    def damping(self, k: int) -> Scalar:
        return self._absent_or_count(self._rows[k - 1].damping)

    def friction(self, k: int) -> Scalar:
        return self._absent_or_count(self._rows[k - 1].friction)

    def _absent_or_count(self, value: float) -> Scalar:
        return self._number(value) if value else 0.0

    def stiffness(self, k: int) -> Scalar:
        return self._absent_or_count(self._rows[k - 1].stiffness)

    def rest(self, k: int) -> Scalar:
        return self._absent_or_count(self._rows[k - 1].rest)

    def friction_bias(self, k: int) -> Scalar:
        return self._absent_or_count(self._rows[k - 1].friction_bias)


class TallyingChain(CountingChain):
    """The same, of numbers that are counted as results need them and kept no longer."""

    def __init__(
        self, parameters: Parameters, names: Sequence[str], shapes: Mapping[str, Shape] | None
    ) -> None:
        super().__init__(parameters, names, shapes, TalliedNumber)
        self.counts = Counter[tuple[str, str]]()

    def _entries(self, reduced: Reduce | None) -> Entries:
        return TalliedEntries(reduced, self.counts)


def count_operations(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    names: Sequence[str],
    shapes: Mapping[str, Shape] | None = None,
) -> Cost:
    """Run the algorithm on counters and add up what its results need."""
    chain = TallyingChain(parameters, names, shapes)
    # numbers are never part of a cycle, and looking for cycles takes most of the time
    collects = gc.isenabled()
    gc.disable()
    try:
        algorithm(chain)
    finally:
        if collects:
            gc.enable()
    return _cost(chain.counts)


def cost_of(results: Iterable[Any]) -> Cost:
    """What results are made of: walk back from them and count every operation once."""
    return _cost(Counter((number.phase, number.kind) for number in ancestors(results)))


def _cost(counts: Counter[tuple[str, str]]) -> Cost:
    found = {"algorithm": Counter[str](), "kinematics": Counter[str]()}
    for (phase, kind), count in counts.items():
        if kind in _COUNTED_AS:
            found[phase][_COUNTED_AS[kind]] += count
    return Cost(found["algorithm"], found["kinematics"])
