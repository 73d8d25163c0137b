"""Parquet: the columns of the CSV, with the provenance inside the file under the key `robolin`."""

from __future__ import annotations

from pathlib import Path

from robolin.output.meta import meta_text
from robolin.output.replacing import replacing
from robolin.output.result import Result, flat


def write_parquet(result: Result, path: str | Path) -> None:
    """Write the table as one Parquet file."""
    import polars

    names, values = flat(result)
    table = polars.from_numpy(values, schema=names, orient="row")
    with replacing(path) as stream:
        table.write_parquet(stream, metadata={"robolin": meta_text(result)})
