"""Count the rows of a text, and index the byte offsets where parts begin."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from robolin.core.records import dataclass
from robolin.core.threads import cores, prefetch
from robolin.engine.csv_scanner import NOTHING_YET, scan_bytes
from robolin.io.formats.csv_records import lines_of, records
from robolin.io.formats.line_reader import LineReader, Lines, count_bytes
from robolin.io.table_file import RowOffset

_AT_ONCE = 1 << 22
# pieces that stay in the processor's caches while they are hashed and scanned
_PLAINLY_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class RowIndex:
    """The hash of a text, its number of rows, and offsets of some rows.

    rows:  None if rows were not counted
    marks: the last one, for a plain text, is the end of the text
    even:  whether all lines have as many cells as the first, in ASCII and without quotes
    """

    digest: str
    rows: int | None
    marks: tuple[RowOffset, ...] = ()
    even: bool = False


def index_plain_text(
    stream: BinaryIO, every: int | None, first: int, header: bool = True
) -> RowIndex | None:
    """Index a text with one line per row; None for one with quotes, returns or blank lines.

    every:  rows from one mark to the next; the first mark is at row `first`
    header: whether the first line contains the column names
    """
    digest = hashlib.sha256()
    with closing(prefetch(_digested(stream, digest), _worth_a_thread)) as pieces:
        counted = _counted(pieces, every, first, 1 if header else 0)
    return counted and replace(counted, digest=digest.hexdigest())


def _digested(stream: BinaryIO, digest: hashlib._Hash) -> Iterator[bytes]:
    """Yield all bytes in pieces, and hash each piece."""
    while piece := stream.read(_PLAINLY_AT_ONCE):
        digest.update(piece)
        yield piece


def _worth_a_thread(piece: bytes) -> bool:
    """Return whether there is more to read, and a second core to read it in parallel."""
    return len(piece) == _PLAINLY_AT_ONCE and cores() > 1


def _counted(pieces: Iterable[bytes], every: int | None, first: int, heads: int) -> RowIndex | None:
    """The result of `index_plain_text` without the hash; `heads` lines are above the rows."""
    marks: list[RowOffset] = []
    look, even, commas = NOTHING_YET, True, 0
    # lines that have ended so far, and bytes read so far
    ended, reached, following = 0, 0, first
    if every is not None and first + heads == 0:
        marks.append(RowOffset(0, 1, 0))
        following = every
    for piece in pieces:
        if every is not None:
            commas = commas if reached else piece.partition(b"\n")[0].count(b",")
            look = scan_bytes(piece, commas, look)
            if look.quotes or look.returns or look.blank_lines:
                return None
            # row r begins after the end of line r + heads, counted from 1
            if following + heads <= ended + look.ends:
                ends = reached + np.flatnonzero(np.frombuffer(piece, np.uint8) == ord("\n"))
                for row in range(following, ended + look.ends + 1 - heads, every):
                    line = row + heads
                    marks.append(RowOffset(row, line + 1, int(ends[line - 1 - ended]) + 1))
                    following = row + every
            ended, even = ended + look.ends, even and look.even and look.ascii
        reached += len(piece)
    if every is None:
        return RowIndex("", None)
    rows = max(0, ended - look.at_end + 1 - heads) if reached else 0
    inside = [mark for mark in marks if mark.row < rows]
    even = even and (look.at_end or look.commas == commas)
    return RowIndex("", rows, (*inside, RowOffset(rows, rows + heads + 1, reached)), even)


def counted_by_lines(
    stream: BinaryIO, every: int | None, first: int, file: str, header: bool = True
) -> RowIndex:
    """Index any text, line by line."""
    reader = LineReader(stream, _AT_ONCE, file)
    if every is None:
        for _ in reader.lines():
            pass
        return RowIndex(reader.digest(), None)
    counting = _Counting(every, first)
    counting.count(reader.lines(), file, header)
    return RowIndex(reader.digest(), counting.rows, tuple(counting.marks))


class _Counting:
    """Counts rows and records the offsets where parts begin."""

    def __init__(self, every: int, first: int) -> None:
        self._every, self._next = every, first
        self.rows = 0
        self.marks: list[RowOffset] = []

    def count(self, blocks: Iterator[Lines], file: str, header: bool) -> None:
        """Count all rows below the header, if any."""
        for lines in _rows_of(blocks, header):
            if needs_csv_parser(lines.data):
                # row ends depend on the cells, so offsets cannot be used
                self.marks.clear()
                rest = chain([lines], blocks)
                texts = chain.from_iterable(lines_of(each.data, file, each.first) for each in rest)
                self.rows += sum(1 for _ in records(texts, file, lines.first))
                return
            self._add(lines)

    def _add(self, lines: Lines) -> None:
        data = lines.data
        blanks = b"\n\n" in data or b"\r" in data or data[:1] == b"\n"
        rows = -1
        if not blanks:
            rows = count_bytes(data, b"\n") + (data[-1:] not in (b"", b"\n"))
        if blanks or self._next < self.rows + rows:
            begins = row_offsets(data)
            rows = len(begins)
            while self._next < self.rows + rows:
                offset = int(begins[self._next - self.rows])
                line = lines.first + data.count(b"\n", 0, offset)
                byte = lines.reached - len(data) + offset
                self.marks.append(RowOffset(self._next, line, byte))
                self._next += self._every
        self.rows += rows


def _rows_of(blocks: Iterable[Lines], header: bool) -> Iterator[Lines]:
    rest = iter(blocks)
    start = next(rest)
    data = start.data
    if b"\r" in data.partition(b"\n")[0].rstrip(b"\r"):
        # line ends of old Macs
        data = data.replace(b"\r", b"\n")
    below = Lines(data, 1, start.reached, start.last)
    yield replace(below, data=data.partition(b"\n")[2], first=2) if header else below
    yield from rest


def needs_csv_parser(data: bytes) -> bool:
    """Return whether row ends depend on the cells: quotes, or returns without line feeds."""
    return b'"' in data or (b"\r" in data and data.count(b"\r") != data.count(b"\r\n"))


def row_offsets(data: bytes) -> npt.NDArray[np.int64]:
    """Byte offsets of the rows in a text; blank lines are skipped."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    begins: npt.NDArray[np.int64] = np.concatenate([[0], ends + 1]).astype(np.int64)
    begins = begins[begins < len(text)]
    if b"\r" not in data:
        filled: npt.NDArray[np.bool_] = text[begins] != ord("\n")
        return begins[filled]
    behind = text[np.minimum(begins + 1, len(text) - 1)]
    blank: npt.NDArray[np.bool_] = (text[begins] == ord("\n")) | (
        (text[begins] == ord("\r")) & (behind == ord("\n"))
    )
    # a return at the end of the text ends a blank line
    blank |= (text[begins] == ord("\r")) & (begins == len(text) - 1)
    return begins[~blank]


def slice_lines(lines: Lines, skip: int, keep: int | None) -> tuple[Lines, int]:
    """Skip some rows and keep at most `keep`; return the lines and the number of skipped rows."""
    if skip <= 0 and keep is None:
        return lines, 0
    begins = row_offsets(lines.data)
    skip = min(max(skip, 0), len(begins))
    if skip == len(begins):
        return replace(lines, data=b""), skip
    start = int(begins[skip])
    stop = len(lines.data)
    if keep is not None and skip + keep < len(begins):
        stop = int(begins[skip + keep])
    first = lines.first + lines.data.count(b"\n", 0, start)
    return replace(lines, data=lines.data[start:stop], first=first), skip
