"""Correct digits: over all states, relative to the largest entry, with the number of states."""

from __future__ import annotations

from functools import lru_cache

import mpmath
import numpy as np
import pytest

import robolin
from robolin.checking.verification.check_context import CheckContext
from robolin.checking.verification.checks import Check, RightDigits
from robolin.checking.verification.digits import digits_of
from robolin.checking.verification.verify import checked_states
from robolin.core.arm import Arm, Inertia, Joint, Link, Pose
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine import run
from robolin.engine.parameters import parameters_of
from tests.robots import random_arm

STATES = 6


def subject(arm: Arm, states: int = STATES) -> CheckContext:
    return CheckContext(arm, checked_states(arm, states, 0))


def digits_by_array(on: CheckContext, name: str) -> dict[str, RightDigits]:
    (check,) = digits_of(on, [name])
    return {each.array: each for each in check.digits}


@lru_cache(maxsize=1)
def small() -> Arm:
    return random_arm(3, 3, prismatic=False)


@pytest.mark.parametrize("state", range(STATES))
def test_digits_are_those_of_the_worst_state(state: int) -> None:
    """The digits are those of the state with the largest error, for any position."""
    on = subject(small())
    on.result("mass-matrix", "mass_matrix")[state] *= 1.0 + 1e-8
    accuracy = digits_by_array(on, "mass-matrix")["mass_matrix"]

    assert accuracy.digits == pytest.approx(8.0, abs=0.1)
    assert (accuracy.state, accuracy.solved, accuracy.states) == (state, STATES, STATES)


def test_states_without_a_result_are_counted() -> None:
    """Three states without a result leave three with one, whose digits are reported."""
    on = subject(small())
    on.result("mass-matrix", "mass_matrix")[[0, 2, 5], 0, 0] = np.nan
    accuracy = digits_by_array(on, "mass-matrix")["mass_matrix"]

    assert accuracy.solved == 3
    assert accuracy.digits is not None
    assert accuracy.digits > 14.0
    assert str(accuracy) == f"mass_matrix {accuracy.digits:.1f} (3 of 6 states)"


def test_results_of_one_algorithm_are_counted_each_for_itself() -> None:
    """Where the inertia at a frame does not exist in some poses, its inverse still does."""
    digits = digits_by_array(subject(robolin.load("ur5"), 20), "operational-space")
    assert digits["operational_inertia"].solved == 17
    assert digits["operational_inertia_inverse"].solved == 20


def test_arrays_without_any_result_are_reported() -> None:
    """Two joints cannot move a frame in six directions; other arrays are still reported."""
    digits = digits_by_array(subject(robolin.load("two-link"), 3), "operational-space")
    assert digits["operational_inertia"] == RightDigits(
        "operational_inertia", None, None, 0.0, 0, 3
    )
    assert digits["free_acceleration"].solved == 3


def wheels(apart: float) -> Arm:
    """Two light wheels far apart: their inertia about the middle is not that about their axes."""
    body = Inertia(5.0, (0.01, 0.0, 0.0), (0.02, 0.0, 0.0, 0.02, 0.0, 0.03))
    links = []
    for k, x in ((1, apart / 2.0), (2, -apart / 2.0)):
        joint = Joint(f"wheel{k}", "continuous", Pose(translation=(x, 0.0, 0.0)), (0.0, 0.0, 1.0))
        links.append(Link(f"link{k}", joint, 3, body))
    return Arm("wheels", tuple(links), {}, ("wheel1", "wheel2"))


def test_the_yardstick_is_the_largest_entry() -> None:
    """Digits lost by cancellation are lost: mpmath counts as many, and no terms are pardoned."""
    on = subject(wheels(100.0))
    accuracy = digits_by_array(on, "mass-matrix")["mass_matrix"]
    entry, fewest = ALGORITHMS["mass-matrix"], 16.0
    with mpmath.workdps(60):
        for state in range(STATES):
            q = np.array([mpmath.mpf(x) for x in on.q[state].tolist()])
            true = run.run_on(parameters_of(on.arm), entry.run, entry.gives, {"q": q}, mpmath.mpf)
            M = true.arrays["mass_matrix"]
            gap = abs(on.result("mass-matrix", "mass_matrix")[state] - M).max()
            fewest = min(fewest, float(-mpmath.log10(gap / abs(M).max())))
    assert accuracy.digits == pytest.approx(fewest, abs=1e-6)
    assert fewest < 12.0


def test_a_result_that_is_nothing_has_no_digits() -> None:
    """Wheels feel no Coriolis forces; what rounding leaves of them is not counted as digits."""
    on = subject(wheels(10.0))
    on.result("coriolis-matrix", "coriolis_matrix")[0, 0, 1] = 1e-18
    accuracy = digits_by_array(on, "coriolis-matrix")["coriolis_matrix"]
    assert accuracy.digits is None
    assert accuracy.solved == STATES


def test_states_of_a_subset_are_renumbered() -> None:
    """Digits of the states that could be closed have the numbers of the random states."""
    one = RightDigits("lam", 12.0, 1, 3.0, 2, 2)
    check = Check("digits", "forward-closed", "passed", 0.0, 1.0, "loops", 0, digits=(one,))
    renumbered = check.renumbered([1, 4], 5)
    assert renumbered.state == 1
    assert renumbered.digits == (RightDigits("lam", 12.0, 4, 3.0, 2, 5),)
