"""Files that were made smaller: their bytes as they were before."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, BinaryIO, cast

from robolin.errors import FileError, RobolinError
from robolin.io.paths import PACKED, compression

_PACKED_AT_ONCE = 1 << 10


@contextmanager
def opened_compressed(path: str, stored: BinaryIO | None = None) -> Iterator[BinaryIO]:
    """The bytes of a compressed file as a stream; damage is an error that says so.

    stored: the file, open already, where it does not lie on a disk
    """
    with _OPENERS[compression(path)](stored or path) as stream:
        yield cast(BinaryIO, _Checked(stream, path))


class _Checked(io.RawIOBase):
    """A stream whose damage is told as what it is."""

    def __init__(self, stream: Any, path: str) -> None:
        self._stream, self._path = stream, path

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            data: bytes = self._stream.read(size)
        except (EOFError, ValueError, OSError) as error:
            hint = "the file is cut off or damaged"
            message = f"could not be unpacked: {error}"
            raise FileError(message, where=self._path, hint=hint) from error
        except Exception as error:
            if type(error).__name__ not in ("error", "ZstdError"):
                raise
            message, hint = f"could not be unpacked: {error}", "the file is damaged"
            raise FileError(message, where=self._path, hint=hint) from error
        return data


def _gzip(path: str | BinaryIO) -> Any:
    import gzip

    return gzip.open(path, "rb")


def _zstandard(path: str | BinaryIO) -> Any:
    try:
        zstandard: Any = import_module("zstandard")
    except ImportError:
        hint = "pip install 'robolin[recordings]', or unpack it first: unzstd FILE"
        raise RobolinError("needs the package zstandard", where=str(path), hint=hint) from None
    return _Zstandard(path, zstandard.ZstdDecompressor().decompressobj)


class _Zstandard(io.RawIOBase):
    """Frames unpacked one after the other; zstandard's own reader takes a cut for the end."""

    def __init__(self, path: str | BinaryIO, frame: Callable[[], Any]) -> None:
        self._file = io.FileIO(path) if isinstance(path, str) else path
        self._frame, self._current = frame, None
        self._packed, self._ready = b"", bytearray()

    def read(self, size: int = -1) -> bytes:
        while (size < 0 or len(self._ready) < size) and self._unpack():
            pass
        size = len(self._ready) if size < 0 else size
        data = bytes(self._ready[:size])
        del self._ready[:size]
        return data

    def _unpack(self) -> bool:
        """Have a little more ready; False at the end of the file."""
        # little at a time, because it may stand for much
        packed = self._packed or self._file.read(_PACKED_AT_ONCE)
        if not packed and self._current is not None:
            raise EOFError("it ends in the middle")
        if not packed:
            return False
        current = self._current or self._frame()
        self._ready += current.decompress(packed)
        self._packed = current.unused_data if current.eof else b""
        self._current = None if current.eof else current
        return True

    def close(self) -> None:
        self._file.close()
        super().close()


_OPENERS: dict[str, Callable[[str | BinaryIO], Any]] = dict(
    zip(PACKED, (_gzip, _zstandard), strict=True)
)
