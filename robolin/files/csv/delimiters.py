"""Tables whose columns are separated by tabs, semicolons or single spaces, as CSV."""

from __future__ import annotations

from typing import BinaryIO

from robolin.errors import RobolinError

_TABS = bytes.maketrans(b"\t", b",")
_SPACES = bytes.maketrans(b" ", b",")
# what some programs put before the names of columns
_MARKS = (b"# ", b"% ")
# with semicolons between columns, a comma is a decimal point
_SEMICOLONS = bytes.maketrans(b";,", b",.")
_LONGEST_HEADER = 16 << 20


class WithCommas:
    """A stream of CSV, made of one whose first line shows another separator."""

    def __init__(self, stream: BinaryIO, file: str) -> None:
        self._stream, self._file = stream, file
        self._head = stream.readline(_LONGEST_HEADER)
        self._table: bytes | None = None
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
        data = self._head if self._head else self._stream.read(size)
        self._head = b""
        if self._table is None:
            return data
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
