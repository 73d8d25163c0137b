"""Readers of recordings in NPY, HDF5 and Arrow files."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from importlib import import_module
from itertools import islice
from math import prod
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from robolin.core.progress import mute_native_stderr
from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.io.formats.array_table import StoredArray, array_in_memory, arrays_table, with_rows
from robolin.io.formats.npz_reader import ARCHIVE_ERRORS
from robolin.io.formats.parquet_reader import PolarsRows, polars_table
from robolin.io.table_file import (
    TableFile,
    TableSource,
    digest_of,
    reject_decompression_bomb,
    require_polars,
)

_MAGIC = b"\x93NUMPY"
_HINT = "store numbers of shape (rows, columns): numpy.save(file, array)"


@contextmanager
def open_npy(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The columns of an array: by index, or by the names of its fields."""
    if part:
        hint = f"use {location}"
        raise RobolinError("an NPY file has no parts", where=file, hint=hint)
    with open(location, "rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            hint = (
                "use the extension .npz for an archive; write a single array with "
                "numpy.save(file, array)"
            )
            raise RobolinError("not an NPY file", where=file, hint=hint)
        try:
            # mapped: memory use does not depend on the number of rows
            values = np.load(location, mmap_mode="r", allow_pickle=False)
        except (*ARCHIVE_ERRORS, OverflowError, TypeError) as error:
            raise RobolinError("not a valid NPY file", where=file, hint=_HINT) from error
        arrays = _arrays(values, file)
        table = arrays_table(arrays, len(values), file, lambda: digest_of(stream))
        if values.dtype.names is None:
            table = replace(table, names=[str(i) for i in range(len(table.names))], numbered=True)
        yield table


def _arrays(values: npt.NDArray[Any], file: str) -> list[StoredArray]:
    """The fields of a structured array, or the array itself."""
    if values.dtype.names is not None and values.ndim == 1:
        arrays = [array_in_memory(name, values[name]) for name in values.dtype.names]
        arrays = [each for each in arrays if each.is_numeric and len(each.shape) <= 2]
    else:
        arrays = [array_in_memory("column", values)]
    if not len(values.shape) or not all(
        each.is_numeric and len(each.shape) in (1, 2) for each in arrays
    ):
        message = (
            f"must be a numeric array with at least one axis, got {values.dtype} {values.shape}"
        )
        raise RobolinError(message, where=file, hint=_HINT)
    if not (len(values) and arrays):
        raise RobolinError("the array has no rows", where=file, hint=_HINT)
    return arrays


_MOST_DATASETS = 10_000
_LARGEST_RATIO = 500
# what h5py raises for damaged files
_ERRORS = (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError)


