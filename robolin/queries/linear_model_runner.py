"""Evaluate a linear-model task for one state or for every row of a trajectory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace

import numpy as np

from robolin.core.arrays import Floats, Integers, Mask
from robolin.core.results.result import Array, Footer, Result, ResultStream
from robolin.core.threads import after_short_answer, from_item, prefetch
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.trajectory import Chunk, split_chunk
from robolin.queries.batch_source import BatchSource
from robolin.queries.linear_model_arrays import LinearModelTask, ModelArrays, Values
from robolin.queries.linear_model_spec import MODEL_STATE
from robolin.queries.named_arrays import with_passthrough
from robolin.queries.query_context import QueryContext, arm_inputs
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.states import NAN
from robolin.queries.values import StateInputs, resolve_single

# entries of A and B per part: small enough to reuse its memory for the next part
MODEL_ENTRIES_PER_PART, MIN_MODEL_ROWS = 1 << 20, 64
# matrices of the size of A that a matrix exponential keeps in memory
MATRICES_IN_MEMORY = 4


def answer_models(context: QueryContext, task: LinearModelTask) -> Result | ResultStream:
    """Evaluate a task for one state or for every row."""
    context.emit_arm_notes()
    if context.states.trajectory is None and not context.states.arrays:
        return _answer_state(context, task)
    from robolin.queries.trajectory_runner import open_batch

    motion, source = open_batch(context, MODEL_STATE, "hold")
    return LinearModelRunner(context, task, motion, source).stream()


def _answer_state(context: QueryContext, task: LinearModelTask) -> Result:
    spec = task.spec
    motion, given = resolve_single(
        context.arm, context.question, context.states, MODEL_STATE, "hold"
    )
    lines = {**motion.contract_lines(), **spec.loops.contract_lines}
    if spec.trim:
        equilibrium = spec.trimmed(given.get("q", np.zeros(context.arm.n)))
        given = {"q": equilibrium.q, "tau": equilibrium.tau}
        farthest = int(np.abs(equilibrium.moved).argmax())
        lines["torque"] = "what holds the equilibrium"
        lines["trim"] = (
            f"{equilibrium.iterations} steps; {context.arm.joint_names[farthest]} moved most, by "
            f"{equilibrium.moved[farthest]:.4g}; {equilibrium.residual:.2g} left at passive joints"
        )
    values = {"q": np.zeros(context.arm.n), **given}
    monitor = StateMonitor(context, divides=True)
    monitor.update(values["q"])
    monitor.report()
    arrays = task.arrays(values)
    return context.result(arrays, {**lines, **task.lines})


class LinearModelRunner:
    """Evaluates a linear-model task on the rows of one trajectory."""

    def __init__(
        self, context: QueryContext, task: LinearModelTask, motion: StateInputs, source: BatchSource
    ) -> None:
        self._context, self._task, self._motion, self._source = context, task, motion, source
        self._tolerant = context.states.on_bad_row == NAN
        self._unanswered = 0
        self._monitor = StateMonitor(context, divides=True)
        # arrays of the first valid rows: they define the shape of failed rows
        self._like: ModelArrays | None = None

    def stream(self) -> ResultStream:
        """Return all parts as a stream; report warnings after the last one."""
        if self._context.settings.progress:
            self._context.settings.progress.begin(self._source.size)
        self._context.at_end.append(self._report_at_end)
        live = self._context.settings.live
        return ResultStream(self._parts(), self.footer, self._source.most_rows, live)

    def _report_at_end(self) -> None:
        self._monitor.report(self._motion.file)
        if count := self._unanswered:
            rows = f"{count} row{'s' * (count != 1)}"
            self._context.warn(f"{self._motion.file}: {rows} without an answer, written as NaN")

    def _parts(self) -> Iterator[Result]:
        progress = self._context.settings.progress
        with closing(prefetch(self._computed(), after_short_answer(_numbers_of))) as parts:
            for part, chunk in parts:
                if progress:
                    progress.add(chunk.rows, chunk.reach[1])
                yield part

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        """Yield parts in order; rows before the first valid result wait for its shape."""
        waiting: list[Chunk] = []
        for chunk in self.chunks():
            arrays = self._tolerated(chunk) if self._tolerant else self._arrays(chunk)
            if arrays is None:
                waiting.append(replace(chunk, columns={}))
                continue
            for early in waiting:
                yield self.part(early, nan_rows(arrays, early.rows)), early
            waiting.clear()
            yield self.part(chunk, arrays), chunk
        if waiting:
            hint = "the shape of an answer is not known without one"
            raise RobolinError("no row has an answer", where=self._motion.file, hint=hint)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in chunks that fit the memory budget."""
        n = self._context.arm.n
        sampled = self._task.spec.dt is not None
        numbers = 6 * n * n * (MATRICES_IN_MEMORY if sampled else 1)
        default_rows = max(MIN_MODEL_ROWS, MODEL_ENTRIES_PER_PART // numbers)
        # live input: a row must not wait for the next one
        rows_per_chunk = (
            1 if self._context.settings.live else self._context.settings.chunk_rows or default_rows
        )
        source_chunks = self._source.chunks(self._context.settings.chunk_rows, gaps=self._tolerant)
        with closing(prefetch(source_chunks, from_item(3))) as chunks:
            for chunk in chunks:
                if "q" in chunk.columns:
                    self._monitor.update(chunk.columns["q"], chunk.location)
                yield from split_chunk(chunk, lambda: rows_per_chunk)

    def part(self, chunk: Chunk, arrays: ModelArrays) -> Result:
        """Return the result of some rows."""
        return Result(
            verb=self._context.question.verb,
            arrays=with_passthrough(arrays, chunk),
            joints=self._context.arm.joint_names,
            contract={},
            options=self._context.options,
            inputs={},
            time=chunk.time,
            files=self._context.files,
        )

    def _arrays(self, chunk: Chunk) -> ModelArrays:
        """Evaluate some rows; raise for the first row without a result."""
        try:
            return self._task.arrays(chunk.columns)
        except UsageError:
            raise
        except RobolinError:
            raise self._first_row_error(chunk) from None

    def _tolerated(self, chunk: Chunk) -> ModelArrays | None:
        """Evaluate some rows with NaN for failed ones; None before the first valid row."""
        valid = np.ones(chunk.rows, bool) if chunk.gaps is None else ~np.array(chunk.gaps)
        solved = solve_valid_rows(self._task, chunk.columns, valid)
        count = sum(len(rows) for rows, _ in solved)
        self._unanswered += chunk.rows - count
        if solved:
            self._like = solved[0][1]
        if self._like is None:
            return None
        arrays = nan_rows(self._like, chunk.rows)
        for rows, some in solved:
            for array, values in zip(arrays, some, strict=True):
                array.values[rows] = values.values
        return arrays

    def _first_row_error(self, chunk: Chunk) -> RobolinError:
        """Return the error of the first row that fails, with its location."""
        from robolin.queries.trajectory_runner import located_error

        for row in range(chunk.rows):
            try:
                self._task.arrays(_row(chunk, row))
            except RobolinError as error:
                return located_error(error, chunk.location(row))
        return RobolinError("some rows have no answer together", where=chunk.location(0))

    def footer(self, rows: int) -> Footer:
        """Return the contract and inputs of the result."""
        lines = {**self._motion.contract_lines(rows), **self._task.spec.loops.contract_lines}
        lines |= self._source.lines
        if self._unanswered:
            lines["unanswered rows"] = f"{self._unanswered}, all NaN"
        arm = self._context.arm
        inputs = {**arm_inputs(arm), **self._source.inputs()}
        return Footer({**arm.contract, **lines, **self._task.lines}, inputs, arm.figures)


def _numbers_of(item: tuple[Result, Chunk]) -> int:
    return item[0].size


def _row(chunk: Chunk, row: int) -> dict[str, Floats]:
    return {name: column[row] for name, column in chunk.columns.items()}


def solve_valid_rows(
    task: LinearModelTask, values: Values, valid: Mask
) -> list[tuple[Integers, ModelArrays]]:
    """Evaluate the rows that have a result; return pairs of row indices and arrays."""
    rows = np.flatnonzero(valid)
    if not len(rows):
        return []
    try:
        return [(rows, task.arrays(_select_rows(values, rows)))]
    except UsageError:
        raise
    except RobolinError:
        rows = rows[task.spec.is_feasible(_select_rows(values, rows))]
        return list(_bisect(task, values, rows))


def _bisect(
    task: LinearModelTask, values: Values, rows: Integers
) -> Iterator[tuple[Integers, ModelArrays]]:
    """Evaluate rows by bisection, which isolates the rows that fail."""
    if not len(rows):
        return
    try:
        yield rows, task.arrays(_select_rows(values, rows))
    except UsageError:
        raise
    except RobolinError:
        middle = len(rows) // 2
        if middle:
            yield from _bisect(task, values, rows[:middle])
            yield from _bisect(task, values, rows[middle:])


def nan_rows(like: ModelArrays, rows: int) -> ModelArrays:
    """Return rows of NaN with the shapes of given arrays; integers become floats."""
    return tuple(
        replace(array, values=np.full((rows, *array.values.shape[1:]), _none(array)))
        for array in like
    )


def _none(array: Array) -> complex:
    """Return NaN, or complex NaN for a complex array."""
    return complex(np.nan, np.nan) if np.iscomplexobj(array.values) else np.nan


def _select_rows(values: Values, rows: Integers) -> dict[str, Floats]:
    return {name: each[rows] for name, each in values.items()}
