"""CSV: one row per state; numbers in the shortest form that round-trips exactly."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from robolin.core.results.result import Result, ResultStream
from robolin.core.results.table_columns import (
    Columns,
    column_names,
    format_datetimes,
    table_columns,
)
from robolin.core.threads import after_short_answer, prefetch
from robolin.errors import FileError, RobolinError
from robolin.io.atomic import atomic_write, atomic_write_all, folder_lock, is_stream
from robolin.io.format_table import FORMATS
from robolin.io.formats.csv_reader import csv_table
from robolin.io.formats.json_writer import dumps_indented
from robolin.io.provenance_reader import Meta, open_bytes, provenance
from robolin.io.provenance_writer import Digests
from robolin.io.stored import StoredFile, stored_table
from robolin.io.table_file import TableSource, memory_suffices_for_polars

# below this the time to import polars is longer than the time it saves
_LARGE_TABLE = 300_000
# text needs more memory than numbers, so it is written in smaller pieces
_NUMBERS_AT_ONCE = 1 << 18

# approximate length of a number in text, with its comma
_BYTES_OF_A_NUMBER = 20


def write_csv(result: ResultStream, path: str | Path) -> None:
    """Write the table to `path` and its provenance to `<path>.meta.json`.

    A pipe or a device gets the table alone.
    """
    if is_stream(path):
        with atomic_write(path) as table:
            write_csv_to(result, table)
        return
    # readers reject a new companion of an old table, which an interruption may leave
    with atomic_write_all([companion_of(path), path]) as (companion, table):
        digests = write_csv_to(result, table)
        companion.write(f"{dumps_indented(digests.meta(result))}\n".encode())


def write_csv_to(result: ResultStream, stream: BinaryIO) -> Digests:
    """Write the table into an open stream, as UTF-8."""
    digests = Digests()
    make_texts = _texts_per_part if result.live else _texts
    start_when = after_short_answer(_numbers_in)
    with closing(prefetch(make_texts(digests.passing(result.parts)), start_when)) as texts:
        for text in texts:
            stream.write(text)
            if result.live:
                stream.flush()
    return digests


def _texts_per_part(parts: Iterable[Result]) -> Iterator[bytes]:
    """Yield the table with one text per part, for live results that must not be delayed."""
    for number, part in enumerate(parts):
        head = b"" if number else _lines([column_names(part)])
        yield head + _by_python(table_columns(part), slice(None))


def _numbers_in(text: bytes) -> float:
    """Estimate the count of numbers in a piece of the table."""
    return len(text) / _BYTES_OF_A_NUMBER


def _texts(parts: Iterable[Result]) -> Iterator[bytes]:
    """Yield the table in pieces that do not depend on how it is divided into parts."""
    rest = iter(parts)
    held: list[Result] = []
    size = 0
    for part in rest:
        held.append(part)
        size += sum(values.size for _, values in part.stored())
        if size >= _LARGE_TABLE:
            break
    yield _lines([column_names(held[0])])
    by_polars = size >= _LARGE_TABLE and memory_suffices_for_polars()
    write = _by_polars if by_polars else _by_python
    for part in chain(held, rest):
        groups = table_columns(part)
        at_once = max(_NUMBERS_AT_ONCE // sum(len(group.names) for group in groups), 1)
        for first in range(0, len(groups[0].values), at_once):
            yield write(groups, slice(first, first + at_once))


def _by_polars(groups: Sequence[Columns], rows: slice) -> bytes:
    import polars

    frames = [
        polars.DataFrame({g.names[0]: format_datetimes(g.values[rows])})
        if g.values.dtype.kind == "M"
        else polars.from_numpy(g.values[rows], schema=g.names, orient="row")
        for g in groups
    ]
    text = io.BytesIO()
    polars.concat(frames, how="horizontal").write_csv(text, include_header=False)
    return text.getvalue()


def _by_python(groups: Sequence[Columns], rows: slice) -> bytes:
    lists = [
        [[text] for text in format_datetimes(group.values[rows])]
        if group.values.dtype.kind == "M"
        else group.values[rows].tolist()
        for group in groups
    ]
    return _lines(
        [_shown(value) for part in row for value in part] for row in zip(*lists, strict=True)
    )


def _shown(value: float | str) -> str:
    if isinstance(value, str):
        return value
    # as polars writes NaN
    return repr(value) if value == value else "NaN"


def _lines(rows: Iterable[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def companion_of(path: str | Path) -> Path:
    """The path of the provenance of a CSV file."""
    return Path(f"{path}{FORMATS['csv'].companion}")


@contextmanager
def open_csv(path: Path) -> Iterator[StoredFile]:
    """Open a CSV file with its provenance in `<path>.meta.json`."""
    where = str(path)
    with ExitStack() as opened:
        # writers replace both files within this lock, which must not wait for a pipe
        folder = Path(os.path.realpath(path)).parent
        with nullcontext() if is_stream(path) else folder_lock(folder, shared=True):
            stream = opened.enter_context(open_bytes(path))
            meta = _provenance(companion_of(path))
        # not a regular file, because its size is not needed
        table = csv_table(TableSource(stream, where, where, False))
        yield stored_table(table, meta, where)


def _provenance(companion: Path) -> Meta:
    try:
        with open_bytes(companion) as text:
            return provenance(text.read(), str(companion), "the provenance")
    except FileError as error:
        message = f"reading the provenance failed: {error.message}"
        hint = f"keep '{companion.name}' next to the CSV file; robolin writes both with -o FILE.csv"
        raise RobolinError(message, where=str(companion), hint=hint) from error
