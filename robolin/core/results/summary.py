"""Summary of a result: minimum and maximum of every array, with entry and row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from robolin.core.results.result import Array, Result, ResultStream


@dataclass(frozen=True)
class Extreme:
    """An extreme value of an array, its entry name, and its row counted from 1."""

    value: float
    entry: str
    row: int | None


@dataclass(frozen=True)
class ArraySummary:
    """Shape without rows and extremes of an array; complex numbers are ordered by magnitude."""

    name: str
    unit: str
    shape: tuple[int, ...]
    smallest: Extreme | None
    largest: Extreme | None


class Summary:
    """Running extremes of the parts of a result."""

    def __init__(self) -> None:
        self._summaries: dict[str, ArraySummary] = {}
        self.rows: int | None = None

    def passing(self, answer: Result | ResultStream) -> Result | ResultStream:
        """Return the same result; its parts are included in the summary as they are read."""
        if isinstance(answer, Result):
            self._add(answer)
            return answer
        return replace(answer, parts=self._tee(answer))

    def _tee(self, answer: ResultStream) -> Iterator[Result]:
        for part in answer.parts:
            self._add(part)
            yield part

    def _add(self, part: Result) -> None:
        for array in part.arrays:
            new = _summary(array, self.rows or 0)
            before = self._summaries.get(array.name)
            self._summaries[array.name] = new if before is None else _both(before, new)
        if part.batch is not None:
            self.rows = (self.rows or 0) + part.batch

    @property
    def arrays(self) -> tuple[ArraySummary, ...]:
        """Summaries of all arrays, in the order of the result."""
        return tuple(self._summaries.values())


def _summary(array: Array, first_row: int) -> ArraySummary:
    sizes = np.abs(array.values) if array.values.dtype.kind == "c" else array.values
    flat = np.asarray(sizes, np.float64).ravel()
    shape = tuple(map(len, array.labels))
    known = np.flatnonzero(~np.isnan(flat))
    if not len(known):
        return ArraySummary(array.name, array.unit, shape, None, None)
    names, entries = array.entry_names(), int(np.prod(shape, dtype=int))

    def at(index: int) -> Extreme:
        row, entry = divmod(int(index), entries)
        which = None if array.batch is None else first_row + row + 1
        return Extreme(float(flat[index]), names[entry], which)

    lowest, highest = known[flat[known].argmin()], known[flat[known].argmax()]
    return ArraySummary(array.name, array.unit, shape, at(lowest), at(highest))


def _both(one: ArraySummary, other: ArraySummary) -> ArraySummary:
    """Extremes of two parts; for equal values the first."""
    lowest = [each.smallest for each in (one, other) if each.smallest]
    highest = [each.largest for each in (one, other) if each.largest]
    return replace(
        one,
        smallest=min(lowest, key=lambda each: each.value, default=None),
        largest=max(highest, key=lambda each: each.value, default=None),
    )
