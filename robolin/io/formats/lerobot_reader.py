"""Episodes of LeRobot datasets as tables: Parquet files, and meta/info.json with their names.

The names of joints are told there, their units are not: whoever reads an angle must be told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.io.formats.lerobot_episodes import episode_rows
from robolin.io.formats.lerobot_names import FEATURES, columns_of, feature_names
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    counted_place,
    digest_of,
    require_finite_cells,
)

if TYPE_CHECKING:
    from polars import DataFrame, Series


def is_dataset(path: Path) -> bool:
    """Whether a folder is a dataset of LeRobot."""
    return (path / "meta" / "info.json").is_file()


@contextmanager
def open_dataset(place: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """One episode as a table; `part` is its number, '' that of the only one."""
    folder = Path(place)
    names = feature_names(folder, file)
    frame, files = episode_rows(folder, part, file)
    table = _table(frame, names, joints, file)
    yield replace(table, digest=lambda: _digest([folder / "meta" / "info.json", *files]))


def _table(
    frame: DataFrame, names: Mapping[str, Sequence[str]], joints: Sequence[str], file: str
) -> TableFile:
    columns = _columns(frame, names, joints)
    known, rows = list(columns), len(frame)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        for first in range(0, rows, request.rows):
            some = slice(first, first + request.rows)
            found = [columns[known[i]][some] for i in request.indices]
            values = np.column_stack(found).astype(np.float64)
            whole = {i: columns[known[i]][some].astype(np.int64) for i in request.whole}
            block = TableBlock(values, counted_place(file, first), first + len(values), whole)
            if not request.gaps:
                require_finite_cells(block, known, request, file, rows)
            yield block

    def whole(index: int) -> bool:
        return columns[known[index]].dtype.kind == "i"

    return TableFile(known, blocks, rows, lambda: rows, digest=str, whole=whole, units_known=False)


def _columns(
    frame: DataFrame, names: Mapping[str, Sequence[str]], joints: Sequence[str]
) -> dict[str, Numbers]:
    columns: dict[str, Numbers] = {}
    elsewhere = {FEATURES[name] for name in frame.columns if FEATURES.get(name, "q") != "q"}
    for name in frame.columns:
        if frame.schema[name].is_numeric() and name not in FEATURES:
            columns[name] = _numbers(frame[name])
        elif (values := _matrix(frame, name)) is not None:
            entries = columns_of(name, names.get(name, ()), values.shape[1], joints, elsewhere)
            columns.update(zip(entries, values.T, strict=True))
    return columns


def _numbers(series: Series) -> Numbers:
    """A column of int64, or of float64 where it has fractions, gaps or larger numbers."""
    import polars

    whole = series.dtype.is_integer() and series.dtype != polars.UInt64 and not series.null_count()
    return series.cast(polars.Int64 if whole else polars.Float64).to_numpy()


def _matrix(frame: DataFrame, name: str) -> Floats | None:
    """The numbers of lists that are all of one length; None for anything else."""
    import polars

    series = frame[name]
    if series.dtype.is_numeric():
        # LeRobot writes lists of one as numbers
        return series.cast(polars.Float64).to_numpy().reshape(-1, 1)
    if not len(frame):
        return None
    series = series.arr.to_list() if isinstance(series.dtype, polars.Array) else series
    lengths = series.list.len()
    if series.null_count() or lengths.n_unique() != 1 or not lengths[0]:
        return None
    flat = series.explode().cast(polars.Float64).to_numpy()
    return np.asarray(flat, dtype=np.float64).reshape(len(frame), -1)


def _digest(files: Sequence[Path]) -> str:
    """SHA-256 of all files of the dataset that were looked at, one after the other."""
    digest = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            digest.update(digest_of(stream).encode())
    return digest.hexdigest()
