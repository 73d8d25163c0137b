"""Where a traced algorithm keeps its numbers: scratch memory per link, tables, registers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.engine.compiled import layout
from robolin.engine.compiled.instructions import Instructions, Value
from robolin.engine.compiled.lanes import Lane, Memory, as_value
from robolin.engine.compiled.trace_arm import TracedArm


class TracedLinks(Protocol):
    """What storage needs to know about the chain it belongs to."""

    @property
    def arm(self) -> TracedArm: ...
    @property
    def base(self) -> Value: ...
    def tip_to_base(self) -> Iterable[Value]: ...
    def inboard(self, k: Value) -> Value: ...
    def slots(self, size: int) -> TracedSlots: ...
    def scalars(self) -> TracedScalars: ...
    def cell(self, values: Vector) -> TracedCell: ...


class TracedSlots:
    """One vector per link in scratch memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getitem__(self, k: Value) -> Vector:
        return self._memory.load(k)

    def __setitem__(self, k: Value, values: Vector) -> None:
        self._memory.store(k, values)


class TracedScalars:
    """One number per link in scratch memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    def __getitem__(self, k: Value) -> Scalar:
        return self._memory.load(k)[0]

    def __setitem__(self, k: Value, value: Scalar) -> None:
        self._memory.store(k, (value,))


class TracedTable:
    """One number per pair of coordinates.

    complete: whether every pair is put once before it is read, so that nothing need be added up
    """

    def __init__(self, chain: TracedLinks, memory: Memory, side: Value, *, complete: bool) -> None:
        self._chain, self._memory, self._side, self._complete = chain, memory, side, complete

    def __getitem__(self, pair: tuple[Value, Value]) -> Scalar:
        return self._memory.load(self._place(*pair))[0]

    def __setitem__(self, pair: tuple[Value, Value], value: Scalar) -> None:
        self._memory.store(self._place(*pair), (value,))

    def put(self, index: tuple[Value, ...], value: Scalar) -> None:
        if self._complete:
            self[index[0], index[1]] = value
        else:
            self.add(index, value)

    def add(self, index: tuple[Value, ...], value: Scalar) -> None:
        (j, r), value = self._chain.arm.reduced(index, value)
        self[j, r] = self[j, r] + value

    def _place(self, j: Value, r: Value) -> Value:
        asm = self._chain.arm.asm
        return asm.whole("add", asm.whole("mul", j, self._side), r)


class TracedColumn:
    """One number per coordinate, in scratch memory."""

    def __init__(self, chain: TracedLinks, memory: Memory) -> None:
        self._chain, self._memory = chain, memory

    def __getitem__(self, j: Value) -> Scalar:
        return self._memory.load(j)[0]

    def __setitem__(self, j: Value, value: Scalar) -> None:
        self._memory.store(j, (value,))

    def put(self, index: tuple[Value, ...], value: Scalar) -> None:
        if self._chain.arm.variant.mimics:
            self.add(index, value)
        else:
            self[index[0]] = value

    def add(self, index: tuple[Value, ...], value: Scalar) -> None:
        (j,), value = self._chain.arm.reduced(index, value)
        self[j] = self[j] + value

    def on_links(self) -> TracedScalars:
        arm, full = self._chain.arm, self._chain.scalars()
        for k in self._chain.tip_to_base():
            if arm.variant.mimics:
                ratio = arm.constants(k, layout.RATIO, 1)[0]
                full[k] = self[arm.whole(layout.COORDINATE, k)] * ratio
            else:
                full[k] = self[k]
        return full


class TracedCell:
    """One vector that a loop carries along; the compiler keeps it in registers where it can."""

    def __init__(self, asm: Instructions, values: Vector) -> None:
        self._asm = asm
        self._places = [asm.variable() for _ in values]
        self.value = values

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(Lane(self._asm, self._asm.load_vector(place)) for place in self._places)

    @property
    def value(self) -> Vector:
        return self.lanes

    @value.setter
    def value(self, values: Vector) -> None:
        for place, value in zip(self._places, values, strict=True):
            self._asm.store_vector(as_value(self._asm, value), place)


class SerialSums:
    """On a serial chain a link is handed something by one other link only, the one before it."""

    def __init__(self, chain: TracedLinks, size: int) -> None:
        self._cell = chain.cell((-0.0,) * size)

    def __getitem__(self, k: Value) -> Vector:
        return self._cell.value

    def hand_inboard(self, k: Value, values: Vector) -> None:
        self._cell.value = values


class TreeSums:
    """What has been handed inboard to each link so far."""

    def __init__(self, chain: TracedLinks, size: int) -> None:
        self._chain, self._slots = chain, chain.slots(size)
        for k in chain.tip_to_base():
            self._slots[k] = (-0.0,) * size
        self._slots[chain.base] = (-0.0,) * size

    def __getitem__(self, k: Value) -> Vector:
        return self._slots[k]

    def hand_inboard(self, k: Value, values: Vector) -> None:
        up = self._chain.inboard(k)
        so_far = self._slots[up]
        self._slots[up] = tuple(a + b for a, b in zip(so_far, values, strict=True))
