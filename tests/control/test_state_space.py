"""A, B, C and D are the derivatives of the nonlinear arm, stored with their operating point."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names
from tests.control.stepping import stepped_outputs
from tests.robots import TOOL, arm_name, grouped_arm, random_arm, random_states, with_follower

# both sides use the mass matrix and its inverse once more than derivatives of torque do
ROUNDING = 1e-12

BUNDLED = [robolin.load(name, open_loops=True) for name in bundled_names()]
RANDOM = [
    random_arm(61, 5, armature=True, damping=True, friction_velocity=0.4),
    with_follower(random_arm(62, 6, True, damping=True)),
]


def last_frame(arm: Arm) -> str:
    return TOOL if TOOL in arm.frames else list(arm.frames)[-1]


@pytest.mark.parametrize("reference", ["world", "frame"])
@pytest.mark.parametrize("arm", BUNDLED + RANDOM, ids=arm_name)
def test_models_are_complex_steps(arm: Arm, reference: str) -> None:
    """A, B, and C, D of every output agree with complex steps of the nonlinear arm."""
    s, n, frame = random_states(arm, 1), arm.n, last_frame(arm)
    q, qd, qdd = s.q[0], s.qd[0], s.qdd[0]
    spatial = [f"frame:{frame}/{word}" for word in ("displacement", "velocity", "acceleration")]
    outputs = ["q", "qd", "qdd", "tau", *spatial]
    options = {"outputs": outputs, "reference": reference, "actuated": "all"}
    model = robolin.state_space(arm, q, qd, qdd, **options)
    state = {"q": model.q, "qd": model.qd, "tau": model.tau}
    true = stepped_outputs(arm, state, frame, reference)

    C = np.concatenate([np.concatenate(true[name][:2], axis=1) for name in true_order(true)])
    D = np.concatenate([true[name][2] for name in true_order(true)])
    A = np.block([[np.zeros((n, n)), np.eye(n)], [true["qdd"][0], true["qdd"][1]]])
    B = np.concatenate([np.zeros((n, n)), true["qdd"][2]])
    for computed, expected in ((model.A, A), (model.B, B), (model.C, C), (model.D, D)):
        assert np.abs(computed - expected).max() <= ROUNDING * np.abs(expected).max()


def true_order(true: dict[str, object]) -> list[str]:
    return ["q", "qd", "qdd", "tau", "displacement", "velocity", "acceleration"]


def test_models_of_floating_arms_predict_perturbations() -> None:
    """With multi-DoF joints, ẋ = A x is the growth of a perturbation of a moving arm."""
    arm = grouped_arm(5, ["floating", "revolute", "revolute"], armature=True)
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-0.8, 0.8, (2, arm.n))
    model = robolin.state_space(arm, q, qd)
    h, direction = 1e-6, rng.normal(size=2 * arm.n)

    # central differences of the flow over a short time: their errors are of order h² and t²
    t, ends = 1e-3, []
    for sign in (1.0, -1.0):
        x = sign * h * direction
        motion = robolin.simulate(
            arm, robolin.integrate(arm, q, x[: arm.n]), qd + x[arm.n :],
            duration=t, dt=t / 4, tau=model.tau,
        )  # fmt: skip
        ends.append((motion.q[-1], motion.qd[-1]))
    gap = robolin.difference(arm, ends[1][0], ends[0][0])
    grown = np.concatenate([gap, ends[0][1] - ends[1][1]]) / (2.0 * h)
    rate = (grown - direction) / t
    # over the time t the rate itself changes by about t |A|²
    assert np.abs(rate - model.A @ direction).max() < 2.0 * t * np.linalg.norm(model.A, 2) ** 2

    assert np.array_equal(model.A[: arm.n, : arm.n], robolin.kinematic_block(arm, qd))


def test_the_operating_point_goes_along() -> None:
    """q, q̇, q̈ and τ are stored, the drift is [q̇; q̈], and τ is the one that keeps q̈."""
    arm = robolin.load("panda")
    s = random_states(arm, 4)
    model = robolin.state_space(arm, s.q, s.qd, s.qdd)

    assert np.array_equal(model.q, s.q)
    assert np.array_equal(model.drift, np.concatenate([s.qd, s.qdd], axis=-1))
    assert np.array_equal(model.tau, robolin.inverse(arm, s.q, s.qd, s.qdd))
    assert not robolin.state_space(arm, s.q).drift.any()
    assert np.array_equal(model[2].A, robolin.state_space(arm, s.q[2], s.qd[2], s.qdd[2]).A)


def test_models_of_a_batch_are_chosen_as_arrays_are() -> None:
    """An index, a slice or an ellipsis picks the same models from every array."""
    arm = robolin.load("two-link")
    q = np.random.default_rng(0).uniform(-1.0, 1.0, (2, 3, 2))
    model = robolin.state_space(arm, q)
    for index in ((1, 2), 1, (..., 0), (slice(None), 1)):
        assert np.array_equal(
            model[index].A, model.A[index] if index != (..., 0) else model.A[:, 0]
        )
        assert np.array_equal(model[index].q, q[index] if index != (..., 0) else q[:, 0])
    assert len(list(model)) == 2
    with pytest.raises(robolin.UsageError, match="the model is not a batch, so it has no index"):
        model[0, 0][0]


def test_torques_that_are_given_are_kept() -> None:
    """With torques given, q̈ is what the arm does under them."""
    arm = robolin.load("two-link")
    model = robolin.state_space(arm, [0.3, -0.7], [0.1, 0.2], tau=[1.0, 2.0])
    assert np.array_equal(model.tau, [1.0, 2.0])
    qdd = robolin.forward(arm, np.array([0.3, -0.7]), np.array([0.1, 0.2]), np.array([1.0, 2.0]))
    assert np.allclose(model.qdd, qdd, rtol=1e-14)


def test_everything_has_a_name_and_a_unit() -> None:
    """States, inputs and outputs are named after joints and frames, each with its unit."""
    arm = robolin.load("cart-pole")
    model = robolin.state_space(arm, 0.0, actuated="slide", outputs=["pivot/position", "tip/vx"])
    assert model.states == ("slide/position", "pivot/position", "slide/velocity", "pivot/velocity")
    assert model.inputs == ("slide/effort",)
    assert model.outputs == ("pivot/position", "tip/vx")
    units = {"slide/velocity": "m/s", "pivot/position": "rad", "slide/effort": "N"}
    assert {name: model.units[name] for name in units} == units
    assert model.units["tip/vx"] == "m/s"
    assert {"A", "q", "tau", "states", "input_units", "dt"} <= set(model.arrays())


WRONG = [
    ({"actuated": ["elbo"]}, "actuated: joint 'elbo' not found", "did you mean 'elbow'?"),
    ({"passive": "wrist"}, "passive: joint 'wrist' not found", ""),
    (
        {"actuated": "elbow", "passive": "elbow"},
        "passive: actuated and passive cannot be combined",
        "",
    ),
    ({"passive": ["shoulder", "elbow"]}, "actuated: no joint is actuated", ""),
    (
        {"passive": "shoulder"},
        "acrobot: joint 'shoulder' is passive, but equilibrium requires an effort of 20.64 N·m",
        "use trim (--trim) to find an equilibrium nearby, or --actuated all",
    ),
    (
        {"tau": "rest"},
        "tau: must be torques or 'hold', got 'rest'",
        "pass torques, or 'hold' for the torques that produce qdd",
    ),
    ({"tau": 0.0, "qdd": 1.0}, "tau and qdd cannot be combined", ""),
    (
        {"tau": [1.0, 0.0], "actuated": "elbow"},
        "acrobot: joint 'shoulder' is passive, but equilibrium requires an effort of 1 N·m",
        "",
    ),
    ({"outputs": []}, "pass q, qd, or a frame", ""),
    ({"outputs": ["q", "elbow/position"]}, "outputs: 'elbow/position' is given twice", ""),
    ({"outputs": "elbow/speed"}, "outputs: 'elbow' has no 'speed'", "position, velocity"),
    ({"outputs": "elbow"}, "outputs: 'elbow' requires a quantity", "position, velocity"),
    ({"outputs": "tipp"}, "outputs: joint or frame 'tipp' not found", "did you mean 'tip'?"),
    ({"outputs": "tip/speed"}, "outputs: 'tip' has no 'speed'", "displacement"),
    ({"reference": "tip"}, "reference: must be 'world' or 'frame', got 'tip'", ""),
    ({"dt": 0.0}, "dt: must be > 0, got 0.0", "a time in s"),
    ({"dt": float("nan")}, "dt: must be > 0, got nan", "a time in s"),
    (
        {"dt": 0.1, "method": "zoo"},
        "method: unknown discretization 'zoo'",
        "discretizations: zoh, foh, tustin, euler",
    ),
]


@pytest.mark.parametrize("wrong, message, hint", WRONG, ids=[row[1] for row in WRONG])
def test_invalid_arguments_are_rejected(wrong: dict[str, object], message: str, hint: str) -> None:
    """Invalid arguments are rejected with the place and a hint."""
    motors = {} if {"actuated", "passive"} & set(wrong) else {"actuated": "all"}
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.state_space(robolin.load("acrobot"), [1.0, 0.0], **motors, **wrong)
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_an_output_that_is_a_joint_and_a_frame_is_rejected() -> None:
    """An ambiguous output is rejected unless its prefix names the kind."""
    arm = grouped_arm(7, ["revolute", "revolute"])
    from dataclasses import replace

    both = replace(arm, frames={**arm.frames, "joint0": arm.frames["link0"]})
    with pytest.raises(
        robolin.UsageError, match="outputs: 'joint0/velocity' is the name of a joint and of a frame"
    ):
        robolin.state_space(both, 0.0, outputs="joint0/velocity")
    assert len(robolin.state_space(both, 0.0, outputs="joint:joint0/velocity").outputs) == 1
    assert len(robolin.state_space(both, 0.0, outputs="frame:joint0/velocity").outputs) == 6
