"""Trace an algorithm: every operation becomes an instruction, every loop is emitted once.

The text depends on the arm only by its `Variant`: the number of links, their order and all
parameters are data that the kernel reads at run time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from robolin.core.arm import FAR_SLID
from robolin.dynamics.algebra.chain import TORQUE_INPUTS, Chain
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import ZERO3, add, rotate, sub
from robolin.dynamics.algorithm import Shape
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import Instructions, Lane, Memory, Value, as_value
from robolin.engine.compiled.layout import Variant
from robolin.engine.compiled.trace_storage import (
    SerialSums,
    Staging,
    TracedArm,
    TracedCell,
    TracedColumn,
    TracedGroups,
    TracedResult,
    TracedScalars,
    TracedSlots,
    TracedTable,
    TreeSums,
    traced_closures,
)
from robolin.engine.direct import NEGLIGIBLE_D

# links whose vectors fit in the L1 cache together with other data
BLOCK_LINKS = 16


class TracedChain:
    """Chain that emits instructions instead of computing numbers."""

    inputs: list[str]
    springs: bool
    group_rotors: bool
    one_sided_friction: bool
    seat: Value | None
    asm: Instructions
    variant: Variant
    arm: TracedArm
    groups: TracedGroups
    scratch_vectors: int
    table_count: int
    staging: Staging
    status: TracedCell

    def __init__(
        self, asm: Instructions, variant: Variant, inputs: Sequence[str], gives: Mapping[str, Shape]
    ) -> None:
        self.asm, self.variant, self.inputs = asm, variant, list(inputs)
        self.arm = TracedArm(asm, variant)
        self.base: Value = self.arm.base
        self.groups = TracedGroups(self.arm)
        self.far_threshold: float | None = FAR_SLID if variant.travels else None
        self.seat = Value(str(variant.seat)) if variant.seat else None
        self.springs, self.group_rotors = variant.springs, variant.group_rotors
        self.one_sided_friction = variant.one_sided_friction
        self._side = asm.int_op_at_entry("add", asm.m, 1)
        self._area = asm.int_op_at_entry("mul", self._side, self._side)
        self.scratch_vectors = 0  # per link
        self.table_count = 0
        self.arrays: dict[str, TracedScalars] = {name: self.scalars() for name in inputs}
        self.staging = Staging(self.arm, gives)
        self.status = TracedCell(asm, (0.0,))

    # the order of the links

    def base_to_tip(self) -> Iterable[Value]:
        return self.asm.loop(self.asm.n, 0, -1)

    def tip_to_base(self) -> Iterable[Value]:
        return self.asm.loop(1, self.base, 1)

    def inboard(self, k: Value) -> Value:
        return self.arm.inboard(k)

    def inboard_of(self, k: Value) -> Iterable[Value]:
        return self._inward(self.inboard(k), self.base)

    def inboard_pairs(self) -> Iterable[tuple[Value, Value]]:
        if self.variant.serial and not self.variant.mimics:
            yield from self._blocked_pairs()
        else:
            # paths through a tree have no blocks, and sums over mimic joints need a fixed order
            for k in self.tip_to_base():
                for j in self.inboard_of(k):
                    yield k, j

    def _blocked_pairs(self) -> Iterable[tuple[Value, Value]]:
        """Pairs in blocks of links j, whose data stay in the cache for all links k outboard."""
        asm = self.asm
        for first in asm.loop(2, self.base, BLOCK_LINKS):
            beyond = asm.smaller(asm.int_op("add", first, BLOCK_LINKS), self.base)
            for k in asm.loop(1, asm.int_op("sub", beyond, 1), 1):
                nearest = asm.larger(asm.int_op("add", k, 1), first)
                for j in asm.loop(nearest, beyond, 1):
                    yield k, j

    def path_of(self, k: Value) -> Iterable[Value]:
        return self._inward(k, self.base)

    def between(self, k: Value, j: Value) -> Iterable[Value]:
        return self._inward(self.inboard(k), j)

    def outboard_of(self, k: Value) -> Iterable[Value]:
        return self._outward(self.asm.int_op("sub", k, 1), k)

    def subtree_of(self, k: Value) -> Iterable[Value]:
        return self._outward(k, k)

    def branch_of(self, k: Value) -> Iterable[Value]:
        if self.variant.serial:
            return self.base_to_tip()
        root = self.arm.int_entry(layout.BRANCH_ROOT, k)
        return self._outward(root, root)

    def _inward(self, start: Value, stop: Value) -> Iterable[Value]:
        if self.variant.serial:
            return self.asm.loop(start, stop, 1)
        return self.asm.walk(start, stop, self.arm.table(layout.PARENT))

    def _outward(self, start: Value, k: Value) -> Iterable[Value]:
        first = Value("1") if self.variant.serial else self.arm.int_entry(layout.FIRST, k)
        return self.asm.loop(start, self.asm.int_op("sub", first, 1), -1)

    # the constants of link k

    def is_revolute(self, k: Value) -> Any:
        return self.arm.is_revolute(k)

    def frame_travels(self, k: Value) -> Any:
        return self.arm.fact(layout.TRAVELS, k)

    def placement(self, k: Value) -> tuple[Vector, Vector]:
        return self.arm.constants(k, layout.ROTATION, 9), self.arm.constants(k, layout.OFFSET, 3)

    def body(self, k: Value) -> tuple[Scalar, Vector, Vector]:
        mass = self.arm.constants(k, layout.MASS, 1)[0]
        return mass, self.arm.constants(k, layout.COM, 3), self.arm.constants(k, layout.ROTARY, 6)

    def armature(self, k: Value) -> Scalar:
        return self.arm.constants(k, layout.ARMATURE, 1)[0]

    def damping(self, k: Value) -> Scalar:
        return self.arm.constants(k, layout.DAMPING, 1)[0]

    def friction(self, k: Value) -> Scalar:
        return self.arm.constants(k, layout.FRICTION, 1)[0]

    def stiffness(self, k: Value) -> Scalar:
        return self.arm.spring(k, layout.STIFFNESS)

    def rest(self, k: Value) -> Scalar:
        return self.arm.spring(k, layout.REST)

    def friction_bias(self, k: Value) -> Scalar:
        return self.arm.friction_bias(k)

    def friction_velocity(self, k: Value) -> Scalar | None:
        if not self.variant.smooth_friction:
            return None
        if self.variant.own_friction_velocities:
            return self.arm.friction_velocity(k)
        return self.arm.head(layout.FRICTION_VELOCITY, 1)[0]

    @property
    def gravity(self) -> Vector:
        return self.arm.head(layout.GRAVITY, 3)

    @property
    def origin(self) -> Vector:
        fixed = self.arm.head(layout.FRAME_ORIGIN, 3)
        if not self.variant.roams:
            return fixed
        links = (self.asm.int_op("sub", self.asm.n, i) for i in range(3))
        slides = tuple(self.arrays["q"][k] for k in links)
        return add(fixed, rotate(self.arm.head(layout.ROAMING, 9), slides))

    @property
    def tip(self) -> Any:
        return SimpleNamespace(
            link=self.arm.link_of_frame(0),
            axes=self.arm.head(layout.TIP_AXES, 9),
            point=self.arm.head(layout.TIP_POINT, 3),
        )

    @property
    def loads(self) -> Sequence[Any]:
        return [self._load(i, model) for i, model in enumerate(self.variant.load_models)]

    def _load(self, i: int, model: str) -> Any:
        asm = self.asm
        after = asm.int_op("mul", asm.n, layout.LINK_DOUBLES)
        start = asm.int_op("add", after, layout.HEAD_DOUBLES + i * layout.LOAD_DOUBLES)
        numbers = self.arm.numbers(start, layout.LOAD_DOUBLES)
        point: Vector = numbers[9:12]
        if model == "world" and self.variant.roams:
            point = sub(ZERO3, self.origin)
        return SimpleNamespace(
            link=self.arm.link_of_frame(1 + i),
            model=model,
            axes=numbers[0:9],
            point=point,
            force=numbers[12:15],
            moment=numbers[15:18],
        )

    @property
    def closures(self) -> Sequence[Any]:
        return traced_closures(self)

    # the state

    def input(self, name: str) -> TracedScalars:
        return self.arrays[name]

    def apply_mimic(self, name: str, k: Value, value: Lane) -> Lane:
        """Value of the joint of link k, computed from the value of its leader."""
        if not self.variant.mimics:
            return value
        if name in TORQUE_INPUTS:
            return self.arm.fact(layout.FOLLOWS, k).where(0.0, value)
        value = value * self.arm.constants(k, layout.RATIO, 1)[0]
        return value + self.arm.constants(k, layout.SHIFT, 1)[0] if name == "q" else value

    # storage

    def slots(self, size: int) -> TracedSlots:
        return TracedSlots(self._memory(size))

    def scalars(self) -> TracedScalars:
        return TracedScalars(self._memory(1))

    def zeros(self) -> TracedScalars:
        zeros = self.scalars()
        for k in self.tip_to_base():
            zeros[k] = 0.0
        return zeros

    def child_sums(self, size: int) -> SerialSums | TreeSums:
        return SerialSums(self, size) if self.variant.serial else TreeSums(self, size)

    def accumulator(self, values: Vector) -> TracedCell:
        return TracedCell(self.asm, values)

    def column(self) -> TracedColumn:
        column = TracedColumn(self, self._memory(1))
        if self.variant.mimics:
            for j in self.coordinates():
                column[j] = 0.0
        return column

    def table(self) -> TracedTable:
        # on a serial chain without mimic joints every pair is written once before it is read
        complete = self.variant.serial and not self.variant.mimics
        table = TracedTable(self, self._table_memory(), self._side, complete=complete)
        if not complete:
            for j in self.coordinates():
                for r in self.coordinates():
                    table[j, r] = 0.0
        return table

    def _memory(self, size: int) -> Memory:
        offset = self.asm.int_op_at_entry("mul", self.arm.count, self.scratch_vectors)
        base = self.asm.vectors_at_entry(self.asm.scratch, offset)
        self.scratch_vectors += size
        return Memory(self.asm, base, size)

    def _table_memory(self) -> Memory:
        offset = self.asm.int_op_at_entry("mul", self._area, self.table_count)
        base = self.asm.vectors_at_entry(self.asm.tables, offset)
        self.table_count += 1
        return Memory(self.asm, base, 1)

    # independent coordinates

    def coordinates(
        self,
        *,
        start: Value | None = None,
        after: Value | None = None,
        before: Value | None = None,
        through: Value | None = None,
        step: int = 1,
    ) -> Iterable[Value]:
        asm = self.asm
        if step > 0:
            first = asm.int_op("add", after, 1) if after else start or 1
            beyond = asm.int_op("add", through, 1) if through else before or self._side
            return asm.loop(first, beyond, 1)
        last = asm.int_op("sub", before, 1) if before else through or asm.m
        return asm.loop(last, after or (asm.int_op("sub", start, 1) if start else 0), -1)

    def coordinates_by(self, count: int) -> Iterable[tuple[Value, ...]]:
        # an incomplete last group repeats the last coordinate, at no extra time
        asm = self.asm
        for j in asm.loop(1, self._side, count):
            more = (asm.smaller(asm.int_op("add", j, i), asm.m) for i in range(1, count))
            yield (j, *more)

    def leader(self, j: Value) -> Value:
        return self.arm.int_entry(layout.LEADER, j) if self.variant.mimics else j

    # results

    def guard_inertia(self, k: Value, value: Scalar, size: Callable[[], Scalar]) -> Scalar:
        factor = self.asm.precision.less_inertia
        terms = size() if factor == 1.0 else size() * factor
        return self._above(
            k, value, Lane(self.asm, as_value(self.asm, terms)).size() * NEGLIGIBLE_D
        )

    def guard_rank(self, name: str, value: Scalar, least: Scalar) -> Scalar:
        # any nonzero status will do: the row is run again to find out what does not exist
        factor = self.asm.precision.less_rank
        return self._above(Value("1"), value, least if factor == 1.0 else least * factor)

    def _above(self, k: Value, value: Scalar, floor: Scalar) -> Scalar:
        asm, status = self.asm, self.status.lanes[0]
        above_floor = status.if_less(floor, value, 1.0, 0.0)
        fine = status.if_less(0.0, value, above_floor, 0.0)
        number = asm.real_of(k)
        first = status.select(status.compare("oeq", status, 0.0), Lane(asm, number), status)
        self.status.value = (fine.if_less(0.0, fine, status, first),)
        return fine.if_less(0.0, fine, value, float("nan"))

    def out(self, name: str, index: tuple[Value, ...], value: Scalar) -> None:
        self.result(name).put(index, value)

    def result(self, name: str) -> TracedResult:
        return TracedResult(self.arm, self.staging, name)


# checked by mypy
_IS_A_CHAIN: type[Chain] = TracedChain
