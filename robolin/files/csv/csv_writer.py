"""CSV: one row per state, every number in as few digits as bring back the same bits."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from robolin.arrays import Floats
from robolin.background import from_item, prefetch
from robolin.files.atomic import is_stream, replacing, replacing_together
from robolin.files.json.json_writer import laid_out
from robolin.files.meta import Digests
from robolin.results.result import Result, ResultStream, flat

# below this the time to import polars is longer than the time it saves
_LARGE_TABLE = 300_000
# text takes more memory than numbers, so that it is made of fewer of them at a time
_NUMBERS_AT_ONCE = 1 << 18


def write_csv(flow: ResultStream, path: str | Path) -> None:
    """Write the table, and its provenance beside it as `<path>.meta.json`.

    A pipe or a device gets the table alone.
    """
    if is_stream(path):
        with replacing(path) as table:
            write_csv_to(flow, table)
        return
    # an error is told of the last one, which is the one that fills the disk
    with replacing_together(f"{path}.meta.json", path) as (beside, table):
        digests = write_csv_to(flow, table)
        beside.write(f"{laid_out(digests.meta(flow))}\n".encode())


def write_csv_to(flow: ResultStream, stream: BinaryIO) -> Digests:
    """Write the table into an open stream, as UTF-8."""
    digests = Digests()
    with closing(prefetch(_texts(digests.passing(flow.parts)), from_item(4))) as texts:
        for text in texts:
            stream.write(text)
    return digests


def _texts(parts: Iterable[Result]) -> Iterator[bytes]:
    """The table piece by piece; how it is divided into parts does not show."""
    rest = iter(parts)
    held: list[Result] = []
    size = 0
    for part in rest:
        held.append(part)
        size += sum(values.size for _, values in part.stored())
        if size >= _LARGE_TABLE:
            break
    yield _lines([flat(held[0])[0]])
    written = _by_polars if size >= _LARGE_TABLE else _by_python
    for part in chain(held, rest):
        values = flat(part)[1]
        at_once = max(_NUMBERS_AT_ONCE // values.shape[1], 1)
        for first in range(0, len(values), at_once):
            yield written(values[first : first + at_once])


def _by_polars(values: Floats) -> bytes:
    import polars

    text = io.BytesIO()
    polars.from_numpy(values, orient="row").write_csv(text, include_header=False)
    return text.getvalue()


def _by_python(values: Floats) -> bytes:
    return _lines([_shown(value) for value in row] for row in values.tolist())


def _shown(value: float) -> str:
    # as polars writes it
    return repr(value) if value == value else "NaN"


def _lines(rows: Iterable[list[str]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
