"""Trajectory files in, arrays in the arm's joint order out."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np

from robolin.arrays import Floats, Numbers
from robolin.errors import FileError, RobolinError
from robolin.files.compressed import compression, opened_compressed, uncompressed_name
from robolin.files.csv.delimiters import WithCommas
from robolin.files.formats import FORMATS, PIPED, extensions, require_known, trajectory_formats
from robolin.files.table_file import (
    KnownTable,
    ReadRequest,
    TableBlock,
    TableFile,
    TableSource,
)
from robolin.trajectory.column_rules import AS_IT_IS, RecordingRules, native_columns
from robolin.trajectory.columns import Matched, match
from robolin.trajectory.orientation import angles
from robolin.trajectory.row_choice import ALL_ROWS, RowChoice
from robolin.trajectory.trajectory import Chunk, Trajectory

# how many rows are read at once: many, unless they are wide
MOST_ROWS, FEWEST_ROWS, NUMBERS_AT_ONCE = 16384, 64, 1 << 19

_BUFFER = 1 << 20

# what a table of numbers in text may be called besides .csv
TEXT_ENDINGS = (".tsv", ".txt", ".tab")

_ANGULAR = frozenset({"q", "qd", "qdd"})
_DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class TrajectoryStream:
    """A trajectory file that is open and whose columns are known; its rows come in chunks.

    given: the quantities it has columns for
    notes: what the reader assumed or left aside, for stderr
    """

    table: TableFile
    matched: Matched
    file: str
    assumed: tuple[str, ...] = ()
    rules: RecordingRules = AS_IT_IS
    choice: RowChoice = ALL_ROWS

    @property
    def given(self) -> tuple[str, ...]:
        return tuple(self.matched.columns)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.assumed, *self.matched.notes)

    @property
    def rows_at_once(self) -> int:
        """As many as are read quickly and take little memory."""
        width = max(1, sum(map(len, self.matched.columns.values())))
        return min(MOST_ROWS, max(FEWEST_ROWS, NUMBERS_AT_ONCE // width))

    def chunks(self, rows: int | None = None, *, gaps: bool = False) -> Iterator[Chunk]:
        """All rows in order, at most so many at a time.

        gaps: let cells without a finite number through, as NaN
        """
        read = [i for places in self.matched.columns.values() for i in places if i is not None]
        read += [i for each in self.matched.orientations for i in each.columns]
        if self.matched.time is not None:
            read.append(self.matched.time)
        if not read:
            hint = "look at the header"
            raise RobolinError("none of its columns can be used", where=self.file, hint=hint)
        empty, before, most = True, 0, rows or self.rows_at_once
        with _read_errors(self.file):
            request = self._request(read, most, gaps)
            row = request.first
            for block in self.table.blocks(request):
                meant = self._meant(block, row)
                for chunk in pieces(self._chunk(meant, request, before), lambda: most):
                    empty = False
                    yield chunk
                before, row = block.reached, row + len(block.values)
        if empty:
            raise self._no_row()

    def _no_row(self) -> RobolinError:
        if self.choice == ALL_ROWS:
            return RobolinError("there is no row below the header", where=self.file)
        hint = "the first row is 0; --rows and --stride say which are meant"
        return RobolinError("it has none of the rows that are meant", where=self.file, hint=hint)

    def _meant(self, block: TableBlock, row: int) -> TableBlock:
        """Those of the rows of a block that are meant; its first row has this number."""
        if self.choice.stride == 1:
            return block
        chosen = self.choice.of(row, len(block.values))
        first, stride, place = chosen.start, chosen.step, block.place
        return replace(
            block,
            values=block.values[chosen],
            whole={i: values[chosen] for i, values in block.whole.items()},
            place=lambda some: place(first + stride * some),
        )

    def _request(self, read: Sequence[int], rows: int, gaps: bool) -> ReadRequest:
        """Everything that is read, time exactly as it stands there."""
        every = ReadRequest(read, rows, gaps, first=self.choice.first, stop=self.choice.stop)
        if (time := self.matched.time) is None:
            return every
        unit = self.table.moments(time)
        if unit is not None:
            return replace(every, whole=[time], moments={time: unit})
        whole = [time] if self.table.whole(time) else []
        return replace(every, whole=whole, unrounded=[time])

    def _chunk(self, block: TableBlock, request: ReadRequest, before: int) -> Chunk:
        """Every column of the block where its joint stands."""
        values, gaps = block.values, request.gaps
        position = {i: place for place, i in enumerate(request.indices)}

        def gathered(places: Sequence[int | None]) -> Floats:
            found = np.zeros((len(values), len(places)))
            for joint, i in enumerate(places):
                if i is not None:
                    found[:, joint] = values[:, position[i]]
            return found

        columns = {name: gathered(places) for name, places in self.matched.columns.items()}
        if self.rules.degrees:
            for name in _ANGULAR & columns.keys():
                columns[name][:, list(self.rules.turning)] *= _DEGREE
        for each in self.matched.orientations:
            angled = angles(each, gathered(each.columns), block.place, gaps)
            columns["q"][:, list(each.places)] = angled
        time: Numbers | None = None
        if (i := self.matched.time) is not None:
            time = block.whole[i] if i in block.whole else gathered([i])[:, 0]
            if i in request.moments:
                time = time.view(f"M8[{request.moments[i]}]")
        mask = None
        if gaps:
            tables = [values, *columns.values()]
            mask = np.any([~np.isfinite(table).all(axis=1) for table in tables], axis=0)
        reach = (before, block.reached)
        return Chunk(len(values), columns, time, block.place, mask, reach)


@contextmanager
def open_trajectory(
    path: str | Path,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: RecordingRules = AS_IT_IS,
    choice: RowChoice = ALL_ROWS,
    known: KnownTable | None = None,
    live: bool = False,
) -> Iterator[TrajectoryStream]:
    """Open a file with the quantities ('q', 'qd', 'qdd', 'tau') of these joints.

    path:     '-' is CSV on stdin
    needs:    a missing column is an error
    optional: left out if the file has no such column, 0 for the joints it leaves out
    rules:    how the recording is meant
    choice:   which of its rows are meant
    known:    what has been found out about it before
    live:     whether rows are wanted as they arrive
    """
    file = "<stdin>" if str(path) == "-" else str(path)
    form = _format(str(path))
    with _opened(str(path), file, form) as (stream, regular):
        table = _table(form, TableSource(stream, str(path), file, regular, joints, known, live))
        yield table_trajectory(table, file, joints, needs, optional, rules, choice)


def table_trajectory(
    table: TableFile,
    file: str,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: RecordingRules = AS_IT_IS,
    choice: RowChoice = ALL_ROWS,
) -> TrajectoryStream:
    """A table as a trajectory; `file` is what messages call it."""
    native = native_columns(table.names, joints, rules, file)
    matched = match(native.names, joints, needs, optional, where=file)
    return TrajectoryStream(table, matched, file, native.notes, rules, choice)


def read_trajectory(
    path: str | Path,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: RecordingRules = AS_IT_IS,
    choice: RowChoice = ALL_ROWS,
    known: KnownTable | None = None,
) -> Trajectory:
    """All rows that are meant at once, with None for the quantities the file lacks."""
    with open_trajectory(path, joints, needs, optional, rules, choice, known) as stream:
        chunks = list(stream.chunks())
        digest = stream.table.digest()
    columns = {name: np.concatenate([c.columns[name] for c in chunks]) for name in stream.given}
    times = [chunk.time for chunk in chunks if chunk.time is not None]
    rows = sum(chunk.rows for chunk in chunks)
    time = np.concatenate(times) if times else None
    return Trajectory(rows, **columns, time=time, notes=stream.notes, digest=digest)


def pieces(chunk: Chunk, rows: Callable[[], int]) -> Iterator[Chunk]:
    """The chunk in parts of at most so many rows, which may change from part to part."""
    first = 0
    while first < chunk.rows:
        stop = min(first + rows(), chunk.rows)
        yield chunk if stop - first == chunk.rows else _piece(chunk, first, stop)
        first = stop


def _piece(chunk: Chunk, first: int, stop: int) -> Chunk:
    begin, end = chunk.reach
    per_row = (end - begin) / chunk.rows
    return Chunk(
        rows=stop - first,
        columns={name: values[first:stop] for name, values in chunk.columns.items()},
        time=None if chunk.time is None else chunk.time[first:stop],
        place=lambda row: chunk.place(first + row),
        gaps=None if chunk.gaps is None else chunk.gaps[first:stop],
        reach=(begin + round(per_row * first), begin + round(per_row * stop)),
    )


def is_text(path: str) -> bool:
    """Whether a recording is a table in text, packed or not."""
    return _format(path) == "csv"


@contextmanager
def recording_bytes(path: str) -> Iterator[BinaryIO]:
    """The bytes of a recording as they are digested: those of text unpacked, with commas."""
    with _read_errors(path), _opened(path, path, _format(path)) as (stream, _):
        yield stream


def _format(path: str) -> str:
    if path == "-":
        return PIPED
    known = trajectory_formats()
    hint = f"use one of {extensions(known, ', ')}, or - for {PIPED.upper()} on stdin"
    name = uncompressed_name(path)
    if name.lower().endswith(TEXT_ENDINGS):
        return "csv"
    return require_known(name, known, "trajectory format", hint)


@contextmanager
def _opened(path: str, file: str, form: str) -> Iterator[tuple[BinaryIO, bool]]:
    """The bytes of a file from their beginning, and whether it can be read again as they are."""
    if path == "-":
        held = sys.stdin.buffer
        # without a buffer, so that nothing is locked while a thread waits for more to come
        yield getattr(held, "raw", held), False
        return
    with ExitStack() as stack:
        try:
            packed = bool(compression(path))
            if packed:
                stream = stack.enter_context(opened_compressed(path))
            else:
                stream = stack.enter_context(open(path, "rb", buffering=_BUFFER))
            regular = not packed and stat.S_ISREG(os.fstat(stream.fileno()).st_mode)
        except FileNotFoundError as error:
            raise FileError("no such file", where=file, hint="check the path") from error
        except OSError as error:
            raise FileError(f"could not read: {error.strerror or error}", where=file) from error
        if form == "csv" and (regular or packed):
            commas = WithCommas(stream, file)
            if regular and not commas.translates:
                stream.seek(0)
            else:
                stream, regular = cast(BinaryIO, commas), False
        yield stream, regular


def _table(form: str, source: TableSource) -> TableFile:
    with _read_errors(source.file):
        if not (source.regular or FORMATS[form].read_piped):
            piped = " and ".join(n.upper() for n, each in FORMATS.items() if each.read_piped)
            hint = f"only {piped} can be piped or compressed"
            raise FileError("this is a pipe or a device", where=source.file, hint=hint)
        return FORMATS[form].open_table(source)


@contextmanager
def _read_errors(file: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(f"could not read: {error.strerror or error}", where=file) from error
