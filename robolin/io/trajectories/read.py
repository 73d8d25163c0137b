"""Trajectory files in, arrays in the arm's joint order out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.errors import RobolinError
from robolin.io.paths import base_name
from robolin.io.table_file import FileIndex, ReadRequest, TableBlock, TableFile
from robolin.io.trajectories.column_rules import AS_IT_IS, ReadOptions, canonical_columns
from robolin.io.trajectories.columns import MatchedColumns, angles, asked_columns, match
from robolin.io.trajectories.differentiate import (
    derivation_line,
    require_no_gaps,
    require_no_jumps,
    with_derivatives,
)
from robolin.io.trajectories.open_table import (
    derivable,
    open_table,
    passthrough_columns,
    read_errors,
    require_units,
)
from robolin.io.trajectories.trajectory import (
    ALL_ROWS,
    Chunk,
    RowSlice,
    Trajectory,
    chosen_rows,
    concat_chunks,
    increasing_seconds,
    no_row,
    split_chunk,
    without_numbers,
)

# how many rows are read at once: many, unless they are wide
MOST_ROWS, FEWEST_ROWS, NUMBERS_AT_ONCE = 16384, 64, 1 << 19

# what messages call it
_STANDARD_INPUT = "<stdin>"
_ANGULAR = frozenset({"q", "qd", "qdd"})
_DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class TrajectoryStream:
    """A trajectory file that is open and whose columns are known; its rows come in chunks.

    given:   the quantities it has columns for, or that are derived from them
    notes:   what the reader assumed or left aside, for stderr
    carried: the columns that go along into the result, by name
    derived: the quantities among those given that are derivatives
    """

    table: TableFile
    matched: MatchedColumns
    file: str
    assumed: tuple[str, ...] = ()
    rules: ReadOptions = AS_IT_IS
    joints: tuple[str, ...] = ()
    carried: Mapping[str, int] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    choice: RowSlice = ALL_ROWS
    # quantities that are missing were to be expected
    has_columns = True

    @cached_property
    def name(self) -> str:
        """What results call the file."""
        return "stdin" if self.file == _STANDARD_INPUT else base_name(self.file)

    @property
    def given(self) -> tuple[str, ...]:
        return (*self.matched.columns, *self.derived)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.table.notes, *self.assumed, *self.matched.notes)

    @property
    def time_unit(self) -> str | None:
        """What the time counts, if somebody or the file says so."""
        return self.rules.time_unit or self.table.time_unit

    @property
    def lines(self) -> dict[str, str]:
        """What a contract tells of the way the file was read."""
        lines = {}
        if self.time_unit is not None and self.matched.time is not None:
            lines["time"] = f"counted in {self.time_unit}, passed through as it came"
        if self.derived:
            lines["differentiated"] = derivation_line(self.derived, self.rules.differentiate or "")
        return lines

    @property
    def size(self) -> int | None:
        return self.table.size

    def most_rows(self) -> int | None:
        return self.table.most_rows()

    def inputs(self) -> dict[str, str]:
        """The file and its digest, once all rows have been read."""
        return {self.name: self.table.digest()}

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
        if self.derived:
            yield from self._with_derivatives(read, rows or self.rows_at_once, gaps)
            return
        yield from self._read(read, rows or self.rows_at_once, gaps)

    def _read(self, read: Sequence[int], most: int, gaps: bool) -> Iterator[Chunk]:
        """What the file itself has."""
        empty, before = True, 0
        with read_errors(self.file):
            request = self._request(read, most, gaps)
            row = request.first
            for block in self.table.blocks(request):
                meant = self._meant(block, row)
                for chunk in split_chunk(self._chunk(meant, request, before), lambda: most):
                    empty = False
                    yield chunk
                before, row = block.reached, row + len(block.values)
        if empty:
            raise no_row(self.choice, self.file)

    def _meant(self, block: TableBlock, row: int) -> TableBlock:
        """Those of the rows of a block that are meant; its first row has this number."""
        all_meant = self.choice.stride == 1 and (self.table.chooses or self.choice == ALL_ROWS)
        return block if all_meant else chosen_rows(self.choice, block, row)

    def _with_derivatives(self, read: Sequence[int], most: int, gaps: bool) -> Iterator[Chunk]:
        """The same with velocities and accelerations, for which all rows are read first."""
        whole = concat_chunks(list(self._read(read, most, gaps)))
        seconds = increasing_seconds(whole.time, self.time_unit, self.file)
        yield from split_chunk(self._derived(whole, seconds, gaps), lambda: most)

    def _derived(self, whole: Chunk, seconds: Floats, gaps: bool) -> Chunk:
        method = self.rules.differentiate or ""
        if gaps:
            require_no_gaps(whole.gaps, method, self.file)
        require_no_jumps(whole.columns["q"], self.joints, self.rules.turning, whole.place)
        columns = with_derivatives(whole.columns, self.derived, seconds, method, self.file)
        mask = without_numbers(columns.values()) if gaps else None
        return replace(whole, columns=columns, gaps=mask)

    def _request(self, read: Sequence[int], rows: int, gaps: bool) -> ReadRequest:
        """Everything that is read, time and what goes along exactly as it stands there."""
        carried = [i for i in self.carried.values() if i != self.matched.time]
        read = [*dict.fromkeys([*read, *carried])]
        along = [i for i in carried if self.table.whole(i)]
        every = ReadRequest(read, rows, gaps, along)
        if self.table.chooses:
            every = replace(every, first=self.choice.first, stop=self.choice.stop)
        if (time := self.matched.time) is None:
            return every
        unit = self.table.moments(time)
        if unit is not None:
            return replace(every, whole=[time, *along], moments={time: unit})
        whole = [time] if self.table.whole(time) else []
        return replace(every, whole=[*whole, *along], unrounded=[time])

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
            # a gap in what merely goes along leaves the answer as it is
            asked = [place for i, place in position.items() if i not in self.carried.values()]
            mask = without_numbers([values[:, asked], *columns.values()])
        reach = (before, block.reached)
        carried: dict[str, Numbers] = {
            name: block.whole[i] if i in block.whole else values[:, position[i]].copy()
            for name, i in self.carried.items()
        }
        return Chunk(len(values), columns, time, block.place, mask, reach, carried)


@contextmanager
def open_trajectory(
    path: str | Path,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: ReadOptions = AS_IT_IS,
    choice: RowSlice = ALL_ROWS,
    known: FileIndex | None = None,
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
    file = _STANDARD_INPUT if str(path) == "-" else str(path)
    with open_table(str(path), file, joints, known, live) as table:
        yield table_trajectory(table, file, joints, needs, optional, rules, choice)


def table_trajectory(
    table: TableFile,
    file: str,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: ReadOptions = AS_IT_IS,
    choice: RowSlice = ALL_ROWS,
) -> TrajectoryStream:
    """A table as a trajectory; `file` is what messages call it."""
    native = canonical_columns(table.names, joints, rules, file, partial(_texts_of, table, file))
    if not table.units_known:
        require_units(rules, file)
    carried = passthrough_columns(table.names, rules, file) if rules.carry else {}
    wanted = (*needs, *optional)
    derived: tuple[str, ...] = ()
    if rules.differentiate is not None:
        useful = asked_columns(native.names, joints, rules.asked(joints))
        derived = derivable(useful, wanted, rules)
    # whatever is derived comes from positions
    needs = needs if not derived or "q" in needs else ("q", *needs)
    needs = [name for name in needs if name not in derived]
    optional = [name for name in optional if name not in derived]
    aside = [*carried.values(), *(table.names.index(name) for name in native.naming)]
    offered = rules.differentiate is None and not rules.free_turns
    match_columns = partial(match, aside=aside, where=file, only=rules.only, by_differences=offered)
    matched = match_columns(native.names, joints, needs, optional)
    meant = (native.notes, rules, tuple(joints), carried, derived, choice)
    return TrajectoryStream(table, matched, file, *meant)


def _texts_of(table: TableFile, file: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """What columns say in every row; None where that is not the same."""
    with read_errors(file):
        return table.texts([table.names.index(name) for name in names])


def read_trajectory(
    path: str | Path,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: ReadOptions = AS_IT_IS,
    choice: RowSlice = ALL_ROWS,
    known: FileIndex | None = None,
) -> Trajectory:
    """All rows that are meant at once, with None for the quantities the file lacks."""
    with open_trajectory(path, joints, needs, optional, rules, choice, known) as stream:
        whole = concat_chunks(list(stream.chunks()))
        digest = stream.table.digest()
    return Trajectory(
        whole.rows,
        **whole.columns,
        time=whole.time,
        notes=stream.notes,
        digest=digest,
        time_unit=stream.time_unit,
        lines=stream.lines,
    )
