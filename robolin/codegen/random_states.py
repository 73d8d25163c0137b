"""States to try a program at: drawn at random, always the same, and with an answer."""

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


def drawn_states(
    arm: Arm, names: Sequence[str], count: int, precision: Precision
) -> dict[str, Floats]:
    """Positions anywhere in a turn or half a metre, everything else up to 2; always the same.

    They are numbers that the precision has.
    """
    # the one generator whose numbers every version of Python promises to keep
    random = Random(0)
    reach = [pi if joint.turns else 0.5 for joint in arm.joints]
    found: dict[str, Floats] = {}
    kind = np.float64 if precision is DOUBLE else np.float32
    for name in names:
        widths = reach if name == "q" else [2.0] * arm.n
        rows = [[w * (2.0 * random.random() - 1.0) for w in widths] for _ in range(count)]
        found[name] = np.array(rows, dtype=kind).astype(float).reshape(count, arm.n)
    return found


def answered_states(
    question: ChosenQuestion, method: Method, states: int, precision: Precision
) -> tuple[dict[str, Floats], dict[str, Floats]]:
    """States that have an answer, and the answers; if too few have, why the first has none.

    Near a state without an answer, floats have none where doubles still have one.
    """
    given = drawn_states(question.arm, [*question.arguments], 4 * states, precision)
    for name, values in question.fixed.items():
        given[name] = np.tile(values, (4 * states, 1))
    # on arrays: a kernel would have to be compiled first, and gives the same bits
    how: RunOptions = {"method": method, "engine": "python"}
    results, unanswered = evaluate_rows(question.arm, question.verb, given, **how)
    answered = np.asarray(unanswered) == 0
    if precision is not DOUBLE:
        answered &= _known(emulate_float32(question, given))
    fine = np.flatnonzero(answered)[:states]
    if len(fine) < states:
        row = int(np.flatnonzero(~answered)[0])
        error = explain_failure(question.arm, question.verb, given, row, **how)
        raise error or _too_few_in_floats(question)
    given = {name: values[fine] for name, values in given.items()}
    return given, {name: values[fine] for name, values in results.items()}


def _known(results: Mapping[str, Floats]) -> Mask:
    """In which states every number of every result is known."""
    rows = (np.isfinite(values).reshape(len(values), -1).all(axis=1) for values in results.values())
    known: Mask = np.logical_and.reduce(list(rows))
    return known


def _too_few_in_floats(question: ChosenQuestion) -> RobolinError:
    message = f"{question.verb}: in single precision too few states have an answer"
    return RobolinError(message, where=question.arm.source, hint="--real double has them")
