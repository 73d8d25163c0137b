"""Estimate the cost of many recordings from a sample that is read, computed and written.

    T(k) = start + look·bytes + max(⌈parts/k⌉·(part + rows of a part·row), rows·disk)

`start` is the time of a process before its first row, `look` the time to survey a byte for the
plan, `part` the overhead of a part, and `row` the computing time of a row.  k processes share the
parts and the disk.  Network transfers run in parallel; a sample cannot measure when the network
is saturated.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from io import BytesIO
from math import ceil
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from robolin.batch.batch_plan import DEFAULT_FORM, Division, require_divisible
from robolin.batch.recordings import NamedRecording
from robolin.core.arm import Arm
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.results.result import Result, stream_of_one_part
from robolin.errors import RobolinError, UsageError
from robolin.io.format_table import FORMATS
from robolin.io.formats.row_index import index_plain_text
from robolin.io.paths import compression, is_stored
from robolin.io.stores import objects
from robolin.io.table_file import FileIndex
from robolin.io.trajectories.open_table import is_other_programs, is_text, recording_bytes
from robolin.io.trajectories.read import open_trajectory
from robolin.queries.query_context import Settings, run_query
from robolin.queries.request import Request
from robolin.queries.state_parsing import rules_of_file, with_trajectory
from robolin.queries.verbs import VERBS

# sample rows: enough for a typical cost per row, few enough to compute quickly
_SAMPLE, _FEW = 100_000, 64
# bytes of text that determine the row length, and bytes that determine the read speed
_LOOKED_AT, _DIGESTED, _CARRIED = 1 << 20, 1 << 25, 1 << 24
_ROUNDS = 3
DIGITS_SHARE, ARITHMETIC, PACKING, NETWORK, DISK = (
    "digits",
    "arithmetic",
    "packing",
    "network",
    "disk",
)


@dataclass(frozen=True)
class Estimate:
    """Rows, bytes, and seconds per row, byte and part.

    exact:   rows were counted; otherwise extrapolated from the first rows of a text
    sample:  number of measured rows
    seconds: computing time of one row, by kind of work
    way:     rows are transferred by disk or by network
    carried: transfer time of one row, read and written
    """

    recordings: int
    rows: int
    exact: bool
    parts: int
    part_rows: int
    bytes_in: int
    bytes_out: int
    sample: int
    seconds: dict[str, float]
    way: str
    carried: float
    per_part: float
    per_byte: float
    start: float

    @property
    def per_row(self) -> float:
        """Computing time of a row, in seconds."""
        return sum(self.seconds.values())

    def bottleneck(self, workers: int = 1) -> str:
        """The kind of work that takes longest with this number of processes."""
        if self._on_its_way(workers) > self._work(workers):
            return self.way
        return max(self.seconds, key=lambda name: self.seconds[name])

    def time(self, workers: int) -> float:
        """Seconds for this number of processes."""
        shared = max(self._work(workers), self._on_its_way(workers))
        return self.start + self.per_byte * self.bytes_in + shared

    def _work(self, workers: int) -> float:
        return self._turns(workers) * (self.per_part + self.part_rows * self.per_row)

    def _on_its_way(self, workers: int) -> float:
        if self.way == DISK:
            return self.rows * self.carried
        return self._turns(workers) * self.part_rows * self.carried

    def _turns(self, workers: int) -> int:
        return ceil(self.parts / workers)


def estimated_cost(
    inquiry: Request, arm: Arm, named: Sequence[NamedRecording], division: Division
) -> Estimate:
    """Estimate the cost of a request over recordings; the sample is discarded."""
    require_divisible(inquiry, division)
    begun = process_time()
    sizes = [_size(each.path) for each in named]
    measured = _Sample(inquiry, arm, named[sizes.index(max(sizes))].path, division.form)
    counts = [measured.rows(each.path, size) for each, size in zip(named, sizes, strict=True)]
    rows = sum(counts)
    part_rows = min(division.part_rows or max(counts), max(counts))
    parts = sum(ceil(each / (division.part_rows or each or 1)) for each in counts)
    seconds, per_part, written = measured.costs(min(part_rows, _SAMPLE))
    read = sum(sizes) / max(rows, 1)
    return Estimate(
        recordings=len(named),
        rows=rows,
        exact=not any(is_text(each.path) for each in named),
        parts=parts,
        part_rows=part_rows,
        bytes_in=sum(sizes),
        bytes_out=round(written * rows),
        sample=measured.taken,
        seconds=seconds,
        way=measured.way,
        carried=measured.carried(read, written),
        per_part=per_part,
        per_byte=measured.per_byte(),
        # process time so far, without the sample
        start=begun,
    )


class _Sample:
    """Timed sample rows of one recording."""

    def __init__(self, inquiry: Request, arm: Arm, path: str, form: str | None) -> None:
        self._inquiry, self._arm, self._path = inquiry, arm, path
        self._form = form or DEFAULT_FORM
        self._rules = rules_of_file(inquiry.states, arm)
        self.taken = 0

    def rows(self, path: str, size: int) -> int:
        """Number of rows of a recording that the request selects."""
        if is_other_programs(path) or compression(path):
            hint = "name recordings of which rows can be told without reading them all"
            raise RobolinError("is not estimated", where=path, hint=hint)
        if is_text(path):
            with recording_bytes(path) as stream:
                lines = stream.read(_LOOKED_AT)
            length = len(lines) / max(1, lines.count(b"\n"))
            total = round(size / length) - 1 if length else 0
        else:
            with open_trajectory(path, self._arm.joint_names, ("q",), (), self._rules) as stream:
                total = stream.table.size or 0
        return self._inquiry.states.parse_row_slice.count(max(total, 1))

    def costs(self, count: int) -> tuple[dict[str, float], float, float]:
        """Seconds per row by kind of work, seconds per part, and bytes per row."""
        few = min(_FEW, count)
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, f"part.{self._form}")
            # the first run includes one-time costs
            self._write(few, target)
            per_part = _work(lambda: self._write(few, target))
            reading = _work(lambda: self._read(count))
            answering = _work(lambda: self._answer(count))
            writing = _work(lambda: self._write(count, target))
            size = target.stat().st_size
        self.taken = count
        text_in, text_out = is_text(self._path), FORMATS[self._form].text
        seconds = dict.fromkeys((DIGITS_SHARE, ARITHMETIC, PACKING), 0.0)
        seconds[DIGITS_SHARE if text_in else PACKING] += reading
        seconds[ARITHMETIC] += max(answering - reading, 0.0)
        seconds[DIGITS_SHARE if text_out else PACKING] += max(writing - answering, 0.0)
        return {name: spent / count for name, spent in seconds.items()}, per_part, size / count

    def per_byte(self) -> float:
        """Seconds to survey a byte of a recording, done once per plan."""
        if is_stored(self._path) and not is_text(self._path):
            return 0.0
        read = [0]

        def look() -> None:
            with recording_bytes(self._path) as stream:
                piece = stream.read(_DIGESTED)
            index_plain_text(BytesIO(piece), _SAMPLE, 0)
            read[0] = len(piece)

        return (_wall if is_stored(self._path) else _work)(look) / max(1, read[0])

    @property
    def way(self) -> str:
        """Transfer of the rows: disk or network."""
        return NETWORK if is_stored(self._path) else DISK

    def carried(self, read: float, written: float) -> float:
        """Transfer time of a row, for these numbers of bytes read and written."""
        if self.way == NETWORK:
            with objects.open_object(self._path) as stream:
                lengths = [0]
                seconds = _wall(lambda: lengths.append(len(stream.read(_CARRIED))))
            # do not write a sample to an object store: assume that writing is as fast as reading
            return (read + written) * seconds / max(1, lengths[-1])
        return read * _from_disk(self._path) + written * _to_disk()

    def _states(self, count: int) -> Any:
        first = self._inquiry.states.parse_row_slice.first
        return with_trajectory(self._inquiry.states, self._path, f"{first}:{first + count}")

    def _read(self, count: int) -> None:
        states = self._states(count)
        inputs = [
            name for name in VERBS[self._inquiry.question.verb].states if name in COLUMN_WORDS
        ]
        needs = (self._arm.joint_names, ("q",), inputs[1:], self._rules, states.parse_row_slice)
        with open_trajectory(self._path, *needs, FileIndex("")) as stream:
            for _ in stream.chunks(gaps=states.on_bad_row is not None):
                pass

    def _answer(self, count: int) -> None:
        with self._run(count) as answer:
            if not isinstance(answer, Result):
                for _ in answer.parts:
                    pass

    def _write(self, count: int, target: Path) -> None:
        with self._run(count) as answer:
            stream = stream_of_one_part(answer) if isinstance(answer, Result) else answer
            FORMATS[self._form].write(stream, target)

    def _run(self, count: int) -> Any:
        settings = Settings(1, notify=lambda *_: None, known=FileIndex(""))
        return run_query(self._arm, self._inquiry.question, self._states(count), settings)


def _work(run: Callable[[], object]) -> float:
    """CPU time of a run, which other processes hardly affect."""
    times = []
    for _ in range(_ROUNDS):
        begun = process_time()
        run()
        times.append(process_time() - begun)
    return min(times)


def _wall(run: Callable[[], object]) -> float:
    begun = perf_counter()
    run()
    return perf_counter() - begun


def _from_disk(path: str) -> float:
    """Seconds per byte read from disk, for a file outside the page cache."""
    with open(path, "rb", buffering=0) as stream:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, _CARRIED, os.POSIX_FADV_DONTNEED)
        lengths = [0]
        seconds = _wall(lambda: lengths.append(len(stream.read(_CARRIED))))
    return seconds / max(1, lengths[-1])


def _to_disk() -> float:
    """Seconds per byte written to disk."""
    data = os.urandom(_CARRIED)

    def put(stream: Any) -> None:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())

    with tempfile.TemporaryFile() as stream:
        return _wall(lambda: put(stream)) / len(data)


def _size(path: str) -> int:
    if is_stored(path):
        return objects.require_exists(path).size
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise UsageError(f"could not read: {error.strerror or error}", where=path) from error
