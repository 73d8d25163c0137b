"""Evaluate a query on every row of a trajectory, chunk by chunk."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import chain
from math import inf
from typing import TypeVar

import numpy as np

from robolin.core.quantity_table import COLUMN_WORDS
from robolin.core.results.result import Array, Footer, Result, ResultStream
from robolin.core.text import pluralize
from robolin.core.threads import MIN_WORK_PER_THREAD, SMALL_RESULT, prefetch, threads_for
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.evaluation.dispatch import Batch
from robolin.evaluation.evaluate import FEW_STATES, RunOptions
from robolin.io.trajectories.read import TrajectoryStream, open_trajectory, table_trajectory
from robolin.io.trajectories.trajectory import Chunk, split_chunk
from robolin.queries.algorithm_answer import (
    AlgorithmQuery,
    arrays_and_operating_point,
    arrays_of,
    condition,
    contract_lines,
)
from robolin.queries.batch_source import ArrayRows, BatchSource
from robolin.queries.loop_answer import closed_state
from robolin.queries.named_arrays import with_passthrough
from robolin.queries.query_context import QueryContext, arm_inputs
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.states import NAN
from robolin.queries.values import (
    StateInputs,
    TorqueDefault,
    possible_quantities,
    require_useful,
    resolve_batch,
)

T = TypeVar("T")

_SKIP = "--on-bad-row nan goes on without such rows"

# results of 4 MB are still in the processor's cache when they are written; smaller parts
# do not help, because passing on a part takes a millisecond or two
_NUMBERS_PER_PART = 1 << 19
_MIN_ROWS = FEW_STATES

# size in bytes or rows above which all threads are busy from the start
_LONG_SOURCE = 1 << 22


def answer_rows(context: QueryContext, algorithms: AlgorithmQuery) -> ResultStream:
    """Evaluate every row; parts are computed on demand."""
    motion, source = open_batch(context, algorithms.needs, algorithms.torque)
    return BatchRunner(context, algorithms, motion, source).stream()


def open_batch(
    context: QueryContext, needs: tuple[str, ...], torque: TorqueDefault
) -> tuple[StateInputs, BatchSource]:
    """Open the rows to evaluate and resolve their inputs; emit notes about assumptions."""
    arm, names = context.arm, possible_quantities(needs, torque)
    source: BatchSource
    if context.states.trajectory is None:
        require_useful(context.states, names, both={"qdd", "tau"} <= set(needs))
        source = ArrayRows(arm, context.states.arrays)
    else:
        path = context.states.trajectory
        _require_readable(context, path, names)
        source = _open_trajectory(context, path, names)
    columns = (source.given, source.name, source.derived)
    motion = resolve_batch(arm, context.question, needs, torque, *columns)
    _report_assumptions(context, motion, source)
    return motion, source


def _open_trajectory(context: QueryContext, path: str, names: tuple[str, ...]) -> TrajectoryStream:
    """Open a trajectory file for the duration of the query, or wrap a table in memory."""
    arm, settings = context.arm, context.settings
    read_arguments = (
        arm.joint_names,
        ("q",),
        names[1:],
        context.rules,
        context.states.parse_row_slice,
    )
    if settings.table is not None:
        return table_trajectory(settings.table, path, *read_arguments)
    stream = open_trajectory(path, *read_arguments, settings.known, settings.live)
    return context.opened.enter_context(stream)


class BatchRunner:
    """Evaluates algorithms on the rows of one trajectory."""

    def __init__(
        self,
        context: QueryContext,
        algorithms: AlgorithmQuery,
        motion: StateInputs,
        source: BatchSource,
    ) -> None:
        self._context, self._algorithms = context, algorithms
        self._arm, self._motion, self._source = context.arm, motion, source
        self._tolerant = context.states.on_bad_row == NAN
        self._run_options: RunOptions = {
            "method": algorithms.method,
            "loop_method": algorithms.loops.method,
        }
        self._options, self._files = context.options, context.files
        self._unanswered = 0
        # numbers per row of the results, once known
        self._numbers = 0.0
        # rows read so far, and the estimated total
        self._rows, self._all_rows = 0, inf
        self._worst = 0.0
        self._monitor = StateMonitor(context, algorithms.divides)

    def stream(self) -> ResultStream:
        """Return all parts as a stream; report warnings after the last one."""
        if self._context.settings.progress:
            self._context.settings.progress.begin(self._source.size)
        self._context.at_end.append(self._report_at_end)
        live = self._context.settings.live
        return ResultStream(self._parts(), self._footer, self._source.most_rows, live)

    def _report_at_end(self) -> None:
        if self._worst:
            self._context.note(f"cond(M) = {self._worst:.3g} in the worst row")
        self._monitor.report(self._motion.file)
        if count := self._unanswered:
            rows = pluralize(count, "row")
            self._context.warn(f"{self._motion.file}: {rows} without an answer, written as NaN")

    def _parts(self) -> Iterator[Result]:
        progress = self._context.settings.progress
        with closing(
            prefetch(self._computed(), self._thread_condition(self._justifies_thread))
        ) as parts:
            for part, chunk in parts:
                if progress:
                    progress.add(chunk.rows, chunk.reach[1])
                yield part

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        read = self._source.chunks(self._context.settings.chunk_rows, gaps=self._tolerant)
        with closing(prefetch(read, self._thread_condition(self._has_more))) as chunks:
            for chunk in chain.from_iterable(
                split_chunk(each, self._rows_per_chunk) for each in chunks
            ):
                self._rows += chunk.rows
                self._all_rows = self._rows + self._rows_after(chunk)
                for part, answered in self._evaluate(chunk):
                    numbers = sum(array.values.size for array in part.arrays)
                    self._numbers = numbers / answered.rows
                    yield part, answered

    def _evaluate(self, chunk: Chunk) -> Iterator[tuple[Result, Chunk]]:
        """Evaluate a chunk; live rows before a failing row are returned first."""
        try:
            part = self._part(chunk)
        except RobolinError:
            if not self._context.settings.live or chunk.rows == 1:
                raise
        else:
            yield part, chunk
            return
        for row in split_chunk(chunk, lambda: 1):
            yield self._part(row), row

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
        """Rows per chunk: as set, or so that the results stay in the cache."""
        if self._context.settings.chunk_rows:
            return self._context.settings.chunk_rows
        numbers = self._numbers or _NUMBERS_PER_PART
        return max(_MIN_ROWS, int(_NUMBERS_PER_PART / numbers))

    def _run_options_for(self, chunk: Chunk) -> RunOptions:
        """Run options of a chunk; small chunks use one thread unless jobs is set."""
        jobs: int | None
        if not self._numbers:
            # the amount of work per row is not known yet
            jobs = 1 if chunk.rows <= FEW_STATES else None
        elif chunk.rows * self._numbers < MIN_WORK_PER_THREAD:
            jobs = 1
        else:
            jobs = threads_for(self._all_rows * self._numbers)
        return {**self._run_options, "jobs": self._context.settings.jobs or jobs}

    def _part(self, chunk: Chunk) -> Result:
        batch, settings = Batch(self._arm, self._run_options_for(chunk)), self._context.settings
        if "q" in chunk.columns:
            self._monitor.update(chunk.columns["q"], chunk.location)
        part = Result(
            verb=self._context.question.verb,
            arrays=with_passthrough(self._arrays(chunk, batch), chunk),
            joints=self._arm.joint_names,
            contract={},
            options=self._options,
            inputs={},
            time=chunk.time,
            files=self._files,
        )
        if self._tolerant:
            part = self._with_nan_rows(batch, chunk, part)
        else:
            _require_answers(batch, chunk)
        if settings.verbose and self._algorithms.divides and not self._arm.loops:
            self._worst = max(self._worst, condition(batch.run("mass-matrix", chunk.columns)))
        if settings.watch:
            settings.watch(closed_state(self._arm, self._algorithms.loops, chunk.columns), part)
        return part

    def _arrays(self, chunk: Chunk, batch: Batch) -> tuple[Array, ...]:
        arguments = (self._algorithms, self._arm, self._motion, chunk.columns, batch.run)
        return (
            arrays_and_operating_point(*arguments)
            if self._context.verb.linear
            else arrays_of(*arguments)[0]
        )

    def _with_nan_rows(self, batch: Batch, chunk: Chunk, part: Result) -> Result:
        """Write NaN to every row without a result, and count such rows."""
        bad = set() if chunk.gaps is None else set(np.flatnonzero(chunk.gaps).tolist())
        own = [array for array in part.arrays if array.name not in chunk.carried]
        for row in batch.suspects:
            # checking a row again is slow, and unnecessary if its results are not finite
            finite = all(np.isfinite(array.values[row]).all() for array in own)
            if row not in bad and (not finite or batch.complaint(row)):
                bad.add(row)
        self._unanswered += len(bad)
        arrays = [_with_nan(array, bad) if array in own else array for array in part.arrays]
        return replace(part, arrays=tuple(arrays))

    def _footer(self, rows: int) -> Footer:
        lines = contract_lines(self._algorithms, self._arm, self._motion, rows)
        lines |= self._source.lines
        if self._unanswered:
            lines["unanswered rows"] = f"{self._unanswered}, all NaN"
        inputs = {**arm_inputs(self._arm), **self._source.inputs()}
        return Footer({**self._arm.contract, **lines}, inputs, self._arm.figures)


def _with_nan(array: Array, rows: set[int]) -> Array:
    """Return a copy of the array with NaN in these rows."""
    if not rows:
        return array
    values = np.array(array.values)
    values[sorted(rows)] = np.nan
    return replace(array, values=values)


def _require_readable(context: QueryContext, path: str, names: tuple[str, ...]) -> None:
    if unknown := [name for name in names if name not in COLUMN_WORDS]:
        message = f"no file has columns for {' and '.join(unknown)}"
        raise UsageError(message, where="--trajectory", hint="give one state by flags")
    if path == "-" and context.arm.source == "-":
        raise UsageError("the arm is read from standard input already", where="--trajectory -")


def _report_assumptions(context: QueryContext, motion: StateInputs, source: BatchSource) -> None:
    """Emit notes about assumptions; under --strict raise for missing columns."""
    if not source.has_columns:
        return
    missing = motion.missing_columns()
    if (context.arm.loaded_with or {}).get("strict"):
        hint = "add the columns, or leave out --strict"
        raise_all([RobolinError(text, where=motion.file, hint=hint) for text in missing])
    notes = list(source.notes)
    if {"tau", "qdd"} <= set(source.given):
        notes.append(
            "accelerations are used of joints that move as prescribed, efforts of the others"
            if "qdd" in motion.needs
            else "acceleration columns not used: the efforts determine the accelerations"
        )
    context.note(*(f"{motion.file}: {note}" for note in notes))
    context.warn(*(f"{motion.file}: {text}" for text in missing))


def _require_answers(batch: Batch, chunk: Chunk) -> None:
    """Raise for the first row without a result, with its location in the file."""
    for row in batch.suspects:
        error = batch.complaint(row)
        if error is not None:
            raise located_error(error, chunk.location(row))


def located_error(error: RobolinError, location: str) -> RobolinError:
    """Add a row's location and the --on-bad-row hint to an error."""
    hint = f"{error.hint}; {_SKIP}" if error.hint else _SKIP
    return RobolinError(error.message, where=location, hint=hint)
