"""Second derivatives of the mass matrix, against complex steps of the first ones."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.checking.verification.check_context import complex_step
from robolin.core.arm import Arm
from robolin.evaluation.evaluate import evaluate
from tests.dynamics.running import gap
from tests.robots import (
    arm_name,
    grouped_arm,
    random_arm,
    random_states,
    sample_arms,
    with_follower,
    without_mimic,
)

# multi-DoF joints in a row, on branches, and next to a mimic joint
GROUPED = [
    grouped_arm(0, ["planar", "spherical"]),
    grouped_arm(6, ["spherical", "revolute", "spherical", "prismatic"], True, armature=True),
    with_follower(grouped_arm(7, ["revolute", "spherical", "planar", "revolute"])),
]
ARMS = [
    *without_mimic(sample_arms(16)),
    random_arm(71, 9, tree=True),
    with_follower(random_arm(72, 5, tree=True)),
    with_follower(random_arm(73, 4)),
    robolin.load("panda"),
    robolin.load("panda-fingers"),
    *GROUPED,
]


def second(arm: Arm, q: np.ndarray, engine: str = "auto") -> np.ndarray:
    return evaluate(arm, "mass-matrix-second-derivative", {"q": q}, engine=engine)[
        "d2mass_matrix_dq2"
    ]


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_it_is_the_derivative_of_the_derivative(arm: Arm) -> None:
    """∂²𝓜/∂q² is ∂(∂𝓜/∂q)/∂q to rounding, 1e-13 of its largest entry, on every kind of arm.

    Where the order of two small motions of a body matters, it is the mean of both.
    """
    q = random_states(arm, 2).q
    true = complex_step(arm, "mass-matrix-derivative", {"q": q}, "q")["dmass_matrix_dq"]
    other = true.swapaxes(3, 4)

    assert (gap(true, other) > 1e-3) == any(group.kind == "spherical" for group in arm.groups)
    assert gap(second(arm, q), 0.5 * (true + other)) <= 1e-13


@pytest.mark.parametrize("arm", GROUPED, ids=arm_name)
def test_it_is_the_second_order_of_small_motions(arm: Arm) -> None:
    """𝓜(q ⊕ δ) = 𝓜 + ∂𝓜/∂q δ + ½ ∂²𝓜/∂q² δ δ, and so on.

    Second differences with h = 1e-3 err by h² of the fourth order and 1e-16/h²: 1e-5.
    """
    h, s = 1e-3, random_states(arm, 2)
    ahead, here, behind = (
        robolin.mass_matrix(arm, robolin.integrate(arm, s.q, i * h * s.dq)) for i in (1, 0, -1)
    )
    change = np.einsum("rijkl,rk,rl->rij", second(arm, s.q), s.dq, s.dq)

    assert gap((ahead - 2.0 * here + behind) / h**2, change) <= 1e-5


@pytest.mark.parametrize("arm", ARMS[6:], ids=arm_name)
def test_it_is_symmetric_in_both_pairs(arm: Arm) -> None:
    """The entries of 𝓜 and the order of the two derivatives can be exchanged."""
    second_derivative = second(arm, random_states(arm, 2).q)

    np.testing.assert_array_equal(second_derivative, second_derivative.swapaxes(1, 2))
    np.testing.assert_array_equal(second_derivative, second_derivative.swapaxes(3, 4))
