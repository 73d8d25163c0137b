"""Second derivatives of the mass matrix, against complex steps of the first ones."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.arm import Arm
from robolin.evaluation.evaluate import evaluate
from tests.dynamics.running import complex_step, gap
from tests.robots import independent, named, random_arm, random_states, sample_arms, with_follower

ARMS = [
    *independent(sample_arms(16)),
    random_arm(71, 9, tree=True),
    with_follower(random_arm(72, 5, tree=True)),
    with_follower(random_arm(73, 4)),
    robolin.load("panda"),
    robolin.load("panda-fingers"),
]


def second(arm: Arm, q: np.ndarray, engine: str = "auto") -> np.ndarray:
    return evaluate(arm, "mass-matrix-second-derivative", {"q": q}, engine=engine)[
        "d2mass_matrix_dq2"
    ]


@pytest.mark.parametrize("arm", ARMS, ids=named)
def test_it_is_the_derivative_of_the_derivative(arm: Arm) -> None:
    """∂²𝓜/∂q² is ∂(∂𝓜/∂q)/∂q to rounding, 1e-13 of its largest entry, on every kind of arm."""
    q = random_states(arm, 4).q
    true = complex_step(arm, "mass-matrix-derivative", {"q": q}, "q")["dmass_matrix_dq"]

    assert gap(second(arm, q), true) <= 1e-13


@pytest.mark.parametrize("arm", ARMS[6:], ids=named)
def test_it_is_symmetric_in_both_pairs(arm: Arm) -> None:
    """Neither the entries of 𝓜 nor the order of two derivatives can be told apart."""
    found = second(arm, random_states(arm, 4).q)

    np.testing.assert_array_equal(found, found.swapaxes(1, 2))
    np.testing.assert_array_equal(found, found.swapaxes(3, 4))
