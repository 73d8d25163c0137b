"""Closed loops: the same result for each state with every engine."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

import robolin
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.run import run_on
from tests.engine.on_lanes import on_lanes, parameters
from tests.evaluation.loops.closed_arms import Closed, sample

CLOSED = [name for name, algorithm in ALGORITHMS.items() if algorithm.kind == "closed"]
STATES = 37


def linkage(name: str) -> Closed:
    """A bundled linkage at the state of its description."""
    arm = robolin.load(name)
    still = np.zeros((1, arm.n))
    return Closed(arm, still, still, still)


# a chain, a fork with mimic joints, and a linkage with redundant equations
ARMS = {each.arm.name: each for each in (sample()[0], sample()[6], linkage("four-bar"))}


def bits(results: Mapping[str, np.ndarray]) -> dict[str, bytes]:
    return {name: np.ascontiguousarray(array).tobytes() for name, array in results.items()}


@pytest.mark.parametrize(
    ("name", "arm_name"),
    [
        pytest.param(name, each, marks=() if each == "four-bar" else pytest.mark.slow)
        for name in CLOSED
        for each, closed in ARMS.items()
        if not (ALGORITHMS[name].independent and closed.arm.has_mimic)
    ],
)
def test_every_way_of_running_gives_the_same_bits(name: str, arm_name: str) -> None:
    """Floats, NumPy and lanes agree to the bit, on the closures and off them."""
    closed, algorithm = ARMS[arm_name], ALGORITHMS[name]
    rng = np.random.default_rng(len(closed.arm.links))
    inputs = {need: rng.uniform(-1.0, 1.0, (STATES, closed.arm.n)) for need in algorithm.needs}
    inputs["q"] = 0.1 * inputs["q"] + closed.q[0]
    inputs["q"][::2] = closed.q[0]
    expected, short, _ = run_on(parameters(closed.arm), algorithm.run, algorithm.gives, inputs)
    assert not short

    for row in range(0, STATES, 9):
        state = {need: values[row] for need, values in inputs.items()}
        results = run_on(parameters(closed.arm), algorithm.run, algorithm.gives, state)[0]
        assert bits(results) == bits({each: array[row] for each, array in expected.items()}), row
    results, status = on_lanes(closed.arm, name, algorithm, inputs)
    assert bits(results) == bits(expected)
    assert not status.any()
