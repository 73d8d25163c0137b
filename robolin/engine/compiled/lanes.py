"""Numbers that write themselves down: one scalar of the source is one SIMD register of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from robolin.algebra.scalar import Scalar, Vector
from robolin.engine.compiled.llvm_text import Assembly, Value


class Lane:
    """A register; arithmetic on it emits exactly the operation asked for, in that order."""

    __slots__ = ("asm", "value")

    def __init__(self, asm: Assembly, value: Value) -> None:
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
        return Lane(self.asm, self.asm.emit(f"fneg {self.asm.vector} {self.value}"))

    def sqrt(self) -> Lane:
        return self._intrinsic("sqrt")

    def size(self) -> Lane:
        return self._intrinsic("fabs")

    def if_less(self, a: Scalar, b: Scalar, yes: Scalar, no: Scalar) -> Lane:
        return self.select(self.compare("olt", a, b), yes, no)

    def compare(self, relation: str, a: Scalar, b: Scalar) -> Value:
        asm = self.asm
        return asm.emit(f"fcmp {relation} {asm.vector} {as_value(asm, a)}, {as_value(asm, b)}")

    def select(self, condition: Value, yes: Scalar, no: Scalar) -> Lane:
        asm = self.asm
        yes_value, no_value = as_value(asm, yes), as_value(asm, no)
        mask = f"<{asm.width} x i1> {condition}"
        return Lane(
            asm, asm.emit(f"select {mask}, {asm.vector} {yes_value}, {asm.vector} {no_value}")
        )

    def _binary(self, operation: str, a: Lane | float, b: Lane | float) -> Lane:
        asm = self.asm
        return Lane(asm, asm.binary(operation, as_value(asm, a), as_value(asm, b)))

    def _intrinsic(self, name: str) -> Lane:
        asm = self.asm
        suffix = f"v{asm.width}f64"
        call = f"call {asm.vector} @llvm.{name}.{suffix}({asm.vector} {self.value})"
        return Lane(asm, asm.emit(call))


# the type checker sees to it
_IS_A_SCALAR: type[Scalar] = Lane


class Fact:
    """Something about the arm that is known only when the kernel runs, such as a joint's kind."""

    __slots__ = ("asm", "condition")

    def __init__(self, asm: Assembly, condition: Value) -> None:
        self.asm, self.condition = asm, condition

    def where(self, yes: Scalar, no: Scalar) -> Lane:
        asm = self.asm
        return Lane(
            asm,
            asm.emit(
                f"select i1 {self.condition}, {asm.vector} {as_value(asm, yes)}, "
                f"{asm.vector} {as_value(asm, no)}"
            ),
        )


def as_value(asm: Assembly, number: Scalar) -> Value:
    return number.value if isinstance(number, Lane) else asm.splat(float(cast(float, number)))


class Memory:
    """Vectors in scratch memory, by index; what was just stored or loaded is not loaded again."""

    def __init__(self, asm: Assembly, base: Value, size: int) -> None:
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
