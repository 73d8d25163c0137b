"""State feedback, PD and computed torque on the nonlinear arm."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.robots import grouped_arm


def test_the_acrobot_stands() -> None:
    """Upright under its gains the Acrobot comes to rest, at the cost the linear model says."""
    arm = robolin.load("acrobot")
    model = robolin.state_space(arm, [np.pi, 0.0], passive="shoulder")
    regulator = robolin.lqr(model, [10.0, 10.0, 1.0, 1.0])
    start = [np.pi + 1e-3, 0.0]
    motion = robolin.simulate(arm, start, duration=8.0, dt=5e-3, control=regulator.feedback())
    cost = regulator.motion_cost(motion)

    assert np.abs(motion.q[-1] - model.q).max() < 1e-8
    assert not motion.tau[:, 0].any()
    # the share that the arm is not linear by goes with the start, 1e-3
    assert abs(cost.spent + cost.left - cost.predicted) < 1e-3 * cost.predicted
    assert motion.lyapunov is not None
    assert (np.diff(motion.lyapunov) < 0.0).all()


@pytest.mark.slow
def test_sampled_gains_hold_their_torques() -> None:
    """Under gains of a sampled model, torques stay between samples, and the sum is xᵀ P x."""
    arm = robolin.load("acrobot")
    model = robolin.state_space(arm, [np.pi, 0.0], passive="shoulder", dt=0.05)
    regulator = robolin.lqr(model, [10.0, 10.0, 1.0, 1.0])
    motion = regulator.sampled_motion([np.pi + 1e-3, 0.0], samples=140, steps=5)
    cost = regulator.motion_cost(motion)

    assert np.allclose(motion.time, 0.05 * np.arange(141))
    assert np.abs(motion.q[-1] - model.q).max() < 1e-7
    assert abs(cost.spent + cost.left - cost.predicted) < 1e-3 * cost.predicted
    # work goes on from sample to sample, and so does the energy it pays for
    assert motion.energy_drift < 1e-9
    with pytest.raises(robolin.UsageError, match="not for torques held between samples"):
        robolin.lqr(robolin.state_space(arm, 0.0)).sampled_motion([0.0, 0.0], samples=1)
    with pytest.raises(robolin.UsageError, match="samples is 0"):
        regulator.sampled_motion([np.pi, 0.0], samples=0)


def test_torques_stop_at_their_limits() -> None:
    """A regulator that asks for more than a motor gives is cut, and told to be."""
    arm = robolin.load("panda")
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.7])
    law = robolin.lqr(robolin.state_space(arm, q), {"q": 1e6}).feedback()
    motion = robolin.simulate(arm, q + 0.2, duration=0.02, dt=1e-3, control=law)
    assert motion.saturated[0].any()
    most = np.array([joint.limits.effort for joint in arm.joints])
    assert (np.abs(motion.tau) <= most).all()


def test_computed_torque_decouples_the_joints() -> None:
    """Every joint follows ë + kd ė + kp e = 0 by itself, here e = (1 + w t) exp(-w t)."""
    arm = robolin.load("puma560")
    goal, start = np.linspace(0.1, 0.6, 6), np.linspace(0.5, -0.5, 6)
    w = np.linspace(4.0, 9.0, 6)
    law = robolin.ComputedTorque(goal, kp=w**2, kd=2.0 * w)
    motion = robolin.simulate(arm, start, duration=1.0, dt=2e-3, every=100, control=law)
    t = motion.time[:, None]
    true = goal + (start - goal) * (1.0 + w * t) * np.exp(-w * t)
    # the error of a step of order 4, (w dt)⁴ / 120
    assert np.abs(motion.q - true).max() < 1e-8


def test_computed_torque_follows_a_motion() -> None:
    """On a motion given by rows the arm stays as near as straight lines between them are."""
    arm = robolin.load("two-link")
    time = np.linspace(0.0, 1.0, 201)
    q = np.sin(time)[:, None] * [1.0, -0.5]
    qd = np.cos(time)[:, None] * [1.0, -0.5]
    law = robolin.ComputedTorque(q, qd, -q, time=time)
    motion = robolin.simulate(arm, q[0], qd[0], duration=1.0, dt=5e-3, control=law)
    assert np.abs(motion.q - q).max() < 1e-5


@pytest.mark.parametrize("hold", [True, False])
def test_pd_control_settles_where_its_springs_do(hold: bool) -> None:
    """kp (q₀ - q) carries what gravity is not made up for; with `hold`, that is nothing."""
    arm = robolin.load("two-link")
    goal = np.array([0.5, -0.4])
    law = robolin.PDControl(goal, kp=200.0, kd=60.0, hold=hold)
    motion = robolin.simulate(arm, goal + 0.1, duration=4.0, dt=2e-3, every=None, control=law)
    weight = 0.0 if hold else robolin.inverse(arm, motion.q[-1])
    assert np.allclose(200.0 * (goal - motion.q[-1]), weight, atol=1e-4)


@pytest.mark.slow
def test_floating_bases_are_regulated_along_twists() -> None:
    """The state of a floating arm is its twist from the operating point, and comes to rest."""
    arm = grouped_arm(5, ["floating", "revolute"], armature=True)
    q = np.random.default_rng(1).uniform(-0.5, 0.5, arm.n)
    regulator = robolin.lqr(robolin.state_space(arm, q), {"q": 10.0})
    start = robolin.advanced(arm, q, 1e-3 * np.ones(arm.n))
    dt = 0.2 / regulator.poles.frequency.max()
    motion = robolin.simulate(
        arm, start, duration=100 * dt, dt=dt, control=regulator.feedback(), engine="python"
    )
    cost = regulator.motion_cost(motion)
    assert abs(cost.spent + cost.left - cost.predicted) <= 0.01 * cost.predicted


ARM = robolin.load("two-link")
ZERO = np.zeros((2, 4))
WRONG = [
    (robolin.FeedbackControl(np.zeros((2, 14)), [0, 0]), "K has the shape (2, 14)"),
    (robolin.FeedbackControl(ZERO, [0, 0], actuated=["a", "b"]), "no joint 'a' to feed back to"),
    (robolin.FeedbackControl(np.nan * ZERO, [0, 0]), "K of the controller is not finite"),
    (robolin.FeedbackControl(ZERO, np.zeros((3, 2))), "q has the shape (3, 2)"),
    (robolin.FeedbackControl(ZERO, np.zeros((3, 2)), time=[0, 1]), "q has 3 rows, time has 2"),
    (robolin.FeedbackControl(ZERO, [0, 0], time=[1, 0]), "not a row of rising numbers"),
    (robolin.PDControl([0, 0], kp=-1.0), "kp is negative"),
    (robolin.ComputedTorque([0, 0], kd=np.inf), "kd is negative or not finite"),
]


@pytest.mark.parametrize("law, message", WRONG, ids=[row[1] for row in WRONG])
def test_wrong_controllers_are_told(law: object, message: str) -> None:
    """Gains of another arm, of the wrong sign or without their times are refused."""
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.simulate(ARM, 0.0, duration=0.1, control=law)
    assert message in str(caught.value)


def test_regulators_that_cannot_be_simulated_are_told() -> None:
    """Integrals and gains for held torques are refused, because the arm would not obey them."""
    model = robolin.state_space(ARM, 0.0)
    with pytest.raises(robolin.UsageError, match="integral action has states of its own"):
        robolin.lqr(model, integral="elbow/position").feedback()
    with pytest.raises(robolin.UsageError, match="held between samples"):
        robolin.lqr(model.discretize(0.01)).feedback()
    with pytest.raises(robolin.UsageError, match="there are"):
        robolin.lqr(robolin.state_space(ARM, np.zeros((2, 2)))).feedback()
