"""Parse CSV cell by cell: slower than polars, but every error has its line and column.

Also determines the kind of a column over all rows: integers, date and time, or a constant text.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np

from robolin.core.arrays import DECIMALS, Floats, Integers
from robolin.core.records import dataclass
from robolin.engine.csv_scanner import NOTHING_YET, scan_bytes
from robolin.errors import RobolinError
from robolin.io.formats.line_reader import Lines, begin_with_integers, count_bytes
from robolin.io.table_file import BAD_ROW_HINT, ReadRequest, polars_usable

Record = tuple[int, list[str]]

_NO_NUMBER = float("nan")
_INTEGER = re.compile(r"\s*[+-]?[0-9]{1,19}\s*")
_DIGITS = re.compile(r"\s*[+-]?[0-9]+\s*")
_LARGEST = (1 << 63) - 1
_SAME_KIND_HINT = "write only 64-bit integers in the column, or only numbers with a decimal point"

# 2026-05-01T12:30:00.125, also with a space instead of the T, and with or without Z
_DATE, _CLOCK = r"[0-9]{4}-[0-9]{2}-[0-9]{2}", r"[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.([0-9]{1,9}))?"
_DATETIME = re.compile(rf"^\s*{_DATE}[T ]{_CLOCK}(Z|\+00:00)?\s*$")
_LIKE_A_DATE = re.compile(rf"^\s*{_DATE}")

# first and last full year that 64-bit nanoseconds since 1970 represent
_YEARS = {"ns": (1678, 2261)}

MOST_COLUMNS = 500_000
# float64 represents every integer up to here exactly
EXACT_INTEGERS = 1 << 53


@dataclass(frozen=True)
class CsvTable:
    """Records as numbers, the line of each, and all problems with them.

    integers: the columns that were requested as integers
    good:     number of rows before the first problem
    """

    values: Floats
    integers: Mapping[int, Integers]
    lines: Sequence[int]
    problems: Sequence[RobolinError]
    good: int


def lines_of(data: bytes, file: str, first: int = 1) -> Iterator[str]:
    """The lines of a block with their line ends; `first` is the number of the first line."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = first + data.count(b"\n", 0, error.start)
        hint = "save the file as CSV in UTF-8"
        message = "the file is not UTF-8 text"
        raise RobolinError(message, where=f"{file}:{line}", hint=hint) from error
    return io.StringIO(text, newline="")


def records(lines: Iterable[str], file: str, first: int = 1) -> Iterator[Record]:
    """Yield every record that is not a blank line, with the number of its first line."""
    reader = csv.reader(lines, strict=True)
    line = first
    try:
        for cells in reader:
            if cells:
                yield line, cells
            line = first + reader.line_num
    except csv.Error as error:
        raise RobolinError(
            f"the file is not well-formed CSV: {error}",
            where=f"{file}:{first - 1 + reader.line_num}",
            hint="look for an unclosed quotation mark",
        ) from error


def header_names(head: bytes, start: bytes, file: str) -> list[str]:
    """Parse the column names in the header line."""
    if not start.strip():
        raise RobolinError(
            "the file is empty", where=file, hint="write the column names in the first line"
        )
    if count_bytes(head, b",") >= MOST_COLUMNS:
        message = f"the header has more than {MOST_COLUMNS} columns"
        raise RobolinError(
            message,
            where=f"{file}:1",
            hint="write one column per quantity and joint, and check the line breaks",
        )
    lines = list(lines_of(head, file))
    cells = next(records(lines, file), (1, []))[1] if head.strip() else []
    names = [name.strip() for name in cells]
    if not names or all(cell_number(name) is not None for name in names):
        raise RobolinError(
            "the header line with column names is missing",
            where=f"{file}:1",
            hint="add --no-header --columns position=0:N for N joints in the first columns, or "
            "start with a line such as time,<joint>/position,<joint>/velocity",
        )
    if len(names) == 1 and (other := next((c for c in ";\t" if c in lines[0]), "")):
        raise RobolinError(
            "columns must be separated by commas, got "
            f"{'tabs' if other == chr(9) else 'semicolons'}",
            where=f"{file}:1",
            hint="separate columns with commas; write numbers with a decimal point",
        )
    return names


def numbered_names(start: bytes, file: str) -> list[str]:
    """The indices of the columns of a text without a header line, from its first row."""
    line = start.lstrip(b"\r\n").partition(b"\n")[0]
    if not line.strip():
        raise RobolinError("the file is empty", where=file, hint="check the path")
    if count_bytes(line, b",") >= MOST_COLUMNS:
        message = f"the first row has more than {MOST_COLUMNS} columns"
        raise RobolinError(message, where=file, hint="check the line breaks between the rows")
    _, cells = next(records(lines_of(line, file), file), (1, [""]))
    if all(cell_number(cell) is None for cell in cells):
        message = "the first line has no numbers"
        hint = "remove --no-header if the line contains column names"
        raise RobolinError(message, where=file, hint=hint)
    return [str(i) for i in range(len(cells))]


