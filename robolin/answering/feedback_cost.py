"""What a simulated motion under stored gains cost, beside what they promised."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from robolin.answering.posed_question import PosedQuestion
from robolin.answering.question import Question
from robolin.answering.regulator_weights import effort_weights, state_weights
from robolin.arm import Arm
from robolin.errors import UsageError
from robolin.results.result import Result
from robolin.simulation.simulated_motion import Simulation

if TYPE_CHECKING:
    from robolin.answering.feedback_file import StoredFeedback
    from robolin.control.weights import Weights

# what was asked of `lqr` that says how much states and torques weigh
WEIGHING = ("weight", "effort", "bryson")


def stored_weights(arm: Arm, found: Result, integrals: list[str], same_arm: bool) -> Weights | None:
    """The weights that gains were found with: stored with those of one state, else as asked for.

    None where they follow from limits, which another arm may not have.
    """
    from robolin.control.integral_action import with_integrals
    from robolin.control.linear_model import state_space
    from robolin.control.weights import Weights, weights_of

    if "Q" in found:
        Q, R = found["Q"], found["R"]
        return Weights(Q, R, np.zeros((len(Q), len(R))))
    asked = {label: found.options[label] for label in WEIGHING if label in found.options}
    question = Question("lqr", **asked)
    if question.asked("bryson") and not same_arm:
        return None
    inputs = next(array.labels for array in found.arrays if array.name == "K")[0]
    actuated = [label.removesuffix("/effort") for label in inputs]
    q, qd, tau = (found[name][0] for name in ("q", "qd", "tau"))
    outputs = integrals or ("q",)
    model = state_space(arm, q, qd, tau=tau, actuated=actuated, outputs=outputs)
    model = with_integrals(model, integrals)
    weights = (state_weights(question) or None, effort_weights(question, model) or None, None)
    return weights_of(model, *weights, question.asked("bryson"))


def cost_beside_promise(posed: PosedQuestion, stored: StoredFeedback, motion: Simulation) -> str:
    """What one motion cost, beside what its gains promised; '' where that cannot be told."""
    if motion.q.ndim > 2 or stored.weights is None:
        return ""
    from robolin.control.closed_loop import law_cost

    try:
        found = law_cost(posed.arm, stored.law, stored.weights, motion, stored.dt)
    except UsageError as error:
        posed.note(f"no cost is told: {error.message}")
        return ""
    total = f"{float(found.spent + found.left):.8g}"
    told = f"{total}, of which {float(found.left):.3g} after its end; xᵀPx at the beginning"
    text = f"{told} is {float(found.predicted):.8g}"
    posed.settings.notify("summary", f"cost {text}")
    return text
