"""Tables whose columns are separated by tabs, semicolons or single spaces, as CSV."""

from __future__ import annotations

import re
from typing import BinaryIO

from robolin.errors import RobolinError

_TABS = bytes.maketrans(b"\t", b",")
_SPACES = bytes.maketrans(b" ", b",")
# what some programs put before the names of columns
_MARKS = (b"# ", b"% ")
# with semicolons between columns, a comma is a decimal point
_SEMICOLONS = bytes.maketrans(b";,", b",.")
_LONGEST_HEADER = 16 << 20
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


class DoubtfulMarks:
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


class WithCommas:
    """A stream of CSV, made of one whose first line shows another separator."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._stream, self._file = stream, file
        self._head = stream.readline(_LONGEST_HEADER)
        self._table: bytes | None = None
        self._marks = DoubtfulMarks(file)
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
