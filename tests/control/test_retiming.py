"""Retimed motions: closed forms, limits between the rows, and the package toppra."""

from __future__ import annotations

from dataclasses import replace
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
    samples: list[list[np.ndarray]] = [[], [], []]
    for i in range(len(motion.s) - 1):
        s = np.linspace(motion.s[i], motion.s[i + 1], times + 1)
        u = (x[i + 1] - x[i]) / (2.0 * (motion.s[i + 1] - motion.s[i]))
        here = np.maximum(x[i] + 2.0 * u * (s - motion.s[i]), 0.0)
        slope = spline(s, 1)
        qd = slope * np.sqrt(here)[:, None]
        qdd = slope * u + spline(s, 2) * here[:, None]
        for each, values in zip(
            samples, (qd, qdd, robolin.inverse(arm, spline(s), qd, qdd)), strict=True
        ):
            each.append(values)
    return tuple(np.concatenate(each) for each in samples)


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
@pytest.mark.parametrize("acceleration", [None, 12.0])
def test_toppra_takes_as_long(seed: int, acceleration: float | None) -> None:
    """toppra with the same spline and limits takes as long, within the width of its grid.

    toppra's limits hold at the ends of intervals, those of robolin also between them.
    """
    toppra = pytest.importorskip("toppra", reason="toppra is not installed")
    algorithm = pytest.importorskip("toppra.algorithm")
    constraint = pytest.importorskip("toppra.constraint")
    arm, path = robolin.load("panda"), panda_path(seed)
    motion = robolin.retime(arm, path, max_acceleration=acceleration)
    spline = toppra.SplineInterpolator(motion.s, path, "natural")
    effort = np.array([joint.limits.effort for joint in arm.joints])
    speed = np.array([joint.limits.velocity for joint in arm.joints])
    both_ends = constraint.DiscretizationType.Interpolation
    limits = [
        constraint.JointVelocityConstraint(np.stack([-speed, speed], axis=1)),
        constraint.JointTorqueConstraint(
            lambda q, qd, qdd: robolin.inverse(arm, q, qd, qdd),
            np.stack([-effort, effort], axis=1),
            np.zeros(7),
            discretization_scheme=both_ends,
        ),
    ]
    if acceleration is not None:
        most = np.full(7, acceleration)
        limits.append(
            constraint.JointAccelerationConstraint(
                np.stack([-most, most], axis=1), discretization_scheme=both_ends
            )
        )
    solver = algorithm.TOPPRA(limits, spline, gridpoints=motion.s, solver_wrapper="seidel")
    speeds = solver.compute_parameterization(0.0, 0.0)[1]
    other = (2.0 * np.diff(motion.s) / (speeds[1:] + speeds[:-1])).sum()
    assert motion.duration == pytest.approx(other, rel=2e-3)


def test_rows_at_equal_times() -> None:
    arm, path = robolin.load("panda"), panda_path(1)
    points, rows = robolin.retime(arm, path), robolin.retime(arm, path, dt=0.01)
    # limits that rows between the points exceed are tightened: by 1e-4 at most on these paths
    assert rows.duration == pytest.approx(points.duration, rel=1e-4)
    assert np.ptp(np.diff(rows.time)) < 1e-12
    assert np.array_equal(rows.q[[0, -1]], path[[0, -1]])
    assert np.abs(rows.tau - robolin.inverse(arm, rows.q, rows.qd, rows.qdd)).max() == 0.0
    # positions of the rows at the points lie on the motion with equal times
    between = np.array([np.interp(points.time, rows.time, each) for each in rows.q.T]).T
    assert np.abs(between - path).max() < 1e-3


@pytest.mark.parametrize("robot", ["two-link", "ur5", "panda"])
@pytest.mark.parametrize("dt", [0.001, 0.037])
def test_rows_between_the_points_exceed_no_limit(robot: str, dt: float) -> None:
    """A spline through a zigzag is fastest between the points where the sweeps apply limits."""
    arm, rng = robolin.load(robot), np.random.default_rng(4)
    lower = np.array([-3.0 if j.limits.lower is None else j.limits.lower for j in arm.joints])
    upper = np.array([3.0 if j.limits.upper is None else j.limits.upper for j in arm.joints])
    zigzag = lower + (upper - lower) * rng.uniform(0.4, 0.6, (20, arm.n))
    limits = {"max_velocity": 1.0, "max_acceleration": 15.0, "max_effort": 120.0}
    rows = robolin.retime(arm, zigzag, dt=dt, **limits)
    assert np.abs(rows.qd).max() <= 1.0
    assert np.abs(rows.qdd).max() <= 15.0
    assert np.abs(rows.tau).max() <= 120.0
    # the excess of the points alone is below 1.5 %
    assert rows.duration <= 1.02 * robolin.retime(arm, zigzag, **limits).duration


