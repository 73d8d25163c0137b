"""Shorter results: selected arrays, or minimum and maximum of every array with entry and row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from robolin.core.choices import is_swept
from robolin.core.results.result import Array, Footer, Result, ResultStream
from robolin.errors import UsageError


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


def only_arrays(answer: Result | ResultStream, names: Sequence[str]) -> Result | ResultStream:
    """The result with only the arrays of these names, in their original order."""
    if isinstance(answer, Result):
        return replace(_chosen(answer, names), contract={**answer.contract, **_selection(names)})

    def ending(rows: int) -> Footer:
        footer = answer.ending(rows)
        return replace(footer, contract={**footer.contract, **_selection(names)})

    parts = (_chosen(part, names) for part in answer.parts)
    return replace(answer, parts=parts, ending=ending)


# contract entry of a result with selected arrays
SELECTED = "arrays"


def _selection(names: Sequence[str]) -> dict[str, str]:
    return {SELECTED: f"only {', '.join(names)}"}


def _chosen(result: Result, names: Sequence[str]) -> Result:
    known = [array.name for array in result.arrays]
    for name in names:
        if name not in known:
            hint = f"available arrays: {', '.join(known)}"
            raise UsageError(f"array '{name}' not found", where="--only", hint=hint)
    axis = result.arrays[:1] if is_swept(result.verb) else ()
    chosen = (a for a in result.arrays[len(axis) :] if a.name in names)
    return replace(result, arrays=(*axis, *chosen))
