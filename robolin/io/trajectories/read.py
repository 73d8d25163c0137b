"""Read trajectory files into arrays in the robot's joint order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import field, replace
from functools import cached_property, partial
from pathlib import Path

import numpy as np

from robolin.core.arrays import Floats, Numbers
from robolin.core.quantity_table import require_named_units, time_and_unit
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.errors import RobolinError, UsageError
from robolin.io.format_table import base_name
from robolin.io.table_file import FileIndex, ReadRequest, TableBlock, TableFile, with_row_times
from robolin.io.trajectories.columns import (
    MatchedColumns,
    canonical_columns,
    columns_of_joints,
    match,
)
from robolin.io.trajectories.derivatives import (
    DerivationReport,
    JumpCheck,
    LocalDerivatives,
    central_derivatives,
    derivative_sources,
    plan_windows,
)
from robolin.io.trajectories.open_table import (
    can_be_reopened,
    derivable,
    open_table,
    passthrough_columns,
    read_errors,
    require_units,
)
from robolin.io.trajectories.read_options import (
    ALL_ROWS,
    AS_IT_IS,
    CENTRAL,
    ReadOptions,
    RowSlice,
    chosen_rows,
    no_row,
    parse_differentiation,
)
from robolin.io.trajectories.trajectory import (
    Chunk,
    Trajectory,
    angles,
    concat_chunks,
    require_clock,
    without_numbers,
)

# limits of the rows per chunk, and of the numbers per chunk
MOST_ROWS, FEWEST_ROWS, NUMBERS_AT_ONCE = 16384, 64, 1 << 19

# its name in messages
_STANDARD_INPUT = "<stdin>"

_ANGULAR = frozenset({"q", "qd", "qdd"})

_DEGREE = np.pi / 180.0


@dataclass(frozen=True)
class TrajectoryStream:
    """An open trajectory file with known columns; its rows are read in chunks.

    quantities: those that the file has columns for, or that are derived from them
    notes:   what the reader assumed or ignored, for stderr
    carried: the columns that are copied to the result, by name
    derived: the quantities among them that are derivatives
    again:   opens the file once more; None if it can be read only once
    derivation: how the derivatives were computed, complete after the last row
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
    again: Callable[[], AbstractContextManager[TableFile]] | None = None
    derivation: DerivationReport = field(default_factory=DerivationReport)
    # missing quantities are reported as missing columns
    has_columns = True

    @cached_property
    def name(self) -> str:
        """The name of the file in results."""
        return "stdin" if self.file == _STANDARD_INPUT else base_name(self.file)

    @property
    def quantities(self) -> tuple[str, ...]:
        return (*self.matched.columns, *self.derived)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.table.notes, *self.assumed, *self.matched.notes)

    @property
    def final_notes(self) -> tuple[str, ...]:
        """Notes that are known after the last row."""
        notes = self.derivation.notes(self.derived) if self.derived else []
        return (*(f"{key}: {text}" for key, text in self.table.lines().items()), *notes)

    @property
    def time_unit(self) -> str | None:
        """The unit of the time from the options or the file, None if unknown."""
        return self.rules.time_unit or self.table.time_unit

    @property
    def lines(self) -> dict[str, str]:
        """Lines for the contract about how the file was read."""
        lines = {}
        if self.rules.sample_time is not None:
            lines["time"] = f"row number times {self.rules.sample_time:g} s"
        elif self.time_unit is not None and self.matched.time is not None:
            lines["time"] = f"in {self.time_unit}, values unchanged"
        lines |= self.table.lines()
        if self.rules.torque_constants is not None and "tau" in self.matched.columns:
            constants = ", ".join(f"{each:.6g}" for each in self.rules.torque_constants)
            lines["efforts"] = f"motor currents times {constants} N·m per A or N per A"
        if self.derived:
            lines["differentiated"] = self.derivation.line(self.derived)
        return lines

    @property
    def size(self) -> int | None:
        return self.table.size

    def most_rows(self) -> int | None:
        return self.table.most_rows()

    def inputs(self) -> dict[str, str]:
        """The file and its hash, once all rows have been read."""
        return {self.name: self.table.digest()}

    @property
    def rows_at_once(self) -> int:
        """A number of rows that is read quickly and needs little memory."""
        width = max(1, sum(map(len, self.matched.columns.values())))
        return min(MOST_ROWS, max(FEWEST_ROWS, NUMBERS_AT_ONCE // width))

    def chunks(self, rows: int | None = None, *, gaps: bool = False) -> Iterator[Chunk]:
        """Yield all rows in order, in chunks of at most `rows` rows.

        gaps: return cells without a finite number as NaN instead of an error
        """
        read = [i for indices in self.matched.columns.values() for i in indices if i is not None]
        read += [i for each in self.matched.orientations for i in each.columns]
        if self.matched.time is not None:
            read.append(self.matched.time)
        if not read:
            hint = "check the column names in the header"
            raise RobolinError(
                "no column contains a quantity of the robot", where=self.file, hint=hint
            )
        if self.derived:
            yield from self._with_derivatives(read, rows or self.rows_at_once, gaps)
            return
        yield from self._read(read, rows or self.rows_at_once, gaps)

    def _read(self, read: Sequence[int], most: int, gaps: bool) -> Iterator[Chunk]:
        """Yield the quantities that the file itself has."""
        empty, before = True, 0
        with read_errors(self.file):
            request = self._request(read, most, gaps)
            row = request.first
            for block in self.table.blocks(request):
                selected = self._selected_rows(block, row)
                for chunk in split_chunk(self._chunk(selected, request, before), lambda: most):
                    empty = False
                    yield chunk
                before, row = block.reached, row + len(block.values)
        if empty:
            raise no_row(self.choice, self.file)

    def _selected_rows(self, block: TableBlock, row: int) -> TableBlock:
        """The selected rows of a block that begins at this row."""
        unchanged = self.choice.stride == 1 and (
            self.table.supports_slicing or self.choice == ALL_ROWS
        )
        return block if unchanged else chosen_rows(self.choice, block, row)

    def _with_derivatives(self, read: Sequence[int], most: int, gaps: bool) -> Iterator[Chunk]:
        """Yield chunks with velocities and accelerations."""
        if self.matched.time is None:
            require_clock(None, self.time_unit, self.file)
        jumps = JumpCheck(self.joints, self.rules.turning)
        method = parse_differentiation(self.rules.differentiate or CENTRAL)
        sources = derivative_sources(self.matched.columns, self.derived)
        chunks: Iterable[Chunk] = map(jumps.check, self._read(read, most, gaps))
        if method.method == CENTRAL:
            merged = concat_chunks(list(chunks))
            derived = central_derivatives(merged, sources, self.time_unit, self.file)
            self.derivation.method = "central differences of second order"
            columns = {**merged.columns, **derived}
            mask = without_numbers(columns.values()) if gaps else None
            yield from split_chunk(replace(merged, columns=columns, gaps=mask), lambda: most)
            return
        if method.width is None and self.again is None:
            # a pipe cannot be read twice
            chunks = list(chunks)
        times = partial(self._times, chunks if isinstance(chunks, list) else None, most)
        plan = plan_windows(method, times, self.time_unit, self.file)
        self.derivation.method = plan.words
        self.derivation.chosen = method.width is None
        if plan.step is None and all(source == "qd" for source, _ in sources.values()):
            self.derivation.origin = "velocities"
        arguments = (plan, sources, self.time_unit, self.file, self.derivation, gaps)
        yield from LocalDerivatives(*arguments).chunks(chunks)

    def _times(self, chunks: Sequence[Chunk] | None, most: int) -> Iterator[Numbers]:
        """Yield the time stamps of all rows: of these chunks, or of the file read once more."""
        if chunks is None and self.again is not None:
            with self.again() as table:
                if (seconds := self.rules.sample_time) is not None:
                    table, _ = _with_sample_time(
                        table, replace(self.matched, time=None), seconds, self.file
                    )
                only_time = replace(self.matched, columns={}, orientations=())
                other = replace(self, table=table, matched=only_time, carried={}, derived=())
                yield from (
                    require_clock(each.time, self.time_unit, self.file)
                    for each in other.chunks(most, gaps=True)
                )
        for chunk in chunks or ():
            yield require_clock(chunk.time, self.time_unit, self.file)

    def _request(self, read: Sequence[int], rows: int, gaps: bool) -> ReadRequest:
        """The columns to read; time and copied columns without rounding."""
        carried = [i for i in self.carried.values() if i != self.matched.time]
        read = [*dict.fromkeys([*read, *carried])]
        along = [i for i in carried if self.table.is_integer(i)]
        every = ReadRequest(read, rows, gaps, along)
        if self.table.supports_slicing:
            every = replace(every, first=self.choice.first, stop=self.choice.stop)
        if (time := self.matched.time) is None:
            return every
        unit = self.table.datetime_unit(time)
        if unit is not None:
            return replace(every, integers=[time, *along], datetimes={time: unit})
        integers = [time] if self.table.is_integer(time) else []
        return replace(every, integers=[*integers, *along], exact=[time])

    def _chunk(self, block: TableBlock, request: ReadRequest, before: int) -> Chunk:
        """Arrange the columns of a block by quantity and joint."""
        values, gaps = block.values, request.allow_nan
        position = {i: column for column, i in enumerate(request.indices)}

        def gather(indices: Sequence[int | None]) -> Floats:
            gathered = np.zeros((len(values), len(indices)))
            for joint, i in enumerate(indices):
                if i is not None:
                    gathered[:, joint] = values[:, position[i]]
            return gathered

        columns = {name: gather(indices) for name, indices in self.matched.columns.items()}
        if self.rules.degrees:
            for name in _ANGULAR & columns.keys():
                columns[name][:, list(self.rules.turning)] *= _DEGREE
        if self.rules.torque_constants is not None and "tau" in columns:
            columns["tau"] *= self.rules.torque_constants
        for each in self.matched.orientations:
            angled = angles(each, gather(each.columns), block.location, gaps)
            columns["q"][:, list(each.indices)] = angled
        time: Numbers | None = None
        if (i := self.matched.time) is not None:
            time = block.integers[i] if i in block.integers else gather([i])[:, 0]
            if i in request.datetimes:
                time = time.view(f"M8[{request.datetimes[i]}]")
        mask = None
        if gaps:
            # NaN in a copied column does not affect the result
            required = [column for i, column in position.items() if i not in self.carried.values()]
            mask = without_numbers([values[:, required], *columns.values()])
        reach = (before, block.reached)
        carried: dict[str, Numbers] = {
            name: block.integers[i] if i in block.integers else values[:, position[i]].copy()
            for name, i in self.carried.items()
        }
        return Chunk(len(values), columns, time, block.location, mask, reach, carried)


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
    optional: omitted if the file has no such column, 0 for joints without one
    rules:    how to read the recording
    choice:   which of its rows to read
    known:    properties known from an earlier scan
    live:     whether each row is returned as soon as it arrives
    """
    file = _STANDARD_INPUT if str(path) == "-" else str(path)
    with open_table(str(path), file, joints, known, live, rules) as table:
        stream = table_trajectory(table, file, joints, needs, optional, rules, choice)
        reopened = partial(open_table, str(path), file, joints, known, rules=rules)
        yield replace(stream, again=reopened) if can_be_reopened(str(path)) else stream


def table_trajectory(
    table: TableFile,
    file: str,
    joints: Sequence[str],
    needs: Sequence[str],
    optional: Sequence[str] = (),
    rules: ReadOptions = AS_IT_IS,
    choice: RowSlice = ALL_ROWS,
) -> TrajectoryStream:
    """Interpret a table as a trajectory; `file` is its name in messages."""
    if table.numbered and not rules.columns:
        hint = f"select columns by index, for example --columns position=0:{len(joints)}"
        count = pluralize(len(table.names), "column")
        raise RobolinError(f"the file has {count} without names", where=file, hint=hint)
    native = canonical_columns(table.names, joints, rules, file, partial(_texts_of, table, file))
    if not table.units_known:
        require_units(rules, file)
    carried = passthrough_columns(table.names, rules, file) if rules.carry else {}
    quantities = (*needs, *optional)
    derived: tuple[str, ...] = ()
    if rules.differentiate is not None:
        selected = joints if rules.only is None else rules.only
        useful = columns_of_joints(native.names, joints, selected)
        derived = derivable(useful, quantities, rules)
    # derivatives are computed from positions
    needs = needs if not derived or "q" in needs else ("q", *needs)
    needs = [name for name in needs if name not in derived]
    optional = [name for name in optional if name not in derived]
    aside = [*carried.values(), *(table.names.index(name) for name in native.naming)]
    offered = rules.differentiate is None and not rules.free_turns
    match_columns = partial(match, aside=aside, where=file, only=rules.only, by_differences=offered)
    matched = match_columns(native.names, joints, needs, optional)
    degrees = True if rules.degrees else False if rules.radians else None
    for quantity, indices in matched.columns.items():
        pairs = zip(joints, indices, strict=True)
        read = {joint: table.names[i] for joint, i in pairs if i is not None}
        require_named_units(read, degrees, quantity, file)
    rules = _with_time_unit(table, matched.time, rules)
    if rules.sample_time is not None:
        table, matched = _with_sample_time(table, matched, rules.sample_time, file)
    options = (native.notes, rules, tuple(joints), carried, derived, choice)
    return TrajectoryStream(table, matched, file, *options)


def _with_time_unit(table: TableFile, time: int | None, rules: ReadOptions) -> ReadOptions:
    """The options with the unit in the name of the time column, if nothing else has one."""
    if time is None or rules.time_unit or table.time_unit or table.datetime_unit(time):
        return rules
    return replace(rules, time_unit=time_and_unit(table.names[time])[1] or None)


def _with_sample_time(
    table: TableFile, matched: MatchedColumns, seconds: float, file: str
) -> tuple[TableFile, MatchedColumns]:
    """The table with a time column for its rows; one that has a time is rejected."""
    if matched.time is not None:
        message = f"has no effect: the file has the time column '{table.names[matched.time]}'"
        raise UsageError(message, where=f"--sample-time with {file}", hint="remove --sample-time")
    read = [i for each in matched.columns.values() for i in each if i is not None]
    timed = with_row_times(table, seconds, read[0] if read else 0)
    return timed, replace(matched, time=len(table.names))


def _texts_of(table: TableFile, file: str, names: Sequence[str]) -> tuple[str, ...] | None:
    """The constant text of columns; None if rows differ."""
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
    """Read all selected rows into memory, with None for the quantities the file lacks."""
    with open_trajectory(path, joints, needs, optional, rules, choice, known) as stream:
        merged = concat_chunks(list(stream.chunks()))
        digest = stream.table.digest()
    return Trajectory(
        merged.rows,
        **merged.columns,
        time=merged.time,
        notes=(*stream.notes, *stream.final_notes),
        digest=digest,
        time_unit=stream.time_unit,
        lines=stream.lines,
    )


def split_chunk(chunk: Chunk, rows: Callable[[], int]) -> Iterator[Chunk]:
    """Split a chunk into parts of at most `rows()` rows, evaluated for each part."""
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
        location=lambda row: chunk.location(first + row),
        gaps=None if chunk.gaps is None else chunk.gaps[first:stop],
        reach=(begin + round(per_row * first), begin + round(per_row * stop)),
        carried={name: values[first:stop] for name, values in chunk.carried.items()},
    )
