"""Tracing an algorithm: every operation becomes an instruction, every loop is written once.

Nothing about the arm but its `Variant` is in the text: the number of links, their order and all
their numbers are data that the kernel reads when it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from robolin.algebra.axes import Axis, Shape
from robolin.algebra.scalar import Scalar, Vector
from robolin.algebra.vectors import ZERO3, add, rotate, sub
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import Fact, Lane, Memory, as_value
from robolin.engine.compiled.layout import Variant
from robolin.engine.compiled.llvm_text import Assembly, Value
from robolin.engine.compiled.trace_closures import traced_closures
from robolin.engine.compiled.trace_storage import (
    SerialSums,
    TracedCell,
    TracedColumn,
    TracedScalars,
    TracedSlots,
    TracedTable,
    TreeSums,
)
from robolin.engine.direct import NEGLIGIBLE

# links whose vectors fit in the nearest cache together, with room for what is done with them
NEIGHBOURS = 16


class TracedChain:
    """The same questions as any chain answers; the answers are instructions."""

    def __init__(
        self, asm: Assembly, variant: Variant, inputs: Sequence[str], gives: Mapping[str, Shape]
    ) -> None:
        self.asm, self.variant = asm, variant
        self.inputs, self.gives = list(inputs), dict(gives)
        self.base = asm.emit_at_entry("add i64 %n, 1")
        self._count = asm.emit_at_entry("add i64 %n, 2")
        self._side = asm.emit_at_entry("add i64 %m, 1")
        self._area = asm.emit_at_entry(f"mul i64 {self._side}, {self._side}")
        self.scratch_vectors = 0  # per link
        self._tables: dict[str, TracedTable] = {}
        self._known_wholes: dict[tuple[int, str], Value] = {}
        self._epoch = -1
        self.arrays = {name: self.scalars() for name in inputs}
        self.offsets = self._output_offsets()
        self.complaint = TracedCell(asm, (0.0,))

    # the order of the links

    def base_to_tip(self) -> Iterable[Value]:
        return self.asm.loop(Value("%n"), 0, -1)

    def tip_to_base(self) -> Iterable[Value]:
        return self.asm.loop(1, self.base, 1)

    def inboard(self, k: Value) -> Value:
        if self.variant.serial:
            return self.asm.whole("add", k, 1)
        return self.whole(layout.PARENT, k)

    def inboard_of(self, k: Value) -> Iterable[Value]:
        return self._inward(self.inboard(k), self.base)

    def inboard_pairs(self) -> Iterable[tuple[Value, Value]]:
        if self.variant.serial and not self.variant.mimics:
            yield from self._pairs_by_neighbourhoods()
        else:
            # a path through a tree has no neighbourhoods, and sums of mimicking joints an order
            for k in self.tip_to_base():
                for j in self.inboard_of(k):
                    yield k, j

    def _pairs_by_neighbourhoods(self) -> Iterable[tuple[Value, Value]]:
        """What a few links j have is fetched once for all links k outboard of them."""
        asm = self.asm
        for first in asm.loop(2, self.base, NEIGHBOURS):
            beyond = asm.smaller(asm.whole("add", first, NEIGHBOURS), self.base)
            for k in asm.loop(1, asm.whole("sub", beyond, 1), 1):
                nearest = asm.larger(asm.whole("add", k, 1), first)
                for j in asm.loop(nearest, beyond, 1):
                    yield k, j

    def path_of(self, k: Value) -> Iterable[Value]:
        return self._inward(k, self.base)

    def between(self, k: Value, j: Value) -> Iterable[Value]:
        return self._inward(self.inboard(k), j)

    def outboard_of(self, k: Value) -> Iterable[Value]:
        return self._outward(self.asm.whole("sub", k, 1), k)

    def subtree_of(self, k: Value) -> Iterable[Value]:
        return self._outward(k, k)

    def _inward(self, start: Value, stop: Value) -> Iterable[Value]:
        if self.variant.serial:
            return self.asm.loop(start, stop, 1)
        return self.asm.walk(start, stop, self._table_of(layout.PARENT))

    def _outward(self, start: Value, k: Value) -> Iterable[Value]:
        first = Value("1") if self.variant.serial else self.whole(layout.FIRST, k)
        return self.asm.loop(start, self.asm.whole("sub", first, 1), -1)

    # joints with several freedoms

    @property
    def grouped(self) -> bool:
        return self.variant.grouped

    def outermost(self, k: Value) -> Value:
        return self.whole(layout.OUTERMOST, k) if self.grouped else k

    def carrier(self, k: Value) -> Value:
        return self.whole(layout.CARRIER, k) if self.grouped else self.inboard(k)

    def partners_outboard_of(self, k: Value) -> Iterable[Value]:
        beyond = self.asm.whole("sub", self.outermost(k), 1)
        return self.asm.loop(self.asm.whole("sub", k, 1), beyond, -1)

    def partnered(self) -> Iterable[Value]:
        count = self.whole(layout.PARTNERED, Value("0"))
        for turn in self.asm.loop(1, self.asm.whole("add", count, 1), 1):
            yield self.whole(layout.PARTNERED, turn)

    def direction(self, k: Value) -> Vector:
        return self.constants(k, layout.DIRECTION, 3)

    def rests(self, k: Value) -> Any:
        return self.fact(layout.RESTS, k) if self.variant.roams else self.turns(k)

    # the constants of link k

    def turns(self, k: Value) -> Any:
        return True if self.variant.all_turn else self.fact(layout.TURNS, k)

    def placement(self, k: Value) -> tuple[Vector, Vector]:
        return self.constants(k, layout.ROTATION, 9), self.constants(k, layout.OFFSET, 3)

    def body(self, k: Value) -> tuple[Scalar, Vector, Vector]:
        mass = self.constants(k, layout.MASS, 1)[0]
        return mass, self.constants(k, layout.COM, 3), self.constants(k, layout.ROTARY, 6)

    def armature(self, k: Value) -> Scalar:
        return self.constants(k, layout.ARMATURE, 1)[0]

    def damping(self, k: Value) -> Scalar:
        return self.constants(k, layout.DAMPING, 1)[0]

    def friction(self, k: Value) -> Scalar:
        return self.constants(k, layout.FRICTION, 1)[0]

    @property
    def gravity(self) -> Vector:
        return self._head(layout.GRAVITY, 3)

    @property
    def friction_velocity(self) -> Scalar | None:
        if not self.variant.smooth_friction:
            return None
        return self._head(layout.FRICTION_VELOCITY, 1)[0]

    @property
    def origin(self) -> Vector:
        fixed = self._head(layout.FRAME_ORIGIN, 3)
        if not self.variant.roams:
            return fixed
        links = (self.asm.whole("sub", Value("%n"), i) for i in range(3))
        slides = tuple(self.arrays["q"][k] for k in links)
        return add(fixed, rotate(self._head(layout.ROAMING, 9), slides))

    @property
    def tip(self) -> Any:
        return SimpleNamespace(
            link=self.link_of_place(0),
            axes=self._head(layout.TIP_AXES, 9),
            point=self._head(layout.TIP_POINT, 3),
        )

    @property
    def loads(self) -> Sequence[Any]:
        return [self._load(i, model) for i, model in enumerate(self.variant.load_models)]

    def _load(self, i: int, model: str) -> Any:
        asm = self.asm
        after = asm.whole("mul", Value("%n"), layout.LINK_DOUBLES)
        start = asm.whole("add", after, layout.HEAD_DOUBLES + i * layout.LOAD_DOUBLES)
        numbers = self.numbers(start, layout.LOAD_DOUBLES)
        point = numbers[9:12]
        if model == "world" and self.variant.roams:
            point = sub(ZERO3, self.origin)
        return SimpleNamespace(
            link=self.link_of_place(1 + i),
            model=model,
            axes=numbers[0:9],
            point=point,
            force=numbers[12:15],
            moment=numbers[15:18],
        )

    @property
    def closures(self) -> Sequence[Any]:
        return traced_closures(self)

    def link_of_place(self, i: int) -> Value:
        """The link of the tip (0), of a load (1, …) or of a closure's frame after those."""
        asm = self.asm
        place = asm.whole("mul", self._count, layout.LINK_TABLES)
        return asm.load("i64", asm.address(Value("%wholes"), asm.whole("add", place, i), "i64"))

    # the state

    def given(self, name: str) -> TracedScalars:
        return self.arrays[name]

    # storage

    def slots(self, size: int) -> TracedSlots:
        return TracedSlots(self._memory(size))

    def scalars(self) -> TracedScalars:
        return TracedScalars(self._memory(1))

    def sums(self, size: int) -> SerialSums | TreeSums:
        return SerialSums(self, size) if self.variant.serial else TreeSums(self, size)

    def cell(self, values: Vector) -> TracedCell:
        return TracedCell(self.asm, values)

    def _memory(self, size: int) -> Memory:
        offset = self.asm.emit_at_entry(f"mul i64 {self._count}, {self.scratch_vectors}")
        base = self.asm.emit_at_entry(
            f"getelementptr {self.asm.vector}, ptr %scratch, i64 {offset}"
        )
        self.scratch_vectors += size
        return Memory(self.asm, base, size)

    # independent coordinates

    def coordinates(self) -> Iterable[Value]:
        return self.asm.loop(1, self._side, 1)

    def coordinates_in_fours(self) -> Iterable[tuple[Value, ...]]:
        # what the last four lack is worked out again, which takes no more time than once
        asm = self.asm
        for j in asm.loop(1, self._side, 4):
            more = (asm.smaller(asm.whole("add", j, i), Value("%m")) for i in (1, 2, 3))
            yield (j, *more)

    def leader(self, j: Value) -> Value:
        # who is complained of is found out by running the row again; here any mark will do
        return j

    def coordinates_back(self) -> Iterable[Value]:
        return self.asm.loop(Value("%m"), 0, -1)

    def coordinates_before(self, j: Value) -> Iterable[Value]:
        return self.asm.loop(1, j, 1)

    def coordinates_after(self, j: Value) -> Iterable[Value]:
        return self.asm.loop(self.asm.whole("add", j, 1), self._side, 1)

    def coordinates_from(self, j: Value) -> Iterable[Value]:
        return self.asm.loop(j, self._side, 1)

    def coordinates_back_to(self, j: Value) -> Iterable[Value]:
        return self.asm.loop(Value("%m"), self.asm.whole("sub", j, 1), -1)

    def coordinates_between(self, j: Value, r: Value) -> Iterable[Value]:
        return self.asm.loop(self.asm.whole("add", j, 1), self.asm.whole("add", r, 1), 1)

    def begin(self, *names: str) -> None:
        for name in names:
            if name not in self._tables:
                self._tables[name] = TracedTable(self, self._table_memory(len(self._tables)))
            if not self._every_pair_is_written:
                self._empty(self._tables[name])

    def _empty(self, table: TracedTable) -> None:
        for j in self.coordinates():
            for r in self.coordinates():
                table[j, r] = 0.0

    @property
    def _every_pair_is_written(self) -> bool:
        """On a serial chain of independent joints every pair is held once before it is read."""
        return self.variant.serial and not self.variant.mimics

    def hold(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        if self._every_pair_is_written:
            self._tables[name][index[0], index[-1]] = value
        else:
            self.hold_more(name, index, value)

    def hold_more(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value)
        table, pair = self._tables[name], (coordinate[0], coordinate[-1])
        table[pair] = table[pair] + value

    def held(self, name: str) -> TracedTable:
        return self._tables[name]

    def held_column(self, name: str) -> TracedColumn:
        return TracedColumn(self._tables[name])

    def spread(self, column: Any) -> TracedScalars:
        full = self.scalars()
        for k in self.tip_to_base():
            if self.variant.mimics:
                ratio = self.constants(k, layout.RATIO, 1)[0]
                full[k] = column[self.whole(layout.COORDINATE, k)] * ratio
            else:
                full[k] = column[k]
        return full

    def pair(self, j: Value, r: Value) -> Value:
        """Where the number of a pair of coordinates sits in its table."""
        return self.asm.whole("add", self.asm.whole("mul", j, self._side), r)

    @property
    def table_count(self) -> int:
        return len(self._tables)

    def _table_memory(self, number: int) -> Memory:
        offset = self.asm.emit_at_entry(f"mul i64 {self._area}, {number}")
        base = self.asm.emit_at_entry(f"getelementptr {self.asm.vector}, ptr %tables, i64 {offset}")
        return Memory(self.asm, base, 1)

    # results

    def stage(self, name: str) -> None:
        pass

    def positive(self, k: Value, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        return self._above(k, value, size().size() * NEGLIGIBLE)

    def regular(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        # what does not exist is found out by running the row again; here any mark will do
        return self._above(Value("1"), value, least)

    def _above(self, k: Value, value: Scalar, floor: Scalar) -> Scalar:
        asm, said = self.asm, self.complaint.value[0]
        above_floor = value.if_less(floor, value, 1.0, 0.0)
        fine = value.if_less(0.0, value, above_floor, 0.0)
        number = asm.broadcast(asm.emit(f"sitofp i64 {k} to double"))
        first = said.select(said.compare("oeq", said, 0.0), Lane(asm, number), said)
        self.complaint.value = (fine.if_less(0.0, fine, said, first),)
        return fine.if_less(0.0, fine, value, float("nan"))

    def out(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value, self.gives[name])
        self._stage(name, coordinate, value, more=self.variant.mimics)

    def out_more(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value, self.gives[name])
        self._stage(name, coordinate, value, more=True)

    def out_coordinate(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        self._stage(name, index, value, more=False)

    def _stage(self, name: str, index: Sequence[Value], value: Scalar, *, more: bool) -> None:
        """Keep a result until the block is done, in its public place."""
        asm = self.asm
        flat = Value("0")
        for axis, i in zip(self.gives[name], index, strict=True):
            before = asm.whole("mul", flat, self._length(axis))
            flat = asm.whole("add", before, self._public(axis, i))
        place = asm.whole("add", self.offsets[name], flat)
        address = asm.vector_address(Value("%staging"), place)
        lane = Lane(asm, as_value(asm, value))
        if more:
            lane = Lane(asm, asm.load_vector(address)) + lane
        asm.store_vector(lane.value, address)

    def _length(self, axis: Axis) -> Value:
        lengths = {"joint": "%m", "link": "%n", "closure": str(self.variant.closure_rows)}
        return Value(lengths.get(str(axis), str(axis)))

    def _public(self, axis: Axis, i: Value) -> Value:
        """Where a coordinate, a link or an entry stands in a result."""
        if axis == "joint":
            return self.whole(layout.PLACE, i)
        return self.asm.whole("sub", Value("%n"), i) if axis == "link" else i

    def _reduced(
        self, index: tuple[Value, ...], value: Scalar, shape: Shape | None = None
    ) -> tuple[tuple[Value, ...], Scalar]:
        if not self.variant.mimics:
            return index, value
        reduced = []
        for axis, k in zip(shape or ("joint",) * len(index), index, strict=True):
            if axis == "joint":
                value = value * self.constants(k, layout.RATIO, 1)[0]
            reduced.append(self.whole(layout.COORDINATE, k) if axis == "joint" else k)
        return tuple(reduced), value

    # numbers of the arm

    def constants(self, k: Value, start: int, count: int) -> Vector:
        before = self.asm.whole("mul", self.asm.whole("sub", k, 1), layout.LINK_DOUBLES)
        return self.numbers(self.asm.whole("add", before, layout.HEAD_DOUBLES + start), count)

    def _head(self, start: int, count: int) -> Vector:
        return self.numbers(Value(str(start)), count)

    def numbers(self, start: Value, count: int) -> Vector:
        asm = self.asm
        first = asm.address(Value("%doubles"), start)
        return tuple(
            Lane(asm, asm.broadcast(asm.load("double", asm.address(first, i))))
            for i in range(count)
        )

    def _table_of(self, which: int) -> Value:
        return self.asm.emit_at_entry(
            f"getelementptr i64, ptr %wholes, i64 "
            f"{self.asm.emit_at_entry(f'mul i64 {self._count}, {which}')}"
        )

    def whole(self, which: int, k: Value) -> Value:
        if self._epoch != self.asm.epoch:
            self._known_wholes, self._epoch = {}, self.asm.epoch
        if (which, k) not in self._known_wholes:
            place = self.asm.address(self._table_of(which), k, "i64")
            self._known_wholes[which, k] = self.asm.load("i64", place)
        return self._known_wholes[which, k]

    def fact(self, which: int, k: Value) -> Fact:
        return Fact(self.asm, self.asm.emit(f"icmp ne i64 {self.whole(which, k)}, 0"))

    def _output_offsets(self) -> dict[str, Value]:
        """Where each result begins in the staging area, in vectors."""
        asm = self.asm
        self.sizes: dict[str, Value] = {}
        offsets, so_far = {}, Value("0")
        for name, shape in self.gives.items():
            size = Value("1")
            for axis in shape:
                size = asm.emit_at_entry(f"mul i64 {size}, {self._length(axis)}")
            self.sizes[name], offsets[name] = size, so_far
            so_far = asm.emit_at_entry(f"add i64 {so_far}, {size}")
        self.total = so_far
        return offsets
