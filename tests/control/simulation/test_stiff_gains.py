"""Gains that make an arm faster than steps of fixed size can follow."""

from __future__ import annotations

import numpy as np
import pytest

import robolin

POSE = [0.3, -0.7]


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
