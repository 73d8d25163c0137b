"""The `state-space` query: A, B, C, D and drift about an operating point."""

from __future__ import annotations

from collections.abc import Mapping

from robolin.core.arrays import Floats
from robolin.core.results.result import Result, ResultStream
from robolin.core.text import did_you_mean
from robolin.core.text_parsing import parse_names
from robolin.errors import UsageError
from robolin.queries.linear_model_answer import (
    LinearModelTask,
    ModelArrays,
    answer_models,
    matrix_arrays,
    model_lines,
    model_point_arrays,
    seconds,
    spec_from_question,
    units_line,
)
from robolin.queries.question import Question
from robolin.queries.request import QueryContext

MODEL_MATRICES = ("A", "B", "C", "D", "drift", "y")


def answer_state_space(context: QueryContext) -> Result | ResultStream:
    """Linearize about one state or every row."""
    spec = spec_from_question(context.arm, context.question)
    only = _only(context.question)
    task = LinearModelTask(spec, lambda values: arrays(values))

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        model = spec.model(values, context.settings.jobs)
        names = (*model.states, *model.inputs, *model.outputs)
        task.found.update(model_lines(model))
        task.found["units by name"] = units_line(model, names)
        chosen = (array for array in matrix_arrays(model) if array.name in only)
        return (*chosen, *model_point_arrays(model))

    return answer_models(context, task)


def validate_values(question: Question) -> None:
    """Parse the values, so that errors come before the arm is loaded."""
    seconds(question, "dt")
    _only(question)


def _only(question: Question) -> tuple[str, ...]:
    """Parse the matrices to return; the operating point is always returned."""
    text = question.text("only")
    names = MODEL_MATRICES if text is None else parse_names(text)
    for name in names:
        if name not in MODEL_MATRICES:
            hint = did_you_mean(name, MODEL_MATRICES)
            raise UsageError(f"unknown matrix '{name}'", where=f"--only={text}", hint=hint)
    return names
