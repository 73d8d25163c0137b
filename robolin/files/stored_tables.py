"""Stored results that are tables: CSV with its provenance beside it, Parquet with it inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO

import numpy as np

from robolin.errors import FileError, RobolinError
from robolin.files.csv.csv_reader import csv_sheet
from robolin.files.parquet.parquet_reader import parquet_sheet
from robolin.files.parquet.parquet_writer import META, UNCHECKED, checksum_but_for, checksum_place
from robolin.files.provenance import (
    Blocks,
    Meta,
    companion,
    damaged,
    entries_of,
    open_bytes,
    provenance,
)
from robolin.files.stored_file import StoredFile
from robolin.files.table_file import ReadRequest, TableFile


@contextmanager
def open_csv(path: Path) -> Iterator[StoredFile]:
    """A CSV file and the provenance in `<path>.meta.json`."""
    where = str(path)
    with open_bytes(path) as stream:
        beside = f"{path}.meta.json"
        try:
            with open_bytes(beside) as text:
                meta = provenance(text.read(), beside, "the provenance")
        except FileError as error:
            message = f"its provenance cannot be read: {error.message}"
            hint = f"robolin writes '{Path(beside).name}' with -o FILE.csv; keep both together"
            raise RobolinError(message, where=beside, hint=hint) from error
        sheet = csv_sheet(stream, where, None, lambda: None)
        yield _table(sheet, meta, where)


@contextmanager
def open_parquet(path: Path) -> Iterator[StoredFile]:
    """A Parquet file; nothing but its checksum is looked at before that is found to be right."""
    where = str(path)
    with open_bytes(path) as stream:
        _require_checksum(stream, where)
        meta = provenance(_parquet_meta(where), where)
        yield _table(parquet_sheet(stream, where, where), meta, where)


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


def _parquet_meta(where: str) -> str:
    import polars

    try:
        return polars.read_parquet_metadata(where)[META]
    except (polars.exceptions.PolarsError, KeyError) as error:
        raise damaged(where, "it has no provenance") from error


def _table(sheet: TableFile, meta: Meta, where: str) -> StoredFile:
    expected = [name for entry in entries_of(meta) for name in entry.column_names()]
    if list(sheet.names) != expected:
        odd = next(
            (name for name, other in zip(sheet.names, expected, strict=False) if name != other),
            f"number {min(len(sheet.names), len(expected)) + 1}",
        )
        message = f"its columns are not the ones its provenance states, from column '{odd}' on"
        raise damaged(where, message + companion(where))
    return StoredFile(where, meta, partial(_blocks, sheet, meta, where))


def _blocks(sheet: TableFile, meta: Meta, where: str, rows: int) -> Blocks:
    """The columns of each array put together again."""
    entries = entries_of(meta)
    one_state = meta["rows"] is None
    request = ReadRequest(range(len(sheet.names)), rows, gaps=True)
    seen = 0
    for block in sheet.blocks(request):
        seen += len(block.values)
        if one_state and seen > 1:
            raise damaged(where, f"it has {seen} rows or more, and was stored with one state")
        values = np.where(np.isnan(block.values), np.nan, block.values)
        arrays, start = {}, 0
        for entry in entries:
            shape = entry.shape if one_state else (len(values), *entry.shape[1:])
            stop = start + len(entry.column_names())
            part = values[:, start:stop]
            arrays[entry.name] = part.reshape(shape)
            start = stop
        yield arrays
    if one_state and not seen:
        raise damaged(where, "it has no row, and was stored with one state")
