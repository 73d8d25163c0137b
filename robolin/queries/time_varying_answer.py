"""The answer of `lqr --time-varying`: the Riccati recursion backwards along a motion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.array_checks import seconds_of
from robolin.core.results.result import Result, ResultStream
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.time_units import from_first_row
from robolin.io.trajectories.trajectory import Chunk
from robolin.queries.linear_model_arrays import model_lines, model_point_arrays
from robolin.queries.linear_model_runner import ModelRows
from robolin.queries.linear_model_spec import MODEL_STATE, ModelQuestion
from robolin.queries.lqr_answer import gain_arrays
from robolin.queries.model_work import ModelArrays, ModelWork
from robolin.queries.query_context import PosedQuestion
from robolin.queries.regulator_weights import effort_weights, state_weights
from robolin.queries.trajectory_runner import opened_rows

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace

# how far rows may be from the sample time, beside it
UNEVEN_SAMPLES = 1e-6


def answer_time_varying(posed: PosedQuestion, wanted: ModelQuestion) -> ResultStream:
    """Gains and cost matrices of every row, from the last to the first."""
    posed.tell_of_arm()
    motion, source = opened_rows(posed, MODEL_STATE, "hold")
    work = ModelWork(wanted, lambda values: model_point_arrays(wanted.model(values)))
    return RowsBackwards(posed, work, motion, source).stream()


class RowsBackwards(ModelRows):
    """Rows whose answers depend on all rows after them: models wait in a temporary file."""

    # the time of the first row
    _first: Any = None

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        from robolin.control.time_varying import tvlqr_blocks

        kept: list[tuple[Chunk, ModelArrays]] = []
        models = self._models(kept)
        first = next(models, None)
        if first is None:
            raise RobolinError("the motion has no rows", where=self._motion.file)
        question = self._posed.question
        self._work.lines.update(model_lines(first))
        blocks = tvlqr_blocks(
            _again(first, models),
            state_weights(question) or None,
            effort_weights(question, first) or None,
            bryson=question.asked("bryson"),
        )
        for gains, (chunk, point) in zip(blocks, kept, strict=False):
            yield self.part(chunk, (*gain_arrays(first, gains.K, gains.P), *point)), chunk

    def _models(self, kept: list[tuple[Chunk, ModelArrays]]) -> Iterator[StateSpace]:
        """The models of the rows, forwards; what is needed of the rows later on is kept."""
        before = None
        for chunk in self.chunks():
            before = self._require_even(chunk, before)
            try:
                model = self._work.wanted.model(chunk.columns, self._posed.settings.jobs)
            except UsageError:
                raise
            except RobolinError:
                raise self._complaint(chunk) from None
            if model.basis is not None:
                raise UsageError(
                    "a motion with closed loops changes its coordinates from row to row",
                    where="--time-varying",
                    hint="leave it out: gains are then found for each row by itself",
                )
            point = tuple(
                replace(array, values=np.array(array.values)) for array in model_point_arrays(model)
            )
            kept.append((replace(chunk, columns={}), point))
            yield model

    def _require_even(self, chunk: Chunk, before: float | None) -> float | None:
        """Refuse rows that are not one sample apart; the time of the last row."""
        dt = self._work.wanted.dt
        if chunk.time is None or dt is None:
            return None
        self._first = chunk.time[0] if self._first is None else self._first
        since = from_first_row(chunk.time, self._source.time_unit, self._first)
        times = seconds_of(since, self._motion.file)
        steps = np.diff(times if before is None else np.concatenate([[before], times]))
        off = np.abs(steps - dt) > UNEVEN_SAMPLES * dt
        if off.any():
            at = int(np.argmax(off))
            raise RobolinError(
                f"this row is {steps[at]:.6g} s after the one before, not {dt:g} s",
                where=chunk.place(at + (before is None)),
                hint="rows must be --dt apart",
            )
        return float(times[-1])


def _again(first: StateSpace, others: Iterator[StateSpace]) -> Iterator[StateSpace]:
    yield first
    yield from others
