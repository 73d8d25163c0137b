"""An algorithm on one arm, loops unrolled: its inputs, its results, and when they do not exist."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from robolin.dynamics.algebra.comparison import Shape, if_less
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.direct import DirectChain
from robolin.engine.operation_graph import GraphNumber, Operand, OperationGraph, ancestors
from robolin.engine.parameters import Parameters
from robolin.engine.singular_pivot import NEGLIGIBLE_D, no_inertia


@dataclass(frozen=True)
class Guard:
    """Results exist only where `value` is positive and above `floor`.

    joint:  the public place of the joint that has no inertia otherwise
    result: what does not exist otherwise, where it is no joint's fault
    """

    value: GraphNumber
    floor: Operand
    joint: int = -1
    result: str = ""


@dataclass(frozen=True)
class UnrolledResult:
    """The numbers of a result in their public order, the last axis quickest."""

    shape: tuple[int, ...]
    numbers: tuple[Operand, ...]


@dataclass(frozen=True)
class UnrolledProgram:
    """What an algorithm does on one arm, as numbers that remember how they were made.

    inputs:  name -> its numbers, one per joint
    results: name -> its numbers
    """

    inputs: Mapping[str, tuple[GraphNumber, ...]]
    results: Mapping[str, UnrolledResult]
    guards: tuple[Guard, ...]

    def needed(self) -> list[GraphNumber]:
        """Every number that results and guards depend on, in an order that can be computed."""
        results = [x for result in self.results.values() for x in result.numbers]
        guards = [x for guard in self.guards for x in (guard.value, guard.floor)]
        return ancestors([*results, *guards])


class UnrolledChain(DirectChain):
    """A chain whose constants are plain numbers and whose inputs remember what is made of them."""

    def __init__(
        self,
        parameters: Parameters,
        given: Mapping[str, Sequence[Any]],
        shapes: Mapping[str, Shape],
    ) -> None:
        super().__init__(parameters, given, shapes=shapes)
        self.guards: list[Guard] = []

    def positive(self, k: int, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        if not isinstance(value, GraphNumber):
            return super().positive(k, value, size)
        uncancelled: Any = size()
        largest: Any = if_less(uncancelled, 0.0, -uncancelled, uncancelled)
        joint = self._parameters.order[self._rows[k - 1].coordinate - 1]
        self.guards.append(Guard(value, largest * NEGLIGIBLE_D, joint))
        return value

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        if not isinstance(value, GraphNumber):
            return super().regular(name, value, least)
        floor: Any = least
        self.guards.append(Guard(value, floor, result=name))
        return value


def graph_inputs(
    parameters: Parameters, names: Sequence[str]
) -> dict[str, tuple[GraphNumber, ...]]:
    """A number for every joint, under each of the names, in a graph of their own."""
    graph, n = OperationGraph(), len(parameters.order)
    return {name: tuple(graph.input(name, i) for i in range(n)) for name in names}


def input_name(name: str, gives: Mapping[str, Shape]) -> str:
    """What a program calls an input: results have their names for themselves."""
    return f"{name}_given" if name in gives else name


def unrolled_program(
    parameters: Parameters,
    algorithm: Callable[[Any], None],
    needs: Sequence[str],
    gives: Mapping[str, Shape],
    where: str = "",
    fixed: Mapping[str, Sequence[float]] | None = None,
) -> UnrolledProgram:
    """Run the algorithm once; a joint that never has inertia is an error here already.

    fixed: inputs that are the same in every state, and so are constants
    """
    fixed = fixed or {}
    names = {name: input_name(name, gives) for name in needs if name not in fixed}
    inputs = graph_inputs(parameters, [*names.values()])
    given = {name: inputs[called] for name, called in names.items()}
    chain = UnrolledChain(parameters, {**given, **fixed}, gives)
    algorithm(chain)
    if chain.shortfalls:
        raise no_inertia(chain.shortfalls[0], where)
    found, results = chain.results, {}
    for name, shape in gives.items():
        own = parameters.sizes(shape)
        results[name] = UnrolledResult(own, _in_order(found.get(name, {}), own))
    return UnrolledProgram(inputs, results, tuple(chain.guards))


def _in_order(
    entries: Mapping[tuple[int, ...], Any], shape: tuple[int, ...]
) -> tuple[Operand, ...]:
    numbers: list[Operand] = [0.0] * prod(shape)
    for index, value in entries.items():
        place = 0
        for i, length in zip(index, shape, strict=True):
            place = place * length + i
        numbers[place] = value
    return tuple(numbers)
