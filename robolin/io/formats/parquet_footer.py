"""Parse and validate the metadata of a Parquet file.

Polars trusts the metadata: it allocates the stated memory and panics if something is missing.
Therefore it only receives files whose row groups, columns and pages are consistent, lie inside
the file and do not overlap.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, BinaryIO

MAGIC = b"PAR1"
_TAIL = 8
# enough for a file of some gigabytes
_LONGEST_FOOTER = 1 << 24
# upper bounds in bytes of one value with its levels, and of the overhead per column
_MOST_PER_VALUE, _MOST_OVERHEAD = 32, 1 << 20
# pages with fewer values than this are not plausible
_VALUES_PER_PAGE, _FEW_PAGES = 16, 64
_PAGE_HEADER, _LONGEST_PAGE_HEADER = 1 << 9, 1 << 16
# page types: the field that describes one, the number of required fields, and those that name an
# encoding
_PAGES = {0: (5, 4, (2, 3, 4)), 2: (7, 2, (2,)), 3: (8, 6, (4,))}
_DICTIONARY, _ENCODINGS = 2, (0, 2, 3, 4, 5, 6, 7, 8, 9)


class FooterError(ValueError):
    """Not a Parquet file, or a damaged one."""


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """The values of one column in one row group.

    name:          of the column; for a nested column, after the names of its parents
    values:        number of values
    start, packed: offset in the file, and compressed size in bytes
    """

    name: tuple[str, ...]
    values: int
    start: int
    packed: int


@dataclass(frozen=True, slots=True)
class RowGroup:
    """Rows that are stored together."""

    rows: int
    chunks: tuple[ColumnChunk, ...]


@dataclass(frozen=True, slots=True)
class ParquetFooter:
    """The metadata at the end of a Parquet file: its row groups and key-value pairs."""

    groups: tuple[RowGroup, ...]
    meta: Mapping[str, str]


def read_footer(stream: BinaryIO) -> ParquetFooter:
    """Read the footer and check that it is consistent with the file."""
    size = stream.seek(0, os.SEEK_END)
    tail = _bytes_at(stream, size - _TAIL, _TAIL) if size > 2 * _TAIL else b""
    length = int.from_bytes(tail[:4], "little")
    start = size - _TAIL - length
    if tail[4:] != MAGIC or start < len(MAGIC) or length > _LONGEST_FOOTER:
        raise FooterError("its end is not that of a Parquet file")
    return _footer(_bytes_at(stream, start, length), start)


# the parts of one recording share it
@lru_cache(maxsize=4)
def _footer(data: bytes, start: int) -> ParquetFooter:
    """Parse the footer that begins at this offset of its file."""
    try:
        fields = ThriftReader(data).structure()
        groups = tuple(_group(each) for each in _listed(fields, 4))
        leaves = sum(1 for each in _listed(fields, 2)[1:] if not each.get(5))
        meta = {_text(each[1]): _text(each.get(2, b"")) for each in fields.get(5, [])}
    except (ThriftError, LookupError, AttributeError, TypeError) as error:
        raise FooterError("what it says of itself cannot be read") from error
    _require_rows(groups, fields.get(3))
    _require_apart(groups, leaves, start)
    return ParquetFooter(groups, meta)


def _group(fields: ThriftFields) -> RowGroup:
    return RowGroup(_count(fields, 3), tuple(_chunk(each) for each in _listed(fields, 1)))


def _chunk(fields: ThriftFields) -> ColumnChunk:
    column = fields[3]
    _listed(column, 2)
    for needed in (1, 4, 6):
        _count(column, needed)
    start = _count(column, 9)
    # some writers store 0 for a missing dictionary
    if 0 < column.get(11, 0) < start:
        start = column[11]
    name = tuple(_text(part) for part in _listed(column, 3))
    return ColumnChunk(name, _count(column, 5), start, _count(column, 7))


def _count(fields: ThriftFields, number: int, bits: int = 63) -> int:
    value = fields[number]
    if not isinstance(value, int) or not 0 <= value < 1 << bits:
        raise TypeError(value)
    return value


def _listed(fields: ThriftFields, number: int) -> list[Any]:
    value = fields[number]
    if not isinstance(value, list):
        raise TypeError(value)
    return value


def _text(value: bytes) -> str:
    return value.decode(errors="replace")


def _require_rows(groups: Sequence[RowGroup], rows: object) -> None:
    if sum(group.rows for group in groups) != rows:
        raise FooterError("its groups do not have its rows")


def _require_apart(groups: Sequence[RowGroup], leaves: int, end: int) -> None:
    """Reject column chunks outside the file, or overlapping ones."""
    if any(len(group.chunks) != leaves for group in groups):
        raise FooterError("a group of rows lacks a column")
    # a chunk without values has no location
    chunks = [chunk for group in groups for chunk in group.chunks if chunk.values]
    ranges = sorted((chunk.start, chunk.start + chunk.packed) for chunk in chunks)
    if any(start < len(MAGIC) or stop > end for start, stop in ranges):
        raise FooterError("a column lies outside the file")
    if any(stop > start for (_, stop), (start, _) in pairwise(ranges)):
        raise FooterError("columns lie one over the other")


def require_pages(
    stream: BinaryIO, footer: ParquetFooter, names: Collection[str], rows: range
) -> None:
    """Reject numeric columns whose pages decompress to more than their values need.

    rows: the rows to read, whose row groups are checked
    """
    for group in _groups_of(footer, rows):
        for chunk in group.chunks:
            if len(chunk.name) == 1 and chunk.name[0] in names:
                if chunk.values != group.rows:
                    raise FooterError("a column has not as many numbers as there are rows")
                _require_numbers(chunk, list(_pages(stream, chunk)) if chunk.values else [])


def _groups_of(footer: ParquetFooter, rows: range) -> Iterator[RowGroup]:
    """The row groups that contain some of these rows."""
    stop = 0
    for group in footer.groups:
        first, stop = stop, stop + group.rows
        if first < rows.stop and rows.start < stop:
            yield group


def _require_numbers(chunk: ColumnChunk, pages: Sequence[tuple[int, int]]) -> None:
    if sum(values for values, _ in pages) != chunk.values:
        raise FooterError("the pages of a column do not have its numbers")
    if sum(unpacked for _, unpacked in pages) > _MOST_PER_VALUE * chunk.values + _MOST_OVERHEAD:
        raise FooterError("the pages of a column unfold to more than its numbers")


def _pages(stream: BinaryIO, chunk: ColumnChunk) -> Iterator[tuple[int, int]]:
    """Yield the value count of each page, 0 for a dictionary, and its uncompressed size."""
    at, end, left = chunk.start, chunk.start + chunk.packed, _FEW_PAGES
    left += chunk.values // _VALUES_PER_PAGE
    while at < end and left:
        header, size = _page_header(stream, at, end)
        left -= 1
        try:
            at += size + _count(header, 3, 31)
            yield _values(header), _count(header, 2, 31)
        except (LookupError, TypeError, AttributeError) as error:
            raise FooterError("a page does not say what it holds") from error
    if at != end:
        raise FooterError("the pages of a column do not fill its place")


def _values(header: ThriftFields) -> int:
    kind = _count(header, 1)
    field, needed, encodings = _PAGES[kind]
    description = header[field]
    counts = [_count(description, number, 31) for number in range(1, needed + 1)]
    if any(description[number] not in _ENCODINGS for number in encodings):
        raise TypeError("an encoding that nobody knows")
    return 0 if kind == _DICTIONARY else counts[0]


def _page_header(stream: BinaryIO, at: int, end: int) -> tuple[ThriftFields, int]:
    """The header of a page, and its size in bytes."""
    for length in (_PAGE_HEADER, _LONGEST_PAGE_HEADER):
        reader = ThriftReader(_bytes_at(stream, at, min(length, end - at)))
        try:
            return reader.structure(), reader.at
        except ThriftError as error:
            problem = error
    raise FooterError("a page does not say what it holds") from problem


def _bytes_at(stream: BinaryIO, offset: int, size: int) -> bytes:
    # a buffered stream would read much more than necessary
    if hasattr(os, "pread") and (descriptor := _descriptor(stream)) is not None:
        return os.pread(descriptor, size, offset)
    stream.seek(offset)
    return stream.read(size)


def _descriptor(stream: BinaryIO) -> int | None:
    """The file descriptor; None if the stream is not a file on a disk."""
    try:
        return stream.fileno()
    except OSError:
        return None


# a Thrift structure by its field ids
ThriftFields = dict[int, Any]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BYTES, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
# largest nesting depth; Parquet has six levels
_DEEPEST = 12
# shifts of the bytes of a varint after the first one
_SHIFTS = range(7, 70, 7)
_TOO_EARLY = "it ends too early"


class ThriftError(ValueError):
    """Malformed Thrift data."""


class ThriftReader:
    """Reads structures in the Thrift compact protocol; `at` is the current offset."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def structure(self, depth: int = 0) -> ThriftFields:
        """The structure at the current offset."""
        if depth > _DEEPEST:
            raise ThriftError("structures within structures")
        fields: ThriftFields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        # most frequent kinds first
        if kind in (_I64, _I32, _I16):
            return self._signed()
        if kind == _BYTES:
            return self._piece(self._count())
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind in (_TRUE, _FALSE):
            return kind == _TRUE
        if kind == _BYTE:
            return self._byte()
        if kind == _DOUBLE:
            return self._piece(8)
        raise ThriftError(f"a field of kind {kind}")

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        size = head >> 4 if head >> 4 < 15 else self._count()
        kind = head & 15
        # every item has at least one byte
        if size > len(self._data) - self.at or depth > _DEEPEST:
            raise ThriftError("a list longer than the file")
        if kind in (_TRUE, _FALSE):
            return [self._byte() == _TRUE for _ in range(size)]
        return [self._value(kind, depth) for _ in range(size)]

    def _signed(self) -> int:
        """A zigzag varint: an integer of either sign."""
        code = self._count()
        return (code >> 1) ^ -(code & 1)

    def _count(self) -> int:
        """A varint: seven bits per byte, the lowest first."""
        byte = self._byte()
        if byte < 128:
            return byte
        value, data, at = byte & 127, self._data, self.at
        for shift, byte in zip(_SHIFTS, data[at : at + len(_SHIFTS)], strict=False):
            value |= (byte & 127) << shift
            if byte < 128:
                self.at = at + shift // 7
                return value
        raise ThriftError("a number without end" if at + len(_SHIFTS) <= len(data) else _TOO_EARLY)

    def _byte(self) -> int:
        try:
            byte = self._data[self.at]
        except IndexError:
            raise ThriftError(_TOO_EARLY) from None
        self.at += 1
        return byte

    def _piece(self, size: int) -> bytes:
        end = self.at + size
        if end > len(self._data):
            raise ThriftError(_TOO_EARLY)
        piece = self._data[self.at : end]
        self.at = end
        return piece
