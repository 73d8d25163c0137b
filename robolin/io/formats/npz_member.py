"""One array inside an NPZ archive, read a few rows at a time."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import prod
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from robolin.core.arrays import Floats, Integers
from robolin.core.results.number_kind import unit_of_moments
from robolin.errors import RobolinError

_DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, MemoryError, OSError),
    *(ValueError, LookupError, RuntimeError, ArithmeticError, AttributeError, TypeError),
    *(SyntaxError, TokenError),
)
# of what the compression of ZIP archives makes of zeros
_LARGEST_RATIO = 1032
_HEADERS: dict[tuple[int, int], Any] = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


@dataclass(frozen=True)
class NpzMember:
    """An array that has not been read yet: its type, its shape and where to find it."""

    archive: zipfile.ZipFile
    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    columns_first: bool

    @property
    def rows(self) -> int:
        return self.shape[0]

    @property
    def is_vector(self) -> bool:
        return len(self.shape) == 1

    @property
    def packed(self) -> int:
        """How many bytes it takes in the archive."""
        return self.archive.getinfo(f"{self.name}.npy").compress_size

    def reader(self, opened: ExitStack) -> Callable[[int], Floats]:
        """A function that returns the next so many rows as float64, of shape (rows, columns)."""
        width = 1 if len(self.shape) == 1 else self.shape[1]
        if not self.columns_first or width == 1:
            stream = self._opened(opened)
            return lambda rows: self._next(stream, rows * width).reshape(rows, width)
        # one stream per column, each of them a column further into the array
        streams = [self._opened(opened) for _ in range(width)]
        for i, stream in enumerate(streams):
            _skip(stream, i * self.rows * self.dtype.itemsize)
        return lambda rows: np.column_stack([self._next(stream, rows) for stream in streams])

    @property
    def holds_integers(self) -> bool:
        return self.dtype.kind in "iu"

    @property
    def unit(self) -> str | None:
        """The unit of moments, None if it holds others or none."""
        return unit_of_moments(np.empty(0, self.dtype))

    def integer_reader(self, opened: ExitStack) -> Callable[[int], Integers]:
        """A function that returns the next so many numbers of a vector as int64."""
        stream = self._opened(opened)
        return lambda rows: _as_int64(self._raw(stream, rows))

    def at_once(self) -> npt.NDArray[Any]:
        """The whole array, for what is small."""
        with self.archive.open(f"{self.name}.npy") as stream:
            return np.lib.format.read_array(stream, allow_pickle=False)

    def _opened(self, opened: ExitStack) -> IO[bytes]:
        stream = opened.enter_context(self.archive.open(f"{self.name}.npy"))
        _header(stream)
        return stream

    def _next(self, stream: IO[bytes], count: int) -> Floats:
        return self._raw(stream, count).astype(np.float64, copy=False)

    def _raw(self, stream: IO[bytes], count: int) -> npt.NDArray[Any]:
        return np.frombuffer(stream.read(count * self.dtype.itemsize), self.dtype, count)


def members(archive: zipfile.ZipFile) -> dict[str, NpzMember]:
    """Every array of the archive by name; none of the numbers has been read."""
    found = {}
    for entry in archive.namelist():
        info = archive.getinfo(entry)
        _require_plausible(info)
        # opened whatever its name: one that was damaged is not the name that stands before it
        with archive.open(entry) as stream:
            if not entry.endswith(".npy"):
                continue
            shape, columns_first, dtype = _header(stream)
            size = info.file_size - stream.tell()
        if min(shape, default=0) < 0 or prod(shape) * dtype.itemsize != size:
            raise ValueError("an array has another size than its header says")
        name = entry.removesuffix(".npy")
        found[name] = NpzMember(archive, name, dtype, shape, columns_first)
    return found


def _require_plausible(info: zipfile.ZipInfo) -> None:
    """Refuse what NumPy does not write: another compression, or more than this one can hold."""
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("a compression that NumPy does not use")
    ratio = 1 if info.compress_type == zipfile.ZIP_STORED else _LARGEST_RATIO
    if info.file_size > ratio * info.compress_size + (1 << 16):
        raise ValueError("a member claims to be larger than it can be")


@contextmanager
def archive_errors(file: str) -> Iterator[None]:
    """Whatever goes wrong inside an archive is the archive's fault."""
    try:
        yield
    except RobolinError:
        raise
    except _DAMAGE as error:
        raise RobolinError(
            "not an NPZ archive of plain arrays, or a damaged one",
            where=file,
            hint="write it with numpy.savez(file, q=…, qd=…, joints=[…])",
        ) from error


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    shape, columns_first, dtype = _HEADERS[version](stream)
    if dtype.hasobject:
        raise ValueError("objects are not numbers")
    return shape, columns_first, dtype


def _as_int64(values: npt.NDArray[Any]) -> Integers:
    if values.dtype.kind == "M":
        if np.isnat(values).any():
            raise RobolinError("a moment in 'time' is missing", hint="leave out its row")
        return values.astype(values.dtype.newbyteorder("=")).view(np.int64)
    if values.dtype.kind == "u" and values.max(initial=0) > np.iinfo(np.int64).max:
        raise ValueError("a number beyond those of 64 bits")
    return values.astype(np.int64, copy=False)


def _skip(stream: IO[bytes], size: int) -> None:
    while size > 0:
        size -= len(stream.read(min(size, 1 << 20))) or size
