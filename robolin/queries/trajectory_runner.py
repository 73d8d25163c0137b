"""A verb on every row of a trajectory: read, computed and handed on chunk by chunk."""

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
from robolin.queries.loop_answer import closed_state
from robolin.queries.named_arrays import with_passthrough
from robolin.queries.query_context import QueryContext, arm_inputs
from robolin.queries.state_monitor import StateMonitor
from robolin.queries.state_parsing import ArrayRows, BatchSource
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

# results that are few enough, 4 MB, are still in the processor's cache when they are written;
# but a part takes a millisecond or two to be handed on, however small it is
_NUMBERS_AT_ONCE = 1 << 19
_FEWEST_ROWS = FEW_STATES

# bytes or rows of a source that has enough to do for every thread from the start
_SURELY_LONG = 1 << 22


def answer_rows(posed: QueryContext, algorithms: AlgorithmQuery) -> ResultStream:
    """The answer for every row, computed as its parts are asked for."""
    motion, source = open_batch(posed, algorithms.needs, algorithms.torque)
    return BatchRunner(posed, algorithms, motion, source).stream()


def open_batch(
    posed: QueryContext, needs: tuple[str, ...], torque: TorqueDefault
) -> tuple[StateInputs, BatchSource]:
    """The rows to answer for, and what they give; what is assumed of them is said."""
    arm, names = posed.arm, possible_quantities(needs, torque)
    source: BatchSource
    if posed.states.trajectory is None:
        require_useful(posed.states, names, both={"qdd", "tau"} <= set(needs))
        source = ArrayRows(arm, posed.states.arrays)
    else:
        path = posed.states.trajectory
        _require_readable(posed, path, names)
        source = _opened(posed, path, names)
    columns = (source.given, source.name, source.derived)
    motion = resolve_batch(arm, posed.question, needs, torque, *columns)
    _tell(posed, motion, source)
    return motion, source


def _opened(posed: QueryContext, path: str, names: tuple[str, ...]) -> TrajectoryStream:
    """A trajectory file that stays open for the answer, or a table that is in memory."""
    arm, settings = posed.arm, posed.settings
    wanted = (arm.joint_names, ("q",), names[1:], posed.rules, posed.states.parse_row_slice)
    if settings.table is not None:
        return table_trajectory(settings.table, path, *wanted)
    stream = open_trajectory(path, *wanted, settings.known, settings.live)
    return posed.opened.enter_context(stream)


