"""CSV with a header line; every complaint names the line and the column."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from math import isfinite

import numpy as np

from robolin.errors import RobolinError
from robolin.trajectory.sheet import Sheet, raise_first
from robolin.trajectory.trajectory import Floats

# below this many bytes the time to import polars is longer than the time it saves
_LARGE_FILE = 2_000_000

Record = tuple[int, list[str]]


def csv_sheet(data: bytes, file: str) -> Sheet:
    """Read the header at once and the numbers on request."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RobolinError(
            "this is not UTF-8 text", where=f"{file}:{line}", hint="save the file as CSV in UTF-8"
        ) from error
    header = _header(text, file)

    def numbers(indices: Sequence[int]) -> Floats:
        if len(data) > _LARGE_FILE:
            fast = _read_fast(data, len(header), indices)
            if fast is not None:
                return fast
        return _read_exactly(_records(text, file)[1:], header, indices, file)

    return Sheet(header, numbers)


def _header(text: str, file: str) -> list[str]:
    if not text.strip():
        raise RobolinError(
            "the file is empty", where=file, hint="the first line has to name the columns"
        )
    first = text.split("\n", 1)[0]
    names = [name.strip() for name in _records(first, file)[0][1]] if first.strip() else []
    if not names or all(number(name) is not None for name in names):
        raise RobolinError(
            "the header with the column names is missing",
            where=f"{file}:1",
            hint="start with a line such as time,<joint>/position,<joint>/velocity",
        )
    if len(names) == 1 and (other := next((c for c in ";\t" if c in first), "")):
        raise RobolinError(
            f"columns are separated by {'tabs' if other == chr(9) else 'semicolons'}",
            where=f"{file}:1",
            hint="separate columns with commas, and write numbers with a decimal point",
        )
    return names


def _records(text: str, file: str) -> list[Record]:
    """Every line that is not blank, with its number."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        return [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        raise RobolinError(
            f"not well-formed CSV: {error}",
            where=f"{file}:{reader.line_num}",
            hint="look for a quotation mark that is not closed",
        ) from error


def _read_exactly(
    records: Sequence[Record], header: Sequence[str], indices: Sequence[int], file: str
) -> Floats:
    problems: list[RobolinError] = []
    values = np.empty((len(records), len(indices)))
    for row, (line, cells) in enumerate(records):
        if len(cells) != len(header):
            message = f"{len(cells)} cells where the header has {len(header)}"
            problems.append(RobolinError(message, where=f"{file}:{line}"))
            continue
        for place, i in enumerate(indices):
            value = number(cells[i])
            if value is None:
                message = _complaint(cells[i], header[i])
                problems.append(RobolinError(message, where=f"{file}:{line}"))
            else:
                values[row, place] = value
    raise_first(problems, file)
    return values


def _read_fast(data: bytes, width: int, indices: Sequence[int]) -> Floats | None:
    """The same numbers by polars, or None if anything is unusual enough to be looked at closely."""
    import polars

    body = data[data.find(b"\n") + 1 :].rstrip(b"\r\n")
    if b'"' in data or not body:
        return None
    read = set(indices)
    schema = {str(i): polars.Float64 if i in read else polars.String for i in range(width)}
    try:
        table = polars.read_csv(body, has_header=False, schema=schema)
    except polars.exceptions.PolarsError:
        return None
    # a row that is too short would pass unseen if only columns nobody reads are missing
    if body.count(b",") != table.height * (width - 1):
        return None
    values = table.select([str(i) for i in indices]).to_numpy()
    return values if np.isfinite(values).all() else None


def number(cell: str) -> float | None:
    """The finite number a cell holds, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python itself would read 1_000
    return value if isfinite(value) and "_" not in cell else None


def _complaint(cell: str, column: str) -> str:
    if not cell.strip():
        return f"the cell in column '{column}' is empty"
    shown = cell if len(cell) <= 40 else f"{cell[:37]}…"
    return f"'{shown}' in column '{column}' is not a finite number"
