"""CSV: one row per state, every number in as few digits as bring back the same bits."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import BinaryIO

from robolin.output.json_file import laid_out
from robolin.output.meta import meta
from robolin.output.replacing import is_stream, replacing, replacing_together
from robolin.output.result import Result, flat

# below this the time to import polars is longer than the time it saves
_LARGE_TABLE = 300_000


def write_csv(result: Result, path: str | Path) -> None:
    """Write the table, and its provenance beside it as `<path>.meta.json`.

    A pipe or a device gets the table alone.
    """
    if is_stream(path):
        with replacing(path) as table:
            write_csv_to(result, table)
        return
    with replacing_together(path, f"{path}.meta.json") as (table, beside):
        write_csv_to(result, table)
        beside.write(f"{laid_out(meta(result))}\n".encode())


def write_csv_to(result: Result, stream: BinaryIO) -> None:
    """Write the table into an open stream, as UTF-8."""
    names, values = flat(result)
    if values.size >= _LARGE_TABLE:
        import polars

        polars.from_numpy(values, schema=names, orient="row").write_csv(stream)
        return
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(values.tolist())
    stream.write(text.getvalue().encode())
