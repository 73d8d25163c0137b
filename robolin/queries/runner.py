"""Evaluate a function of states: on one state, or on chunks of rows from arrays or a recording."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from dataclasses import replace
from itertools import chain
from math import inf
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from robolin.core.arm import Arm
from robolin.core.arrays import Floats, np
from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.result import Array, Footer, Result, ResultStream
from robolin.core.text import pluralize
from robolin.core.threads import MIN_WORK_PER_THREAD, SMALL_RESULT, prefetch, threads_for
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.evaluation.evaluate import FEW_STATES
from robolin.queries.loop_answer import LoopOptions, closed_state
from robolin.queries.request import QueryContext, arm_inputs
from robolin.queries.state_monitor import StateMonitor, noted_angles
from robolin.queries.values import (
    StateInputs,
    TorqueDefault,
    Values,
    first_nan_row,
    nan_rows,
    possible_quantities,
    require_useful,
    resolve_batch,
    resolve_single,
    with_derived,
    with_passthrough,
)

if TYPE_CHECKING:
    from robolin.io.trajectories.read import TrajectoryStream
    from robolin.io.trajectories.trajectory import Chunk

T = TypeVar("T")

_SKIP = "skip such rows with --on-bad-row nan"

# size in bytes or rows above which all threads are busy from the start
_LONG_SOURCE = 1 << 22
_ROWS_PER_CHUNK = 16384

# quantities that a recording must have, by the option that compares it with the model
_MEASURED: Mapping[str, tuple[str, ...]] = {
    "residual": ("q", "tau"),
    "external": ("q", "qd", "tau"),
}


class StateFunction(Protocol):
    """Arrays as a function of states.

    needs:   state quantities that it needs
    torque:  a torque that is not given is zero, or holds the arm
    divides: it divides by the mass matrix, so its condition number matters
    contract_entries: contract entries that its evaluation adds
    """

    torque: TorqueDefault
    divides: bool
    contract_entries: dict[str, Any]

    @property
    def needs(self) -> tuple[str, ...]: ...
    @property
    def loops(self) -> LoopOptions: ...
    def start(self, context: QueryContext, values: Values) -> Values:
        """Check one given state, or replace it by the state to evaluate."""

    def state(
        self, context: QueryContext, inputs: StateInputs, values: Values
    ) -> tuple[Array, ...]: ...
    def rows(
        self, context: QueryContext, inputs: StateInputs, chunk: Chunk, jobs: int | None
    ) -> tuple[tuple[Array, ...] | None, int]:
        """Return the arrays of some rows, and the number of rows without a result.

        Such a row raises its error, or is NaN if the request allows it.  None replaces
        the arrays while their shapes are unknown, because all rows so far have failed.
        """

    def lines(
        self, context: QueryContext, inputs: StateInputs, rows: int | None
    ) -> dict[str, Any]: ...
    def notes(self) -> list[str]:
        """Return notes about all rows, after the last one."""

    def rows_per_chunk(self, context: QueryContext, numbers: float) -> int:
        """Return the rows to evaluate together; `numbers` per row, 0 if unknown."""


def run_function(
    context: QueryContext, function: StateFunction, numpy: bool = True
) -> Result | ResultStream:
    """Evaluate one state, or return a stream that evaluates rows on demand.

    numpy: False to evaluate one state without importing NumPy
    """
    if context.states.trajectory is not None or context.states.arrays:
        return Runner(context, function).stream()
    inputs, typed = resolve_single(context, function.needs, function.torque, numpy)
    if "q" in typed:
        noted_angles(context, "q", typed["q"].tolist())
    values = function.start(context, typed)
    monitor = StateMonitor(context, function.divides)
    monitor.update(values.get("q", inputs.zero_of(context.arm)))
    monitor.report()
    arrays = with_derived(context, function.state(context, inputs, values))
    result = context.result(arrays, _contract_lines(context, function, inputs))
    if context.settings.watch:
        context.settings.watch(closed_state(context.arm, function.loops, values), result)
    return result


def _contract_lines(
    context: QueryContext,
    function: StateFunction,
    inputs: StateInputs,
    rows: int | None = None,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Contract entries; `reading` are those about the rows of a file."""
    lines: dict[str, Any] = {**inputs.contract_lines(rows)}
    if context.arm.loops:
        lines |= function.loops.contract_lines
    lines |= function.lines(context, inputs, rows)
    return {**lines, **(reading or {}), **function.contract_entries}


