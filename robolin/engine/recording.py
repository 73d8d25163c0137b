"""Numbers that remember how they were made.

An algorithm that runs on them leaves behind what it computes: every number is a node that knows
its operation and the numbers it was made from.  What becomes of it is nobody's business here:
counts, C and symbolic functions are all made from the same nodes.

A plain float is a constant, and what is made of constants alone is a constant.  A factor of 0 or 1
and an addition of 0 leave no trace, and a sign belongs to whoever uses a number, so that changing
it costs nothing: x - y and y - x are one node.  None of this changes a finite result by a bit,
but for the sign of a zero.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Any, Union

from robolin.algebra.parts import current_part
from robolin.algebra.scalar import Scalar

INPUT, ADDITION, MULTIPLICATION, DIVISION = "input", "addition", "multiplication", "division"
CHOICE, ROOT, SINE, COSINE, TANH = "choice", "root", "sine", "cosine", "tanh"

Operand = Union["Recorded", float]


class Node:
    """An operation and the numbers it is done with; of an input, its name and place.

    number: how many nodes of the recording were made before it
    part:   the part of the algorithm it belongs to
    """

    __slots__ = ("kind", "number", "operands", "part", "place", "recording")

    def __init__(
        self,
        recording: Recording,
        kind: str,
        operands: tuple[Operand, ...] = (),
        place: tuple[str, int] | None = None,
    ) -> None:
        self.recording, self.kind, self.operands, self.place = recording, kind, operands, place
        self.number, self.part = next(recording.numbers), current_part()


class Recording:
    """Everything that was computed from some inputs.

    shares: whether what is computed twice is one node
    """

    def __init__(self, shares: bool = True) -> None:
        self.shares, self.numbers = shares, count()
        self._known: dict[Any, Node] = {}

    def input(self, name: str = "", place: int = 0) -> Recorded:
        """A number that is not known before the computation is done."""
        return Recorded(Node(self, INPUT, place=(name, place)))

    def node(self, kind: str, *operands: Operand) -> Recorded:
        """An operation on numbers of which at least one is recorded."""
        if not self.shares:
            return Recorded(Node(self, kind, operands))
        key = (kind, *(x.key if isinstance(x, Recorded) else (x,) for x in operands))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Node(self, kind, operands)
        return Recorded(found)


class Recorded:
    """A node, or its negative."""

    __slots__ = ("negative", "node")

    def __init__(self, node: Node, negative: bool = False) -> None:
        self.node, self.negative = node, negative

    @property
    def key(self) -> int:
        return 2 * self.node.number + self.negative

    @property
    def unsigned(self) -> Recorded:
        """The node as it is."""
        return Recorded(self.node) if self.negative else self

    def __neg__(self) -> Recorded:
        return Recorded(self.node, not self.negative)

    def _signed(self, negative: bool) -> Recorded:
        return -self if negative else self

    def __add__(self, other: Operand) -> Operand:
        if not isinstance(other, Recorded):
            return self if other == 0.0 else self._plus_constant(float(other))
        first, second = self, other
        recording = self.node.recording
        if recording.shares:
            if self.node is other.node and self.negative != other.negative:
                return 0.0
            if other.node.number < self.node.number:
                first, second = other, self
        # the first one is added to as it is, and the sum has its sign
        total = recording.node(
            ADDITION, first.unsigned, second.unsigned._signed(first.negative != second.negative)
        )
        return total._signed(first.negative)

    __radd__ = __add__

    def _plus_constant(self, constant: float) -> Recorded:
        shift = -constant if self.negative else constant
        return self.node.recording.node(ADDITION, self.unsigned, shift)._signed(self.negative)

    def __sub__(self, other: Operand) -> Operand:
        return self + -other

    def __rsub__(self, other: float) -> Operand:
        return -self + other

    def __mul__(self, other: Operand) -> Operand:
        if not isinstance(other, Recorded):
            return self._times_constant(float(other))
        first, second = self.unsigned, other.unsigned
        if self.node.recording.shares and second.node.number < first.node.number:
            first, second = second, first
        product = self.node.recording.node(MULTIPLICATION, first, second)
        return product._signed(self.negative != other.negative)

    __rmul__ = __mul__

    def _times_constant(self, factor: float) -> Operand:
        if factor == 0.0:
            return 0.0
        if factor in (1.0, -1.0):
            return self._signed(factor < 0.0)
        product = self.node.recording.node(MULTIPLICATION, self.unsigned, abs(factor))
        return product._signed(self.negative != (factor < 0.0))

    def __truediv__(self, other: Operand) -> Operand:
        if isinstance(other, Recorded):
            quotient = self.node.recording.node(DIVISION, self.unsigned, other.unsigned)
            return quotient._signed(self.negative != other.negative)
        if other in (1.0, -1.0):
            return self._signed(other < 0.0)
        quotient = self.node.recording.node(DIVISION, self.unsigned, abs(float(other)))
        return quotient._signed(self.negative != (other < 0.0))

    def __rtruediv__(self, other: float) -> Operand:
        if other == 0.0:
            return 0.0
        quotient = self.node.recording.node(DIVISION, abs(float(other)), self.unsigned)
        return quotient._signed(self.negative != (other < 0.0))

    def if_less(self, a: Operand, b: Operand, yes: Operand, no: Operand) -> Recorded:
        return self.node.recording.node(CHOICE, a, b, yes, no)

    def sqrt(self) -> Recorded:
        return self.node.recording.node(ROOT, self)

    def tanh(self) -> Recorded:
        return self.node.recording.node(TANH, self)

    def sin_cos(self) -> tuple[Recorded, Recorded]:
        recording = self.node.recording
        return recording.node(SINE, self), recording.node(COSINE, self)


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = Recorded


def nodes_behind(results: Iterable[Operand | Any]) -> list[Node]:
    """Every node that some result depends on, those it is made from before it."""
    found: dict[int, Node] = {}
    waiting = [value.node for value in results if isinstance(value, Recorded)]
    while waiting:
        node = waiting.pop()
        if node.number not in found:
            found[node.number] = node
            waiting.extend(x.node for x in node.operands if isinstance(x, Recorded))
    return [found[number] for number in sorted(found)]
