"""The answer of `momentum`: the centre of mass, and how joints move it."""

from __future__ import annotations

from robolin.api.centre_of_mass import require_mass
from robolin.core.results.result import Result, ResultStream
from robolin.queries.algorithm_answer import Algorithms, answer_by_algorithms
from robolin.queries.query_context import PosedQuestion


def answer_momentum(posed: PosedQuestion) -> Result | ResultStream:
    """Centre of mass, its Jacobian, and the momentum about it."""
    require_mass(posed.arm)
    return answer_by_algorithms(posed, Algorithms(("momentum",)))
