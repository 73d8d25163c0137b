"""Symbolic numbers that record their operation and operands (expression graph).

An algorithm that runs on these numbers builds the graph of its computation.  Operation counts, C
code and CasADi functions are generated from this graph elsewhere.

A float is a constant, and operations on constants give constants.  Factors of 0 and 1 and additions
of 0 are not recorded.  A change of sign is part of the operand and free: x - y and y - x are one
operation.  These simplifications keep every bit of a finite result, except the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Union

from robolin.dynamics.algebra.chain import current_phase
from robolin.dynamics.algebra.scalar import Scalar

GIVEN_INPUT, NEGATIVE, CHOICE = "input", "negative", "choice"
ADDITION, MULTIPLICATION, DIVISION = "addition", "multiplication", "division"
ROOT_OF, SINE_OF, COSINE_OF, TANH_OF = "root", "sine", "cosine", "tanh"

Operand = Union["GraphNumber", float]


class OperationGraph:
    """Expression graph of a computation.

    shares: True to reuse common subexpressions
    """

    def __init__(self, shares: bool = True) -> None:
        self.shares, self.order = shares, count()
        self._known: dict[Any, GraphNumber] = {}

    def input(self, name: str = "", index: int = 0) -> GraphNumber:
        """A new input variable of the graph."""
        node = GraphNumber(self, GIVEN_INPUT)
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

    __slots__ = ("entry", "graph", "kind", "number", "operands", "phase")
    entry: tuple[str, int]

    def __init__(
        self, graph: OperationGraph, kind: str, operands: tuple[Operand, ...] = ()
    ) -> None:
        self.graph, self.kind, self.operands = graph, kind, operands
        self.number, self.phase = next(graph.order), current_phase()

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
