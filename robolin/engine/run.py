"""Run any algorithm on one state or a batch, for any number type, and count its operations."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from robolin.core.arrays import Arrays, np, on_floats
from robolin.core.records import dataclass
from robolin.core.state_array import state_array
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algorithm import Shape
from robolin.engine.direct import DirectChain, SingularPivot
from robolin.engine.direct_storage import Entries, Reduce
from robolin.engine.parameters import Parameters

if TYPE_CHECKING:
    from robolin.engine.operation_graph import GraphNumber, OperationGraph

# up to this many states run faster one by one as floats than as arrays
MAX_SCALAR_STATES = 3
# rows of an array per number of an algorithm: the arrays of more rows leave the processor's caches
ROWS_AT_ONCE = 4096


class AlgorithmRun(NamedTuple):
    """Results of an algorithm.

    shortfalls: singular pivots, such as joints without inertia
    divides:    True if the algorithm divides by the inertia of joints
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
    """Run an algorithm on values (..., n) in public order; results have shape batch + axes.

    Leading axes are broadcast.  Values are floats, complex numbers or objects of a number type;
    `number` converts the arm's parameters to that type.
    """
    together = partial(_run_together, parameters, algorithm, gives, number=number)
    if number is float and on_floats(inputs):
        # without NumPy; division by zero is left to its arrays
        with suppress(ArithmeticError):
            return together(inputs)
    arrays = dict(zip(inputs, np.broadcast_arrays(*inputs.values()), strict=True))
    first = next(iter(arrays.values()))
    batch, kind = first.shape[:-1], np.result_type(float, *arrays.values())
    if kind.hasobject or not 0 < prod(batch) <= MAX_SCALAR_STATES:
        return _in_blocks(together, arrays, batch)
    rows = [
        {name: array.reshape(-1, array.shape[-1])[row] for name, array in arrays.items()}
        for row in range(prod(batch))
    ]
    try:
        return _stacked([together(row) for row in rows], batch)
    except ArithmeticError:
        # floats raise on division by zero; arrays give infinity, which is reported later
        stacked = {name: np.stack([row[name] for row in rows]) for name in arrays}
        return _in_shape(together(stacked), batch)


def _run_together(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    gives: Mapping[str, Shape],
    arrays: Mapping[str, np.ndarray],
    number: Callable[[float], Scalar],
) -> AlgorithmRun:
    """Run one state on floats, or a batch on arrays with one element per state."""
    columns = {name: _columns(array, len(parameters.order)) for name, array in arrays.items()}
    chain = DirectChain(parameters, columns, number, gives)
    if on_floats(arrays):
        algorithm(chain)
        state = {
            name: state_array(chain.results.get(name, {}), parameters.sizes(shape))
            for name, shape in gives.items()
        }
        return AlgorithmRun(state, chain.shortfalls, chain.divides)
    with np.errstate(all="ignore"):
        algorithm(chain)
    first, entries = next(iter(arrays.values())), chain.results
    batch, kind = first.shape[:-1], np.result_type(float, *arrays.values())
    results = {
        name: gathered_array(entries.get(name, {}), batch, parameters.sizes(shape), kind)
        for name, shape in gives.items()
    }
    return AlgorithmRun(results, chain.shortfalls, chain.divides)


def _in_blocks(
    together: Callable[[Mapping[str, np.ndarray]], AlgorithmRun],
    arrays: Mapping[str, np.ndarray],
    batch: tuple[int, ...],
) -> AlgorithmRun:
    """Run a large batch in blocks of rows."""
    rows = prod(batch)
    if rows <= ROWS_AT_ONCE:
        return together(arrays)
    flat = {name: array.reshape(rows, array.shape[-1]) for name, array in arrays.items()}
    blocks = [
        range(first, min(first + ROWS_AT_ONCE, rows)) for first in range(0, rows, ROWS_AT_ONCE)
    ]
    runs = [
        together({name: array[each.start : each.stop] for name, array in flat.items()})
        for each in blocks
    ]
    results = {name: np.concatenate([run.arrays[name] for run in runs]) for name in runs[0].arrays}
    pivots = [
        replace(each, rows=np.array(block)[... if each.rows is None else each.rows])
        for block, run in zip(blocks, runs, strict=True)
        for each in run.shortfalls
    ]
    return _in_shape(AlgorithmRun(results, pivots, any(run.divides for run in runs)), batch)


def _stacked(states: Sequence[AlgorithmRun], batch: tuple[int, ...]) -> AlgorithmRun:
    """Combine the runs of single states into the run of a batch."""
    if not batch:
        return states[0]
    results = {name: np.stack([each.arrays[name] for each in states]) for name in states[0].arrays}
    divides = any(each.divides for each in states)
    return _in_shape(AlgorithmRun(results, _merge_pivots(states), divides), batch)


