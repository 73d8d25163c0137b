"""Read recordings in MAT-files of level 5 (MATLAB 5 to 7.2, Octave, SciPy).

    file     = 128 bytes of header, elements
    element  = type (4 bytes), size (4 bytes), data, padding to 8 bytes
    matrix   = flags, dimensions, name, then numbers or, for a struct, a matrix per field

Compressed variables are unpacked into a temporary file when they are first read, so memory use
does not depend on the length of a recording.  Files of version 7.3 are HDF5 files.
"""

from __future__ import annotations

import mmap
import struct
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from robolin.core.records import dataclass
from robolin.errors import RobolinError
from robolin.io.formats.array_table import StoredArray, arrays_table, with_rows
from robolin.io.table_file import TableFile, digest_of, reject_decompression_bomb

_HEADER, _TAG = 128, 8
_MATRIX, _COMPRESSED = 14, 15
_STRUCT, _FIRST_NUMERIC, _LAST_NUMERIC = 2, 6, 15
_COMPLEX = 0x0800
_KINDS = dict(
    zip(
        (1, 2, 3, 4, 5, 6, 7, 9, 12, 13),
        ("i1", "u1", "i2", "u2", "i4", "u4", "f4", "f8", "i8", "u8"),
        strict=True,
    )
)
# classes of numbers: double, single, and the integers
_CLASSES = {6: "f8", 7: "f4"}
_MOST_VARIABLES, _DEEPEST = 10_000, 8
# the ratio that the deflate algorithm achieves for zeros, and the largest of recordings
_LARGEST_DEFLATE_RATIO, _LARGEST_RATIO = 1032, 500
_START = 1 << 12


class _DamagedError(ValueError):
    """The bytes are not those of a MAT-file."""


@contextmanager
def open_mat_recording(
    location: str, part: str, file: str, joints: Sequence[str]
) -> Iterator[TableFile]:
    """The variables of a MAT-file as a table; `part` is the name of a struct, '' for all."""
    with ExitStack() as opened:
        stream = opened.enter_context(open(location, "rb"))
        if stream.read(_HEADER).startswith(b"MATLAB 7.3"):
            from robolin.io.formats.array_readers import open_hdf5

            yield opened.enter_context(open_hdf5(location, part, file, joints))
            return
        try:
            # arrays refer to the mapped bytes, so nothing closes them explicitly
            content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            arrays = list(MatFile(content, file, opened).arrays())
        except (ValueError, struct.error, zlib.error, OverflowError) as error:
            raise _damaged(file) from error
        inside = [each for each in arrays if not part or each.name.startswith(f"{part}.")]
        if not inside:
            hint = f"the file contains {', '.join(each.name for each in arrays[:8])}"
            raise RobolinError(f"no struct named '{part}'", where=file, hint=hint)
        arrays_with_rows, rows, unused = with_rows(inside, joints, file)
        yield arrays_table(arrays_with_rows, rows, file, lambda: digest_of(stream), unused)


def _damaged(file: str) -> RobolinError:
    hint = "save the file with -v7 (MATLAB, Octave) or scipy.io.savemat, or use CSV or NPZ"
    return RobolinError("not a valid MAT-file of level 5", where=file, hint=hint)


@dataclass(frozen=True)
class _Element:
    """A data element: its type, and where its data begin and end."""

    kind: int
    begin: int
    end: int
    next: int


