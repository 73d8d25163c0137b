"""The compact protocol of Thrift, in which Parquet says what it holds: numbered fields, read back.

Only reading, and only what Parquet uses: whole numbers, bytes, lists and structures.  No package
that reads it is small, and the large ones trust what they read.
"""

from __future__ import annotations

from typing import Any

# a structure by the numbers of its fields
ThriftFields = dict[int, Any]

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BYTES, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
# structures in structures; Parquet has six
_DEEPEST = 12
# those of all but the first seven bits of a number
_SHIFTS = range(7, 70, 7)
_TOO_EARLY = "it ends too early"


class ThriftError(ValueError):
    """Bytes that are not what they should be."""


class ThriftReader:
    """Reads structures one after the other, and knows how far it has come."""

    def __init__(self, data: bytes) -> None:
        self._data, self.at = data, 0

    def structure(self, depth: int = 0) -> ThriftFields:
        """The structure that begins here."""
        if depth > _DEEPEST:
            raise ThriftError("structures within structures")
        fields: ThriftFields = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._whole()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        # most of them first
        if kind in (_I64, _I32, _I16):
            return self._whole()
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
        # every item takes a byte at least
        if size > len(self._data) - self.at or depth > _DEEPEST:
            raise ThriftError("a list longer than the file")
        if kind in (_TRUE, _FALSE):
            return [self._byte() == _TRUE for _ in range(size)]
        return [self._value(kind, depth) for _ in range(size)]

    def _whole(self) -> int:
        """A number of either sign, the sign last."""
        found = self._count()
        return (found >> 1) ^ -(found & 1)

    def _count(self) -> int:
        """Seven bits to a byte, the lowest first."""
        byte = self._byte()
        if byte < 128:
            return byte
        found, data, at = byte & 127, self._data, self.at
        for shift, byte in zip(_SHIFTS, data[at : at + len(_SHIFTS)], strict=False):
            found |= (byte & 127) << shift
            if byte < 128:
                self.at = at + shift // 7
                return found
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