class Runner:
    """Evaluates a function on the rows of one source."""

    def __init__(self, context: QueryContext, function: StateFunction) -> None:
        self._context, self._settings, self._function = context, context.settings, function
        self._inputs, self._source = open_batch(context, function.needs, function.torque)
        self._options, self._files = context.request.options, context.request.files
        self._failed, self._first_failed = 0, ""
        # numbers per row of the results, once known
        self._numbers = 0.0
        # rows read so far, and the estimated total
        self._rows, self._all_rows = 0, inf
        self._monitor = StateMonitor(context, function.divides)

    def stream(self) -> ResultStream:
        """Return all parts as a stream; report warnings after the last one."""
        if self._settings.progress:
            self._settings.progress.begin(self._source.size)
        self._context.at_end.append(self._report_at_end)
        return ResultStream(
            self._parts(), self._footer, self._source.most_rows, self._settings.live
        )

    def _report_at_end(self) -> None:
        self._context.note(*self._function.notes())
        self._context.note(*(f"{self._inputs.file}: {note}" for note in self._source.final_notes))
        self._monitor.report(self._inputs.file)
        if self._failed:
            text = f"NaN is written for {pluralize(self._failed, 'row')} without a result"
            self._context.warn(f"{self._inputs.file}: {text}, first in {self._first_failed}")

    def _parts(self) -> Iterator[Result]:
        progress, busy = self._settings.progress, self._thread_condition(self._justifies_thread)
        with closing(prefetch(self._computed(), busy)) as parts:
            for part, chunk in parts:
                if progress:
                    progress.add(chunk.rows, chunk.reach[1])
                yield part

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        """Yield parts in order; rows before the first valid result wait for its shapes."""
        waiting: list[Chunk] = []
        for chunk in self.chunks():
            for some, arrays in self._evaluate(chunk):
                if arrays is None:
                    waiting.append(replace(some, columns={}))
                    continue
                for early in waiting:
                    yield self.part(early, nan_rows(arrays, early.rows)), early
                waiting.clear()
                yield self.part(some, arrays), some
        if waiting:
            hint = "correct at least one row"
            raise RobolinError("no row has a result", where=self._inputs.file, hint=hint)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in chunks to evaluate."""
        from robolin.io.trajectories.read import split_chunk

        rows, tolerant = self._settings.chunk_rows, self._context.skips_bad_rows
        read = self._source.chunks(rows, gaps=tolerant)
        with closing(prefetch(read, self._thread_condition(self._has_more))) as chunks:
            for chunk in chain.from_iterable(
                split_chunk(each, self._rows_per_chunk) for each in chunks
            ):
                self._rows += chunk.rows
                self._all_rows = self._rows + self._rows_after(chunk)
                yield chunk

    def check_states(self, chunk: Chunk) -> None:
        """Collect warnings about the states of some rows."""
        if "q" in chunk.columns:
            self._monitor.update(chunk.columns["q"], chunk.location)

    def _evaluate(self, chunk: Chunk) -> Iterator[tuple[Chunk, tuple[Array, ...] | None]]:
        """Evaluate a chunk; live rows before a failing row are returned first."""
        from robolin.io.trajectories.read import split_chunk

        try:
            arrays = self._arrays(chunk)
        except RobolinError:
            if not self._settings.live or chunk.rows == 1:
                raise
        else:
            yield chunk, arrays
            return
        for row in split_chunk(chunk, lambda: 1):
            yield row, self._arrays(row)

    def _arrays(self, chunk: Chunk) -> tuple[Array, ...] | None:
        self.check_states(chunk)
        jobs = self._settings.jobs or self._jobs(chunk)
        arrays, failed = self._function.rows(self._context, self._inputs, chunk, jobs)
        self._failed += failed
        self._first_failed = self._first_failed or first_nan_row(chunk, arrays, failed)
        return arrays and with_derived(self._context, arrays)

    def part(self, chunk: Chunk, arrays: tuple[Array, ...]) -> Result:
        """Return the result of some rows."""
        part = Result(
            verb=self._context.question.verb,
            arrays=with_passthrough(arrays, chunk),
            joints=self._context.arm.joint_names,
            contract={},
            options=self._options,
            inputs={},
            time=chunk.time,
            files=self._files,
        )
        self._numbers = sum(array.values.size for array in part.arrays) / chunk.rows
        if self._settings.watch:
            state = closed_state(self._context.arm, self._function.loops, chunk.columns)
            self._settings.watch(state, part)
        return part

    def _thread_condition(self, condition: Callable[[T], bool]) -> Callable[[T], bool] | None:
        """Condition for starting a thread; None (always) for pipes and long sources."""
        size = self._source.size
        return condition if size is not None and size < _LONG_SOURCE else None

    def _has_more(self, chunk: Chunk) -> bool:
        """True if the source continues after this chunk."""
        return chunk.reach[1] < (self._source.size or 0)

    def _justifies_thread(self, item: tuple[Result, Chunk]) -> bool:
        """True if the remaining work justifies a thread."""
        left = self._rows_after(item[1]) * self._numbers
        return left > MIN_WORK_PER_THREAD and self._all_rows * self._numbers > SMALL_RESULT

    def _rows_after(self, chunk: Chunk) -> float:
        """Estimated number of rows after a chunk; infinite in a pipe."""
        if self._source.size is None:
            return inf
        begin, end = chunk.reach
        return (self._source.size - end) * chunk.rows / max(end - begin, 1)

    def _rows_per_chunk(self) -> int:
        rows = self._settings.chunk_rows
        return rows or self._function.rows_per_chunk(self._context, self._numbers)

    def _jobs(self, chunk: Chunk) -> int | None:
        """Number of threads for a chunk: one for a small chunk, None for one per processor."""
        if not self._numbers:
            # the amount of work per row is not known yet
            return 1 if chunk.rows <= FEW_STATES else None
        if chunk.rows * self._numbers < MIN_WORK_PER_THREAD:
            return 1
        return threads_for(self._all_rows * self._numbers)

    def _footer(self, rows: int) -> Footer:
        context, arm, reading = self._context, self._context.arm, dict(self._source.lines)
        if self._failed:
            reading["unanswered rows"] = f"{self._failed}, all NaN"
        lines = _contract_lines(context, self._function, self._inputs, rows, reading)
        inputs = {**arm_inputs(arm), **self._source.inputs()}
        return Footer({**arm.contract, **lines}, inputs, arm.model_dict)


def located_error(error: RobolinError, location: str) -> RobolinError:
    """Add a row's location and the --on-bad-row hint to an error."""
    hint = f"{error.hint}; {_SKIP}" if error.hint else _SKIP
    return RobolinError(error.message, where=location, hint=hint)


