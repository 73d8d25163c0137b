"""Results of a traced algorithm: kept in a staging area until a block of rows is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from robolin.dynamics.algebra.axes import Axis, Shape
from robolin.dynamics.algebra.scalar import Scalar
from robolin.engine.compiled import layout
from robolin.engine.compiled.instructions import Value
from robolin.engine.compiled.lanes import Lane, as_value
from robolin.engine.compiled.trace_arm import TracedArm


class Staging:
    """Every result in its public order, one vector of lanes per number.

    sizes, offsets: how many numbers each result has, and where it begins, in vectors
    total:          how many there are of all results
    """

    def __init__(self, arm: TracedArm, gives: Mapping[str, Shape]) -> None:
        self._arm, self._asm, self.gives = arm, arm.asm, dict(gives)
        self.sizes: dict[str, Value] = {}
        self.offsets: dict[str, Value] = {}
        so_far = Value("0")
        for name, shape in self.gives.items():
            size = Value("1")
            for axis in shape:
                size = self._asm.whole_at_entry("mul", size, self._length(axis))
            self.sizes[name], self.offsets[name] = size, so_far
            so_far = self._asm.whole_at_entry("add", so_far, size)
        self.total = so_far

    def store(self, name: str, index: Sequence[Value], value: Scalar, *, more: bool) -> None:
        """Keep a number of a result, or add to the one that is kept there."""
        asm = self._asm
        flat = Value("0")
        for axis, i in zip(self.gives[name], index, strict=True):
            before = asm.whole("mul", flat, self._length(axis))
            flat = asm.whole("add", before, self._public(axis, i))
        place = asm.whole("add", self.offsets[name], flat)
        address = asm.vector_address(asm.staging, place)
        lane = Lane(asm, as_value(asm, value))
        if more:
            lane = Lane(asm, asm.load_vector(address)) + lane
        asm.store_vector(lane.value, address)

    def _length(self, axis: Axis) -> Value:
        rows = str(self._arm.variant.closure_rows)
        known = {"joint": self._asm.m, "link": self._asm.n, "closure": Value(rows)}
        return known.get(str(axis), Value(str(axis)))

    def _public(self, axis: Axis, i: Value) -> Value:
        """Where a coordinate, a link or an entry stands in a result."""
        if axis == "joint":
            return self._arm.whole(layout.PLACE, i)
        return self._asm.whole("sub", self._asm.n, i) if axis == "link" else i


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
