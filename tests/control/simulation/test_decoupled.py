"""Properties of diagonalized dynamics along simulated motions."""

from __future__ import annotations

from itertools import cycle
from typing import Literal

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from tests.control.simulation.motions import bundled, gentle_state
from tests.robots import arm_name

ARMS = bundled()
OPEN = [arm for arm in ARMS if not arm.loops]
CLOSED = [arm for arm in ARMS if arm.loops]

# one second by steps of one millisecond
SECOND = {"duration": 1.0, "dt": 1e-3, "every": 100, "limits": False}
FREE = robolin.RateControl(0.0)


# the compared velocities alternate between xi and nu; a quick run takes two arms
FORCELESS = [
    pytest.param(arm, state, id=arm.name, marks=[] if i < 2 else [pytest.mark.slow])
    for i, (arm, state) in enumerate(zip(OPEN, cycle(("xi", "nu")), strict=False))
]


@pytest.mark.slow
@pytest.mark.parametrize(("arm", "state"), FORCELESS)
def test_motion_without_force(arm: Arm, state: Literal["xi", "nu"]) -> None:
    """With ε = 0, kinetic energy is constant to 1e-12 for a second in all velocities.

    The second has a thousand steps of order 4, whose errors grow with the fifth power of speed:
    a quarter of a radian per second leaves 1e-13.  Nearby motions diverge slowly, so states agree
    to 1e-9; a third of a second is enough to compare them.
    """
    q, qd = gentle_state(arm)
    motion = robolin.simulate(arm, q, qd, control=FREE, **SECOND)

    assert np.abs(_remaining(motion) - 1.0).max() < 1e-12
    # the arm moves, and only inertia changes its velocities
    assert np.abs(motion.q[-1] - q).max() > 0.1
    assert np.abs(motion.qd[-1] - qd).max() > 1e-3
    if not arm.has_mimic:
        third = {**SECOND, "duration": 0.3}
        other = robolin.simulate(arm, q, qd, control=FREE, state=state, **third)
        assert np.abs(_remaining(other) - 1.0).max() < 1e-12
        assert np.abs(motion.q[3] - other.q[-1]).max() < 1e-9
        assert np.abs(motion.qd[3] - other.qd[-1]).max() < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("arm", CLOSED, ids=arm_name)
def test_closed_loops_take_no_energy(arm: Arm) -> None:
    """The forces of closures do no work: with ε = 0 an arm with loops keeps its kinetic energy."""
    q, qd = gentle_state(arm)
    motion = robolin.simulate(arm, q, qd, control=FREE, duration=0.05, dt=1e-3, limits=False)

    assert np.abs(_remaining(motion) - 1.0).max() < 1e-12


def _remaining(motion: robolin.Simulation) -> np.ndarray:
    return motion.kinetic_energy / motion.kinetic_energy[0]


@pytest.mark.parametrize("arm", OPEN, ids=arm_name)
def test_rate_control_slows_down_exponentially(arm: Arm) -> None:
    """With ε = -c ν the kinetic energy falls as exp(-2 c t), to 1e-8 of itself at any time."""
    q, qd = gentle_state(arm)
    half = {**SECOND, "duration": 0.5, "dt": 2e-3, "every": 25}
    motion = robolin.simulate(arm, q, qd, control=robolin.RateControl(1.5), **half)

    assert np.abs(_remaining(motion) * np.exp(3.0 * motion.time) - 1.0).max() < 1e-8
    assert np.array_equal(motion.lyapunov, motion.kinetic_energy)


@pytest.mark.parametrize("name", ["panda", "puma560"])
def test_gains_per_joint_dissipate_their_own_power(name: str) -> None:
    """With a gain per joint, the work done is -∫ ν* c ν."""
    arm = robolin.load(name, gravity=0, damping=False)
    q, qd = gentle_state(arm)
    gains = np.linspace(0.5, 2.0, arm.n)
    law = robolin.RateControl(gains)
    motion = robolin.simulate(arm, q, qd, control=law, duration=0.2, limits=False)

    nu = robolin.diagonalize(arm, motion.q, motion.qd).nu
    taken = (gains * nu**2).sum(axis=-1)
    # Simpson's rule over pairs of steps is good to the fourth order of 1 ms
    by_simpson = (taken[:-2:2] + 4.0 * taken[1::2] + taken[2::2]).sum() * 1e-3 / 3.0
    assert abs(motion.work[-1] + by_simpson) < 1e-9 * by_simpson


@pytest.mark.parametrize("state", ["xi", "nu"])
@pytest.mark.parametrize("name", ["two-link", "panda"])
def test_states_agree_in_free_fall(name: str, state: str) -> None:
    """With a tolerance of 1e-12, a falling arm moves the same in all velocities."""
    arm = robolin.load(name)
    q, _ = gentle_state(arm)
    fall = {"duration": 0.5, "rtol": 1e-12, "rows": 3}
    along = robolin.simulate(arm, q, **fall)
    other = robolin.simulate(arm, q, state=state, **fall)

    assert np.abs(along.q - other.q).max() < 1e-9
    assert np.abs(along.qd - other.qd).max() < 1e-9
