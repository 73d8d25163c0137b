"""The `response` query: frequency response, step response and impulse response."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.results.result import Array, Result
from robolin.core.text_parsing import FREQUENCIES, FlagText, parse_frequencies
from robolin.queries.linear_model_answer import (
    LinearModelTask,
    ModelArrays,
    answer_models,
    model_array,
    model_lines,
    model_point_arrays,
    seconds,
    spec_from_question,
)
from robolin.queries.question import Question
from robolin.queries.request import QueryContext

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace

DEFAULT_TIME_SAMPLES = 201


def answer_response(context: QueryContext) -> Result:
    """Compute the frequency response, or the unit step or impulse response of each torque."""
    spec = spec_from_question(context.arm, context.question)
    times: list[Floats] = []
    task = LinearModelTask(spec, lambda values: arrays(spec.model(values, context.settings.jobs)))

    def arrays(model: StateSpace) -> ModelArrays:
        task.found.update(model_lines(model))
        if "frequencies" in context.question.asks:
            own = _by_frequency(context.question, model)
        else:
            time, response = _over_time(context.question, model)
            times.append(time)
            own = (response,)
        return (*own, *(_in_every_row(array, own[0]) for array in model_point_arrays(model)))

    result = answer_models(context, task)
    assert isinstance(result, Result), "a response is about one state"
    return replace(result, time=times[0]) if times else result


def validate_values(question: Question) -> None:
    """Parse the values, so that errors come before the arm is loaded."""
    seconds(question, "dt")
    if "frequencies" in question.asks:
        _frequencies(question)
    seconds(question, "duration")


def _by_frequency(question: Question, model: StateSpace) -> ModelArrays:
    """Return the frequency response, one row per frequency."""
    omega = _frequencies(question)
    values = model.frequency_response(omega)
    return (
        model_array(model, "frequency_response", values),
        model_array(model, "omega", omega),
    )


def _over_time(question: Question, model: StateSpace) -> tuple[Floats, Array]:
    """Return time stamps and the time response, one row per time stamp."""
    duration = seconds(question, "duration")
    assert duration is not None, "validated: one of the two options is set"
    impulse = question.asked("impulse")
    compute = model.impulse_response if impulse else model.step_response
    response = compute(duration, question.count("rows") or DEFAULT_TIME_SAMPLES)
    name = "impulse_response" if impulse else "step_response"
    return np.asarray(response.time, dtype=np.float64), model_array(model, name, response.y)


def _in_every_row(array: Array, like: Array) -> Array:
    """Repeat the operating point in every row."""
    rows = like.batch or 0
    return replace(array, values=np.broadcast_to(array.values, (rows, *array.values.shape)))


def _frequencies(question: Question) -> Floats:
    """Parse frequencies in rad/s."""
    typed = FlagText("--frequencies", question.text("frequencies") or "")
    values, count = parse_frequencies(typed)
    omega = np.array(values) if count is None else np.geomspace(values[0], values[1], count)
    if not (omega > 0.0).all() or not (np.diff(omega) > 0.0).all():
        raise typed.wrong("frequencies must be > 0 and increasing", f"use {FREQUENCIES}")
    return omega
