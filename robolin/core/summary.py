"""Shorter forms of a result: selected arrays, extremes of every array, and a table of columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from robolin.core.arrays import COMPLEX, Numbers, kind_of, np, side_by_side
from robolin.core.choices import is_swept
from robolin.core.records import dataclass
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from polars import DataFrame


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


@dataclass(frozen=True, eq=False)
class Columns:
    """Adjacent columns of one type (float64, int64 or datetime64), of shape (rows, columns)."""

    names: list[str]
    values: Numbers


def table_columns(result: Result) -> list[Columns]:
    """Columns from left to right, adjacent columns of the same type in one group.

    A complex number has two columns, its real and its imaginary part.
    """
    groups: list[list[Columns]] = []
    for columns in _columns(result):
        if groups and groups[-1][0].values.dtype == columns.values.dtype:
            groups[-1].append(columns)
        else:
            groups.append([columns])
    return [_side_by_side(group) for group in groups]


def column_names(result: Result) -> list[str]:
    """The names of all columns."""
    return [name for columns in _columns(result) for name in columns.names]


def _columns(result: Result) -> Iterator[Columns]:
    rows = 1 if result.batch is None else result.batch
    if result.time is not None:
        yield Columns(["time"], _real(result.time).reshape(rows, 1))
    for array in result.arrays:
        names = array.column_names()
        yield Columns(names, _real(array.values).reshape(rows, len(names)))


def _real(values: Numbers) -> Numbers:
    kind = kind_of(values)
    if kind is COMPLEX:
        # real and imaginary parts alternate
        return np.ascontiguousarray(values, np.complex128).reshape(-1).view(np.float64)
    if values.dtype.kind == "M":
        return values
    return values.astype(kind.dtype, copy=False)


def _side_by_side(group: list[Columns]) -> Columns:
    names = [name for columns in group for name in columns.names]
    return Columns(names, side_by_side([columns.values for columns in group]))


def dict_of(result: Result) -> dict[str, Any]:
    """The result as a dict with the keys of JSON files."""
    document: dict[str, Any] = {"verb": result.verb, "joints": list(result.joints)}
    if result.time is not None:
        document["time"] = result.time
    return {
        **document,
        "results": {array.name: array.values for array in result.arrays},
        "units": {array.name: array.unit for array in result.arrays},
        "labels": {array.name: [list(names) for names in array.labels] for array in result.arrays},
        "contract": dict(result.contract),
        "options": dict(result.options),
        "inputs": dict(result.inputs),
    }


def polars_of(result: Result) -> DataFrame:
    """One row per state, with the columns of the CSV."""
    import polars

    return polars.DataFrame(_data_frames_columns(result))


def pandas_of(result: Result) -> Any:
    """One row per state, with the columns of the CSV."""
    try:
        import pandas
    except ImportError as error:
        message = "pandas is not installed"
        raise RobolinError(message, hint="pip install pandas, or use to_polars()") from error
    return pandas.DataFrame(_data_frames_columns(result))


def _data_frames_columns(result: Result) -> dict[str, Numbers]:

    return {
        name: values
        for columns in table_columns(result)
        for name, values in zip(columns.names, columns.values.T, strict=True)
    }
