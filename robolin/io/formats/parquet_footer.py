"""Check the values in a Parquet file that polars trusts.

Polars detects most damage.  It does not notice that the row groups have other rows than the file,
allocates the stated size of a page, and aborts the process on a negative number of values, which
one wrong bit makes.  These values are checked before polars reads the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice
from operator import length_hint
from typing import Any, BinaryIO, NamedTuple, TypeVar

_MAGIC, _TAIL = b"PAR1", 8
# in bytes; enough for a file of some gigabytes
_LONGEST_FOOTER, _LONGEST_PAGE_HEADER = 1 << 24, 1 << 12
# upper bounds in bytes of one value with its levels, and of the overhead per column
_MOST_PER_VALUE, _MOST_OVERHEAD = 32, 1 << 20
# the field that describes a page, by the type of the page
_DICTIONARY, _PAGES = 2, {0: 5, 2: 7, 3: 8}

T = TypeVar("T")

# a Thrift structure by its field ids
ThriftFields = dict[int, Any]


class FooterError(ValueError):
    """Not a Parquet file, or a damaged one."""


class ColumnChunk(NamedTuple):
    """The values of one column in one row group: its path, rows of the file, and bytes in it."""

    name: tuple[bytes, ...]
    rows: range
    values: int
    start: int
    packed: int


def read_footer(stream: BinaryIO) -> ThriftFields:
    """Read the metadata at the end of the file."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - _TAIL, 0))
    tail = stream.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    start = size - _TAIL - length
    if tail[4:] != _MAGIC or start < len(_MAGIC) or length > _LONGEST_FOOTER:
        raise FooterError("the end of the file is not a valid Parquet footer")
    stream.seek(start)
    return _parsed(stream.read(length))


# the parts of one recording share it
@lru_cache(maxsize=4)
def _parsed(data: bytes) -> ThriftFields:
    return read_structure(data)[0]


def meta_value(footer: ThriftFields, key: str) -> bytes | None:
    """The value of a key in the metadata, None without it."""
    pairs = footer.get(5)
    for pair in pairs if isinstance(pairs, list) else []:
        match pair:
            case {1: bytes(name), 2: bytes(value)} if name == key.encode():
                return value
    return None


def column_chunks(footer: ThriftFields) -> list[ColumnChunk]:
    """All columns of all row groups, which together have the rows of the file."""
    chunks, stop = [], 0
    for group in _items(footer, 4):
        rows = range(stop, stop + _count(group, 3))
        stop = rows.stop
        for fields in (_item(column, 3, dict) for column in _items(group, 1)):
            start, dictionary = _count(fields, 9), fields.get(11)
            # some writers store 0 for a missing dictionary
            if isinstance(dictionary, int) and 0 < dictionary < start:
                start = dictionary
            name = tuple(part for part in _items(fields, 3) if isinstance(part, bytes))
            counts = (_count(fields, 5), start, _count(fields, 7))
            chunks.append(ColumnChunk(name, rows, *counts))
    if stop != _count(footer, 3):
        raise FooterError(
            "the row counts of the row groups do not sum to the row count of the file"
        )
    return chunks


def require_pages(stream: BinaryIO, chunks: Iterable[ColumnChunk]) -> None:
    """Reject columns whose pages have other values or decompress to more than these need."""
    for chunk in chunks:
        at, end, unpacked, values = chunk.start, chunk.start + chunk.packed, 0, 0
        while at < end:
            stream.seek(at)
            header, size = read_structure(stream.read(min(_LONGEST_PAGE_HEADER, end - at)))
            kind = _count(header, 1)
            page = _item(header, _PAGES.get(kind, 0), dict)
            if any(isinstance(value, int) and value < 0 for value in page.values()):
                raise FooterError("a page has a negative number of values")
            values += 0 if kind == _DICTIONARY else _count(page, 1)
            unpacked += _count(header, 2)
            at += size + _count(header, 3)
        most = _MOST_PER_VALUE * len(chunk.rows) + _MOST_OVERHEAD
        if values != len(chunk.rows) or unpacked > most:
            raise FooterError("the pages of a column have a wrong size or a wrong number of values")


def _item(fields: Any, number: int, kind: type[T]) -> T:
    value = fields.get(number) if isinstance(fields, dict) else None
    if not isinstance(value, kind):
        raise FooterError(f"field {number} is missing or has a wrong type")
    return value


def _items(fields: Any, number: int) -> list[Any]:
    return _item(fields, number, list)


def _count(fields: Any, number: int) -> int:
    value = _item(fields, number, int)
    if value < 0:
        raise FooterError(f"field {number} is negative")
    return value


def read_structure(data: bytes) -> tuple[ThriftFields, int]:
    """Read a structure in the Thrift compact protocol; returns its fields and its size in bytes."""
    rest = iter(data)
    try:
        return _structure(rest), len(data) - length_hint(rest)
    except (StopIteration, RecursionError):
        raise FooterError("a structure is truncated or nested too deeply") from None


def _structure(rest: Iterator[int]) -> ThriftFields:
    fields: ThriftFields = {}
    number = 0
    while head := next(rest):
        number = number + (head >> 4) if head >> 4 else _signed(rest)
        fields[number] = _value(rest, head & 15)
    return fields


def _value(rest: Iterator[int], kind: int) -> Any:
    match kind:
        case 4 | 5 | 6:
            return _signed(rest)
        case 3 | 7 | 8:  # a byte, a double, a text with its length
            size = {3: 1, 7: 8}.get(kind) or _varint(rest)
            if size > length_hint(rest):
                raise StopIteration
            return bytes(islice(rest, size))
        case 9 | 10:
            head = next(rest)
            size = head >> 4 if head >> 4 < 15 else _varint(rest)
            # a boolean has its value in the head of a field, and a byte of its own in a list
            return [_value(rest, max(head & 15, 3)) for _ in range(size)]
        case 12:
            return _structure(rest)
        case 1 | 2:
            return kind == 1
    raise FooterError(f"unknown field type {kind}")


def _signed(rest: Iterator[int]) -> int:
    """A zigzag varint: an integer of either sign."""
    code = _varint(rest)
    return (code >> 1) ^ -(code & 1)


def _varint(rest: Iterator[int]) -> int:
    """Seven bits per byte, the lowest first."""
    value = 0
    for shift in range(0, 70, 7):
        byte = next(rest)
        value |= (byte & 127) << shift
        if byte < 128:
            return value
    raise FooterError("an integer has no end")
