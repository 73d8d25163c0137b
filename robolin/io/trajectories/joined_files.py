"""Several files that are one recording: positions, velocities and efforts in files of their own.

Rows are joined by their number, or by time: values between two rows of a file are then linear
interpolations at the times of the first file.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import field, replace
from functools import partial

import numpy as np

from robolin.core.arrays import Floats, Integers, Numbers
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.errors import RobolinError
from robolin.io.format_table import base_name, location_of
from robolin.io.table_file import ReadRequest, TableBlock, TableFile, digest_of

_ROW, _TIME = "row", "time"


@dataclass(frozen=True)
class JoinedFile:
    """One of the files: its columns among those of the recording, and its time column, if any."""

    path: str
    table: TableFile
    columns: tuple[int, ...]
    time: int | None

    @property
    def name(self) -> str:
        return base_name(self.path)

    @property
    def clock(self) -> tuple[str | None, str | None]:
        """The units of its date and time, and of its time."""
        unit = None if self.time is None else self.table.datetime_unit(self.time)
        return unit, self.table.time_unit


@contextmanager
def open_joined(
    paths: Sequence[str],
    opener: Callable[[str], AbstractContextManager[TableFile]],
    time_index: Callable[[TableFile], int | None],
    by: str,
) -> Iterator[TableFile]:
    """Open several files as one table.

    opener:     opens one file as a table
    time_index: the column with the time of a table, if any
    by:         'row' or 'time'
    """
    with ExitStack() as stack:
        tables = [stack.enter_context(opener(path)) for path in paths]
        files: list[JoinedFile] = []
        for path, table in zip(paths, tables, strict=True):
            time = time_index(table)
            if by == _TIME and time is None:
                hint = (
                    "name the time column with --time COLUMN, or join by row number with --join row"
                )
                raise RobolinError(
                    "joining rows by time requires a time column", where=path, hint=hint
                )
            # the time of the first file is that of the recording
            hidden = {time} if files and not table.numbered else set()
            columns = tuple(i for i in range(len(table.names)) if i not in hidden)
            files.append(JoinedFile(path, table, columns, time))
        yield _table(files, by)


def _table(files: Sequence[JoinedFile], by: str) -> TableFile:
    first = files[0].table
    owners = [(file, i) for file in files for i in file.columns]
    numbered = [file.table.numbered for file in files]
    names = [
        str(index) if file.table.numbered else file.table.names[i]
        for index, (file, i) in enumerate(owners)
    ]
    report = JoinReport([file.name for file in files], by)

    def is_integer(index: int) -> bool:
        file, i = owners[index]
        # interpolated values are not integers
        return (by == _ROW or file is files[0]) and file.table.is_integer(i)

    def texts(indices: Sequence[int]) -> tuple[str, ...] | None:
        of = {owners[index][0].path for index in indices}
        if len(of) != 1:
            return None
        return owners[indices[0]][0].table.texts([owners[index][1] for index in indices])

    return TableFile(
        names,
        partial(_blocks, files, owners, by, report),
        first.size,
        first.most_rows,
        digest=lambda: _digest(files),
        is_integer=is_integer,
        datetime_unit=lambda index: owners[index][0].table.datetime_unit(owners[index][1]),
        texts=texts,
        notes=tuple(note for file in files for note in file.table.notes),
        time_unit=first.time_unit,
        units_known=all(file.table.units_known for file in files),
        supports_slicing=True,
        numbered=any(numbered),
        lines=report.lines,
    )


@dataclass
class JoinReport:
    """How files were joined, complete after the last row."""

    names: Sequence[str]
    by: str
    longest: float = 0.0
    outside: int = 0

    def lines(self) -> dict[str, str]:
        text = f"{', '.join(self.names)} by {self.by}"
        if self.longest:
            text += f", interpolated linearly between rows at most {self.longest:.4g} apart"
        if self.outside:
            text += f", {pluralize(self.outside, 'row')} outside the times of a file"
        return {"joined files": text}


def _digest(files: Sequence[JoinedFile]) -> str:
    """SHA-256 of the hashes of all files."""
    digest = hashlib.sha256()
    for file in files:
        if os.path.isfile(location := location_of(file.path)):
            with open(location, "rb") as stream:
                digest.update(digest_of(stream).encode())
        else:
            digest.update(file.table.digest().encode())
    return digest.hexdigest()


def _blocks(
    files: Sequence[JoinedFile],
    owners: Sequence[tuple[JoinedFile, int]],
    by: str,
    report: JoinReport,
    request: ReadRequest,
) -> Iterator[TableBlock]:
    requests = {
        file.path: _own_request(file, owners, request)
        for file in files
        if any(owners[index][0] is file for index in request.indices)
    }
    if by == _ROW:
        blocks = _by_row([file for file in files if file.path in requests], requests)
    else:
        blocks = _by_time(files, requests, request, report)
    for parts, lead in blocks:
        values = np.empty((len(lead.values), len(request.indices)))
        integers: dict[int, Integers] = {}
        for column, index in enumerate(request.indices):
            file, i = owners[index]
            part = parts[file.path]
            values[:, column] = part.values[:, requests[file.path].indices.index(i)]
            if index in request.integers:
                integers[index] = part.integers[i]
        yield replace(lead, values=values, integers=integers)


def _own_request(
    file: JoinedFile, owners: Sequence[tuple[JoinedFile, int]], request: ReadRequest
) -> ReadRequest:
    """The part of a request that one file answers."""

    def own(indices: Sequence[int]) -> list[int]:
        return [owners[index][1] for index in indices if owners[index][0] is file]

    return replace(
        request,
        indices=own(list(request.indices)),
        integers=own(list(request.integers)),
        exact=own(list(request.exact)),
        datetimes={
            owners[index][1]: unit
            for index, unit in request.datetimes.items()
            if owners[index][0] is file
        },
    )


# blocks of files by path, and the block whose rows the result has
Joined = Iterator[tuple[Mapping[str, TableBlock], TableBlock]]


class RowQueue:
    """Rows of one file in the pieces that are requested."""

    file: JoinedFile
    request: ReadRequest
    rows: int

    def __init__(self, file: JoinedFile, request: ReadRequest) -> None:
        self.file, self.request, self.rows = file, request, 0
        self._blocks = file.table.blocks(request)
        self._skip = 0 if file.table.supports_slicing else request.first
        self._stop = None if file.table.supports_slicing else request.stop
        self._block: TableBlock | None = None
        self._used = 0

    def ready(self) -> int:
        """Number of rows that can be taken, 0 at the end of the file."""
        while self._block is None or self._used >= len(self._block.values):
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._block, self._used = block, min(self._skip, len(block.values))
            self._skip -= self._used
        left = len(self._block.values) - self._used
        if self._stop is None:
            return left
        return min(left, max(self._stop - self.request.first - self.rows, 0))

    def take(self, rows: int) -> TableBlock:
        """The next rows, at most as many as are ready."""
        assert self._block is not None, "rows are ready"
        block, first = self._block, self._used
        some = slice(first, first + rows)
        self._used += rows
        self.rows += rows
        return replace(
            block,
            values=block.values[some],
            integers={i: values[some] for i, values in block.integers.items()},
            location=lambda row: block.location(first + row),
        )


def _by_row(files: Sequence[JoinedFile], requests: Mapping[str, ReadRequest]) -> Joined:
    """Rows with the same number; times of all files must be equal."""
    timed = [file for file in files if file.time is not None and not file.table.numbered]
    timed = timed if len(timed) > 1 else []
    queues = {
        file.path: RowQueue(
            file, _with_time(file, requests[file.path]) if file in timed else requests[file.path]
        )
        for file in files
    }
    while True:
        ready = {path: queue.ready() for path, queue in queues.items()}
        rows = min(ready.values())
        if not rows:
            _require_same_length(queues, ready)
            return
        parts = {path: queue.take(rows) for path, queue in queues.items()}
        for file in timed[1:]:
            _require_same_times(timed[0], file, queues, parts)
        yield parts, next(iter(parts.values()))


def _require_same_length(queues: Mapping[str, RowQueue], ready: Mapping[str, int]) -> None:
    longer = next((path for path, rows in ready.items() if rows), None)
    if longer is not None:
        shorter = next(path for path, rows in ready.items() if not rows)
        rows = queues[shorter].request.first + queues[shorter].rows
        message = f"the file has {pluralize(rows, 'row')}, but '{longer}' has more rows"
        hint = f"select rows that all files contain: --rows :{rows}"
        if all(queue.file.time is not None for queue in queues.values()):
            hint = "to join files of different lengths by their times, add --join time"
        raise RobolinError(message, where=shorter, hint=hint)


def _require_same_times(
    one: JoinedFile,
    other: JoinedFile,
    queues: Mapping[str, RowQueue],
    parts: Mapping[str, TableBlock],
) -> None:
    here, there = (
        _times(file, queues[file.path].request, parts[file.path]) for file in (one, other)
    )
    different = np.flatnonzero((here != there) & ~(np.isnan(here) & np.isnan(there)))
    if different.size:
        row = int(different[0])
        message = f"the time {there[row]} differs from {here[row]} in '{one.path}'"
        hint = "to join rows by their times, add --join time"
        raise RobolinError(message, where=parts[other.path].location(row), hint=hint)


def _with_time(file: JoinedFile, request: ReadRequest) -> ReadRequest:
    """The request with the time of the file, as integers if it holds them."""
    assert file.time is not None, "the file has a time column"
    if file.time in request.indices:
        return request
    request = replace(request, indices=[*request.indices, file.time])
    if unit := file.table.datetime_unit(file.time):
        datetimes = {**request.datetimes, file.time: unit}
        return replace(request, integers=[*request.integers, file.time], datetimes=datetimes)
    if file.table.is_integer(file.time):
        return replace(request, integers=[*request.integers, file.time])
    return replace(request, exact=[*request.exact, file.time])


def _times(file: JoinedFile, request: ReadRequest, block: TableBlock) -> Numbers:
    """Times (rows,) as int64 or float64."""
    assert file.time is not None, "the file has a time column"
    if file.time in block.integers:
        return block.integers[file.time]
    return block.values[:, list(request.indices).index(file.time)]


def _by_time(
    files: Sequence[JoinedFile],
    requests: Mapping[str, ReadRequest],
    request: ReadRequest,
    report: JoinReport,
) -> Joined:
    """Rows of the first file, with the values of the others at the same times."""
    first = files[0]
    own = requests.get(
        first.path, replace(request, indices=[], integers=[], exact=[], datetimes={})
    )
    queue = RowQueue(first, _with_time(first, own))
    others = []
    for file in files[1:]:
        if file.path in requests:
            _require_same_clock(first, file)
            # rows before the first selected one may be its neighbours
            complete = replace(requests[file.path], first=0, stop=None, integers=[], datetimes={})
            others.append(Interpolation(RowQueue(file, _with_time(file, complete)), report))
    last = None
    while rows := queue.ready():
        block = queue.take(rows)
        times = _times(first, queue.request, block)
        last = _require_order(times, last, block.location, first.path)
        parts = {first.path: block}
        for other in others:
            parts[other.file.path] = other.at(times, block, request.allow_nan)
        yield parts, block


def _require_same_clock(first: JoinedFile, other: JoinedFile) -> None:
    if first.clock != other.clock:
        message = f"the times have another unit or type than the times in '{first.path}'"
        hint = "write the times of all files in the same unit, as numbers or as dates"
        raise RobolinError(message, where=other.path, hint=hint)


def _require_order(
    times: Numbers, last: Numbers | None, location: Callable[[int], str], path: str
) -> Numbers | None:
    """The last time, after a check that times do not decrease; NaN is left out."""
    known = np.flatnonzero(~np.isnan(times)) if times.dtype.kind == "f" else np.arange(len(times))
    if not known.size:
        return last
    some = times[known] if last is None else np.concatenate([last, times[known]])
    falls = np.flatnonzero(np.diff(some) < 0)
    if falls.size:
        row = int(known[int(falls[0]) + (1 if last is None else 0)])
        hint = "sort the rows by time"
        raise RobolinError("time must not decrease", where=location(row), hint=hint)
    return some[-1:]


@dataclass
class Interpolation:
    """Linear interpolation between the rows of one file; keeps the rows that are still needed."""

    queue: RowQueue
    report: JoinReport
    _times: Numbers | None = None
    _values: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    _last: Numbers | None = None

    @property
    def file(self) -> JoinedFile:
        return self.queue.file

    def at(self, times: Numbers, rows: TableBlock, allow_nan: bool) -> TableBlock:
        """Values at these times; NaN or an error outside those of the file."""
        self._read_to(times)
        if self._times is None:
            raise RobolinError("no row", where=self.file.path, hint="remove the file")
        known, values = self._times, self._values
        if known.dtype != times.dtype:
            known, times = known.astype(np.float64), times.astype(np.float64)
        left = np.searchsorted(known, times, side="right") - 1
        right = np.minimum(left + 1, len(known) - 1)
        low = np.maximum(left, 0)
        exact = known[low] == times
        inside = exact | ((left >= 0) & (right > left))
        if not (inside.all() or allow_nan):
            raise self._outside(int(np.argmin(inside)), times, rows)
        self.report.outside += int(np.count_nonzero(~inside))
        between = inside & ~exact
        gap = np.where(between, known[right] - known[low], 1).astype(np.float64)
        share = np.where(between, (times - known[low]).astype(np.float64) / gap, 0.0)
        if between.any():
            self.report.longest = max(self.report.longest, float(gap[between].max()))
        start = values[low]
        with np.errstate(invalid="ignore", over="ignore"):
            change = np.where(between[:, None], values[right] - start, 0.0)
            interpolated = start + share[:, None] * change
        interpolated[~inside] = np.nan
        self._drop(int(low[np.flatnonzero(inside)[-1]]) if inside.any() else 0)
        return TableBlock(interpolated, rows.location, rows.reached)

    def _read_to(self, times: Numbers) -> None:
        """Read rows until one is later than the last of these times."""
        finite = times[~np.isnan(times)] if times.dtype.kind == "f" else times
        while finite.size and (
            self._times is None or not len(self._times) or self._times[-1] <= finite[-1]
        ):
            if not (ready := self.queue.ready()):
                return
            block = self.queue.take(ready)
            own = _times(self.file, self.queue.request, block)
            self._last = _require_order(own, self._last, block.location, self.file.path)
            valid = np.ones(len(own), bool) if own.dtype.kind == "i" else ~np.isnan(own)
            held, values = own[valid], block.values[valid]
            if self._times is not None:
                held = np.concatenate([self._times, held])
                values = np.concatenate([self._values, values])
            # earlier rows are no neighbours of these times
            kept = max(int(np.searchsorted(held, finite[0], side="right")) - 1, 0)
            self._times, self._values = held[kept:], values[kept:]

    def _drop(self, rows: int) -> None:
        """Forget rows before the last one that was used."""
        assert self._times is not None, "rows were read"
        self._times, self._values = self._times[rows:], self._values[rows:]

    def _outside(self, row: int, times: Numbers, rows: TableBlock) -> RobolinError:
        assert self._times is not None, "rows were read"
        early = times[row] < self._times[0]
        where = "before the first" if early else "after the last"
        message = f"the time {times[row]} is {where} row of '{self.file.path}'"
        hint = "skip such rows with --on-bad-row nan, or select other rows with --rows"
        return RobolinError(message, where=rows.location(row), hint=hint)
