"""Motions that diverge are errors with time, joint and advice; other errors keep their cause."""

from __future__ import annotations

import signal

import numpy as np
import pytest

import robolin
from robolin.control.simulation import integrators
from robolin.control.simulation.torques import TorqueFunction
from tests.control.simulation.motions import gentle_state, pendulum

ARM = robolin.load("two-link", gravity=0)


def amplified(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    """Torques that make velocities of the elbow grow as exp(1e4 t) and faster."""
    return np.stack([0.0 * qd[..., 0], 1e4 * qd[..., 1] + 1.0], axis=-1)


def message(**settings: object) -> robolin.RobolinError:
    arguments = {"q": [0.0, 0.0], "duration": 1.0, "tau": amplified, **settings}
    with pytest.raises(robolin.RobolinError) as error:
        robolin.simulate(arguments.pop("arm", ARM), **arguments)
    return error.value


PATHS = {
    "rk4": {"dt": 0.01},
    "nu": {"dt": 0.01, "state": "nu"},
    "xi": {"dt": 0.01, "state": "xi"},
    "one step": {"dt": 0.1, "duration": 0.1},
    "tables": {"dt": 0.5, "tau": robolin.TorqueTable([0.0, 1.0], [[0.0, 1e9], [0.0, 1e9]])},
    "disturbance": {"dt": 0.01, "tau": 0.0, "disturbance": amplified},
    "pd": {"dt": 0.1, "control": robolin.PDControl([0.0, 1.0], kp=1e5, kd=0.0), "tau": 0.0},
    "computed torque": {
        "dt": 0.1,
        "control": robolin.ComputedTorque([0.0, 1.0], kp=1e5, kd=0.0),
        "tau": 0.0,
    },
    "rate control": {
        "dt": 0.1,
        # steps of rk4 that are too long are rejected before the first one
        "integrator": "euler",
        "control": robolin.RateControl(1e4),
        "tau": 0.0,
        "qd": [0.0, 1.0],
    },
    "held": {
        "dt": 0.1,
        "control": robolin.FeedbackControl(
            1e4 * np.eye(2, 4) + 1e4 * np.eye(2, 4, 2), [0.1, 0.1], dt=0.1
        ),
        "tau": 0.0,
    },
}


@pytest.mark.parametrize("path", PATHS)
def test_steps_that_are_too_long_diverge(path: str) -> None:
    """Fixed steps that lose a motion are reported with time, joint and what to change."""
    error = message(**PATHS[path])
    assert "the simulation diverged at t = " in error.message
    assert "joint 'elbow'" in error.message or "joint 'shoulder'" in error.message
    assert "must be within ±" not in error.message
    assert f"--dt {PATHS[path]['dt'] / 10.0:g}" in error.hint
    # torques held from sample to sample need fixed steps
    assert ("radau" in error.hint) == (path != "held")


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["dop853", "rk45", "radau"])
def test_adapted_steps_follow_a_motion_that_runs_away(integrator: str) -> None:
    """Where steps adapt, the torques are to blame, not the steps."""
    settings = {"integrator": integrator, "rtol": 1e-6}
    error = message(arm=pendulum(), q=[0.0], tau=lambda t, q, qd: 1e3 * qd + 1.0, **settings)
    assert "the simulation diverged at t =" in error.message
    assert f"joint '{pendulum().joint_names[0]}'" in error.message
    assert "torques" in error.hint
    assert "dt" not in error.hint


