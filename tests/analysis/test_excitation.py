"""Exciting motions: limits on a finer grid, rest at both ends, and what they determine."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.analysis.excitation import _condition, _fourier
from robolin.errors import RobolinError, UsageError
from tests.cli.command import robolin as run
from tests.cli.command import run_ok

LIMITS = {"max_velocity": [2.0, 3.0], "max_acceleration": [10.0, 20.0]}


@pytest.fixture(scope="module")
def motion() -> robolin.Excitation:
    """A motion of the Panda, with rows ten times closer than those of the search."""
    return robolin.excite(robolin.load("panda"), duration=5.0, dt=0.01, iterations=60)


def test_no_limit_is_exceeded(motion: robolin.Excitation) -> None:
    """The motion uses at most 90 % of every limit, also between the rows of the search."""
    arm = robolin.load("panda")
    margins = robolin.limits(arm, motion.q, motion.qd, motion.tau).margins

    assert len(margins) == 3 * arm.n
    for each in margins:
        joint = next(joint for joint in arm.joints if joint.name == each.joint)
        low, high = joint.limits.lower, joint.limits.upper
        assert None not in (low, high)
        size = 0.5 * (high - low) if each.quantity == "position" else abs(each.limit)
        assert each.margin >= (0.1 - 1e-9) * size, each
    assert 0.85 <= motion.used.max() <= 0.9


@pytest.mark.slow
def test_a_motion_at_the_end_of_a_range_stays_inside() -> None:
    """A search of 300 motions ends next to a position limit; no smaller motion leaves it."""
    motion = robolin.excite(robolin.load("panda"), dt=0.005, iterations=300)

    assert (motion.used[:, 0] <= 0.9).all()
    assert motion.identifiable.rank == motion.possible


def test_it_starts_and_ends_at_rest(motion: robolin.Excitation) -> None:
    """Velocities and accelerations of the first and the last row are zero."""
    for values in (motion.qd, motion.qdd):
        assert np.abs(values[[0, -1]]).max() <= 1e-12 * np.abs(values).max()
    np.testing.assert_allclose(motion.q[0], motion.q[-1], atol=1e-12)


def test_velocities_are_derivatives_of_positions(motion: robolin.Excitation) -> None:
    """q̇ and q̈ are the rates of q and q̇; differences have an error of dt² times the third rate."""
    for values, rates in ((motion.q, motion.qd), (motion.qd, motion.qdd)):
        differences = (values[2:] - values[:-2]) / 0.02
        # the fastest of 5 harmonics turns with 2 π rad/s: (2 π dt)² / 6 of the rate
        assert np.abs(differences - rates[1:-1]).max() <= 7e-4 * np.abs(rates).max()


def test_torques_are_those_of_the_model(motion: robolin.Excitation) -> None:
    """τ is the inverse dynamics of the motion."""
    tau = robolin.inverse(robolin.load("panda"), motion.q, motion.qd, motion.qdd)
    np.testing.assert_array_equal(motion.tau, tau)


def test_it_determines_what_random_motions_determine(motion: robolin.Excitation) -> None:
    """All 43 inertial base parameters, 7 dampings, and 5 rotors that no inertia covers."""
    assert motion.identifiable.rank == motion.possible == 55
    identifiable = robolin.identifiable(robolin.load("panda"), motion.q, motion.qd, motion.qdd)
    assert identifiable.condition == motion.identifiable.condition


@pytest.mark.slow
def test_condition_of_published_motions() -> None:
    """The condition number is below 14, the largest of published optimized motions (10 to 14)."""
    excitation = robolin.excite(robolin.load("panda"), iterations=400)

    assert excitation.identifiable.condition <= 14.0


@pytest.mark.parametrize("angle", [1.0, 1e-4, 1e-9])
def test_condition_of_two_columns(angle: float) -> None:
    """Unit columns at an angle have the condition 1 / tan(angle / 2), also beyond 1e8."""
    columns = np.array([[1.0, np.cos(angle)], [0.0, np.sin(angle)], [0.0, 0.0]])

    assert _condition(3.0 * columns, 2) == pytest.approx(1.0 / np.tan(0.5 * angle), rel=1e-6)


def test_more_trials_give_more_information() -> None:
    """The determinant of YᵀY of the base parameters, which the search maximizes, grows."""
    arm = robolin.load("two-link")
    columns = [robolin.excite(arm, duration=4.0, iterations=count, **LIMITS) for count in (1, 80)]
    sizes = []
    for motion in columns:
        Y = robolin.regressor(arm, motion.q, motion.qd, motion.qdd).matrix.reshape(-1, 24)
        sizes.append(np.log(np.linalg.svd(Y, compute_uv=False)[:9]).sum())

    assert sizes[1] > sizes[0] + 1.0


def test_the_same_seed_gives_the_same_motion() -> None:
    """Seed and iterations determine the motion; another seed gives another one."""
    arm = robolin.load("two-link")
    one, same, other = (
        robolin.excite(arm, duration=4.0, iterations=12, seed=seed, **LIMITS) for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(one.q, same.q)
    assert not np.array_equal(one.q, other.q)


def test_periods_repeat() -> None:
    """A duration of several periods repeats the motion."""
    arm = robolin.load("two-link")
    excitation = robolin.excite(arm, duration=6.0, period=2.0, dt=0.02, iterations=5, **LIMITS)

    np.testing.assert_allclose(excitation.q[:100], excitation.q[200:300], atol=1e-12)
    assert (np.abs(excitation.qd).max(axis=0) <= 0.9 * np.array(LIMITS["max_velocity"])).all()
    assert (np.abs(excitation.qdd).max(axis=0) <= 0.9 * np.array(LIMITS["max_acceleration"])).all()


def test_series_without_velocity_and_acceleration() -> None:
    """The free coefficients span all series of 4 harmonics that are at rest at time 0."""
    basis = _fourier(np.array([0.0, 1.3]), 3.0, 4)

    assert basis.q.shape == (2, 6)
    assert np.abs(basis.qd[0]).max() < 1e-14
    assert np.abs(basis.qdd[0]).max() < 1e-13


def test_limits_that_are_missing_or_impossible() -> None:
    """The message names the joints, and the payload that no motor can lift has no motion."""
    with pytest.raises(RobolinError, match="velocity of 'shoulder', effort of 'shoulder'"):
        robolin.excite(robolin.load("two-link"))
    heavy = robolin.load("panda", payload=("panda_hand_tcp", 500.0))
    with pytest.raises(RobolinError, match="no motion within the effort limits"):
        robolin.excite(heavy, iterations=3)
    arm = robolin.load("panda")
    tip, *rest = arm.links_tip_to_base
    stuck = replace(tip, joint=replace(tip.joint, limits=replace(tip.joint.limits, velocity=0.0)))
    with pytest.raises(RobolinError, match=f"joint '{tip.joint.name}' cannot move"):
        robolin.excite(replace(arm, links_tip_to_base=(stuck, *rest)))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("duration", 0.0), ("duration", 2.5), ("period", -1.0), ("dt", 0.3), ("margin", 1.5),
        ("harmonics", 1), ("iterations", 0), ("seed", -1), ("max_velocity", [0.0, 1.0]),
    ],
)  # fmt: skip
def test_wrong_arguments(name: str, value: object) -> None:
    """Arguments without a motion are rejected by name."""
    options = {"duration": 2.0, "period": 1.0, **LIMITS, name: value}
    with pytest.raises(UsageError, match=name):
        robolin.excite(robolin.load("two-link"), **options)


def test_the_command_writes_the_motion(tmp_path: Path) -> None:
    """A trajectory with the numbers of the function; the rank is a note."""
    target = tmp_path / "motion.csv"
    flags = ("--duration", "4", "--iterations", "12", "--seed", "3", "--max-velocity", "2,3")
    more = ("--max-acceleration", "10,20", "-o", target)
    ran = run_ok("excite", "two-link", *flags, *more)
    excitation = robolin.excite(
        robolin.load("two-link"), duration=4.0, iterations=12, seed=3, **LIMITS
    )

    table = np.loadtxt(target, delimiter=",", skiprows=1)
    expected = np.hstack(
        [excitation.time[:, None], excitation.q, excitation.qd, excitation.qdd, excitation.tau]
    )
    np.testing.assert_array_equal(table, expected)
    assert "the motion determines 9 of 9 identifiable parameters; the condition" in ran.err
    rank = run_ok("regressor", "two-link", "--rank", "--trajectory", target)
    assert rank.numbers[0][0] == 9.0


def test_one_limit_can_apply_to_all_joints() -> None:
    """`--max-velocity 2` is `--max-velocity 2,2`."""
    both = [
        run_ok("excite", "two-link", "--duration", "2", "--iterations", "2", *flags).out
        for flags in (
            ("--max-velocity", "2", "--max-acceleration", "9"),
            ("--max-velocity", "2,2", "--max-acceleration", "9,9"),
        )
    ]
    assert both[0] == both[1]


def test_nothing_is_written_without_a_motion(tmp_path: Path) -> None:
    """Missing limits: exit code 3, a hint, and no file."""
    target = tmp_path / "motion.csv"
    ran = run("excite", "two-link", "-o", target)

    assert ran.code == 3
    assert "--max-velocity" in ran.err
    assert not target.exists()
