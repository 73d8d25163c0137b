"""Error of programs in single precision, relative to robolin's results at random states.

Programs are emulated for many states together.

An inertia about a distant point is lost in mass times distance squared, because floats have seven
digits.  So programs in floats put their inertial frame on the arm's lightest end: a light wrist
keeps its digits, and links nearer to the base are heavy enough to tolerate the loss.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from random import Random

import numpy as np

from robolin.codegen.functions import ChosenQuestion
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.core.records import dataclass
from robolin.dynamics.algebra.trigonometry import DOUBLE, FLOAT, Precision
from robolin.engine.parameters import Parameters, with_frame_at_lightest_end
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import RunOptions, evaluate_rows, explain_failure
from robolin.evaluation.float32 import run_on_float32
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


def random_states(
    arm: Arm, names: Sequence[str], count: int, precision: Precision
) -> dict[str, Floats]:
    """Random positions within ±π or ±0.5 m and other inputs up to ±2; always the same numbers.

    The values are exactly representable in the precision.
    """
    # the only generator whose numbers are the same in all versions of Python
    random = Random(0)
    reach = [pi if joint.turns else 0.5 for joint in arm.joints]
    states: dict[str, Floats] = {}
    kind = np.float64 if precision is DOUBLE else np.float32
    for name in names:
        widths = reach if name == "q" else [2.0] * arm.n
        rows = [[w * (2.0 * random.random() - 1.0) for w in widths] for _ in range(count)]
        states[name] = np.array(rows, dtype=kind).astype(float).reshape(count, arm.n)
    return states


def valid_states(
    question: ChosenQuestion, method: Method, states: int, precision: Precision
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """Random states with a result, and their results; raise the first failure if too few have.

    Near singular states, floats may have no result where doubles do.
    """
    inputs = random_states(question.arm, [*question.arguments], 4 * states, precision)
    for name, values in question.fixed.items():
        inputs[name] = np.tile(values, (4 * states, 1))
    # without a kernel, which would have to be compiled first; results are bit-identical
    options: RunOptions = {"method": method, "engine": "python"}
    results, unanswered = evaluate_rows(question.arm, question.verb, inputs, **options)
    valid = np.asarray(unanswered) == 0
    if precision is not DOUBLE:
        valid &= _known(emulate_float32(question, inputs))
    fine = np.flatnonzero(valid)[:states]
    if len(fine) < states:
        row = int(np.flatnonzero(~valid)[0])
        error = explain_failure(question.arm, question.verb, inputs, row, **options)
        raise error or _too_few_in_floats(question)
    inputs = {name: values[fine] for name, values in inputs.items()}
    return inputs, {name: values[fine] for name, values in results.items()}


def _known(results: Mapping[str, Floats]) -> Mask:
    """Mask of the states in which all results are finite."""
    rows = (np.isfinite(values).reshape(len(values), -1).all(axis=1) for values in results.values())
    known: Mask = np.logical_and.reduce(list(rows))
    return known


def _too_few_in_floats(question: ChosenQuestion) -> RobolinError:
    message = f"{question.verb}: too few states have a result in single precision"
    return RobolinError(message, where=question.arm.source, hint="use --real double")


NamedFloats = Mapping[str, Floats]


def parameters_in(precision: Precision, question: ChosenQuestion) -> Parameters:
    """Parameters of the arm for a program of this precision."""
    parameters = question.parameters
    return parameters if precision is DOUBLE else with_frame_at_lightest_end(parameters)


def emulate_float32(question: ChosenQuestion, inputs: NamedFloats) -> dict[str, Floats]:
    """Results of a single-precision program for states (B, n); NaN where it reports an error.

    Without loops, the constants of a program are computed in double and then rounded; with loops,
    the emulation is bit-identical.
    """
    parameters, algorithm = with_frame_at_lightest_end(question.parameters), question.algorithm
    run = run_on_float32(parameters, algorithm.run, algorithm.gives, inputs)
    results = {name: array.astype(float) for name, array in run.arrays.items()}
    for shortfall in run.shortfalls:
        for values in results.values():
            values[shortfall.rows] = np.nan
    return results
