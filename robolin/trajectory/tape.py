"""The bytes of a text file or a pipe, in whole lines, digested as they pass."""

from __future__ import annotations

import hashlib
from typing import BinaryIO

import numpy as np

_MARK = b"\xef\xbb\xbf"


def count(data: bytes, byte: bytes) -> int:
    """How often a byte occurs; several times as fast as `bytes.count`."""
    return int(np.count_nonzero(np.frombuffer(data, np.uint8) == ord(byte)))


class Tape:
    """A stream read once from front to back; `position` counts bytes, `line` whole lines."""

    _SMALLEST_READ = 1 << 16

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._digest = hashlib.sha256()
        self._rest = b""
        self.position = 0
        self.line = 0
        self.at_end = False

    def block(self, size: int) -> bytes:
        """Whole lines, about `size` bytes of them; nothing once all has been read.

        The last line of the file may lack its end.
        """
        held = [self._rest]
        length = len(self._rest)
        self._rest = b""
        while True:
            piece = self._read(max(size - length, self._SMALLEST_READ))
            cut = piece.rfind(b"\n") + 1
            if self.at_end or (cut and length + len(piece) >= size):
                break
            held.append(piece)
            length += len(piece)
        self._rest = piece[cut:]
        data = b"".join([*held, memoryview(piece)[:cut]])
        self.line += count(data, b"\n")
        return data

    def digest(self) -> str:
        """SHA-256 of what has been read."""
        return self._digest.hexdigest()

    def _read(self, size: int) -> bytes:
        piece = self._stream.read(size)
        if not piece:
            self.at_end = True
            return b""
        self._digest.update(piece)
        # a byte order mark is no part of the first name
        start = len(_MARK) if self.position == 0 and piece.startswith(_MARK) else 0
        self.position += len(piece)
        return piece[start:]