def open_batch(
    context: QueryContext, needs: tuple[str, ...], torque: TorqueDefault
) -> tuple[StateInputs, BatchSource]:
    """Open the rows to evaluate and resolve their inputs; emit notes about assumptions."""
    names = possible_quantities(needs, torque)
    source: BatchSource
    if context.states.trajectory is None:
        require_useful(context.states, names, both={"qdd", "tau"} <= set(needs))
        source = ArrayRows(context.arm, context.states.arrays)
    else:
        source = _open_trajectory(context, context.states.trajectory, names)
    inputs = resolve_batch(context, needs, torque, source.quantities, source.name, source.derived)
    inputs = replace(inputs, time_unit=source.time_unit)
    _report_assumptions(context, inputs, source)
    return inputs, source


def _open_trajectory(context: QueryContext, path: str, names: tuple[str, ...]) -> TrajectoryStream:
    """Open a trajectory file for the duration of the query, or wrap a table in memory."""
    if unknown := [name for name in names if name not in COLUMN_WORDS]:
        message = f"trajectory files cannot contain {' and '.join(unknown)}"
        raise UsageError(message, where="--trajectory", hint="set one state with flags")
    # one state needs no reader
    from robolin.io.trajectories.read import open_trajectory, table_trajectory

    settings, rows, rules = context.settings, context.states.row_slice, context.rules
    needs: tuple[str, ...] = ("q",)
    for option, required in _MEASURED.items():
        if context.question.flag(option):
            needs, rules = required, replace(rules, measured=True)
    if rules.torque_constants is not None and "tau" not in (*needs, *names):
        hint = "remove --torque-constants, or add --residual to compare efforts with the model"
        where = "--torque-constants"
        raise UsageError(f"{context.question.verb} does not use efforts", where=where, hint=hint)
    read_arguments = (context.arm.joint_names, needs, names[1:], rules, rows)
    if settings.table is not None:
        return table_trajectory(settings.table, path, *read_arguments)
    stream = open_trajectory(path, *read_arguments, settings.known, settings.live)
    return context.open_files.enter_context(stream)


