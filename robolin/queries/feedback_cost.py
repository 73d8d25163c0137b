"""The cost of a simulated motion under stored gains, and the cost that they predict."""

from __future__ import annotations

from collections.abc import Callable
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np

from robolin.control.simulation.schedule import Schedule
from robolin.control.simulation.simulated_motion import FeedbackCost, Simulation
from robolin.core.arm import Arm
from robolin.core.results.result import Result
from robolin.errors import RobolinError, UsageError
from robolin.queries.query_context import PosedQuestion
from robolin.queries.question import Question
from robolin.queries.regulator_weights import effort_weights, state_weights

if TYPE_CHECKING:
    from robolin.control.weights import Weights
    from robolin.queries.feedback_file import StoredFeedback

# what was asked of `lqr` that says how much states and torques weigh
WEIGHING = ("weight", "effort", "bryson")
# the error of a cost of which only one computation is known, as a share of it
_UNKNOWN = 1e-2


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


def cost_text(
    posed: PosedQuestion,
    stored: StoredFeedback,
    motion: Simulation,
    again: Callable[[Schedule], Simulation],
    schedule: Schedule,
) -> str:
    """The cost of one motion and the cost that its gains predict; '' where there is none.

    Args:
        posed: gets a note
        stored: the gains and their weights
        motion: the motion under these gains
        again: simulates the same motion by other steps
        schedule: the steps of the motion
    """
    if motion.q.ndim > 2 or stored.law.Q is None:
        return ""
    from robolin.control.closed_loop import law_cost

    try:
        found = law_cost(posed.arm, stored.law, motion)
    except UsageError as error:
        posed.note(f"the cost is not known: {error.message}")
        return ""
    other = _by_other_steps(again, schedule)
    total, left = found.spent + found.left, found.left
    total_error, left_error = (
        abs(float(total - other.spent - other.left)) if other else _UNKNOWN * abs(float(total)),
        abs(float(left - other.left)) if other else _UNKNOWN * abs(float(left)),
    )
    parts = (
        f"{known_digits(float(total), total_error, 8)}, of which "
        f"{known_digits(float(left), left_error, 3)} after its end",
        f"xᵀPx at the beginning is {float(found.predicted):.8g}",
    )
    text = "; ".join(parts)
    posed.settings.notify("summary", f"cost {text}")
    return text


def _by_other_steps(
    again: Callable[[Schedule], Simulation], schedule: Schedule
) -> FeedbackCost | None:
    """The cost by longer steps, or by shorter ones where longer ones are not possible."""
    for factor in (2.0, 0.5):
        try:
            cost = again(schedule.with_steps(factor)).cost
        except RobolinError:
            continue
        if cost is not None:
            return cost
    return None


def known_digits(value: float, error: float, most: int) -> str:
    """A number with the digits that an error leaves, at most so many."""
    if error == 0.0 or value == 0.0:
        return f"{value:.{most}g}"
    if not error < 0.5 * abs(value):
        return f"about {value:.1g}"
    return f"{value:.{min(most, max(1, floor(-log10(2.0 * error / abs(value)))))}g}"
