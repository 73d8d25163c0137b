"""Read recordings in Arrow IPC files (.arrow, .feather) with polars."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from robolin.errors import RobolinError
from robolin.io.formats.parquet_reader import PolarsRows, polars_table
from robolin.io.library_messages import mute_native_stderr
from robolin.io.table_file import (
    TableFile,
    TableSource,
    reject_decompression_bomb,
    require_polars,
)

_MAGIC = b"ARROW1"
_LARGEST_RATIO = 1000


@contextmanager
def open_arrow(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The columns of an Arrow file."""
    if part:
        raise RobolinError("an Arrow file has no parts", where=file, hint=f"use {location}")
    with open(location, "rb") as stream:
        begin = stream.read(len(_MAGIC))
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - len(_MAGIC), 0))
        if begin != _MAGIC or stream.read() != _MAGIC:
            raise damaged_arrow(file)
        source = TableSource(stream, location, file, joints=joints)
        yield polars_table(ArrowRows(source), source)


class ArrowRows(PolarsRows):
    """The rows of an Arrow file; no rows are read yet."""

    def __init__(self, source: TableSource) -> None:
        require_polars(source.file)
        mute_native_stderr()
        import polars

        try:
            lazy = polars.scan_ipc(
                source.path, glob=False, hive_partitioning=False, credential_provider=None
            )
            super().__init__(source, lazy)
        except (polars.exceptions.PolarsError, polars.exceptions.PanicException) as error:
            raise damaged_arrow(source.file) from error

    def require_sound(self, chosen: list[str], rows: range) -> None:
        """Reject a file that decompresses to far more than its size."""
        size = os.fstat(self.source.stream.fileno()).st_size
        reject_decompression_bomb(
            8 * self.count * len(chosen), size, _LARGEST_RATIO, self.source.file
        )

    def damaged(self, error: BaseException | None = None) -> RobolinError:
        return damaged_arrow(self.source.file)


def damaged_arrow(file: str) -> RobolinError:
    """The error for a file that polars cannot read."""
    hint = "write it as an Arrow IPC file, for example polars.DataFrame.write_ipc, or use Parquet"
    return RobolinError("not an Arrow IPC file, or damaged", where=file, hint=hint)
