"""Measure the error of single precision: generated code in floats against robolin, 10⁴ states.

    python -m tests.codegen.single_precision [--arms A,B] [--layouts unrolled,loops] [--verbs V]

`--verbs all` takes every verb that the arm supports.  No test runs it;
`test_same_bits_in_c` does the same for fewer states, in C.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

import robolin
from robolin.codegen.c_files import LARGEST_ERROR
from robolin.codegen.functions import chosen_question, largest_error_of, random_states
from robolin.core.arm import Arm
from robolin.dynamics.algebra.trigonometry import PRECISIONS
from robolin.evaluation.evaluate import evaluate_rows
from robolin.evaluation.frames import ABOUT_A_FRAME
from tests.codegen.__main__ import query_dict, supported_verbs
from tests.codegen.compilers import GCC

VERBS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")


class Errors(NamedTuple):
    """Largest error of a result and its name.

    there:    relative to the largest entry in the same state
    anywhere: of any result, relative to its largest entry in any state
    """

    result: str
    there: float
    anywhere: float
    states: int

    def __str__(self) -> str:
        beside = f"{self.there:.2g} of a state's largest entry, {self.anywhere:.2g} of all"
        return f"{self.states} states, off by {beside} ({self.result} first)"


def largest_errors(
    arm: Arm, verbs: Sequence[str], layout: str, states: int, folder: Path
) -> Iterator[tuple[str, Errors]]:
    """Yield the result with the largest relative error for every verb."""
    frame = None if ABOUT_A_FRAME.isdisjoint(verbs) else arm.links[-1].name
    options = {"real": "float", "layout": layout, "states": 1, "prefix": "arm", "frame": frame}
    robolin.generate(arm, verbs, folder, **options)
    GCC.compile(folder, "arm.c", into="lib.so", flags=("-shared", "-fPIC", "-O1"))
    library = ctypes.CDLL(str(folder / "lib.so"))
    for verb in verbs:
        errors = list(_errors(arm, verb, frame, library, states))
        worst = max(errors, key=lambda each: each.there)
        yield verb, worst._replace(anywhere=max(each.anywhere for each in errors))


def _errors(
    arm: Arm, verb: str, frame: str | None, library: ctypes.CDLL, states: int
) -> Iterator[Errors]:
    """Yield the error of every result, in the states where both have a result."""
    question = chosen_question(arm, verb, frame=frame)
    doubles = random_states(arm, question.algorithm.needs, states, PRECISIONS["float"])
    expected, unanswered = evaluate_rows(question.arm, verb, doubles, engine="compiled")
    inputs = [values.astype(np.float32) for values in doubles.values()]
    expected = {name: values.reshape(states, -1) for name, values in expected.items()}
    computed = {name: np.empty(values.shape, np.float32) for name, values in expected.items()}
    function = getattr(library, f"arm_{verb.replace('-', '_')}")
    status = np.empty(states)
    for row in range(states):
        places = (ctypes.c_void_p(each[row].ctypes.data) for each in (*inputs, *computed.values()))
        status[row] = function(*places)
    both = (status == 0) & (np.asarray(unanswered) == 0)
    for name, values in expected.items():
        pair = computed[name][both], values[both]
        # all states together: relative to the largest entry of any state
        anywhere = largest_error_of(*(each.reshape(1, -1) for each in pair))
        yield Errors(name, largest_error_of(*pair), anywhere, int(both.sum()))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.codegen.single_precision", description=__doc__)
    parser.add_argument("--arms", default="panda")
    parser.add_argument("--layouts", default="unrolled,loops")
    parser.add_argument("--verbs", default=",".join(VERBS))
    parser.add_argument("--states", type=int, default=10_000)
    args = parser.parse_args()
    worst = 0.0
    for title, arm in (each for name in args.arms.split(",") for each in query_dict(name)):
        verbs = supported_verbs(arm, "float") if args.verbs == "all" else args.verbs.split(",")
        for layout in args.layouts.split(","):
            with tempfile.TemporaryDirectory() as temporary:
                folder = Path(temporary) / "made"
                for verb, error in largest_errors(arm, verbs, layout, args.states, folder):
                    print(f"{title}, {layout}, {verb}: {error}", flush=True)
                    worst = max(worst, error.there)
    return int(not worst <= LARGEST_ERROR)


if __name__ == "__main__":
    raise SystemExit(main())
