"""Stored results that are Parquet files, with their provenance inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from robolin.errors import RobolinError
from robolin.io.formats.parquet_reader import parquet_table, sound_footer
from robolin.io.formats.parquet_writer import META, UNCHECKED, checksum_but_for, checksum_place
from robolin.io.provenance_reader import Meta, damaged, open_bytes, provenance
from robolin.io.stored_columns import stored_table
from robolin.io.stored_file import StoredFile
from robolin.io.table_file import TableSource


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
    expected = checksum_but_for(stream, place)
    if stream.read(len(UNCHECKED)) != expected:
        raise damaged(where, "its bytes were changed after it was stored")


def _parquet_meta(stream: BinaryIO, where: str) -> str:
    try:
        return sound_footer(stream, where).meta[META]
    except KeyError as error:
        raise damaged(where, "it has no provenance") from error
