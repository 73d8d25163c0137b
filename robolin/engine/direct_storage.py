"""Storage of algorithms that run directly in Python: lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add
from robolin.engine.parameters import LinkRow, Parameters

EntryIndex = tuple[int, ...]

# maps a link index and its value to coordinate index and value
Reduce = Callable[[EntryIndex, Scalar], tuple[EntryIndex, Scalar]]


class DirectSlots:
    """One vector per link, written before it is read."""

    def __init__(self, count: int) -> None:
        self._values: list[Vector] = [()] * (count + 2)

    def __getitem__(self, k: int) -> Vector:
        return self._values[k]

    def __setitem__(self, k: int, values: Vector) -> None:
        self._values[k] = values


class DirectScalars:
    """One number per link."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __getitem__(self, k: int) -> Scalar:
        value: Scalar = self._values[k]
        return value

    def __setitem__(self, k: int, value: Scalar) -> None:
        self._values[k] = value


class DirectSums:
    """Sums accumulated from the children of each link; values for the base are dropped."""

    def __init__(self, parents: Sequence[int], size: int) -> None:
        self._parents = parents
        # -0.0 is the neutral element of addition, also for the sign of zeros
        self._values: list[Vector] = [(-0.0,) * size] * (len(parents) + 1)

    def __getitem__(self, k: int) -> Vector:
        return self._values[k]

    def add_to_parent(self, k: int, values: Vector) -> None:
        parent = self._parents[k]
        if parent < len(self._parents):
            self._values[parent] = add(self._values[parent], values)


@dataclass
class DirectCell:
    value: Vector


class Entries:
    """Numbers by index; values put at the same index are added."""

    def __init__(self, reduced: Reduce | None) -> None:
        # None without mimic joints: link numbers and coordinates are the same
        self._reduced = reduced
        self.by_index: dict[EntryIndex, Scalar] = {}

    def put(self, index: EntryIndex, value: Scalar) -> None:
        if self._reduced is not None:
            index, value = self._reduced(index, value)
        so_far = self.by_index.get(index)
        self.by_index[index] = value if so_far is None else so_far + value

    add = put

    def __setitem__(self, index: Any, value: Scalar) -> None:
        self.by_index[index if isinstance(index, tuple) else (index,)] = value


class DirectTable(Entries):
    """One number per pair of coordinates, zero by default."""

    def __getitem__(self, pair: tuple[int, int]) -> Scalar:
        return self.by_index.get(pair, 0.0)


class DirectColumn(Entries):
    """One number per coordinate; `on_links` applies the mimic ratio of each link."""

    def __init__(self, reduced: Reduce | None, leaders: Sequence[tuple[int, float]]) -> None:
        super().__init__(reduced)
        self._leaders = leaders

    def __getitem__(self, j: int) -> Scalar:
        return self.by_index.get((j,), 0.0)

    def on_links(self) -> DirectScalars:
        full = [self[j] if ratio == 1.0 else self[j] * ratio for j, ratio in self._leaders]
        return DirectScalars([None, *full, None])


class DirectGroups:
    """Multi-DoF joints: body and parent link of the joint of each link."""

    translate: bool

    def __init__(self, parameters: Parameters, number: Callable[[float], Scalar]) -> None:
        self._rows, self._number = parameters.links, number
        self._any, self.translate = parameters.grouped, bool(parameters.group_translations)

    def __bool__(self) -> bool:
        return self._any

    def joint_body(self, k: int) -> int:
        return self._rows[k - 1].joint_body

    def joint_parent(self, k: int) -> int:
        return self._rows[k - 1].joint_parent

    def same_joint_outboard(self, k: int) -> Iterable[int]:
        return range(k - 1, self.joint_body(k) - 1, -1)

    def with_partners(self) -> Iterable[int]:
        return (k for k in range(1, len(self._rows) + 1) if self.joint_body(k) != k)

    def in_different_joints(self, i: int, k: int) -> bool:
        return self.joint_body(i) != self.joint_body(k)

    def direction(self, k: int) -> Vector:
        return tuple(self._number(x) for x in self._rows[k - 1].direction)

    def origin_fixed(self, k: int) -> bool:
        return self._rows[k - 1].origin_fixed


def generic_chain(joints: int) -> Parameters:
    """Serial chain of revolute joints without rotors, friction and loads, with arbitrary values."""
    rows = tuple(
        LinkRow(
            name=f"joint{joints - k + 1}",
            parent=k + 1,
            is_revolute=True,
            rotation=(1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
            offset=(0.1, 0.2, 0.3),
            mass=1.0,
            com=(0.1, 0.1, 0.1),
            rotary=(0.1, 0.0, 0.0, 0.1, 0.0, 0.1),
            armature=0.0,
            damping=0.0,
            friction=0.0,
            coordinate=k,
            ratio=1.0,
            mimic_offset=0.0,
            is_mimic=False,
            joint_body=k,
            joint_parent=k + 1,
        )
        for k in range(1, joints + 1)
    )
    names = tuple(f"joint{i}" for i in range(1, joints + 1))
    order = tuple(joints - k for k in range(1, joints + 1))
    return Parameters(rows, (), (0.0, 0.0, -9.81), None, order, names)
