"""The interface of all table readers: named columns, numbers in blocks of rows."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cache
from importlib.util import find_spec
from itertools import islice
from typing import BinaryIO

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask
from robolin.core.records import dataclass
from robolin.errors import RobolinError, raise_all
from robolin.io.format_table import file_stamp, is_stored

_REPORTED_AT_MOST = 20
# kind of a column that contains only integers; stored in plans
INTEGER_COLUMN = "whole"
# bytes of numbers below which no compression ratio is suspicious
_ALWAYS_FINE = 1 << 26


@dataclass(frozen=True, eq=False)
class TableBlock:
    """Consecutive rows of a file: values of shape (rows, requested columns).

    location: describes where a row of the block is, for messages
    reached:  position in the file at the end of the block, in the units of the table's `size`
    integers: the columns requested as integers, by their index, each of shape (rows,)
    """

    values: Floats
    location: Callable[[int], str]
    reached: int
    integers: Mapping[int, Integers] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadRequest:
    """Which columns to read, and about how many rows per block.

    allow_nan: return empty cells and numbers that are not finite as NaN
    integers:  requested columns to read as integers too; they may not contain NaN
    exact:     requested columns whose integers are rejected if float64 would round them
    datetimes: columns among the integers that are date and time, each with its unit
    first:     number of rows to skip
    stop:      the row to stop before, if any
    """

    indices: Sequence[int]
    rows: int
    allow_nan: bool = False
    integers: Collection[int] = ()
    exact: Collection[int] = ()
    datetimes: Mapping[int, str] = field(default_factory=dict)
    first: int = 0
    stop: int | None = None

    def within(self, rows: int) -> range:
        """The range of rows to read from a file with this many rows."""
        stop = rows if self.stop is None else min(self.stop, rows)
        return range(min(self.first, stop), stop)


@dataclass(frozen=True)
class RowOffset:
    """Start of a row in a text: row number from 0, line number from 1, and byte offset."""

    row: int
    line: int
    byte: int


@dataclass(frozen=True)
class FileIndex:
    """Known properties of a file, so that it need not be scanned again.

    digest: SHA-256 of the file; for an object in a store its size and ETag
    marks:  where some rows of a text begin
    looks:  for scanned columns 'whole' if they are integers, or the unit of their date and time,
            or '' for neither
    even:   whether all lines of a text are rows with as many cells as there are names, in ASCII
            and without quotes
    """

    digest: str
    marks: tuple[RowOffset, ...] = ()
    looks: Mapping[int, str] = field(default_factory=dict)
    even: bool = False

    def mark_before(self, row: int) -> RowOffset | None:
        """The last known row start at or before a row."""
        return max((m for m in self.marks if m.row <= row), key=lambda m: m.row, default=None)

    def mark_at(self, row: int | None) -> RowOffset | None:
        """The known start of a row, if there is one."""
        return next((m for m in self.marks if m.row == row), None)


@dataclass(frozen=True)
class TableSource:
    """A file to be read as a table.

    stream:  its bytes, open at the beginning
    path:    where it can be opened again, unless it is a pipe
    file:    its name in messages
    regular: whether it is a file, not a pipe or a device
    joints:  the names of the joints, for a format that numbers its columns
    known:   properties known from an earlier scan
    live:    whether each row is returned as soon as it arrives
    header:  whether the first line of a text contains the column names
    opened:  the stamp of a regular file on a disk at the time it was opened
    origin:  the file on a disk that the stream decompresses or translates
    """

    stream: BinaryIO
    path: str
    file: str
    regular: bool = True
    joints: Sequence[str] = ()
    known: FileIndex | None = None
    live: bool = False
    opened: str = ""
    header: bool = True
    origin: BinaryIO | None = None

    def digest(self, *, by_path: bool = False) -> str:
        """SHA-256 of a file, unless it is known already.

        Args:
            by_path: True if the numbers were read from a file that was opened again by its path

        Raises:
            RobolinError: the file was changed after it was opened, so that the digest may not be
                that of the numbers
        """
        if self.known:
            return self.known.digest
        digest = digest_of(self.stream)
        if self.opened and self.opened != self._stamp(by_path):
            hint = "run the command again when no other program writes to the file"
            raise RobolinError("the file was changed while it was read", where=self.file, hint=hint)
        return digest

    def _stamp(self, by_path: bool) -> str:
        try:
            return file_stamp(os.stat(self.path) if by_path else os.fstat(self.stream.fileno()))
        except OSError:
            return ""

    def again(self) -> BinaryIO:
        """A second stream of the file's bytes from their beginning."""
        if not is_stored(self.path):
            return open(self.path, "rb")
        from robolin.io.object_stores import open_object

        return open_object(self.path)


@dataclass(frozen=True)
class TableFile:
    """A file's column names, and a function that reads some of them.

    Cells that are not numbers are errors with their location, but only in requested columns.

    size:      size of the file in bytes or rows, if known
    most_rows: an upper bound of the number of rows, if known
    digest:    SHA-256 of the file, once all blocks have been read
    is_integer: whether a column contains only integers
    datetime_unit: the unit of a column of date and time; None for other columns
    texts:     the text that columns have in every row; None if rows differ or are not text
    notes:     what the reader assumed or ignored
    time_unit: the unit of its time, 'ns' for example, if the format defines it
    units_known: whether angles are in rad unless an option states otherwise
    supports_slicing: whether `blocks` skips rows as requested; otherwise the caller does
    numbered:  whether the columns have no names, only their indices from 0
    lines:     lines for the contract, once all blocks have been read
    """

    names: Sequence[str]
    blocks: Callable[[ReadRequest], Iterator[TableBlock]]
    size: int | None
    most_rows: Callable[[], int | None]
    digest: Callable[[], str]
    is_integer: Callable[[int], bool]
    datetime_unit: Callable[[int], str | None] = lambda _: None
    texts: Callable[[Sequence[int]], tuple[str, ...] | None] = lambda _: None
    notes: tuple[str, ...] = ()
    time_unit: str | None = None
    units_known: bool = True
    supports_slicing: bool = False
    numbered: bool = False
    lines: Callable[[], dict[str, str]] = dict


