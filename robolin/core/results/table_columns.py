"""Kinds of numbers in a result, and the result as a table: named columns, one row per state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Integers, Numbers
from robolin.errors import RobolinError

if TYPE_CHECKING:
    from polars import DataFrame

    from robolin.core.results.result import Result

# 2026-05-01T12:30:00.125, also with a space instead of the T, and with or without Z
_DATE, _CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?"
_DATETIME = re.compile(rf"^\s*{_DATE}[T ]{_CLOCK}(Z|\+00:00)?\s*$")
_LIKE_A_DATE = re.compile(rf"^\s*{_DATE}")

# units of time stamps -> decimals of a second
DECIMALS = {"s": 0, "ms": 3, "us": 6, "ns": 9}
# first and last full year that 64-bit nanoseconds since 1970 represent
_YEARS = {"ns": (1678, 2261)}


@dataclass(frozen=True)
class NumberKind:
    """A number type and its storage.

    dtype: little-endian type in files and digests
    parts: suffixes of its column names, one column for each
    """

    name: str
    dtype: str
    parts: tuple[str, ...] = ("",)

    @property
    def size(self) -> int:
        """Bytes per number."""
        return np.dtype(self.dtype).itemsize


REAL = NumberKind("real", "<f8")
COMPLEX = NumberKind("complex", "<c16", ("/re", "/im"))
INTEGER = NumberKind("integer", "<i8")

# time stamps in these units since 1970
DATETIMES = {unit: NumberKind(f"datetime64[{unit}]", f"<M8[{unit}]") for unit in DECIMALS}

NUMBER_KINDS = {kind.name: kind for kind in (REAL, COMPLEX, INTEGER, *DATETIMES.values())}


def kind_of(values: Numbers) -> NumberKind:
    """Number type of an array; real by default."""
    if values.dtype.kind == "M":
        return DATETIMES[np.datetime_data(values.dtype)[0]]
    return {"c": COMPLEX, "i": INTEGER}.get(values.dtype.kind, REAL)


def stored_values(values: Numbers) -> Numbers:
    """Values in the type and the order of files; time stamps as integers."""
    kind = kind_of(values)
    numbers = np.ascontiguousarray(values, dtype=kind.dtype)
    return numbers.view("<i8") if values.dtype.kind == "M" else numbers


def decimals_of(text: str) -> int | None:
    """Number of decimals in the seconds of a time stamp; None for other text."""
    match = _DATETIME.match(text)
    return None if match is None else len(match[1] or "")


def is_in_utc(text: str) -> bool:
    """True for a time stamp marked as UTC."""
    match = _DATETIME.match(text)
    return match is not None and match[2] is not None


def datetime_hint(text: str) -> str:
    """Hint for a text that is not a valid time stamp; '' if it does not start with a date."""
    if not _LIKE_A_DATE.match(text):
        return ""
    return "write dates as 2026-05-01T12:30:00.125, all with a final Z or none"


def unit_for(decimals: int) -> str:
    """The coarsest unit that represents this number of decimals."""
    return next(unit for unit, most in DECIMALS.items() if decimals <= most)


def parse_datetimes(texts: Sequence[str], unit: str) -> Integers | None:
    """Parse time stamps to integers in the unit; None if a text is not one."""
    first, last = _YEARS.get(unit, (0, 9999))
    plain = [text.strip() for text in texts]
    for text in plain:
        decimals = decimals_of(text)
        if decimals is None or decimals > DECIMALS[unit] or not first <= int(text[:4]) <= last:
            return None
    plain = [text.removesuffix("Z").removesuffix("+00:00") for text in plain]
    try:
        return np.array(plain, dtype=f"M8[{unit}]").view(np.int64)
    except ValueError:
        # for example month 13
        return None


def format_datetimes(values: Numbers) -> list[str]:
    """Format time stamps with all decimals of their unit."""
    return [str(text) for text in np.datetime_as_string(values.reshape(-1)).tolist()]


def datetime_unit(values: Numbers) -> str | None:
    """Unit of an array of time stamps; None for other arrays and unsupported units."""
    if values.dtype.kind != "M":
        return None
    unit, step = np.datetime_data(values.dtype)
    return unit if unit in DECIMALS and step == 1 else None


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
