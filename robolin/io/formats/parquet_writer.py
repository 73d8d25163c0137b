"""Parquet: the columns of the CSV, with the provenance as metadata under the key `robolin`."""

from __future__ import annotations

import os
import re
import shutil
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from threading import Event
from typing import IO, TYPE_CHECKING, Any, BinaryIO

import numpy as np

from robolin.core.result import Result, ResultStream
from robolin.core.summary import Columns, table_columns
from robolin.core.threads import (
    SMALL_RESULT,
    after_short_answer,
    close_generator,
    in_background,
    prefetch,
)
from robolin.errors import FileError, RobolinError
from robolin.io.atomic import atomic_write, is_stream
from robolin.io.formats.parquet_footer import meta_value, read_footer
from robolin.io.formats.parquet_reader import footer_errors, parquet_table
from robolin.io.provenance import Digests, Meta, corrupt_file_error, open_bytes, provenance
from robolin.io.stored import StoredFile, stored_table
from robolin.io.table_file import TableSource, require_polars

if TYPE_CHECKING:
    from polars import DataFrame


# equal rows give equal row groups, and so equal bytes, regardless of how rows are divided
_NUMBERS_PER_GROUP = 1 << 21
_READ_AT_ONCE = 1 << 22
# digits of computed numbers hardly repeat: zstd makes files 5–9 % smaller, and takes twice as long
# to write
_COMPRESSION = "snappy"

# the provenance and, in hexadecimal digits, a CRC-32 of the file with zeros instead of the digits
META, CHECKSUM, UNCHECKED = "robolin", "robolin.crc32", "0" * 8
_CHECKSUM = re.compile(CHECKSUM.encode() + rb"[^0-9a-f]{1,4}([0-9a-f]{8})")
_TAIL = 8


def write_parquet(result: ResultStream, path: str | Path) -> None:
    """Write the table as one Parquet file, one row group at a time."""
    with atomic_write(path) as stream:
        if is_stream(path):
            # the checksum is inserted last, which requires a seekable file
            with tempfile.TemporaryFile() as held:
                _write_parquet_to(result, held, path)
                held.seek(0)
                shutil.copyfileobj(held, stream, _READ_AT_ONCE)
        else:
            _write_parquet_to(result, stream, path)


def _write_parquet_to(result: ResultStream, stream: IO[bytes], path: str | Path) -> None:
    require_polars(str(path))
    import polars

    digests = Digests()
    start_when = after_short_answer(attrgetter("size"))
    parts = prefetch(digests.passing(result.parts), start_when)
    with ExitStack() as leaving:
        leaving.callback(close_generator, parts)
        try:
            _sink(parts, stream, lambda: digests.meta_text(result))
        except polars.exceptions.PolarsError as error:
            _require_room(stream)
            raise FileError(f"could not write: {error}", where=str(path)) from error
    offset = checksum_offset(stream)
    assert offset is not None, "the footer contains a checksum"
    stream.seek(offset)
    stream.write(checksum_excluding(stream, offset))


