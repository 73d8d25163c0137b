"""Symbolic numbers: an expression graph of operations and operands, or a tally of operations.

An algorithm that runs on these numbers builds the graph of its computation.  Operation counts, C
code and CasADi functions are generated from this graph elsewhere.

A float is a constant, and operations on constants give constants.  Factors of 0 and 1 and additions
of 0 are not recorded.  A change of sign is part of the operand and free: x - y and y - x are one
operation.  These simplifications keep every bit of a finite result, except the sign of a zero.

The unrolled program of an arm has inputs, results and the conditions for their existence.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import count
from math import prod
from typing import Any, Union

from robolin.core.records import dataclass
from robolin.dynamics.algebra.chain import current_phase
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.trigonometry import if_less
from robolin.dynamics.algorithm import Shape
from robolin.engine.direct import NEGLIGIBLE_D, DirectChain, no_inertia
from robolin.engine.direct_storage import Entries, EntryIndex, Reduce
from robolin.engine.parameters import Parameters

TallyOperand = Union["TalliedNumber", float]


class TalliedNumber:
    """A number with its phase, its operation and at most two operands.

    The operation is None for inputs and for numbers already counted.  Literals 0 and 1 and changes
    of sign are free, as in an `OperationGraph` with `shares=False`.
    """

    first: TalliedNumber | None
    operation: str | None
    second: TalliedNumber | None

    __slots__ = ("first", "operation", "phase", "second")

    def __init__(
        self,
        operation: str | None = None,
        first: TalliedNumber | None = None,
        second: TalliedNumber | None = None,
    ) -> None:
        self.operation = operation
        self.phase: str = current_phase()
        self.first, self.second = first, second

    def __neg__(self) -> TalliedNumber:
        return self

    def __add__(self, other: TallyOperand) -> TalliedNumber:
        if isinstance(other, TalliedNumber):
            return TalliedNumber(ADDITION, self, other)
        return TalliedNumber(ADDITION, self) if other != 0.0 else self

    __radd__ = __sub__ = __rsub__ = __add__

    def __mul__(self, other: TallyOperand) -> TallyOperand:
        if isinstance(other, TalliedNumber):
            return TalliedNumber(MULTIPLICATION, self, other)
        return self._by_constant(MULTIPLICATION, other) if other != 0.0 else 0.0

    __rmul__ = __mul__

    def __truediv__(self, other: TallyOperand) -> TalliedNumber:
        if isinstance(other, TalliedNumber):
            return TalliedNumber(DIVISION, self, other)
        return self._by_constant(DIVISION, other)

    def __rtruediv__(self, other: float) -> TallyOperand:
        return TalliedNumber(DIVISION, self) if other != 0.0 else 0.0

    def _by_constant(self, operation: str, constant: float) -> TalliedNumber:
        return TalliedNumber(operation, self) if abs(constant) != 1.0 else self

    def if_less(
        self, a: TallyOperand, b: TallyOperand, yes: TallyOperand, no: TallyOperand
    ) -> TalliedNumber:
        choice = TalliedNumber(CHOICE)
        for each in (a, b, yes, no):
            if isinstance(each, TalliedNumber):
                choice = TalliedNumber(CHOICE, choice, each)
        return choice

    def sqrt(self) -> TalliedNumber:
        return TalliedNumber(ROOT_OF, self)

    def tanh(self) -> TalliedNumber:
        return TalliedNumber(TANH_OF, self)

    def sin_cos(self) -> tuple[TalliedNumber, TalliedNumber]:
        return TalliedNumber(SINE_OF, self), TalliedNumber(COSINE_OF, self)


# checked by mypy
_TALLY_IS_A_SCALAR: type[Scalar] = TalliedNumber


class TalliedEntries(Entries):
    """Entries of a result, whose numbers are counted when stored and then dropped.

    counts: number of operations by phase and kind, shared by all results
    """

    def __init__(self, reduced: Reduce | None, counts: Counter[tuple[str, str]]) -> None:
        super().__init__(reduced)
        self._counts = counts
        # bit mask of the stored numbers along the last axis, by the indices of the other axes
        self._numbers: dict[EntryIndex, int] = {}

    def put(self, index: EntryIndex, value: Scalar) -> None:
        if self._reduced is not None:
            index, value = self._reduced(index, value)
        if self._has_number(index):
            value = TalliedNumber() + value
        elif index in self.by_index:
            value = self.by_index.pop(index) + value
        self[index] = value

    add = put

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        if isinstance(value, TalliedNumber):
            _count(value, self._counts)
            *leading, last = index
            self._numbers[tuple(leading)] = self._numbers.get(tuple(leading), 0) | 1 << last
        else:
            self.by_index[index] = value

    def _has_number(self, index: EntryIndex) -> bool:
        return bool(self._numbers.get(index[:-1], 0) >> index[-1] & 1)


def _count(number: TalliedNumber, counts: Counter[tuple[str, str]]) -> None:
    """Count the operations of a number and of its operands that were not counted before."""
    needed: list[tuple[str, str]] = []
    pending: list[TalliedNumber | None] = [number]
    while pending:
        each = pending.pop()
        if each is not None and each.operation is not None:
            needed.append((each.phase, each.operation))
            pending += (each.first, each.second)
            each.operation = each.first = each.second = None
    counts.update(needed)


INPUT_NUMBER, NEGATIVE, CHOICE = "input", "negative", "choice"
ADDITION, MULTIPLICATION, DIVISION = "addition", "multiplication", "division"
ROOT_OF, SINE_OF, COSINE_OF, TANH_OF = "root", "sine", "cosine", "tanh"
# kind of operation -> name in the counts; other kinds are free
COUNTED_AS = {kind: kind for kind in (ADDITION, MULTIPLICATION, DIVISION, ROOT_OF)}
COUNTED_AS |= dict.fromkeys((SINE_OF, COSINE_OF, TANH_OF), "function")

Operand = Union["GraphNumber", float]


class OperationGraph:
    """Expression graph of a computation.

    shares: True to reuse common subexpressions
    """

    def __init__(self, shares: bool = True) -> None:
        self.shares: bool = shares
        self.order: count[int] = count()
        self._known: dict[Any, GraphNumber] = {}

    def input(self, name: str = "", index: int = 0) -> GraphNumber:
        """A new input variable of the graph."""
        node = GraphNumber(self, INPUT_NUMBER)
        node.entry = (name, index)
        return node

    def node(self, kind: str, *operands: Operand) -> GraphNumber:
        """The result of an operation; at least one operand belongs to the graph."""
        if not self.shares:
            return GraphNumber(self, kind, operands)
        key = (kind, *(x.key if isinstance(x, GraphNumber) else (x,) for x in operands))
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = GraphNumber(self, kind, operands)
        return known


class GraphNumber:
    """A node of the graph: an operation and its operands.

    number: sequence number in the graph
    phase:  phase of the algorithm that it belongs to
    entry:  for an input, its name and its index in it
    """

    graph: OperationGraph
    kind: str
    operands: tuple[Operand, ...]

    __slots__ = ("entry", "graph", "kind", "number", "operands", "phase")
    entry: tuple[str, int]

    def __init__(
        self, graph: OperationGraph, kind: str, operands: tuple[Operand, ...] = ()
    ) -> None:
        self.graph, self.kind, self.operands = graph, kind, operands
        self.number: int = next(graph.order)
        self.phase: str = current_phase()

    @property
    def key(self) -> int:
        return ~self.unsigned.number if self.kind is NEGATIVE else self.number

    @property
    def unsigned(self) -> GraphNumber:
        """This number without a negation."""
        if self.kind is NEGATIVE:
            (number,) = self.operands
            assert isinstance(number, GraphNumber)
            return number
        return self

    def __neg__(self) -> GraphNumber:
        if self.kind is NEGATIVE:
            return self.unsigned
        return GraphNumber(self.graph, NEGATIVE, (self,))

    def _negated_if(self, negative: bool) -> GraphNumber:
        return -self if negative else self

    def __add__(self, other: Operand) -> Operand:
        graph = self.graph
        if not isinstance(other, GraphNumber):
            return self if other == 0.0 else self._plus_constant(float(other))
        if not graph.shares:
            return GraphNumber(graph, ADDITION, (self, other))
        first, second = self.unsigned, other.unsigned
        minus_first, minus_second = self.kind is NEGATIVE, other.kind is NEGATIVE
        if first is second and minus_first != minus_second:
            return 0.0
        if second.number < first.number:
            first, second, minus_first, minus_second = second, first, minus_second, minus_first
        # the older operand is stored without its sign; the sum takes that sign
        total = graph.node(ADDITION, first, second._negated_if(minus_first != minus_second))
        return total._negated_if(minus_first)

    __radd__ = __add__

    def _plus_constant(self, constant: float) -> GraphNumber:
        if self.kind is NEGATIVE:
            return -self.graph.node(ADDITION, self.unsigned, -constant)
        return self.graph.node(ADDITION, self, constant)

    def __sub__(self, other: Operand) -> Operand:
        return self + -other

    def __rsub__(self, other: float) -> Operand:
        return -self + other

    def __mul__(self, other: Operand) -> Operand:
        if not isinstance(other, GraphNumber):
            return self._by_constant(MULTIPLICATION, float(other)) if other != 0.0 else 0.0
        if not self.graph.shares:
            return GraphNumber(self.graph, MULTIPLICATION, (self, other))
        first, second = self.unsigned, other.unsigned
        if second.number < first.number:
            first, second = second, first
        product = self.graph.node(MULTIPLICATION, first, second)
        return product._negated_if((self.kind is NEGATIVE) != (other.kind is NEGATIVE))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Operand:
        if not isinstance(other, GraphNumber):
            return self._by_constant(DIVISION, float(other))
        quotient = self.graph.node(DIVISION, self.unsigned, other.unsigned)
        return quotient._negated_if((self.kind is NEGATIVE) != (other.kind is NEGATIVE))

    def _by_constant(self, kind: str, constant: float) -> GraphNumber:
        result, size = self.unsigned, abs(constant)
        if size != 1.0:
            result = self.graph.node(kind, result, size)
        return result._negated_if((self.kind is NEGATIVE) != (constant < 0.0))

    def __rtruediv__(self, other: float) -> Operand:
        if other == 0.0:
            return 0.0
        quotient = self.graph.node(DIVISION, abs(float(other)), self.unsigned)
        return quotient._negated_if((self.kind is NEGATIVE) != (other < 0.0))

    def if_less(self, a: Operand, b: Operand, yes: Operand, no: Operand) -> GraphNumber:
        return self.graph.node(CHOICE, a, b, yes, no)

    def sqrt(self) -> GraphNumber:
        return self.graph.node(ROOT_OF, self)

    def tanh(self) -> GraphNumber:
        return self.graph.node(TANH_OF, self)

    def sin_cos(self) -> tuple[GraphNumber, GraphNumber]:
        return self.graph.node(SINE_OF, self), self.graph.node(COSINE_OF, self)


# checked by mypy
_IS_A_SCALAR: type[Scalar] = GraphNumber


def ancestors(results: Iterable[Any]) -> list[GraphNumber]:
    """All numbers that the results depend on, operands first, without negations."""
    nodes: dict[int, GraphNumber] = {}
    pending = [value for value in results if isinstance(value, GraphNumber)]
    while pending:
        number = pending.pop()
        if number.kind is NEGATIVE:
            number = number.unsigned
        if number.number not in nodes:
            nodes[number.number] = number
            pending.extend([x for x in number.operands if isinstance(x, GraphNumber)])
    return [nodes[number] for number in sorted(nodes)]


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
    """A chain with constants and graph inputs, which records the computation."""

    constant: type[float] = float

    def __init__(
        self,
        parameters: Parameters,
        inputs: Mapping[str, Sequence[Any]],
        shapes: Mapping[str, Shape],
    ) -> None:
        super().__init__(parameters, inputs, self.constant, shapes)
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
    chain_type: type[UnrolledChain] = UnrolledChain,
) -> UnrolledProgram:
    """Run the algorithm once on graph inputs; reject an arm with a joint without inertia.

    fixed: inputs that are constant in all states
    """
    fixed = fixed or {}
    names = {name: input_name(name, gives) for name in needs if name not in fixed}
    inputs = graph_inputs(parameters, [*names.values()])
    scalars = {name: inputs[called] for name, called in names.items()}
    chain = chain_type(parameters, {**scalars, **fixed}, gives)
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
