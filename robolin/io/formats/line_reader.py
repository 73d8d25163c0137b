"""The bytes of a table in text: in whole lines, digested as they pass, separated by commas."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from robolin.errors import RobolinError

# of results in a table a row of 60 joints has 216 000 numbers in at most 5 MB
LONGEST_LINE = 16 << 20

# a number of so many digits fits into 64 bits, if the first of them is no 9
_MOST_DIGITS = 19
_READ_AT_ONCE = 1 << 20
_BOM = b"\xef\xbb\xbf"

_TABS = bytes.maketrans(b"\t", b",")
_SPACES = bytes.maketrans(b" ", b",")
# what some programs put before the names of columns
_MARKS = (b"# ", b"% ")
# with semicolons between columns, a comma is a decimal point
_SEMICOLONS = bytes.maketrans(b";,", b",.")
# either mark in a number, and the other one
_OTHER = {b",": b".", b".": b","}
# cells whose number has a mark, and those where it may be between thousands: 1.234 or 1.234,5
_CELL = rb"(?<![^;\n])[ ]*([-+]?%s)(?=[ \r]*(?:[;\n]|\Z))"
_MARKED = {m: re.compile(_CELL % (rb"[0-9]*[%s][0-9]*(?:[eE][-+]?[0-9]+)?" % m)) for m in _OTHER}
_THOUSANDS = {
    mark: re.compile(_CELL % (rb"[0-9]{1,3}(?:[%s][0-9]{3})+(?:[%s][0-9]*)?" % (mark, other)))
    for mark, other in _OTHER.items()
}
# what is quickly looked for, since many tables have no such number
_THREE_DIGITS = {m: re.compile(rb"[%s][0-9]{3}(?:[;,. \r\n]|\Z)" % m) for m in _OTHER}
_CALLED = {b",": "comma", b".": "point"}

Bytes = npt.NDArray[np.uint8]


def count_bytes(data: bytes, byte: bytes) -> int:
    """How often a byte occurs; several times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))


def size_of(stream: BinaryIO) -> int:
    """How many bytes a file has; the stream stays where it is."""
    at = stream.tell()
    try:
        return stream.seek(0, os.SEEK_END)
    finally:
        stream.seek(at)


def rows_at_most(path: str) -> int:
    """The number of lines below the header: each row ends one."""
    ends, last = 0, b""
    with open(path, "rb", buffering=0) as stream:
        while piece := stream.read(_READ_AT_ONCE):
            ends += count_bytes(piece, b"\n")
            if b"\r" in piece:
                ends += piece.count(b"\r") - piece.count(b"\r\n")
            last = piece[-1:]
    return ends if last not in b"\r\n" else ends - 1


def begin_with_whole_numbers(data: bytes) -> bool:
    """Whether every line begins with digits and a comma; False if it takes a closer look."""
    text = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(text == ord("\n"))
    begins = np.concatenate([[0], ends + 1])
    begins = begins[begins < len(text)]
    # a line that is empty is no row
    begins = begins[~np.isin(text[begins], list(b"\r\n"))]
    signed = np.isin(text[begins], list(b"+-"))
    return _digits_then_comma(text, begins + signed)


def _digits_then_comma(text: Bytes, begins: npt.NDArray[np.int64]) -> bool:
    last = len(text) - 1
    # one of so many digits may be too large if the first is a 9
    largest = (text[np.minimum(begins, last)] == ord("9")).any()
    most = _MOST_DIGITS - 1 if largest else _MOST_DIGITS
    for place in range(most + 1):
        found = text[np.minimum(begins + place, last)]
        ended = found == ord(",")
        if (ended.any() and not place) or not (ended | _is_digit(found)).all():
            return False
        begins = begins[~ended]
        if not len(begins):
            return True
    return False


def _is_digit(letters: Bytes) -> npt.NDArray[np.bool_]:
    return (letters >= ord("0")) & (letters <= ord("9"))


@dataclass(frozen=True)
class Lines:
    """Some whole lines of a text; only the very last one may lack its end.

    first:   the number of the first line
    reached: how many bytes of the text there are up to the end of these lines
    last:    whether there are no more lines
    """

    data: bytes
    first: int
    reached: int
    last: bool


def row_places(lines: Sequence[int], file: str, rows: int) -> Callable[[int], str]:
    """Places of rows behind so many others, by the lines they stand in."""
    return lambda row: f"{file}:{lines[row]}, row {rows + row + 1}"


def places_in(lines: Lines, file: str, rows: int) -> Callable[[int], str]:
    """Places of the rows of a block, found out only if somebody asks."""

    def place(row: int) -> str:
        texts = lines.data.split(b"\n")
        filled = [lines.first + i for i, text in enumerate(texts) if text.strip(b"\r")]
        return row_places(filled, file, rows)(row)

    return place