def _sink(parts: Iterator[Result], stream: IO[bytes], provenance: Callable[[], str]) -> None:
    """Write the parts with polars, then the provenance, which is known after the last part."""
    from polars.io.plugins import register_io_source

    first_parts, all_there = _beginning(parts)
    schema, leave = _data_frame(first_parts[0]).schema, Event()
    texts: list[str] = []

    def frames(*_: Any) -> Iterator[DataFrame]:
        for part in chain(first_parts, parts):
            if leave.is_set():
                return
            yield _data_frame(part)
        texts.append(provenance())

    sink = partial(
        register_io_source(frames, schema=schema).sink_parquet,
        stream,
        row_group_size=max(_NUMBERS_PER_GROUP // len(schema), 1),
        compression=_COMPRESSION,
        maintain_order=True,
        metadata=lambda _: {META: texts[0], CHECKSUM: UNCHECKED},
    )
    if all_there:
        # too short to need an interruption
        sink()
    else:
        in_background(sink, leave)


def _beginning(parts: Iterator[Result]) -> tuple[list[Result], bool]:
    """The first parts, up to the size of a small result, and whether these are all parts."""
    first_parts, numbers = [], 0
    for part in parts:
        first_parts.append(part)
        numbers += part.size
        if numbers > SMALL_RESULT:
            return first_parts, False
    return first_parts, True


def _require_room(stream: IO[bytes]) -> None:
    """Write some bytes, so that a full disk raises the error of the system."""
    stream.seek(0, os.SEEK_END)
    stream.write(bytes(_READ_AT_ONCE))
    stream.flush()


def _data_frame(part: Result) -> DataFrame:
    """The rows of a part as named columns."""
    import polars

    groups = table_columns(part)
    frames = [_columns(group) for group in groups]
    return frames[0] if len(frames) == 1 else polars.concat(frames, how="horizontal")


def _columns(group: Columns) -> DataFrame:
    import polars

    if group.values.dtype.kind != "M":
        return polars.from_numpy(group.values, schema=group.names, orient="row")
    # Parquet has no time stamps in seconds
    fine = np.dtype("M8[ms]") if group.values.dtype == "M8[s]" else group.values.dtype
    columns = zip(group.names, group.values.T.astype(fine), strict=True)
    return polars.DataFrame({name: polars.Series(values) for name, values in columns})


def checksum_offset(stream: IO[bytes]) -> int | None:
    """The byte offset of the checksum in a Parquet file, None if it has none."""
    size = stream.seek(0, os.SEEK_END)
    if size < _TAIL:
        return None
    stream.seek(size - _TAIL)
    length, end = struct.unpack("<I4s", stream.read(_TAIL))
    start = size - _TAIL - length
    if end != b"PAR1" or start < 0:
        return None
    stream.seek(start)
    matches = list(_CHECKSUM.finditer(stream.read(length)))
    # the provenance, which comes first, may contain similar text
    return start + matches[-1].start(1) if matches else None


def checksum_excluding(stream: IO[bytes], offset: int) -> bytes:
    """The checksum of the file without its digits; the stream is left at `offset`."""
    stream.seek(0)
    total = 0
    for size in _pieces(offset):
        total = zlib.crc32(stream.read(size), total)
    total = zlib.crc32(UNCHECKED.encode(), total)
    stream.seek(offset + len(UNCHECKED))
    while piece := stream.read(_READ_AT_ONCE):
        total = zlib.crc32(piece, total)
    stream.seek(offset)
    return f"{total:08x}".encode()


def _pieces(size: int) -> Iterator[int]:
    for done in range(0, size, _READ_AT_ONCE):
        yield min(_READ_AT_ONCE, size - done)


@contextmanager
def open_parquet(path: Path) -> Iterator[StoredFile]:
    """Open a Parquet file; the checksum is verified before anything is parsed."""
    where = str(path)
    with open_bytes(path) as stream:
        _require_checksum(stream, where)
        meta = parquet_provenance(stream, where)
        yield stored_table(parquet_table(TableSource(stream, where, where)), meta, where)


def parquet_provenance(stream: BinaryIO, where: str) -> Meta:
    """The provenance in the metadata of a Parquet file, without reading its numbers."""
    return provenance(_parquet_meta(stream, where), where)


def _require_checksum(stream: BinaryIO, where: str) -> None:
    offset = checksum_offset(stream)
    if offset is None:
        raise RobolinError(
            "not a valid Parquet file written by robolin",
            where=where,
            hint="write a result with -o FILE.parquet",
        )
    expected = checksum_excluding(stream, offset)
    if stream.read(len(UNCHECKED)) != expected:
        raise corrupt_file_error(where, "the file was changed after it was stored")


def _parquet_meta(stream: BinaryIO, where: str) -> bytes:
    with footer_errors(where):
        meta = meta_value(read_footer(stream), META)
    if meta is None:
        raise corrupt_file_error(where, "provenance is missing")
    return meta
