"""Write NPZ: arrays grow in parallel, and all of them end up in one ZIP archive.

Members are stored uncompressed and may be written in any order.  Headers and directory equal those
of `zipfile`: nothing depends on when or where the archive was written.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, closing
from functools import cache
from io import BytesIO
from math import prod
from operator import attrgetter
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from robolin.core.arrays import NumberKind, kind_of, stored_values
from robolin.core.records import dataclass
from robolin.core.result import Result, ResultStream
from robolin.core.threads import SMALL_RESULT, after_short_answer, prefetch
from robolin.errors import FileError
from robolin.io.atomic import atomic_write, is_stream
from robolin.io.provenance import Digests

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

_COPIED_AT_ONCE = 1 << 22

# below this, computing a CRC takes less time than waking another thread
_BYTES_WORTH_A_THREAD = 1 << 18

# constants of ZIP headers
_VERSION = 45
_UNIX = 3
_OLDEST_DATE = 1 << 5 | 1
_PERMISSIONS = 0o644 << 16
_LARGE = (1 << 31) - 1
_ELSEWHERE = 0xFFFFFFFF


def write_npz(result: ResultStream, path: str | Path) -> None:
    """Write every array, `joints` and `meta` into one uncompressed archive."""
    with atomic_write(path) as stream:
        if is_stream(path):
            from shutil import copyfileobj
            from tempfile import TemporaryFile

            # local headers are written last, which requires a seekable file
            with TemporaryFile() as held:
                write_npz_to(result, held)
                held.seek(0)
                copyfileobj(held, stream, _COPIED_AT_ONCE)
        else:
            write_npz_to(result, stream, Path(path).parent)


def write_npz_to(result: ResultStream, stream: IO[bytes], folder: Path | None = None) -> None:
    """Write the archive into an empty file; arrays of unknown length are spooled in `folder`."""
    digests = Digests()
    growing: list[StreamedArray] = []
    members: list[ZipMember] = []
    with ExitStack() as opened:

        def spool() -> IO[bytes]:
            from tempfile import TemporaryFile

            # an unnamed file, which the system removes in any case
            return opened.enter_context(TemporaryFile(dir=folder))

        start_when, numbers = after_short_answer(attrgetter("size")), 0
        with closing(prefetch(digests.passing(result.parts), start_when)) as parts:
            for part in parts:
                numbers += part.size
                growing = growing or _growing_arrays(part, result.most_rows(), stream, spool)
                _add(part, growing, in_parallel=numbers > SMALL_RESULT)
        for each in growing:
            offset = members[-1].end if members else 0
            members.append(each.finalize(stream, offset, digests.shapes[each.name]))
    for name, array in (
        ("joints", np.array(digests.last.joints, dtype=str)),
        ("meta", np.array(digests.meta_text(result))),
    ):
        members.append(_write_member(stream, name, array, members[-1].end))
    stream.seek(members[-1].end)
    stream.write(directory(members, members[-1].end))
    stream.truncate()


def _add(part: Result, growing: Sequence[StreamedArray], *, in_parallel: bool) -> None:
    """Append a part to every array; large results compute the CRC in parallel."""
    values = [stored_values(each).reshape(-1).view(np.uint8).data for _, each in part.stored()]
    pieces = list(zip(growing, values, strict=True))

    def check() -> None:
        for each, data in pieces:
            each.check(data)

    submit = in_parallel and sum(map(len, values)) >= _BYTES_WORTH_A_THREAD
    checked = _crc_thread().submit(check) if submit else None
    for each, data in pieces:
        each.write(data)
    if checked is None:
        check()
    else:
        checked.result()


@cache
def _crc_thread() -> ThreadPoolExecutor:
    """A thread that computes CRCs while bytes are written."""
    # import here: short results need no thread, and the import loads `logging`
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(1, thread_name_prefix="robolin-crc")


class StreamedArray:
    """An array that grows in the archive if its length is known, else in a temporary file."""

    name: str

    def __init__(
        self, name: str, kind: NumberKind, file: IO[bytes], start: int, most: int | None
    ) -> None:
        self.name, self._kind = name, kind
        self._file, self._start, self._most = file, start, most
        self._size = self._crc = 0

    def check(self, data: memoryview) -> None:
        """Add bytes to the CRC, possibly while they are written."""
        self._crc = crc(data, self._crc)

    def write(self, data: memoryview) -> None:
        """Append bytes to the array."""
        if self._most is not None and self._size + len(data) > self._most:
            raise FileError("the trajectory grew while it was read", hint="run the command again")
        self._file.seek(self._start + self._size)
        self._file.write(data)
        self._size += len(data)

    def finalize(self, stream: IO[bytes], offset: int, shape: tuple[int, ...]) -> ZipMember:
        """Complete the member that begins at `offset`; the array is moved there if necessary."""
        name, header = f"{self.name}.npy", _header(shape, self._kind)
        size = len(header) + self._size
        total = crc32_combine(crc(header), self._crc, self._size)
        begin = local_header(name, size, total) + header
        if self._file is not stream or self._start != offset + len(begin):
            _move(self._file, self._start, stream, offset + len(begin), self._size)
        stream.seek(offset)
        stream.write(begin)
        return ZipMember(name, size, total, offset, offset + len(begin) + self._size)


def _growing_arrays(
    part: Result, most_rows: int | None, stream: IO[bytes], spool: Callable[[], IO[bytes]]
) -> list[StreamedArray]:
    """Create the arrays of a result from its first part."""
    if part.batch is not None and most_rows is None:
        return [
            StreamedArray(name, kind_of(values), spool(), 0, None) for name, values in part.stored()
        ]
    growing = []
    offset = 0
    for name, values in part.stored():
        shape = values.shape if part.batch is None else (most_rows or 0, *values.shape[1:])
        kind = kind_of(values)
        start = offset + len(local_header(f"{name}.npy", 0, 0) + _header(shape, kind))
        offset = start + kind.size * prod(shape)
        growing.append(StreamedArray(name, kind, stream, start, offset - start))
    return growing


def _header(shape: tuple[int, ...], kind: NumberKind) -> bytes:
    held = BytesIO()
    fields = {"descr": kind.dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(held, fields)
    return held.getvalue()


def _write_member(stream: IO[bytes], name: str, array: npt.NDArray[Any], offset: int) -> ZipMember:
    held = BytesIO()
    np.lib.format.write_array(held, array, allow_pickle=False)
    data, name = held.getvalue(), f"{name}.npy"
    total = crc(data)
    begin = local_header(name, len(data), total)
    stream.seek(offset)
    stream.write(begin + data)
    return ZipMember(name, len(data), total, offset, offset + len(begin) + len(data))


def _move(source: IO[bytes], start: int, target: IO[bytes], offset: int, size: int) -> None:
    """Copy front to back, which is safe within one file because arrays only move forward."""
    for done in range(0, size, _COPIED_AT_ONCE):
        source.seek(start + done)
        data = source.read(min(_COPIED_AT_ONCE, size - done))
        target.seek(offset + done)
        target.write(data)


@dataclass(frozen=True)
class ZipMember:
    """A member of the archive: name, size, CRC-32, and the offsets of its header and end."""

    name: str
    size: int
    crc: int
    offset: int
    end: int


def local_header(name: str, size: int, crc: int) -> bytes:
    """The header of a member, always in ZIP64 form, so that its length is constant."""
    sizes = struct.pack("<HHQQ", 1, 16, size, size)
    fixed = struct.pack(
        "<4s5H3I2H",
        *(b"PK\x03\x04", _VERSION, 0, 0, 0, _OLDEST_DATE),
        *(crc, _ELSEWHERE, _ELSEWHERE, len(name), len(sizes)),
    )
    return fixed + name.encode("ascii") + sizes


def directory(members: Iterable[ZipMember], start: int) -> bytes:
    """The central directory and the end records of the archive."""
    entries = [_entry(member) for member in members]
    size = sum(map(len, entries))
    count = len(entries)
    tail = b""
    if start > _LARGE:
        tail += struct.pack(
            "<4sQ2H2I4Q", b"PK\x06\x06", 44, _VERSION, _VERSION, 0, 0, count, count, size, start
        )
        tail += struct.pack("<4sIQI", b"PK\x06\x07", 0, start + size, 1)
    tail += struct.pack(
        "<4s4H2IH", b"PK\x05\x06", 0, 0, count, count, size, min(start, _ELSEWHERE), 0
    )
    return b"".join(entries) + tail


def crc32_combine(first: int, second: int, length: int) -> int:
    """The CRC-32 of two concatenated pieces; the second one has `length` bytes.

    Each further byte multiplies the remainder by x⁸, so the first CRC is multiplied by x⁸ to the
    power of the length, modulo the polynomial.
    """
    power, square = 1 << 31, 1 << 23
    while length:
        if length & 1:
            power = _product(power, square)
        square = _product(square, square)
        length >>= 1
    return _product(first, power) ^ second


def crc(data: bytes | memoryview, start: int = 0) -> int:
    """CRC-32 of a piece, continued from `start`."""
    return zlib.crc32(data, start)


def _product(a: int, b: int) -> int:
    """Product of polynomials over GF(2) modulo the CRC-32 polynomial; the highest bit is x⁰."""
    total = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            total ^= b
        b = b >> 1 ^ (0xEDB88320 if b & 1 else 0)
    return total


def _entry(member: ZipMember) -> bytes:
    large = [x for x in (member.size, member.size, member.offset) if x > _LARGE]
    extra = struct.pack(f"<HH{len(large)}Q", 1, 8 * len(large), *large) if large else b""
    size = _ELSEWHERE if member.size > _LARGE else member.size
    offset = _ELSEWHERE if member.offset > _LARGE else member.offset
    fixed = struct.pack(
        "<4s4B4H3I5H2I",
        *(b"PK\x01\x02", _VERSION, _UNIX, _VERSION, 0, 0, 0, 0, _OLDEST_DATE),
        *(member.crc, size, size, len(member.name), len(extra), 0, 0, 0, _PERMISSIONS, offset),
    )
    return fixed + member.name.encode("ascii") + extra
