"""Queries about a linear model: `state-space`, `poles` and `response`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from robolin.core.arrays import Floats
from robolin.core.natural_scales import UNDECIDED_RATE
from robolin.core.result import Array, Result, ResultStream
from robolin.core.text import did_you_mean, pluralize
from robolin.core.text_parsing import FREQUENCIES, FlagText, parse_frequencies, parse_names
from robolin.errors import UsageError
from robolin.queries.linear_model_answer import (
    LinearModelTask,
    ModelArrays,
    answer_models,
    matrix_arrays,
    model_array,
    model_lines,
    model_point_arrays,
    seconds,
    spec_from_question,
    units_line,
)
from robolin.queries.question import Question
from robolin.queries.request import QueryContext

if TYPE_CHECKING:
    from robolin.control.controllability import Reachability
    from robolin.control.poles import Poles
    from robolin.control.state_space import StateSpace


MODEL_MATRICES = ("A", "B", "C", "D", "drift", "y")


def answer_state_space(context: QueryContext) -> Result | ResultStream:
    """Linearize about one state or every row."""
    spec = spec_from_question(context.arm, context.question)
    only = _only(context.question)
    task = LinearModelTask(spec, lambda values: arrays(values))

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        model = spec.model(values, context.settings.jobs)
        names = (*model.states, *model.inputs, *model.outputs)
        task.contract_entries.update(model_lines(model))
        task.contract_entries["units by name"] = units_line(model, names)
        chosen = (array for array in matrix_arrays(model) if array.name in only)
        return (*chosen, *model_point_arrays(model))

    return answer_models(context, task)


def validate_values(question: Question) -> None:
    """Parse the values, so that errors come before the arm is loaded."""
    for name in ("dt", "duration"):
        seconds(question, name)
    if "frequencies" in question.options:
        _frequencies(question)
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


# as numbers, which every file format can store
STABILITY = {"stable": 1, "edge": 0, "unstable": -1}
REACH_WORDS = {"controllability": "controllable", "observability": "observable"}
# words of the contract for a stability
_WORDS = {"edge": "marginal"}


def answer_poles(context: QueryContext) -> Result | ResultStream:
    """Compute the poles of the linear model about one state or every row."""
    spec = spec_from_question(context.arm, context.question)
    task = LinearModelTask(spec, lambda values: arrays(values))
    # each takes longer than the poles of a row
    all_distances = context.question.flag("distances")

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        model = spec.model(values, context.settings.jobs)
        poles = model.poles()
        reached = (model.controllability(), model.observability())
        task.contract_entries.update(model_lines(model))
        if not model.batch:
            summary = pole_lines(poles) | _reach_lines(reached[0]) | _reach_lines(reached[1])
            task.contract_entries.update(summary)
            context.settings.notify(
                "summary", stability_note(poles, poles.frequency < UNDECIDED_RATE)
            )
        first = pole_arrays(poles)
        last = (*(_dimension_array(poles, each) for each in reached), *model_point_arrays(model))
        selected = {*context.settings.arrays} - {array.name for array in (*first, *last)}
        # the error about an unknown array lists the distances too
        every = all_distances or not model.batch or selected - {*map(distance_name, reached)}
        distances = (
            _distance_array(poles, each)
            for each in reached
            if every or distance_name(each) in selected
        )
        return (*first, *distances, *last)

    return answer_models(context, task)


def pole_arrays(poles: Poles) -> ModelArrays:
    """Return poles, frequency, damping, decay rate, stability and mode shapes, one per mode."""
    stability = np.zeros(poles.values.shape, dtype=np.int64)
    for word, number in STABILITY.items():
        stability[poles.stability == word] = number
    # marginally stable modes: the time constant is infinite, its inverse is finite
    decay = np.where(poles.stability == "edge", 0.0, -poles.rates.real)
    frequency = poles.frequency
    if poles.model.dt is not None:
        # a pole at 0 vanishes after one sample; treat it as the smallest positive float
        fastest = -np.log(np.finfo(float).tiny) / poles.model.dt
        frequency, decay = np.minimum(frequency, fastest), np.minimum(decay, fastest)
    quantities = {
        "poles": poles.values,
        "frequency": frequency,
        "damping": poles.damping,
        "decay": decay,
        "stability": stability,
        "mode_shape": poles.shapes,
    }
    return tuple(model_array(poles.model, name, values) for name, values in quantities.items())


def pole_lines(poles: Poles) -> dict[str, Any]:
    """Describe every mode and the stability for the contract."""
    words = [_WORDS.get(word, word) for word in poles.stability.tolist()]
    order = [_WORDS.get(word, word) for word in STABILITY]
    counts = [f"{words.count(word)} {word}" for word in order if word in words]
    modes = [
        f"{i + 1} {word}, {_rate_text(poles, i)}: {' and '.join(poles.joints(i)) or 'no joint'}"
        for i, word in enumerate(words)
    ]
    return {"stability": f"{len(words)} poles: {', '.join(counts)}", "modes": "; ".join(modes)}


def stability_note(poles: Poles, slow: ArrayLike = False) -> str:
    """Number of unstable and marginal poles, as a note; `slow` poles count as marginal."""
    words = np.where(slow, "edge", poles.stability).tolist()
    unstable, marginal = words.count("unstable"), words.count("edge")
    if not unstable and not marginal:
        return f"all {len(words)} poles are stable"
    if unstable:
        more = f"; {marginal} marginal" * bool(marginal)
        text = f"{unstable} of {len(words)} poles {_are(unstable)} unstable{more}"
    else:
        text = f"{marginal} of {len(words)} poles {_are(marginal)} marginal"
    moved = int((np.asarray(slow) & (poles.stability != "edge")).sum())
    if moved:
        rule = f"slower than {UNDECIDED_RATE:g} 1/s, so round-off determines the sign"
        text += f"; {pluralize(moved, 'marginal pole')} {_are(moved)} {rule}"
    return text


def _are(count: int) -> str:
    return "is" if count == 1 else "are"


def _rate_text(poles: Poles, mode: int) -> str:
    """Describe the time constant of a mode."""
    constant = float(poles.time_constant[mode])
    if constant == 0.0:
        return "vanishes after one sample"
    if not np.isfinite(constant):
        return f"rate below {poles.bound[mode]:.1g}/s"
    return f"{'decays' if constant > 0.0 else 'grows'} in {abs(constant):.4g} s"


def distance_name(reach: Reachability) -> str:
    """Name of the array of distances."""
    return f"{reach.kind}_distance"


def _distance_array(poles: Poles, reach: Reachability) -> Array:
    """Return each pole's distance to uncontrollability (unobservability)."""
    # both lists contain the same eigenvalues in different orders
    gaps = np.abs(poles.values[..., :, None] - reach.values[..., None, :])
    distance = np.take_along_axis(reach.distance, gaps.argmin(axis=-1), axis=-1)
    return model_array(poles.model, distance_name(reach), distance)


