"""Tracing an algorithm: every operation becomes an instruction, every loop is written once.

The kernel goes through its rows in blocks of `width`.  In each block it gathers the inputs into
lanes, runs the algorithm, and scatters the results.  Nothing about the arm but its `Variant` is
in the text: the number of links, their order and all their numbers are data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from robolin.algebra.scalar import Scalar, Vector
from robolin.algebra.trigonometry import LARGEST_ANGLE
from robolin.engine import layout
from robolin.engine.assembly import Assembly, Value
from robolin.engine.lanes import Fact, Lane, Memory, as_value, declarations
from robolin.engine.layout import Variant

NEGLIGIBLE = 1e-13

# what a row says whose inputs should be looked at before its results are believed
SUSPECT = -1.0

ARGUMENTS = ", ".join(
    f"{kind} %{name}"
    for kind, name in (
        ("ptr noalias readonly", "doubles"),
        ("ptr noalias readonly", "wholes"),
        ("ptr noalias readonly", "inputs"),
        ("ptr noalias readonly", "outputs"),
        ("ptr noalias", "complaints"),
        ("ptr noalias", "scratch"),
        ("ptr noalias", "tables"),
        ("ptr noalias", "staging"),
        ("i64", "n"),
        ("i64", "m"),
        ("i64", "rows"),
    )
)


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

    def __init__(self, chain: TracedChain, memory: Memory) -> None:
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

    def __init__(self, chain: TracedChain, size: int) -> None:
        self._cell = chain.cell((-0.0,) * size)

    def __getitem__(self, k: Value) -> Vector:
        return self._cell.value

    def hand_inboard(self, k: Value, values: Vector) -> None:
        self._cell.value = values


class TreeSums:
    """What has been handed inboard to each link so far."""

    def __init__(self, chain: TracedChain, size: int) -> None:
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


class TracedChain:
    """The same questions as any chain answers; the answers are instructions."""

    def __init__(
        self, asm: Assembly, variant: Variant, inputs: Sequence[str], gives: Mapping[str, int]
    ) -> None:
        self._asm, self._variant = asm, variant
        self._inputs, self._gives = list(inputs), dict(gives)
        self.base = asm.emit_at_entry("add i64 %n, 1")
        self._count = asm.emit_at_entry("add i64 %n, 2")
        self._side = asm.emit_at_entry("add i64 %m, 1")
        self._area = asm.emit_at_entry(f"mul i64 {self._side}, {self._side}")
        self.scratch_vectors = 0  # per link
        self._tables: dict[str, TracedTable] = {}
        self._known_wholes: dict[tuple[int, str], Value] = {}
        self._epoch = -1
        self._arrays = {name: self.scalars() for name in inputs}
        self._offsets = self._output_offsets()
        self._complaint = TracedCell(asm, (0.0,))

    # the order of the links

    def base_to_tip(self) -> Iterable[Value]:
        return self._asm.loop(Value("%n"), 0, -1)

    def tip_to_base(self) -> Iterable[Value]:
        return self._asm.loop(1, self.base, 1)

    def inboard(self, k: Value) -> Value:
        if self._variant.serial:
            return self._asm.whole("add", k, 1)
        return self._whole(layout.PARENT, k)

    def inboard_of(self, k: Value) -> Iterable[Value]:
        return self._inward(self.inboard(k), self.base)

    def path_of(self, k: Value) -> Iterable[Value]:
        return self._inward(k, self.base)

    def between(self, k: Value, j: Value) -> Iterable[Value]:
        return self._inward(self.inboard(k), j)

    def outboard_of(self, k: Value) -> Iterable[Value]:
        return self._outward(self._asm.whole("sub", k, 1), k)

    def subtree_of(self, k: Value) -> Iterable[Value]:
        return self._outward(k, k)

    def _inward(self, start: Value, stop: Value) -> Iterable[Value]:
        if self._variant.serial:
            return self._asm.loop(start, stop, 1)
        return self._asm.walk(start, stop, self._table_of(layout.PARENT))

    def _outward(self, start: Value, k: Value) -> Iterable[Value]:
        first = Value("1") if self._variant.serial else self._whole(layout.FIRST, k)
        return self._asm.loop(start, self._asm.whole("sub", first, 1), -1)

    # the constants of link k

    def turns(self, k: Value) -> Any:
        return True if self._variant.all_turn else self._fact(layout.TURNS, k)

    def placement(self, k: Value) -> tuple[Vector, Vector]:
        return self._constants(k, layout.ROTATION, 9), self._constants(k, layout.OFFSET, 3)

    def body(self, k: Value) -> tuple[Scalar, Vector, Vector]:
        mass = self._constants(k, layout.MASS, 1)[0]
        return mass, self._constants(k, layout.COM, 3), self._constants(k, layout.ROTARY, 6)

    def armature(self, k: Value) -> Scalar:
        return self._constants(k, layout.ARMATURE, 1)[0]

    def damping(self, k: Value) -> Scalar:
        return self._constants(k, layout.DAMPING, 1)[0]

    def friction(self, k: Value) -> Scalar:
        return self._constants(k, layout.FRICTION, 1)[0]

    @property
    def gravity(self) -> Vector:
        return self._numbers(Value("0"), 3)

    @property
    def friction_velocity(self) -> Scalar | None:
        return self._numbers(Value("3"), 1)[0] if self._variant.smooth_friction else None

    @property
    def loads(self) -> Sequence[Any]:
        return [self._load(i, model) for i, model in enumerate(self._variant.load_models)]

    def _load(self, i: int, model: str) -> Any:
        asm = self._asm
        after = asm.whole("mul", Value("%n"), layout.LINK_DOUBLES)
        start = asm.whole("add", after, layout.HEAD_DOUBLES + i * layout.LOAD_DOUBLES)
        numbers = self._numbers(start, layout.LOAD_DOUBLES)
        place = asm.whole("mul", self._count, layout.LINK_TABLES)
        link = asm.load("i64", asm.address(Value("%wholes"), asm.whole("add", place, i), "i64"))
        return SimpleNamespace(
            link=link,
            model=model,
            axes=numbers[0:9],
            point=numbers[9:12],
            force=numbers[12:15],
            moment=numbers[15:18],
        )

    # the state

    def given(self, name: str) -> TracedScalars:
        return self._arrays[name]

    # storage

    def slots(self, size: int) -> TracedSlots:
        return TracedSlots(self._memory(size))

    def scalars(self) -> TracedScalars:
        return TracedScalars(self._memory(1))

    def sums(self, size: int) -> SerialSums | TreeSums:
        return SerialSums(self, size) if self._variant.serial else TreeSums(self, size)

    def cell(self, values: Vector) -> TracedCell:
        return TracedCell(self._asm, values)

    def _memory(self, size: int) -> Memory:
        offset = self._asm.emit_at_entry(f"mul i64 {self._count}, {self.scratch_vectors}")
        base = self._asm.emit_at_entry(
            f"getelementptr {self._asm.vector}, ptr %scratch, i64 {offset}"
        )
        self.scratch_vectors += size
        return Memory(self._asm, base, size)

    # independent coordinates

    def coordinates(self) -> Iterable[Value]:
        return self._asm.loop(1, self._side, 1)

    def coordinates_back(self) -> Iterable[Value]:
        return self._asm.loop(Value("%m"), 0, -1)

    def coordinates_after(self, j: Value) -> Iterable[Value]:
        return self._asm.loop(self._asm.whole("add", j, 1), self._side, 1)

    def coordinates_from(self, j: Value) -> Iterable[Value]:
        return self._asm.loop(j, self._side, 1)

    def coordinates_back_to(self, j: Value) -> Iterable[Value]:
        return self._asm.loop(Value("%m"), self._asm.whole("sub", j, 1), -1)

    def coordinates_between(self, j: Value, r: Value) -> Iterable[Value]:
        return self._asm.loop(self._asm.whole("add", j, 1), self._asm.whole("add", r, 1), 1)

    def begin(self, *names: str) -> None:
        for name in names:
            if name not in self._tables:
                self._tables[name] = TracedTable(self, self._table_memory(len(self._tables)))
            table = self._tables[name]
            for j in self.coordinates():
                for r in self.coordinates():
                    table[j, r] = 0.0

    def hold(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
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
            if self._variant.mimics:
                ratio = self._constants(k, layout.RATIO, 1)[0]
                full[k] = column[self._whole(layout.COORDINATE, k)] * ratio
            else:
                full[k] = column[k]
        return full

    def pair(self, j: Value, r: Value) -> Value:
        """Where the number of a pair of coordinates sits in its table."""
        return self._asm.whole("add", self._asm.whole("mul", j, self._side), r)

    @property
    def table_count(self) -> int:
        return len(self._tables)

    def _table_memory(self, number: int) -> Memory:
        offset = self._asm.emit_at_entry(f"mul i64 {self._area}, {number}")
        base = self._asm.emit_at_entry(
            f"getelementptr {self._asm.vector}, ptr %tables, i64 {offset}"
        )
        return Memory(self._asm, base, 1)

    # results

    def stage(self, name: str) -> None:
        pass

    def positive(self, k: Value, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        asm, said = self._asm, self._complaint.value[0]
        floor = size().size() * NEGLIGIBLE
        above_floor = value.if_less(floor, value, 1.0, 0.0)
        fine = value.if_less(0.0, value, above_floor, 0.0)
        number = asm.broadcast(asm.emit(f"sitofp i64 {k} to double"))
        first = said.select(said.compare("oeq", said, 0.0), Lane(asm, number), said)
        self._complaint.value = (fine.if_less(0.0, fine, said, first),)
        return fine.if_less(0.0, fine, value, float("nan"))

    def out(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value)
        if self._variant.mimics:
            self._stage(name, coordinate, value, more=True)
        else:
            self._stage(name, coordinate, value, more=False)

    def out_more(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        coordinate, value = self._reduced(index, value)
        self._stage(name, coordinate, value, more=True)

    def out_coordinate(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        self._stage(name, index, value, more=False)

    def _stage(self, name: str, index: Sequence[Value], value: Scalar, *, more: bool) -> None:
        """Keep a result until the block is done, in its public place."""
        asm = self._asm
        place = self._offsets[name]
        flat: Value | None = None
        for j in index:
            public = self._whole(layout.PLACE, j)
            flat = (
                public
                if flat is None
                else asm.whole("add", asm.whole("mul", flat, Value("%m")), public)
            )
        assert flat is not None
        address = asm.vector_address(Value("%staging"), asm.whole("add", place, flat))
        lane = Lane(asm, as_value(asm, value))
        if more:
            lane = Lane(asm, asm.load_vector(address)) + lane
        asm.store_vector(lane.value, address)

    def _reduced(self, index: tuple[Value, ...], value: Scalar) -> tuple[tuple[Value, ...], Scalar]:
        if not self._variant.mimics:
            return index, value
        for k in index:
            value = value * self._constants(k, layout.RATIO, 1)[0]
        return tuple(self._whole(layout.COORDINATE, k) for k in index), value

    # numbers of the arm

    def _constants(self, k: Value, start: int, count: int) -> Vector:
        before = self._asm.whole("mul", self._asm.whole("sub", k, 1), layout.LINK_DOUBLES)
        return self._numbers(self._asm.whole("add", before, layout.HEAD_DOUBLES + start), count)

    def _numbers(self, start: Value, count: int) -> Vector:
        asm = self._asm
        first = asm.address(Value("%doubles"), start)
        return tuple(
            Lane(asm, asm.broadcast(asm.load("double", asm.address(first, i))))
            for i in range(count)
        )

    def _table_of(self, which: int) -> Value:
        return self._asm.emit_at_entry(
            f"getelementptr i64, ptr %wholes, i64 "
            f"{self._asm.emit_at_entry(f'mul i64 {self._count}, {which}')}"
        )

    def _whole(self, which: int, k: Value) -> Value:
        if self._epoch != self._asm.epoch:
            self._known_wholes, self._epoch = {}, self._asm.epoch
        if (which, k) not in self._known_wholes:
            place = self._asm.address(self._table_of(which), k, "i64")
            self._known_wholes[which, k] = self._asm.load("i64", place)
        return self._known_wholes[which, k]

    def _fact(self, which: int, k: Value) -> Fact:
        return Fact(self._asm, self._asm.emit(f"icmp ne i64 {self._whole(which, k)}, 0"))

    # rows in, rows out

    def gather(self, row: Value) -> None:
        """Bring `width` rows of every input into lanes; rows beyond the last repeat it."""
        asm = self._asm
        last = asm.whole("sub", Value("%rows"), 1)
        rows = [asm.whole("add", row, lane) for lane in range(asm.width)]
        inside = [asm.emit(f"call i64 @llvm.smin.i64(i64 {r}, i64 {last})") for r in rows]
        for number, name in enumerate(self._inputs):
            data = asm.load("ptr", asm.address(Value("%inputs"), 2 * number, "i64"))
            stride = asm.load("i64", asm.address(Value("%inputs"), 2 * number + 1, "i64"))
            starts = [asm.address(data, asm.whole("mul", r, stride)) for r in inside]
            for k in self.tip_to_base():
                self._arrays[name][k] = self._input(name, k, starts)
        self._suspect_inputs()

    def _suspect_inputs(self) -> None:
        """Mark rows with values that are not finite or angles too large for a sine.

        x - x is zero for every finite number and NaN for the others.
        """
        sum_of_nothing = self.cell((0.0,))
        for k in self.tip_to_base():
            for name in self._inputs:
                value = self._arrays[name][k]
                sum_of_nothing.value = (sum_of_nothing.value[0] + (value - value),)
            if "q" in self._inputs:
                size = self._arrays["q"][k].size()
                far = size.if_less(LARGEST_ANGLE, size, 1.0, 0.0)
                sum_of_nothing.value = (sum_of_nothing.value[0] + far,)
        nothing = sum_of_nothing.value[0]
        fine = nothing.select(nothing.compare("oeq", nothing, 0.0), 0.0, SUSPECT)
        self._complaint.value = (fine,)

    def _input(self, name: str, k: Value, starts: Sequence[Value]) -> Scalar:
        asm = self._asm
        coordinate = self._whole(layout.COORDINATE, k)
        place = self._whole(layout.PLACE, coordinate)
        vector = Value("poison")
        for lane, start in enumerate(starts):
            number = asm.load("double", asm.address(start, place))
            vector = asm.emit(f"insertelement {asm.vector} {vector}, double {number}, i32 {lane}")
        value: Scalar = Lane(asm, vector)
        if not self._variant.mimics:
            return value
        if name in ("tau", "dtau"):
            return self._fact(layout.FOLLOWS, k).where(0.0, value)
        value = value * self._constants(k, layout.RATIO, 1)[0]
        return value + self._constants(k, layout.SHIFT, 1)[0] if name == "q" else value

    def clear(self) -> None:
        """Start a block: no complaints, and nothing staged where results are added up."""
        self._complaint.value = (0.0,)
        if self._variant.mimics:
            asm = self._asm
            for e in asm.loop(0, self._total, 1):
                asm.store_vector(asm.splat(-0.0), asm.vector_address(Value("%staging"), e))

    def scatter(self, row: Value) -> None:
        """Write the staged results of this block's rows, and whom each row complained of."""
        asm = self._asm
        end = asm.whole("add", row, asm.width)
        whole_block = asm.emit(f"icmp sle i64 {end}, %rows")
        for number, name in enumerate(self._gives):
            data = asm.load("ptr", asm.address(Value("%outputs"), number, "i64"))
            size = self._sizes[name]
            stage = asm.vector_address(Value("%staging"), self._offsets[name])
            starts = [
                asm.address(data, asm.whole("mul", asm.whole("add", row, lane), size))
                for lane in range(asm.width)
            ]
            groups = asm.whole("and", size, -asm.width)
            done = asm.emit(f"select i1 {whole_block}, i64 {groups}, i64 0")
            for e in asm.loop(0, done, asm.width):
                self._transpose(stage, starts, e)
            for lane in range(asm.width):
                present = asm.emit(f"icmp slt i64 {asm.whole('add', row, lane)}, %rows")
                for _ in asm.only_if(present):
                    for e in asm.loop(done, size, 1):
                        vector = asm.vector_address(stage, e)
                        number_here = asm.load("double", asm.address(vector, lane))
                        tidy = asm.emit(f"fadd double {number_here}, 0.0")
                        asm.do(f"store double {tidy}, ptr {asm.address(starts[lane], e)}, align 8")
        self._scatter_complaints(row)

    def _transpose(self, stage: Value, starts: Sequence[Value], e: Value) -> None:
        """`width` entries of `width` rows at once: turn entries by lanes into rows by entries."""
        asm, width = self._asm, self._asm.width
        vectors = [
            (
                Lane(asm, asm.load_vector(asm.vector_address(stage, asm.whole("add", e, i)))) + 0.0
            ).value
            for i in range(width)
        ]
        step = 1
        while step < width:
            for i in range(width):
                if not i & step:
                    a, b = vectors[i], vectors[i + step]
                    low = [x if not x & step else width + x - step for x in range(width)]
                    high = [x + step if not x & step else width + x for x in range(width)]
                    vectors[i], vectors[i + step] = asm.shuffle(a, b, low), asm.shuffle(a, b, high)
            step *= 2
        for start, vector in zip(starts, vectors, strict=True):
            asm.store_vector(vector, asm.address(start, e), aligned=False)

    def _scatter_complaints(self, row: Value) -> None:
        asm = self._asm
        said = self._complaint.value[0]
        for lane in range(asm.width):
            here = asm.whole("add", row, lane)
            present = asm.emit(f"icmp slt i64 {here}, %rows")
            for _ in asm.only_if(present):
                number = asm.emit(f"extractelement {asm.vector} {said.value}, i32 {lane}")
                place = asm.address(Value("%complaints"), here)
                asm.do(f"store double {number}, ptr {place}, align 8")

    def _output_offsets(self) -> dict[str, Value]:
        """Where each result begins in the staging area, in vectors."""
        asm = self._asm
        self._sizes: dict[str, Value] = {}
        offsets, so_far = {}, Value("0")
        for name, rank in self._gives.items():
            size = Value("%m")
            for _ in range(rank - 1):
                size = asm.emit_at_entry(f"mul i64 {size}, %m")
            self._sizes[name], offsets[name] = size, so_far
            so_far = asm.emit_at_entry(f"add i64 {so_far}, {size}")
        self._total = so_far
        return offsets


def trace(
    algorithm: Callable[[Any], None],
    inputs: Sequence[str],
    gives: Mapping[str, int],
    variant: Variant,
    width: int,
) -> tuple[str, int, int]:
    """The kernel's assembly, its scratch vectors per link and its number of tables."""
    asm = Assembly(width)
    chain = TracedChain(asm, variant, inputs, gives)
    for row in asm.loop(0, Value("%rows"), width):
        chain.clear()
        chain.gather(row)
        algorithm(chain)
        chain.scatter(row)
    smin = "declare i64 @llvm.smin.i64(i64, i64)"
    text = asm.module("kernel", ARGUMENTS, f"{declarations(width)}\n{smin}")
    return text, chain.scratch_vectors, chain.table_count
