"""Tables of named arrays in one file: vectors are columns, matrices are one column per joint."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from robolin.core.arrays import Floats, datetime_unit
from robolin.core.records import dataclass
from robolin.core.text import quote_list
from robolin.errors import RobolinError
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    require_finite_cells,
    row_location,
)

_MOST_COLUMNS = 10_000
_TIMES = ("time", "t", "times", "timestamp", "timestamps", "stamp")


@dataclass(frozen=True)
class StoredArray:
    """An array of one or two axes that has not been read yet.

    read:   the rows from the first to before the second number, of shape (rows, …)
    across: the same along the last axis of a matrix, also with the rows first
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    read: Callable[[int, int], npt.NDArray[Any]]
    across: Callable[[int, int], npt.NDArray[Any]]

    @property
    def is_numeric(self) -> bool:
        return self.dtype.kind in "iuf" or self.unit is not None

    @property
    def unit(self) -> str | None:
        """The unit of date and time, None for other types."""
        return datetime_unit(np.empty(0, self.dtype)) if self.dtype.kind == "M" else None

    @property
    def turned(self) -> StoredArray:
        """A matrix with its axes exchanged."""
        return replace(self, shape=self.shape[::-1], read=self.across, across=self.read)


def array_in_memory(name: str, values: npt.NDArray[Any]) -> StoredArray:
    """An array in memory, or mapped into it."""
    return StoredArray(
        *(name, values.shape, values.dtype),
        read=lambda first, stop: values[first:stop],
        across=lambda first, stop: values.T[first:stop],
    )


def with_rows(
    arrays: Sequence[StoredArray], joints: Sequence[str], file: str
) -> tuple[list[StoredArray], int, list[str]]:
    """Arrays with one row per time, their number of rows, and the names of all others.

    The rows are the axis that most arrays share: that of the time, if there is one.
    Names do not contain the struct or group of all arrays, unless it is a joint.
    """
    plain = [_vector(each) for each in arrays]
    plain = [each for each in plain if len(each.shape) in (1, 2) and each.is_numeric]
    rows = _rows(plain)
    arrays_with_rows: list[StoredArray] = []
    for each in plain:
        # every column gets a name, so images and maps are left out
        if prod(each.shape) > rows * _MOST_COLUMNS:
            continue
        if each.shape[0] == rows:
            arrays_with_rows.append(each)
        elif len(each.shape) == 2 and each.shape[1] == rows:
            arrays_with_rows.append(each.turned)
    if not arrays_with_rows or not rows:
        hint = "store arrays of shape (rows, joints) or (rows,)"
        raise RobolinError("no array has a row axis", where=file, hint=hint)
    kept = {each.name for each in arrays_with_rows}
    unused = [each.name for each in arrays if each.name not in kept]
    group = _common_group([each.name for each in arrays_with_rows])
    group = "" if group[:-1] in joints else group
    return [replace(each, name=each.name[len(group) :]) for each in arrays_with_rows], rows, unused


def _common_group(names: Sequence[str]) -> str:
    """The struct or group that contains all arrays, with its separator; '' without one."""
    common = os.path.commonprefix(list(names))  # noqa: RUF071
    return common[: max(common.rfind(mark) for mark in "./") + 1]


def _vector(array: StoredArray) -> StoredArray:
    """A matrix with a single row or column as a vector."""
    if len(array.shape) != 2 or 1 not in array.shape:
        return array
    if array.shape[0] == 1 and array.shape[1] > 1:
        array = array.turned
    read = array.read
    return replace(
        array, shape=array.shape[:1], read=lambda first, stop: read(first, stop).reshape(-1)
    )


def _rows(arrays: Sequence[StoredArray]) -> int:
    for name in _TIMES:
        for each in arrays:
            last = each.name.replace("/", ".").rpartition(".")[2].casefold()
            if last == name and len(each.shape) == 1 and each.shape[0] > 1:
                return each.shape[0]
    lengths = Counter(length for each in arrays for length in {*each.shape})
    # scalars have no rows
    lengths.pop(1, None)
    return max(lengths, key=lambda length: (lengths[length], length), default=1)


def arrays_table(
    arrays: Sequence[StoredArray],
    rows: int,
    file: str,
    digest: Callable[[], str],
    unused: Sequence[str] = (),
) -> TableFile:
    """Name every column: vectors by their array, columns of matrices NAME[0], NAME[1], …"""
    columns: list[tuple[StoredArray, int]] = []
    names: list[str] = []
    for each in arrays:
        width = each.shape[1] if len(each.shape) == 2 else 1
        columns += [(each, i) for i in range(width)]
        matrix = len(each.shape) == 2
        names += [f"{each.name}[{i}]" for i in range(width)] if matrix else [each.name]

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        within = request.within(rows)
        for first in range(within.start, within.stop, request.rows):
            stop = min(first + request.rows, within.stop)
            block = _block(columns, request, first, stop, file)
            if not request.allow_nan:
                require_finite_cells(block, names, request, file, rows)
            yield block

    def is_vector(index: int) -> bool:
        return len(columns[index][0].shape) == 1

    return TableFile(
        names,
        blocks,
        size=rows,
        most_rows=lambda: rows,
        digest=digest,
        supports_slicing=True,
        is_integer=lambda i: is_vector(i) and columns[i][0].dtype.kind in "iu",
        datetime_unit=lambda i: columns[i][0].unit,
        notes=(f"arrays without a row axis are ignored: {quote_list(unused)}",) if unused else (),
    )


def _block(
    columns: Sequence[tuple[StoredArray, int]],
    request: ReadRequest,
    first: int,
    stop: int,
    file: str,
) -> TableBlock:
    read: dict[str, npt.NDArray[Any]] = {}
    values = np.empty((stop - first, len(request.indices)))
    integers = {}
    for target, index in enumerate(request.indices):
        array, column = columns[index]
        if array.name not in read:
            read[array.name] = array.read(first, stop)
        some = read[array.name]
        own = some if some.ndim == 1 else some[:, column]
        if index in request.integers:
            integers[index] = _int64(own, array.name, file)
        values[:, target] = integers[index] if index in integers else _floats(own)
    return TableBlock(values, row_location(file, first), stop, integers)


def _floats(values: npt.NDArray[Any]) -> Floats:
    return np.asarray(values, dtype=np.float64)


def _int64(values: npt.NDArray[Any], name: str, file: str) -> npt.NDArray[np.int64]:
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise RobolinError(f"'{name}' contains NaT", where=file, hint="remove the row")
        return values.astype(values.dtype.newbyteorder("=")).view(np.int64)
    if values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max:
        message = f"'{name}' contains integers of more than 64 bits"
        raise RobolinError(message, where=file, hint="store signed integers")
    return np.asarray(values, dtype=np.int64)