def _merge_pivots(states: Sequence[AlgorithmRun]) -> list[SingularPivot]:
    """Each singular pivot once, with the rows of all states that have it."""
    by_pivot: dict[tuple[str, str], list[tuple[int, SingularPivot]]] = {}
    for row, state in enumerate(states):
        for each in state.shortfalls:
            by_pivot.setdefault((each.joint, each.result), []).append((row, each))
    return [
        replace(
            occurrences[0][1],
            negative=any(each.negative for _, each in occurrences),
            rows=np.array([row for row, _ in occurrences]),
        )
        for occurrences in by_pivot.values()
    ]


def _in_shape(run: AlgorithmRun, batch: tuple[int, ...]) -> AlgorithmRun:
    """Reshape a run with one row axis to the axes of the batch."""
    arrays = {name: array.reshape(batch + array.shape[1:]) for name, array in run.arrays.items()}
    shortfalls = run.shortfalls if batch else [replace(each, rows=None) for each in run.shortfalls]
    return run._replace(arrays=arrays, shortfalls=shortfalls)


def _columns(array: np.ndarray, n: int) -> Sequence[Any]:
    """Values per joint: floats for one state, one array per joint for a batch."""
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
    """Array of entries given by public index, batch axes first."""
    result = np.zeros((*shape, prod(batch)) if batch else shape, dtype=kind)
    for index, value in entries.items():
        result[index] = value
    if batch:
        result = np.ascontiguousarray(np.moveaxis(result, -1, 0)).reshape(batch + shape)
    # adding 0.0 converts -0.0 to 0.0
    return result + 0.0


@cache
def _unshared() -> OperationGraph:
    """Graph without common subexpressions: an operation that is repeated counts twice."""
    # import here, as below: only counting needs the graph
    from robolin.engine.operation_graph import OperationGraph

    return OperationGraph(shares=False)


def unknown_number() -> GraphNumber:
    """Input variable without a name, for counting."""
    return _unshared().input()


@dataclass(frozen=True)
class Cost:
    """Operation counts of one algorithm on one arm; link kinematics are counted separately."""

    algorithm: Counter[str]
    kinematics: Counter[str]

    @property
    def total(self) -> Counter[str]:
        return self.algorithm + self.kinematics


class CountingChain(DirectChain):
    """A chain for counting operations; absent friction, damping, springs and rotors are free."""

    def __init__(
        self,
        parameters: Parameters,
        names: Sequence[str],
        shapes: Mapping[str, Shape] | None = None,
        unknown: Callable[[], Scalar] = unknown_number,
    ) -> None:
        inputs = {name: [unknown() for _ in parameters.order] for name in names}
        super().__init__(parameters, inputs, number=lambda value: unknown(), shapes=shapes)

    def guard_inertia(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return value

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
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
    """A counting chain that counts on the fly and stores no graph."""

    counts: Counter[tuple[str, str]]

    def __init__(
        self, parameters: Parameters, names: Sequence[str], shapes: Mapping[str, Shape] | None
    ) -> None:
        from robolin.engine.operation_graph import TalliedNumber

        super().__init__(parameters, names, shapes, TalliedNumber)
        self.counts = Counter[tuple[str, str]]()

    def _entries(self, reduced: Reduce | None) -> Entries:
        from robolin.engine.operation_graph import TalliedEntries

        return TalliedEntries(reduced, self.counts)


def count_operations(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    names: Sequence[str],
    shapes: Mapping[str, Shape] | None = None,
) -> Cost:
    """Count the operations that the results of an algorithm need."""
    chain = TallyingChain(parameters, names, shapes)
    # these numbers form no reference cycles; the collector would take most of the time
    collects = gc.isenabled()
    gc.disable()
    try:
        algorithm(chain)
    finally:
        if collects:
            gc.enable()
    return _cost(chain.counts)


def cost_of(results: Iterable[Any]) -> Cost:
    """Count every operation that the results depend on once."""
    from robolin.engine.operation_graph import ancestors

    return _cost(Counter((number.phase, number.kind) for number in ancestors(results)))


def _cost(counts: Counter[tuple[str, str]]) -> Cost:
    from robolin.engine.operation_graph import COUNTED_AS

    by_phase = {"algorithm": Counter[str](), "kinematics": Counter[str]()}
    for (phase, kind), count in counts.items():
        if kind in COUNTED_AS:
            by_phase[phase][COUNTED_AS[kind]] += count
    return Cost(by_phase["algorithm"], by_phase["kinematics"])
