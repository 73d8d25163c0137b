"""ZIP archives whose members may be written in any order: headers and directory as bytes.

Members are stored as they are.  The headers say what `zipfile` would: nothing depends on when or
where the archive was written.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

_VERSION = 45
_UNIX = 3
_OLDEST_DATE = 1 << 5 | 1
_PERMISSIONS = 0o644 << 16
_LARGE = (1 << 31) - 1
_ELSEWHERE = 0xFFFFFFFF


@dataclass(frozen=True)
class ZipMember:
    """A file inside the archive: its name, what is in it, and where header and content stand."""

    name: str
    size: int
    crc: int
    offset: int
    end: int


def local_header(name: str, size: int, crc: int) -> bytes:
    """What stands before a member; always in the form for large ones, so of the same length."""
    sizes = struct.pack("<HHQQ", 1, 16, size, size)
    fixed = struct.pack(
        "<4s5H3I2H",
        *(b"PK\x03\x04", _VERSION, 0, 0, 0, _OLDEST_DATE),
        *(crc, _ELSEWHERE, _ELSEWHERE, len(name), len(sizes)),
    )
    return fixed + name.encode("ascii") + sizes


def directory(members: Iterable[ZipMember], start: int) -> bytes:
    """What stands behind all members: the list of them, and where it begins."""
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


def crc_of_both(first: int, second: int, length: int) -> int:
    """The CRC-32 of two pieces put together; the second one is `length` bytes long.

    A byte more multiplies the remainder by x⁸, so the first CRC is multiplied by x⁸ to the
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
    """CRC-32 of a piece, or of everything up to it."""
    return zlib.crc32(data, start)


def _product(a: int, b: int) -> int:
    """Product of polynomials over GF(2) modulo the one of CRC-32; the highest bit stands for 1."""
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
