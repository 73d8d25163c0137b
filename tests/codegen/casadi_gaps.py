"""Measure errors of CasADi's and robolin's results against references with 50 digits.

    python -m tests.codegen.casadi_gaps [--arms A,B] [--states 60]

Errors are relative to the largest entry of a result, and to the rounding bound of the state: its
condition times the distance of doubles.  It takes a minute; no test runs it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

import robolin
from robolin.checking.verification.digits import ExactNumbers, decimals, exact, fifty_digits
from robolin.codegen.functions import ChosenQuestion, chosen_question, random_states
from robolin.core.arm import Arm
from robolin.core.arrays import AnyArray, Floats
from robolin.dynamics.algebra.trigonometry import DOUBLE
from robolin.engine.run import run_on
from robolin.evaluation.evaluate import evaluate_rows

ARMS = "puma560,ur5,ur10,j2s6s200,panda,iiwa14,xarm7,panda-fingers"
# the results with the largest errors, and the matrix whose inverse they contain
RESULTS = {
    "forward": ("qdd", "mass_matrix"),
    "operational-space": ("operational_inertia", "operational_inertia_inverse"),
}

States = dict[str, Floats]


def in_fifty_digits(question: ChosenQuestion, inputs: States, name: str) -> AnyArray:
    """A result as decimals, states first."""
    columns = {
        each: np.array([ExactNumbers(column) for column in decimals(values.T)], dtype=object)
        for each, values in inputs.items()
    }
    algorithm, count = question.algorithm, len(inputs["q"])
    ran = run_on(question.parameters, algorithm.run, algorithm.gives, columns, exact)
    values = np.asarray(ran.arrays[name], dtype=object)
    results = np.empty((count, *values.shape), dtype=object)
    for index in np.ndindex(values.shape):
        number = values[index]
        results[(slice(None), *index)] = (
            number.value if isinstance(number, ExactNumbers) else Decimal(number)
        )
    return results


def relative_error(values: AnyArray, expected: AnyArray) -> Floats:
    """The largest error of every state relative to its largest entry."""
    errors, sizes = (abs(each).reshape(len(each), -1) for each in (values - expected, expected))
    return np.array([float(e.max() / s.max()) for e, s in zip(errors, sizes, strict=True)])


def gaps(arm: Arm, verb: str, states: int) -> Iterator[tuple[str, Floats, Floats]]:
    """Yield a title, the error of every state, and the condition of each."""
    frame = arm.links[-1].name if verb == "operational-space" else None
    question = chosen_question(arm, verb, frame=frame)
    function = robolin.casadi_function(arm, verb, frame=frame)
    inputs = random_states(arm, question.algorithm.needs, states, DOUBLE)
    results, unanswered = evaluate_rows(question.arm, verb, inputs, engine="python")
    rows = np.flatnonzero(np.asarray(unanswered) == 0)
    inputs = {each: values[rows] for each, values in inputs.items()}
    name, matrix = RESULTS[verb]
    own = results[name][rows]
    by_state = (dict(zip(inputs, each, strict=True)) for each in zip(*inputs.values(), strict=True))
    casadi = np.array([np.array(function(**each)[name]) for each in by_state]).reshape(own.shape)
    inverted = robolin.mass_matrix(arm, inputs["q"]) if verb == "forward" else results[matrix][rows]
    condition = np.linalg.cond(inverted)
    with fifty_digits():
        true = in_fifty_digits(question, inputs, name)
        yield "CasADi from robolin", relative_error(casadi, own), condition
        yield "CasADi from the truth", relative_error(decimals(casadi), true), condition
        yield "robolin from the truth", relative_error(decimals(own), true), condition


def main() -> None:
    parser = argparse.ArgumentParser(prog="tests.codegen.casadi_gaps", description=__doc__)
    parser.add_argument("--arms", default=ARMS)
    parser.add_argument("--states", type=int, default=60)
    args = parser.parse_args()
    for name in args.arms.split(","):
        for verb in RESULTS:
            texts = [
                f"{what} {errors.max():.1e}, {(errors / condition).max() / 2.0**-52:.2g} κε"
                for what, errors, condition in gaps(robolin.load(name), verb, args.states)
            ]
            print(f"{name}, {verb}: {'; '.join(texts)}", flush=True)


if __name__ == "__main__":
    main()
