"""Check the values in the metadata of a Parquet file that polars trusts.

Polars detects most damage.  It does not notice that the row groups have other rows than the file,
allocates the stated size of a page, and aborts the process on a negative number of values.  These
values are therefore checked before polars reads the file; all others are left to polars.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from operator import length_hint
from typing import Any, BinaryIO, NamedTuple, TypeVar

_MAGIC, _TAIL = b"PAR1", 8
# enough for a file of some gigabytes
_LONGEST_FOOTER = 1 << 24
# upper bounds in bytes of one value with its levels, and of the overhead per column
_MOST_PER_VALUE, _MOST_OVERHEAD = 32, 1 << 20
_LONGEST_PAGE_HEADER = 1 << 12
# the field that describes a page, by the type of the page
_DICTIONARY, _PAGES = 2, {0: 5, 2: 7, 3: 8}
# kinds of values in the Thrift compact protocol
_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BYTES, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
# largest nesting depth; Parquet has six levels
_DEEPEST = 12

T = TypeVar("T")
# a Thrift structure by its field ids
ThriftFields = dict[int, Any]


class FooterError(ValueError):
    """Not a Parquet file, or a damaged one."""


class ColumnChunk(NamedTuple):
    """The values of one column in one row group: its path, and its bytes in the file."""

    name: tuple[str, ...]
    values: int
    start: int
    packed: int


class RowGroup(NamedTuple):
    """Rows that are stored together."""

    rows: int
    chunks: tuple[ColumnChunk, ...]


class ParquetFooter(NamedTuple):
    """The metadata at the end of a Parquet file: its row groups and key-value pairs."""

    groups: tuple[RowGroup, ...]
    meta: Mapping[str, str]


def read_footer(stream: BinaryIO) -> ParquetFooter:
    """Read the footer and check that its row groups have the rows of the file."""
    size = stream.seek(0, os.SEEK_END)
    tail = _bytes_at(stream, size - _TAIL, _TAIL) if size > 2 * _TAIL else b""
    length = int.from_bytes(tail[:4], "little")
    start = size - _TAIL - length
    if tail[4:] != _MAGIC or start < len(_MAGIC) or length > _LONGEST_FOOTER:
        raise FooterError("the file does not end as a Parquet file")
    return _footer(_bytes_at(stream, start, length))


# the parts of one recording share it
@lru_cache(maxsize=4)
def _footer(data: bytes) -> ParquetFooter:
    fields, _ = read_structure(data)
    groups = tuple(
        RowGroup(_count(each, 3), tuple(_chunk(_field(c, 3, dict)) for c in _field(each, 1, list)))
        for each in _field(fields, 4, list)
    )
    if sum(group.rows for group in groups) != _count(fields, 3):
        raise FooterError("the row counts of the row groups do not add up")
    pairs = _field({5: [], **fields}, 5, list)
    meta = {_text(pair, 1): _text(pair, 2) if 2 in pair else "" for pair in pairs}
    return ParquetFooter(groups, meta)


def _chunk(column: ThriftFields) -> ColumnChunk:
    start, dictionary = _count(column, 9), column.get(11)
    # some writers store 0 for a missing dictionary
    if isinstance(dictionary, int) and 0 < dictionary < start:
        start = dictionary
    name = tuple(_text({3: part}, 3) for part in _field(column, 3, list))
    return ColumnChunk(name, _count(column, 5), start, _count(column, 7))


def require_pages(
    stream: BinaryIO, footer: ParquetFooter, names: Collection[str], rows: range
) -> None:
    """Reject numeric columns whose pages have other values or decompress to more than these need.

    rows: the rows to read, whose row groups are checked
    """
    stop = 0
    for group in footer.groups:
        first, stop = stop, stop + group.rows
        if first >= rows.stop or rows.start >= stop:
            continue
        most = _MOST_PER_VALUE * group.rows + _MOST_OVERHEAD
        for chunk in group.chunks:
            if len(chunk.name) == 1 and chunk.name[0] in names:
                values = sum(_page_values(stream, chunk, most))
                if values != group.rows:
                    raise FooterError("a column has a wrong number of values")


def _page_values(stream: BinaryIO, chunk: ColumnChunk, most: int) -> Iterator[int]:
    """Yield the number of values of each page; at most `most` bytes decompressed."""
    at, end, unpacked = chunk.start, chunk.start + chunk.packed, 0
    while at < end:
        header, size = read_structure(_bytes_at(stream, at, min(_LONGEST_PAGE_HEADER, end - at)))
        unpacked += _count(header, 2)
        if unpacked > most:
            raise FooterError("the pages of a column are larger than its values")
        at += size + _count(header, 3)
        kind = _count(header, 1)
        page = _field(header, _PAGES.get(kind, 0), dict)
        if any(isinstance(value, int) and value < 0 for value in page.values()):
            raise FooterError("a page has a negative number of values")
        yield 0 if kind == _DICTIONARY else _count(page, 1)


def _bytes_at(stream: BinaryIO, offset: int, size: int) -> bytes:
    stream.seek(offset)
    return stream.read(size)


def _field(fields: Any, number: int, kind: type[T]) -> T:
    value = fields.get(number) if isinstance(fields, dict) else None
    if not isinstance(value, kind):
        raise FooterError(f"field {number} is missing or of another type")
    return value


def _count(fields: Any, number: int) -> int:
    value = _field(fields, number, int)
    if value < 0:
        raise FooterError(f"field {number} is negative")
    return value


def _text(fields: Any, number: int) -> str:
    return _field(fields, number, bytes).decode(errors="replace")


def read_structure(data: bytes) -> tuple[ThriftFields, int]:
    """Read a structure in the Thrift compact protocol; returns its fields and its size in bytes."""
    rest = iter(data)
    try:
        return _structure(rest, 0), len(data) - length_hint(rest)
    except StopIteration:
        raise FooterError("the footer is truncated") from None


def _structure(rest: Iterator[int], depth: int) -> ThriftFields:
    fields: ThriftFields = {}
    number = 0
    while head := next(rest):
        number = number + (head >> 4) if head >> 4 else _signed(rest)
        fields[number] = _value(rest, head & 15, depth)
    return fields


def _value(rest: Iterator[int], kind: int, depth: int) -> Any:
    if depth > _DEEPEST:
        raise FooterError("structures are nested too deeply")
    # most frequent kinds first
    if kind in (_I64, _I32, _I16):
        return _signed(rest)
    if kind in (_BYTES, _DOUBLE, _BYTE):
        size = _varint(rest) if kind == _BYTES else 8 if kind == _DOUBLE else 1
        if size > length_hint(rest):
            raise StopIteration
        return bytes(islice(rest, size))
    if kind in (_LIST, _SET):
        head = next(rest)
        size = head >> 4 if head >> 4 < 15 else _varint(rest)
        # a boolean has its value in the head of a field, and a byte of its own in a list
        item = max(head & 15, _BYTE)
        return [_value(rest, item, depth + 1) for _ in range(size)]
    if kind == _STRUCT:
        return _structure(rest, depth + 1)
    if kind in (_TRUE, _FALSE):
        return kind == _TRUE
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
    raise FooterError("an integer is not terminated")
