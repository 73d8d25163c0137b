"""Gains that make an arm faster than steps of fixed size can follow."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.control.simulation.controllers import SteeringController
from robolin.control.simulation.integration import MOST_CHECKED, _stiff_loop

POSE = [0.3, -0.7]
MOMENTS = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


def _stiff(arm: robolin.Arm, damping: float, rows: int = 0) -> robolin.FeedbackControl:
    """Gains of 10 N·m/rad and `damping` N·m·s/rad about a pose, the latter in the last row only."""
    tau = robolin.inverse(arm, POSE)
    slow, fast = (np.hstack([10.0 * np.eye(2), d * np.eye(2)]) for d in (1.0, damping))
    if not rows:
        return robolin.FeedbackControl(fast, POSE, tau=tau)
    gains = np.array([*[slow] * (rows - 1), fast])
    return robolin.FeedbackControl(gains, POSE, tau=tau, time=np.linspace(0.0, 1.0, rows))


def _fastest(arm: robolin.Arm, damping: float) -> float:
    model = robolin.linearize_forward(arm, POSE)
    M_inverse = model.dqdd_dtau
    lower = [model.dqdd_dq - 10.0 * M_inverse, model.dqdd_dqd - damping * M_inverse]
    closed = np.block([[np.zeros((2, 2)), np.eye(2)], lower])
    return float(np.abs(np.linalg.eigvals(closed)).max())


def test_steps_too_long_for_the_gains_are_rejected() -> None:
    arm = robolin.load("two-link")
    law, start = _stiff(arm, 1e3), np.add(POSE, 0.01)
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.simulate(arm, start, duration=0.02, control=law, limits=False)
    fastest = _fastest(arm, 1e3)
    assert f"decays at {fastest:.4g} 1/s" in caught.value.message
    assert "--integrator radau" in (caught.value.hint or "")
    assert "integrator='radau'" in (caught.value.hint or "")
    dt = float((caught.value.hint or "").rpartition("dt=")[2])
    # 2.6 of the 2.785 that a real pole allows, rounded down to two digits
    assert 0.9 * 2.6 < dt * fastest <= 2.6
    by_steps = robolin.simulate(arm, start, duration=0.02, dt=dt, control=law, limits=False)
    adapted = robolin.simulate(
        arm, start, duration=0.02, integrator="radau", control=law, limits=False
    )
    # the fast modes are over after 0.02 s and the rest is slow: steps this long follow it
    assert np.abs(by_steps.q[-1] - adapted.q[-1]).max() < 1e-8


@pytest.mark.parametrize(("share", "refused"), [(2.77, False), (2.80, True)])
def test_real_poles_are_allowed_up_to_the_bound_of_the_method(share: float, refused: bool) -> None:
    """1 + z + z²/2 + z³/6 + z⁴/24 = 1 at z = -2.7853."""
    arm = robolin.load("two-link")
    options = {"dt": share / _fastest(arm, 1e3), "duration": 0.002, "control": _stiff(arm, 1e3)}
    if refused:
        with pytest.raises(robolin.RobolinError, match="with these gains, a mode decays at"):
            robolin.simulate(arm, POSE, **options)
    else:
        assert np.isfinite(robolin.simulate(arm, POSE, **options).q).all()


def test_gains_of_any_row_in_time_count() -> None:
    arm = robolin.load("two-link")
    law = _stiff(arm, 1e3, rows=5)
    with pytest.raises(robolin.RobolinError, match="with these gains, a mode decays at"):
        robolin.simulate(arm, POSE, duration=0.8, control=law)
    assert len(robolin.simulate(arm, POSE, duration=0.01, control=law).q) == 11


STIFF = {
    "pd": (robolin.PDControl(POSE, kp=10.0, kd=1e3), "--kp and --kd"),
    "pd along rows": (
        robolin.PDControl([POSE, POSE], kp=10.0, kd=1e3, time=[0.0, 1.0]),
        "--kp and --kd",
    ),
    "computed torque": (robolin.ComputedTorque(POSE, kp=1.0, kd=3e3), "--kp and --kd"),
    "rate": (robolin.RateControl(3e3), "--gain"),
    "pose": (
        robolin.PoseControl("tip", (1.0, 0.5, 0.0), gain=100.0, position_gain=1e8),
        "--position-gain",
    ),
}


@pytest.mark.parametrize("law", STIFF)
def test_stiff_gains_of_other_laws_are_rejected(law: str) -> None:
    """The hint names the gains; adaptive steps and smaller steps are accepted."""
    arm = robolin.load("two-link")
    control, gains = STIFF[law]
    if law == "pose":
        tool = robolin.jacobian(arm, POSE, frame=control.frame)
        control = replace(control, position=tool.position, rotation=tool.rotation)
    with pytest.raises(robolin.RobolinError, match="with these gains, a mode decays at") as caught:
        robolin.simulate(arm, POSE, duration=0.01, control=control)
    assert caught.value.hint.startswith("use smaller ")
    assert gains in caught.value.hint
    dt = float(caught.value.hint.rpartition("dt=")[2])
    for steps in ({"dt": dt}, {"integrator": "radau"}):
        motion = robolin.simulate(arm, POSE, duration=0.01, control=control, **steps)
        assert np.isfinite(motion.q).all()


@pytest.mark.parametrize("law", ["pd", "pose"])
def test_a_joint_without_inertia_is_the_error(law: str) -> None:
    """The mass matrix has no inverse there; forward dynamics names the joint."""
    arm = robolin.load("two-link")
    light = dict.fromkeys(("mass", "mx", "my", "mz", *MOMENTS), 0.0)
    arm = arm.with_parameters({f"{arm.links[-1].name}/{name}": v for name, v in light.items()})
    with pytest.raises(robolin.RobolinError, match="moves no inertia"):
        robolin.simulate(arm, POSE, duration=0.01, control=STIFF[law][0])


def test_pd_control_checks_part_of_a_long_reference() -> None:
    """The matrices of all rows can need gigabytes; neighbouring rows have nearly the same modes."""
    arm, rows = robolin.load("two-link"), 5 * MOST_CHECKED
    time = np.linspace(0.0, 1.0, rows)
    q = np.column_stack([np.sin(time), np.cos(time)])
    law = robolin.PDControl(q, kp=10.0, kd=1e3, time=time)
    matrices = _stiff_loop(arm, law, q[0], 1.0, {})
    assert MOST_CHECKED <= len(matrices) <= 2 * MOST_CHECKED
    with pytest.raises(robolin.RobolinError, match="with these gains, a mode decays at"):
        robolin.simulate(arm, q[0], duration=1.0, control=law)


def test_the_mode_of_pd_control_is_that_of_its_gains() -> None:
    arm = robolin.load("two-link")
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.simulate(arm, POSE, duration=0.02, control=robolin.PDControl(POSE, kp=10.0, kd=1e3))
    named = float(caught.value.message.partition("decays at ")[2].partition(" 1/s")[0])
    # gravity changes slow modes only
    assert named == pytest.approx(_fastest(arm, 1e3), rel=1e-3)


def test_the_mode_of_pose_control_is_that_of_its_torques() -> None:
    """JᵀkJ is the derivative of the torques at the target."""
    arm, h = robolin.load("ur5", gravity=0), 1e-6
    q = np.array([0.3, -1.0, 1.2, 0.4, 0.9, 0.1])
    tool = robolin.jacobian(arm, q, frame="tool0")
    k, k_axes = [100.0, 200.0, 50.0], [10.0, 5.0, 2.0]
    law = robolin.PoseControl(
        "tool0",
        tool.position,
        tool.rotation,
        position_gain=k,
        orientation_gain=k_axes,
    )
    controller = SteeringController(arm, law, {})
    rows = [
        (controller(0.0, q - h * dq, 0.0 * q) - controller(0.0, q + h * dq, 0.0 * q)) / (2 * h)
        for dq in np.eye(6)
    ]
    assert np.abs(controller.stiffness(q) - np.transpose(rows)).max() < 1e-6
