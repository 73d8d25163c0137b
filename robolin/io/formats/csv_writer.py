"""CSV: one row per state; numbers in the shortest form that round-trips exactly."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from robolin.core.arrays import format_datetimes, with_shortest_digits
from robolin.core.result import Result, ResultStream
from robolin.core.summary import Columns, column_names, table_columns
from robolin.core.threads import after_short_answer, close_generator, prefetch
from robolin.io.atomic import atomic_write, atomic_write_all, is_stream
from robolin.io.format_table import FORMATS

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
    from robolin.io.formats.json_writer import dumps_indented
    from robolin.io.provenance import Digests

    # readers reject a new companion of an old table, which an interruption may leave
    with atomic_write_all([FORMATS["csv"].companion_path(path), path]) as (companion, table):
        digests = Digests()
        _write_table(result, table, digests.passing)
        companion.write(f"{dumps_indented(digests.meta(result))}\n".encode())


def write_csv_to(result: ResultStream, stream: BinaryIO) -> None:
    """Write the table into an open stream, as UTF-8."""
    _write_table(result, stream, iter)


def _write_table(
    result: ResultStream,
    stream: BinaryIO,
    passing: Callable[[Iterable[Result]], Iterator[Result]],
) -> None:
    """Write the table; `passing` yields the parts of the result while they are written."""
    make_texts = _texts_per_part if result.live else _texts
    start_when = after_short_answer(_numbers_in)
    try:
        with closing(prefetch(make_texts(passing(result.parts)), start_when)) as texts:
            for text in texts:
                stream.write(text)
                if result.live:
                    stream.flush()
    finally:
        close_generator(result.parts)


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
    write = _by_polars if size >= _LARGE_TABLE and _polars_fits() else _by_python
    for part in chain(held, rest):
        groups = table_columns(part)
        at_once = max(_NUMBERS_AT_ONCE // sum(len(group.names) for group in groups), 1)
        for first in range(0, len(groups[0].values), at_once):
            yield write(groups, slice(first, first + at_once))


def _polars_fits() -> bool:
    from robolin.io.table_file import polars_usable

    return polars_usable()


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
        else with_shortest_digits(group.values[rows]).tolist()
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