def _report_assumptions(context: QueryContext, inputs: StateInputs, source: BatchSource) -> None:
    """Emit notes about assumptions; under --strict raise for missing columns."""
    if not source.has_columns:
        return
    missing = inputs.missing_columns()
    if context.strict:
        hint = "add the columns, or remove --strict"
        raise_all([RobolinError(text, where=inputs.file, hint=hint) for text in missing])
    notes = list(source.notes)
    if {"tau", "qdd"} <= set(source.quantities) and not context.question.flag("residual"):
        notes.append(
            "prescribed joints use the acceleration columns, and other joints use the "
            "effort columns"
            if "qdd" in inputs.needs
            else "acceleration columns are ignored: the efforts determine the accelerations"
        )
    context.note(*(f"{inputs.file}: {note}" for note in notes))
    context.warn(*(f"{inputs.file}: {text}" for text in missing))


class BatchSource(Protocol):
    """Rows in chunks, with properties of all rows; a `TrajectoryStream` is one.

    has_columns: missing quantities could have been columns, so their absence is worth a warning
    size:        total size in the units of the chunks, if known
    derived:     given quantities that are derivatives of others
    lines:       contract entries about reading
    time_unit:   unit of the time, if known
    """

    has_columns: bool

    @property
    def name(self) -> str: ...
    @property
    def quantities(self) -> tuple[str, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def final_notes(self) -> tuple[str, ...]: ...
    @property
    def derived(self) -> tuple[str, ...]: ...
    @property
    def lines(self) -> dict[str, str]: ...
    @property
    def time_unit(self) -> str | None: ...
    @property
    def size(self) -> int | None: ...
    def chunks(self, rows: int | None, *, gaps: bool) -> Iterator[Chunk]: ...
    def most_rows(self) -> int | None: ...
    def inputs(self) -> dict[str, str]: ...


class ArrayRows:
    """Rows of arrays of shape (rows, n), all with the same number of rows."""

    quantities: tuple[str, ...]
    size: int

    name = "arrays"
    notes: tuple[str, ...] = ()
    final_notes: tuple[str, ...] = ()
    derived: tuple[str, ...] = ()
    time_unit = None
    has_columns = False

    def __init__(self, arm: Arm, arrays: Mapping[str, Floats]) -> None:
        self._arrays = arrays
        self.quantities = tuple(arrays)
        self.lines: dict[str, str] = {}
        for name, values in arrays.items():
            if values.shape[1] != arm.n:
                message = (
                    f"{name} must have {arm.n} values per row for '{arm.name}', got "
                    f"{values.shape[1]}"
                )
                hint = f"order of the joints: {', '.join(arm.joint_names)}"
                raise UsageError(message, hint=hint)
        lengths = {name: len(values) for name, values in arrays.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} has {rows}" for name, rows in lengths.items())
            raise UsageError(f"all arrays must have the same number of rows: {listed}")
        self.size = next(iter(lengths.values()))
        if not self.size:
            raise UsageError("the arrays have no rows", hint="pass arrays of shape (rows, n)")

    def chunks(self, rows: int | None, *, gaps: bool) -> Iterator[Chunk]:
        """Yield all rows; reject non-finite ones by their number, or pass them on as gaps."""
        from robolin.io.trajectories.read import split_chunk
        from robolin.io.trajectories.trajectory import Chunk

        bad = ~np.all([np.isfinite(each).all(axis=1) for each in self._arrays.values()], axis=0)
        if bad.any() and not gaps:
            row = int(np.argmax(bad))
            names = [
                name for name, each in self._arrays.items() if not np.isfinite(each[row]).all()
            ]
            raise UsageError(f"{names[0]} must be finite", where=f"row {row + 1}")
        columns = {name: np.where(bad[:, None], np.nan, x) for name, x in self._arrays.items()}
        all_rows = Chunk(
            self.size, columns, None, lambda row: f"row {row + 1}", bad, (0, self.size)
        )
        yield from split_chunk(all_rows, lambda: rows or _ROWS_PER_CHUNK)

    def most_rows(self) -> int:
        return self.size

    def inputs(self) -> dict[str, str]:
        """Return {}: arrays come from no file."""
        return {}
