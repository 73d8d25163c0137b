"""Why small bodies at the end of a long arm leave few digits to Algorithm 8.1."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from robolin.checking.verification.digits import (
    ExactNumbers,
    _by_state,
    decimals,
    exact,
    fifty_digits,
)
from robolin.core.arm import Arm, Inertia, Link, Pose
from tests.dynamics.running import run_on
from tests.robots import random_arm, random_states

FINGER = 0.01


def hand_on_arm(reach: float) -> Arm:
    """Two finger joints, bodies and all a hundredth of usual size, on a joint `reach` m inboard."""
    arm = random_arm(41, 3, prismatic=False)
    tip, middle, root = arm.links_tip_to_base
    return replace(arm, links_tip_to_base=(_small(tip, FINGER), _small(middle, reach), root))


def _small(link: Link, offset: float) -> Link:
    """The link shrunk, at a distance along where it was."""
    along = np.array(link.joint.pose.translation)
    position = tuple(offset * along / np.linalg.norm(along))
    body = link.inertia
    return replace(
        link,
        joint=replace(link.joint, pose=Pose(link.joint.pose.rotation, position)),
        inertia=Inertia(
            body.mass * FINGER,
            tuple(FINGER * x for x in body.com),
            tuple(FINGER**3 * x for x in body.rotary),
        ),
    )


def exactly(arm: Arm, name: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    with fifty_digits():
        values = {
            need: np.array([ExactNumbers(column) for column in decimals(value.T)], dtype=object)
            for need, value in inputs.items()
        }
        results = run_on(arm, name, values, exact)
        rows = len(inputs["q"])
        return {each: _by_state(x, rows).astype(float) for each, x in results.items()}


def apart(computed: np.ndarray, true: np.ndarray) -> float:
    """Difference relative to the largest entry of a state, geometric mean over states."""
    axes = tuple(range(1, true.ndim))
    each = np.abs(computed - true).max(axis=axes) / np.abs(true).max(axis=axes)
    return float(np.exp(np.log(each).mean()))


def test_factors_lose_digits_with_the_square_of_the_distance() -> None:
    """Ten times the distance from the base leaves two digits less of the factor I + HφK.

    Inertias are taken about the base, where small bodies have m r² in them; D and G of their own
    joints are what is left of that.  One digit is allowed for what the geometric mean scatters.
    """

    def error(reach: float) -> float:
        arm = hand_on_arm(reach)
        inputs = {"q": random_states(arm, 12).q}
        computed, true = (
            run(arm, "mass-matrix-factor", inputs)["factor"] for run in (run_on, exactly)
        )
        return apart(computed, true)

    near, far = error(1.0), error(10.0)
    assert 10.0 < far / near < 1000.0


@pytest.mark.slow
def test_algorithm_8_1_multiplies_the_error_of_its_factors() -> None:
    """ξ̇ errs by what its true value changes by when ξ changes by the error of the factors.

    So its digits are those of I + HφK less those of the condition of ξ → ξ̇, and no other order of
    its sums brings them back; a factor of 10 is allowed either way.
    """
    arm = hand_on_arm(1.0)
    states = random_states(arm, 12)
    tau = run_on(arm, "inverse", {"q": states.q, "qd": states.qd, "qdd": states.qdd})["tau"]
    inputs = {"q": states.q, "qd": states.qd, "tau": tau}
    start, true_start = (run(arm, "diagonalize-unnormalized", inputs) for run in (run_on, exactly))
    moved = {"q": states.q, "xi": start["xi"], "tau": tau}
    computed, true = (
        run(arm, "forward-diagonalized-unnormalized", moved)["xid"] for run in (run_on, exactly)
    )
    factors = apart(start["factor"], true_start["factor"])
    noise = 1.0 + factors * np.random.default_rng(0).uniform(-1.0, 1.0, states.q.shape)
    nudged = exactly(arm, "forward-diagonalized-unnormalized", {**moved, "xi": start["xi"] * noise})
    assert 0.1 < apart(computed, true) / apart(nudged["xid"], true) < 10.0
