"""Count operations without storing the expression graph.

A number references its operands only until a result needs it.  Then its operation and those of its
operands are counted.  Numbers that no result needs are never counted and are freed by Python.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Union

from robolin.dynamics.algebra.chain import current_phase
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.direct_storage import Entries, EntryIndex, Reduce
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
    """A number with its phase, its operation and at most two operands.

    The operation is None for inputs and for numbers already counted.  Literals 0 and 1 and changes
    of sign are free, as in an `OperationGraph` with `shares=False`.
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


# checked by mypy
_IS_A_SCALAR: type[Scalar] = TalliedNumber


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
