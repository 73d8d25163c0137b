"""The answer of `lqr`: gains for one state, for every row, or along a motion as a whole."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.control.optional_dependencies import require_scipy
from robolin.core.array_checks import seconds_of
from robolin.core.arrays import Floats
from robolin.core.number_parsing import FlagText, number, parse_named_numbers
from robolin.core.results.result import Result, ResultStream
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.trajectory import Chunk, from_first_row
from robolin.queries.linear_model_arrays import (
    LinearModelTask,
    ModelArrays,
    model_array,
    model_lines,
    model_point_arrays,
)
from robolin.queries.linear_model_runner import ModelRows, answer_models
from robolin.queries.linear_model_spec import (
    MODEL_STATE,
    LinearModelSpec,
    model_question,
    require_model_sense,
)
from robolin.queries.poles_answer import pole_lines
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question
from robolin.queries.states import States
from robolin.queries.trajectory_runner import open_batch

if TYPE_CHECKING:
    from robolin.control.regulator import Regulator
    from robolin.control.state_space import StateSpace


def answer_lqr(posed: QueryContext) -> Result | ResultStream:
    """Gains, the cost matrix, and the poles of the closed loop."""
    wanted = model_question(posed.arm, posed.question)
    if posed.question.asked("time-varying"):
        return answer_time_varying(posed, wanted)
    work = LinearModelTask(wanted, lambda values: arrays(values))

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        regulator = _regulator(posed, wanted, values)
        model = regulator.model
        if not work.lines:
            work.lines.update(model_lines(model))
        if model.batch:
            return (*_arrays(regulator), *model_point_arrays(model))
        told = _closed_lines(regulator)
        work.lines.update(told)
        posed.settings.notify("summary", f"closed loop: {told['closed loop']}")
        weights = (
            model_array(model, "Q", regulator.Q),
            model_array(model, "R", regulator.R),
        )
        return (*_arrays(regulator), *weights, *model_point_arrays(model))

    return answer_models(posed, work)


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse wishes that contradict each other, and weights that are no numbers."""
    require_model_sense(question, states)
    require_weights_typed(question)
    if not question.asked("time-varying"):
        # told here it is told once, not as something that is wrong with every row
        require_scipy("linalg", "a Riccati equation")
        return
    if states.trajectory is None and not states.arrays:
        hint = "without it, the regulator is for one state that stays"
        raise UsageError("needs a --trajectory", where="--time-varying", hint=hint)
    if "dt" not in question.asks:
        hint = "for example --dt 0.01, in s"
        raise UsageError("needs --dt, the time between rows", where="--time-varying", hint=hint)
    if "integral" in question.asks:
        hint = "integrals are for gains of each row by itself, without --time-varying"
        raise UsageError("cannot go together with --integral", where="--time-varying", hint=hint)
    if states.on_bad_row == "nan":
        hint = "gains at a row follow from all rows after it"
        raise UsageError("cannot go together with --on-bad-row", where="--time-varying", hint=hint)


def gain_arrays(model: StateSpace, K: Floats, P: Floats) -> ModelArrays:
    """K and P with their names."""
    return (model_array(model, "K", K), model_array(model, "P", P))


def _regulator(
    posed: QueryContext, wanted: LinearModelSpec, values: Mapping[str, Floats]
) -> Regulator:
    from robolin.control.regulator import lqr

    question, model = posed.question, wanted.model(values, posed.settings.jobs)
    return lqr(
        model,
        state_weights(question) or None,
        effort_weights(question, model) or None,
        bryson=question.asked("bryson"),
        integral=integrals(question, posed.arm.joint_names),
    )


def _arrays(regulator: Regulator) -> ModelArrays:
    model = regulator.model
    return (
        *gain_arrays(model, regulator.K, regulator.P),
        model_array(model, "poles", regulator.poles.values),
        model_array(model, "residual", np.asarray(regulator.residual, dtype=float)),
    )


def _closed_lines(regulator: Regulator) -> dict[str, Any]:
    told = pole_lines(regulator.poles)
    return {
        "closed loop": told["stability"],
        "closed modes": told["modes"],
        "Riccati equation": f"{float(regulator.residual):.2g} left beside its largest term",
    }


# how far rows may be from the sample time, beside it
UNEVEN_SAMPLES = 1e-6


def answer_time_varying(posed: QueryContext, wanted: LinearModelSpec) -> ResultStream:
    """Gains and cost matrices of every row, from the last to the first."""
    posed.emit_arm_notes()
    motion, source = open_batch(posed, MODEL_STATE, "hold")
    work = LinearModelTask(wanted, lambda values: model_point_arrays(wanted.model(values)))
    return BackwardPass(posed, work, motion, source).stream()


class BackwardPass(ModelRows):
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


FORM = "NAME=WEIGHT"


def state_weights(question: Question) -> dict[str, float]:
    """Weights of positions and velocities, of all joints or of one."""
    found: dict[str, float] = {}
    for text in question.texts("weight"):
        found |= _named(FlagText("--weight", text), found)
    return found


def effort_weights(question: Question, model: StateSpace) -> dict[str, float]:
    """Weights of torques by joint; a number without a name is for all of them."""
    every: dict[str, float] = {}
    found: dict[str, float] = {}
    for text in question.texts("effort"):
        typed = FlagText("--effort", text)
        if "=" in text:
            found |= _named(typed, found)
        elif every:
            raise typed.wrong("there is a weight for all motors already", "keep one of them")
        else:
            motors = [name.removesuffix("/effort") for name in model.inputs]
            every = dict.fromkeys(motors, number(typed, text))
    return {**every, **found}


def integrals(question: Question, joints: Sequence[str]) -> list[str]:
    """The outputs to integrate; the name of a joint stands for its position."""
    text = question.text("integral")
    names = [] if text is None else [name.strip() for name in text.split(",")]
    return [f"{name}/position" if name in joints else name for name in names]


def require_weights_typed(question: Question) -> None:
    """Refuse weights that are no numbers."""
    state_weights(question)
    for text in question.texts("effort"):
        typed = FlagText("--effort", text)
        if "=" in text:
            _named(typed, {})
        else:
            number(typed, text)


def _named(typed: FlagText, before: dict[str, float]) -> dict[str, float]:
    found = {}
    for name, (value, degrees) in parse_named_numbers(typed, FORM).items():
        if degrees:
            raise typed.wrong(f"the weight of '{name}' is no angle", "leave out 'deg'")
        if name in before:
            raise typed.wrong(f"'{name}' is there twice", "keep one of them")
        found[name] = value
    return found
