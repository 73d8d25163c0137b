"""CSV with a header line; every complaint names the line and the column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from typing import TypeVar

from robolin.core.threads import from_item, prefetch
from robolin.errors import RobolinError
from robolin.io.formats.csv_records import (
    EXACT_INTEGERS,
    CsvTable,
    all_integers,
    common_time_unit,
    constant_text,
    header_names,
    lines_of,
    polars_numbers,
    records,
    records_table,
    whole_number,
)
from robolin.io.formats.line_reader import (
    LineReader,
    Lines,
    places_in,
    row_places,
    rows_at_most,
    size_of,
    split_at_invalid_utf8,
)
from robolin.io.formats.row_index import needs_csv_parser, slice_lines
from robolin.io.paths import is_stored
from robolin.io.table_file import (
    WHOLE,
    ReadRequest,
    RowOffset,
    TableBlock,
    TableFile,
    TableSource,
    raise_first,
)

T = TypeVar("T")

# below this many bytes the time to import polars is longer than the time it saves
_LARGE_FILE = 2_000_000
_SMALLEST_BLOCK = 1 << 18
# bytes of what arrives that is read sooner without polars
_FEW_LINES = 1 << 14

# most columns show within so many bytes that they are not whole numbers
_LOOKED_AT = 1 << 14


def csv_table(source: TableSource) -> TableFile:
    """Read the header at once and the numbers on request."""
    known = source.known
    at_first = 1 if source.live else max(_LARGE_FILE, 1)
    if known and any(mark.byte > _LARGE_FILE for mark in known.marks):
        # it is large, and what is wanted of it begins elsewhere
        at_first = _SMALLEST_BLOCK
    reader = LineReader(source.stream, at_first, source.file, digested=not known)
    text = CsvText(reader, source)
    most_rows: Callable[[], int | None] = _unknown
    if source.regular and not is_stored(source.path):
        most_rows = partial(rows_at_most, source.path)
    digest = reader.digest if known is None else lambda: known.digest
    looks = (text.whole, text.moments, text.texts)
    return TableFile(text.names, text.blocks, text.size, most_rows, digest, *looks, chooses=True)


def _unknown() -> None:
    """How many rows a pipe or an object has is not known beforehand."""


class CsvText:
    """Lines of a text, the first of which, read already, names the columns."""

    def __init__(self, reader: LineReader, source: TableSource) -> None:
        file = source.file
        self._reader, self._file, self._source = reader, file, source
        self.size = size_of(source.stream) if source.regular else None
        self._even = source.known is not None and source.known.even
        # rows that are awaited are not lost for what arrives with them
        self._lines = split_at_invalid_utf8(reader.lines()) if source.live else reader.lines()
        start = next(self._lines)
        data = start.data
        head, end, _ = data.partition(b"\n")
        if b"\r" in head.rstrip(b"\r"):
            # lines end as they did on old Macs
            data = data.replace(b"\r", b"\n")
            head, end, _ = data.partition(b"\n")
        self.names = header_names(head, data, file)
        # whether lines end with the last row that is wanted, and how much larger than the number of
        # a row that of its line is, where it is the same for all
        self._ends_with_last = False
        self._row_to_line: int | None = None
        self._large = not start.last or len(data) > _LARGE_FILE
        self._start = Lines(data[len(head) + len(end) :], 2, start.reached, start.last)
        if not source.live:
            reader.size = _SMALLEST_BLOCK
        if source.live or not source.regular:
            self._wait_for_row()

    def _wait_for_row(self) -> None:
        """Have a first row, so that it can be told what its columns look like."""
        while not self._start.last and not self._start.data.strip(b"\r\n"):
            more = next(self._lines)
            data = self._start.data + more.data
            self._start = Lines(data, self._start.first, more.reached, more.last)

    def whole(self, column: int) -> bool:
        """Whether all rows have nothing but whole numbers there; of a pipe those read so far."""
        if (known := self._known_look(column)) is not None:
            return known == WHOLE
        if self._source.live:
            return self._first_is_large(column)
        return self._looked_through(lambda blocks: all_integers(blocks, column, self._file)) is True

    def moments(self, column: int) -> str | None:
        """The unit that holds all moments there, of a pipe those read so far; None without any."""
        if (known := self._known_look(column)) is not None:
            return known if known != WHOLE and known else None
        if self._source.live:
            # whatever is to come, so that it does not matter what has come already
            return "ns" if common_time_unit([self._start], column, self._file) else None
        return self._looked_through(lambda blocks: common_time_unit(blocks, column, self._file))

    def texts(self, columns: Sequence[int]) -> tuple[str, ...] | None:
        """What these columns say in every row; None where rows differ or cannot be looked at."""
        if not (self._source.regular or self._start.last):
            return None
        return self._looked_through(lambda blocks: constant_text(blocks, columns, self._file))

    def _first_is_large(self, column: int) -> bool:
        """Whether the first row has a whole number there that float64 does not hold."""
        texts = lines_of(self._start.data, self._file, self._start.first)
        _, cells = next(records(texts, self._file), (0, []))
        value = whole_number(cells[column]) if column < len(cells) else None
        return value is not None and abs(value) > EXACT_INTEGERS

    def _known_look(self, column: int) -> str | None:
        return None if self._source.known is None else self._source.known.looks.get(column)

    def _looked_through(self, look: Callable[[Iterable[Lines]], T]) -> T:
        """What all lines look like, before they are read; of most, the first ones tell enough."""
        if self._start.last or not self._source.regular:
            return look([self._start])
        first = Lines(self._start.data[:_LOOKED_AT].rpartition(b"\n")[0], 2, 0, False)
        if not (found := look([first])):
            return found
        with self._source.again() as again:
            blocks = LineReader(again, self._reader.size, self._file, digested=False).lines()
            head = next(blocks)
            rest = Lines(head.data.partition(b"\n")[2], 2, head.reached, head.last)
            return look(chain([rest], blocks))

    def blocks(self, request: ReadRequest) -> Iterator[TableBlock]:
        """Numbers by polars as long as nothing is unusual, cell by cell where something is."""
        rows = self._begin(request)
        # where all has been read already, nobody needs to wait for more
        goes_on = from_item(1) if self._start.last else None
        with closing(prefetch(self._lines, goes_on)) as further:
            for lines in chain([self._start], further):
                if self._row_to_line is not None:
                    lines = replace(lines, first=rows + self._row_to_line)
                lines = replace(lines, last=self._ends(lines))
                some = _some(request) and not self._ends_with_last
                if not self._even and (
                    b'"' in lines.data or (some and needs_csv_parser(lines.data))
                ):
                    # what is quoted may contain line ends, so that blocks cannot be told apart
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
                    raise self._misplaced(f"row {request.stop} does not end where it did")
            if self._source.known is None:
                # all of the file is digested, whatever is read of it
                for _ in further:
                    pass

    def _ends(self, lines: Lines) -> bool:
        """Whether nothing lies behind these lines, also if nobody has tried to read it yet."""
        return lines.last or (self.size is not None and lines.reached >= self.size)

    def _chosen(self, lines: Lines, request: ReadRequest, rows: int) -> tuple[Lines, int]:
        """Those behind so many rows that are asked for, and how many before them are not."""
        if not _some(request):
            return lines, 0
        stop = None if self._ends_with_last else request.stop
        left = None if stop is None else stop - max(rows, request.first)
        return slice_lines(lines, request.first - rows, left)

    def _begin(self, request: ReadRequest) -> int:
        """Stand as near before the first row as is known how; which row that is."""
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
        """Reject a mark that is neither behind the end of a line nor at the end of the file."""
        stream = self._source.stream
        stream.seek(max(mark.byte - 1, 0))
        at_end = mark.byte == self.size
        if stream.read(1) != b"\n" and not at_end:
            raise self._misplaced(f"row {mark.row + 1} does not begin at byte {mark.byte}")

    def _misplaced(self, message: str) -> RobolinError:
        hint = "the file was changed after the plan was made: remove _plan.json and run again"
        return RobolinError(message, where=self._file, hint=hint)

    def _in_lines(self, lines: Lines, request: ReadRequest, rows: int) -> Iterator[TableBlock]:
        large = self._large and (not self._source.live or len(lines.data) > _FEW_LINES)
        width = len(self.names)
        found = polars_numbers(lines.data, width, request, even=self._even) if large else None
        if found is not None:
            if len(found[0]):
                place = places_in(lines, self._file, rows)
                yield TableBlock(found[0], place, lines.reached, found[1])
            return
        texts = lines_of(lines.data, self._file, lines.first)
        found_records = list(records(texts, self._file, lines.first))
        cut = lines.last and not lines.data.endswith((b"\n", b"\r"))
        read = records_table(found_records, self.names, request, self._file, cut=cut)
        yield from self._sound(read, request, rows, lines.reached, lines.last)

    def _quoted(
        self, further: Iterable[Lines], first: int, request: ReadRequest, rows: int
    ) -> Iterator[TableBlock]:
        """Everything from here on cell by cell, with quotes that may span lines and blocks."""
        reached, last = 0, False

        def texts() -> Iterator[str]:
            nonlocal reached, last
            for lines in further:
                reached, last = lines.reached, self._ends(lines)
                yield from lines_of(lines.data, self._file, lines.first)

        left = texts()
        found = records(left, self._file, first)
        passed = sum(1 for _ in islice(found, max(request.first - rows, 0)))
        rows += passed
        while some := list(islice(found, self._at_once(request, rows))):
            read = records_table(some, self.names, request, self._file)
            if read.problems:
                last = last and not any(text.strip("\r\n") for text in left)
            yield from self._sound(read, request, rows, reached, last)
            rows += len(some)

    def _at_once(self, request: ReadRequest, rows: int) -> int:
        """How many records to take next, behind so many rows."""
        most = 1 if self._source.live else request.rows
        return most if request.stop is None else min(most, request.stop - rows)

    def _sound(
        self, read: CsvTable, request: ReadRequest, rows: int, reached: int, last: bool
    ) -> Iterator[TableBlock]:
        """The rows of a table without problems; where rows are awaited, those before the first.

        last: whether the file has nothing behind them
        """
        live = self._source.live
        if good := read.good if live or not read.problems else 0:
            whole = {i: values[:good] for i, values in read.whole.items()}
            place = row_places(read.lines, self._file, rows)
            yield TableBlock(read.values[:good], place, reached, whole)
        if read.problems:
            ends = last or live or rows + len(read.lines) == request.stop
            looked_at_to = "" if ends else f"line {read.lines[-1]}"
            raise_first(read.problems, self._file, looked_at_to, request.stop)


def _some(request: ReadRequest) -> bool:
    """Whether some rows only are asked for."""
    return request.first > 0 or request.stop is not None
