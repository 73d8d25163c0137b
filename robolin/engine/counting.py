"""Counting what an algorithm costs: exact multiplications, additions, divisions and roots.

The algorithm runs on numbers that remember how they were made until a result needs them.  What
counts are the operations that some result depends on: the last hand-over to the base, which nobody
reads, costs nothing, as it would in any careful implementation.  A literal 0 or 1 is structure, not
arithmetic, and a change of sign is free.
"""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from robolin.dynamics.algebra.axes import Shape
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
    all_behind,
)
from robolin.engine.operation_tally import TalliedEntries, TalliedNumber
from robolin.engine.parameters import Parameters

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
    return _cost(Counter((number.phase, number.kind) for number in all_behind(results)))


def _cost(counts: Counter[tuple[str, str]]) -> Cost:
    found = {"algorithm": Counter[str](), "kinematics": Counter[str]()}
    for (phase, kind), count in counts.items():
        if kind in _COUNTED_AS:
            found[phase][_COUNTED_AS[kind]] += count
    return Cost(found["algorithm"], found["kinematics"])
