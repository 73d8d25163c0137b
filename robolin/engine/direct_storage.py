"""Where an algorithm that runs as it stands keeps its numbers: lists and dictionaries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from robolin.dynamics.algebra.scalar import Scalar, Vector
from robolin.dynamics.algebra.vectors import add

EntryPlace = tuple[int, ...]

# where the number of some links goes, and what it is there
Reduce = Callable[[EntryPlace, Scalar], tuple[EntryPlace, Scalar]]


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
    """What has been handed inboard to each link so far; the base takes nothing."""

    def __init__(self, parents: Sequence[int], size: int) -> None:
        self._parents = parents
        # adding to -0.0 changes no number at all, not even a zero's sign
        self._values: list[Vector] = [(-0.0,) * size] * (len(parents) + 1)

    def __getitem__(self, k: int) -> Vector:
        return self._values[k]

    def hand_inboard(self, k: int, values: Vector) -> None:
        parent = self._parents[k]
        if parent < len(self._parents):
            self._values[parent] = add(self._values[parent], values)


@dataclass
class DirectCell:
    value: Vector


class Entries:
    """Numbers by place; what several links share is added up, the first to come simply kept."""

    def __init__(self, reduced: Reduce | None) -> None:
        # None where every link leads, and has the number of its coordinate
        self._reduced = reduced
        self.by_place: dict[EntryPlace, Scalar] = {}

    def put(self, index: EntryPlace, value: Scalar) -> None:
        if self._reduced is not None:
            index, value = self._reduced(index, value)
        so_far = self.by_place.get(index)
        self.by_place[index] = value if so_far is None else so_far + value

    add = put

    def __setitem__(self, index: Any, value: Scalar) -> None:
        self.by_place[index if isinstance(index, tuple) else (index,)] = value


class DirectTable(Entries):
    """One number per pair of coordinates; zero where nothing was put."""

    def __getitem__(self, pair: tuple[int, int]) -> Scalar:
        return self.by_place.get(pair, 0.0)


class DirectColumn(Entries):
    """One number per coordinate, and per link: what coordinate it follows, and how strongly."""

    def __init__(self, reduced: Reduce | None, followed: Sequence[tuple[int, float]]) -> None:
        super().__init__(reduced)
        self._followed = followed

    def __getitem__(self, j: int) -> Scalar:
        return self.by_place.get((j,), 0.0)

    def on_links(self) -> DirectScalars:
        full = [self[j] if ratio == 1.0 else self[j] * ratio for j, ratio in self._followed]
        return DirectScalars([None, *full, None])
