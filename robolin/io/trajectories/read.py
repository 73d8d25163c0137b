"""Read trajectory files into arrays in the robot's joint order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from robolin.core.arrays import Floats, Mask, Numbers
from robolin.errors import RobolinError
from robolin.io.paths import base_name
from robolin.io.table_file import FileIndex, ReadRequest, TableBlock, TableFile
from robolin.io.trajectories.column_rules import AS_IT_IS, ReadOptions, canonical_columns
from robolin.io.trajectories.columns import MatchedColumns, angles, columns_of_joints, match
from robolin.io.trajectories.open_table import (
    derivable,
    open_table,
    passthrough_columns,
    read_errors,
    require_units,
)
from robolin.io.trajectories.row_slice import ALL_ROWS, RowSlice, chosen_rows, no_row
from robolin.io.trajectories.trajectory import (
    Chunk,
    Trajectory,
    concat_chunks,
    increasing_seconds,
    split_chunk,
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

    given:   the quantities that the file has columns for, or that are derived from them
    notes:   what the reader assumed or ignored, for stderr
    carried: the columns that are copied to the result, by name
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
    # missing quantities are reported as missing columns
    has_columns = True

    @cached_property
    def name(self) -> str:
        """The name of the file in results."""
        return "stdin" if self.file == _STANDARD_INPUT else base_name(self.file)

    @property
    def given(self) -> tuple[str, ...]:
        return (*self.matched.columns, *self.derived)

    @property
    def notes(self) -> tuple[str, ...]:
        return (*self.table.notes, *self.assumed, *self.matched.notes)

    @property
    def time_unit(self) -> str | None:
        """The unit of the time from the options or the file, None if unknown."""
        return self.rules.time_unit or self.table.time_unit

    @property
    def lines(self) -> dict[str, str]:
        """Lines for the contract about how the file was read."""
        lines = {}
        if self.time_unit is not None and self.matched.time is not None:
            lines["time"] = f"in {self.time_unit}, values unchanged"
        if self.derived:
            lines["differentiated"] = derivation_line(self.derived, self.rules.differentiate or "")
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
            raise RobolinError("no column is usable", where=self.file, hint=hint)
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
        """Yield chunks with velocities and accelerations; all rows are read first."""
        merged = concat_chunks(list(self._read(read, most, gaps)))
        seconds = increasing_seconds(merged.time, self.time_unit, self.file)
        yield from split_chunk(self._derived(merged, seconds, gaps), lambda: most)

    def _derived(self, merged: Chunk, seconds: Floats, gaps: bool) -> Chunk:
        method = self.rules.differentiate or ""
        if gaps:
            require_no_gaps(merged.gaps, method, self.file)
        require_no_jumps(merged.columns["q"], self.joints, self.rules.turning, merged.location)
        columns = with_derivatives(merged.columns, self.derived, seconds, method, self.file)
        mask = without_numbers(columns.values()) if gaps else None
        return replace(merged, columns=columns, gaps=mask)

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
    """Interpret a table as a trajectory; `file` is its name in messages."""
    native = canonical_columns(table.names, joints, rules, file, partial(_texts_of, table, file))
    if not table.units_known:
        require_units(rules, file)
    carried = passthrough_columns(table.names, rules, file) if rules.carry else {}
    quantities = (*needs, *optional)
    derived: tuple[str, ...] = ()
    if rules.differentiate is not None:
        useful = columns_of_joints(native.names, joints, rules.selected_joints(joints))
        derived = derivable(useful, quantities, rules)
    # derivatives are computed from positions
    needs = needs if not derived or "q" in needs else ("q", *needs)
    needs = [name for name in needs if name not in derived]
    optional = [name for name in optional if name not in derived]
    aside = [*carried.values(), *(table.names.index(name) for name in native.naming)]
    offered = rules.differentiate is None and not rules.free_turns
    match_columns = partial(match, aside=aside, where=file, only=rules.only, by_differences=offered)
    matched = match_columns(native.names, joints, needs, optional)
    options = (native.notes, rules, tuple(joints), carried, derived, choice)
    return TrajectoryStream(table, matched, file, *options)


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
        notes=stream.notes,
        digest=digest,
        time_unit=stream.time_unit,
        lines=stream.lines,
    )


# derivatives of positions: central differences of second order for any spacing of rows
# (numpy.gradient), or a cubic fitted to 11 equidistant rows (Savitzky-Golay filter of SciPy)
WINDOW, DEGREE = 11, 3
# largest relative deviation of a time step from the mean
UNEVEN_ROWS = 1e-3

_WORDS = {
    "central": "central differences of second order",
    "savgol": f"Savitzky-Golay over {WINDOW} rows, cubic",
}

# values (rows, n) and the order of the derivative
Derivative = Callable[[Floats, int], Floats]


def derivation_line(names: Sequence[str], method: str) -> str:
    """The line about derived quantities in a contract."""
    return f"{' and '.join(names)} from positions and time by {_WORDS[method]}"


def with_derivatives(
    columns: Mapping[str, Floats],
    names: Sequence[str],
    seconds: Floats,
    method: str,
    file: str,
) -> dict[str, Floats]:
    """The columns with 'qd' and 'qdd' added, if they are in `names`.

    Accelerations are the derivative of velocities if the file has them, else the second
    derivative of positions.
    """
    fewest = WINDOW if method == "savgol" else 3
    if len(seconds) < fewest:
        message = f"derivatives require at least {fewest} rows, got {len(seconds)}"
        raise RobolinError(message, where=file, hint=f"provide at least {fewest} rows")
    derivative = _savgol(seconds, file) if method == "savgol" else _central(seconds)
    derived = dict(columns)
    if "qd" in names:
        derived["qd"] = derivative(columns["q"], 1)
    if "qdd" in names:
        velocities = columns.get("qd")
        derived["qdd"] = (
            derivative(columns["q"], 2) if velocities is None else derivative(velocities, 1)
        )
    return derived


def _central(seconds: Floats) -> Derivative:
    def derivative(values: Floats, order: int) -> Floats:
        for _ in range(order):
            values = np.gradient(values, seconds, axis=0, edge_order=2)
        return values

    return derivative


def _savgol(seconds: Floats, file: str) -> Derivative:
    try:
        from scipy.signal import savgol_filter
    except ImportError:
        hint = "pip install scipy, or use --differentiate central"
        raise RobolinError(
            "--differentiate savgol requires SciPy, which is not installed", where=file, hint=hint
        ) from None
    steps = np.diff(seconds)
    step = seconds[-1] / (len(seconds) - 1)
    off = np.abs(steps - step) > UNEVEN_ROWS * step
    if off.any():
        row = int(np.argmax(off))
        message = (
            f"savgol requires a constant time step of {step:.6g} s, got {steps[row]:.6g} s "
            f"before row {row + 2}"
        )
        hint = "use --differentiate central"
        raise RobolinError(message, where=file, hint=hint)

    def derivative(values: Floats, order: int) -> Floats:
        settings: dict[str, Any] = {"deriv": order, "delta": step, "axis": 0, "mode": "interp"}
        derivatives: Floats = savgol_filter(values, WINDOW, DEGREE, **settings)
        return derivatives

    return derivative


def require_no_gaps(gaps: Mask | None, method: str, file: str) -> None:
    """Reject NaN rows if the method fits a curve through them."""
    if method == "savgol" and gaps is not None and gaps.any():
        message = "savgol cannot fit a curve through rows with NaN"
        hint = "use --differentiate central, which drops only adjacent rows"
        raise RobolinError(message, where=file, hint=hint)


def require_no_jumps(
    q: Floats, joints: Sequence[str], turning: Sequence[bool], location: Callable[[int], str]
) -> None:
    """Reject angles that jump by more than half a rotation, which have no useful derivative."""
    jumps = np.abs(np.diff(q, axis=0)) > np.pi
    jumps[:, [not turns for turns in turning]] = False
    if jumps.any():
        row, joint = (int(i) for i in np.argwhere(jumps)[0])
        message = (
            f"joint '{joints[joint]}' jumps from {q[row, joint]:.4g} to "
            f"{q[row + 1, joint]:.4g} rad, more than half a rotation"
        )
        hint = "unwrap the angles at ±pi: numpy.unwrap(angles)"
        raise RobolinError(message, where=location(row + 1), hint=hint)
