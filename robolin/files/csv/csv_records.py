"""CSV cell by cell: slower than a parser of numbers, but every complaint has line and column."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np

from robolin.arrays import Floats, Integers
from robolin.errors import RobolinError
from robolin.files.moments import moments_of
from robolin.files.table_file import ReadRequest

Record = tuple[int, list[str]]

_NO_NUMBER = float("nan")
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*")
_LARGEST = (1 << 63) - 1
_ALIKE = "write all of them whole, within 64 bits, or all of them with a point"

# whole numbers up to here are float64 as well
EXACT = 1 << 53


@dataclass(frozen=True)
class CsvTable:
    """Records as numbers, the line of each, and everything wrong with them.

    whole: the columns that were asked for as whole numbers
    """

    values: Floats
    whole: Mapping[int, Integers]
    lines: Sequence[int]
    problems: Sequence[RobolinError]


def lines_of(data: bytes, file: str, first: int = 1) -> Iterator[str]:
    """The lines of a block whose first line has this number, ends of lines kept."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        raise RobolinError(
            "this is not UTF-8 text", where=f"{file}:{line}", hint="save the file as CSV in UTF-8"
        ) from error
    return io.StringIO(text, newline="")


def records(lines: Iterable[str], file: str, first: int = 1) -> Iterator[Record]:
    """Every record that is not a blank line, with the number of its last line."""
    reader = csv.reader(lines, strict=True)
    try:
        for cells in reader:
            if cells:
                yield first - 1 + reader.line_num, cells
    except csv.Error as error:
        raise RobolinError(
            f"not well-formed CSV: {error}",
            where=f"{file}:{first - 1 + reader.line_num}",
            hint="look for a quotation mark that is not closed",
        ) from error


def table(
    found: Sequence[Record], names: Sequence[str], request: ReadRequest, file: str
) -> CsvTable:
    """The cells that are asked for as numbers."""
    problems: list[RobolinError] = []
    values = np.full((len(found), len(request.indices)), _NO_NUMBER)
    whole = {i: np.zeros(len(found), np.int64) for i in request.whole}
    for row, (line, cells) in enumerate(found):
        where = f"{file}:{line}"
        if len(cells) != len(names):
            message = f"{len(cells)} cells where the header has {len(names)}"
            problems.append(RobolinError(message, where=where))
            continue
        for place, i in enumerate(request.indices):
            value = number(cells[i])
            if i in request.moments:
                moment = moments_of([cells[i]], request.moments[i])
                if moment is None:
                    text = _complaint(cells[i], names[i], "a moment like those in other rows")
                    problems.append(RobolinError(text, where=where))
                else:
                    values[row, place] = whole[i][row] = moment[0]
            elif i in whole and (exactly := whole_number(cells[i])) is not None:
                values[row, place] = whole[i][row] = exactly
            elif i in whole:
                problems.append(RobolinError(_not_whole(cells[i], names[i]), where=where))
            elif value is not None and i in request.unrounded and is_rounded(cells[i], value):
                problems.append(RobolinError(_mixed(cells[i], names[i]), where=where, hint=_ALIKE))
            elif value is not None:
                values[row, place] = value
            elif not (request.gaps and _is_gap(cells[i])):
                problems.append(RobolinError(_complaint(cells[i], names[i]), where=where))
    return CsvTable(values, whole, [line for line, _ in found], problems)


def number(cell: str) -> float | None:
    """The finite number a cell holds, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python itself would read 1_000, and digits of all scripts
    plain = "_" not in cell and cell.strip().isascii()
    return value if plain and isfinite(value) else None


def whole_number(cell: str) -> int | None:
    """The whole number a cell holds, written without point or power, or None."""
    value = int(cell) if _WHOLE.fullmatch(cell) else None
    return value if value is not None and abs(value) <= _LARGEST else None


def is_rounded(cell: str, value: float) -> bool:
    """Whether the cell holds a whole number that this float is not."""
    # up to here there is a float for every whole number
    return abs(value) > EXACT and bool(_DIGITS.fullmatch(cell)) and int(cell) != value


def _is_gap(cell: str) -> bool:
    """Whether the cell says that there is no number, rather than something we cannot read."""
    if not cell.strip():
        return True
    try:
        return not isfinite(float(cell))
    except ValueError:
        return False


def _complaint(cell: str, column: str, what: str = "a finite number") -> str:
    if not cell.strip():
        return f"the cell in column '{column}' is empty"
    shown = cell if len(cell) <= 40 else f"{cell[:37]}…"
    return f"'{shown}' in column '{column}' is not {what}"


def _mixed(cell: str, column: str) -> str:
    return (
        f"'{cell.strip()}' in column '{column}' would be rounded, because other rows have no whole "
        "numbers of 64 bits there"
    )


def _not_whole(cell: str, column: str) -> str:
    return _complaint(cell, column, "a whole number like those in other rows")
