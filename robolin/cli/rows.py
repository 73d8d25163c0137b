"""A verb on every row of a trajectory: read, computed and written side by side, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import PurePath

import numpy as np

from robolin.arm import Arm
from robolin.background import prefetch
from robolin.cli.answer import Question, arm_inputs, arrays_of, condition, contract_of
from robolin.cli.batches import Batch
from robolin.cli.flags.flag import recorded
from robolin.cli.flags.output_flags import Output
from robolin.cli.flags.state_flags import NAN, State
from robolin.cli.loop_answer import closed_state
from robolin.cli.motion import Motion, read_motion, wanted
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.evaluation.evaluate import FEW_STATES, How
from robolin.files.formats import FORMATS, extensions, with_nan
from robolin.quantities import COLUMN_WORDS
from robolin.results.result import Footer, Result, ResultStream
from robolin.terminal.progress import RowProgress, watched
from robolin.trajectory.read import TrajectoryStream, open_trajectory, pieces
from robolin.trajectory.trajectory import Chunk

_SKIP = "--on-bad-row nan goes on without such rows"

# results that are few enough, 4 MB, are still in the processor's cache when they are written;
# but a part takes a millisecond or two to be handed on, however small it is
_NUMBERS_AT_ONCE = 1 << 19
_FEWEST_ROWS = FEW_STATES


def answer_rows(question: Question, arm: Arm, state: State, out: Output, strict: bool) -> None:
    """Answer the question for every row and write the result."""
    path = state.trajectory
    assert path is not None, "there is a trajectory to read"
    names = wanted(question.needs, question.torque)
    _require_readable(arm, path, names)
    form = out.form_written()
    if state.on_bad_row == NAN and form in FORMATS and not FORMATS[form].holds_nan:
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(f"{form.upper()} has no NaN", where="--on-bad-row=nan", hint=hint)
    file = "stdin" if path == "-" else PurePath(path).name
    with open_trajectory(path, arm.joint_names, ("q",), names[1:]) as stream:
        motion = read_motion(arm, state, question.needs, question.torque, stream.given, file)
        _tell(motion, stream, strict, out)
        rows = Rows(question, arm, motion, stream, state.on_bad_row == NAN, out)
        rows.write()


class Rows:
    """The rows of one trajectory on their way through a verb."""

    def __init__(
        self,
        question: Question,
        arm: Arm,
        motion: Motion,
        stream: TrajectoryStream,
        tolerant: bool,
        out: Output,
    ) -> None:
        self._question, self._arm, self._motion = question, arm, motion
        self._stream, self._tolerant, self._out = stream, tolerant, out
        self._how: How = {
            "method": question.method,
            "jobs": out.jobs,
            "loop_method": question.loops.method,
        }
        # asked for here because other threads do not know which command is running
        self._options = recorded()
        self._unanswered = 0
        # how many numbers the results of a row have, once there are some
        self._numbers = 0.0
        self._worst = 0.0

    def write(self) -> None:
        """Read, compute and write all of them, and say what was noticed on the way."""
        out = self._out
        shown = watched() and not out.quiet and not out.fills_terminal()
        with RowProgress(self._stream.table.size, shown) as progress:
            parts = self._parts(progress)
            out.write(ResultStream(parts, self._ending, self._stream.table.most_rows))
        if self._worst:
            out.note(f"cond(M) = {self._worst:.3g} in the worst row")
        if count := self._unanswered:
            rows = f"{count} row{'s' * (count != 1)}"
            out.warn(f"{self._motion.file}: {rows} without an answer, written as NaN")

    def _parts(self, progress: RowProgress) -> Iterator[Result]:
        with closing(prefetch(self._computed())) as parts:
            for part, chunk in parts:
                progress.add(chunk.rows, chunk.reach[1])
                yield part

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        read = self._stream.chunks(self._out.chunk_rows, gaps=self._tolerant)
        with closing(prefetch(read)) as chunks:
            for chunk in chain.from_iterable(pieces(each, self._rows_at_once) for each in chunks):
                part = self._part(chunk)
                self._numbers = sum(array.values.size for array in part.arrays) / chunk.rows
                yield part, chunk

    def _rows_at_once(self) -> int:
        """As many as asked for, or as keep the results together small."""
        if self._out.chunk_rows:
            return self._out.chunk_rows
        numbers = self._numbers or _NUMBERS_AT_ONCE
        return max(_FEWEST_ROWS, int(_NUMBERS_AT_ONCE / numbers))

    def _part(self, chunk: Chunk) -> Result:
        batch = Batch(self._arm, self._how)
        arrays = arrays_of(self._question, self._arm, self._motion, chunk.columns, batch.run)
        part = Result(
            verb=self._question.verb,
            arrays=arrays,
            joints=self._arm.joint_names,
            contract={},
            options=self._options,
            inputs={},
            time=chunk.time,
        )
        if self._tolerant:
            self._blank(batch, chunk, part)
        else:
            _require_answers(batch, chunk)
        if self._out.verbose and self._question.forward and not self._arm.loops:
            self._worst = max(self._worst, condition(batch.run("mass-matrix", chunk.columns)))
        if self._question.watch:
            state = closed_state(self._arm, self._question.loops, chunk.columns)
            self._question.watch(state, part)
        return part

    def _blank(self, batch: Batch, chunk: Chunk, part: Result) -> None:
        """Put NaN into every result of the rows that have no answer, and count them."""
        bad = set() if chunk.gaps is None else set(np.flatnonzero(chunk.gaps).tolist())
        for row in batch.suspects:
            # a second look takes a while, and what is not finite needs none
            finite = all(np.isfinite(array.values[row]).all() for array in part.arrays)
            if row not in bad and (not finite or batch.complaint(row)):
                bad.add(row)
        for array in part.arrays:
            array.values[sorted(bad)] = np.nan
        self._unanswered += len(bad)

    def _ending(self, rows: int) -> Footer:
        contract = contract_of(self._question, self._arm, self._motion, rows)
        if self._unanswered:
            contract["unanswered rows"] = f"{self._unanswered}, all NaN"
        inputs = {**arm_inputs(self._arm), self._motion.file: self._stream.table.digest()}
        return Footer(contract, inputs, self._arm.figures)


def _require_readable(arm: Arm, path: str, names: tuple[str, ...]) -> None:
    if unknown := [name for name in names if name not in COLUMN_WORDS]:
        message = f"no file has columns for {' and '.join(unknown)}"
        raise UsageError(message, where="--trajectory", hint="give one state by flags")
    if path == "-" and arm.source == "-":
        raise UsageError("the arm is read from standard input already", where="--trajectory -")


def _tell(motion: Motion, stream: TrajectoryStream, strict: bool, out: Output) -> None:
    """Say what is assumed about the trajectory; under --strict what is missing is an error."""
    missing = motion.missing_columns()
    if strict:
        hint = "add the columns, or leave out --strict"
        raise_all([RobolinError(text, where=motion.file, hint=hint) for text in missing])
    notes = list(stream.notes)
    if {"tau", "qdd"} <= set(stream.given):
        notes.append("acceleration columns not used: the efforts determine the accelerations")
    out.note(*(f"{motion.file}: {note}" for note in notes))
    out.warn(*(f"{motion.file}: {text}" for text in missing))


def _require_answers(batch: Batch, chunk: Chunk) -> None:
    """Refuse the first row that has no answer, by its place in the file."""
    for row in batch.suspects:
        error = batch.complaint(row)
        if error is not None:
            raise _located(error, chunk.place(row))


def _located(error: RobolinError, place: str) -> RobolinError:
    hint = f"{error.hint}; {_SKIP}" if error.hint else _SKIP
    return RobolinError(error.message, where=place, hint=hint)
