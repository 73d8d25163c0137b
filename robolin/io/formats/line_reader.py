"""Read a text table in complete lines, hash its bytes, and translate delimiters to commas."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from robolin.core.records import dataclass
from robolin.errors import RobolinError

# a result row of 60 joints has 216 000 numbers in at most 5 MB
LONGEST_LINE = 16 << 20

# an integer with this number of digits fits into 64 bits unless it begins with 9
_MOST_DIGITS = 19
_READ_AT_ONCE = 1 << 20
_BOM = b"\xef\xbb\xbf"

_TABS = bytes.maketrans(b"\t", b",")
_SPACES = bytes.maketrans(b" ", b",")
# comment marks that some programs write before the column names
_MARKS = (b"# ", b"% ")
# with semicolons between columns, a comma is a decimal point
_SEMICOLONS = bytes.maketrans(b";,", b",.")
# each decimal mark, and the other one
_OTHER = {b",": b".", b".": b","}
# cells with a decimal mark, and those where it may separate thousands: 1.234 or 1.234,5
_CELL = rb"(?<![^;\n])[ ]*([-+]?%s)(?=[ \r]*(?:[;\n]|\Z))"
_MARKED = {m: re.compile(_CELL % (rb"[0-9]*[%s][0-9]*(?:[eE][-+]?[0-9]+)?" % m)) for m in _OTHER}
_THOUSANDS = {
    mark: re.compile(_CELL % (rb"[0-9]{1,3}(?:[%s][0-9]{3})+(?:[%s][0-9]*)?" % (mark, other)))
    for mark, other in _OTHER.items()
}
# a quick test, since many tables have no such number
_THREE_DIGITS = {m: re.compile(rb"[%s][0-9]{3}(?:[;,. \r\n]|\Z)" % m) for m in _OTHER}
_CALLED = {b",": "comma", b".": "point"}
# spaces that align columns: several between two cells, or at the ends of a line
_ALIGNED = re.compile(rb"  |^ | (?=\r?$)", re.MULTILINE)
_SEVERAL_SPACES, _OUTER_SPACES = re.compile(rb" +"), re.compile(rb"^ +| +(?=\r?$)", re.MULTILINE)

Bytes = npt.NDArray[np.uint8]


def count_bytes(data: bytes, byte: bytes) -> int:
    """Count a byte; several times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))


def size_of(stream: BinaryIO) -> int:
    """Size of a file in bytes; the stream position is kept."""
    at = stream.tell()
    try:
        return stream.seek(0, os.SEEK_END)
    finally:
        stream.seek(at)


def rows_at_most(path: str, header: bool = True) -> int:
    """Number of lines below the header, if any: an upper bound of the number of rows."""
    ends, last = 0, b""
    with open(path, "rb", buffering=0) as stream:
        while piece := stream.read(_READ_AT_ONCE):
            ends += count_bytes(piece, b"\n")
            if b"\r" in piece:
                ends += piece.count(b"\r") - piece.count(b"\r\n")
            last = piece[-1:]
    lines = ends + (last not in b"\r\n")
    return lines - 1 if header else lines


