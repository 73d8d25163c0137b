"""Numbers that are counted and forgotten.

A number keeps what it was made of only until a result needs it.  Then its operation is counted, and
so are those behind it.  What no result needs is never counted and disappears with its last user.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Union

from robolin.dynamics.algebra.chain import current_phase
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.direct_storage import Entries, EntryPlace, Reduce
from robolin.engine.operation_graph import (
    ADDITION,
    CHOICE,
    COSINE_OF,
    DIVISION,
    MULTIPLICATION,
    ROOT_OF,
    SINE_OF,
    TANH_OF,
)

TallyOperand = Union["TalliedNumber", float]


class TalliedNumber:
    """A number with its phase and operation, and the numbers it was made of, two at most.

    The operation is None of inputs and of numbers that are counted already.  A literal 0 or 1 is
    structure and a change of sign is free, as in an `OperationGraph` that shares nothing.
    """

    __slots__ = ("first", "operation", "phase", "second")

    def __init__(
        self,
        operation: str | None = None,
        first: TalliedNumber | None = None,
        second: TalliedNumber | None = None,
    ) -> None:
        self.operation, self.phase = operation, current_phase()
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


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = TalliedNumber


class TalliedEntries(Entries):
    """The places of a result: numbers are counted as they come, and not kept.

    counts: how often each operation of each phase was needed, shared by all results
    """

    def __init__(self, reduced: Reduce | None, counts: Counter[tuple[str, str]]) -> None:
        super().__init__(reduced)
        self._counts = counts
        # a bit for every place of a number, by all axes but the last
        self._numbers: dict[EntryPlace, int] = {}

    def put(self, index: EntryPlace, value: Scalar) -> None:
        if self._reduced is not None:
            index, value = self._reduced(index, value)
        if self._has_number(index):
            value = TalliedNumber() + value
        elif index in self.by_place:
            value = self.by_place.pop(index) + value
        self[index] = value

    add = put

    def __setitem__(self, index: Any, value: Any) -> None:
        index = index if isinstance(index, tuple) else (index,)
        if isinstance(value, TalliedNumber):
            _count(value, self._counts)
            *place, last = index
            self._numbers[tuple(place)] = self._numbers.get(tuple(place), 0) | 1 << last
        else:
            self.by_place[index] = value

    def _has_number(self, index: EntryPlace) -> bool:
        return bool(self._numbers.get(index[:-1], 0) >> index[-1] & 1)


def _count(number: TalliedNumber, counts: Counter[tuple[str, str]]) -> None:
    """Count the operation of a number and those behind it that were not counted before."""
    needed: list[tuple[str, str]] = []
    waiting: list[TalliedNumber | None] = [number]
    while waiting:
        each = waiting.pop()
        if each is not None and each.operation is not None:
            needed.append((each.phase, each.operation))
            waiting += (each.first, each.second)
            each.operation = each.first = each.second = None
    counts.update(needed)