@pytest.mark.parametrize("dt", [0.001, 0.01, 0.1])
def test_rows_have_a_motion_if_the_points_have_one(dt: float) -> None:
    """With limits that are tighter by 1 %, the sweeps stop at point 6 of this path."""
    path = [
        [0.33001521458216954, -0.31598450298439285],
        [-0.17454545007679478, 0.17623498164185136],
        [0.04032035881086815, 0.40810178148726695],
        [0.2702719445249179, -0.06269319240420757],
        [0.28709275350748076, 0.15352940955258243],
        [0.05646775723537445, 0.1518651084672198],
        [0.08226318629914153, 0.12371182883024023],
    ]
    limits = {"max_velocity": 2.4429983069903143, "max_effort": 171.73290773744162}
    arm = robolin.load("two-link")
    points, rows = robolin.retime(arm, path, **limits), robolin.retime(arm, path, dt=dt, **limits)
    assert np.abs(rows.qd).max() <= limits["max_velocity"]
    assert np.abs(rows.tau).max() <= limits["max_effort"]
    assert points.duration <= rows.duration <= 1.02 * points.duration


@pytest.mark.parametrize("seed", [11, 169])
def test_rows_take_hardly_longer_than_points(seed: int) -> None:
    """The sweeps with tighter limits almost rest at a point of these paths: 13 % to 17 % longer."""
    arm, path = robolin.load("cart-pole"), np.random.default_rng(seed).uniform(-0.5, 0.5, (12, 2))
    limits = {"max_velocity": 0.3, "max_acceleration": 20.0}
    points, rows = (robolin.retime(arm, path, dt=dt, **limits) for dt in (None, 0.01))
    assert np.abs(rows.qd).max() <= 0.3
    assert np.abs(rows.qdd).max() <= 20.0
    assert points.duration <= rows.duration <= 1.03 * points.duration


def test_rows_within_the_limits_do_not_change_the_motion() -> None:
    arm, line = robolin.load("two-link"), np.linspace([0.0, 0.0], [1.0, 0.5], 201)
    limits = {"max_acceleration": 4.0, "max_velocity": 1.0, "max_effort": 1e6}
    rows, points = robolin.retime(arm, line, dt=0.01, **limits), robolin.retime(arm, line, **limits)
    assert rows.duration == points.duration
    assert rows.repeats == points.repeats


def test_the_limits_of_written_rows_hold(tmp_path: Path) -> None:
    """`inverse --limits`, which exits with code 1 beyond a limit, accepts the motion."""
    arm, rng = robolin.load("ur5"), np.random.default_rng(8)
    path, motion = tmp_path / "path.csv", tmp_path / "motion.csv"
    zigzag = rng.uniform(-0.5, 0.5, (20, arm.n))
    lines = [",".join(map(str, row)) for row in zigzag.tolist()]
    path.write_text("\n".join([",".join(f"{name}/position" for name in arm.joint_names), *lines]))
    run_ok("retime", "ur5", "--trajectory", path, "--dt", "0.003", "-o", motion)
    run_ok("inverse", "ur5", "--trajectory", motion, "--limits")


def test_neighbours_within_round_off_count_once() -> None:
    """A path that rests with round-off has the motion of the path without these rows."""
    arm = robolin.load("two-link")
    path = np.linspace([0.0, 0.0], [1.0, 0.5], 11)
    rests = np.insert(path, 5, path[4] + [1e-16, -1e-200], axis=0)
    rests = np.vstack([rests[:1], rests[:1] + 1e-200, rests[1:], rests[-1:] + 1e-15])
    expected = robolin.retime(arm, path, max_acceleration=3.0, **FREE)
    motion = robolin.retime(arm, rests, max_acceleration=3.0, **FREE)
    assert np.array_equal(motion.q, expected.q)
    assert motion.duration == expected.duration


