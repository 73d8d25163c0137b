"""An algorithm unrolled for one arm: inputs, results and the conditions for their existence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from robolin.dynamics.algebra.comparison import Shape, if_less
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.direct import NEGLIGIBLE_D, DirectChain, no_inertia
from robolin.engine.operation_graph import GraphNumber, Operand, OperationGraph, ancestors
from robolin.engine.parameters import Parameters


@dataclass(frozen=True)
class Guard:
    """Condition for valid results: `value` is positive and above `floor`.

    joint:  public index of the joint that has no inertia if the condition fails, or -1
    result: name of the result that does not exist if it fails, or ''
    """

    value: GraphNumber
    floor: Operand
    joint: int = -1
    result: str = ""


@dataclass(frozen=True)
class UnrolledResult:
    """The numbers of a result in public order, last axis fastest."""

    shape: tuple[int, ...]
    numbers: tuple[Operand, ...]


@dataclass(frozen=True)
class UnrolledProgram:
    """Expression graph of an algorithm on one arm.

    inputs:  name -> its numbers, one per joint
    results: name -> its numbers
    """

    inputs: Mapping[str, tuple[GraphNumber, ...]]
    results: Mapping[str, UnrolledResult]
    guards: tuple[Guard, ...]

    def needed(self) -> list[GraphNumber]:
        """All numbers that results and guards depend on, operands first."""
        results = [x for result in self.results.values() for x in result.numbers]
        guards = [x for guard in self.guards for x in (guard.value, guard.floor)]
        return ancestors([*results, *guards])


class UnrolledChain(DirectChain):
    """A chain with float constants and graph inputs, which records the computation."""

    def __init__(
        self,
        parameters: Parameters,
        inputs: Mapping[str, Sequence[Any]],
        shapes: Mapping[str, Shape],
    ) -> None:
        super().__init__(parameters, inputs, shapes=shapes)
        self.guards: list[Guard] = []

    def guard_inertia(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        if not isinstance(value, GraphNumber):
            return super().guard_inertia(k, value, size)
        uncancelled: Any = size()
        largest: Any = if_less(uncancelled, 0.0, -uncancelled, uncancelled)
        joint = self._parameters.order[self._rows[k - 1].coordinate - 1]
        self.guards.append(Guard(value, largest * NEGLIGIBLE_D, joint))
        return value

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        if not isinstance(value, GraphNumber):
            return super().guard_rank(name, value, least)
        floor: Any = least
        self.guards.append(Guard(value, floor, result=name))
        return value


def graph_inputs(
    parameters: Parameters, names: Sequence[str]
) -> dict[str, tuple[GraphNumber, ...]]:
    """Input variables for every name and joint, in a new graph."""
    graph, n = OperationGraph(), len(parameters.order)
    return {name: tuple(graph.input(name, i) for i in range(n)) for name in names}


def input_name(name: str, gives: Mapping[str, Shape]) -> str:
    """Name of an input in generated code; it must differ from the names of results."""
    return f"{name}_given" if name in gives else name


def unrolled_program(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    needs: Sequence[str],
    gives: Mapping[str, Shape],
    where: str = "",
    fixed: Mapping[str, Sequence[float]] | None = None,
) -> UnrolledProgram:
    """Run the algorithm once on graph inputs; reject an arm with a joint without inertia.

    fixed: inputs that are constant in all states
    """
    fixed = fixed or {}
    names = {name: input_name(name, gives) for name in needs if name not in fixed}
    inputs = graph_inputs(parameters, [*names.values()])
    scalars = {name: inputs[called] for name, called in names.items()}
    chain = UnrolledChain(parameters, {**scalars, **fixed}, gives)
    algorithm(chain)
    if chain.shortfalls:
        raise no_inertia(chain.shortfalls[0], where)
    entries, results = chain.results, {}
    for name, shape in gives.items():
        sizes = parameters.sizes(shape)
        results[name] = UnrolledResult(sizes, _in_order(entries.get(name, {}), sizes))
    return UnrolledProgram(inputs, results, tuple(chain.guards))


def _in_order(
    entries: Mapping[tuple[int, ...], Any], shape: tuple[int, ...]
) -> tuple[Operand, ...]:
    numbers: list[Operand] = [0.0] * prod(shape)
    for index, value in entries.items():
        flat = 0
        for i, length in zip(index, shape, strict=True):
            flat = flat * length + i
        numbers[flat] = value
    return tuple(numbers)
