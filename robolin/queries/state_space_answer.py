"""The answer of `state-space`: A, B, C, D and drift with their operating point."""

from __future__ import annotations

from collections.abc import Mapping

from robolin.core.arrays import Floats
from robolin.core.results.result import Result, ResultStream
from robolin.core.text import did_you_mean
from robolin.errors import UsageError
from robolin.queries.linear_model_arrays import (
    LinearModelTask,
    ModelArrays,
    matrix_arrays,
    model_lines,
    model_point_arrays,
    units_line,
)
from robolin.queries.linear_model_runner import answer_models
from robolin.queries.linear_model_spec import model_question, require_model_sense
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question
from robolin.queries.states import States

MODEL_MATRICES = ("A", "B", "C", "D", "drift", "y")


def answer_state_space(posed: QueryContext) -> Result | ResultStream:
    """The linear model about one state, or about every row."""
    wanted = model_question(posed.arm, posed.question)
    only = _only(posed.question)
    work = LinearModelTask(wanted, lambda values: arrays(values))

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        model = wanted.model(values, posed.settings.jobs)
        if not work.lines:
            names = (*model.states, *model.inputs, *model.outputs)
            work.lines.update(model_lines(model))
            work.lines["units by name"] = units_line(model, names)
        chosen = (array for array in matrix_arrays(model) if array.name in only)
        return (*chosen, *model_point_arrays(model))

    return answer_models(posed, work)


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse wishes that contradict each other, and matrices that there are not."""
    require_model_sense(question, states)
    _only(question)


def _only(question: Question) -> tuple[str, ...]:
    """The matrices to answer with, beside the operating point."""
    text = question.text("only")
    names = MODEL_MATRICES if text is None else tuple(name.strip() for name in text.split(","))
    for name in names:
        if name not in MODEL_MATRICES:
            hint = did_you_mean(name, MODEL_MATRICES)
            raise UsageError(f"a model has no '{name}'", where=f"--only={text}", hint=hint)
    return names
