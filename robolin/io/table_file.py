"""What every file format looks like to the reader: named columns, numbers block by block."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask
from robolin.errors import RobolinError, raise_all
from robolin.io.paths import is_stored

_REPORTED_AT_MOST = 20
# of a column that was looked through: it has nothing but whole numbers
WHOLE = "whole"
# bytes of numbers that nobody has to pack tightly
_ALWAYS_FINE = 1 << 26


@dataclass(frozen=True, eq=False)
class TableBlock:
    """Some consecutive rows of a file: values of shape (rows, columns asked for).

    place:   where a row of the block stands, for messages
    reached: how far into the file the block reaches, in the units of the table's `size`
    whole:   the columns asked for as whole numbers, by their index, each of shape (rows,)
    """

    values: Floats
    place: Callable[[int], str]
    reached: int
    whole: Mapping[int, Integers] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadRequest:
    """Which columns to read, and about how many rows at a time.

    gaps:      let empty cells and numbers that are not finite through, as NaN
    whole:     columns among them to read as whole numbers as well, which have no gaps
    unrounded: columns among them whose whole numbers are refused if float64 does not hold them
    moments:   columns among the whole ones that are moments, each with the unit to count them in
    first:     how many rows to leave out before
    stop:      the row to stop before, if any
    """

    indices: Sequence[int]
    rows: int
    gaps: bool = False
    whole: Collection[int] = ()
    unrounded: Collection[int] = ()
    moments: Mapping[int, str] = field(default_factory=dict)
    first: int = 0
    stop: int | None = None

    def within(self, rows: int) -> range:
        """Which of so many rows are to be read."""
        stop = rows if self.stop is None else min(self.stop, rows)
        return range(min(self.first, stop), stop)


@dataclass(frozen=True)
class RowOffset:
    """Where a row of a text begins: its number from 0, that of its line from 1, and its byte."""

    row: int
    line: int
    byte: int


@dataclass(frozen=True)
class FileIndex:
    """What has been found out about a file before, so that nobody has to look again.

    digest: SHA-256 of the file; of an object in a store its size and ETag
    marks:  where some rows of a text begin
    looks:  for columns that were looked through whether they are 'whole', or the unit of their
            moments, or '' for neither
    even:   whether all lines of a text are rows of as many cells as there are names, without
            quotes and other letters than those of ASCII
    """

    digest: str
    marks: tuple[RowOffset, ...] = ()
    looks: Mapping[int, str] = field(default_factory=dict)
    even: bool = False

    def mark_before(self, row: int) -> RowOffset | None:
        """The last mark at or before a row."""
        return max((m for m in self.marks if m.row <= row), key=lambda m: m.row, default=None)

    def mark_at(self, row: int | None) -> RowOffset | None:
        """The mark at a row, if there is one."""
        return next((m for m in self.marks if m.row == row), None)


@dataclass(frozen=True)
class TableSource:
    """A file to be read as a table.

    stream:  its bytes, open at the beginning
    path:    where it can be opened again, unless it is a pipe
    file:    what messages call it
    regular: whether it is a file, not a pipe or a device
    joints:  the names of the joints, for a format that numbers its columns
    known:   what has been found out about it before
    live:    whether rows are wanted as they arrive
    opened:  the stamp that a regular file on a disk had when it was opened
    """

    stream: BinaryIO
    path: str
    file: str
    regular: bool = True
    joints: Sequence[str] = ()
    known: FileIndex | None = None
    live: bool = False
    opened: str = ""

    def digest(self, *, by_path: bool = False) -> str:
        """SHA-256 of a file that can be read again, unless that is known.

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
            hint = "run the command again when nothing writes to the file"
            raise RobolinError("it was changed while it was read", where=self.file, hint=hint)
        return digest

    def _stamp(self, by_path: bool) -> str:
        try:
            return file_stamp(os.stat(self.path) if by_path else os.fstat(self.stream.fileno()))
        except OSError:
            return ""

    def again(self) -> BinaryIO:
        """Its bytes from their beginning, beside the stream that is being read."""
        if not is_stored(self.path):
            return open(self.path, "rb")
        from robolin.io.stores.objects import open_object

        return open_object(self.path)


@dataclass(frozen=True)
class TableFile:
    """A file's column names, and a function that reads some of them.

    Cells that are no numbers are errors with their place, but only in columns asked for.

    size:      how large the file is, in bytes or rows, if that can be told
    most_rows: a number of rows it surely does not exceed, if that can be told
    digest:    SHA-256 of the file, once all blocks have been read
    whole:     whether a column holds nothing but whole numbers
    moments:   the unit that a column's moments are counted in; None if it has none
    texts:     the words that columns have in every row; None if they differ or have none
    notes:     what the reader assumed or left aside
    time_unit: what its time counts, 'ns' for example, where the format says so
    units_known: whether angles are in rad unless somebody says otherwise
    chooses:   whether `blocks` leaves out rows as a request says; else whoever asks does
    """

    names: Sequence[str]
    blocks: Callable[[ReadRequest], Iterator[TableBlock]]
    size: int | None
    most_rows: Callable[[], int | None]
    digest: Callable[[], str]
    whole: Callable[[int], bool]
    moments: Callable[[int], str | None] = lambda _: None
    texts: Callable[[Sequence[int]], tuple[str, ...] | None] = lambda _: None
    notes: tuple[str, ...] = ()
    time_unit: str | None = None
    units_known: bool = True
    chooses: bool = False


