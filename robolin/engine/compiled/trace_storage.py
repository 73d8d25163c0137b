"""Memory of traced algorithms: parameters of the arm, scratch per link, tables, registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algorithm import Axis, Shape
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import (
    SCALAR,
    Instructions,
    Lane,
    Memory,
    UniformBool,
    Value,
    as_value,
)
from robolin.engine.compiled.layout import Variant

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
    def accumulator(self, values: Vector) -> TracedCell: ...


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
        self._cell = chain.accumulator((-0.0,) * size)

    def __getitem__(self, k: Value) -> Vector:
        return self._cell.value

    def add_to_parent(self, k: Value, values: Vector) -> None:
        self._cell.value = values


class TreeSums:
    """Sums over the children of each link, in their order.

    The last child of a link is the link before it, so its value stays in registers.  The values of
    other children wait in memory.
    """

    def __init__(self, chain: TracedLinks, size: int) -> None:
        self._chain, self._none = chain, (-0.0,) * size
        self._cell, self._slots = chain.accumulator(self._none), chain.slots(size)

    def __getitem__(self, k: Value) -> Vector:
        return self._cell.value

    def add_to_parent(self, k: Value, values: Vector) -> None:
        arm, up = self._chain.arm, self._chain.inboard(k)
        asm = arm.asm
        # a subtree begins with that of its first child
        skipped = asm.int_op("sub", arm.int_entry(layout.FIRST, k), arm.int_entry(layout.FIRST, up))
        after = asm.int_op("sub", asm.int_op("sub", up, k), 1)
        has_earlier, has_later = asm.smaller(skipped, 1), asm.smaller(after, 1)
        self._cell.value = values
        for _ in asm.loop(0, has_earlier, 1):
            total = self._slots[up]
            self._cell.value = tuple(a + b for a, b in zip(total, values, strict=True))
        for _ in asm.loop(0, has_later, 1):
            self._slots[up] = self._cell.value
            self._cell.value = self._none


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
        self._arm, self._asm = arm, arm.asm
        self.gives: dict[str, Shape] = dict(gives)
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


class TracedArm:
    """The tables `%doubles` and `%wholes` with the layout of `layout`, for one variant."""

    base: Value
    count: Value
    asm: Instructions
    variant: Variant

    def __init__(self, asm: Instructions, variant: Variant) -> None:
        self.asm, self.variant = asm, variant
        self.base = asm.int_op_at_entry("add", asm.n, 1)
        self.count = asm.int_op_at_entry("add", asm.n, 2)
        self._known_entries: dict[tuple[int, str], Value] = {}
        self._epoch = -1

    def inboard(self, k: Value) -> Value:
        if self.variant.serial:
            return self.asm.int_op("add", k, 1)
        return self.int_entry(layout.PARENT, k)

    def is_revolute(self, k: Value) -> Any:
        return True if self.variant.all_turn else self.fact(layout.TURNS, k)

    def reduced(
        self, index: tuple[Value, ...], value: Scalar, shape: Shape | None = None
    ) -> tuple[tuple[Value, ...], Scalar]:
        """Convert link numbers to coordinates and scale the value by the mimic ratios."""
        if not self.variant.mimics:
            return index, value
        reduced = []
        for axis, k in zip(shape or ("joint",) * len(index), index, strict=True):
            if axis == "joint":
                value = value * self.constants(k, layout.RATIO, 1)[0]
            reduced.append(self.int_entry(layout.COORDINATE, k) if axis == "joint" else k)
        return tuple(reduced), value

    # real numbers

    def constants(self, k: Value, start: int, count: int) -> tuple[Lane, ...]:
        """`count` constants of link k, beginning with number `start`."""
        before = self.asm.int_op("mul", self.asm.int_op("sub", k, 1), layout.LINK_DOUBLES)
        return self.numbers(self.asm.int_op("add", before, layout.HEAD_DOUBLES + start), count)

    def spring(self, k: Value, which: int) -> Lane:
        """Stiffness or rest position of the joint of link k, in the table after the closures."""
        asm, variant = self.asm, self.variant
        per_closure = 2 * layout.FRAME_DOUBLES
        before = layout.HEAD_DOUBLES + len(variant.load_models) * layout.LOAD_DOUBLES
        before += len(variant.rigid_closures) * per_closure
        after = asm.int_op("mul", asm.n, layout.LINK_DOUBLES)
        own = asm.int_op("mul", asm.int_op("sub", k, 1), layout.SPRING_DOUBLES)
        start = asm.int_op("add", after, asm.int_op("add", own, before + which))
        return self.numbers(start, 1)[0]

    def friction_bias(self, k: Value) -> Lane:
        """Friction bias of the joint of link k, in the table after the springs."""
        return self._after_springs(k, 0)

    def friction_velocity(self, k: Value) -> Lane:
        """Friction velocity of the joint of link k, in the last table."""
        return self._after_springs(k, 1 if self.variant.one_sided_friction else 0)

    def _after_springs(self, k: Value, tables: int) -> Lane:
        """The number of link k in a table with one number per link, after other such tables."""
        asm, variant = self.asm, self.variant
        before = layout.HEAD_DOUBLES + len(variant.load_models) * layout.LOAD_DOUBLES
        before += len(variant.rigid_closures) * 2 * layout.FRAME_DOUBLES
        per_link = layout.LINK_DOUBLES + (layout.SPRING_DOUBLES if variant.springs else 0) + tables
        after = asm.int_op("add", asm.int_op("mul", asm.n, per_link), before - 1)
        return self.numbers(asm.int_op("add", after, k), 1)[0]

    def head(self, start: int, count: int) -> tuple[Lane, ...]:
        """Parameters of the arm that do not belong to a link."""
        return self.numbers(Value(str(start)), count)

    def numbers(self, start: Value, count: int) -> tuple[Lane, ...]:
        asm = self.asm
        first = asm.address(asm.doubles, start)
        return tuple(
            Lane(asm, asm.broadcast(asm.load(SCALAR, asm.address(first, i)))) for i in range(count)
        )

    # integers

    def int_entry(self, which: int, k: Value) -> Value:
        """Entry k of an integer table; a value just loaded is reused."""
        if self._epoch != self.asm.epoch:
            self._known_entries, self._epoch = {}, self.asm.epoch
        if (which, k) not in self._known_entries:
            address = self.asm.address(self.table(which), k, "i64")
            self._known_entries[which, k] = self.asm.load("i64", address)
        return self._known_entries[which, k]

    def fact(self, which: int, k: Value) -> UniformBool:
        """Entry k of an integer table as a condition."""
        return UniformBool(self.asm, self.asm.not_zero(self.int_entry(which, k)))

    def table(self, which: int) -> Value:
        """Address of an integer table."""
        return self.asm.int_table_at_entry(self.asm.int_op_at_entry("mul", self.count, which))

    def link_of_frame(self, i: int) -> Value:
        """The link of the tip (0), of a load (1, …) or of a closure's frame after those."""
        asm = self.asm
        offset = asm.int_op("mul", self.count, layout.LINK_TABLES)
        return asm.load("i64", asm.address(asm.integers, asm.int_op("add", offset, i), "i64"))


