"""Parquet files, read by polars."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np

from robolin.errors import RobolinError
from robolin.trajectory.sheet import Sheet, raise_first, require_finite
from robolin.trajectory.trajectory import Floats


def parquet_sheet(data: bytes, file: str) -> Sheet:
    """Read the file; columns that nobody asks for may hold anything."""
    import polars

    try:
        table = polars.read_parquet(io.BytesIO(data))
    except polars.exceptions.PolarsError as error:
        raise RobolinError(
            "not a Parquet file, or a damaged one",
            where=file,
            hint="write it again, or use CSV or NPZ",
        ) from error

    def numbers(indices: Sequence[int]) -> Floats:
        chosen = table.select([table.columns[i] for i in indices])
        raise_first(
            (
                RobolinError(f"the column '{name}' holds {kind}, not numbers", where=file)
                for name, kind in chosen.schema.items()
                if not kind.is_numeric()
            ),
            file,
        )
        values = np.asarray(chosen.cast(polars.Float64).to_numpy(), dtype=np.float64)
        empty = chosen.select(polars.all().is_null()).to_numpy()
        require_finite(values, chosen.columns, file, empty)
        return values

    return Sheet(table.columns, numbers)
