"""The answer of `momentum`: the centre of mass, and how joints move it."""

from __future__ import annotations

from robolin.answering.algorithm_answer import Algorithms, answer_by_algorithms
from robolin.answering.posed_question import PosedQuestion
from robolin.api.centre_of_mass import require_mass
from robolin.results.result import Result, ResultStream


def answer_momentum(posed: PosedQuestion) -> Result | ResultStream:
    """Centre of mass, its Jacobian, and the momentum about it."""
    require_mass(posed.arm)
    return answer_by_algorithms(posed, Algorithms(("momentum",)))
