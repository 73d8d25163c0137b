"""Inverse kinematics: positions that reach a pose within the limits, or a clear failure."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.control.optimization.inverse_kinematics import rotation_logarithm
from robolin.control.optimization.joint_limits import joint_ranges
from robolin.core.configuration import matrix_of, quaternion_from_turn
from tests.cli.command import robolin as run
from tests.cli.command import run_ok


def test_two_link_by_the_law_of_cosines() -> None:
    """The elbow angle of a planar arm is that of the triangle, whichever way it bends."""
    arm = robolin.load("two-link")
    for x, y in ((1.2, 0.5), (-0.3, 1.1), (0.2, -1.7)):
        cosine = (x * x + y * y - 2.0) / 2.0
        for bend in (1.0, -1.0):
            elbow = bend * np.arccos(cosine)
            shoulder = np.arctan2(y, x) - np.arctan2(np.sin(elbow), 1.0 + np.cos(elbow))
            start = [shoulder + 0.1, elbow - 0.1]
            solution = robolin.ik(arm, robolin.PoseGoal("tip", [x, y, 0.0]), q=start)
            np.testing.assert_allclose(solution.q, [shoulder, elbow], atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "frame"), [("panda", "panda_hand_tcp"), ("ur5", "tool0")])
def test_reaches_poses_of_random_positions(name: str, frame: str) -> None:
    """A pose that positions within the limits have is reached within the limits."""
    arm, rng = robolin.load(name), np.random.default_rng(3)
    ranges = joint_ranges(arm)
    for _ in range(4):
        q = ranges.q_lower + rng.random(arm.n) * (ranges.q_upper - ranges.q_lower)
        at = robolin.jacobian(arm, q, frame=frame)
        solution = robolin.ik(arm, robolin.PoseGoal(frame, at.position, at.rotation))
        there = robolin.jacobian(arm, solution.q, frame=frame)
        assert np.abs(there.position - at.position).max() <= 1e-9
        assert np.abs(there.rotation - at.rotation).max() <= 1e-8
        assert ((ranges.q_lower <= solution.q) & (solution.q <= ranges.q_upper)).all()


def test_the_same_seed_gives_the_same_bits() -> None:
    """Two calls return identical positions; q is the nearest of the solutions."""
    arm = robolin.load("ur5")
    goal = robolin.PoseGoal("tool0", [0.4, 0.2, 0.5])
    first, again = (robolin.ik(arm, goal, seed=5) for _ in range(2))
    np.testing.assert_array_equal(first.q, again.q)


def test_limits_of_mimic_joints_apply_to_their_leader() -> None:
    """A follower that turns twice as far halves the range of its leader; -1 swaps the ends."""
    text = """
robolin: 1
name: pair
joints:
  - {name: a, type: revolute, parent: base, child: one, axis: [0, 0, 1],
     limits: {lower: -2, upper: 2}}
  - {name: b, type: revolute, parent: one, child: two, axis: [0, 0, 1],
     limits: {lower: -1, upper: 3}, mimic: {joint: a, ratio: -2}}
links:
  - {name: base}
  - {name: one, mass: 1}
  - {name: two, mass: 1}
"""
    ranges = joint_ranges(robolin.load(text))
    assert (ranges.q_lower[0], ranges.q_upper[0]) == (-1.5, 0.5)


def test_failures() -> None:
    """A goal out of reach names the remaining error; invalid starts name the joint."""
    arm = robolin.load("two-link")
    with pytest.raises(
        robolin.RobolinError, match=r"'tip' does not reach.*is still 500 mm away from the goal"
    ):
        robolin.ik(arm, robolin.PoseGoal("tip", [2.5, 0.0, 0.0]))
    with pytest.raises(robolin.RobolinError, match="'panda_joint4' starts at 0, outside"):
        robolin.ik(robolin.load("panda"), robolin.PoseGoal("panda_hand_tcp", [0.5, 0, 0.3]), q=0.0)
    with pytest.raises(robolin.RobolinError, match="closed loops"):
        robolin.ik(robolin.load("four-bar"), robolin.PoseGoal(None, [0.1, 0, 0]))
    with pytest.raises(robolin.UsageError, match="integer ≥ 1"):
        robolin.ik(arm, robolin.PoseGoal("tip", [1, 0, 0]), starts=0)
    with pytest.raises(robolin.RobolinError, match="rotation matrix"):
        robolin.ik(arm, robolin.PoseGoal("tip", [1, 0, 0], np.zeros((3, 3))))


def test_floating_bases_reach_everything() -> None:
    """A free base moves its frame to any pose: the step is a body twist, not a change of angles."""
    arm = robolin.load("two-link", floating_base=True)
    R = matrix_of(quaternion_from_turn(np.array([0.4, -1.2, 0.8])))
    solution = robolin.ik(arm, robolin.PoseGoal("tip", [5.0, -3.0, 2.0], R))
    there = robolin.jacobian(arm, solution.q, frame="tip")
    assert np.abs(there.rotation - R).max() < 1e-8


def test_rotation_vectors_up_to_a_half_turn() -> None:
    """The vector of exp(t) is t, for tiny angles and for angles up to π."""
    axis = np.array([0.48, -0.6, 0.64])
    for angle in (0.0, 1e-12, 1e-5, 1.0, np.pi - 1e-5, np.pi - 1e-10):
        t = angle * axis
        rotation = rotation_logarithm(matrix_of(quaternion_from_turn(t)))
        np.testing.assert_allclose(rotation, t, rtol=1e-9, atol=1e-14)


def test_command() -> None:
    """The command prints what the function returns; a failure has exit code and hint."""
    ran = run_ok("ik", "two-link", "--goal", "tip=1.2,0.5,0", "--q", "0,0.5")
    solution = robolin.ik(
        robolin.load("two-link"), robolin.PoseGoal("tip", [1.2, 0.5, 0.0]), q=[0.0, 0.5]
    )
    np.testing.assert_array_equal(ran.numbers[0], [*solution.q, solution.position_error])
    failed = run("ik", "two-link", "--goal", "tip=9,0,0")
    assert failed.code == 3
    assert "7000 mm away" in failed.err
    assert "X,Y,Z" in run("ik", "two-link", "--goal", "tip=9,0").err
