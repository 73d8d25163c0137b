"""Stored results that are CSV files, with their provenance beside them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from robolin.errors import FileError, RobolinError
from robolin.files.csv.csv_reader import csv_table
from robolin.files.provenance_reader import open_bytes, provenance
from robolin.files.stored_columns import stored_table
from robolin.files.stored_file import StoredFile
from robolin.files.table_file import TableSource


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
        # nobody asks how far it is
        yield stored_table(csv_table(TableSource(stream, where, where, False)), meta, where)
