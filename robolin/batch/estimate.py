"""What many recordings will cost, from a sample that is read, answered and written now.

    T(k) = start + look·bytes + max(⌈parts/k⌉·(part + rows of a part·row), rows·disk)

`start` is what a process takes before its first row, `look` reads recordings once for the plan,
`part` is what a part costs beside its rows, and `row` what a row costs in work.  k processes share
the parts and the disk; what comes over a network each of them has for itself, until the line is
full, which a sample cannot tell.
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

# enough that a row costs what it costs among many, and few enough to wait for
_SAMPLE, _FEW = 100_000, 64
# bytes of a text that tell how long its rows are, and of a file that tell how fast it is read
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

    exact:   whether rows were counted; those of a text are worked out from its first ones
    sample:  how many rows were measured
    seconds: of work on one row, by what they are spent on
    way:     whether rows come and go by the disk or over the network
    carried: seconds that one row is on its way in and out
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
        """Seconds of work on a row."""
        return sum(self.seconds.values())

    def bottleneck(self, workers: int = 1) -> str:
        """What keeps so many processes busy longest."""
        if self._on_its_way(workers) > self._work(workers):
            return self.way
        return max(self.seconds, key=lambda name: self.seconds[name])

    def time(self, workers: int) -> float:
        """Seconds that so many processes take together."""
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
    inquiry: Request, arm: Arm, found: Sequence[NamedRecording], division: Division
) -> Estimate:
    """What a question about each of the recordings will cost; nothing is kept of the sample."""
    require_divisible(inquiry, division)
    begun = process_time()
    sizes = [_size(each.path) for each in found]
    measured = _Sample(inquiry, arm, found[sizes.index(max(sizes))].path, division.form)
    counts = [measured.rows(each.path, size) for each, size in zip(found, sizes, strict=True)]
    rows = sum(counts)
    part_rows = min(division.part_rows or max(counts), max(counts))
    parts = sum(ceil(each / (division.part_rows or each or 1)) for each in counts)
    seconds, per_part, written = measured.costs(min(part_rows, _SAMPLE))
    read = sum(sizes) / max(rows, 1)
    return Estimate(
        recordings=len(found),
        rows=rows,
        exact=not any(is_text(each.path) for each in found),
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
        # what the process has taken so far, and the sample not
        start=begun,
    )


class _Sample:
    """Some rows of one recording, timed on their way."""

    def __init__(self, inquiry: Request, arm: Arm, path: str, form: str | None) -> None:
        self._inquiry, self._arm, self._path = inquiry, arm, path
        self._form = form or DEFAULT_FORM
        self._rules = rules_of_file(inquiry.states, arm)
        self.taken = 0

    def rows(self, path: str, size: int) -> int:
        """How many rows of a recording are meant."""
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
        """Seconds of a row by what they are spent on, seconds of a part, and bytes of a row."""
        few = min(_FEW, count)
        with tempfile.TemporaryDirectory() as folder:
            target = Path(folder, f"part.{self._form}")
            # the first time costs what only a first time does
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
        """Seconds to look through a byte of a recording, which a plan does once."""
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
        """How rows come."""
        return NETWORK if is_stored(self._path) else DISK

    def carried(self, read: float, written: float) -> float:
        """Seconds that a row is on its way, of so many bytes read and written."""
        if self.way == NETWORK:
            with objects.open_object(self._path) as stream:
                taken = [0]
                seconds = _wall(lambda: taken.append(len(stream.read(_CARRIED))))
            # nobody puts a sample into somebody's store: it goes out as it came in
            return (read + written) * seconds / max(1, taken[-1])
        return read * _from_disk(self._path) + written * _to_disk()

    def _states(self, count: int) -> Any:
        first = self._inquiry.states.parse_row_slice.first
        return with_trajectory(self._inquiry.states, self._path, f"{first}:{first + count}")

    def _read(self, count: int) -> None:
        states = self._states(count)
        wanted = [
            name for name in VERBS[self._inquiry.question.verb].states if name in COLUMN_WORDS
        ]
        needs = (self._arm.joint_names, ("q",), wanted[1:], self._rules, states.parse_row_slice)
        with open_trajectory(self._path, *needs, FileIndex("")) as stream:
            for _ in stream.chunks(gaps=states.on_bad_row is not None):
                pass

    def _answer(self, count: int) -> None:
        with self._posed(count) as answer:
            if not isinstance(answer, Result):
                for _ in answer.parts:
                    pass

    def _write(self, count: int, target: Path) -> None:
        with self._posed(count) as answer:
            stream = stream_of_one_part(answer) if isinstance(answer, Result) else answer
            FORMATS[self._form].write(stream, target)

    def _posed(self, count: int) -> Any:
        settings = Settings(1, notify=lambda *_: None, known=FileIndex(""))
        return run_query(self._arm, self._inquiry.question, self._states(count), settings)


def _work(run: Callable[[], object]) -> float:
    """Seconds of work that a run takes, which others on the machine make little difference to."""
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
    """Seconds that a byte takes from the disk, of a file that is not in memory."""
    with open(path, "rb", buffering=0) as stream:
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(stream.fileno(), 0, _CARRIED, os.POSIX_FADV_DONTNEED)
        taken = [0]
        seconds = _wall(lambda: taken.append(len(stream.read(_CARRIED))))
    return seconds / max(1, taken[-1])


def _to_disk() -> float:
    """Seconds that a byte takes to the disk."""
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
