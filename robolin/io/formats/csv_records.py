"""CSV cell by cell: slower than a parser of numbers, but every complaint has line and column.

And what a column is from the first row to the last: whole numbers, moments, a word.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Integers
from robolin.core.results.number_kind import (
    datetime_hint,
    decimals_of,
    is_in_utc,
    parse_datetimes,
    unit_for,
)
from robolin.engine.csv_scanner import NOTHING_YET, scan_bytes
from robolin.errors import RobolinError
from robolin.io.formats.line_reader import Lines, begin_with_whole_numbers, count_bytes
from robolin.io.table_file import ReadRequest, memory_suffices_for_polars

Record = tuple[int, list[str]]

_NO_NUMBER = float("nan")
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*")
_LARGEST = (1 << 63) - 1
_ALIKE = "write all of them whole, within 64 bits, or all of them with a point"

MOST_COLUMNS = 500_000
# whole numbers up to here are float64 as well
EXACT_INTEGERS = 1 << 53


@dataclass(frozen=True)
class CsvTable:
    """Records as numbers, the line of each, and everything wrong with them.

    whole: the columns that were asked for as whole numbers
    good:  how many rows there are before the first that something is wrong with
    """

    values: Floats
    whole: Mapping[int, Integers]
    lines: Sequence[int]
    problems: Sequence[RobolinError]
    good: int


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
    """Every record that is not a blank line, with the number of its first line."""
    reader = csv.reader(lines, strict=True)
    line = first
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = first + reader.line_num
    except csv.Error as error:
        raise RobolinError(
            f"not well-formed CSV: {error}",
            where=f"{file}:{first - 1 + reader.line_num}",
            hint="look for a quotation mark that is not closed",
        ) from error


def header_names(head: bytes, start: bytes, file: str) -> list[str]:
    """The names of the columns, in the first line of a text that begins so."""
    if not start.strip():
        raise RobolinError(
            "the file is empty", where=file, hint="the first line has to name the columns"
        )
    if count_bytes(head, b",") >= MOST_COLUMNS:
        message = f"the first line names more than {MOST_COLUMNS} columns"
        raise RobolinError(message, where=f"{file}:1", hint="a table has a column per number")
    lines = list(lines_of(head, file))
    found = next(records(lines, file), (1, []))[1] if head.strip() else []
    names = [name.strip() for name in found]
    if not names or all(cell_number(name) is not None for name in names):
        raise RobolinError(
            "the header with the column names is missing",
            where=f"{file}:1",
            hint="start with a line such as time,<joint>/position,<joint>/velocity",
        )
    if len(names) == 1 and (other := next((c for c in ";\t" if c in lines[0]), "")):
        raise RobolinError(
            f"columns are separated by {'tabs' if other == chr(9) else 'semicolons'}",
            where=f"{file}:1",
            hint="separate columns with commas, and write numbers with a decimal point",
        )
    return names


def records_table(
    found: Sequence[Record],
    names: Sequence[str],
    request: ReadRequest,
    file: str,
    *,
    cut: bool = False,
) -> CsvTable:
    """The cells that are asked for as numbers.

    cut: whether the last record ends where the file does, so that it may not be all there
    """
    problems: list[RobolinError] = []
    good = len(found)
    values = np.full((len(found), len(request.indices)), _NO_NUMBER)
    whole = {i: np.zeros(len(found), np.int64) for i in request.whole}
    for row, (line, cells) in enumerate(found):
        own = list(_row_problems(cells, names, request, values[row], whole, row))
        if own and cut and row == len(found) - 1 and len(cells) <= len(names):
            own = _cut_off(own, cells, names, request, values[row])
        if own and not problems:
            good = row
        problems += [RobolinError(m, where=f"{file}:{line}", hint=hint) for m, hint in own]
    return CsvTable(values, whole, [line for line, _ in found], problems, good)


def _row_problems(
    cells: Sequence[str],
    names: Sequence[str],
    request: ReadRequest,
    values: Floats,
    whole: Mapping[int, Integers],
    row: int,
) -> Iterator[tuple[str, str]]:
    """What is wrong with one record, and what helps; the numbers in it are filled in."""
    short = len(cells) < len(names)
    if len(cells) != len(names):
        yield f"{len(cells)} cells where the header has {len(names)}", ""
    if len(cells) > len(names):
        return
    for place, i in enumerate(request.indices):
        if short and i >= len(cells) - 1:
            continue
        value = cell_number(cells[i])
        if i in request.moments:
            moment = parse_datetimes([cells[i]], request.moments[i])
            if moment is None:
                yield _complaint(cells[i], names[i], "a moment like those in other rows"), ""
            else:
                values[place] = whole[i][row] = moment[0]
        elif i in whole and (exactly := whole_number(cells[i])) is not None:
            values[place] = whole[i][row] = exactly
        elif i in whole:
            yield _not_whole(cells[i], names[i]), ""
        elif value is not None and i in request.unrounded and is_rounded(cells[i], value):
            yield _mixed(cells[i], names[i]), _ALIKE
        elif value is not None:
            values[place] = value
        elif not (request.gaps and _is_gap(cells[i])):
            yield _complaint(cells[i], names[i]), datetime_hint(cells[i])


def _cut_off(
    problems: Sequence[tuple[str, str]],
    cells: Sequence[str],
    names: Sequence[str],
    request: ReadRequest,
    values: Floats,
) -> list[tuple[str, str]]:
    """The same for a record that is not all there: where gaps may be, all of it is one."""
    times = {*request.whole, *request.unrounded}
    complete = {i for i in times if i < len(cells) - 1}
    if not request.gaps or not complete.issuperset(request.whole):
        message = f"the last line is cut off: {problems[0][0]}"
        return [(message, "remove it, or let --on-bad-row nan go on without it")]
    for place, i in enumerate(request.indices):
        if i not in complete:
            values[place] = _NO_NUMBER
    return []


def cell_number(cell: str) -> float | None:
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
    return abs(value) > EXACT_INTEGERS and bool(_DIGITS.fullmatch(cell)) and int(cell) != value


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


def all_integers(blocks: Iterable[Lines], column: int, file: str) -> bool:
    """Whether every row that has such a cell has a whole number there; what is wrong waits."""
    rest = iter(blocks)
    for lines in rest:
        if column == 0 and begin_with_whole_numbers(lines.data):
            continue
        # what is quoted may contain line ends, so that blocks cannot be told apart
        looked = chain([lines], rest) if b'"' in lines.data else [lines]
        try:
            texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in looked)
            rows = (cells for _, cells in records(texts, file) if column < len(cells))
            if not all(whole_number(cells[column]) is not None for cells in rows):
                return False
        except RobolinError:
            continue
    return True


def common_time_unit(blocks: Iterable[Lines], column: int, file: str) -> str | None:
    """The unit that holds the moments of all rows; None if one has none, or another zone."""
    texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in blocks)
    decimals, zones = -1, set[bool]()
    try:
        for _, cells in records(texts, file):
            if column < len(cells):
                found = decimals_of(cells[column])
                zones.add(is_in_utc(cells[column]))
                if found is None or len(zones) > 1:
                    return None
                decimals = max(decimals, found)
    except RobolinError:
        pass
    return None if decimals < 0 else unit_for(decimals)


def constant_text(
    blocks: Iterable[Lines], columns: Sequence[int], file: str
) -> tuple[str, ...] | None:
    """What these columns say in every row that has them all; None if rows differ, or are none."""
    texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in blocks)
    found: set[tuple[str, ...]] = set()
    try:
        for _, cells in records(texts, file):
            if max(columns) < len(cells):
                found.add(tuple(cells[i].strip() for i in columns))
                if len(found) > 1:
                    return None
    except RobolinError:
        pass
    return found.pop() if found else None


def polars_numbers(
    data: bytes, width: int, request: ReadRequest, *, even: bool = False
) -> tuple[Floats, dict[int, Integers]] | None:
    """The numbers asked for, or None if anything is unusual enough to be looked at closely.

    even: whether it is known that all lines are rows of so many cells, in ASCII
    """
    # polars sees a row in a blank line at the end, but one of spaces is a row indeed
    body = data.rstrip(b"\r\n")
    if not body or not memory_suffices_for_polars():
        return None
    look = NOTHING_YET if even else scan_bytes(body, width - 1)
    if not look.ascii or (look.returns and body.count(b"\r") != body.count(b"\r\n")):
        return None
    found = _parsed(body, width, request)
    if found is None:
        return None
    values, whole = found
    exact = [request.indices.index(i) for i in request.unrounded if i not in request.whole]
    if _rounds(values[:, exact]):
        return None
    finite = np.isfinite(values)
    complete = bool(finite.all())
    # polars looks only at columns that somebody reads: one cell too many shifts the others; where
    # all are read, it refuses such a row, and has no number for a cell too few
    seen = complete and len(set(request.indices)) == width > 1
    rectangular = look.even and look.commas == width - 1 and look.ends == len(values) - 1
    if not (even or seen or rectangular):
        return None
    if complete:
        return values, whole
    # a blank line in a single column looks like a gap
    return (np.where(finite, values, np.nan), whole) if request.gaps and width > 1 else None


def _parsed(
    body: bytes, width: int, request: ReadRequest
) -> tuple[Floats, dict[int, Integers]] | None:
    """What polars takes the cells for; None if it cannot read one, or one is not whole."""
    import polars

    read = [str(i) for i in request.indices]
    kinds: dict[str, Any] = dict.fromkeys(read, polars.Float64)
    kinds |= {str(i): polars.Int64 for i in request.whole}
    kinds |= {str(i): polars.String for i in request.moments}
    schema = {str(i): kinds.get(str(i), polars.String) for i in range(width)}
    try:
        lazy = polars.scan_csv(body, has_header=False, schema=schema, quote_char=None)
        frame = lazy.select(read).collect()
        if any(frame[str(i)].null_count() for i in request.whole):
            return None
        for i, unit in request.moments.items():
            found = parse_datetimes(frame[str(i)].to_list(), unit)
            if found is None:
                return None
            frame = frame.with_columns(polars.Series(str(i), found))
        whole = {i: frame[str(i)].to_numpy() for i in request.whole}
        return frame.cast(polars.Float64).to_numpy(), whole
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None


def _rounds(values: Floats) -> bool:
    """Whether whole numbers among these may have been rounded."""
    with np.errstate(invalid="ignore"):
        return bool((np.abs(values) > EXACT_INTEGERS).any())
