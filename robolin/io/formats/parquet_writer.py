"""Parquet: the columns of the CSV, with the provenance inside the file under the key `robolin`."""

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

from robolin.core.results.result import Result, ResultStream
from robolin.core.results.table_columns import Columns, table_columns
from robolin.core.threads import (
    SMALL_RESULT,
    after_short_answer,
    close_generator,
    in_background,
    prefetch,
)
from robolin.errors import FileError, RobolinError
from robolin.io.atomic import atomic_write, is_stream
from robolin.io.formats.parquet_reader import parquet_table, validated_footer
from robolin.io.provenance_reader import Meta, corrupt_file_error, open_bytes, provenance
from robolin.io.provenance_writer import Digests
from robolin.io.stored import StoredFile, stored_table
from robolin.io.table_file import TableSource, require_polars_memory

if TYPE_CHECKING:
    from polars import DataFrame


# the same rows give the same groups of rows, and so the same bytes, however they come
_NUMBERS_PER_GROUP = 1 << 21
_READ_AT_ONCE = 1 << 22
# digits of computed numbers hardly repeat: zstd makes files 5–9 % smaller, and takes twice as long
# to write all of it
_COMPRESSION = "snappy"

# the provenance and, in hexadecimal digits, a CRC-32 of the file with zeros in their place
META, CHECKSUM, UNCHECKED = "robolin", "robolin.crc32", "0" * 8
_CHECKSUM = re.compile(CHECKSUM.encode() + rb"[^0-9a-f]{1,4}([0-9a-f]{8})")
_TAIL = 8


def write_parquet(result: ResultStream, path: str | Path) -> None:
    """Write the table as one Parquet file, group of rows by group of rows."""
    with atomic_write(path) as stream:
        if is_stream(path):
            # the checksum is put in last, which a pipe does not allow
            with tempfile.TemporaryFile() as held:
                _write_parquet_to(result, held, path)
                held.seek(0)
                shutil.copyfileobj(held, stream, _READ_AT_ONCE)
        else:
            _write_parquet_to(result, stream, path)


def _write_parquet_to(result: ResultStream, stream: IO[bytes], path: str | Path) -> None:
    require_polars_memory(str(path))
    import polars

    digests = Digests()
    goes_on = after_short_answer(attrgetter("size"))
    parts = prefetch(digests.passing(result.parts), goes_on)
    with ExitStack() as leaving:
        leaving.callback(close_generator, parts)
        try:
            _sink(parts, stream, lambda: digests.meta_text(result))
        except polars.exceptions.PolarsError as error:
            _require_room(stream)
            raise FileError(f"could not write: {error}", where=str(path)) from error
    place = checksum_place(stream)
    assert place is not None, "the checksum was given a place"
    stream.seek(place)
    stream.write(checksum_excluding(stream, place))


def _sink(parts: Iterator[Result], stream: IO[bytes], provenance: Callable[[], str]) -> None:
    """Have polars write the parts, and then the provenance, which is known when all are written."""
    from polars.io.plugins import register_io_source

    begun, all_there = _beginning(parts)
    schema, leave = _framed(begun[0]).schema, Event()
    said: list[str] = []

    def frames(*_: Any) -> Iterator[DataFrame]:
        for part in chain(begun, parts):
            if leave.is_set():
                return
            yield _framed(part)
        said.append(provenance())

    sink = partial(
        register_io_source(frames, schema=schema).sink_parquet,
        stream,
        row_group_size=max(_NUMBERS_PER_GROUP // len(schema), 1),
        compression=_COMPRESSION,
        maintain_order=True,
        metadata=lambda _: {META: said[0], CHECKSUM: UNCHECKED},
    )
    if all_there:
        # it is written before anybody could lose patience
        sink()
    else:
        in_background(sink, leave)


def _beginning(parts: Iterator[Result]) -> tuple[list[Result], bool]:
    """The first parts, as many as a short answer has, and whether there are no others."""
    begun, numbers = [], 0
    for part in parts:
        begun.append(part)
        numbers += part.size
        if numbers > SMALL_RESULT:
            return begun, False
    return begun, True


def _require_room(stream: IO[bytes]) -> None:
    """Let the system itself say what is wrong with writing, if anything still is."""
    stream.seek(0, os.SEEK_END)
    stream.write(bytes(_READ_AT_ONCE))
    stream.flush()


def _framed(part: Result) -> DataFrame:
    """Some rows as named columns."""
    import polars

    groups = table_columns(part)
    frames = [_columns(group) for group in groups]
    return frames[0] if len(frames) == 1 else polars.concat(frames, how="horizontal")


def _columns(group: Columns) -> DataFrame:
    import polars

    if group.values.dtype.kind != "M":
        return polars.from_numpy(group.values, schema=group.names, orient="row")
    # Parquet knows no whole seconds
    fine = np.dtype("M8[ms]") if group.values.dtype == "M8[s]" else group.values.dtype
    columns = zip(group.names, group.values.T.astype(fine), strict=True)
    return polars.DataFrame({name: polars.Series(values) for name, values in columns})


def checksum_place(stream: IO[bytes]) -> int | None:
    """Where in a Parquet file its checksum stands, None if there is no such place."""
    size = stream.seek(0, os.SEEK_END)
    if size < _TAIL:
        return None
    stream.seek(size - _TAIL)
    length, end = struct.unpack("<I4s", stream.read(_TAIL))
    start = size - _TAIL - length
    if end != b"PAR1" or start < 0:
        return None
    stream.seek(start)
    found = list(_CHECKSUM.finditer(stream.read(length)))
    # names inside the provenance, which comes first, may look like it
    return start + found[-1].start(1) if found else None


def checksum_excluding(stream: IO[bytes], place: int) -> bytes:
    """The digits that belong at this place; the stream is left there."""
    stream.seek(0)
    total = 0
    for size in _pieces(place):
        total = zlib.crc32(stream.read(size), total)
    total = zlib.crc32(UNCHECKED.encode(), total)
    stream.seek(place + len(UNCHECKED))
    while piece := stream.read(_READ_AT_ONCE):
        total = zlib.crc32(piece, total)
    stream.seek(place)
    return f"{total:08x}".encode()


def _pieces(size: int) -> Iterator[int]:
    for done in range(0, size, _READ_AT_ONCE):
        yield min(_READ_AT_ONCE, size - done)


@contextmanager
def open_parquet(path: Path) -> Iterator[StoredFile]:
    """A Parquet file; nothing but its checksum is looked at before that is found to be right."""
    where = str(path)
    with open_bytes(path) as stream:
        _require_checksum(stream, where)
        meta = parquet_provenance(stream, where)
        yield stored_table(parquet_table(TableSource(stream, where, where)), meta, where)


def parquet_provenance(stream: BinaryIO, where: str) -> Meta:
    """What a Parquet file says of itself at its end, whatever its numbers are."""
    return provenance(_parquet_meta(stream, where), where)


def _require_checksum(stream: BinaryIO, where: str) -> None:
    place = checksum_place(stream)
    if place is None:
        raise RobolinError(
            "not a Parquet file that robolin wrote, or a damaged one",
            where=where,
            hint="robolin writes such files with -o FILE.parquet",
        )
    expected = checksum_excluding(stream, place)
    if stream.read(len(UNCHECKED)) != expected:
        raise corrupt_file_error(where, "its bytes were changed after it was stored")


def _parquet_meta(stream: BinaryIO, where: str) -> str:
    try:
        return validated_footer(stream, where).meta[META]
    except KeyError as error:
        raise corrupt_file_error(where, "it has no provenance") from error
