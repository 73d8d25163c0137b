"""Integrators against closed forms, their own order, and each other."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy.special import ellipk

import robolin
from robolin.control.simulation.integrators import FixedSteps
from robolin.control.simulation.schedule import Schedule
from robolin.core.arm import Arm, Joint, Link
from robolin.core.arrays import Floats
from robolin.errors import RobolinError
from tests.control.simulation.motions import PENDULUM_SQUARED, gentle_state, pendulum
from tests.robots import random_arm, random_states

HANGING = -0.5 * np.pi


def test_pendulum_comes_back_after_its_period() -> None:
    """A swing of 2 rad takes 4 K(sin²(1)) / ω, by the complete elliptic integral."""
    period = 4.0 * ellipk(np.sin(1.0) ** 2) / np.sqrt(PENDULUM_SQUARED)
    motion = robolin.simulate(pendulum(), [HANGING + 2.0], duration=period, dt=period / 2000)

    # 2000 steps of order 4 leave 1e-11
    assert abs(motion.q[-1, 0] - motion.q[0, 0]) < 1e-10
    assert abs(motion.qd[-1, 0]) < 1e-10
    assert abs(motion.q[1000, 0] - (HANGING - 2.0)) < 1e-10
    assert motion.energy_drift < 1e-9


def test_slider_falls_by_half_g_t_squared() -> None:
    """A prismatic link without friction is in free fall, which RK4 integrates exactly."""
    body = random_arm(0, 1).links[0]
    joint = Joint("slide", "prismatic", body.joint.pose, (0.0, 0.0, 1.0))
    arm = Arm("slider", (Link("mass", joint, 2, body.inertia),), {}, ("slide",))
    pull = robolin.forward(arm, [0.0])[0]

    motion = robolin.simulate(arm, [0.3], [-0.7], duration=2.0, dt=0.1)

    true = 0.3 - 0.7 * motion.time + 0.5 * pull * motion.time**2
    assert np.abs(motion.q[:, 0] - true).max() < 1e-13 * np.abs(true).max()


def test_fixed_steps_are_of_order_four() -> None:
    """Halving the step of rk4 divides the error by 16."""
    arm = robolin.load("two-link")
    second = {"duration": 1.0, "every": None}
    true = robolin.simulate(arm, [0.3, -0.4], duration=1.0, rtol=1e-13, rows=2).q[-1]
    errors = [
        float(np.abs(robolin.simulate(arm, [0.3, -0.4], **second, dt=dt).q[-1] - true).max())
        for dt in (4e-3, 2e-3, 1e-3)
    ]

    # the next order of the error is some per cent of it at these steps
    assert errors[0] / errors[1] == pytest.approx(16.0, rel=0.15)
    assert errors[1] / errors[2] == pytest.approx(16.0, rel=0.15)


def test_motion_runs_backwards() -> None:
    """From the last state with reversed velocities, an arm without dissipation returns."""
    arm = robolin.load("panda", damping=False)
    q, qd = gentle_state(arm)
    along = {"duration": 0.3, "dt": 1e-3, "every": None, "hold": True, "limits": False}
    there = robolin.simulate(arm, q, qd, **along)
    back = robolin.simulate(arm, there.q[-1], -there.qd[-1], **along)

    assert np.abs(back.q[-1] - q).max() < 1e-12
    assert np.abs(back.qd[-1] + qd).max() < 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("integrator", ["dop853", "rk45", "radau"])
def test_adapted_steps_keep_their_tolerance(integrator: str) -> None:
    """Every adaptive method ends where very small fixed steps end, within its tolerance."""
    arm = robolin.load("two-link")
    settings = {"integrator": integrator, "rtol": 1e-8, "dt": 0.1}
    motion = robolin.simulate(arm, [0.3, -0.4], [1.0, 0.0], duration=0.45, **settings)
    true = robolin.simulate(arm, [0.3, -0.4], [1.0, 0.0], duration=0.45, dt=5e-4, every=200)

    assert motion.time == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.45], abs=1e-15)
    # the tolerance is kept by every step; some dozens of them add up
    assert np.abs(motion.q - true.q).max() < 1e-6
    assert motion.energy_drift < 1e-6


def test_stiff_damping_needs_an_implicit_integrator() -> None:
    """Damping too strong for 1 ms is an error with a hint; radau integrates it."""
    arm = robolin.load("xarm7")
    q, qd = gentle_state(arm)
    with pytest.raises(robolin.RobolinError, match=r"at t = .* s: ") as error:
        robolin.simulate(arm, q, qd, duration=0.1, dt=1e-3)
    assert "damping" in error.value.hint

    settings = {"rtol": 1e-6, "rows": 2, "tau": robolin.inverse(arm, q)}
    motion = robolin.simulate(arm, q, qd, duration=0.1, integrator="radau", **settings)
    assert motion.energy_drift < 1e-5 * motion.kinetic_energy[0]


@pytest.mark.slow
@pytest.mark.parametrize("state", ["rates", "nu"])
def test_a_state_does_not_know_its_neighbours(state: str) -> None:
    """Every motion of a batch has the bits it has alone, on either engine, by any threads."""
    arm = robolin.load("ur5")
    states = random_states(arm, 4)
    law = robolin.PoseControl("tool0", [0.3, 0.2, 0.4])
    options = {"duration": 0.01, "dt": 2e-3, "control": law, "state": state}
    together = robolin.simulate(arm, states.q, states.qd, engine="compiled", jobs=2, **options)
    slow = robolin.simulate(arm, states.q, states.qd, engine="python", **options)

    assert np.array_equal(together.q, slow.q)
    for i in (0, 3):
        alone = robolin.simulate(arm, states.q[i], states.qd[i], engine="compiled", **options)
        for name in ("q", "qd", "qdd", "tau", "kinetic_energy", "energy_error", "lyapunov"):
            assert np.array_equal(getattr(alone, name), getattr(together, name)[i]), name


def test_output_times_of_adaptive_steps_are_dt_apart() -> None:
    """With adaptive steps, dt sets the output times; `every` is for rk4."""
    for every in (1, None):
        schedule = Schedule(0.45, "dop853", dt=0.1, rtol=1e-6, every=every)
        assert schedule.times() == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.45], abs=1e-15)


def test_a_step_longer_than_the_duration_is_shortened() -> None:
    """A step is never longer than the duration, and the settings text states it."""
    assert Schedule(1.0, dt=2.0).settings_text() == "Runge–Kutta of order 4, dt = 1 s, 1 step"


def test_adapted_steps_of_a_batch_are_those_of_each_state() -> None:
    """With a tolerance, each state takes its own steps, independent of the others."""
    arm = robolin.load("two-link")
    q, tau = np.array([[0.1, 0.2], [1.0, -2.0]]), np.array([[0.0, 0.0], [1.0, -1.0]])
    together = robolin.simulate(arm, q, duration=0.3, rtol=1e-8, rows=4, tau=tau)
    alone = robolin.simulate(arm, q[1], duration=0.3, rtol=1e-8, rows=4, tau=tau[1])

    assert together.q.shape == (2, 4, 2)
    assert np.array_equal(together.q[1], alone.q)


def test_batch_axes_come_first() -> None:
    """Any number of leading axes broadcast, and come before rows and joints."""
    arm = robolin.load("two-link")
    q, qd = np.zeros((3, 1, 2)), np.ones((4, 2))
    motion = robolin.simulate(arm, q, qd, duration=0.005, dt=1e-3, every=2)

    assert motion.time.tolist() == [0.0, 0.002, 0.004, 0.005]
    assert motion.q.shape == motion.tau.shape == motion.saturated.shape == (3, 4, 4, 2)
    assert motion.energy_error.shape == (3, 4, 4)
    assert motion.energy_drift.shape == (3, 4)


class NoFailure:
    """For rates that never fail."""

    def __call__(self, t: float, before: Floats, y: Floats, error: RobolinError) -> RobolinError:
        return error

    def diverged(self, y: Floats) -> bool:
        return False

    def stopped(self, t: float, y: Floats) -> RobolinError:
        raise AssertionError

    def exhausted(self, t: float, y: Floats, evaluations: int) -> RobolinError:
        raise AssertionError


def test_last_step_is_cut_to_the_duration() -> None:
    """If the duration is not a multiple of the step, the last step is shorter, with order 4."""
    times = []

    def growth(t: float, y: np.ndarray, out: np.ndarray) -> None:
        times.append(t)
        out[...] = y

    kept = FixedSteps(growth, np.ones(1), Schedule(1.0, dt=0.03), NoFailure()).run()

    assert len(kept) == 35
    assert max(times) <= 1.0
    assert kept[-1, 0] == pytest.approx(np.e, abs=1e-6)


def test_rounding_makes_no_extra_step() -> None:
    """1 s by 1 ms is a thousand steps although 1 / 0.001 need not be whole in binary."""
    for dt in (1e-3, 1e-4, 0.1, 1.0 / 3.0):
        assert Schedule(1.0, dt=dt).steps == round(1.0 / dt)
    assert Schedule(0.3, dt=0.1).steps == 3
    assert len(Schedule(0.3, dt=0.1).times()) == 4


def test_missing_scipy_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without SciPy, a tolerance is rejected with a hint; fixed steps still work."""
    monkeypatch.setitem(sys.modules, "scipy.integrate", None)
    arm = robolin.load("two-link")
    with pytest.raises(
        robolin.RobolinError, match="adaptive steps need SciPy, which is not installed"
    ) as error:
        robolin.simulate(arm, [0.0, 0.0], duration=0.1, rtol=1e-6)
    assert "pip install scipy, or use fixed steps with dt" in error.value.hint
    assert robolin.simulate(arm, [0.0, 0.0], duration=0.01).q.shape == (11, 2)


