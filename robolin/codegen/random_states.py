"""Reproducible random test states for which a program has a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import pi
from random import Random

import numpy as np

from robolin.codegen.emulate_float32 import emulate_float32
from robolin.codegen.functions import DOUBLE, ChosenQuestion, Precision
from robolin.core.arm import Arm
from robolin.core.arrays import Floats, Mask
from robolin.errors import RobolinError
from robolin.evaluation.evaluate import RunOptions, evaluate_rows, explain_failure
from robolin.evaluation.methods import Method


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
    answered = np.asarray(unanswered) == 0
    if precision is not DOUBLE:
        answered &= _known(emulate_float32(question, inputs))
    fine = np.flatnonzero(answered)[:states]
    if len(fine) < states:
        row = int(np.flatnonzero(~answered)[0])
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
