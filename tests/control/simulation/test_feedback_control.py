"""State feedback, PD and computed torque on the nonlinear arm."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from tests.robots import grouped_arm


@pytest.mark.slow
def test_the_acrobot_is_stabilized_upright() -> None:
    """The Acrobot comes to rest upright under its gains, at the cost of the linear model."""
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
    # work accumulates over samples, and so does the energy
    assert motion.energy_drift < 1e-9
    with pytest.raises(
        robolin.UsageError,
        match="sampled control requires gains with a sample time, got gains for continuous time",
    ):
        robolin.lqr(robolin.state_space(arm, 0.0)).sampled_motion([0.0, 0.0], samples=1)
    with pytest.raises(robolin.UsageError, match="samples: must be an integer"):
        regulator.sampled_motion([np.pi, 0.0], samples=0)


def test_torques_stop_at_their_limits() -> None:
    """Torques of a regulator are cut at the effort limits, and this is reported."""
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
    start = robolin.integrate(arm, q, 1e-3 * np.ones(arm.n))
    dt = 0.2 / regulator.poles.frequency.max()
    motion = robolin.simulate(
        arm, start, duration=40 * dt, dt=dt, control=regulator.feedback(), engine="python"
    )
    cost = regulator.motion_cost(motion)
    assert abs(cost.spent + cost.left - cost.predicted) <= 0.01 * cost.predicted


ARM = robolin.load("two-link")
ZERO = np.zeros((2, 4))
WRONG = [
    (
        robolin.FeedbackControl(np.zeros((2, 14)), [0, 0]),
        "K: must have shape (2, 4) for this robot, got (2, 14)",
    ),
    (
        robolin.FeedbackControl(ZERO, [0, 0], actuated=["a", "b"]),
        "actuated joint 'a' of the feedback not found in 'two-link'",
    ),
    (robolin.FeedbackControl(np.nan * ZERO, [0, 0]), "the controller's K must be finite"),
    (robolin.FeedbackControl(ZERO, np.zeros((3, 2))), "q: must have shape (2,), got (3, 2)"),
    (
        robolin.FeedbackControl(ZERO, np.zeros((3, 2)), time=[0, 1]),
        "q: must have one row per time (2), got 3",
    ),
    (
        robolin.FeedbackControl(ZERO, [0, 0], time=[1, 0]),
        "the controller's times must be a one-dimensional array of increasing numbers",
    ),
    (robolin.PDControl([0, 0], kp=-1.0), "kp: must be finite and ≥ 0"),
    (robolin.ComputedTorque([0, 0], kd=np.inf), "kd: must be finite and ≥ 0"),
]


@pytest.mark.parametrize("law, message", WRONG, ids=[row[1] for row in WRONG])
def test_wrong_controllers_are_rejected(law: object, message: str) -> None:
    """Gains of another arm, of the wrong sign or without their times are rejected."""
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.simulate(ARM, 0.0, duration=0.1, control=law)
    assert message in str(caught.value)


OTHERS = [
    (
        robolin.load("two-link", payload=("lower", 0.1)),
        "the gains are for another robot: payload: none there, 0.1 kg on link 'lower' here",
    ),
    (robolin.load("acrobot"), "another robot, 'two-link': arm gravity"),
    (robolin.load("cart-pole"), "the gains are for another robot, 'two-link':"),
    # changes of an arm after loading do not appear in its contract
    (
        replace(ARM, gravity=(0.0, 0.0, 0.0)),
        "control: the gains are for another robot: other gravity",
    ),
]


@pytest.mark.parametrize("other, message", OTHERS, ids=[row[1] for row in OTHERS])
def test_gains_of_another_arm_are_rejected(other: robolin.Arm, message: str) -> None:
    """A regulator accepts its own arm, also loaded again; another arm only on request."""
    model = robolin.state_space(ARM, 0.0)
    sampled = robolin.state_space(ARM, np.zeros((3, 2)))
    for regulator in (robolin.lqr(model), robolin.tvlqr(sampled, dt=0.01)):
        law = regulator.feedback()
        with pytest.raises(robolin.RobolinError) as caught:
            robolin.simulate(other, 0.0, duration=0.01, control=law)
        assert message in str(caught.value)
        assert (
            "compute the gains again, or use feedback(allow_model_mismatch=True)"
            in caught.value.hint
        )
        robolin.simulate(robolin.load("two-link"), 0.0, duration=0.002, control=law)
        if other.joint_names == ARM.joint_names:
            law = regulator.feedback(allow_model_mismatch=True)
            robolin.simulate(other, 0.0, duration=0.002, control=law)


def test_regulators_that_cannot_be_simulated_are_rejected() -> None:
    """Gains of several models, and of states that contain torques, are rejected."""
    model = robolin.state_space(ARM, 0.0)
    for method in ("foh", "tustin"):
        with pytest.raises(robolin.UsageError, match=f"by {method} differ from"):
            robolin.lqr(model.discretize(0.01, method)).feedback()
    message = r"must be a single regulator, got a batch of \(2,\)"
    with pytest.raises(robolin.UsageError, match=message):
        robolin.lqr(robolin.state_space(ARM, np.zeros((2, 2)))).feedback()
    held = robolin.lqr(model.discretize(0.01)).feedback()
    with pytest.raises(
        robolin.UsageError, match=r"^dt: steps of 0\.003 s do not divide the sample time of 0\.01 s"
    ):
        robolin.simulate(ARM, 0.0, duration=0.1, dt=0.003, control=held)
    with pytest.raises(
        robolin.UsageError,
        match=r"sampled control \(zero-order hold\) requires an integrator with fixed steps",
    ):
        robolin.simulate(ARM, 0.0, duration=0.1, rtol=1e-6, control=held)
    # other gains have no running cost, and rows do not contain all samples
    other = robolin.lqr(model.discretize(0.01), 2.0).feedback()
    motion = robolin.simulate(ARM, 0.0, duration=0.1, dt=0.005, every=3, control=other)
    with pytest.raises(
        robolin.UsageError, match="the cost of sampled control requires a row at every sample time"
    ):
        robolin.lqr(model.discretize(0.01)).motion_cost(motion)


def _linear_steps(regulator: robolin.Regulator, x: np.ndarray, count: int) -> np.ndarray:
    """States of the sampled linear loop from x, one after the other."""
    rows = [x]
    for _ in range(count):
        rows.append(regulator.closed_loop.A @ rows[-1])
    return np.array(rows)


@pytest.mark.parametrize("integral", [(), ("elbow/position",)], ids=["plain", "integral"])
def test_held_torques_follow_the_sampled_loop(integral: tuple[str, ...]) -> None:
    """Near its operating point the arm under held torques is at (A - B K)ᵏ x, with integrals."""
    model = robolin.state_space(ARM, [0.3, -0.7], dt=0.02)
    regulator = robolin.lqr(model, {"q": 100.0}, 0.1, integral=integral)
    offset = np.array([1e-4, -2e-4])
    motion = robolin.simulate(
        ARM, model.q + offset, duration=1.0, dt=0.004, every=5, control=regulator.feedback()
    )
    x = np.concatenate([offset, np.zeros(2 + len(integral))])
    expected = _linear_steps(regulator, x, 50)

    # the remaining error is quadratic in the offset
    assert np.abs(motion.q - model.q - expected[:, :2]).max() < 1e-6
    if integral:
        assert motion.integrals is not None
        assert np.abs(motion.integrals - expected[:, 4:]).max() < 1e-7
    # a torque is held until the next sample
    fine = robolin.simulate(
        ARM, model.q + offset, duration=0.1, dt=0.004, control=regulator.feedback()
    )
    torques = fine.tau[:-1].reshape(5, 5, 2)
    assert (torques == torques[:, :1]).all()
    assert (np.diff(torques[:, 0], axis=0) != 0.0).any()


@pytest.mark.slow
@pytest.mark.parametrize("dt", [None, 0.01], ids=["continuous", "sampled"])
def test_integral_action_leaves_no_error(dt: float | None) -> None:
    """A lasting push moves the arm under plain gains for good, and under integrals not at all."""
    model = robolin.state_space(ARM, [0.3, -0.7], dt=dt)
    push = robolin.Push([2.0, 1.0])
    lasting = []
    for integral in ((), ("shoulder/position", "elbow/position")):
        weights = {"q": 100.0, "integral": 1e3} if integral else {"q": 100.0}
        law = robolin.lqr(model, weights, 0.1, integral=integral).feedback()
        motion = robolin.simulate(
            ARM, model.q, duration=4.0, dt=5e-3, every=None, control=law, disturbance=push
        )
        lasting.append(np.abs(motion.q[-1] - model.q).max())
    assert lasting[0] > 1e-2
    assert lasting[1] < 1e-5


def test_the_cost_with_integral_action_equals_its_prediction() -> None:
    """With integrals among the states the motion costs xᵀ P x as well."""
    model = robolin.state_space(ARM, [0.3, -0.7])
    regulator = robolin.lqr(model, {"q": 100.0}, 0.1, integral="elbow/position")
    start = model.q + np.array([1e-3, 0.0])
    motion = robolin.simulate(ARM, start, duration=4.0, dt=4e-3, control=regulator.feedback())
    cost = regulator.motion_cost(motion)
    assert abs(cost.spent + cost.left - cost.predicted) < 1e-3 * cost.predicted
    assert motion.lyapunov is not None
    assert motion.lyapunov[0] == pytest.approx(cost.predicted, rel=1e-12)


def test_pushes_do_work_and_are_no_motors() -> None:
    """A push beyond a motor's limit moves the arm all the same, and its work is accounted for."""
    arm = robolin.load("panda")
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.7])
    most = arm.joints[6].limits.effort
    assert most is not None
    tau = np.zeros(7)
    tau[6] = 2.0 * most
    push = robolin.Push(tau, start=0.01, stop=0.02)
    motion = robolin.simulate(arm, q, duration=0.03, dt=1e-4, hold=True, disturbance=push)
    gained = robolin.forward(arm, motion.q, motion.qd, motion.tau) - motion.qdd
    pushed = (motion.time >= 0.01) & (motion.time < 0.02)

    assert np.abs(motion.tau[:, 6]).max() < most
    assert np.abs(gained[~pushed]).max() < 1e-9
    assert (np.abs(gained[pushed]).max(axis=-1) > 1.0).all()
    # rounding of the step at which it begins and ends aside
    assert motion.energy_drift < 1e-3 * motion.kinetic_energy.max()