@pytest.mark.slow
def test_floating_arms_keep_their_energy() -> None:
    """A free-floating Panda keeps its energy while its base rotates; both integrators agree."""
    arm = robolin.load("panda", floating_base=True, gravity=0, damping=False)
    rng = np.random.default_rng(3)
    q, qd = rng.uniform(-1.0, 1.0, arm.n), 0.5 * rng.normal(size=arm.n)
    fixed = robolin.simulate(arm, q, qd, duration=0.3, dt=1e-3, every=100)
    adapted = robolin.simulate(arm, q, qd, duration=0.3, rtol=1e-11, dt=0.1)

    assert fixed.energy_drift < 1e-11 * fixed.kinetic_energy[0]
    assert np.abs(fixed.q - adapted.q).max() < 1e-9


@pytest.mark.parametrize("duration, dt, steps", [(0.07, 0.01, 7), (0.3, 0.1, 3), (0.35, 0.1, 4)])
def test_rounding_of_the_duration_makes_no_step(duration: float, dt: float, steps: int) -> None:
    """0.07/0.01 is a little more than 7 in floats; an eighth step would be rounding."""
    schedule = Schedule(duration, dt=dt)
    lengths = [schedule.segment(step)[1] for step in range(schedule.steps)]
    assert schedule.steps == len(lengths) == steps
    assert sum(lengths) == pytest.approx(duration, rel=1e-12)
    assert min(lengths) > 0.4 * dt
    times = schedule.times()
    assert (len(times), times[0], times[-1]) == (steps + 1, 0.0, duration)


def test_radau_integrates_arms_on_a_vertical_joint() -> None:
    """The rate does not depend on the angle of a vertical joint; its differences stay bounded."""
    arm = robolin.load("xarm7")
    q = np.zeros(7)
    stiff = robolin.simulate(arm, q, duration=1.2, integrator="radau", rows=2)
    small = robolin.simulate(arm, q, duration=1.2, dt=1e-4, every=12000)
    np.testing.assert_allclose(stiff.q[-1], small.q[-1], atol=1e-7)