def records_table(
    parsed: Sequence[Record],
    names: Sequence[str],
    request: ReadRequest,
    file: str,
    *,
    cut: bool = False,
    first: str = "header",
) -> CsvTable:
    """Parse the requested cells as numbers.

    first: the name of the first line in messages
    cut: whether the last record ends at the end of the file, so that it may be incomplete
    """
    problems: list[RobolinError] = []
    good = len(parsed)
    values = np.full((len(parsed), len(request.indices)), _NO_NUMBER)
    integers = {i: np.zeros(len(parsed), np.int64) for i in request.integers}
    for row, (line, cells) in enumerate(parsed):
        own = list(_row_problems(cells, names, request, values[row], integers, row, first))
        if own and cut and row == len(parsed) - 1 and len(cells) <= len(names):
            own = _cut_off(own, cells, names, request, values[row])
        if own and not problems:
            good = row
        problems += [RobolinError(m, where=f"{file}:{line}", hint=hint) for m, hint in own]
    return CsvTable(values, integers, [line for line, _ in parsed], problems, good)


def _row_problems(
    cells: Sequence[str],
    names: Sequence[str],
    request: ReadRequest,
    values: Floats,
    integers: Mapping[int, Integers],
    row: int,
    first: str,
) -> Iterator[tuple[str, str]]:
    """Parse one record into `values` and `integers`; yield each problem with a hint."""
    short = len(cells) < len(names)
    if len(cells) != len(names):
        yield f"must have {len(names)} cells like the {first}, got {len(cells)}", ""
    if len(cells) > len(names):
        return
    for position, i in enumerate(request.indices):
        if short and i >= len(cells) - 1:
            continue
        value = cell_number(cells[i])
        if i in request.datetimes:
            stamp = parse_datetimes([cells[i]], request.datetimes[i])
            if stamp is None:
                yield _cell_problem(cells[i], names[i], "a time stamp, as in other rows"), ""
            else:
                values[position] = integers[i][row] = stamp[0]
        elif i in integers and (integer := parse_integer(cells[i])) is not None:
            values[position] = integers[i][row] = integer
        elif i in integers:
            yield _not_an_integer(cells[i], names[i]), ""
        elif value is not None and i in request.exact and is_rounded(cells[i], value):
            yield _mixed(cells[i], names[i]), _SAME_KIND_HINT
        elif value is not None:
            values[position] = value
        elif not (request.allow_nan and _is_gap(cells[i])):
            hint = BAD_ROW_HINT if _is_gap(cells[i]) else datetime_hint(cells[i])
            yield _cell_problem(cells[i], names[i]), hint


def _cut_off(
    problems: Sequence[tuple[str, str]],
    cells: Sequence[str],
    names: Sequence[str],
    request: ReadRequest,
    values: Floats,
) -> list[tuple[str, str]]:
    """Problems of an incomplete last record; if NaN is allowed, the record becomes NaN."""
    times = {*request.integers, *request.exact}
    complete = {i for i in times if i < len(cells) - 1}
    if not request.allow_nan or not complete.issuperset(request.integers):
        message = f"the last line is incomplete: {problems[0][0]}"
        return [(message, "remove the line, or skip such rows with --on-bad-row nan")]
    for position, i in enumerate(request.indices):
        if i not in complete:
            values[position] = _NO_NUMBER
    return []


def cell_number(cell: str) -> float | None:
    """The finite number in a cell, or None."""
    try:
        value = float(cell)
    except ValueError:
        return None
    # Python's float also accepts 1_000 and digits of all scripts
    plain = "_" not in cell and cell.strip().isascii()
    return value if plain and isfinite(value) else None


def parse_integer(cell: str) -> int | None:
    """The integer in a cell, written without decimal point or exponent, or None."""
    value = int(cell) if _INTEGER.fullmatch(cell) else None
    return value if value is not None and abs(value) <= _LARGEST else None


def is_rounded(cell: str, value: float) -> bool:
    """Return whether the cell holds an integer that this float does not represent exactly."""
    # up to here there is a float for every integer
    return abs(value) > EXACT_INTEGERS and bool(_DIGITS.fullmatch(cell)) and int(cell) != value


def _is_gap(cell: str) -> bool:
    """Return whether the cell is empty, NaN or infinite, in contrast to unreadable text."""
    if not cell.strip():
        return True
    try:
        return not isfinite(float(cell))
    except ValueError:
        return False


def _cell_problem(cell: str, column: str, what: str = "a finite number") -> str:
    if not cell.strip():
        return f"column '{column}' has an empty cell"
    shown = cell if len(cell) <= 40 else f"{cell[:37]}…"
    return f"'{shown}' in column '{column}' is not {what}"


