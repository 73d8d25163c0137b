"""How much single precision loses: generated code in floats beside robolin, at 10⁴ states.

    python -m tests.generating.single_precision [--arms A,B] [--layouts unrolled,loops]

No test runs it; `test_same_bits_in_c` does the same for fewer states, in C.
"""

from __future__ import annotations

import argparse
import ctypes
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np

import robolin
from robolin.arm import Arm
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.evaluation.evaluate import evaluate
from robolin.generating.c_test_file import LARGEST_ERROR
from robolin.generating.drawn_states import drawn_states
from robolin.generating.own_functions import PRECISIONS
from robolin.generating.single_precision import largest_error_of
from tests.generating.compilers import GCC

VERBS = ("inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward")


class Errors(NamedTuple):
    """The largest error, beside a result's largest entry in that state, and in any state."""

    there: float
    anywhere: float


def largest_errors(arm: Arm, layout: str, states: int, folder: Path) -> dict[str, Errors]:
    """Of every verb how far it is off."""
    robolin.generate(arm, VERBS, folder, real="float", layout=layout, states=1, prefix="arm")
    GCC.compile(folder, "arm.c", into="lib.so", flags=("-shared", "-fPIC", "-O1"))
    library = ctypes.CDLL(str(folder / "lib.so"))
    return {verb: _largest_error(arm, verb, library, states) for verb in VERBS}


def _largest_error(arm: Arm, verb: str, library: ctypes.CDLL, states: int) -> Errors:
    given = drawn_states(arm, ALGORITHMS[verb].needs, states, PRECISIONS["float"])
    expected = evaluate(arm, verb, given, engine="compiled")
    inputs = [values.astype(np.float32) for values in given.values()]
    found = [np.empty(values.shape, np.float32) for values in expected.values()]
    function = getattr(library, f"arm_{verb.replace('-', '_')}")
    for row in range(states):
        places = (ctypes.c_void_p(each[row].ctypes.data) for each in (*inputs, *found))
        assert function(*places) == 0
    pairs = list(zip(found, expected.values(), strict=True))
    anywhere = (np.abs(f - e).max() / np.abs(e).max() for f, e in pairs)
    return Errors(max(largest_error_of(*pair) for pair in pairs), float(max(anywhere)))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests.generating.single_precision", description=__doc__)
    parser.add_argument("--arms", default="panda")
    parser.add_argument("--layouts", default="unrolled,loops")
    parser.add_argument("--states", type=int, default=10_000)
    asked = parser.parse_args()
    worst = 0.0
    for name in asked.arms.split(","):
        for layout in asked.layouts.split(","):
            with tempfile.TemporaryDirectory() as place:
                errors = largest_errors(
                    robolin.load(name), layout, asked.states, Path(place) / "made"
                )
            for verb, error in errors.items():
                told = f"{error.there:.2g} of a state's largest entry, {error.anywhere:.2g} of all"
                print(f"{name}, {layout}, {verb}: {asked.states} states, off by {told}", flush=True)
            worst = max(worst, *(error.there for error in errors.values()))
    return int(not worst <= LARGEST_ERROR)


if __name__ == "__main__":
    raise SystemExit(main())
