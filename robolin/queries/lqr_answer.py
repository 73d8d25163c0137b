"""The answer of `lqr`: gains for one state, for every row, or along a motion as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.control.optional_dependencies import scipy_part
from robolin.core.arrays import Floats
from robolin.core.results.result import Result, ResultStream
from robolin.errors import UsageError
from robolin.queries.linear_model_arrays import (
    model_array,
    model_lines,
    model_point_arrays,
)
from robolin.queries.linear_model_runner import answer_models
from robolin.queries.linear_model_spec import ModelQuestion, model_question, require_model_sense
from robolin.queries.model_work import ModelArrays, ModelWork
from robolin.queries.poles_answer import pole_lines
from robolin.queries.query_context import PosedQuestion
from robolin.queries.question import Question
from robolin.queries.regulator_weights import (
    effort_weights,
    integrals,
    require_weights_typed,
    state_weights,
)
from robolin.queries.states import States

if TYPE_CHECKING:
    from robolin.control.regulator import Regulator
    from robolin.control.state_space import StateSpace


def answer_lqr(posed: PosedQuestion) -> Result | ResultStream:
    """Gains, the cost matrix, and the poles of the closed loop."""
    wanted = model_question(posed.arm, posed.question)
    if posed.question.asked("time-varying"):
        from robolin.queries.time_varying_answer import answer_time_varying

        return answer_time_varying(posed, wanted)
    work = ModelWork(wanted, lambda values: arrays(values))

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
        scipy_part("linalg", "a Riccati equation")
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
    posed: PosedQuestion, wanted: ModelQuestion, values: Mapping[str, Floats]
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
