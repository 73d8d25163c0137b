"""Read Parquet files with polars; other files that polars scans share the reader of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from robolin.core.arrays import Integers
from robolin.core.progress import mute_native_stderr
from robolin.errors import RobolinError
from robolin.io.format_table import is_stored
from robolin.io.formats.parquet_footer import (
    ColumnChunk,
    FooterError,
    column_chunks,
    read_footer,
    require_pages,
)
from robolin.io.object_stores import known_problem, polars_options
from robolin.io.table_file import (
    ReadRequest,
    TableBlock,
    TableFile,
    TableSource,
    raise_first,
    reject_decompression_bomb,
    require_finite_cells,
    require_polars,
    row_location,
)

# Parquet stores repeated values in a few bytes; recordings have at least a changing time
_LARGEST_RATIO = 1000
# largest size in bytes of a row group, which is read in one piece, or ratio to its size in the file
_GROUP_ALWAYS_FINE, _LARGEST_GROUP_RATIO = 1 << 27, 16
# polars decodes whole row groups, and several ahead: slices of about 32 MiB limit its memory use
_NUMBERS_PER_SLICE = 1 << 22

if TYPE_CHECKING:
    from polars import DataFrame, DataType, LazyFrame, Schema


def parquet_table(source: TableSource) -> TableFile:
    """Read names and types; columns that are not requested may have any type."""
    return polars_table(ParquetRows(source), source)


def polars_table(rows: PolarsRows, source: TableSource) -> TableFile:
    """The table of a file that polars scans."""
    names, schema = rows.names, rows.schema
    return TableFile(
        names,
        rows.blocks,
        size=rows.count,
        most_rows=lambda: rows.count,
        digest=lambda: source.digest(by_path=True),
        supports_slicing=True,
        is_integer=lambda i: schema[names[i]].is_integer(),
        datetime_unit=lambda i: _unit(schema[names[i]]),
        texts=lambda indices: _texts(rows.lazy, [names[i] for i in indices], source),
    )


class PolarsRows:
    """The rows of a file that polars scans; no rows are read yet."""

    schema: Any
    names: list[str]
    source: TableSource
    lazy: LazyFrame

    def __init__(self, source: TableSource, lazy: LazyFrame) -> None:
        import polars

        self.source, self.lazy = source, lazy
        self.schema = lazy.collect_schema()
        self.count: int = lazy.select(polars.len()).collect().item()
        self.names = self.schema.names()

    def blocks(self, request: ReadRequest) -> Iterator[TableBlock]:
        """Yield the requested rows and columns in blocks."""
        chosen, rows = [self.names[i] for i in request.indices], request.within(self.count)
        schema, file = self.schema, self.source.file
        _require_numbers(schema, [n for n in chosen if _unit(schema[n]) is None], file)
        _require_float64(schema, [self.names[i] for i in request.exact], file)
        self.require_sound(chosen, rows)
        first, step = rows.start, self.rows_per_slice(len(chosen), len(rows))
        while first < rows.stop:
            stop = min(first + step, rows.stop)
            some = self.lazy.select(chosen).slice(first, stop - first)
            for frame in self._frames(some, request.rows):
                yield self._block(frame, first, request)
                first += len(frame)
            if first != stop:
                # if polars panics in one of its threads, the rows just end early
                raise self.damaged()

    def require_sound(self, chosen: list[str], rows: range) -> None:
        """Reject a file that decompresses to far more than its size."""
        raise NotImplementedError

    def rows_per_slice(self, columns: int, rows: int) -> int:
        """The number of rows of one scan; memory use grows with it."""
        return max(rows, 1)

    def damaged(self, error: BaseException | None = None) -> RobolinError:
        """The error for a file that polars cannot read."""
        raise NotImplementedError

    def _frames(self, lazy: LazyFrame, rows: int) -> Iterator[DataFrame]:
        import polars

        try:
            yield from lazy.collect_batches(chunk_size=rows, maintain_order=True)
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise self.damaged(error) from error

    def _block(self, frame: DataFrame, first: int, request: ReadRequest) -> TableBlock:
        import polars

        names, file = self.names, self.source.file
        values = np.asarray(_as_float64(frame).to_numpy(), dtype=np.float64)
        integers = {
            i: _integers(frame, names[i], request.datetimes.get(i), file) for i in request.integers
        }
        block = TableBlock(values, row_location(file, first), first + len(values), integers)
        if not request.allow_nan and not np.isfinite(values).all():
            # empty cells are only needed for the error message
            empty = frame.select(polars.all().is_null()).to_numpy()
            require_finite_cells(block, names, request, file, self.count, empty)
        return block


class ParquetRows(PolarsRows):
    """The rows of a Parquet file whose footer is valid."""

    def __init__(self, source: TableSource) -> None:
        self._chunks = validated_chunks(source.stream, source.file)
        require_polars(source.file)
        mute_native_stderr()
        import polars

        try:
            super().__init__(source, _scanned(source.path))
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise _unread(source.path, source.file, error) from error
        self._size = source.stream.seek(0, os.SEEK_END)

    def require_sound(self, chosen: list[str], rows: range) -> None:
        """Reject a file that decompresses to far more than its size."""
        file = self.source.file
        reject_decompression_bomb(8 * self.count * len(chosen), self._size, _LARGEST_RATIO, file)
        names = {(name.encode(),) for name in chosen}
        chunks = [chunk for chunk in self._chunks if chunk.name in names]
        _require_groups(chunks, len(chosen), file)
        if not is_stored(self.source.path):
            # in a store every page would need a request
            with footer_errors(file):
                require_pages(self.source.stream, (c for c in chunks if _overlap(c.rows, rows)))

    def rows_per_slice(self, columns: int, rows: int) -> int:
        # in a store every slice would need requests
        if is_stored(self.source.path):
            return super().rows_per_slice(columns, rows)
        return max(_NUMBERS_PER_SLICE // max(columns, 1), 1)

    def damaged(self, error: BaseException | None = None) -> RobolinError:
        if error is None:
            return damaged_parquet(self.source.file)
        return _unread(self.source.path, self.source.file, error)


def _scanned(path: str) -> LazyFrame:
    """A lazy frame of the file; polars reads directly from a store."""
    import polars

    options: dict[str, Any] = {"glob": False, "hive_partitioning": False, "low_memory": True}
    if is_stored(path):
        # credentials from the usual variables, without further packages
        options |= {"storage_options": polars_options(path), "credential_provider": None}
    return polars.scan_parquet(path, **options)


def _texts(lazy: LazyFrame, names: Sequence[str], source: TableSource) -> tuple[str, ...] | None:
    """The text of these columns if it is the same in every row, else None."""
    import polars

    schema = lazy.collect_schema()
    if any(schema[name] not in (polars.String, polars.Categorical) for name in names):
        return None
    try:
        distinct = lazy.select(polars.col(names).cast(polars.String)).unique().head(2).collect()
    except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
        raise _unread(source.path, source.file, error) from error
    if len(distinct) != 1 or None in distinct.row(0):
        return None
    return tuple(map(str, distinct.row(0)))


def _unit(kind: DataType) -> str | None:
    """The unit of date and time without a zone or in UTC, None for any other type."""
    import polars

    if isinstance(kind, polars.Datetime) and kind.time_zone in (None, "UTC"):
        return kind.time_unit
    return None


def _integers(frame: DataFrame, name: str, unit: str | None, file: str) -> Integers:
    """A column of integers or date and time as int64, without empty cells."""
    import polars

    if frame[name].null_count():
        raise RobolinError(f"column '{name}' has an empty cell", where=file)
    try:
        values: Integers = frame[name].cast(polars.Int64).to_numpy()
        held = _unit(frame.schema[name])
        return (
            values
            if held in (unit, None)
            else values.view(f"M8[{held}]").astype(f"M8[{unit}]").view(np.int64)
        )
    except polars.exceptions.PolarsError as error:
        message = f"column '{name}' contains integers of more than 64 bits"
        raise RobolinError(message, where=file) from error


def _as_float64(frame: DataFrame) -> DataFrame:
    import polars

    # polars plans a query for every cast, even if there is nothing to do
    done = all(kind == polars.Float64 for kind in frame.dtypes)
    return frame if done else frame.cast(polars.Float64)


def _unread(path: str, file: str, error: BaseException) -> RobolinError:
    """The error for a failed read: a known problem of the store, else a damaged file."""
    problem = known_problem(path, str(error)) if is_stored(path) else None
    return problem or damaged_parquet(file)


def _overlap(some: range, others: range) -> bool:
    return some.start < others.stop and others.start < some.stop


def _require_groups(chunks: Sequence[ColumnChunk], columns: int, file: str) -> None:
    """Reject row groups that decompress to far more than their size in the file."""
    packed: dict[range, int] = {}
    for chunk in chunks:
        packed[chunk.rows] = packed.get(chunk.rows, 0) + chunk.packed
    for number, (rows, size) in enumerate(packed.items(), 1):
        unfolded = 8 * len(rows) * columns
        if unfolded > max(_GROUP_ALWAYS_FINE, _LARGEST_GROUP_RATIO * size):
            message = (
                f"row group {number} expands from {size} to {unfolded} bytes, which is implausible"
            )
            hint = "write smaller row groups, for example 100000 rows each"
            raise RobolinError(message, where=file, hint=hint)


def validated_chunks(stream: BinaryIO, file: str) -> list[ColumnChunk]:
    """The columns of the row groups; RobolinError if the file is damaged."""
    with footer_errors(file):
        return column_chunks(read_footer(stream))


@contextmanager
def footer_errors(file: str) -> Iterator[None]:
    """Raise errors of a footer and of pages as RobolinError."""
    try:
        yield
    except FooterError as error:
        raise damaged_parquet(file) from error


def _require_numbers(schema: Schema, chosen: Sequence[str], file: str) -> None:
    raise_first(
        (
            RobolinError(f"column '{name}' must contain numbers, got {schema[name]}", where=file)
            for name in chosen
            if not schema[name].is_numeric()
        ),
        file,
    )


def _require_float64(schema: Schema, exact: Sequence[str], file: str) -> None:
    """Reject decimal types in columns that must not be rounded."""
    for name in exact:
        if schema[name].is_decimal():
            message = f"column '{name}' contains {schema[name]} values, which float64 would round"
            hint = "store the column as integers, for example in ns, or as Float64"
            raise RobolinError(message, where=file, hint=hint)


def damaged_parquet(file: str) -> RobolinError:
    """The error for a file that polars cannot read."""
    return RobolinError(
        "not a valid Parquet file", where=file, hint="write the file again, or use CSV or NPZ"
    )
