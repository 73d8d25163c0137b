"""Storage of traced algorithms: scratch memory per link, tables, registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from robolin.dynamics.algebra.comparison import Axis, Shape
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import Instructions, Lane, Memory, Value, as_value
from robolin.engine.compiled.trace_arm import TracedArm

if TYPE_CHECKING:
    from robolin.engine.compiled.trace import TracedChain


class TracedLinks(Protocol):
    """Protocol of the chain that storage belongs to."""

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

    complete: True if every pair is written once before it is read, so that nothing accumulates
    """

    def __init__(self, chain: TracedLinks, memory: Memory, side: Value, *, complete: bool) -> None:
        self._chain, self._memory, self._side, self._complete = chain, memory, side, complete

    def __getitem__(self, pair: tuple[Value, Value]) -> Scalar:
        return self._memory.load(self._flat_index(*pair))[0]

    def __setitem__(self, pair: tuple[Value, Value], value: Scalar) -> None:
        self._memory.store(self._flat_index(*pair), (value,))

    def put(self, index: tuple[Value, ...], value: Scalar) -> None:
        if self._complete:
            self[index[0], index[1]] = value
        else:
            self.add(index, value)

    def add(self, index: tuple[Value, ...], value: Scalar) -> None:
        (j, r), value = self._chain.arm.reduced(index, value)
        self[j, r] = self[j, r] + value

    def _flat_index(self, j: Value, r: Value) -> Value:
        asm = self._chain.arm.asm
        return asm.int_op("add", asm.int_op("mul", j, self._side), r)


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
                full[k] = self[arm.int_entry(layout.COORDINATE, k)] * ratio
            else:
                full[k] = self[k]
        return full


class TracedCell:
    """A loop-carried vector; the compiler keeps it in registers if possible."""

    def __init__(self, asm: Instructions, values: Vector) -> None:
        self._asm = asm
        self._addresses = [asm.variable() for _ in values]
        self.value = values

    @property
    def lanes(self) -> tuple[Lane, ...]:
        return tuple(Lane(self._asm, self._asm.load_vector(address)) for address in self._addresses)

    @property
    def value(self) -> Vector:
        return self.lanes

    @value.setter
    def value(self, values: Vector) -> None:
        for address, value in zip(self._addresses, values, strict=True):
            self._asm.store_vector(as_value(self._asm, value), address)


class SerialSums:
    """Sums on a serial chain, where each link has one child only: the previous value."""

    def __init__(self, chain: TracedLinks, size: int) -> None:
        self._cell = chain.cell((-0.0,) * size)

    def __getitem__(self, k: Value) -> Vector:
        return self._cell.value

    def add_to_parent(self, k: Value, values: Vector) -> None:
        self._cell.value = values


class TreeSums:
    """Sums accumulated from the children of each link."""

    def __init__(self, chain: TracedLinks, size: int) -> None:
        self._chain, self._slots = chain, chain.slots(size)
        for k in chain.tip_to_base():
            self._slots[k] = (-0.0,) * size
        self._slots[chain.base] = (-0.0,) * size

    def __getitem__(self, k: Value) -> Vector:
        return self._slots[k]

    def add_to_parent(self, k: Value, values: Vector) -> None:
        up = self._chain.inboard(k)
        total = self._slots[up]
        self._slots[up] = tuple(a + b for a, b in zip(total, values, strict=True))


def traced_closures(chain: TracedChain) -> list[Any]:
    """All closures with their first row and two frames."""
    closures, row = [], 0
    for i, rigid in enumerate(chain.variant.rigid_closures):
        first, second = (_frame(chain, 2 * i + end) for end in (0, 1))
        closures.append(SimpleNamespace(row=row, rigid=rigid, first=first, second=second))
        row += 6 if rigid else 3
    return closures


def _frame(chain: TracedChain, i: int) -> Any:
    asm, loads = chain.asm, len(chain.variant.load_models)
    after = asm.int_op("mul", asm.n, layout.LINK_DOUBLES)
    before = layout.HEAD_DOUBLES + loads * layout.LOAD_DOUBLES + i * layout.FRAME_DOUBLES
    numbers = chain.arm.numbers(asm.int_op("add", after, before), layout.FRAME_DOUBLES)
    return SimpleNamespace(
        link=chain.arm.link_of_frame(1 + loads + i), axes=numbers[0:9], point=numbers[9:12]
    )


class Staging:
    """Staging memory of all results in public order, one vector of lanes per number.

    sizes, offsets: size and start of each result, in vectors
    total:          size of all results
    """

    def __init__(self, arm: TracedArm, gives: Mapping[str, Shape]) -> None:
        self._arm, self._asm, self.gives = arm, arm.asm, dict(gives)
        self.sizes: dict[str, Value] = {}
        self.offsets: dict[str, Value] = {}
        total = Value("0")
        for name, shape in self.gives.items():
            size = Value("1")
            for axis in shape:
                size = self._asm.int_op_at_entry("mul", size, self._length(axis))
            self.sizes[name], self.offsets[name] = size, total
            total = self._asm.int_op_at_entry("add", total, size)
        self.total = total

    def store(self, name: str, index: Sequence[Value], value: Scalar, *, more: bool) -> None:
        """Store a number of a result; with `more`, add it to the stored one."""
        asm = self._asm
        flat = Value("0")
        for axis, i in zip(self.gives[name], index, strict=True):
            before = asm.int_op("mul", flat, self._length(axis))
            flat = asm.int_op("add", before, self._public(axis, i))
        offset = asm.int_op("add", self.offsets[name], flat)
        address = asm.vector_address(asm.staging, offset)
        lane = Lane(asm, as_value(asm, value))
        if more:
            lane = Lane(asm, asm.load_vector(address)) + lane
        asm.store_vector(lane.value, address)

    def _length(self, axis: Axis) -> Value:
        rows = str(self._arm.variant.closure_rows)
        known = {"joint": self._asm.m, "link": self._asm.n, "closure": Value(rows)}
        return known.get(str(axis), Value(str(axis)))

    def _public(self, axis: Axis, i: Value) -> Value:
        """Public index of a coordinate, a link or an entry."""
        if axis == "joint":
            return self._arm.int_entry(layout.PLACE, i)
        return self._asm.int_op("sub", self._asm.n, i) if axis == "link" else i


class TracedResult:
    """One result in the staging area."""

    def __init__(self, arm: TracedArm, staging: Staging, name: str) -> None:
        self._arm, self._staging, self._name = arm, staging, name

    def put(self, index: tuple[Value, ...], value: Scalar) -> None:
        self._store(index, value, more=self._arm.variant.mimics)

    def add(self, index: tuple[Value, ...], value: Scalar) -> None:
        self._store(index, value, more=True)

    def __setitem__(self, index: Any, value: Scalar) -> None:
        coordinates = index if isinstance(index, tuple) else (index,)
        self._staging.store(self._name, coordinates, value, more=False)

    def _store(self, index: tuple[Value, ...], value: Scalar, *, more: bool) -> None:
        coordinates, value = self._arm.reduced(index, value, self._staging.gives[self._name])
        self._staging.store(self._name, coordinates, value, more=more)
