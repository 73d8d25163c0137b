"""Functions available for code generation, and their errors in single precision.

All queries that the arm supports are available.  An inertia about a distant point is lost in mass
times distance squared, because floats have seven digits.  So programs in floats put their inertial
frame on the arm's lightest end: a light wrist keeps its digits, and links nearer to the base are
heavy enough to tolerate the loss.  The errors are those at random states, which are emulated
together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from math import log, pi
from random import Random
from typing import Any

import numpy as np

from robolin.core.arm import ORIGIN, Arm
from robolin.core.arrays import (
    Floats,
    Mask,
    require_arm,
    require_loops,
    require_tree,
)
from robolin.core.records import dataclass
from robolin.dynamics.algebra.scalar import Scalar
from robolin.dynamics.algebra.trigonometry import DOUBLE, FLOAT, Precision, if_less
from robolin.dynamics.algorithm import Algorithm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.operation_graph import UnrolledProgram, input_name, unrolled_program
from robolin.engine.parameters import Parameters, with_frame_at_lightest_end
from robolin.errors import RobolinError, UsageError
from robolin.evaluation.constant_inputs import (
    OBSERVERS,
    PRESCRIBED_VARIANT,
    JointsNamed,
    prescribed_joints,
    prescribed_line,
)
from robolin.evaluation.evaluate import (
    RunOptions,
    algorithm_for,
    arm_cache,
    evaluate_rows,
    explain_failure,
    independent_of_loops,
)
from robolin.evaluation.float32 import run_on_float32
from robolin.evaluation.frames import ABOUT_A_FRAME, at_frame
from robolin.evaluation.methods import Method, require_regressor_kernel
from robolin.evaluation.state_call import reject_unused_options, resolve_verb

# states at which the loss is measured
MEASURED_STATES = 1000

# results below this are zero up to the round-off of doubles
ZERO_RESULT = 1e-12

NamedFloats = Mapping[str, Floats]

# algorithms that divide by every body's own inertia are omitted: forward covers them, also for
# flat bodies; algorithms for prescribed joints have the name of the ones without
QUESTIONS = tuple(
    dict.fromkeys(
        each.verb or name
        for name, each in ALGORITHMS.items()
        if not each.inverts_bodies and "prescribed" not in each.needs
    )
)


@dataclass(frozen=True)
class ChosenQuestion:
    """A query with its algorithm for an arm and frame.

    fixed: inputs (n,) that are the same in every state
    """

    verb: str
    arm: Arm
    algorithm: Algorithm
    fixed: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def parameters(self) -> Parameters:
        return arm_cache(self.arm).parameters

    @property
    def arguments(self) -> dict[str, str]:
        """The inputs of a program and their argument names."""
        needs, gives = self.algorithm.needs, self.algorithm.gives
        return {name: input_name(name, gives) for name in needs if name not in self.fixed}

    @property
    def contract(self) -> Mapping[str, Any]:
        """Model assumptions, as text."""
        lines = {}
        if "prescribed" in self.fixed:
            lines["prescribed"] = prescribed_line(self.arm, self.fixed["prescribed"])
        if "observer_rate" in self.fixed:
            decay, rate = (float(values[0]) for values in self.fixed.values())
            lines["observer"] = f"period {1.0 / rate:.12g} s, gain {-log(decay) * rate:.6g} 1/s"
        return {**self.arm.contract, **lines}

    def unrolled(self, parameters: Parameters) -> UnrolledProgram:
        """Unroll the algorithm for these parameters of the arm."""
        algorithm = self.algorithm
        known = {name: tuple(values.tolist()) for name, values in self.fixed.items()}
        arguments = parameters, algorithm.run, algorithm.needs, algorithm.gives
        return unrolled_program(*arguments, self.arm.source, known)


def chosen_questions(
    arm: Arm,
    verbs: Sequence[str],
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
    observer: Mapping[str, Floats] | None = None,
) -> list[ChosenQuestion]:
    """Resolve several verbs; each option must apply to at least one.

    observer: constant inputs of the momentum observer; None if they are arguments
    """
    require_arm(arm)
    known = list(map(_known_verb, verbs))
    reject_unused_options(known, method, frame, point, prescribe)
    if observer and not set(OBSERVERS) & set(known):
        hint = f"add {OBSERVERS[0]}, or remove --dt"
        raise UsageError("has no effect on these functions", where="dt", hint=hint)
    questions = [chosen_question(arm, verb, method, frame, point, prescribe) for verb in known]
    return [
        replace(question, fixed=observer) if observer and question.verb in OBSERVERS else question
        for question in questions
    ]


def chosen_question(
    arm: Arm,
    verb: str,
    method: Method = "auto",
    frame: str | None = None,
    point: Sequence[float] = ORIGIN,
    prescribe: JointsNamed | None = None,
) -> ChosenQuestion:
    """Resolve a verb, spelled with - or _, to its algorithm for this arm."""
    require_arm(arm)
    verb = _known_verb(verb)
    if not independent_of_loops(verb):
        if arm.loops and f"{verb}-closed" in ALGORITHMS:
            hint = (
                f"use {verb}-closed, or add --open-loops (open_loops=True) to ignore the loop "
                "constraints"
            )
            raise RobolinError(
                f"{verb} does not support closed loops in generated code",
                where=arm.source,
                hint=hint,
            )
        require_tree(arm, verb)
    if ALGORITHMS.get(verb) is not None and ALGORITHMS[verb].kind == "closed":
        require_loops(arm)
    if verb == "link-accelerations" and arm.groups:
        raise RobolinError(
            f"{verb}: multi-DoF joints have virtual links, which generated code does not support",
            where=arm.source,
            hint="generate frame-motion for each of the frames",
        )
    if verb in ("regressor", "slotine-li-regressor"):
        require_regressor_kernel(arm)
    if verb in ABOUT_A_FRAME:
        arm = at_frame(arm, frame, point)
    fixed: dict[str, Floats] = {}
    if prescribe is not None and verb in PRESCRIBED_VARIANT:
        verb, fixed = PRESCRIBED_VARIANT[verb], {"prescribed": prescribed_joints(arm, prescribe)}
    return ChosenQuestion(verb, arm, ALGORITHMS[algorithm_for(arm, verb, method)], fixed)


def _known_verb(verb: str) -> str:
    return resolve_verb(verb, QUESTIONS, "for generated code")


def root_in(precision: Precision, x: Scalar) -> Scalar:
    """√x of a normal number or zero, correctly rounded.

    Newton's steps come within one ulp.  The exact residual x - y² then decides whether y or a
    neighbour is nearest; a root is never halfway between neighbours.
    """
    within, grown = _between_1_and_4(precision, x)
    y: Scalar = within * (1.0 / 3.0) + 0.7
    for _ in range(5):
        y = 0.5 * (y + within / y)
    y = y + _residual(precision, within, y) / (2.0 * y)
    rest, halfway = _residual(precision, within, y), y * precision.ulp
    y = if_less(halfway, rest, y + precision.ulp, if_less(-halfway, rest, y, y - precision.ulp))
    return if_less(0.0, x, y * grown, x)


def _between_1_and_4(precision: Precision, x: Scalar) -> tuple[Scalar, Scalar]:
    """Scale x by a power of 4; return it with the factor for its root."""
    grown: Scalar = 1.0
    for bits in precision.halvings:
        large, half = 2.0**bits, 2.0 ** (bits // 2)
        grown = if_less(x, large, grown, grown * half)
        x = if_less(x, large, x, x * (1.0 / large))
        grown = if_less(x, 4.0 / large, grown * (1.0 / half), grown)
        x = if_less(x, 4.0 / large, x * large, x)
    return x, grown


def _residual(precision: Precision, x: Scalar, y: Scalar) -> Scalar:
    """x - y², exactly, for y within a few ulps of √x."""
    split = y * (2.0 ** ((precision.digits + 1) // 2) + 1.0)
    high = split - (split - y)
    low = y - high
    square = y * y
    lost = ((high * high - square) + 2.0 * high * low) + low * low
    return (x - square) - lost


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
