"""Numbers that write themselves down: one scalar of the source is one SIMD register of samples."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NewType, Protocol, cast

from robolin.dynamics.algebra.hyperbolic import tanh_by_series
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.trigonometry import sin_cos_by_polynomials


class Lane:
    """A register; arithmetic on it emits exactly the operation asked for, in that order."""

    __slots__ = ("asm", "value")

    def __init__(self, asm: Instructions, value: Value) -> None:
        self.asm, self.value = asm, value

    def __add__(self, other: Lane | float) -> Lane:
        return self._binary("fadd", self, other)

    def __radd__(self, other: float) -> Lane:
        return self._binary("fadd", other, self)

    def __sub__(self, other: Lane | float) -> Lane:
        return self._binary("fsub", self, other)

    def __rsub__(self, other: float) -> Lane:
        return self._binary("fsub", other, self)

    def __mul__(self, other: Lane | float) -> Lane:
        return self._binary("fmul", self, other)

    def __rmul__(self, other: float) -> Lane:
        return self._binary("fmul", other, self)

    def __truediv__(self, other: Lane | float) -> Lane:
        return self._binary("fdiv", self, other)

    def __rtruediv__(self, other: float) -> Lane:
        return self._binary("fdiv", other, self)

    def __neg__(self) -> Lane:
        return Lane(self.asm, self.asm.negated(self.value))

    def sqrt(self) -> Lane:
        return self._intrinsic("sqrt")

    def size(self) -> Lane:
        return self._intrinsic("fabs")

    def sin_cos(self) -> tuple[Scalar, Scalar]:
        pair = self.asm.sin_cos(self.value)
        if pair is None:
            return sin_cos_by_polynomials(self)
        return Lane(self.asm, pair[0]), Lane(self.asm, pair[1])

    def tanh(self) -> Scalar:
        value = self.asm.tanh(self.value)
        return tanh_by_series(self) if value is None else Lane(self.asm, value)

    def if_less(self, a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Lane:
        return self.select(self.compare("olt", a, b), yes, no)

    def compare(self, relation: str, a: Scalar, b: Scalar) -> Value:
        asm = self.asm
        return asm.compare(relation, as_value(asm, a), as_value(asm, b))

    def select(self, condition: Value, yes: Scalar, no: Scalar) -> Lane:
        asm = self.asm
        return Lane(asm, asm.select(condition, as_value(asm, yes), as_value(asm, no)))

    def _binary(self, operation: str, a: Lane | float, b: Lane | float) -> Lane:
        asm = self.asm
        return Lane(asm, asm.binary(operation, as_value(asm, a), as_value(asm, b)))

    def _intrinsic(self, name: str) -> Lane:
        return Lane(self.asm, self.asm.function(name, self.value))


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = Lane


class UniformBool:
    """Something about the arm that is known only when the kernel runs, such as a joint's kind."""

    __slots__ = ("asm", "condition")

    def __init__(self, asm: Instructions, condition: Value) -> None:
        self.asm, self.condition = asm, condition

    def where(self, yes: Scalar, no: Scalar) -> Lane:
        asm = self.asm
        yes_value, no_value = as_value(asm, yes), as_value(asm, no)
        return Lane(asm, asm.select_by_fact(self.condition, yes_value, no_value))


def as_value(asm: Instructions, number: Scalar) -> Value:
    return number.value if isinstance(number, Lane) else asm.splat(float(cast(float, number)))