def with_row_times(table: TableFile, seconds: float, read: int) -> TableFile:
    """The table with a last column: the number of the row from 0, times the sample time.

    read: a column that is read to count rows if no other is requested
    """
    time = len(table.names)

    def blocks(request: ReadRequest) -> Iterator[TableBlock]:
        own = [i for i in request.indices if i != time]
        exact = [i for i in request.exact if i != time]
        row = request.first if table.supports_slicing else 0
        for block in table.blocks(replace(request, indices=own or [read], exact=exact)):
            clock = np.arange(row, row + len(block.values)) * seconds
            columns = {i: block.values[:, k] for k, i in enumerate(own)} | {time: clock}
            values = np.column_stack([columns[i] for i in request.indices])
            yield replace(block, values=values)
            row += len(block.values)

    return replace(
        table,
        names=[*table.names, "time"],
        blocks=blocks,
        is_integer=lambda i: i != time and table.is_integer(i),
        datetime_unit=lambda i: None if i == time else table.datetime_unit(i),
        time_unit=None,
    )


def raise_first(
    problems: Iterable[RobolinError], file: str, last_checked: str = "", stop: int | None = None
) -> None:
    """Raise the problems of one file as one error; only the first few are listed.

    last_checked: the last row that was checked, such as 'line 7', if there are more rows
    stop:         number of rows requested, if not all
    """
    rest = iter(problems)
    shown = list(islice(rest, _REPORTED_AT_MOST))
    if more := sum(1 for _ in rest):
        shown.append(RobolinError(f"and {more} more problems of this kind", where=file))
    if shown and last_checked:
        unseen = f"rows after {last_checked}" + (f", up to row {stop}," if stop else "")
        shown.append(RobolinError(f"{unseen} were not checked", where=file))
    raise_all(shown)


# not all commands have the option
BAD_ROW_HINT = "correct the row; commands with --on-bad-row can skip it: --on-bad-row nan"


def require_finite_cells(
    block: TableBlock,
    names: Sequence[str],
    request: ReadRequest,
    file: str,
    size: int | None,
    empty: Mask | None = None,
) -> None:
    """Reject a block with a cell that is `empty`, NaN or infinite, and name its row.

    names: of all columns
    size:  number of rows in the file
    """
    values = block.values
    if np.isfinite(values).all():
        return

    def problem(row: int, i: int) -> RobolinError:
        name = names[request.indices[i]]
        if empty is not None and empty[row, i]:
            message = f"column '{name}' has an empty cell"
        else:
            message = f"'{values[row, i]}' in column '{name}' is not a finite number"
        return RobolinError(message, where=block.location(row), hint=BAD_ROW_HINT)

    bad = np.argwhere(~np.isfinite(values)).tolist()
    # the part after the file name in 'm.npz, row 7'
    last = block.location(len(values) - 1).rpartition(", ")[2]
    ends = size is None or block.reached >= request.within(size).stop
    raise_first((problem(row, i) for row, i in bad), file, "" if ends else last, request.stop)


def reject_decompression_bomb(bytes_read: int, size: int, most: int, file: str) -> None:
    """Reject a small file that decompresses to far more numbers than any recording.

    most: the largest ratio of decompressed to compressed bytes
    """
    if bytes_read > _ALWAYS_FINE and bytes_read > most * size:
        message = f"{size} bytes expand to {bytes_read // 8} numbers, which is implausible"
        raise RobolinError(
            message, where=file, hint="check the file, or write the file again without compression"
        )


def digest_of(stream: BinaryIO) -> str:
    """SHA-256 of a seekable stream from its beginning."""
    stream.seek(0)
    digest = hashlib.sha256()
    while piece := stream.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def row_location(file: str, first: int) -> Callable[[int], str]:
    """Locations of rows in a file without lines: numbered from 1, after `first` other rows."""
    return lambda row: f"{file}, row {first + row + 1}"


# address space that polars reserves, in total and for each of its threads
_RESERVED, _RESERVED_PER_THREAD = 1 << 30, 1 << 26


def polars_usable() -> bool:
    """Return whether polars is installed and the memory limit leaves enough for it."""
    return _has_polars() and _memory_suffices()


def require_polars(file: str) -> None:
    """Reject a file that needs polars if polars is absent, or the memory limit too low for it."""
    if not _has_polars():
        message = "Parquet and Arrow files require the package polars"
        raise RobolinError(message, where=file, hint="pip install polars, or use CSV or NPZ")
    if not _memory_suffices():
        message = "the memory limit is too low for Parquet"
        raise RobolinError(
            message, where=file, hint="raise the limit (ulimit -v), or use CSV or NPZ"
        )


@cache
def _has_polars() -> bool:
    return find_spec("polars") is not None


def _memory_suffices() -> bool:
    left = _left()
    threads = os.cpu_count() or 1
    return left is None or left > _RESERVED + threads * _RESERVED_PER_THREAD


def _left() -> int | None:
    """Bytes of address space left, None if it is not limited or not known."""
    try:
        import resource
    except ImportError:
        # this system has no such limits
        return None
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as text:
            used = int(text.read().split()[0]) * resource.getpagesize()
    except OSError:
        used = 0
    return limit - used