class BatchRunner:
    """The rows of one trajectory on their way through a verb."""

    def __init__(
        self,
        posed: QueryContext,
        algorithms: AlgorithmQuery,
        motion: StateInputs,
        source: BatchSource,
    ) -> None:
        self._posed, self._algorithms = posed, algorithms
        self._arm, self._motion, self._source = posed.arm, motion, source
        self._tolerant = posed.states.on_bad_row == NAN
        self._how: RunOptions = {
            "method": algorithms.method,
            "loop_method": algorithms.loops.method,
        }
        self._options, self._files = posed.options, posed.files
        self._unanswered = 0
        # how many numbers the results of a row have, once there are some
        self._numbers = 0.0
        # how many rows have been come to, and how many there are in all, as far as can be told
        self._rows, self._all_rows = 0, inf
        self._worst = 0.0
        self._doubtful = StateMonitor(posed, algorithms.divides)

    def stream(self) -> ResultStream:
        """All parts, and after the last one what was noticed on the way."""
        if self._posed.settings.progress:
            self._posed.settings.progress.begin(self._source.size)
        self._posed.at_end.append(self._tell_at_end)
        live = self._posed.settings.live
        return ResultStream(self._parts(), self._footer, self._source.most_rows, live)

    def _tell_at_end(self) -> None:
        if self._worst:
            self._posed.note(f"cond(M) = {self._worst:.3g} in the worst row")
        self._doubtful.tell(self._motion.file)
        if count := self._unanswered:
            rows = pluralize(count, "row")
            self._posed.warn(f"{self._motion.file}: {rows} without an answer, written as NaN")

    def _parts(self) -> Iterator[Result]:
        progress = self._posed.settings.progress
        with closing(prefetch(self._computed(), self._unless_piped(self._worth_it))) as parts:
            for part, chunk in parts:
                if progress:
                    progress.add(chunk.rows, chunk.reach[1])
                yield part

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        read = self._source.chunks(self._posed.settings.chunk_rows, gaps=self._tolerant)
        with closing(prefetch(read, self._unless_piped(self._goes_on))) as chunks:
            for chunk in chain.from_iterable(
                split_chunk(each, self._rows_at_once) for each in chunks
            ):
                self._rows += chunk.rows
                self._all_rows = self._rows + self._rows_after(chunk)
                for part, answered in self._answered(chunk):
                    numbers = sum(array.values.size for array in part.arrays)
                    self._numbers = numbers / answered.rows
                    yield part, answered

    def _answered(self, chunk: Chunk) -> Iterator[tuple[Result, Chunk]]:
        """A chunk with its answer; rows that are awaited have theirs before one without any."""
        try:
            whole = self._part(chunk)
        except RobolinError:
            if not self._posed.settings.live or chunk.rows == 1:
                raise
        else:
            yield whole, chunk
            return
        for row in split_chunk(chunk, lambda: 1):
            yield self._part(row), row

    def _unless_piped(self, goes_on: Callable[[T], bool]) -> Callable[[T], bool] | None:
        """A rule for threads; whoever waits for a pipe has one at once, to be interrupted."""
        size = self._source.size
        return goes_on if size is not None and size < _SURELY_LONG else None

    def _goes_on(self, chunk: Chunk) -> bool:
        """Whether there is more to read behind this chunk."""
        return chunk.reach[1] < (self._source.size or 0)

    def _worth_it(self, made: tuple[Result, Chunk]) -> bool:
        """Whether what is left to compute is worth a thread of its own."""
        left = self._rows_after(made[1]) * self._numbers
        return left > MIN_WORK_PER_THREAD and self._all_rows * self._numbers > SMALL_RESULT

    def _rows_after(self, chunk: Chunk) -> float:
        """About how many rows there are behind a chunk; infinitely many in a pipe."""
        if self._source.size is None:
            return inf
        begin, end = chunk.reach
        return (self._source.size - end) * chunk.rows / max(end - begin, 1)

    def _rows_at_once(self) -> int:
        """As many as asked for, or as keep the results together small."""
        if self._posed.settings.chunk_rows:
            return self._posed.settings.chunk_rows
        numbers = self._numbers or _NUMBERS_AT_ONCE
        return max(_FEWEST_ROWS, int(_NUMBERS_AT_ONCE / numbers))

    def _run_options_for(self, chunk: Chunk) -> RunOptions:
        """How to run these rows: by few threads if they are few and nobody asked for more."""
        jobs: int | None
        if not self._numbers:
            # nobody knows yet how much there is to compute in a row
            jobs = 1 if chunk.rows <= FEW_STATES else None
        elif chunk.rows * self._numbers < MIN_WORK_PER_THREAD:
            jobs = 1
        else:
            jobs = threads_for(self._all_rows * self._numbers)
        return {**self._how, "jobs": self._posed.settings.jobs or jobs}

    def _part(self, chunk: Chunk) -> Result:
        batch, settings = Batch(self._arm, self._run_options_for(chunk)), self._posed.settings
        if "q" in chunk.columns:
            self._doubtful.look(chunk.columns["q"], chunk.place)
        part = Result(
            verb=self._posed.question.verb,
            arrays=with_passthrough(self._arrays(chunk, batch), chunk),
            joints=self._arm.joint_names,
            contract={},
            options=self._options,
            inputs={},
            time=chunk.time,
            files=self._files,
        )
        if self._tolerant:
            part = self._blanked(batch, chunk, part)
        else:
            _require_answers(batch, chunk)
        if settings.verbose and self._algorithms.divides and not self._arm.loops:
            self._worst = max(self._worst, condition(batch.run("mass-matrix", chunk.columns)))
        if settings.watch:
            settings.watch(closed_state(self._arm, self._algorithms.loops, chunk.columns), part)
        return part

    def _arrays(self, chunk: Chunk, batch: Batch) -> tuple[Array, ...]:
        asked = (self._algorithms, self._arm, self._motion, chunk.columns, batch.run)
        return (
            arrays_and_operating_point(*asked) if self._posed.verb.linear else arrays_of(*asked)[0]
        )

    def _blanked(self, batch: Batch, chunk: Chunk, part: Result) -> Result:
        """NaN in every result of the rows that have no answer, which are counted."""
        bad = set() if chunk.gaps is None else set(np.flatnonzero(chunk.gaps).tolist())
        own = [array for array in part.arrays if array.name not in chunk.carried]
        for row in batch.suspects:
            # a second look takes a while, and what is not finite needs none
            finite = all(np.isfinite(array.values[row]).all() for array in own)
            if row not in bad and (not finite or batch.complaint(row)):
                bad.add(row)
        self._unanswered += len(bad)
        arrays = [_without(array, bad) if array in own else array for array in part.arrays]
        return replace(part, arrays=tuple(arrays))

    def _footer(self, rows: int) -> Footer:
        lines = contract_lines(self._algorithms, self._arm, self._motion, rows)
        lines |= self._source.lines
        if self._unanswered:
            lines["unanswered rows"] = f"{self._unanswered}, all NaN"
        inputs = {**arm_inputs(self._arm), **self._source.inputs()}
        return Footer({**self._arm.contract, **lines}, inputs, self._arm.figures)


