"""SIMD lanes: one scalar of an algorithm becomes one vector register with several states."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NewType, Protocol, cast

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.trigonometry import Precision, sin_cos_in, tanh_in


class Lane:
    """A vector register; arithmetic on it emits exactly these instructions, in this order."""

    asm: Instructions
    value: Value

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
            return sin_cos_in(self.asm.precision)(self)
        return Lane(self.asm, pair[0]), Lane(self.asm, pair[1])

    def tanh(self) -> Scalar:
        value = self.asm.tanh(self.value)
        return tanh_in(self.asm.precision, self) if value is None else Lane(self.asm, value)

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


# checked by mypy
_IS_A_SCALAR: type[Scalar] = Lane


class UniformBool:
    """A run-time condition that is equal in all lanes, such as the kind of a joint."""

    asm: Instructions
    condition: Value

    __slots__ = ("asm", "condition")

    def __init__(self, asm: Instructions, condition: Value) -> None:
        self.asm, self.condition = asm, condition

    def where(self, yes: Scalar, no: Scalar) -> Lane:
        asm = self.asm
        yes_value, no_value = as_value(asm, yes), as_value(asm, no)
        return Lane(asm, asm.select_uniform(self.condition, yes_value, no_value))


def as_value(asm: Instructions, number: Scalar) -> Value:
    return number.value if isinstance(number, Lane) else asm.splat(float(cast(float, number)))


class Memory:
    """Vectors in scratch memory by index, with reuse of values just stored or loaded."""

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
        # another index may be equal at run time: drop all other known values
        self._known = {str(index): self._store_elements(index, values)}

    def _store_elements(self, index: Value | int, values: Sequence[Scalar]) -> list[Lane | None]:
        lanes: list[Lane | None] = []
        for i, value in enumerate(values):
            lane = Lane(self._asm, as_value(self._asm, value))
            self._asm.store_vector(lane.value, self._address(index, i))
            lanes.append(lane)
        return lanes

    def _fresh(self, index: Value | int) -> list[Lane | None]:
        if self._epoch != self._asm.epoch:
            self._known, self._addresses, self._epoch = {}, {}, self._asm.epoch
        return self._known.setdefault(str(index), [None] * self._size)

    def _element(self, index: Value | int, known: list[Lane | None], i: int) -> Lane:
        lane = known[i]
        if lane is None:
            lane = Lane(self._asm, self._asm.load_vector(self._address(index, i)))
            known[i] = lane
        return lane

    def _address(self, index: Value | int, i: int) -> Value:
        start = self._addresses.get(str(index))
        if start is None:
            offset = self._asm.int_op("mul", index, self._size)
            start = self._asm.vector_address(self._base, offset)
            self._addresses[str(index)] = start
        return start if i == 0 else self._asm.vector_address(start, i)


Value = NewType("Value", str)

# kind of a real number in memory, as opposed to an LLVM type
SCALAR = "scalar"


class Instructions(Protocol):
    """Emitter of the instructions of one function.

    precision: format of real numbers
    n, m:    numbers of links and coordinates
    doubles, integers, scratch, tables, staging: start addresses of memory, see `layout`
    epoch:   changes when a loop begins or ends: values computed before may be invalid after
    """

    precision: Precision
    n: Value
    m: Value
    doubles: Value
    integers: Value
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
        """Sine and cosine if the target has a function for them, else None."""

    def tanh(self, number: Value) -> Value | None:
        """tanh if the target has a function for it, else None."""

    def compare(self, relation: str, a: Value, b: Value) -> Value: ...
    def select(self, condition: Value, yes: Value, no: Value) -> Value: ...
    def select_uniform(self, condition: Value, yes: Value, no: Value) -> Value: ...

    # integers
    def int_op(self, operation: str, a: Value | int, b: Value | int) -> Value: ...
    def int_op_at_entry(self, operation: str, a: Value | int, b: Value | int) -> Value: ...
    def smaller(self, a: Value | int, b: Value | int) -> Value: ...
    def larger(self, a: Value | int, b: Value | int) -> Value: ...
    def not_zero(self, number: Value) -> Value: ...
    def real_of(self, number: Value) -> Value: ...

    # memory
    def address(self, pointer: Value, index: Value | int, kind: str = SCALAR) -> Value: ...
    def load(self, kind: str, pointer: Value) -> Value: ...
    def int_table_at_entry(self, offset: Value) -> Value: ...
    def vectors_at_entry(self, memory: Value, offset: Value) -> Value: ...
    def vector_address(self, pointer: Value, index: Value | int) -> Value: ...
    def load_vector(self, pointer: Value) -> Value: ...
    def store_vector(self, value: Value, pointer: Value) -> None: ...
    def variable(self) -> Value:
        """Address of a new variable."""

    # loops
    def loop(self, start: Value | int, stop: Value | int, step: int) -> Iterator[Value]: ...
    def walk(self, start: Value | int, stop: Value | int, table: Value) -> Iterator[Value]: ...
