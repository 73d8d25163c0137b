"""The `lqr` query: gains for one state, for every row, or along a trajectory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.control.riccati import require_scipy
from robolin.core.arrays import Floats, seconds_of
from robolin.core.result import Result, ResultStream
from robolin.core.text_parsing import (
    KEEP_ONE,
    FlagText,
    number,
    parse_named_numbers,
    parse_names,
)
from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.trajectory import Chunk, from_first_row
from robolin.queries.linear_model_answer import (
    LinearModelSpec,
    LinearModelTask,
    ModelArrays,
    answer_models,
    first_row_error,
    model_array,
    model_lines,
    model_point_arrays,
    seconds,
    spec_from_question,
)
from robolin.queries.question import Question
from robolin.queries.request import QueryContext
from robolin.queries.runner import Runner
from robolin.queries.state_space_answer import pole_lines, stability_note

if TYPE_CHECKING:
    from robolin.control.regulator import Regulator
    from robolin.control.state_space import StateSpace


def answer_lqr(context: QueryContext) -> Result | ResultStream:
    """Compute gains, the cost matrix and the closed-loop poles."""
    spec = spec_from_question(context.arm, context.question)
    if context.question.flag("time-varying"):
        return answer_time_varying(context, spec)
    task = LinearModelTask(spec, lambda values: arrays(values))

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        regulator = _regulator(context, spec, values)
        model = regulator.model
        task.contract_entries.update(model_lines(model))
        if model.batch:
            return (*_arrays(regulator), *model_point_arrays(model))
        summary = _closed_lines(regulator)
        task.contract_entries.update(summary)
        context.settings.notify("summary", f"closed loop: {stability_note(regulator.poles)}")
        weights = (
            model_array(model, "Q", regulator.Q),
            model_array(model, "R", regulator.R),
        )
        return (*_arrays(regulator), *weights, *model_point_arrays(model))

    return answer_models(context, task)


def validate_values(question: Question) -> None:
    """Parse the values, so that errors come before the arm is loaded."""
    seconds(question, "dt")
    state_weights(question)
    parse_efforts(question)
    if not question.flag("time-varying"):
        # check here, so that a missing SciPy is reported once and not for every row
        require_scipy("linalg", "a Riccati equation")


def gain_arrays(model: StateSpace, K: Floats, P: Floats) -> ModelArrays:
    """Return K and P as named arrays."""
    return (model_array(model, "K", K), model_array(model, "P", P))


def _regulator(
    context: QueryContext, spec: LinearModelSpec, values: Mapping[str, Floats]
) -> Regulator:
    from robolin.control.regulator import lqr

    question, model = context.question, spec.model(values, context.settings.jobs)
    return lqr(
        model,
        state_weights(question) or None,
        effort_weights(question, model) or None,
        bryson=question.flag("bryson"),
        integral=integrals(question, context.arm.joint_names),
    )


def _arrays(regulator: Regulator) -> ModelArrays:
    model = regulator.model
    return (
        *gain_arrays(model, regulator.K, regulator.P),
        model_array(model, "poles", regulator.poles.values),
        model_array(model, "residual", np.asarray(regulator.residual, dtype=float)),
    )


def _closed_lines(regulator: Regulator) -> dict[str, Any]:
    lines = pole_lines(regulator.poles)
    return {
        "closed loop": lines["stability"],
        "closed modes": lines["modes"],
        "Riccati equation": f"residual {float(regulator.residual):.2g} of its largest term",
    }


# relative tolerance of the row spacing
SAMPLE_TIME_TOLERANCE = 1e-6


def answer_time_varying(context: QueryContext, spec: LinearModelSpec) -> ResultStream:
    """Compute gains and cost matrices of every row, backwards from the last one."""
    context.emit_arm_notes()
    task = LinearModelTask(spec, lambda values: model_point_arrays(spec.model(values)))
    return BackwardPass(context, task).stream()


class BackwardPass(Runner):
    """Rows whose results depend on all later rows: models wait in a temporary file."""

    def __init__(self, context: QueryContext, task: LinearModelTask) -> None:
        super().__init__(context, task)
        self._task = task
        # the time of the first row
        self._first: Any = None

    def _computed(self) -> Iterator[tuple[Result, Chunk]]:
        from robolin.control.time_varying import tvlqr_blocks

        points: list[tuple[Chunk, ModelArrays]] = []
        models = self._models(points)
        first = next(models, None)
        if first is None:
            raise RobolinError("the trajectory has no rows", where=self._inputs.file)
        question = self._context.question
        self._task.contract_entries.update(model_lines(first))
        blocks = tvlqr_blocks(
            _prepend(first, models),
            state_weights(question) or None,
            effort_weights(question, first) or None,
            bryson=question.flag("bryson"),
        )
        for gains, (chunk, point) in zip(blocks, points, strict=False):
            yield self.part(chunk, (*gain_arrays(first, gains.K, gains.P), *point)), chunk

    def _models(self, points: list[tuple[Chunk, ModelArrays]]) -> Iterator[StateSpace]:
        """Yield the models of the rows in order; append their operating points to `points`."""
        before = None
        for chunk in self.chunks():
            self.check_states(chunk)
            before = self._require_even(chunk, before)
            if self._settings.progress:
                self._settings.progress.reach(chunk.reach[1])
            with first_row_error(chunk, self._task.arrays):
                model = self._task.spec.model(chunk.columns, self._settings.jobs)
            if model.basis is not None:
                raise UsageError(
                    "not supported for robots with closed loops",
                    where="--time-varying",
                    hint="omit --time-varying to compute gains for each row separately",
                )
            point = tuple(
                replace(array, values=np.array(array.values)) for array in model_point_arrays(model)
            )
            points.append((replace(chunk, columns={}), point))
            yield model

    def _require_even(self, chunk: Chunk, before: float | None) -> float | None:
        """Reject rows that are not one sample apart; return the time of the last row."""
        dt = self._task.spec.dt
        if chunk.time is None or dt is None:
            return None
        self._first = chunk.time[0] if self._first is None else self._first
        since = from_first_row(chunk.time, self._source.time_unit, self._first)
        times = seconds_of(since, self._inputs.file)
        steps = np.diff(times if before is None else np.concatenate([[before], times]))
        uneven = np.abs(steps - dt) > SAMPLE_TIME_TOLERANCE * dt
        if uneven.any():
            row = int(np.argmax(uneven))
            raise RobolinError(
                f"the time step must be --dt {dt:g} s, got {steps[row]:.6g} s",
                where=chunk.location(row + (before is None)),
                hint="resample the trajectory, or set --dt to its time step",
            )
        return float(times[-1])


def _prepend(first: StateSpace, others: Iterator[StateSpace]) -> Iterator[StateSpace]:
    yield first
    yield from others


def state_weights(question: Question) -> dict[str, float]:
    """Parse weights of positions and velocities, for all joints or for one."""
    return _parse_weights("--weight", question.texts("weight"))


def parse_efforts(question: Question) -> tuple[float | None, dict[str, float]]:
    """Parse weights of torques: of all motors, and by joint."""
    texts = question.texts("effort")
    common = [FlagText("--effort", text) for text in texts if "=" not in text]
    if len(common) > 1:
        raise common[1].wrong("a weight for all joints is already set", KEEP_ONE)
    named = _parse_weights("--effort", [text for text in texts if "=" in text])
    return (number(common[0]) if common else None), named


def effort_weights(question: Question, model: StateSpace) -> dict[str, float]:
    """Return weights of torques by joint; a number without a name applies to all."""
    common, named = parse_efforts(question)
    motors = [name.removesuffix("/effort") for name in model.inputs]
    return {**({} if common is None else dict.fromkeys(motors, common)), **named}


def integrals(question: Question, joints: Sequence[str]) -> list[str]:
    """Parse the outputs to integrate; a joint name selects its position."""
    text = question.text("integral")
    names = () if text is None else parse_names(text)
    return [f"{name}/position" if name in joints else name for name in names]


def _parse_weights(flag: str, texts: Sequence[str]) -> dict[str, float]:
    entries = parse_named_numbers(flag, texts, "NAME=WEIGHT", lambda _: False)
    return {name: value for name, (value, _) in entries.items()}
