"""An answer in a few numbers: the smallest and the largest of every array, and where they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robolin.core.results.result import Array, Result, ResultStream


@dataclass(frozen=True)
class Extreme:
    """A number of an array and where it stands: which entry, and which row, counted from 1."""

    value: float
    entry: str
    row: int | None


@dataclass(frozen=True)
class ArraySummary:
    """One array: its shape without rows, and its extremes; complex numbers count by their size."""

    name: str
    unit: str
    shape: tuple[int, ...]
    smallest: Extreme | None
    largest: Extreme | None


class Summary:
    """The extremes so far, as parts of an answer pass by."""

    def __init__(self) -> None:
        self._found: dict[str, ArraySummary] = {}
        self.rows: int | None = None

    def passing(self, answer: Result | ResultStream) -> Result | ResultStream:
        """The same answer, looked at as it is taken."""
        if isinstance(answer, Result):
            self._add(answer)
            return answer
        return replace(answer, parts=self._watched(answer))

    def _watched(self, answer: ResultStream) -> Iterator[Result]:
        for part in answer.parts:
            self._add(part)
            yield part

    def _add(self, part: Result) -> None:
        for array in part.arrays:
            new = _summary(array, self.rows or 0)
            before = self._found.get(array.name)
            self._found[array.name] = new if before is None else _both(before, new)
        if part.batch is not None:
            self.rows = (self.rows or 0) + part.batch

    @property
    def arrays(self) -> tuple[ArraySummary, ...]:
        """Every array, in the order of the answer."""
        return tuple(self._found.values())


def _summary(array: Array, first_row: int) -> ArraySummary:
    sizes = np.abs(array.values) if array.values.dtype.kind == "c" else array.values
    flat = np.asarray(sizes, np.float64).ravel()
    shape = tuple(map(len, array.labels))
    known = np.flatnonzero(~np.isnan(flat))
    if not len(known):
        return ArraySummary(array.name, array.unit, shape, None, None)
    names, entries = array.entry_names(), int(np.prod(shape, dtype=int))

    def at(place: int) -> Extreme:
        row, entry = divmod(int(place), entries)
        which = None if array.batch is None else first_row + row + 1
        return Extreme(float(flat[place]), names[entry], which)

    lowest, highest = known[flat[known].argmin()], known[flat[known].argmax()]
    return ArraySummary(array.name, array.unit, shape, at(lowest), at(highest))


def _both(one: ArraySummary, other: ArraySummary) -> ArraySummary:
    """The extremes of two parts; of equal ones the first."""
    lowest = [each.smallest for each in (one, other) if each.smallest]
    highest = [each.largest for each in (one, other) if each.largest]
    return replace(
        one,
        smallest=min(lowest, key=lambda each: each.value, default=None),
        largest=max(highest, key=lambda each: each.value, default=None),
    )
