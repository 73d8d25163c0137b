"""Something made of a linear model, for one state or for every row of a motion."""

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
from robolin.queries.linear_model_arrays import LinearModelTask, ModelArrays, Values
from robolin.queries.linear_model_spec import MODEL_STATE
from robolin.queries.named_arrays import with_passthrough
from robolin.queries.query_context import QueryContext, arm_inputs
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.state_parsing import BatchSource
from robolin.queries.states import NAN
from robolin.queries.values import StateInputs, one_state

# numbers of A and B in a part: few enough for the memory of one to be used for the next
MODEL_NUMBERS_AT_ONCE, FEWEST_MODEL_ROWS = 1 << 20, 64
# matrices of the size of A that an exponential has at hand at once
MATRICES_AT_HAND = 4


def answer_models(posed: QueryContext, work: LinearModelTask) -> Result | ResultStream:
    """The answer for one state, or for every row."""
    posed.emit_arm_notes()
    if posed.states.trajectory is None and not posed.states.arrays:
        return _answer_state(posed, work)
    from robolin.queries.trajectory_runner import open_batch

    motion, source = open_batch(posed, MODEL_STATE, "hold")
    return ModelRows(posed, work, motion, source).stream()


def _answer_state(posed: QueryContext, work: LinearModelTask) -> Result:
    wanted = work.wanted
    motion, given = one_state(posed.arm, posed.question, posed.states, MODEL_STATE, "hold")
    lines = {**motion.contract_lines(), **wanted.loops.contract_lines}
    if wanted.trim:
        found = wanted.trimmed(given.get("q", np.zeros(posed.arm.n)))
        given = {"q": found.q, "tau": found.tau}
        farthest = int(np.abs(found.moved).argmax())
        lines["torque"] = "what holds the equilibrium"
        lines["trim"] = (
            f"{found.iterations} steps; {posed.arm.joint_names[farthest]} moved most, by "
            f"{found.moved[farthest]:.4g}; {found.residual:.2g} left at passive joints"
        )
    values = {"q": np.zeros(posed.arm.n), **given}
    doubtful = StateMonitor(posed, divides=True)
    doubtful.look(values["q"])
    doubtful.tell()
    arrays = work.arrays(values)
    return posed.result(arrays, {**lines, **work.lines})


