"""Retimed motions: closed forms, limits between the rows, and the package toppra."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.control.retiming import RetimedMotion
from robolin.core.arm import Arm
from robolin.errors import RobolinError, UsageError
from tests.cli.command import robolin as run
from tests.cli.command import run_ok

FREE = {"max_effort": 1e6, "max_velocity": 1e6}


def panda_path(seed: int, rows: int = 200) -> np.ndarray:
    """A smooth path within the position limits."""
    rng, t = np.random.default_rng(seed), np.linspace(0.0, 1.0, rows)[:, None]
    middle = np.array([0.0, 0.2, 0.0, -1.6, 0.0, 1.8, 0.0])
    return middle + 0.4 * np.sin(2.0 * np.pi * t * rng.uniform(0.3, 1.0, 7) + rng.uniform(0, 6, 7))


def finer(arm: Arm, path: np.ndarray, motion: RetimedMotion, times: int = 10) -> tuple[Any, ...]:
    """Velocities, accelerations and torques between the rows, by an independent spline."""
    scipy = pytest.importorskip("scipy.interpolate", reason="SciPy is not installed")
    spline = scipy.CubicSpline(motion.s, path, bc_type="natural")
    x = np.interp(motion.s, motion.s, _squared(motion, spline))
    found: list[list[np.ndarray]] = [[], [], []]
    for i in range(len(motion.s) - 1):
        s = np.linspace(motion.s[i], motion.s[i + 1], times + 1)
        u = (x[i + 1] - x[i]) / (2.0 * (motion.s[i + 1] - motion.s[i]))
        here = np.maximum(x[i] + 2.0 * u * (s - motion.s[i]), 0.0)
        slope = spline(s, 1)
        qd = slope * np.sqrt(here)[:, None]
        qdd = slope * u + spline(s, 2) * here[:, None]
        for each, values in zip(
            found, (qd, qdd, robolin.inverse(arm, spline(s), qd, qdd)), strict=True
        ):
            each.append(values)
    return tuple(np.concatenate(each) for each in found)


def _squared(motion: RetimedMotion, spline: Any) -> np.ndarray:
    """ṡ² in every row, from the velocities."""
    slope = spline(motion.s, 1)
    squared: np.ndarray = ((motion.qd * slope).sum(axis=1) / (slope * slope).sum(axis=1)) ** 2
    return squared


def test_one_joint_is_bang_bang() -> None:
    """With an acceleration limit a, the distance d takes 2 √(d / a)."""
    arm = robolin.load("two-link")
    motion = robolin.retime(
        arm, np.linspace([0.0, 0.0], [1.0, 0.0], 101), max_acceleration=4.0, **FREE
    )
    assert motion.duration == pytest.approx(1.0, abs=1e-12)
    assert motion.qd.max() == pytest.approx(2.0, abs=1e-12)


def test_two_limits_give_a_trapezoid() -> None:
    """With a speed limit v as well, it takes d / v + v / a."""
    arm = robolin.load("two-link")
    limits = {"max_acceleration": 4.0, "max_velocity": 1.0, "max_effort": 1e6}
    motion = robolin.retime(arm, np.linspace([0.0, 0.0], [1.0, 0.0], 201), **limits)
    assert motion.duration == pytest.approx(1.25, abs=1e-12)
    assert motion.qd.max() <= 1.0
    assert motion.used[:2, 0] == pytest.approx(1.0, abs=1e-9)


def test_a_torque_limit_is_bang_bang_in_torque() -> None:
    """A horizontal joint with inertia J and torque limit T takes 2 √(d J / T)."""
    arm = robolin.load("two-link", gravity=(0.0, 0.0, -9.81))
    inertia = robolin.mass_matrix(arm, [0.0, 0.3])[0, 0]
    path = np.linspace([0.0, 0.3], [2.0, 0.3], 51)
    motion = robolin.retime(arm, path, max_effort=[2.0, 1e6], max_velocity=1e6)
    assert motion.duration == pytest.approx(2.0 * np.sqrt(2.0 * inertia / 2.0), rel=1e-9)
    assert np.abs(motion.tau[:, 0]).max() <= 2.0


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("acceleration", [None, 12.0])
def test_no_limit_is_exceeded_between_the_rows(seed: int, acceleration: float | None) -> None:
    """At ten times as many points, velocity, acceleration and effort are within the limits."""
    arm, path = robolin.load("panda"), panda_path(seed)
    motion = robolin.retime(arm, path, max_acceleration=acceleration)
    qd, qdd, tau = finer(arm, path, motion)
    effort = np.array([joint.limits.effort for joint in arm.joints])
    speed = np.array([joint.limits.velocity for joint in arm.joints])
    # the spline of SciPy has other round-off
    assert (np.abs(tau) / effort).max() <= 1.0 + 1e-7
    assert (np.abs(qd) / speed).max() <= 1.0 + 1e-7
    if acceleration is not None:
        assert np.abs(qdd).max() <= acceleration * (1.0 + 1e-7)
    assert motion.used.max() <= 1.0
    # limits are tightened by 1.5 times the excess, which is below 1e-4 on these paths
    assert motion.used.max() >= 1.0 - 1e-4


def test_losses_are_part_of_the_torques() -> None:
    """Damping and friction, which are not affine in ṡ², also stay within the limits."""
    arm = robolin.load("cart-pole", friction_velocity=0.1)
    path = np.linspace([0.0, 0.0], [1.0, 0.2], 101)
    motion = robolin.retime(arm, path, max_effort=[5.0, 2.0], max_velocity=10.0)
    tau = finer(arm, path, motion)[2]
    assert (np.abs(tau) / [5.0, 2.0]).max() <= 1.0 + 1e-7
    assert motion.used[2].max() > 0.99


@pytest.mark.parametrize("seed", range(3))
def test_toppra_is_not_faster(seed: int) -> None:
    """toppra with the same spline and limits takes as long, within the width of its grid."""
    toppra = pytest.importorskip("toppra", reason="toppra is not installed")
    algorithm = pytest.importorskip("toppra.algorithm")
    constraint = pytest.importorskip("toppra.constraint")
    arm, path = robolin.load("panda"), panda_path(seed)
    motion = robolin.retime(arm, path)
    spline = toppra.SplineInterpolator(motion.s, path, "natural")
    effort = np.array([joint.limits.effort for joint in arm.joints])
    speed = np.array([joint.limits.velocity for joint in arm.joints])
    limits = [
        constraint.JointVelocityConstraint(np.stack([-speed, speed], axis=1)),
        constraint.JointTorqueConstraint(
            lambda q, qd, qdd: robolin.inverse(arm, q, qd, qdd),
            np.stack([-effort, effort], axis=1),
            np.zeros(7),
            discretization_scheme=constraint.DiscretizationType.Interpolation,
        ),
    ]
    solver = algorithm.TOPPRA(limits, spline, gridpoints=motion.s, solver_wrapper="seidel")
    speeds = solver.compute_parameterization(0.0, 0.0)[1]
    other = (2.0 * np.diff(motion.s) / (speeds[1:] + speeds[:-1])).sum()
    assert motion.duration == pytest.approx(other, rel=2e-3)


def test_rows_at_equal_times() -> None:
    arm, path = robolin.load("panda"), panda_path(1)
    points, rows = robolin.retime(arm, path), robolin.retime(arm, path, dt=0.01)
    assert rows.duration == points.duration
    assert np.ptp(np.diff(rows.time)) < 1e-12
    assert np.array_equal(rows.q[[0, -1]], path[[0, -1]])
    assert np.abs(rows.tau - robolin.inverse(arm, rows.q, rows.qd, rows.qdd)).max() == 0.0
    # positions of the rows at the points lie on the motion with equal times
    between = np.array([np.interp(points.time, rows.time, each) for each in rows.q.T]).T
    assert np.abs(between - path).max() < 1e-3


def test_neighbours_within_round_off_count_once() -> None:
    """A path that rests with round-off has the motion of the path without these rows."""
    arm = robolin.load("two-link")
    path = np.linspace([0.0, 0.0], [1.0, 0.5], 11)
    rests = np.insert(path, 5, path[4] + [1e-16, -1e-200], axis=0)
    rests = np.vstack([rests[:1], rests[:1] + 1e-200, rests[1:], rests[-1:] + 1e-15])
    expected = robolin.retime(arm, path, max_acceleration=3.0, **FREE)
    found = robolin.retime(arm, rests, max_acceleration=3.0, **FREE)
    assert np.array_equal(found.q, expected.q)
    assert found.duration == expected.duration


def test_paths_without_a_motion_are_rejected() -> None:
    panda, arm = robolin.load("panda"), robolin.load("two-link")
    path = np.linspace([0.0, 0.0], [1.0, 0.5], 11)
    for call, what in (
        (lambda: robolin.retime(arm, path), "no limit of a moving joint bounds the speed"),
        (lambda: robolin.retime(arm, path[:1], **FREE), "the path does not move"),
        (lambda: robolin.retime(arm, path[:2], **FREE), "a path of two points"),
        (lambda: robolin.retime(arm, path, limit_scale="1", **FREE), "limit_scale: must be a num"),
        (lambda: robolin.retime(arm, path, dt="1", **FREE), "dt: must be a num"),
        (lambda: robolin.retime(arm, [0.0, 1.0], **FREE), "several rows of positions"),
        (lambda: robolin.retime(arm, path, max_effort=0.1), "no speed keeps the limits at point"),
        (lambda: robolin.retime(arm, path, max_acceleration=-1.0, **FREE), "must be one number"),
        (lambda: robolin.retime(arm, path, max_velocity=0.0), "max_velocity: must be one number"),
        (lambda: robolin.retime(arm, path, limit_scale=0.0, **FREE), "limit_scale"),
        (lambda: robolin.retime(arm, path, dt=0.0, max_acceleration=1.0, **FREE), "must be > 0"),
        (lambda: robolin.retime(robolin.load("four-bar"), path, **FREE), "closed loops"),
        (
            lambda: robolin.retime(panda, np.linspace([0.0] * 7, [0.1] * 7, 3)),
            "position limit of joint",
        ),
    ):
        with pytest.raises((RobolinError, UsageError), match=what):
            call()


@pytest.mark.parametrize("rows", [81, 101, 401])
@pytest.mark.parametrize("end", [[0.0, 0.0], [1.5, 1.0]])
def test_straight_paths_without_velocity_limits_are_bang_bang(end: list[float], rows: int) -> None:
    """The closed form: the torque limits are not reached, and only the acceleration is limited."""
    arm, start = robolin.load("two-link"), [1.0, 0.5]
    path = np.linspace(start, end, rows)
    motion = robolin.retime(arm, path, max_effort=40.0, max_acceleration=5.0)
    distance = np.abs(np.subtract(end, start)).max()
    assert motion.duration == pytest.approx(2.0 * np.sqrt(distance / 5.0), rel=1e-8)


def test_errors_name_reversals_and_corners() -> None:
    """The parts before and after the corner have motions; the whole path has none."""
    arm, limits = robolin.load("two-link"), {"max_effort": 40.0, "max_acceleration": 5.0}
    there = np.linspace([0.0, 0.0], [1.0, 0.5], 101)
    for end, what in (([0.0, 0.0], "reverses at point 101"), ([0.5, 1.5], "corner of 90° at")):
        back = np.linspace([1.0, 0.5], end, 81)
        with pytest.raises(RobolinError, match=what) as caught:
            robolin.retime(arm, np.vstack([there, back[1:]]), **limits)
        assert "split the path there" in str(caught.value)
        for part in (there, back):
            assert robolin.retime(arm, part, **limits).duration < 2.0


def test_the_command_writes_a_trajectory_that_check_accepts(tmp_path: Path) -> None:
    """Its result is a trajectory of other commands, and `check` computes it again."""
    names = robolin.load("panda").joint_names
    rows = "\n".join(",".join(map(repr, row)) for row in panda_path(2, 40).tolist())
    (tmp_path / "path.csv").write_text(",".join(names) + "\n" + rows + "\n")
    words = ("retime", "panda", "--trajectory", tmp_path / "path.csv", "--max-acceleration", "9")
    printed = run_ok(*words, "-o", tmp_path / "motion.npz")
    assert "duration" in printed.err
    assert "used limits: velocity" in printed.err
    run_ok("check", tmp_path / "motion.npz")
    run_ok(*words, "-o", tmp_path / "motion.csv")
    run_ok("inverse", "panda", "--trajectory", tmp_path / "motion.csv", "-o", tmp_path / "tau.npz")
    ran = run("retime", "panda")
    assert ran.code == 2
    assert "--trajectory" in ran.err
