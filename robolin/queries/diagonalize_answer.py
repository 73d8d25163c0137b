"""The answers of `diagonalize`: coordinates without a mass matrix, or whether there are any."""

from __future__ import annotations

from robolin.core.results.result import Result, ResultStream
from robolin.errors import UsageError
from robolin.queries.algorithm_answer import Algorithms, answer_by_algorithms
from robolin.queries.query_context import PosedQuestion
from robolin.queries.question import Question
from robolin.queries.state_parsing import require_none_drawn
from robolin.queries.states import States


def answer_diagonalize(posed: PosedQuestion) -> Result | ResultStream:
    """One state's coordinates, one way or back; or the curvature of all of them."""
    question = posed.question
    if question.asked("curvature"):
        from robolin.queries.curvature_answer import answer_curvature

        return answer_curvature(posed)
    name = "undiagonalize" if question.asked("inverse-transform") else "diagonalize"
    if question.asked("unnormalized"):
        name = f"{name}-unnormalized"
    return answer_by_algorithms(posed, Algorithms((name,), divides=True))


def require_sense(question: Question, states: States, arm: str) -> None:
    """Refuse what would have no effect, and a way back that starts nowhere."""
    if question.asked("curvature"):
        for name in ("unnormalized", "inverse-transform"):
            if question.asked(name):
                message = f"cannot go together with --{name}"
                hint = "curvature concerns all configurations, not one state's coordinates"
                raise UsageError(message, where="--curvature", hint=hint)
        return
    require_none_drawn(states, "--curvature")
    if question.asked("symbols"):
        raise UsageError("has no effect here", where="--symbols", hint="it goes with --curvature")
    velocity = "xi" if question.asked("unnormalized") else "nu"
    if question.asked("inverse-transform") and velocity not in states.values:
        raise UsageError(
            f"needs the velocities it starts from: --{velocity}",
            where="--inverse-transform",
            hint=f"for example --{velocity} 0.1,0.2 on an arm with two joints",
        )