def _mixed(cell: str, column: str) -> str:
    return (
        f"'{cell.strip()}' in column '{column}' would be rounded, because other rows are not "
        "64-bit integers"
    )


def _not_an_integer(cell: str, column: str) -> str:
    return _cell_problem(cell, column, "an integer, as in other rows")


def all_integers(blocks: Iterable[Lines], column: int, file: str) -> bool:
    """Return whether a column contains only integers; malformed rows are reported later."""
    rest = iter(blocks)
    for lines in rest:
        if column == 0 and begin_with_integers(lines.data):
            continue
        # quoted cells may contain line ends, so blocks cannot be parsed separately
        checked = chain([lines], rest) if b'"' in lines.data else [lines]
        try:
            texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in checked)
            rows = (cells for _, cells in records(texts, file) if column < len(cells))
            if not all(parse_integer(cells[column]) is not None for cells in rows):
                return False
        except RobolinError:
            continue
    return True


def common_time_unit(blocks: Iterable[Lines], column: int, file: str) -> str | None:
    """The unit that represents all date-times; None if a row has none or another time zone."""
    texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in blocks)
    decimals, zones = -1, set[bool]()
    try:
        for _, cells in records(texts, file):
            if column < len(cells):
                digits = decimals_of(cells[column])
                zones.add(is_in_utc(cells[column]))
                if digits is None or len(zones) > 1:
                    return None
                decimals = max(decimals, digits)
    except RobolinError:
        pass
    return None if decimals < 0 else unit_for(decimals)


def constant_text(
    blocks: Iterable[Lines], columns: Sequence[int], file: str
) -> tuple[str, ...] | None:
    """The text of these columns if it is the same in all complete rows, else None."""
    texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in blocks)
    values: set[tuple[str, ...]] = set()
    try:
        for _, cells in records(texts, file):
            if max(columns) < len(cells):
                values.add(tuple(cells[i].strip() for i in columns))
                if len(values) > 1:
                    return None
    except RobolinError:
        pass
    return values.pop() if values else None


def polars_numbers(
    data: bytes, width: int, request: ReadRequest, *, even: bool = False
) -> tuple[Floats, dict[int, Integers]] | None:
    """Parse the requested numbers with polars; None if the text needs the cell-by-cell parser.

    even: whether all lines are known to be rows of `width` cells in ASCII
    """
    # polars returns a row for a blank line at the end; a line of spaces is a row indeed
    body = data.rstrip(b"\r\n")
    if not body or not polars_usable():
        return None
    look = NOTHING_YET if even else scan_bytes(body, width - 1)
    if not look.ascii or (look.returns and body.count(b"\r") != body.count(b"\r\n")):
        return None
    parsed = _parsed(body, width, request)
    if parsed is None:
        return None
    values, integers = parsed
    exact = [request.indices.index(i) for i in request.exact if i not in request.integers]
    if _rounds(values[:, exact]):
        return None
    finite = np.isfinite(values)
    complete = bool(finite.all())
    # polars only parses the selected columns, and a surplus cell shifts the others; if all columns
    # are selected, it rejects such a row and returns null for a missing cell
    seen = complete and len(set(request.indices)) == width > 1
    rectangular = look.even and look.commas == width - 1 and look.ends == len(values) - 1
    if not (even or seen or rectangular):
        return None
    if complete:
        return values, integers
    # with a single column, a blank line looks like an empty cell
    return (np.where(finite, values, np.nan), integers) if request.allow_nan and width > 1 else None


def _parsed(
    body: bytes, width: int, request: ReadRequest
) -> tuple[Floats, dict[int, Integers]] | None:
    """Parse with polars; None if a cell is unreadable or is not an integer as requested."""
    import polars

    read = [str(i) for i in request.indices]
    kinds: dict[str, Any] = dict.fromkeys(read, polars.Float64)
    kinds |= {str(i): polars.Int64 for i in request.integers}
    kinds |= {str(i): polars.String for i in request.datetimes}
    schema = {str(i): kinds.get(str(i), polars.String) for i in range(width)}
    try:
        lazy = polars.scan_csv(body, has_header=False, schema=schema, quote_char=None)
        frame = lazy.select(read).collect()
        if any(frame[str(i)].null_count() for i in request.integers):
            return None
        for i, unit in request.datetimes.items():
            stamps = parse_datetimes(frame[str(i)].to_list(), unit)
            if stamps is None:
                return None
            frame = frame.with_columns(polars.Series(str(i), stamps))
        integers = {i: frame[str(i)].to_numpy() for i in request.integers}
        return frame.cast(polars.Float64).to_numpy(), integers
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException):
        return None


def _rounds(values: Floats) -> bool:
    """Return whether some of these may be integers that were rounded."""
    with np.errstate(invalid="ignore"):
        return bool((np.abs(values) > EXACT_INTEGERS).any())


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
    return "write dates as 2026-05-01T12:30:00.125; end all dates with Z, or none"


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
