"""Columns of a recording that go along into the result, beside what is answered."""

from __future__ import annotations

from robolin.errors import UsageError
from robolin.results.result import Array
from robolin.trajectory.trajectory import Chunk

# what else stands in files of results
_TAKEN = frozenset({"time", "joints", "meta"})


def with_carried(arrays: tuple[Array, ...], chunk: Chunk) -> tuple[Array, ...]:
    """The arrays, and behind them one number per row for every column that goes along."""
    if not chunk.carried:
        return arrays
    taken = {*_TAKEN, *(array.name for array in arrays)}
    taken |= {name for array in arrays for name in array.column_names()}
    for name in chunk.carried:
        if name in taken:
            hint = "the result has that name already: rename the column"
            raise UsageError("cannot go along", where=f"--carry={name}", hint=hint)
    return (*arrays, *(Array(name, values, (), "") for name, values in chunk.carried.items()))