ADAPTIVE = ["dop853", "rk45", "radau"]


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_adaptive_steps_have_a_budget(integrator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A motion that gets faster and faster ends after a number of evaluations, not of seconds."""
    monkeypatch.setattr(integrators, "EVALUATION_BUDGET", 500)
    settings = {"integrator": integrator, "rtol": 1e-6, "limits": False, "duration": 5.0}
    arm = robolin.load("two-link")
    first, second = (message(arm=arm, tau=[1e5, 1e5], **settings) for _ in range(2))
    assert "reached only t = 0.0" in first.message
    assert "of 5 s in 500 evaluations" in first.message
    assert "joint 'elbow' has position" in first.message
    assert "check torques" in first.hint
    assert ("radau" in first.hint) == (integrator != "radau")
    assert (first.message, first.hint) == (second.message, second.hint)


@pytest.mark.parametrize("integrator", ADAPTIVE)
def test_stiff_motions_stay_far_below_the_budget(integrator: str) -> None:
    """Velocities that decay at 3e5 1/s and more take a hundredth of the budget at the most."""
    counts = []

    def damped(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        counts.append(t)
        return -1e5 * qd

    # I q̈ = -1e5 q̇ with I of 1/3 kg m² and less
    settings = {"integrator": integrator, "rtol": 1e-6, "rows": 2, "limits": False}
    robolin.simulate(ARM, 0.0, [0.1, 0.0], duration=1e-3, tau=damped, **settings)
    assert len(counts) < 0.01 * integrators.EVALUATION_BUDGET


def test_the_budget_grows_with_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long motions have a budget per second: 10 s take more than that of the first second."""
    monkeypatch.setattr(integrators, "EVALUATION_BUDGET", 1000)
    counts = []

    def counted(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        counts.append(t)
        return np.zeros_like(q)

    swinging = robolin.load("two-link")
    robolin.simulate(swinging, [0.3, 0.1], duration=10.0, rtol=1e-6, rows=2, tau=counted)
    assert len(counts) > 1000


def test_an_interrupt_ends_adaptive_steps() -> None:
    def interrupted(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        if t > 0.1:
            signal.raise_signal(signal.SIGINT)
        return np.zeros_like(q)

    # a shell starts processes in the background with the signal ignored
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            robolin.simulate(ARM, 0.0, 0.1, duration=1.0, rtol=1e-6, tau=interrupted)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_advice_helps() -> None:
    """With the step that the hint names, the same controller comes to rest."""
    law = robolin.PDControl([0.3, -0.2], kp=200.0, kd=20.0)
    error = message(dt=0.05, control=law, tau=0.0)
    assert "--dt 0.0094 or less" in error.hint
    # the slowest mode decays as exp(-3.7 t)
    motion = robolin.simulate(ARM, [0.0, 0.0], duration=6.0, dt=0.005, control=law)
    assert np.abs(motion.q[-1] - [0.3, -0.2]).max() < 1e-6


def test_the_state_of_a_batch_is_named() -> None:
    """In a batch, the first state that diverges is named by its number."""
    qd = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 0.0]])

    def growing(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return 1e4 * qd

    error = message(q=np.zeros((3, 2)), qd=qd, dt=0.01, tau=growing)
    assert error.message.startswith("state 1: the simulation diverged at t = ")


def test_closed_loops_are_not_advised_to_adapt() -> None:
    """Arms whose loops are projected after each step are advised what they can do."""
    arm = robolin.load("four-bar")
    q, _ = gentle_state(arm)
    error = message(arm=arm, q=q, tau=lambda t, q, qd: 1e6 * qd + 1e3, dt=0.05)
    assert "at t = " in error.message
    assert "radau" not in error.hint


def _three(t: float, q: np.ndarray, qd: np.ndarray) -> list[float]:
    return [1.0, 2.0, 3.0] if t > 0.5 else [0.0, 0.0]


def _missing(t: float, q: np.ndarray, qd: np.ndarray) -> list[float]:
    return [np.nan, 0.0] if t > 0.5 else [0.0, 0.0]


def _last(t: float, q: np.ndarray, qd: np.ndarray) -> list[float]:
    return [np.nan, 0.0] if t >= 1.0 else [0.0, 0.0]


@pytest.mark.parametrize("integrator", ["rk4", "dop853"])
@pytest.mark.parametrize("function", [_three, _missing, _last])
def test_other_errors_keep_their_cause(function: TorqueFunction, integrator: str) -> None:
    """A controller that fails is named with the time, and no steps are blamed."""
    error = message(tau=function, integrator=integrator)
    assert error.message.startswith("at t = ")
    assert "tau" in error.message
    assert "use a smaller step (--dt" not in error.hint


@pytest.mark.slow
def test_a_jump_that_no_step_follows() -> None:
    """A torque that grows beyond all bounds ends with the time at which it does."""
    arm = pendulum()
    error = message(arm=arm, q=[0.0], tau=lambda t, q, qd: [(0.5 - t) ** -2.0], rtol=1e-6)
    assert "at t = 0.5 s" in error.message
    assert f"joint '{arm.joint_names[0]}'" in error.message


def test_a_large_energy_error_is_a_warning() -> None:
    """Steps that are too long for the motion, without divergence; the caller is named."""
    arm = robolin.load("two-link")
    with pytest.warns(robolin.RobolinWarning, match="use a smaller dt or rtol") as caught:
        robolin.simulate(arm, [1.0, -0.5], duration=2.0, dt=0.2)
    assert [warning.filename for warning in caught] == [__file__]
    with pytest.warns(robolin.RobolinWarning) as caught:
        robolin.simulate(arm, [1.0, -0.5], duration=1.0, dt=5.0)
    assert "dt = 5 s is longer than the duration of 1 s" in str(caught[0].message)