class TracedGroups:
    """Multi-DoF joints; kernels for arms without any do not read their tables."""

    translate: bool

    def __init__(self, arm: TracedArm) -> None:
        self._arm, self._asm, self._any = arm, arm.asm, arm.variant.grouped
        self.translate = arm.variant.group_translations

    def __bool__(self) -> bool:
        return self._any

    def joint_body(self, k: Value) -> Value:
        return self._arm.int_entry(layout.OUTERMOST, k) if self._any else k

    def joint_parent(self, k: Value) -> Value:
        return self._arm.int_entry(layout.CARRIER, k) if self._any else self._arm.inboard(k)

    def same_joint_outboard(self, k: Value) -> Iterable[Value]:
        beyond = self._asm.int_op("sub", self.joint_body(k), 1)
        return self._asm.loop(self._asm.int_op("sub", k, 1), beyond, -1)

    def with_partners(self) -> Iterable[Value]:
        count = self._arm.int_entry(layout.PARTNERED, Value("0"))
        for i in self._asm.loop(1, self._asm.int_op("add", count, 1), 1):
            yield self._arm.int_entry(layout.PARTNERED, i)

    def in_different_joints(self, i: Value, k: Value) -> UniformBool:
        between = self._asm.int_op("sub", self.joint_body(i), self.joint_body(k))
        return UniformBool(self._asm, self._asm.not_zero(between))

    def direction(self, k: Value) -> Vector:
        return self._arm.constants(k, layout.DIRECTION, 3)

    def origin_fixed(self, k: Value) -> Any:
        arm = self._arm
        return arm.fact(layout.RESTS, k) if arm.variant.roams else arm.is_revolute(k)
