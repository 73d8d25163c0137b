"""Access of traced algorithms to the arm's parameters: loads from the kernel's two tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from robolin.dynamics.algebra.comparison import Shape
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.engine.compiled import layout
from robolin.engine.compiled.lanes import Instructions, Lane, UniformBool, Value
from robolin.engine.compiled.layout import Variant


class TracedArm:
    """The tables `%doubles` and `%wholes` with the layout of `layout`, for one variant."""

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

    def turns(self, k: Value) -> Any:
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
        asm, variant = self.asm, self.variant
        before = layout.HEAD_DOUBLES + len(variant.load_models) * layout.LOAD_DOUBLES
        before += len(variant.rigid_closures) * 2 * layout.FRAME_DOUBLES
        per_link = layout.LINK_DOUBLES + (layout.SPRING_DOUBLES if variant.springs else 0)
        after = asm.int_op("add", asm.int_op("mul", asm.n, per_link), before - 1)
        return self.numbers(asm.int_op("add", after, k), 1)[0]

    def head(self, start: int, count: int) -> tuple[Lane, ...]:
        """Parameters of the arm that do not belong to a link."""
        return self.numbers(Value(str(start)), count)

    def numbers(self, start: Value, count: int) -> tuple[Lane, ...]:
        asm = self.asm
        first = asm.address(asm.doubles, start)
        return tuple(
            Lane(asm, asm.broadcast(asm.load("double", asm.address(first, i))))
            for i in range(count)
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

    def __init__(self, arm: TracedArm) -> None:
        self._arm, self._asm, self._any = arm, arm.asm, arm.variant.grouped
        self.translate = arm.variant.group_translations

    def __bool__(self) -> bool:
        return self._any

    def outermost(self, k: Value) -> Value:
        return self._arm.int_entry(layout.OUTERMOST, k) if self._any else k

    def carrier(self, k: Value) -> Value:
        return self._arm.int_entry(layout.CARRIER, k) if self._any else self._arm.inboard(k)

    def same_joint_outboard(self, k: Value) -> Iterable[Value]:
        beyond = self._asm.int_op("sub", self.outermost(k), 1)
        return self._asm.loop(self._asm.int_op("sub", k, 1), beyond, -1)

    def with_partners(self) -> Iterable[Value]:
        count = self._arm.int_entry(layout.PARTNERED, Value("0"))
        for i in self._asm.loop(1, self._asm.int_op("add", count, 1), 1):
            yield self._arm.int_entry(layout.PARTNERED, i)

    def apart(self, i: Value, k: Value) -> UniformBool:
        between = self._asm.int_op("sub", self.outermost(i), self.outermost(k))
        return UniformBool(self._asm, self._asm.not_zero(between))

    def direction(self, k: Value) -> Vector:
        return self._arm.constants(k, layout.DIRECTION, 3)

    def rests(self, k: Value) -> Any:
        return self._arm.fact(layout.RESTS, k) if self._arm.variant.roams else self._arm.turns(k)