class Memory:
    """Vectors in scratch memory, by index; what was just stored or loaded is not loaded again."""

    def __init__(self, asm: Instructions, base: Value, size: int) -> None:
        self._asm, self._base, self._size = asm, base, size
        self._known: dict[str, list[Lane | None]] = {}
        self._addresses: dict[str, Value] = {}
        self._epoch = asm.epoch

    def load(self, index: Value | int) -> Vector:
        known = self._fresh(index)
        return tuple(self._element(index, known, i) for i in range(self._size))

    def store(self, index: Value | int, values: Sequence[Scalar]) -> None:
        self._fresh(index)
        # any other index might be this one
        self._known = {str(index): self._kept(index, values)}

    def _kept(self, index: Value | int, values: Sequence[Scalar]) -> list[Lane | None]:
        kept: list[Lane | None] = []
        for i, value in enumerate(values):
            lane = Lane(self._asm, as_value(self._asm, value))
            self._asm.store_vector(lane.value, self._at(index, i))
            kept.append(lane)
        return kept

    def _fresh(self, index: Value | int) -> list[Lane | None]:
        if self._epoch != self._asm.epoch:
            self._known, self._addresses, self._epoch = {}, {}, self._asm.epoch
        return self._known.setdefault(str(index), [None] * self._size)

    def _element(self, index: Value | int, known: list[Lane | None], i: int) -> Lane:
        lane = known[i]
        if lane is None:
            lane = Lane(self._asm, self._asm.load_vector(self._at(index, i)))
            known[i] = lane
        return lane

    def _at(self, index: Value | int, i: int) -> Value:
        start = self._addresses.get(str(index))
        if start is None:
            offset = self._asm.whole("mul", index, self._size)
            start = self._asm.vector_address(self._base, offset)
            self._addresses[str(index)] = start
        return start if i == 0 else self._asm.vector_address(start, i)


Value = NewType("Value", str)


class Instructions(Protocol):
    """The text of one function.

    n, m:    how many links and coordinates there are
    doubles, wholes, scratch, tables, staging: where memory begins, as `layout` describes it
    epoch:   changes whenever a loop begins or ends: what was computed before may not hold after
    """

    n: Value
    m: Value
    doubles: Value
    wholes: Value
    scratch: Value
    tables: Value
    staging: Value
    epoch: int

    # real numbers
    def splat(self, number: float) -> Value: ...
    def broadcast(self, number: Value) -> Value: ...
    def binary(self, operation: str, a: Value, b: Value) -> Value: ...
    def negated(self, number: Value) -> Value: ...
    def function(self, name: str, number: Value) -> Value:
        """sqrt or fabs of a number."""

    def sin_cos(self, number: Value) -> tuple[Value, Value] | None:
        """Sine and cosine, where there is a function for them."""

    def tanh(self, number: Value) -> Value | None:
        """The same for tanh."""

    def compare(self, relation: str, a: Value, b: Value) -> Value: ...
    def select(self, condition: Value, yes: Value, no: Value) -> Value: ...
    def select_by_fact(self, fact: Value, yes: Value, no: Value) -> Value: ...

    # whole numbers
    def whole(self, operation: str, a: Value | int, b: Value | int) -> Value: ...
    def int_op_at_entry(self, operation: str, a: Value | int, b: Value | int) -> Value: ...
    def smaller(self, a: Value | int, b: Value | int) -> Value: ...
    def larger(self, a: Value | int, b: Value | int) -> Value: ...
    def not_zero(self, number: Value) -> Value: ...
    def real_of(self, number: Value) -> Value: ...

    # memory
    def address(self, pointer: Value, index: Value | int, kind: str = "double") -> Value: ...
    def load(self, kind: str, pointer: Value) -> Value: ...
    def int_table_at_entry(self, offset: Value) -> Value: ...
    def vectors_at_entry(self, memory: Value, offset: Value) -> Value: ...
    def vector_address(self, pointer: Value, index: Value | int) -> Value: ...
    def load_vector(self, pointer: Value) -> Value: ...
    def store_vector(self, value: Value, pointer: Value) -> None: ...
    def variable(self) -> Value:
        """A place for one number that changes."""

    # loops
    def loop(self, start: Value | int, stop: Value | int, step: int) -> Iterator[Value]: ...
    def walk(self, start: Value | int, stop: Value | int, table: Value) -> Iterator[Value]: ...
