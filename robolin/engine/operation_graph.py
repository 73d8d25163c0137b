"""Numbers that remember how they were made.

An algorithm that runs on them leaves behind what it computes: every number knows its operation and
the numbers it was made from.  What becomes of it is nobody's business here: counts, C and symbolic
functions are all made from the same numbers.

A plain float is a constant, and what is made of constants alone is a constant.  A factor of 0 or 1
and an addition of 0 leave no trace, and a sign belongs to whoever uses a number, so that changing
it costs nothing: x - y and y - x are one operation.  None of this changes a finite result by a bit,
but for the sign of a zero.
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
    """Everything that was computed from some inputs.

    shares: whether what is computed twice is one number
    """

    def __init__(self, shares: bool = True) -> None:
        self.shares, self.order = shares, count()
        self._known: dict[Any, GraphNumber] = {}

    def input(self, name: str = "", place: int = 0) -> GraphNumber:
        """A number that is not known before the computation is done."""
        found = GraphNumber(self, GIVEN_INPUT)
        found.place = (name, place)
        return found

    def made(self, kind: str, *operands: Operand) -> GraphNumber:
        """The number that an operation makes of numbers, at least one of them of the graph."""
        if not self.shares:
            return GraphNumber(self, kind, operands)
        key = (kind, *(x.key if isinstance(x, GraphNumber) else (x,) for x in operands))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = GraphNumber(self, kind, operands)
        return found


class GraphNumber:
    """A number with the operation it came from and what it was made of.

    number: how many of the graph were made before it
    phase:  the phase of the algorithm that it belongs to
    place:  of an input, its name and its place there
    """

    __slots__ = ("graph", "kind", "number", "operands", "phase", "place")
    place: tuple[str, int]

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
        """The number that this is, or is the negative of."""
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
        # the older one is added to as it is, and the sum has its sign
        total = graph.made(ADDITION, first, second._negated_if(minus_first != minus_second))
        return total._negated_if(minus_first)

    __radd__ = __add__

    def _plus_constant(self, constant: float) -> GraphNumber:
        if self.kind is NEGATIVE:
            return -self.graph.made(ADDITION, self.unsigned, -constant)
        return self.graph.made(ADDITION, self, constant)

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
        product = self.graph.made(MULTIPLICATION, first, second)
        return product._negated_if((self.kind is NEGATIVE) != (other.kind is NEGATIVE))

    __rmul__ = __mul__

    def __truediv__(self, other: Operand) -> Operand:
        if not isinstance(other, GraphNumber):
            return self._by_constant(DIVISION, float(other))
        quotient = self.graph.made(DIVISION, self.unsigned, other.unsigned)
        return quotient._negated_if((self.kind is NEGATIVE) != (other.kind is NEGATIVE))

    def _by_constant(self, kind: str, constant: float) -> GraphNumber:
        found, size = self.unsigned, abs(constant)
        if size != 1.0:
            found = self.graph.made(kind, found, size)
        return found._negated_if((self.kind is NEGATIVE) != (constant < 0.0))

    def __rtruediv__(self, other: float) -> Operand:
        if other == 0.0:
            return 0.0
        quotient = self.graph.made(DIVISION, abs(float(other)), self.unsigned)
        return quotient._negated_if((self.kind is NEGATIVE) != (other < 0.0))

    def if_less(self, a: Operand, b: Operand, yes: Operand, no: Operand) -> GraphNumber:
        return self.graph.made(CHOICE, a, b, yes, no)

    def sqrt(self) -> GraphNumber:
        return self.graph.made(ROOT_OF, self)

    def tanh(self) -> GraphNumber:
        return self.graph.made(TANH_OF, self)

    def sin_cos(self) -> tuple[GraphNumber, GraphNumber]:
        return self.graph.made(SINE_OF, self), self.graph.made(COSINE_OF, self)


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = GraphNumber


def ancestors(results: Iterable[Any]) -> list[GraphNumber]:
    """Every number that some result depends on, those it is made from before it; no negatives."""
    found: dict[int, GraphNumber] = {}
    waiting = [value for value in results if isinstance(value, GraphNumber)]
    while waiting:
        number = waiting.pop()
        if number.kind is NEGATIVE:
            number = number.unsigned
        if number.number not in found:
            found[number.number] = number
            waiting.extend([x for x in number.operands if isinstance(x, GraphNumber)])
    return [found[number] for number in sorted(found)]
