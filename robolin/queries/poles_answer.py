"""The answer of `poles`: how fast, how well damped, stable or not, and what can be steered."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.results.result import Array, Result, ResultStream
from robolin.queries.linear_model_arrays import (
    LinearModelTask,
    ModelArrays,
    model_array,
    model_lines,
    model_point_arrays,
)
from robolin.queries.linear_model_runner import answer_models
from robolin.queries.linear_model_spec import model_question, require_model_sense
from robolin.queries.query_context import QueryContext
from robolin.queries.question import Question
from robolin.queries.states import States

if TYPE_CHECKING:
    from robolin.control.controllability import Reachability
    from robolin.control.poles import Poles

# as numbers, which every file can hold
STABILITY = {"stable": 1, "edge": 0, "unstable": -1}
SUMMED_UP_AS = {"controllability": "reached by the motors", "observability": "seen in the outputs"}


def answer_poles(posed: QueryContext) -> Result | ResultStream:
    """The poles of the model about one state, or about every row."""
    wanted = model_question(posed.arm, posed.question)
    work = LinearModelTask(wanted, lambda values: arrays(values))

    def arrays(values: Mapping[str, Floats]) -> ModelArrays:
        model = wanted.model(values, posed.settings.jobs)
        poles = model.poles()
        reached, seen = model.controllability(), model.observability()
        if not work.lines:
            work.lines.update(model_lines(model))
        if not model.batch:
            told = pole_lines(poles) | _reach_lines(reached) | _reach_lines(seen)
            work.lines.update(told)
            posed.settings.notify("summary", told["stability"])
        both = (_reach_arrays(poles, each) for each in (reached, seen))
        distances, dimensions = zip(*both, strict=True)
        return (*pole_arrays(poles), *distances, *dimensions, *model_point_arrays(model))

    return answer_models(posed, work)


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse wishes that contradict each other."""
    require_model_sense(question, states)


def pole_arrays(poles: Poles) -> ModelArrays:
    """Poles and what they mean, one number for every mode, and how much each joint moves."""
    stability = np.zeros(poles.values.shape, dtype=np.int64)
    for word, number in STABILITY.items():
        stability[poles.stability == word] = number
    # the time constant is infinite on the edge, its inverse is a number
    decay = np.where(poles.stability == "edge", 0.0, -poles.rates.real)
    frequency = poles.frequency
    if poles.model.dt is not None:
        # a pole at 0 is gone after one sample; it is told like the smallest number there is
        fastest = -np.log(np.finfo(float).tiny) / poles.model.dt
        frequency, decay = np.minimum(frequency, fastest), np.minimum(decay, fastest)
    found = {
        "poles": poles.values,
        "frequency": frequency,
        "damping": poles.damping,
        "decay": decay,
        "stability": stability,
        "mode_shape": poles.shapes,
    }
    return tuple(model_array(poles.model, name, values) for name, values in found.items())


def pole_lines(poles: Poles) -> dict[str, Any]:
    """Every mode in words, and whether all of them are stable."""
    words = poles.stability.tolist()
    counts = [f"{words.count(word)} {word}" for word in STABILITY if word in words]
    modes = [
        f"{i + 1} {word}, {_pace(poles, i)}: {' and '.join(poles.joints(i)) or 'no joint'}"
        for i, word in enumerate(words)
    ]
    return {"stability": f"of {len(words)} poles {', '.join(counts)}", "modes": "; ".join(modes)}


def _pace(poles: Poles, mode: int) -> str:
    """The time constant of a mode."""
    constant = float(poles.time_constant[mode])
    if constant == 0.0:
        return "gone after one sample"
    if not np.isfinite(constant):
        return f"neither decays nor grows within {poles.bound[mode]:.1g}/s"
    return f"{'decays' if constant > 0.0 else 'grows'} in {abs(constant):.4g} s"


def _reach_arrays(poles: Poles, found: Reachability) -> tuple[Array, Array]:
    """How many states, and for every pole how far it is from being lost."""
    # both lists are of the same eigenvalues, each in an order of its own
    gaps = np.abs(poles.values[..., :, None] - found.values[..., None, :])
    distance = np.take_along_axis(found.distance, gaps.argmin(axis=-1), axis=-1)
    dimension = np.asarray(found.dimension, dtype=np.int64)
    return (
        model_array(poles.model, f"{found.kind}_distance", distance),
        model_array(poles.model, f"{found.kind}_dimension", dimension),
    )


def _reach_lines(found: Reachability) -> dict[str, str]:
    """How much is reached or seen, and the mode that is nearest to being lost."""
    total, worst = len(found.model.states), int(found.worst)
    value, joints = complex(found.values[worst]), " and ".join(found.joints(worst))
    pole = f"{value.real:.4g}" if value.imag == 0.0 else f"{value:.4g}"
    all_or_not = "all" if found.complete else str(int(found.dimension))
    return {
        found.kind: f"{all_or_not} of {total} states {SUMMED_UP_AS[found.kind]}; nearest to being "
        f"lost is the pole {pole} ({joints}), {float(found.distance[worst]):.2g} beside the size "
        "of A"
    }
