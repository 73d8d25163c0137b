"""CSV with or without a header line; every error names the line and the column."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from robolin.core.threads import from_item, prefetch
from robolin.errors import FileError, RobolinError
from robolin.io.format_table import is_stored
from robolin.io.formats.csv_records import (
    EXACT_INTEGERS,
    CsvTable,
    Record,
    all_integers,
    common_time_unit,
    constant_text,
    header_names,
    lines_of,
    numbered_names,
    parse_integer,
    polars_numbers,
    records,
    records_table,
)
from robolin.io.formats.line_reader import (
    LineReader,
    Lines,
    locations_in,
    row_locations,
    rows_at_most,
    size_of,
    split_at_invalid_utf8,
)
from robolin.io.formats.row_index import needs_csv_parser, slice_lines
from robolin.io.table_file import (
    INTEGER_COLUMN,
    ReadRequest,
    RowOffset,
    TableBlock,
    TableFile,
    TableSource,
    raise_first,
)

if TYPE_CHECKING:
    from robolin.io.provenance import Meta
    from robolin.io.stored import StoredFile

T = TypeVar("T")

# below this many bytes the time to import polars is longer than the time it saves
_LARGE_FILE = 2_000_000
_SMALLEST_BLOCK = 1 << 18
# live input of fewer bytes than this is parsed faster without polars
_FEW_LINES = 1 << 14

# in most columns, the first bytes of the file show that they are not integers
_SAMPLE_BYTES = 1 << 14


def csv_table(source: TableSource) -> TableFile:
    """Open a CSV file: the header is read now, the numbers on request."""
    known = source.known
    at_first = 1 if source.live else max(_LARGE_FILE, 1)
    if known and any(mark.byte > _LARGE_FILE for mark in known.marks):
        # the file is large, and the requested rows begin further on
        at_first = _SMALLEST_BLOCK
    reached = source.origin.tell if source.origin else None
    reader = LineReader(source.stream, at_first, source.file, digested=not known, reached=reached)
    text = CsvText(reader, source)
    most_rows: Callable[[], int | None] = _unknown
    if source.regular and not is_stored(source.path):
        most_rows = partial(rows_at_most, source.path, source.header)
    digest = reader.digest if known is None else lambda: known.digest
    inspectors = (text.is_integer, text.datetime_unit, text.texts)
    return TableFile(
        *(text.names, text.blocks, _size(source), most_rows, digest, *inspectors),
        supports_slicing=True,
        numbered=not source.header,
    )


def _size(source: TableSource) -> int | None:
    """Bytes of a file on a disk or of an object; None for a pipe."""
    if source.origin:
        return size_of(source.origin)
    return size_of(source.stream) if source.regular else None


def _unknown() -> None:
    """The number of rows of a pipe or an object is unknown."""


class CsvText:
    """A CSV text whose columns are known."""

    size: int | None
    names: list[str]

    def __init__(self, reader: LineReader, source: TableSource) -> None:
        file = source.file
        self._reader, self._file, self._source = reader, file, source
        self.size = size_of(source.stream) if source.regular else None
        self._even = source.known is not None and source.known.even
        # with live input, rows before invalid UTF-8 are still returned
        self._lines = split_at_invalid_utf8(reader.lines()) if source.live else reader.lines()
        start = next(self._lines)
        data = start.data
        head, end, _ = data.partition(b"\n")
        if b"\r" in head.rstrip(b"\r"):
            # line ends of old Macs
            data = data.replace(b"\r", b"\n")
            head, end, _ = data.partition(b"\n")
        below = data
        if source.header:
            self.names = header_names(head, data, file)
            below = data[len(head) + len(end) :]
        else:
            self.names = numbered_names(data, file)
        # number of the first line with a row
        self._first_line = 2 if source.header else 1
        # whether the lines end with the last requested row, and the difference between line and
        # row numbers, where it is constant
        self._ends_with_last = False
        self._row_to_line: int | None = None
        self._large = not start.last or len(data) > _LARGE_FILE
        self._start = Lines(below, self._first_line, start.reached, start.last)
        if not source.live:
            reader.size = _SMALLEST_BLOCK
        if source.live or not source.regular:
            self._wait_for_row()

    def _wait_for_row(self) -> None:
        """Wait for the first row, which shows the kinds of the columns."""
        while not self._start.last and not self._start.data.strip(b"\r\n"):
            more = next(self._lines)
            data = self._start.data + more.data
            self._start = Lines(data, self._start.first, more.reached, more.last)

    def is_integer(self, column: int) -> bool:
        """Return whether a column contains only integers; for a pipe in the rows read so far."""
        if (known := self._known_look(column)) is not None:
            return known == INTEGER_COLUMN
        if self._source.live:
            return self._first_is_large(column)
        return self._scan(lambda blocks: all_integers(blocks, column, self._file)) is True

    def datetime_unit(self, column: int) -> str | None:
        """The unit that represents all date-times of a column; None for other columns."""
        if (known := self._known_look(column)) is not None:
            return known if known != INTEGER_COLUMN and known else None
        if self._source.live:
            # the finest unit, so that the result does not depend on how many rows have arrived
            return "ns" if common_time_unit([self._start], column, self._file) else None
        return self._scan(lambda blocks: common_time_unit(blocks, column, self._file))

    def texts(self, columns: Sequence[int]) -> tuple[str, ...] | None:
        """The text of these columns in every row; None if rows differ or cannot be scanned."""
        if not (self._source.regular or self._start.last):
            return None
        return self._scan(lambda blocks: constant_text(blocks, columns, self._file))

    def _first_is_large(self, column: int) -> bool:
        """Return whether the first row has an integer there that float64 would round."""
        texts = lines_of(self._start.data, self._file, self._start.first)
        _, cells = next(records(texts, self._file), (0, []))
        value = parse_integer(cells[column]) if column < len(cells) else None
        return value is not None and abs(value) > EXACT_INTEGERS

    def _known_look(self, column: int) -> str | None:
        return None if self._source.known is None else self._source.known.looks.get(column)

    def _scan(self, inspect: Callable[[Iterable[Lines]], T]) -> T:
        """Inspect all lines before they are read; usually the first ones are enough."""
        if self._start.last or not self._source.regular:
            return inspect([self._start])
        sample = self._start.data[:_SAMPLE_BYTES].rpartition(b"\n")[0]
        first = Lines(sample, self._first_line, 0, False)
        if not (result := inspect([first])):
            return result
        with self._source.again() as again:
            blocks = LineReader(again, self._reader.size, self._file, digested=False).lines()
            head = next(blocks)
            below = head.data.partition(b"\n")[2] if self._source.header else head.data
            rest = Lines(below, self._first_line, head.reached, head.last)
            return inspect(chain([rest], blocks))

    def blocks(self, request: ReadRequest) -> Iterator[TableBlock]:
        """Yield numbers parsed by polars, or cell by cell where the text is unusual."""
        rows = self._begin(request)
        # if everything has been read already, no thread is needed
        start_when = from_item(1) if self._start.last else None
        with closing(prefetch(self._lines, start_when)) as further:
            for lines in chain([self._start], further):
                if self._row_to_line is not None:
                    lines = replace(lines, first=rows + self._row_to_line)
                lines = replace(lines, last=self._ends(lines))
                some = _some(request) and not self._ends_with_last
                if not self._even and (
                    b'"' in lines.data or (some and needs_csv_parser(lines.data))
                ):
                    # quoted cells may contain line ends, so blocks cannot be parsed separately
                    yield from self._quoted(chain([lines], further), lines.first, request, rows)
                    break
                chosen, passed = self._chosen(lines, request, rows)
                rows += passed
                if not chosen.data:
                    continue
                for block in self._in_lines(chosen, request, rows):
                    rows += len(block.values)
                    if not self._source.live:
                        per_row = len(chosen.data) // len(block.values)
                        self._reader.size = max(_SMALLEST_BLOCK, request.rows * per_row)
                    yield block
                if rows == request.stop:
                    break
            else:
                if self._ends_with_last and rows != request.stop:
                    raise self._misplaced(
                        f"row {request.stop} does not end at the byte in the plan"
                    )
            if self._source.known is None:
                # the whole file is hashed, including rows that were not requested
                for _ in further:
                    pass

    def _ends(self, lines: Lines) -> bool:
        """Return whether the file ends after these lines, even if the end was not read yet."""
        return lines.last or (self.size is not None and lines.reached >= self.size)

    def _chosen(self, lines: Lines, request: ReadRequest, rows: int) -> tuple[Lines, int]:
        """The requested lines after `rows` rows, and the number of rows skipped before them."""
        if not _some(request):
            return lines, 0
        stop = None if self._ends_with_last else request.stop
        left = None if stop is None else stop - max(rows, request.first)
        return slice_lines(lines, request.first - rows, left)

    def _begin(self, request: ReadRequest) -> int:
        """Seek to the last known row start before the first requested row; return that row."""
        known = self._source.known
        mark = known and known.mark_before(request.first)
        if not known or not mark or not self._source.regular:
            return 0
        last = known.mark_at(request.stop)
        if mark.byte <= self._start.reached and last is None:
            return 0
        self._ends_with_last = last is not None
        if last and last.line - mark.line == last.row - mark.row:
            self._row_to_line = mark.line - mark.row
        stream = self._source.stream
        for each in (mark, last or mark):
            self._require_line_end(each)
        stream.seek(mark.byte)
        self._reader = LineReader(
            stream,
            _SMALLEST_BLOCK,
            self._file,
            digested=False,
            counted=self._row_to_line is None,
            position=mark.byte,
            limit=last.byte if last else None,
        )
        self._lines = self._reader.lines(mark.line)
        self._start = Lines(b"", mark.line, mark.byte, False)
        return mark.row

    def _require_line_end(self, mark: RowOffset) -> None:
        """Reject a row start that is neither after a line end nor at the end of the file."""
        stream = self._source.stream
        stream.seek(max(mark.byte - 1, 0))
        at_end = mark.byte in (0, self.size)
        if stream.read(1) != b"\n" and not at_end:
            raise self._misplaced(f"row {mark.row + 1} does not start at byte {mark.byte}")

    def _misplaced(self, message: str) -> RobolinError:
        hint = (
            "the file was changed after the plan was made: remove _plan.json and run the "
            "command again"
        )
        return RobolinError(message, where=self._file, hint=hint)

    def _in_lines(self, lines: Lines, request: ReadRequest, rows: int) -> Iterator[TableBlock]:
        large = self._large and (not self._source.live or len(lines.data) > _FEW_LINES)
        width = len(self.names)
        numbers = polars_numbers(lines.data, width, request, even=self._even) if large else None
        if numbers is not None:
            if len(numbers[0]):
                location = locations_in(lines, self._file, rows)
                yield TableBlock(numbers[0], location, lines.reached, numbers[1])
            return
        texts = lines_of(lines.data, self._file, lines.first)
        found_records = list(records(texts, self._file, lines.first))
        cut = lines.last and not lines.data.endswith((b"\n", b"\r"))
        read = self._parsed(found_records, request, cut)
        yield from self._sound(read, request, rows, lines.reached, lines.last)

    def _quoted(
        self, further: Iterable[Lines], first: int, request: ReadRequest, rows: int
    ) -> Iterator[TableBlock]:
        """Parse the rest cell by cell; quoted cells may span lines and blocks."""
        reached, last = 0, False

        def texts() -> Iterator[str]:
            nonlocal reached, last
            for lines in further:
                reached, last = lines.reached, self._ends(lines)
                yield from lines_of(lines.data, self._file, lines.first)

        left = texts()
        parsed = records(left, self._file, first)
        passed = sum(1 for _ in islice(parsed, max(request.first - rows, 0)))
        rows += passed
        while some := list(islice(parsed, self._next_count(request, rows))):
            read = self._parsed(some, request)
            if read.problems:
                last = last and not any(text.strip("\r\n") for text in left)
            yield from self._sound(read, request, rows, reached, last)
            rows += len(some)

    def _parsed(
        self, parsed: Sequence[Record], request: ReadRequest, cut: bool = False
    ) -> CsvTable:
        first = "header" if self._source.header else "first row"
        return records_table(parsed, self.names, request, self._file, cut=cut, first=first)

    def _next_count(self, request: ReadRequest, rows: int) -> int:
        """The number of records to parse next, after `rows` rows."""
        most = 1 if self._source.live else request.rows
        return most if request.stop is None else min(most, request.stop - rows)

    def _sound(
        self, read: CsvTable, request: ReadRequest, rows: int, reached: int, last: bool
    ) -> Iterator[TableBlock]:
        """Yield the rows of a table without problems; for live input those before the first one.

        last: whether the file ends after these rows
        """
        live = self._source.live
        if good := read.good if live or not read.problems else 0:
            integers = {i: values[:good] for i, values in read.integers.items()}
            location = row_locations(read.lines, self._file, rows)
            yield TableBlock(read.values[:good], location, reached, integers)
        if read.problems:
            ends = last or live or rows + len(read.lines) == request.stop
            last_checked = "" if ends else f"line {read.lines[-1]}"
            raise_first(read.problems, self._file, last_checked, request.stop)


def _some(request: ReadRequest) -> bool:
    """Return whether only some of the rows are requested."""
    return request.first > 0 or request.stop is not None


@contextmanager
def open_csv(path: Path) -> Iterator[StoredFile]:
    """Open a CSV file with its provenance in `<path>.meta.json`."""
    # import here: a trajectory has no provenance
    from robolin.io.atomic import folder_lock, is_stream
    from robolin.io.format_table import FORMATS
    from robolin.io.provenance import open_bytes
    from robolin.io.stored import stored_table

    where = str(path)
    with ExitStack() as opened:
        # writers replace both files within this lock, which must not wait for a pipe
        folder = Path(os.path.realpath(path)).parent
        with nullcontext() if is_stream(path) else folder_lock(folder, shared=True):
            stream = opened.enter_context(open_bytes(path))
            meta = _provenance(FORMATS["csv"].companion_path(path))
        # not a regular file, because its size is not needed
        table = csv_table(TableSource(stream, where, where, False))
        yield stored_table(table, meta, where)


def _provenance(companion: Path) -> Meta:
    from robolin.io.provenance import open_bytes, provenance

    try:
        with open_bytes(companion) as text:
            return provenance(text.read(), str(companion), "the provenance")
    except FileError as error:
        message = f"reading the provenance failed: {error.message}"
        hint = f"keep '{companion.name}' next to the CSV file; robolin writes both with -o FILE.csv"
        raise RobolinError(message, where=str(companion), hint=hint) from error
