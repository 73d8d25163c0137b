"""Stored results that are CSV files, with their provenance beside them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from robolin.errors import FileError, RobolinError
from robolin.io.atomic import is_stream
from robolin.io.format_table import FORMATS
from robolin.io.formats.csv_reader import csv_table
from robolin.io.paired_files import waiting_place
from robolin.io.provenance_reader import Meta, open_bytes, provenance
from robolin.io.stored_columns import stored_table
from robolin.io.stored_file import StoredFile
from robolin.io.table_file import TableSource

# of so many files that are replaced while they are opened, one stays for long enough
_ATTEMPTS = 20


def companion_of(path: str | Path) -> Path:
    """Where the provenance of a CSV file is."""
    return Path(f"{path}{FORMATS['csv'].companion}")


@contextmanager
def open_csv(path: Path) -> Iterator[StoredFile]:
    """A CSV file and the provenance in `<path>.meta.json`."""
    for left in reversed(range(_ATTEMPTS)):
        with open_bytes(path) as stream:
            meta = _provenance(path, stream)
            if left and _replaced(path, stream):
                # what was found beside it may belong to the next one
                continue
            yield _stored(path, stream, meta)
            return


def belongs(path: Path, companion: Path) -> bool:
    """Whether every number of a CSV file is the one that this provenance states."""
    try:
        with open_bytes(path) as stream:
            return _states(path, stream, companion) is not None
    except FileError:
        return False


def _provenance(path: Path, stream: BinaryIO) -> Meta:
    """What is stored about the file that is open: waiting still, or beside it."""
    if not is_stream(path):
        meta = _states(path, stream, waiting_place(companion_of(path)))
        stream.seek(0)
        if meta is not None:
            return meta
    beside = companion_of(path)
    try:
        return _read(beside)
    except FileError as error:
        message = f"its provenance cannot be read: {error.message}"
        hint = f"robolin writes '{beside.name}' with -o FILE.csv; keep both together"
        raise RobolinError(message, where=str(beside), hint=hint) from error


def _states(path: Path, stream: BinaryIO, companion: Path) -> Meta | None:
    """The provenance in a companion if it is that of the file, None otherwise."""
    if not companion.exists():
        return None
    try:
        meta = _read(companion)
        for _ in _stored(path, stream, meta).blocks():
            pass
    except RobolinError:
        return None
    return meta


def _read(companion: Path) -> Meta:
    with open_bytes(companion) as text:
        return provenance(text.read(), str(companion), "the provenance")


def _stored(path: Path, stream: BinaryIO, meta: Meta) -> StoredFile:
    where = str(path)
    # nobody asks how far it is
    return stored_table(csv_table(TableSource(stream, where, where, False)), meta, where)


def _replaced(path: Path, stream: BinaryIO) -> bool:
    """Whether another file has taken the place of the one that is open."""
    try:
        now = os.stat(path)
    except OSError:
        return False
    return not os.path.samestat(now, os.fstat(stream.fileno()))