def raise_first(
    problems: Iterable[RobolinError], file: str, looked_at_to: str = "", stop: int | None = None
) -> None:
    """Raise the problems of one file as one error, the many after the first few only counted.

    looked_at_to: the last row that was looked at, such as 'line 7', if more behind it are wanted
    stop:         how many rows from the first are wanted, if not all
    """
    rest = iter(problems)
    shown = list(islice(rest, _REPORTED_AT_MOST))
    if more := sum(1 for _ in rest):
        shown.append(RobolinError(f"and {more} more such problems", where=file))
    if shown and looked_at_to:
        unseen = f"rows behind {looked_at_to}" + (f", up to row {stop}," if stop else "")
        shown.append(RobolinError(f"{unseen} were not looked at", where=file))
    raise_all(shown)


def require_finite_cells(
    block: TableBlock,
    names: Sequence[str],
    request: ReadRequest,
    file: str,
    size: int | None,
    empty: Mask | None = None,
) -> None:
    """Refuse a block with a cell that is `empty`, NaN or infinite, by its row.

    names: of all columns
    size:  how many rows the file has
    """
    values = block.values
    if np.isfinite(values).all():
        return

    def problem(row: int, i: int) -> RobolinError:
        name = names[request.indices[i]]
        if empty is not None and empty[row, i]:
            message = f"the cell in column '{name}' is empty"
        else:
            message = f"'{values[row, i]}' in column '{name}' is not a finite number"
        return RobolinError(message, where=block.place(row))

    bad = np.argwhere(~np.isfinite(values)).tolist()
    # what stands behind the file in 'm.npz, row 7'
    last = block.place(len(values) - 1).rpartition(", ")[2]
    ends = size is None or block.reached >= request.within(size).stop
    raise_first((problem(row, i) for row, i in bad), file, "" if ends else last, request.stop)


def reject_decompression_bomb(bytes_read: int, size: int, most: int, file: str) -> None:
    """Refuse a small file that unfolds to far more numbers than a motion can be packed into.

    most: how many times its bytes
    """
    if bytes_read > _ALWAYS_FINE and bytes_read > most * size:
        message = f"its {size} bytes stand for {bytes_read // 8} numbers"
        raise RobolinError(message, where=file, hint="no recorded motion repeats itself so often")


def digest_of(stream: BinaryIO) -> str:
    """SHA-256 of a file that can be read again from its beginning."""
    stream.seek(0)
    digest = hashlib.sha256()
    while piece := stream.read(1 << 20):
        digest.update(piece)
    return digest.hexdigest()


def file_stamp(found: os.stat_result) -> str:
    """A text that differs for a file whose bytes were changed or that was replaced by another.

    The time of the last change of the inode (ctime) is set by the system alone.  The device is not
    included, because machines that share a file system number their devices differently.
    """
    return f"{found.st_size}-{found.st_mtime_ns}-{found.st_ctime_ns}-{found.st_ino}"


def row_location(file: str, first: int) -> Callable[[int], str]:
    """Places of rows in a file without lines: counted from 1, `first` of them before."""
    return lambda row: f"{file}, row {first + row + 1}"


# what it reserves of a limited address space, in all and for each of its threads
_RESERVED, _RESERVED_PER_THREAD = 1 << 30, 1 << 26


def memory_suffices_for_polars() -> bool:
    """Whether the limit on memory, if there is one, leaves enough for polars."""
    left = _left()
    threads = os.cpu_count() or 1
    return left is None or left > _RESERVED + threads * _RESERVED_PER_THREAD


def require_polars_memory(file: str) -> None:
    """Refuse a file that only polars reads and writes where it cannot be loaded."""
    if not memory_suffices_for_polars():
        message = "the limit on memory leaves too little for Parquet"
        raise RobolinError(message, where=file, hint="raise it (ulimit -v), or use CSV or NPZ")


def _left() -> int | None:
    """How many bytes of address space are left, None if nothing limits them or says so."""
    try:
        import resource
    except ImportError:
        # there are no such limits on this system
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


STANDARD_ERROR = 2
# whether this process's own messages go another way, which commands see to: whoever only uses the
# library keeps its standard error
own_messages_separate = False


def mute_native_stderr() -> None:
    """Let what libraries say by themselves go nowhere, if nothing else is said that way."""
    if not own_messages_separate:
        return
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, STANDARD_ERROR)
        os.close(nowhere)
