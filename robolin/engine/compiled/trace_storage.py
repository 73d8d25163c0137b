"""Where a traced algorithm keeps its numbers: scratch memory per link, tables, registers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from robolin.algebra.scalar import Scalar, Vector
from robolin.engine.compiled.lanes import Lane, Memory, as_value
from robolin.engine.compiled.llvm_text import Assembly, Value


class Links(Protocol):
    """What storage needs to know about the chain it belongs to."""

    @property
    def base(self) -> Value: ...
    def tip_to_base(self) -> Iterable[Value]: ...
    def inboard(self, k: Value) -> Value: ...
    def slots(self, size: int) -> TracedSlots: ...
    def cell(self, values: Vector) -> TracedCell: ...
    def pair(self, j: Value, r: Value) -> Value: ...


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
    """One number per pair of coordinates."""

    def __init__(self, chain: Links, memory: Memory) -> None:
        self._chain, self._memory = chain, memory

    def __getitem__(self, pair: tuple[Value, Value]) -> Scalar:
        return self._memory.load(self._chain.pair(*pair))[0]

    def __setitem__(self, pair: tuple[Value, Value], value: Scalar) -> None:
        self._memory.store(self._chain.pair(*pair), (value,))


class TracedColumn:
    """The diagonal of a table, where a column is held."""

    def __init__(self, table: TracedTable) -> None:
        self._table = table

    def __getitem__(self, j: Value) -> Scalar:
        return self._table[j, j]

    def __setitem__(self, j: Value, value: Scalar) -> None:
        self._table[j, j] = value


class TracedCell:
    """One vector that a loop carries along; the compiler keeps it in registers where it can."""

    def __init__(self, asm: Assembly, values: Vector) -> None:
        self._asm = asm
        kind = f"alloca {asm.vector}, align {8 * asm.width}"
        self._places = [asm.emit_at_entry(kind) for _ in values]
        self.value = values

    @property
    def value(self) -> Vector:
        return tuple(Lane(self._asm, self._asm.load_vector(place)) for place in self._places)

    @value.setter
    def value(self, values: Vector) -> None:
        for place, value in zip(self._places, values, strict=True):
            self._asm.store_vector(as_value(self._asm, value), place)


class SerialSums:
    """On a serial chain a link is handed something by one other link only, the one before it."""

    def __init__(self, chain: Links, size: int) -> None:
        self._cell = chain.cell((-0.0,) * size)

    def __getitem__(self, k: Value) -> Vector:
        return self._cell.value

    def hand_inboard(self, k: Value, values: Vector) -> None:
        self._cell.value = values


class TreeSums:
    """What has been handed inboard to each link so far."""

    def __init__(self, chain: Links, size: int) -> None:
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