def _dimension_array(poles: Poles, reach: Reachability) -> Array:
    """Return the dimension of the controllable (observable) subspace."""
    dimension = np.asarray(reach.dimension, dtype=np.int64)
    return model_array(poles.model, f"{reach.kind}_dimension", dimension)


def _reach_lines(reach: Reachability) -> dict[str, str]:
    """Describe the dimension, and the mode nearest to being uncontrollable or unobservable."""
    total, worst = len(reach.model.states), int(reach.worst)
    value, joints = complex(reach.values[worst]), " and ".join(reach.joints(worst))
    pole = f"{value.real:.4g}" if value.imag == 0.0 else f"{value:.4g}"
    all_or_not = "all" if reach.complete else str(int(reach.dimension))
    word, distance = REACH_WORDS[reach.kind], float(reach.distance[worst])
    return {
        reach.kind: f"{all_or_not} of {total} states {word}; least {word} pole {pole} ({joints}), "
        f"distance {distance:.2g} relative to ‖A‖"
    }


DEFAULT_TIME_SAMPLES = 201


def answer_response(context: QueryContext) -> Result:
    """Compute the frequency response, or the unit step or impulse response of each torque."""
    spec = spec_from_question(context.arm, context.question)
    times: list[Floats] = []
    task = LinearModelTask(spec, lambda values: arrays(spec.model(values, context.settings.jobs)))

    def arrays(model: StateSpace) -> ModelArrays:
        task.contract_entries.update(model_lines(model))
        if "frequencies" in context.question.options:
            own = _by_frequency(context.question, model)
        else:
            time, response = _over_time(context.question, model)
            times.append(time)
            own = (response,)
        return (*own, *(_in_every_row(array, own[0]) for array in model_point_arrays(model)))

    result = answer_models(context, task)
    assert isinstance(result, Result), "a response is computed for one state"
    return replace(result, time=times[0]) if times else result


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
    assert duration is not None, "--frequencies or --duration is set"
    impulse = question.flag("impulse")
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
        raise typed.wrong("frequencies must be > 0 and increasing", FREQUENCIES)
    return omega
