"""The bytes of a text file or a pipe, in whole lines, digested as they pass."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import BinaryIO

import numpy as np

from robolin.errors import RobolinError

# of results in a table a row of 60 joints has 216 000 numbers in at most 5 MB
LONGEST_LINE = 16 << 20

_READ_AT_ONCE = 1 << 20
_MARK = b"\xef\xbb\xbf"


def count_bytes(data: bytes, byte: bytes) -> int:
    """How often a byte occurs; several times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))


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


def bad_text_apart(blocks: Iterable[Lines]) -> Iterator[Lines]:
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
        start = len(_MARK) if self._position == 0 and piece.startswith(_MARK) else 0
        self._position += len(piece)
        return piece[start:]