def split_at_invalid_utf8(blocks: Iterable[Lines]) -> Iterator[Lines]:
    """The same lines, with those that are UTF-8 apart from the first one that is not."""
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

    size:     about how many bytes to read at once; may be changed on the way
    file:     what to call it in messages
    digested: whether anybody will ask for the digest
    counted:  whether lines have to be counted: whoever knows better gives them their numbers
    position: where in the text the stream stands
    limit:    where in the text to stop, at the end of a line
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
    ) -> None:
        self._stream, self._file = stream, file
        self._digested, self._counted = digested, counted
        self._digest = hashlib.sha256()
        self._position, self._limit = position, limit
        self.size = size

    def lines(self, first: int = 1) -> Iterator[Lines]:
        """All lines of the text from the one of this number on, some at a time."""
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
            yield Lines(data, first, self._position - len(rest), last)
            if self._counted:
                first += count_bytes(data, b"\n")

    def _require_short(self, length: int, first: int) -> None:
        if length > LONGEST_LINE:
            message = f"a line at or below line {first} is longer than {LONGEST_LINE >> 20} MiB"
            hint = "a table has one line per row; is this a text file?"
            raise RobolinError(message, where=self._file, hint=hint)

    def digest(self) -> str:
        """SHA-256 of what has been read."""
        return self._digest.hexdigest()

    def _read(self, size: int) -> bytes:
        if self._limit is not None:
            size = min(size, self._limit - self._position)
        piece = self._stream.read(size)
        if self._digested:
            self._digest.update(piece)
        # a byte order mark is no part of the first name
        start = len(_BOM) if self._position == 0 and piece.startswith(_BOM) else 0
        self._position += len(piece)
        return piece[start:]


class ThousandsSeparatorCheck:
    """Refuses marks that may be between thousands, where other numbers have the other mark."""

    def __init__(self, file: str) -> None:
        self._file, self._line, self._rest = file, 2, b""
        self._seen: set[bytes] = set()
        # the first number whose mark is in doubt, and its line
        self._doubtful: dict[bytes, tuple[bytes, int]] = {}

    def look(self, data: bytes) -> None:
        """Go on with the cells of some bytes; one that is cut in two waits for its end."""
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
                doubt = f"'{number.decode('ascii')}' may have a {_CALLED[mark]} between thousands"
                message = f"{doubt}: there are decimal {_CALLED[other]}s"
                hint = "write numbers without marks between thousands, and with one decimal mark"
                raise RobolinError(message, where=f"{self._file}:{line}", hint=hint)

    def _look_for(self, mark: bytes, text: bytes) -> None:
        if mark not in self._seen and _MARKED[mark].search(text):
            self._seen.add(mark)
        if mark in self._doubtful or not _THREE_DIGITS[mark].search(text):
            return
        if found := _THOUSANDS[mark].search(text):
            line = self._line + text.count(b"\n", 0, found.start(1))
            self._doubtful[mark] = found[1], line


class DelimiterTranslator:
    """A stream of CSV, made of one whose first line shows tabs, semicolons or single spaces."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._stream, self._file = stream, file
        self._head = stream.readline(LONGEST_LINE)
        self._table: bytes | None = None
        self._marks = ThousandsSeparatorCheck(file)
        if b"," not in self._head and b";" in self._head:
            self._table = _SEMICOLONS
        elif b"," not in self._head and b"\t" in self._head:
            self._table = _TABS
        elif b"," not in self._head and b" " in self._named().strip():
            self._table, self._head = _SPACES, self._named()
        self.translates = self._table is not None

    def _named(self) -> bytes:
        """The first line without the mark before it."""
        return self._head[2:] if self._head.startswith(_MARKS) else self._head

    def read(self, size: int = -1) -> bytes:
        """Some bytes, the first line before all others."""
        header = bool(self._head)
        data = self._head if header else self._stream.read(size)
        self._head = b""
        if self._table is None:
            return data
        if self._table is _SEMICOLONS and not header:
            self._marks.look(data)
        if b'"' in data or (self._table is not _SEMICOLONS and b"," in data):
            what = "quotes" if b'"' in data else "commas"
            hint = "separate columns with commas, and write numbers with a decimal point"
            message = f"there are {what} in a table that is not separated by commas"
            raise RobolinError(message, where=self._file, hint=hint)
        if self._table is _SPACES and b"  " in data:
            hint = "one space between columns, or commas"
            message = "there are several spaces between columns"
            raise RobolinError(message, where=self._file, hint=hint)
        return data.translate(self._table)