def test_paths_without_a_motion_are_rejected() -> None:
    panda, arm = robolin.load("panda"), robolin.load("two-link")
    path = np.linspace([0.0, 0.0], [1.0, 0.5], 11)
    for call, what in (
        (
            lambda: robolin.retime(arm, path),
            "the moving joints have no limit that bounds the speed",
        ),
        (lambda: robolin.retime(arm, path[:1], **FREE), "the path has only one point"),
        (lambda: robolin.retime(arm, path, limit_scale="1", **FREE), "limit_scale: must be a num"),
        (lambda: robolin.retime(arm, path, dt="1", **FREE), "dt: must be a num"),
        (lambda: robolin.retime(arm, [0.0, 1.0], **FREE), "several rows of positions"),
        (
            lambda: robolin.retime(arm, path, max_effort=0.1),
            "joint 'shoulder' cannot hold the robot",
        ),
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


LIMITS = {"max_effort": 40.0, "max_acceleration": 5.0}


def bent_path(end: list[float]) -> np.ndarray:
    """A straight line of 101 points, then another one of 80."""
    there = np.linspace([0.0, 0.0], [1.0, 0.5], 101)
    return np.vstack([there, np.linspace([1.0, 0.5], end, 81)[1:]])


@pytest.mark.parametrize(("end", "turn"), [([0.0, 0.0], 180.0), ([0.5, 1.5], 90.0)])
def test_the_motion_stops_at_reversals_and_corners(end: list[float], turn: float) -> None:
    """It takes as long as both parts, and is at rest at the corner, with one row there."""
    arm, path = robolin.load("two-link"), bent_path(end)
    motion = robolin.retime(arm, path, **LIMITS)
    parts = [robolin.retime(arm, part, **LIMITS) for part in (path[:101], path[100:])]
    [(row, time, angle)] = motion.stops
    assert (row, angle) == (100, pytest.approx(turn, abs=1e-5))
    assert time == parts[0].duration
    assert motion.duration == pytest.approx(parts[0].duration + parts[1].duration, rel=1e-15)
    assert np.array_equal(motion.q, path)
    assert not motion.qd[100].any()
    assert np.array_equal(motion.tau, robolin.inverse(arm, motion.q, motion.qd, motion.qdd))
    assert (np.diff(motion.time) > 0.0).all()
    for part, rows in zip(parts, (slice(0, 100), slice(100, None)), strict=True):
        assert np.array_equal(motion.qd[rows], part.qd[: len(motion.qd[rows])])
    for own, rows in ((path[:101], slice(0, 101)), (path[100:], slice(100, None))):
        part = replace(motion, s=motion.s[rows], qd=motion.qd[rows])
        _, qdd, tau = finer(arm, own, part)
        assert np.abs(qdd).max() <= 5.0 * (1.0 + 1e-7)
        assert np.abs(tau).max() <= 40.0 * (1.0 + 1e-7)


def test_rows_at_equal_times_pass_a_stop() -> None:
    arm, path = robolin.load("two-link"), bent_path([0.5, 1.5])
    points, rows = robolin.retime(arm, path, **LIMITS), robolin.retime(arm, path, dt=1e-3, **LIMITS)
    assert rows.stops == points.stops
    assert np.array_equal(rows.q[[0, -1]], path[[0, -1]])
    between = np.array([np.interp(points.time, rows.time, each) for each in rows.q.T]).T
    assert np.abs(between - path).max() < 1e-5
    assert (np.diff(rows.s) >= 0.0).all()


def test_lines_of_two_points_get_more_points() -> None:
    """A line of length d takes 2 √(d / a), and a zigzag stops at every reversal."""
    arm, limits = robolin.load("two-link"), {"max_acceleration": 4.0, **FREE}
    line = robolin.retime(arm, [[0.0, 0.0], [1.0, 0.0]], **limits)
    assert line.duration == pytest.approx(1.0, rel=1e-9)
    assert len(line.q) == 21
    ends = np.linspace([0.0, 0.0], [1.0, 0.0], 21)
    zigzag = robolin.retime(arm, np.vstack([ends, ends[-2::-1], ends[1:]]), **limits)
    assert [stop.row for stop in zigzag.stops] == [20, 40]
    assert zigzag.duration == pytest.approx(3.0, rel=1e-9)


@pytest.mark.parametrize("apart", [1e-13, 1e-11, 1e-9, 1e-8, 1e-7])
def test_neighbours_apart_in_another_direction_count_once(apart: float) -> None:
    """A row that repeats its neighbour up to noise changes the motion by as little."""
    arm, path = robolin.load("panda"), panda_path(0)
    noise = np.random.default_rng(0).normal(size=7)
    noisy = np.insert(path, 101, path[100] + apart * noise / np.linalg.norm(noise), axis=0)
    motion = robolin.retime(arm, noisy)
    assert not motion.stops
    assert motion.duration == pytest.approx(robolin.retime(arm, path).duration, rel=1e-4)


@pytest.mark.parametrize("apart", [1e-5, 1e-4, 1e-3])
def test_a_noisy_neighbour_is_passed_if_this_is_faster(apart: float) -> None:
    """Noise that is large enough to be a corner costs less time than a stop."""
    arm, path = robolin.load("panda"), panda_path(0)
    noise = np.random.default_rng(0).normal(size=7)
    noisy = np.insert(path, 101, path[100] + apart * noise / np.linalg.norm(noise), axis=0)
    motion = robolin.retime(arm, noisy)
    parts = [robolin.retime(arm, noisy[rows]).duration for rows in (slice(101), slice(101, None))]
    assert not motion.stops
    assert robolin.retime(arm, path).duration < motion.duration < sum(parts)
    assert motion.used.max() <= 1.0


def test_a_joint_that_cannot_hold_the_arm_is_named() -> None:
    """The first row that gravity alone takes beyond a limit, its joint, torque and limit."""
    arm = robolin.load("two-link")
    path = np.linspace([-0.9, 0.0], [0.0, 0.0], 101)
    hold = robolin.inverse(arm, path)
    row = int(np.argmax(np.abs(hold[:, 1]) > 4.0))
    what = rf"joint 'elbow' cannot hold the robot at point {row + 1} of the path: it needs 4\.\d+ N"
    with pytest.raises(RobolinError, match=what) as caught:
        robolin.retime(arm, path, max_effort=[40.0, 4.0], max_velocity=0.01)
    assert "its effort limit is 4 N·m" in str(caught.value)


@pytest.mark.usefixtures("optimized_modules")
@pytest.mark.parametrize("seed", range(3))
def test_compiled_sweeps_have_the_bits_of_the_loops(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The motion does not depend on whether the compiler is installed."""
    arm, path = robolin.load("panda"), panda_path(seed)
    limits = {"max_acceleration": 12.0} if seed else {}
    compiled = robolin.retime(arm, path, **limits)
    for module in ("robolin.control.retiming_problem", "robolin.control.retiming_sweeps"):
        monkeypatch.setattr(f"{module}.has_compiler", lambda: False)
    plain = robolin.retime(arm, path, **limits)
    assert np.array_equal(compiled.time, plain.time)
    assert np.array_equal(compiled.tau, plain.tau)


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


def test_the_command_names_stops(tmp_path: Path) -> None:
    """Notes name the rows, and the distance of rows that differs from --dt."""
    rows = "\n".join(",".join(map(repr, row)) for row in bent_path([0.0, 0.0]).tolist())
    (tmp_path / "path.csv").write_text("shoulder,elbow\n" + rows + "\n")
    words = ("retime", "two-link", "--trajectory", tmp_path / "path.csv", "--max-effort", "40")
    words = (*words, "--max-acceleration", "5", "--dt", "0.011")
    printed = run_ok(*words, "-o", tmp_path / "motion.csv")
    assert "stops at sharp corners: row 101 at" in printed.err
    assert "(reversal)" in printed.err
    assert "s apart, so that the last row is at the end" in printed.err
    run_ok(*words, "-o", tmp_path / "motion.npz")
    run_ok("check", tmp_path / "motion.npz")


def test_speeds_of_round_off_are_stops() -> None:
    """Where limits allow no speed at two neighbours, the motion stops, and does not creep."""
    paths = np.random.default_rng(5).uniform(-1.0, 1.0, (3, 20, 6))
    motion = robolin.retime(robolin.load("ur5"), paths[2], max_velocity=1.0, max_effort=100.0)
    assert motion.stops
    assert motion.time[-1] < 60.0
