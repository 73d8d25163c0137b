"""The answer of `response`: outputs over frequencies, or over time after a step."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.number_parsing import FlagText, number
from robolin.core.results.result import Array, Result
from robolin.errors import UsageError
from robolin.queries.linear_model_arrays import (
    LinearModelTask,
    ModelArrays,
    model_array,
    model_lines,
    model_point_arrays,
)
from robolin.queries.linear_model_runner import answer_models
from robolin.queries.linear_model_spec import model_question, require_model_sense, seconds
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question
from robolin.queries.states import States

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace

FORM = "FIRST:LAST:COUNT on a logarithmic scale, or single ones with commas between"
FEWEST_MOMENTS = 201


def answer_response(posed: QueryContext) -> Result:
    """The frequency response, or what a unit step or impulse of each torque does."""
    wanted = model_question(posed.arm, posed.question)
    times: list[Floats] = []
    work = LinearModelTask(wanted, lambda values: arrays(wanted.model(values, posed.settings.jobs)))

    def arrays(model: StateSpace) -> ModelArrays:
        work.lines.update(model_lines(model))
        if "frequencies" in posed.question.asks:
            own = _by_frequency(posed.question, model)
        else:
            time, response = _over_time(posed.question, model)
            times.append(time)
            own = (response,)
        return (*own, *(_in_every_row(array, own[0]) for array in model_point_arrays(model)))

    found = answer_models(posed, work)
    assert isinstance(found, Result), "a response is about one state"
    return replace(found, time=times[0]) if times else found


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse two scales or none."""
    require_model_sense(question, states)
    if ("frequencies" in question.asks) == ("duration" in question.asks):
        hint = "--frequencies 0.1:100:200, or --duration 2 for a step"
        raise UsageError("one of --frequencies and --duration is needed", hint=hint)
    if states.arrays:
        raise UsageError("response is about one state, not about arrays of them")
    for label in ("rows", "impulse"):
        if label in question.asks and "duration" not in question.asks:
            raise UsageError("has no effect here", where=f"--{label}", hint="it is for --duration")
    if "frequencies" in question.asks:
        _frequencies(question)
    seconds(question, "duration")


def _by_frequency(question: Question, model: StateSpace) -> ModelArrays:
    """One row for every frequency."""
    omega = _frequencies(question)
    values = model.frequency_response(omega)
    return (
        model_array(model, "frequency_response", values),
        model_array(model, "omega", omega),
    )


def _over_time(question: Question, model: StateSpace) -> tuple[Floats, Array]:
    """One row for every moment, and these."""
    duration = seconds(question, "duration")
    assert duration is not None, "one of the two was asked for"
    impulse = question.asked("impulse")
    ask = model.impulse_response if impulse else model.step_response
    found = ask(duration, question.count("rows") or FEWEST_MOMENTS)
    name = "impulse_response" if impulse else "step_response"
    return np.asarray(found.time, dtype=np.float64), model_array(model, name, found.y)


def _in_every_row(array: Array, like: Array) -> Array:
    """The operating point, which is the same in all rows."""
    rows = like.batch or 0
    return replace(array, values=np.broadcast_to(array.values, (rows, *array.values.shape)))


def _frequencies(question: Question) -> Floats:
    """Frequencies in rad/s."""
    text = question.text("frequencies") or ""
    typed = FlagText("--frequencies", text)
    if ":" not in text:
        omega = np.array([number(typed, item) for item in text.split(",")])
    else:
        parts = [number(typed, item) for item in text.split(":")]
        if len(parts) != 3 or parts[2] != int(parts[2]) or parts[2] < 2 or not parts[0] > 0.0:
            raise typed.wrong("these are no frequencies", f"they are {FORM}")
        omega = np.geomspace(parts[0], parts[1], int(parts[2])) if parts[1] > 0.0 else np.zeros(1)
    if not (omega > 0.0).all() or not (np.diff(omega) > 0.0).all():
        raise typed.wrong("frequencies are above 0 and rise", f"they are {FORM}")
    return omega
