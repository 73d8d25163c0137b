"""A result as a table: named columns, one row per state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import COMPLEX, INTEGER, Numbers, kind_of
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from polars import DataFrame

    from robolin.core.results.result import Result


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
    return values.astype(np.int64 if kind is INTEGER else np.float64, copy=False)


def _side_by_side(group: list[Columns]) -> Columns:
    names = [name for columns in group for name in columns.names]
    return Columns(names, np.concatenate([columns.values for columns in group], axis=1))


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