@contextmanager
def open_hdf5(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The datasets of a file, or of the group `part`, as a table."""
    h5py = _h5py(file)
    with ExitStack() as opened:
        stream = opened.enter_context(open(location, "rb"))
        try:
            root = opened.enter_context(h5py.File(location, "r"))
            group = root[part] if part and part in root else root
            named: dict[str, Any] = {}
            group.visititems(lambda name, each: _collect(named, name, each, h5py))
            if part and (group is root or not isinstance(group, h5py.Group)):
                groups: list[str] = []
                root.visit(groups.append)
                raise UsageError(
                    f"no group '{part}'", where=file, hint=did_you_mean(part, groups[:100])
                )
            arrays = [_stored(name, each, file) for name, each in named.items()]
        except _ERRORS as error:
            raise _damaged(file) from error
        arrays_with_rows, rows, unused = with_rows(arrays, joints, file)
        size = stream.seek(0, 2)
        numbers = 8 * sum(prod(each.shape) for each in arrays_with_rows)
        reject_decompression_bomb(numbers, size, _LARGEST_RATIO, file)
        yield arrays_table(arrays_with_rows, rows, file, lambda: digest_of(stream), unused)


def _h5py(file: str) -> Any:
    try:
        return import_module("h5py")
    except ImportError:
        hint = "pip install h5py, or store the recording as NPZ"
        raise RobolinError("HDF5 files require the package h5py", where=file, hint=hint) from None


def _collect(named: dict[str, Any], name: str | bytes, each: Any, h5py: Any) -> None:
    """Keep a dataset whose numbers are in the file itself; names may be in any encoding."""
    name = name if isinstance(name, str) else name.decode(errors="replace")
    if not isinstance(each, h5py.Dataset) or each.is_virtual or each.external:
        return
    if len(named) >= _MOST_DATASETS:
        raise ValueError(f"the file has more than {_MOST_DATASETS} datasets")
    if each.dtype.kind in "iuf" and each.ndim in (1, 2) and 0 not in each.shape:
        named[name] = each


def _stored(name: str, dataset: Any, file: str) -> StoredArray:
    def read(first: int, stop: int) -> npt.NDArray[Any]:
        return _numbers(dataset, np.s_[first:stop], file)

    def across(first: int, stop: int) -> npt.NDArray[Any]:
        return _numbers(dataset, np.s_[:, first:stop], file).T

    return StoredArray(name, tuple(dataset.shape), dataset.dtype, read, across)


def _numbers(dataset: Any, rows: Any, file: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(dataset[rows])
    except _ERRORS as error:
        raise _damaged(file) from error


def _damaged(file: str) -> RobolinError:
    hint = "write the file again, or use CSV, NPZ or Parquet"
    return RobolinError("not a valid HDF5 file", where=file, hint=hint)


_ARROW_MAGIC = b"ARROW1"
_LARGEST_ARROW_RATIO = 1000
# numbers of fields in the tables of Arrow's schema
_FOOTER_SCHEMA, _FOOTER_BATCHES, _SCHEMA_FIELDS, _MESSAGE_HEADER = 1, 3, 1, 2
_FIELD_NAME, _FIELD_TYPE, _FIELD_DICTIONARY, _FIELD_CHILDREN = 0, 2, 4, 5
_BATCH_NODES, _BATCH_BUFFERS, _BATCH_VIEWS = 1, 2, 4
# buffers of a column by the number of its type: null; binary and text, short and long; structure
# and list of fixed size; views, and as many buffers as a batch lists; other types have two
_BUFFERS = {1: 0, 4: 3, 5: 3, 19: 3, 20: 3, 13: 1, 16: 1, 23: 2, 24: 2}
_NULL, _VIEWS = 1, (23, 24)
_NOT_READ = {11: "a calendar interval", 14: "a union", 22: "run-end encoded"}
_NOT_READ |= dict.fromkeys((25, 26), "a list view")
_DEEPEST, _SMALLEST_FIELD = 50, 16


@contextmanager
def open_arrow(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The columns of an Arrow file."""
    if part:
        raise RobolinError(
            f"an Arrow file has no variable '{part}'", where=file, hint=f"use {location}"
        )
    with open(location, "rb") as stream:
        begin = stream.read(len(_ARROW_MAGIC))
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - len(_ARROW_MAGIC), 0))
        if begin != _ARROW_MAGIC or stream.read() != _ARROW_MAGIC:
            raise damaged_arrow(file)
        _require_sound_nulls(stream, size, file)
        source = TableSource(stream, location, file, joints=joints)
        yield polars_table(ArrowRows(source), source)