class ModelRows:
    """The rows of one trajectory on their way through models."""

    def __init__(
        self, posed: QueryContext, work: LinearModelTask, motion: StateInputs, source: BatchSource
    ) -> None:
        self._posed, self._work, self._motion, self._source = posed, work, motion, source
        self._tolerant = posed.states.on_bad_row == NAN
        self._unanswered = 0
        self._doubtful = StateMonitor(posed, divides=True)
        # an answer of some rows, as soon as there is one: others have its shape
        self._like: ModelArrays | None = None

    def stream(self) -> ResultStream:
        """All parts, and after the last one what was noticed on the way."""
        if self._posed.settings.progress:
            self._posed.settings.progress.begin(self._source.size)
        self._posed.at_end.append(self._tell_at_end)
        live = self._posed.settings.live
        return ResultStream(self._parts(), self.footer, self._source.most_rows, live)

    def _tell_at_end(self) -> None:
        self._doubtful.tell(self._motion.file)
        if count := self._unanswered:
            rows = f"{count} row{'s' * (count != 1)}"
            self._posed.warn(f"{self._motion.file}: {rows} without an answer, written as NaN")

    def _parts(self) -> Iterator[Result]:
        progress = self._posed.settings.progress
        with closing(prefetch(self._computed(), after_short_answer(_numbers_of))) as parts:
            for part, chunk in parts:
                if progress:
                    progress.add(chunk.rows, chunk.reach[1])
                yield part

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        """Parts in order; rows before the first answer wait for it, since it tells their shape."""
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
        """The rows, some at a time."""
        n = self._posed.arm.n
        sampled = self._work.wanted.dt is not None
        numbers = 6 * n * n * (MATRICES_AT_HAND if sampled else 1)
        usual = max(FEWEST_MODEL_ROWS, MODEL_NUMBERS_AT_ONCE // numbers)
        # a row that is awaited is not lost for one behind it
        at_once = 1 if self._posed.settings.live else self._posed.settings.chunk_rows or usual
        read = self._source.chunks(self._posed.settings.chunk_rows, gaps=self._tolerant)
        with closing(prefetch(read, from_item(3))) as chunks:
            for chunk in chunks:
                if "q" in chunk.columns:
                    self._doubtful.look(chunk.columns["q"], chunk.place)
                yield from split_chunk(chunk, lambda: at_once)

    def part(self, chunk: Chunk, arrays: ModelArrays) -> Result:
        """Some rows of the answer."""
        return Result(
            verb=self._posed.question.verb,
            arrays=with_passthrough(arrays, chunk),
            joints=self._posed.arm.joint_names,
            contract={},
            options=self._posed.options,
            inputs={},
            time=chunk.time,
            files=self._posed.files,
        )

    def _arrays(self, chunk: Chunk) -> ModelArrays:
        """The answers of some rows, each of which must have one."""
        try:
            return self._work.arrays(chunk.columns)
        except UsageError:
            raise
        except RobolinError:
            raise self._complaint(chunk) from None

    def _tolerated(self, chunk: Chunk) -> ModelArrays | None:
        """The answers of some rows, NaN in those without one; None where no row had one so far."""
        whole = np.ones(chunk.rows, bool) if chunk.gaps is None else ~np.array(chunk.gaps)
        found = solve_valid_rows(self._work, chunk.columns, whole)
        answered = sum(len(rows) for rows, _ in found)
        self._unanswered += chunk.rows - answered
        if found:
            self._like = found[0][1]
        if self._like is None:
            return None
        arrays = nan_rows(self._like, chunk.rows)
        for rows, some in found:
            for array, values in zip(arrays, some, strict=True):
                array.values[rows] = values.values
        return arrays

    def _complaint(self, chunk: Chunk) -> RobolinError:
        """What is wrong with the first row that has no answer, and where it stands."""
        from robolin.queries.trajectory_runner import located_error

        for row in range(chunk.rows):
            try:
                self._work.arrays(_row(chunk, row))
            except RobolinError as error:
                return located_error(error, chunk.place(row))
        return RobolinError("some rows have no answer together", where=chunk.place(0))

    def footer(self, rows: int) -> Footer:
        """What the result includes, and where it comes from."""
        lines = {**self._motion.contract_lines(rows), **self._work.wanted.loops.contract_lines}
        lines |= self._source.lines
        if self._unanswered:
            lines["unanswered rows"] = f"{self._unanswered}, all NaN"
        arm = self._posed.arm
        inputs = {**arm_inputs(arm), **self._source.inputs()}
        return Footer({**arm.contract, **lines, **self._work.lines}, inputs, arm.figures)


def _numbers_of(made: tuple[Result, Chunk]) -> int:
    return made[0].size


def _row(chunk: Chunk, row: int) -> dict[str, Floats]:
    return {name: column[row] for name, column in chunk.columns.items()}


def solve_valid_rows(
    work: LinearModelTask, values: Values, whole: Mask
) -> list[tuple[Integers, ModelArrays]]:
    """The answers of rows that have one, each with the rows it is of."""
    rows = np.flatnonzero(whole)
    if not len(rows):
        return []
    try:
        return [(rows, work.arrays(_some(values, rows)))]
    except UsageError:
        raise
    except RobolinError:
        rows = rows[work.wanted.bearable(_some(values, rows))]
        return list(_bisect(work, values, rows))


def _bisect(
    work: LinearModelTask, values: Values, rows: Integers
) -> Iterator[tuple[Integers, ModelArrays]]:
    """The same by halves, down to rows that have no answer even by themselves."""
    if not len(rows):
        return
    try:
        yield rows, work.arrays(_some(values, rows))
    except UsageError:
        raise
    except RobolinError:
        middle = len(rows) // 2
        if middle:
            yield from _bisect(work, values, rows[:middle])
            yield from _bisect(work, values, rows[middle:])


def nan_rows(like: ModelArrays, rows: int) -> ModelArrays:
    """As many rows of NaN, of the shape and kind of others; whole numbers become real ones."""
    return tuple(
        replace(array, values=np.full((rows, *array.values.shape[1:]), _none(array)))
        for array in like
    )


def _none(array: Array) -> complex:
    """No number: one without an imaginary part either, where there are such."""
    return complex(np.nan, np.nan) if np.iscomplexobj(array.values) else np.nan


def _some(values: Values, rows: Integers) -> dict[str, Floats]:
    return {name: each[rows] for name, each in values.items()}
