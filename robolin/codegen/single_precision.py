"""Measured error of single precision, relative to robolin's results at random states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from robolin.codegen.emulate_float32 import NamedFloats, emulate_float32, with_frame_at_lightest_end
from robolin.codegen.functions import FLOAT, ChosenQuestion
from robolin.codegen.random_states import valid_states
from robolin.core.arrays import Floats
from robolin.evaluation.methods import Method

# states at which the loss is measured
MEASURED_STATES = 1000

# results below this are zero up to the round-off of doubles
ZERO_RESULT = 1e-12


def max_float_error(question: ChosenQuestion, inputs: NamedFloats, expected: NamedFloats) -> float:
    """Largest float error at these states, relative to the largest entry of a result."""
    results = emulate_float32(question, inputs)
    return max(largest_error_of(results[name], values) for name, values in expected.items())


def largest_error_of(actual: Floats, expected: Floats) -> float:
    """Largest error of a state relative to its largest entry, or absolute if that is 0."""
    rows = len(expected)
    errors = np.abs(actual - expected).reshape(rows, -1).max(axis=1, initial=0.0)
    most = np.abs(expected).reshape(rows, -1).max(axis=1, initial=0.0)
    return float((errors / np.where(most > ZERO_RESULT, most, 1.0)).max())


@dataclass(frozen=True)
class MeasuredLoss:
    """Measured error of a single-precision program.

    seat:   the link that carries the inertial frame
    losses: for every verb, the largest error relative to the largest entry of a result
    states: number of states
    """

    seat: str
    losses: Mapping[str, float]
    states: int = MEASURED_STATES


def measured_loss(questions: Sequence[ChosenQuestion], method: Method) -> MeasuredLoss:
    """Measure the float error of these verbs on this arm."""
    losses = {}
    for question in questions:
        states = valid_states(question, method, MEASURED_STATES, FLOAT)
        losses[question.verb] = float(f"{max_float_error(question, *states):.1e}")
    arm = questions[0].arm
    seat = with_frame_at_lightest_end(questions[0].parameters).seat
    return MeasuredLoss(arm.link(seat).name, losses)
