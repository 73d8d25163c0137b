"""The answers of the verbs that are algorithms by name: each says which ones."""

from __future__ import annotations

from typing import cast

from robolin.answering.algorithm_answer import Algorithms, answer_by_algorithms
from robolin.answering.posed_question import PosedQuestion
from robolin.answering.question import Question
from robolin.arrays import Floats
from robolin.errors import UsageError
from robolin.evaluation.methods import Method
from robolin.evaluation.prescribed_joints import METHOD_BY_ARM, prescribed_joints
from robolin.results.result import Result, ResultStream


def answer_inverse(posed: PosedQuestion) -> Result | ResultStream:
    """Torques for a motion."""
    return answer_by_algorithms(posed, Algorithms(("inverse",)))


def answer_forward(posed: PosedQuestion) -> Result | ResultStream:
    """Accelerations for torques, of joints and on request of links and a frame."""
    frame = posed.question.text("tip-acceleration")
    driven = _prescribed(posed)
    wanted = {
        "forward" if driven is None else "forward-prescribed": True,
        "link-accelerations": posed.question.asked("links"),
        "tip-acceleration": frame is not None,
    }
    method = _method(posed.question)
    algorithms = Algorithms(_asked(wanted), method, divides=True, prescribed=driven)
    if frame is None:
        return answer_by_algorithms(posed, algorithms)
    from robolin.answering.jacobian_answer import tell_frame
    from robolin.kinematics.frames import at_frame

    # '' stands for the frame there is by default
    placed = at_frame(posed.arm, frame or None, flag="--tip-acceleration LINK")
    tell_frame(posed, placed, frame)
    return answer_by_algorithms(posed, algorithms, placed)


def answer_mass_matrix(posed: PosedQuestion) -> Result | ResultStream:
    """The mass matrix itself, then everything asked for."""
    asked = posed.question.asked
    wanted = {
        "mass-matrix": True,
        "mass-matrix-inverse": asked("inverse"),
        "mass-matrix-factor": asked("factor"),
        "mass-matrix-derivative": asked("derivative"),
        "coriolis-matrix": asked("coriolis"),
    }
    divides = asked("inverse") or asked("factor")
    return answer_by_algorithms(posed, Algorithms(_asked(wanted), divides=divides))


def answer_linearize_inverse(posed: PosedQuestion) -> Result | ResultStream:
    """How torques change, with every small change or with one."""
    perturbed = posed.question.texts("perturb")
    name = "perturb-inverse" if perturbed else "linearize-inverse"
    return answer_by_algorithms(posed, Algorithms((name,)))


def answer_linearize_forward(posed: PosedQuestion) -> Result | ResultStream:
    """How accelerations change, with every small change or with one."""
    perturbed, driven = posed.question.texts("perturb"), _prescribed(posed)
    name = "perturb-forward" if perturbed else "linearize-forward"
    if driven is not None:
        name = "linearize-forward-prescribed"
    method = _method(posed.question)
    asked = Algorithms((name,), method, torque="hold", divides=True, prescribed=driven)
    return answer_by_algorithms(posed, asked)


def _prescribed(posed: PosedQuestion) -> Floats | None:
    """Which joints move as they are told; None if nobody said so."""
    text = posed.question.text("prescribe")
    if text is None:
        return None
    for label, hint in (
        ("method", METHOD_BY_ARM),
        ("perturb", "multiply the matrices by the change"),
    ):
        if label in posed.question.asks:
            message = "cannot go together with --prescribe"
            raise UsageError(message, where=f"--{label}", hint=hint)
    return prescribed_joints(posed.arm, text, "--prescribe")


def _asked(wanted: dict[str, bool]) -> tuple[str, ...]:
    return tuple(name for name, asked in wanted.items() if asked)


def _method(question: Question) -> Method:
    return cast(Method, question.text("method") or "auto")
