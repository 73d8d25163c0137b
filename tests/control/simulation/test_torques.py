"""Torques of simulated arms, effort limits, and the energy balance."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Limits
from tests.robots import WRENCH_MODELS, random_arm, random_states, with_follower, with_wrench

SHORT = {"duration": 0.1, "dt": 1e-3}


@pytest.mark.slow
def test_holding_torque_holds() -> None:
    """An arm that starts at rest stays there for as long as weight and loads are carried."""
    arm = with_wrench(random_arm(3, 6, tree=True), "dead")
    q = random_states(arm, 1).q[0]
    motion = robolin.simulate(arm, q, hold=True, **SHORT)

    assert np.abs(motion.q - q).max() < 1e-12
    assert np.abs(motion.tau - robolin.inverse(arm, q)).max() < 1e-9


def test_hold_plus_torque_equals_no_gravity() -> None:
    """`hold` with a torque gives the motion of that torque without gravity."""
    arm, light = robolin.load("two-link"), robolin.load("two-link", gravity=0)
    held = robolin.simulate(arm, [0.3, 0.1], tau=[1.0, -0.5], hold=True, **SHORT)
    weightless = robolin.simulate(light, [0.3, 0.1], tau=[1.0, -0.5], **SHORT)

    assert np.abs(held.q - weightless.q).max() < 1e-13


def test_table_is_followed_on_straight_lines() -> None:
    """Between rows torques are on straight lines, outside them those of the nearest row."""
    arm = robolin.load("two-link")
    table = robolin.TorqueTable([0.02, 0.04, 0.08], [[1.0, 0.0], [3.0, 2.0], [-1.0, 2.0]])
    motion = robolin.simulate(arm, [0.3, 0.1], tau=table, **SHORT)

    true = [np.interp(motion.time, table.time, column) for column in np.transpose(table.tau)]
    assert np.abs(motion.tau - np.transpose(true)).max() < 1e-14


def test_function_is_followed() -> None:
    """A torque may be any function of t, q and q̇; a spring and its energy are such a one."""
    arm = robolin.load("two-link", gravity=0)
    motion = robolin.simulate(arm, [0.3, 0.1], tau=lambda t, q, qd: -20.0 * q, **SHORT)

    assert np.array_equal(motion.tau, -20.0 * motion.q)
    stored = 10.0 * (motion.q**2).sum(axis=-1)
    # work comes from the spring alone, to the order of the steps
    assert np.abs(motion.work - (stored[0] - stored)).max() < 1e-9


ARMS = (
    random_arm(1, 5, damping=True, armature=True),
    random_arm(2, 5, tree=True, damping=True, friction_velocity=0.3),
    *(with_wrench(random_arm(4, 4, damping=True), model) for model in WRENCH_MODELS),
    with_follower(random_arm(5, 4, damping=True)),
)


@pytest.mark.parametrize(
    "arm",
    [
        pytest.param(arm, id=arm.name, marks=[pytest.mark.slow] if i else [])
        for i, arm in enumerate(ARMS)
    ],
)
def test_energy_is_accounted_for(arm: Any) -> None:
    """Energies gain what torques and loads do, less what friction takes, to the order of steps."""
    states = random_states(arm, 1)
    torque = 2.0 * states.dtau[0]
    motions = [
        robolin.simulate(arm, states.q[0], states.qd[0], tau=torque, duration=0.05, dt=dt)
        for dt in (2e-3, 1e-3)
    ]
    coarse, fine = (float(motion.energy_drift) for motion in motions)
    size = float(np.abs(motions[1].work).max())

    assert fine < 1e-7 * size
    # fourth order, unless rounding is all there is
    assert fine < coarse / 8.0 or fine < 1e-13 * size


def test_torques_are_cut_off_at_the_limits() -> None:
    """Effort limits of the description apply unless ignored, and saturation is reported."""
    arm = robolin.load("two-link")
    joints = {"shoulder": Limits(effort=2.0), "elbow": Limits()}
    links = tuple(
        replace(link, joint=replace(link.joint, limits=joints[link.joint.name]))
        for link in arm.links_tip_to_base
    )
    arm = replace(arm, links_tip_to_base=links)
    cut = robolin.simulate(arm, [0.3, 0.1], tau=[5.0, 5.0], **SHORT)
    true = robolin.simulate(arm, [0.3, 0.1], tau=[2.0, 5.0], **SHORT)
    ignored = robolin.simulate(arm, [0.3, 0.1], tau=[5.0, 5.0], limits=False, **SHORT)

    assert np.array_equal(cut.q, true.q)
    assert cut.saturated.all(axis=0).tolist() == [True, False]
    assert not true.saturated.any()
    pulled = robolin.simulate(arm, [0.3, 0.1], tau=[-5.0, -5.0], **SHORT)
    assert (pulled.tau == [-2.0, -5.0]).all()
    assert pulled.saturated.all(axis=0).tolist() == [True, False]
    assert (ignored.tau == 5.0).all()
    assert not ignored.saturated.any()


TABLES = {
    "rows": (
        [0.0, 1.0],
        [[0.0, 0.0]],
        r"a torque table must have times \(rows,\) and torques \(rows, 2\), got time \(2,\)",
    ),
    "not rising": (
        [0.0, 1.0, 1.0],
        np.zeros((3, 2)),
        "time: must increase, but does not increase from row 2 to row 3: 1 s and 1 s",
    ),
    "must be finite": ([0.0, np.nan], np.zeros((2, 2)), "must be finite"),
    "joints": (
        [0.0],
        [[1.0, 2.0, 3.0]],
        "tau: must have 2 values along its last axis, one per joint of 'two-link', got 3",
    ),
}
WRONG = {
    "is not a control law": ({"control": "rate"}, "str is not a control law"),
    "both": (
        {"control": robolin.RateControl(), "tau": [1.0, 0.0]},
        "control: control cannot be combined with tau or hold",
    ),
    "negative gain": ({"control": robolin.RateControl(-1.0)}, "gains must be finite and ≥ 0"),
    "gains": (
        {"control": robolin.RateControl([1.0, 2.0, 3.0])},
        "gain: must have 2 values along its last axis, one per joint of 'two-link', got 3",
    ),
    "frame": ({"control": robolin.PoseControl("tpi", [0, 0, 0])}, "frame: link 'tpi' not found"),
    "still frame": (
        {"control": robolin.PoseControl("base", [0, 0, 0])},
        "the frame 'base' is fixed to the base",
    ),
    "place": (
        {"control": robolin.PoseControl("tip", [0, 0])},
        r"position: must be finite numbers of shape \(3,\), got shape \(2,\)",
    ),
    "rotation": ({"control": robolin.PoseControl("tip", [0, 0, 0], np.ones((3, 3)))}, "rotation"),
    "stiffness": (
        {"control": robolin.PoseControl("tip", [0, 0, 0], position_gain=[1, 2])},
        "position_gain: must be one number or three, all ≥ 0",
    ),
    "duration": ({"duration": 0.0}, "duration: must be > 0, got 0"),
    "dt": ({"dt": -1.0}, "dt: must be > 0, got -1"),
    "rtol": ({"dt": None, "rtol": 1e-20}, "rtol: must be ≥ 1e-13, got 1e-20"),
    "fixed and tolerance": (
        {"integrator": "rk4", "rtol": 1e-6},
        "rtol: rk4 has fixed steps and no tolerance",
    ),
    "integrator": ({"integrator": "heun"}, "integrator: unknown integrator 'heun'"),
    "rows": ({"rows": 5}, "rows: rk4 has fixed steps, so the number of rows cannot be set"),
    "rows and dt": ({"rows": 5, "rtol": 1e-6}, "rows: dt and rows cannot be combined"),
    "every": ({"every": 0}, "every: must be an integer ≥ 1, got 0"),
    "every and tolerance": (
        {"rtol": 1e-6, "every": 2},
        "every: applies only to integrators with fixed",
    ),
    "steps": ({"duration": 1e9}, "dt: the simulation would have more than 100000000 steps"),
    "state": ({"state": "qd"}, "unknown state 'qd'"),
    "baumgarte": ({"baumgarte": (1.0, 1.0)}, "baumgarte: the robot has no closed loops"),
    "start": ({"q": [np.inf, 0.0]}, "q: must be finite, got inf at joint 'shoulder'"),
    "shapes": (
        {"q": np.zeros((2, 2)), "qd": np.zeros((3, 2))},
        r"the shapes cannot be broadcast together: q \(2, 2\), qd \(3, 2\)",
    ),
}


@pytest.mark.parametrize("case", TABLES, ids=str)
def test_bad_tables_are_rejected(case: str) -> None:
    """An ambiguous table of torques is an error with its location."""
    time, tau, message = TABLES[case]
    table = robolin.TorqueTable(time, tau)
    with pytest.raises(robolin.RobolinError, match=message):
        robolin.simulate(robolin.load("two-link"), [0.0, 0.0], tau=table, **SHORT)


@pytest.mark.parametrize("case", WRONG, ids=str)
def test_wrong_settings_are_rejected(case: str) -> None:
    """Settings that make no sense are errors that name them, before anything moves."""
    settings, message = WRONG[case]
    arguments = {"q": [0.0, 0.0], **SHORT, **settings}
    with pytest.raises(robolin.RobolinError, match=message):
        robolin.simulate(robolin.load("two-link"), **arguments)


def test_a_bad_initial_state_is_not_blamed_on_the_steps() -> None:
    """An error before the first step has its own hint, not one about shorter steps."""
    arm = robolin.load("two-link")
    with pytest.raises(robolin.RobolinError, match=r"at t = 0 s: .*tau") as error:
        robolin.simulate(arm, [0.0, 0.0], tau=lambda t, q, qd: [np.nan, 0.0], **SHORT)
    assert "use a smaller step (--dt" not in error.value.hint


def test_a_motion_that_runs_away_is_an_error() -> None:
    """An arm pushed beyond any number ends with the moment it was lost, not with NaN."""
    arm = robolin.load("two-link", gravity=0)
    with pytest.raises(
        robolin.RobolinError,
        match=r"^the simulation diverged at t = 0\.1 s: joint 'shoulder' has position",
    ) as error:
        robolin.simulate(arm, [0.0, 0.0], tau=lambda t, q, qd: 1e6 * qd + 1.0, duration=1.0, dt=0.1)
    assert "use a smaller step (--dt" in error.value.hint