class _Bytes:
    """Bytes of a file in one byte order."""

    def __init__(self, data: Any, order: str) -> None:
        self.data, self.order = data, order

    def element(self, at: int, end: int) -> _Element:
        """The element at an offset; an error if it exceeds `end`."""
        if at + _TAG > end:
            raise _DamagedError("an element is truncated")
        kind, size = struct.unpack_from(f"{self.order}II", self.data, at)
        begin, following = at + _TAG, at + _TAG + size + -size % 8
        if kind >> 16:
            # small elements have size and type in four bytes, and the data in the next four
            kind, size = kind & 0xFFFF, kind >> 16
            begin, following = at + 4, at + _TAG
            if size > 4:
                raise _DamagedError("an element in the small data format is too large")
        if kind == _COMPRESSED:
            following = begin + size
        if begin + size > end:
            raise _DamagedError("an element is truncated")
        return _Element(kind, begin, begin + size, min(following, end))

    def numbers(self, element: _Element) -> npt.NDArray[Any]:
        """The numbers of an element, not copied."""
        if element.kind not in _KINDS:
            raise _DamagedError("an element contains no numbers")
        kind = np.dtype(f"{self.order}{_KINDS[element.kind]}")
        count, rest = divmod(element.end - element.begin, kind.itemsize)
        if rest:
            raise _DamagedError("an element ends inside a number")
        return np.frombuffer(self.data, kind, count, element.begin)

    def number(self, element: _Element) -> int:
        """The first number of an element."""
        numbers = self.numbers(element)
        if not numbers.size:
            raise _DamagedError("an element is empty")
        return int(numbers[0])

    def text(self, element: _Element) -> str:
        return bytes(self.data[element.begin : element.end]).decode()


@dataclass(frozen=True)
class _Head:
    """Class, dimensions and name of a matrix, and where its contents begin."""

    kind: int
    complex: bool
    shape: tuple[int, ...]
    name: str
    begin: int


def _head(data: _Bytes, at: int, end: int) -> _Head:
    flags = data.element(at, end)
    dimensions = data.element(flags.next, end)
    name = data.element(dimensions.next, end)
    word = data.number(flags)
    shape = tuple(int(each) for each in data.numbers(dimensions))
    if len(shape) < 2 or min(shape) < 0:
        raise _DamagedError("a matrix without dimensions")
    return _Head(word & 0xFF, bool(word & _COMPLEX), shape, data.text(name), name.next)


class MatFile:
    """A MAT-file whose variables are found, but not read."""

    def __init__(self, content: Any, file: str, opened: ExitStack) -> None:
        self._file, self._opened = file, opened
        order = {b"IM": "<", b"MI": ">"}.get(bytes(content[126:128]))
        if order is None:
            raise _DamagedError("the byte-order mark is missing")
        self._bytes, self._size, self._found = _Bytes(content, order), len(content), 0

    def arrays(self) -> Iterator[StoredArray]:
        """All real numeric arrays; those of structs are named STRUCT.FIELD."""
        at = _HEADER
        while at < self._size:
            element = self._bytes.element(at, self._size)
            if element.kind == _COMPRESSED:
                yield from self._compressed(element)
            elif element.kind == _MATRIX:
                yield from self._matrix(self._bytes, element.begin, element.end, "", 0)
            at = element.next

    def _matrix(
        self, data: _Bytes, at: int, end: int, prefix: str, depth: int
    ) -> Iterator[StoredArray]:
        self._found += 1
        if self._found > _MOST_VARIABLES or depth > _DEEPEST:
            raise _DamagedError("too many variables")
        if at == end:
            # an empty field
            return
        head = _head(data, at, end)
        name = f"{prefix}{head.name}" if depth == 0 else prefix.removesuffix(".")
        if head.kind == _STRUCT and prod(head.shape) == 1:
            yield from self._fields(data, head, end, f"{name}.", depth)
        elif _FIRST_NUMERIC <= head.kind <= _LAST_NUMERIC and not head.complex:
            values = _values(data, head, end)
            yield _stored(name, head, lambda: values)

    def _fields(
        self, data: _Bytes, head: _Head, end: int, prefix: str, depth: int
    ) -> Iterator[StoredArray]:
        length_element = data.element(head.begin, end)
        length = data.number(length_element)
        names = data.element(length_element.next, end)
        text = bytes(data.data[names.begin : names.end])
        if length < 1 or len(text) % length:
            raise _DamagedError("field names have an invalid length")
        at = names.next
        for first in range(0, len(text), length):
            field = data.element(at, end)
            if field.kind != _MATRIX:
                raise _DamagedError("a field without a matrix")
            name = text[first : first + length].split(b"\0")[0].decode()
            inside = f"{prefix}{name}."
            yield from self._matrix(data, field.begin, field.end, inside, depth + 1)
            at = field.next

    def _compressed(self, element: _Element) -> Iterator[StoredArray]:
        packed = _Packed(self._bytes, element, self._file, self._opened)
        start = packed.start
        if start.kind != _MATRIX:
            return
        head = _head(packed.beginning, _TAG, len(packed.beginning.data))
        if head.kind == _STRUCT:
            data = packed.unpacked
            yield from self._matrix(data, start.begin, start.end, "", 0)
            return
        self._found += 1
        if prod(head.shape) > start.end:
            raise _DamagedError("a matrix declares more numbers than its bytes can hold")
        if _FIRST_NUMERIC <= head.kind <= _LAST_NUMERIC and not head.complex:
            yield _stored(head.name, head, lambda: packed.values)


