"""Receding-horizon control: it reaches the goal, respects limits and finds unknown loads."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.control.optimization.receding import Receding
from robolin.core.arm import Arm
from robolin.core.arrays import Floats

GOAL = np.array([0.5, -0.5])
WEIGHTS = {"q": 1e4, "qd": 10.0}


def run(control: Receding, real: Arm, samples: int) -> tuple[Floats, Floats]:
    """Final positions and all torques of the controlled arm, with held torques."""
    q, qd, torques = np.zeros(2), np.zeros(2), []
    for _ in range(samples):
        torques.append(control.step(q, qd))
        after = robolin.simulate(real, q, qd, duration=0.01, dt=0.005, tau=torques[-1])
        q, qd = after.q[-1], after.qd[-1]
    return q, np.array(torques)


def test_reaches_the_goal() -> None:
    """The arm of the model ends at the goal, and a new goal moves it on."""
    arm = robolin.load("two-link")
    control = robolin.receding(arm, GOAL, horizon=0.3, Q=WEIGHTS)
    q, _ = run(control, arm, 150)
    assert np.abs(q - GOAL).max() < 1e-3
    control.set_goal([0.0, 0.0])
    assert np.abs(control.goal).max() == 0.0


@pytest.mark.slow
def test_the_observer_finds_an_unknown_payload() -> None:
    """With an unknown payload, the observer reduces the final error by more than ten."""
    arm, real = robolin.load("two-link"), robolin.load("two-link", payload=("lower", 0.3))
    errors = []
    for observer in (0.0, 0.2):
        control = robolin.receding(arm, GOAL, horizon=0.3, Q=WEIGHTS, observer=observer)
        q, _ = run(control, real, 150)
        errors.append(np.abs(q - GOAL).max())
    assert errors[1] < 0.1 * errors[0]


def test_torques_stay_within_their_limits() -> None:
    """No sample exceeds the effort limits, and two controllers return the same bits."""
    arm = robolin.load("two-link")
    first, again = (
        run(robolin.receding(arm, GOAL, horizon=0.3, Q=WEIGHTS, max_effort=[40.0, 12.0]), arm, 30)
        for _ in range(2)
    )
    assert (np.abs(first[1]).max(axis=0) <= [40.0, 12.0]).all()
    np.testing.assert_array_equal(first[1], again[1])


def test_pose_goal_and_failures() -> None:
    """A pose goal becomes positions; passive joints and invalid states are rejected."""
    arm = robolin.load("two-link")
    control = robolin.receding(arm, robolin.PoseGoal("tip", [1.2, 0.5, 0.0]))
    there = robolin.jacobian(arm, control.goal, frame="tip").position
    np.testing.assert_allclose(there, [1.2, 0.5, 0.0], atol=1e-8)
    with pytest.raises(robolin.RobolinError, match="these joints are passive: shoulder"):
        robolin.receding(robolin.load("acrobot"), [np.pi, 0.0])
    with pytest.raises(robolin.RobolinError, match="must be finite"):
        control.step(np.array([np.nan, 0.0]), np.zeros(2))
    with pytest.raises(robolin.UsageError, match="between 0 and 1"):
        robolin.receding(arm, GOAL, observer=2.0)
