"""Parquet: the columns of the CSV, with the provenance inside the file under the key `robolin`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from itertools import chain
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from robolin.ahead import ahead, apart
from robolin.errors import FileError
from robolin.output.meta import Tally
from robolin.output.replacing import replacing
from robolin.output.result import Flow, flat

if TYPE_CHECKING:
    from polars import DataFrame

# the same rows give the same groups of rows, and so the same bytes, however they come
_NUMBERS_PER_GROUP = 1 << 20


def write_parquet(flow: Flow, path: str | Path) -> None:
    """Write the table as one Parquet file, group of rows by group of rows."""
    import polars
    from polars.io.plugins import register_io_source

    tally = Tally()
    leave = Event()
    with replacing(path) as stream, closing(ahead(tally.passing(flow.parts))) as parts:
        first = next(parts)
        names = flat(first)[0]
        said: list[str] = []

        def frames(*_: Any) -> Iterator[DataFrame]:
            for part in chain([first], parts):
                if leave.is_set():
                    return
                yield polars.from_numpy(flat(part)[1], schema=names, orient="row")
            said.append(tally.meta_text(flow))

        lazy = register_io_source(frames, schema=dict.fromkeys(names, polars.Float64))
        # the metadata are asked for when all rows have been written
        sink = partial(
            lazy.sink_parquet,
            stream,
            row_group_size=max(_NUMBERS_PER_GROUP // len(names), 1),
            maintain_order=True,
            metadata=lambda _: {"robolin": said[0]},
        )
        try:
            apart(sink, leave)
        except polars.exceptions.PolarsError as error:
            raise FileError(f"could not write: {error}", where=str(path)) from error