class _Packed:
    """A compressed variable."""

    def __init__(self, data: _Bytes, element: _Element, file: str, opened: ExitStack) -> None:
        self._data, self._element, self._file, self._opened = data, element, file, opened
        start = zlib.decompressobj().decompress(self._raw(), _START)
        self.beginning = _Bytes(start, data.order)
        if len(start) < _TAG:
            raise _DamagedError("a compressed variable is truncated")
        kind, size = struct.unpack_from(f"{data.order}II", start)
        if size > _LARGEST_DEFLATE_RATIO * (element.end - element.begin) + _START:
            raise _DamagedError("a variable declares an impossible size")
        self.start = _Element(kind, _TAG, _TAG + size, _TAG + size)

    def _raw(self) -> Any:
        return memoryview(self._data.data)[self._element.begin : self._element.end]

    @cached_property
    def unpacked(self) -> _Bytes:
        """All bytes, mapped from a temporary file."""
        size, packed = self.start.end, self._element.end - self._element.begin
        reject_decompression_bomb(size, packed, _LARGEST_RATIO, self._file)
        store = tempfile.TemporaryFile()  # noqa: SIM115
        self._opened.enter_context(store)
        left, unpacking, raw = size, zlib.decompressobj(), self._raw()
        while left > 0:
            piece = unpacking.decompress(raw, min(left, 1 << 20))
            raw = unpacking.unconsumed_tail
            if not piece:
                raise _DamagedError("a compressed variable is truncated")
            store.write(piece)
            left -= len(piece)
        store.flush()
        mapped = mmap.mmap(store.fileno(), 0, access=mmap.ACCESS_READ)
        return _Bytes(mapped, self._data.order)

    @cached_property
    def values(self) -> npt.NDArray[Any]:
        try:
            data = self.unpacked
            return _values(data, _head(data, _TAG, self.start.end), self.start.end)
        except (ValueError, struct.error, zlib.error) as error:
            raise _damaged(self._file) from error


def _values(data: _Bytes, head: _Head, end: int) -> npt.NDArray[Any]:
    values = data.numbers(data.element(head.begin, end))
    if values.size != prod(head.shape):
        raise _DamagedError("the number of values does not match the dimensions")
    return values.reshape(head.shape, order="F")


def _stored(name: str, head: _Head, values: Any) -> StoredArray:
    """An array that is read when it is needed; integers that stand for doubles become doubles."""
    kind = np.dtype(_CLASSES.get(head.kind, "i8"))

    def read(first: int, stop: int) -> npt.NDArray[Any]:
        return _converted(values()[first:stop], kind)

    def across(first: int, stop: int) -> npt.NDArray[Any]:
        return _converted(values().T[first:stop], kind)

    return StoredArray(name, head.shape, kind, read, across)


def _converted(values: npt.NDArray[Any], kind: np.dtype[Any]) -> npt.NDArray[Any]:
    if kind.kind == "i":
        return values
    return values.astype(kind)
