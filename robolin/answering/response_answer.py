"""The answer of `response`: outputs over frequencies, or over time after a step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robolin.answering.given_states import States
from robolin.answering.model_arrays import INPUT, OUTPUT, either, model_lines, point_arrays
from robolin.answering.model_question import model_question, require_model_sense, seconds
from robolin.answering.model_rows import Arrays, ModelWork, answer_models
from robolin.answering.posed_question import PosedQuestion
from robolin.answering.question import Question
from robolin.arrays import Floats
from robolin.errors import UsageError
from robolin.number_texts import FlagText, number
from robolin.results.result import Array, Result, ResultStream

if TYPE_CHECKING:
    from robolin.control.state_space import StateSpace

FORM = "FIRST:LAST:COUNT on a logarithmic scale, or single ones with commas between"
FEWEST_MOMENTS = 201


def answer_response(posed: PosedQuestion) -> Result | ResultStream:
    """The frequency response, or what a unit step or impulse of each torque does."""
    wanted = model_question(posed.arm, posed.question)
    work = ModelWork(wanted, lambda values: arrays(wanted.model(values, posed.settings.jobs)))

    def arrays(model: StateSpace) -> Arrays:
        work.lines.update(model_lines(model))
        return (_response(posed.question, model), *point_arrays(model))

    return answer_models(posed, work)


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


def _response(question: Question, model: StateSpace) -> Array:
    axes = (OUTPUT, INPUT)
    unit = f"{either(model, model.outputs)} per {either(model, model.inputs)}"
    if "frequencies" in question.asks:
        omega = _frequencies(question)
        labels = (tuple(f"{w:.10g}" for w in omega), model.outputs, model.inputs)
        values = model.frequency_response(omega)
        return Array("frequency_response", values, labels, unit, None, ("rad/s", *axes))
    duration = seconds(question, "duration")
    assert duration is not None, "one of the two was asked for"
    ask = model.impulse_response if question.asked("impulse") else model.step_response
    found = ask(duration, question.count("rows") or FEWEST_MOMENTS)
    name = "impulse_response" if question.asked("impulse") else "step_response"
    labels = (tuple(f"{t:.10g}" for t in found.time), model.outputs, model.inputs)
    return Array(name, found.y, labels, unit, None, ("s", *axes))


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