def begin_with_integers(data: bytes) -> bool:
    """Return whether every line begins with digits and a comma; False if that is uncertain."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    begins = np.concatenate([[0], ends + 1])
    begins = begins[begins < len(text)]
    # skip empty lines
    begins = begins[~np.isin(text[begins], list(b"\r\n"))]
    signed = np.isin(text[begins], list(b"+-"))
    return _digits_then_comma(text, begins + signed)


def _digits_then_comma(text: Bytes, begins: npt.NDArray[np.int64]) -> bool:
    last = len(text) - 1
    # an integer with the maximum number of digits may be too large if it begins with 9
    largest = (text[np.minimum(begins, last)] == ord("9")).any()
    most = _MOST_DIGITS - 1 if largest else _MOST_DIGITS
    for position in range(most + 1):
        byte = text[np.minimum(begins + position, last)]
        ended = byte == ord(",")
        if (ended.any() and not position) or not (ended | _is_digit(byte)).all():
            return False
        begins = begins[~ended]
        if not len(begins):
            return True
    return False


def _is_digit(letters: Bytes) -> npt.NDArray[np.bool_]:
    return (letters >= ord("0")) & (letters <= ord("9"))


@dataclass(frozen=True)
class Lines:
    """Some complete lines of a text; only the very last line may lack its line end.

    first:   the number of the first line
    reached: byte offset at the end of these lines, in the text or in the file it is made from
    last:    whether these are the last lines
    """

    data: bytes
    first: int
    reached: int
    last: bool


def row_locations(lines: Sequence[int], file: str, rows: int) -> Callable[[int], str]:
    """Locations of rows by their line numbers, after `rows` other rows."""
    return lambda row: f"{file}:{lines[row]}, row {rows + row + 1}"


def locations_in(lines: Lines, file: str, rows: int) -> Callable[[int], str]:
    """Locations of the rows of a block; line numbers are only counted when needed."""

    def location(row: int) -> str:
        texts = lines.data.split(b"\n")
        filled = [lines.first + i for i, text in enumerate(texts) if text.strip(b"\r")]
        return row_locations(filled, file, rows)(row)

    return location


def split_at_invalid_utf8(blocks: Iterable[Lines]) -> Iterator[Lines]:
    """Split lines before the first line that is not valid UTF-8."""
    for lines in blocks:
        rest = lines
        try:
            lines.data.decode()
        except UnicodeDecodeError as error:
            if cut := lines.data.rfind(b"\n", 0, error.start) + 1:
                front, behind = lines.data[:cut], lines.data[cut:]
                yield Lines(front, lines.first, lines.reached - len(behind), False)
                rest = replace(lines, data=behind, first=lines.first + front.count(b"\n"))
        yield rest


class LineReader:
    """A stream that is read once, from front to back.

    size:     approximate number of bytes per read; may be changed while reading
    file:     its name in messages
    digested: whether to compute the SHA-256
    counted:  whether to count lines; otherwise the caller assigns line numbers
    position: byte offset of the stream in the text
    limit:    byte offset to stop at, the end of a line
    reached:  position in the file, if the stream is a translation of it
    """

    _SMALLEST_READ = 1 << 16

    def __init__(
        self,
        stream: BinaryIO,
        size: int,
        file: str = "",
        *,
        digested: bool = True,
        counted: bool = True,
        position: int = 0,
        limit: int | None = None,
        reached: Callable[[], int] | None = None,
    ) -> None:
        self._stream, self._file = stream, file
        self._digested, self._counted = digested, counted
        self._digest = hashlib.sha256()
        self._position, self._limit = position, limit
        self._reached = reached
        self.size = size

    def lines(self, first: int = 1) -> Iterator[Lines]:
        """Yield all lines of the text in blocks; `first` is the number of the first line."""
        rest, last = b"", False
        while not last:
            held, length, since = [rest], len(rest), len(rest)
            while True:
                piece = self._read(max(self.size - length, self._SMALLEST_READ))
                last = not piece
                cut = piece.rfind(b"\n") + 1
                if last or (cut and length + len(piece) >= self.size):
                    break
                held.append(piece)
                length += len(piece)
                since = len(piece) - cut if cut else since + len(piece)
                self._require_short(since, first)
            rest = piece[cut:]
            data = b"".join([*held, memoryview(piece)[:cut]])
            reached = self._reached() if self._reached else self._position - len(rest)
            yield Lines(data, first, reached, last)
            if self._counted:
                first += count_bytes(data, b"\n")

    def _require_short(self, length: int, first: int) -> None:
        if length > LONGEST_LINE:
            message = f"a line at or after line {first} is longer than {LONGEST_LINE >> 20} MiB"
            hint = "check that the file is text with one line per row"
            raise RobolinError(message, where=self._file, hint=hint)

    def digest(self) -> str:
        """SHA-256 of the bytes read so far."""
        return self._digest.hexdigest()

    def _read(self, size: int) -> bytes:
        if self._limit is not None:
            size = min(size, self._limit - self._position)
        piece = self._stream.read(size)
        if self._digested:
            self._digest.update(piece)
        # skip a byte order mark
        start = len(_BOM) if self._position == 0 and piece.startswith(_BOM) else 0
        self._position += len(piece)
        return piece[start:]


class ThousandsSeparatorCheck:
    """Rejects possible thousands separators if other numbers use the other decimal mark."""

    def __init__(self, file: str, line: int = 2) -> None:
        self._file, self._line, self._rest = file, line, b""
        self._seen: set[bytes] = set()
        # the first ambiguous number of each mark, and its line
        self._doubtful: dict[bytes, tuple[bytes, int]] = {}

    def look(self, data: bytes) -> None:
        """Check the cells in some bytes; an incomplete cell waits for its end."""
        text = self._rest + data
        end = max(text.rfind(b";"), text.rfind(b"\n")) + 1 if data else len(text)
        text, self._rest = text[:end], text[end:]
        for mark in _OTHER:
            if mark in text:
                self._look_for(mark, text)
        self._line += text.count(b"\n")
        for mark, (number, line) in self._doubtful.items():
            other = _OTHER[mark]
            if other in self._seen or other in number:
                digits = number.decode("ascii")
                doubt = f"the {_CALLED[mark]} in '{digits}' may be a thousands separator"
                message = f"{doubt}, because other numbers have a decimal {_CALLED[other]}"
                hint = "write numbers without thousands separators and with one decimal mark"
                raise RobolinError(message, where=f"{self._file}:{line}", hint=hint)

    def _look_for(self, mark: bytes, text: bytes) -> None:
        if mark not in self._seen and _MARKED[mark].search(text):
            self._seen.add(mark)
        if mark in self._doubtful or not _THREE_DIGITS[mark].search(text):
            return
        if match := _THOUSANDS[mark].search(text):
            line = self._line + text.count(b"\n", 0, match.start(1))
            self._doubtful[mark] = match[1], line


class DelimiterTranslator:
    """Translates a table delimited by tabs, semicolons or spaces to CSV.

    If the first line has spaces only, a tab in another line is a space.

    header: whether the first line contains the column names; without them, a comma in a line with
        semicolons is a decimal mark
    """

    translates: bool

    def __init__(self, stream: BinaryIO, file: str, header: bool = True) -> None:
        self._stream, self._file, self._header = stream, file, header
        self._head = stream.readline(LONGEST_LINE)
        self._table: bytes | None = None
        self._marks = ThousandsSeparatorCheck(file, 2 if header else 1)
        # a line whose end was not read yet
        self._line = b""
        if b";" in self._head and not (header and b"," in self._head):
            self._table = _SEMICOLONS
        elif b"," not in self._head and b"\t" in self._head:
            self._table = _TABS
        elif b"," not in self._head and b" " in self._named().strip():
            self._table, self._head = _SPACES, self._named()
        self.translates = self._table is not None

    def _named(self) -> bytes:
        """The first line without a comment mark."""
        return self._head[2:] if self._head.startswith(_MARKS) else self._head

    def read(self, size: int = -1) -> bytes:
        """Read some bytes; the first call returns the first line."""
        first = bool(self._head)
        data = self._head if first else self._stream.read(size)
        self._head = b""
        if self._table is None:
            return data
        if self._table is _SEMICOLONS and not (first and self._header):
            self._marks.look(data)
        if b'"' in data or (self._table is not _SEMICOLONS and b"," in data):
            what = "quotes" if b'"' in data else "commas"
            hint = "separate columns with commas; write numbers with a decimal point"
            message = f"{what} are supported only in a table with commas as separators"
            raise RobolinError(message, where=self._file, hint=hint)
        if self._table is _SPACES:
            data = self._single_spaces(data, size)
        return data.translate(self._table)

    def _single_spaces(self, data: bytes, size: int) -> bytes:
        """Complete lines with one space between columns and none at their ends."""
        data = self._line + data
        while (cut := data.rfind(b"\n") + 1) == 0 and (more := self._stream.read(size)):
            data += more
            if len(data) > LONGEST_LINE:
                break
        cut = cut or len(data)
        data, self._line = data[:cut].replace(b"\t", b" "), data[cut:]
        if not _ALIGNED.search(data):
            return data
        return _OUTER_SPACES.sub(b"", _SEVERAL_SPACES.sub(b" ", data))