def _without(array: Array, rows: set[int]) -> Array:
    """The array with NaN in these rows; what it shares with others stays as it is there."""
    if not rows:
        return array
    values = np.array(array.values)
    values[sorted(rows)] = np.nan
    return replace(array, values=values)


def _require_readable(posed: QueryContext, path: str, names: tuple[str, ...]) -> None:
    if unknown := [name for name in names if name not in COLUMN_WORDS]:
        message = f"no file has columns for {' and '.join(unknown)}"
        raise UsageError(message, where="--trajectory", hint="give one state by flags")
    if path == "-" and posed.arm.source == "-":
        raise UsageError("the arm is read from standard input already", where="--trajectory -")


def _tell(posed: QueryContext, motion: StateInputs, source: BatchSource) -> None:
    """Say what is assumed about the trajectory; under --strict what is missing is an error."""
    if not source.has_columns:
        return
    missing = motion.missing_columns()
    if (posed.arm.loaded_with or {}).get("strict"):
        hint = "add the columns, or leave out --strict"
        raise_all([RobolinError(text, where=motion.file, hint=hint) for text in missing])
    notes = list(source.notes)
    if {"tau", "qdd"} <= set(source.given):
        notes.append(
            "accelerations are used of joints that move as prescribed, efforts of the others"
            if "qdd" in motion.needs
            else "acceleration columns not used: the efforts determine the accelerations"
        )
    posed.note(*(f"{motion.file}: {note}" for note in notes))
    posed.warn(*(f"{motion.file}: {text}" for text in missing))


def _require_answers(batch: Batch, chunk: Chunk) -> None:
    """Refuse the first row that has no answer, by its place in the file."""
    for row in batch.suspects:
        error = batch.complaint(row)
        if error is not None:
            raise located_error(error, chunk.place(row))


def located_error(error: RobolinError, place: str) -> RobolinError:
    """What is wrong with a row, and where that stands."""
    hint = f"{error.hint}; {_SKIP}" if error.hint else _SKIP
    return RobolinError(error.message, where=place, hint=hint)
