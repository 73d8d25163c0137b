"""Control law 8.2: a frame finds its pose, and the Lyapunov function only falls."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.control.simulation.controllers import SteeringController
from robolin.core.arm import Arm
from tests.dynamics.running import gap
from tests.dynamics.world import STEP, frame_in_world
from tests.robots import TOOL, random_arm, random_states

GOAL = np.array([0.4, -1.2, 1.5, -0.9, -1.3, 0.6])
# strong enough that every mode of the arm at the goal decays as fast as c allows, exp(-c t / 2)
GAINS = {"gain": 8.0, "position_gain": 300.0, "orientation_gain": 10.0}


def law(arm: Arm, frame: str, goal: np.ndarray, **gains: object) -> robolin.PoseControl:
    rotation, position = frame_in_world(arm, frame, goal)
    return robolin.PoseControl(frame, position, rotation, **gains)


@pytest.fixture(scope="module")
def drawn() -> robolin.Simulation:
    """A UR5 drawn to a pose from two places, for six seconds."""
    arm = robolin.load("ur5")
    start = GOAL + np.random.default_rng(0).uniform(-0.4, 0.4, (2, arm.n))
    control = law(arm, "tool0", GOAL, **GAINS)
    return robolin.simulate(arm, start, duration=6.0, dt=1e-2, every=10, control=control)


@pytest.mark.slow
def test_tool_finds_its_pose(drawn: robolin.Simulation) -> None:
    """The tool of a UR5 is within 1e-6 m and rad of its target well before 30 s have passed."""
    assert drawn.position_error[:, 0].min() > 0.05
    assert drawn.position_error[:, -1].max() < 1e-6
    assert drawn.orientation_error[:, -1].max() < 1e-6
    assert np.abs(drawn.qd[:, -1]).max() < 1e-6


@pytest.mark.slow
def test_tool_is_where_the_target_is(drawn: robolin.Simulation) -> None:
    """Placed link by link, the last pose is that of the goal."""
    arm = robolin.load("ur5")
    R, p = frame_in_world(arm, "tool0", drawn.q[:, -1])
    R0, p0 = frame_in_world(arm, "tool0", GOAL)

    assert np.abs(R - R0).max() < 1e-6
    assert np.abs(p - p0).max() < 1e-6


@pytest.mark.slow
def test_lyapunov_function_falls(drawn: robolin.Simulation) -> None:
    """½ ν*ν + ½ e*ke never grows from row to row, beyond rounding of its first value."""
    assert np.diff(drawn.lyapunov, axis=-1).max() < 1e-14 * drawn.lyapunov.max()
    assert drawn.lyapunov[:, -1].max() < 1e-12


def test_lyapunov_function_decreases_by_dissipation() -> None:
    """d/dt (½ ν*ν + ½ e*ke) = -ν* c ν: the sign and the D^-½ of the printed law would break it."""
    arm = robolin.load("ur5")
    gains = {"gain": np.linspace(1.0, 3.0, arm.n), "position_gain": (50.0, 80.0, 110.0)}
    control = law(arm, "tool0", GOAL, **gains, orientation_gain=(2.0, 3.0, 4.0))
    motion = robolin.simulate(arm, GOAL + 0.3, 0.2, duration=0.2, dt=1e-3, control=control)

    nu = robolin.diagonalize(arm, motion.q, motion.qd).nu
    taken = (gains["gain"] * nu**2).sum(axis=-1)
    # Simpson's rule over pairs of steps is good to the fourth order of 1 ms
    by_simpson = (taken[:-2:2] + 4.0 * taken[1::2] + taken[2::2]).sum() * 1e-3 / 3.0
    fallen = motion.lyapunov[0] - motion.lyapunov[-1]
    assert not motion.saturated.any()
    assert abs(fallen - by_simpson) < 1e-8 * fallen


@pytest.mark.parametrize("seed", range(4))
def test_torque_is_the_gradient_of_the_pose_energy(seed: int) -> None:
    """Without braking, τ less weight is J12* k e: minus the gradient of ½ e*ke, by complex step."""
    arm = random_arm(seed, 7, tree=seed % 2 == 1, armature=True)
    states = random_states(arm, 3, seed)
    k, k_axes = np.array([30.0, 50.0, 70.0]), np.array([2.0, 3.0, 5.0])
    gains = {"position_gain": k, "orientation_gain": k_axes}
    control = law(arm, TOOL, states.q[0], gain=0.0, **gains)
    steering = SteeringController(arm, control, {})

    tau = steering(0.0, states.q[1:], states.qd[1:] * 0.0)

    stepped = states.q[1:, None, :] + 1j * STEP * np.eye(arm.n)
    R, p = frame_in_world(arm, TOOL, stepped)
    away = (np.asarray(control.position) - p) ** 2
    turned = (np.asarray(control.rotation) - R) ** 2
    energy = 0.5 * ((k * away).sum(axis=-1) + (k_axes * turned.sum(axis=-2)).sum(axis=-1))
    gradient = energy.imag / STEP
    assert gap(tau - robolin.inverse(arm, states.q[1:]), -gradient) < 1e-12
    assert gap(steering.error(states.q[1:]).energy, energy.real[:, 0]) < 1e-12


def test_orientation_error_is_the_angle_of_the_turn() -> None:
    """Turning the last joint away from the goal by an angle gives that angle, however small."""
    arm = robolin.load("ur5")
    steering = SteeringController(arm, law(arm, "tool0", GOAL), {})
    for angle in (1e-9, 1e-3, 1.0, 3.0):
        away = GOAL.copy()
        away[-1] += angle
        # differences of rotations are exact to one rounding of 1
        assert abs(steering.error(away).orientation - angle) < 1e-15 + 1e-14 * angle


def test_effort_limits_apply_to_pose_control() -> None:
    """A target that needs more torque than a UR5 has is approached with saturated torques."""
    arm = robolin.load("ur5")
    gains = {"gain": 8.0, "position_gain": 3000.0, "orientation_gain": 100.0}
    motion = robolin.simulate(
        arm, GOAL + 0.5, duration=0.2, dt=2e-3, control=law(arm, "tool0", GOAL, **gains)
    )
    most = np.array([joint.limits.effort for joint in arm.joints])

    assert motion.saturated.any()
    assert (np.abs(motion.tau) <= most).all()
    assert (
        np.abs(motion.tau)[motion.saturated]
        == np.broadcast_to(most, motion.tau.shape)[motion.saturated]
    ).all()
