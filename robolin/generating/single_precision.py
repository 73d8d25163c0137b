"""What single precision asks of a program, and what it loses: an inertial frame near what is light.

An inertia reckoned from far away is lost in mass times distance squared, and seven digits are few
for that.  So programs in floats have their inertial frame on the arm's lightest end, wherever that
is: a light wrist keeps its digits, and what is nearer to the base is heavy enough to bear it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from robolin.algebra.axes import sizes
from robolin.arrays import Floats
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import Parameters
from robolin.engine.run import gathered
from robolin.evaluation.methods import Method
from robolin.generating.drawn_states import answered_states
from robolin.generating.own_functions import DOUBLE, FLOAT, Precision, sin_cos_in, tanh_in
from robolin.generating.questions import Chosen

Named = Mapping[str, Floats]

# states at which the loss is measured
MEASURED = 1000


def parameters_in(precision: Precision, question: Chosen) -> Parameters:
    """The arm's numbers as a program of this precision wants them."""
    parameters = question.parameters
    return parameters if precision is DOUBLE else on_lightest_end(parameters)


def on_lightest_end(parameters: Parameters) -> Parameters:
    """The same arm with its inertial frame on the end of least mass."""
    carrying = {row.parent for row in parameters.links}
    ends = [k for k in range(1, parameters.n + 1) if k not in carrying]
    return replace(parameters, seat=min(ends, key=lambda k: parameters.links[k - 1].mass))


class Singles(np.ndarray):
    """Single-precision numbers, one per state, with the functions that a program in floats has."""

    def if_less(self, a: Any, b: Any, yes: Any, no: Any) -> Singles:
        chosen: Singles = np.where(a < b, yes, no).astype(np.float32).view(Singles)
        return chosen

    def sin_cos(self) -> tuple[Any, Any]:
        return sin_cos_in(FLOAT)(self)

    def tanh(self) -> Any:
        return tanh_in(FLOAT, self)


def worked_in_floats(question: Chosen, given: Named) -> dict[str, Floats]:
    """What a program in floats gives for states (B, n), but for how its constants are rounded."""
    parameters, algorithm = on_lightest_end(question.parameters), question.algorithm
    columns: dict[str, Any] = {
        name: list(np.ascontiguousarray(values.T, dtype=np.float32).view(Singles))
        for name, values in given.items()
    }
    chain = DirectChain(parameters, columns, np.float32, algorithm.gives)
    with np.errstate(all="ignore"):
        algorithm.run(chain)
    count, n = len(next(iter(given.values()))), len(parameters.order)
    shapes = {
        name: sizes(shape, n, parameters.n, parameters.closure_rows)
        for name, shape in algorithm.gives.items()
    }
    return {
        name: gathered(chain.results.get(name, {}), (count,), shape)
        for name, shape in shapes.items()
    }


def loss_in_floats(question: Chosen, given: Named, expected: Named) -> float:
    """The largest error of a program in floats at these states, beside a result's largest entry."""
    found = worked_in_floats(question, given)
    return max(largest_error_of(found[name], values) for name, values in expected.items())


def largest_error_of(found: Floats, expected: Floats) -> float:
    """The largest error of a state beside the state's largest entry."""
    rows = len(expected)
    errors = np.abs(found - expected).reshape(rows, -1).max(axis=1, initial=0.0)
    most = np.abs(expected).reshape(rows, -1).max(axis=1, initial=0.0)
    return float((errors / np.where(most > 0.0, most, 1.0)).max())


@dataclass(frozen=True)
class InFloats:
    """What a program in floats should say of itself.

    seat:   the link that its inertial frame sits on
    losses: of every verb, how much results were off beside their largest entry, at the most
    states: at how many states
    """

    seat: str
    losses: Mapping[str, float]
    states: int = MEASURED


def measured_in_floats(questions: Sequence[Chosen], method: Method) -> InFloats:
    """What verbs lose in floats on this arm."""
    losses = {}
    for question in questions:
        states = answered_states(question, method, MEASURED, FLOAT)
        losses[question.verb] = float(f"{loss_in_floats(question, *states):.1e}")
    arm = questions[0].arm
    seat = on_lightest_end(questions[0].parameters).seat
    return InFloats(arm.link(seat).name, losses)
