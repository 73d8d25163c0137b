"""Files that were made smaller: their bytes as they were before."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import PurePath
from typing import Any, BinaryIO, cast

from robolin.errors import FileError, RobolinError

_BUFFER = 1 << 20


def uncompressed_name(path: str) -> str:
    """The path without the ending that says how it was compressed."""
    return path[: -len(ending)] if (ending := compression(path)) else path


def compression(path: str) -> str:
    """'.gz' or '.zst' if the path ends so, else ''."""
    suffix = PurePath(path).suffix.lower()
    return suffix if suffix in _OPENERS else ""


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
    return zstandard.open(path, "rb")


_OPENERS: dict[str, Callable[[str | BinaryIO], Any]] = {".gz": _gzip, ".zst": _zstandard}
