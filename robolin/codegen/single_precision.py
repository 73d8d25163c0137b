"""What single precision loses: floats beside robolin's own results, at states drawn at random."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robolin.codegen.emulate_float32 import NamedFloats, emulate_float32, with_frame_at_lightest_end
from robolin.codegen.functions import FLOAT, ChosenQuestion
from robolin.codegen.random_states import answered_states
from robolin.core.arrays import Floats
from robolin.evaluation.methods import Method

# states at which the loss is measured
MEASURED_STATES = 1000

# a result without a larger entry is zero but for the rounding of doubles
ZERO_RESULT = 1e-12


def loss_in_floats(question: ChosenQuestion, given: NamedFloats, expected: NamedFloats) -> float:
    """The largest error of a program in floats at these states, beside a result's largest entry."""
    found = emulate_float32(question, given)
    return max(largest_error_of(found[name], values) for name, values in expected.items())


def largest_error_of(found: Floats, expected: Floats) -> float:
    """The largest error of a state beside the state's largest entry, or alone if there is none."""
    rows = len(expected)
    errors = np.abs(found - expected).reshape(rows, -1).max(axis=1, initial=0.0)
    most = np.abs(expected).reshape(rows, -1).max(axis=1, initial=0.0)
    return float((errors / np.where(most > ZERO_RESULT, most, 1.0)).max())


@dataclass(frozen=True)
class MeasuredLoss:
    """What a program in floats should say of itself.

    seat:   the link that its inertial frame sits on
    losses: of every verb, how much results were off beside their largest entry, at the most
    states: at how many states
    """

    seat: str
    losses: Mapping[str, float]
    states: int = MEASURED_STATES


def measured_loss(questions: Sequence[ChosenQuestion], method: Method) -> MeasuredLoss:
    """What verbs lose in floats on this arm."""
    losses = {}
    for question in questions:
        states = answered_states(question, method, MEASURED_STATES, FLOAT)
        losses[question.verb] = float(f"{loss_in_floats(question, *states):.1e}")
    arm = questions[0].arm
    seat = with_frame_at_lightest_end(questions[0].parameters).seat
    return MeasuredLoss(arm.link(seat).name, losses)