def _require_sound_nulls(stream: BinaryIO, size: int, file: str) -> None:
    """Reject columns with an impossible number of nulls, or without the bitmap of their nulls.

    polars takes impossible numbers of nulls as zero, so that nulls would become numbers.
    """
    try:
        footer = _arrow_footer(stream, size)
        types = (
            each
            for field in footer.table(_FOOTER_SCHEMA).tables(_SCHEMA_FIELDS)
            for each in _column_types(field, field.text(_FIELD_NAME), file)
        )
        # in a damaged file, columns may share the columns inside them
        columns = list(islice(types, len(footer.data) // _SMALLEST_FIELD))
        sound = all(_sound_nulls(columns, each) for each in _batches(footer, stream, size))
    except (struct.error, ValueError, OSError) as error:
        raise damaged_arrow(file) from error
    if not sound:
        raise damaged_arrow(file)


def _column_types(field: _FlatTable, name: str, file: str, depth: int = 0) -> Iterator[int]:
    """The types of a column and the columns inside it, in the order of their buffers."""
    kind = field.byte(_FIELD_TYPE)
    if kind in _NOT_READ:
        hint = "write the file without this column, or use CSV, NPZ or Parquet"
        raise RobolinError(
            f"column '{name}' is {_NOT_READ[kind]}, which is not supported", where=file, hint=hint
        )
    if depth > _DEEPEST:
        raise ValueError("columns are nested too deeply")
    if field.table(_FIELD_DICTIONARY).at:
        # the column itself has only indices
        yield 0
        return
    yield kind
    for child in field.tables(_FIELD_CHILDREN):
        yield from _column_types(child, name, file, depth + 1)


def _sound_nulls(columns: Sequence[int], batch: _FlatTable) -> bool:
    """Return True if every column has a possible number of nulls, and their bitmap."""
    nodes, buffers = batch.pairs(_BATCH_NODES), batch.pairs(_BATCH_BUFFERS)
    views = iter(batch.integers(_BATCH_VIEWS))
    if len(nodes) != len(columns):
        return False
    at = 0
    for kind, (length, nulls) in zip(columns, nodes, strict=True):
        # the first buffer is the bitmap of nulls
        count = _BUFFERS.get(kind, 2) + (next(views, 0) if kind in _VIEWS else 0)
        if not 0 <= nulls <= length or not 0 <= count <= len(buffers) - at:
            return False
        if nulls and kind != _NULL and not buffers[at][1]:
            return False
        at += count
    return at == len(buffers)


def _arrow_footer(stream: BinaryIO, size: int) -> _FlatTable:
    end = size - len(_ARROW_MAGIC) - 4
    stream.seek(end)
    (length,) = struct.unpack("<I", stream.read(4))
    stream.seek(end - length)
    return _FlatTable.root(stream.read(length))


def _batches(footer: _FlatTable, stream: BinaryIO, size: int) -> Iterator[_FlatTable]:
    """The metadata of each record batch."""
    start, count = footer.vector(_FOOTER_BATCHES)
    for k in range(count):
        offset, metadata = struct.unpack_from("<qI", footer.data, start + 24 * k)
        # batches do not overlap: a file is read only once
        if (size := size - metadata) < 0:
            raise ValueError("the batches are larger than the file")
        stream.seek(offset)
        message = stream.read(metadata)
        # a continuation marker precedes the length since version 0.15
        begin = 8 if message[:4] == b"\xff\xff\xff\xff" else 4
        yield _FlatTable.root(message[begin:]).table(_MESSAGE_HEADER)


class _FlatTable(NamedTuple):
    """A table of the FlatBuffers format: fields by their number in the schema of Arrow."""

    data: bytes
    at: int

    @classmethod
    def root(cls, data: bytes) -> Self:
        return cls(data, struct.unpack_from("<I", data)[0])

    def _field(self, number: int) -> int:
        """The position of a field, 0 if it is absent."""
        fields = self.at - struct.unpack_from("<i", self.data, self.at)[0]
        if fields < 0:
            raise ValueError("a table is outside the data")
        (size,) = struct.unpack_from("<H", self.data, fields)
        if 4 + 2 * number >= size:
            return 0
        (offset,) = struct.unpack_from("<H", self.data, fields + 4 + 2 * number)
        return self.at + int(offset) if offset else 0

    def _target(self, number: int) -> int:
        """The position of the table or vector in a field, 0 if it is absent."""
        field = self._field(number)
        return field and field + int(struct.unpack_from("<I", self.data, field)[0])

    def table(self, number: int) -> _FlatTable:
        return _FlatTable(self.data, self._target(number))

    def vector(self, number: int) -> tuple[int, int]:
        """Position of the first element, and number of elements."""
        start = self._target(number)
        return (start + 4, struct.unpack_from("<I", self.data, start)[0]) if start else (0, 0)

    def tables(self, number: int) -> Iterator[_FlatTable]:
        """A vector of tables; an element is the distance to its table."""
        start, count = self.vector(number)
        for at in range(start, start + 4 * count, 4):
            yield _FlatTable(self.data, at + int(struct.unpack_from("<I", self.data, at)[0]))

    def byte(self, number: int) -> int:
        field = self._field(number)
        return int(struct.unpack_from("<B", self.data, field)[0]) if field else 0

    def text(self, number: int) -> str:
        start, count = self.vector(number)
        return self.data[start : start + count].decode(errors="replace")

    def integers(self, number: int, each: int = 1) -> tuple[int, ...]:
        """A vector whose elements are `each` 64-bit integers."""
        start, count = self.vector(number)
        return struct.unpack_from(f"<{each * count}q", self.data, start) if count else ()

    def pairs(self, number: int) -> list[tuple[int, int]]:
        """A vector of two 64-bit integers."""
        values = self.integers(number, 2)
        return list(zip(values[::2], values[1::2], strict=True))


class ArrowRows(PolarsRows):
    """The rows of an Arrow file; no rows are read yet."""

    def __init__(self, source: TableSource) -> None:
        require_polars(source.file)
        mute_native_stderr()
        import polars

        try:
            lazy = polars.scan_ipc(
                source.path, glob=False, hive_partitioning=False, credential_provider=None
            )
            super().__init__(source, lazy)
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise damaged_arrow(source.file) from error

    def require_sound(self, chosen: list[str], rows: range) -> None:
        """Reject a file that decompresses to far more than its size."""
        size = os.fstat(self.source.stream.fileno()).st_size
        reject_decompression_bomb(
            8 * self.count * len(chosen), size, _LARGEST_ARROW_RATIO, self.source.file
        )

    def damaged(self, error: BaseException | None = None) -> RobolinError:
        return damaged_arrow(self.source.file)


def damaged_arrow(file: str) -> RobolinError:
    """The error for a file that polars cannot read."""
    hint = (
        "write the table as an Arrow IPC file, for example polars.DataFrame.write_ipc, or use "
        "Parquet"
    )
    return RobolinError("not a valid Arrow IPC file", where=file, hint=hint)
