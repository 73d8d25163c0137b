"""Simulated linkages: conserved energy, closed loops, and linearized differences."""

from __future__ import annotations

import numpy as np
import pytest

import robolin


def started(name: str = "four-bar", hold: tuple[str, ...] = ("drive",)) -> tuple:
    arm = robolin.load(name)
    q, qd = np.zeros((2, arm.n))
    indices = [arm.joint_names.index(joint) for joint in hold]
    q[indices], qd[indices] = 0.4, 1.0
    state = robolin.close(arm, q, qd, hold=hold)
    return arm, state.q, state.qd


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, hold", [("four-bar", ("drive",)), ("five-bar", ("left_shoulder", "right_shoulder"))]
)
def test_energy_and_closures_are_kept(name: str, hold: tuple[str, ...]) -> None:
    """A falling linkage conserves energy to the order of steps, and its closures to round-off."""
    arm, q, qd = started(name, hold)
    drifts = []
    for dt in (4e-3, 2e-3):
        motion = robolin.simulate(arm, q, qd, duration=0.08, dt=dt)
        drifts.append(float(motion.energy_drift))
        left = robolin.loop_constraints(arm, motion.q, motion.qd)
        assert np.abs(left.open_by).max() < 1e-12
        assert np.abs(left.opening).max() < 1e-11
    # classical Runge–Kutta: halving the step leaves a sixteenth, of orders 4 or 5
    assert drifts[1] < drifts[0] / 10
    assert drifts[1] < 1e-8 * motion.kinetic_energy.max()


@pytest.mark.slow
def test_baumgarte_follows_the_projection() -> None:
    """Gaps that are drawn shut stay small, and the motion is the same up to them."""
    arm, q, qd = started()
    projected = robolin.simulate(arm, q, qd, duration=0.04, dt=2e-3)
    drawn = robolin.simulate(arm, q, qd, duration=0.04, dt=2e-3, baumgarte=(20.0, 20.0))
    gaps = np.abs(robolin.loop_constraints(arm, drawn.q).open_by).max()

    # both err by the integrator's 1e-9, and the gaps are of that size
    assert 0.0 < gaps < 1e-8
    np.testing.assert_allclose(drawn.q[-1], projected.q[-1], atol=1e-7)


@pytest.mark.slow
def test_baumgarte_lets_gaps_die_out() -> None:
    """A gap follows ë + 2 α ė + β² e = 0: with α = β it falls as (1 + α t) exp(-α t)."""
    from robolin.evaluation.loop_dynamics import Baumgarte
    from robolin.evaluation.loop_projection import LoopMotion

    arm, q, _ = started()
    motion = LoopMotion(arm, {}, baumgarte=Baumgarte(30.0, 30.0))
    q, qd, tau, h = q + 1e-4 * np.eye(3)[1], np.zeros(3), np.zeros(3), 1e-3
    first = robolin.loop_constraints(arm, q).open_by
    for _ in range(100):
        # a step of order 2 is enough to see the law
        middle = qd + h / 2 * motion(0.0, q, qd, tau)
        q, qd = q + h * middle, qd + h * motion(0.0, q + h / 2 * qd, middle, tau)
    left = robolin.loop_constraints(arm, q).open_by

    size = np.abs(first).max()
    np.testing.assert_allclose(left / size, first / size * (1 + 3) * np.exp(-3), atol=1e-3)


@pytest.mark.slow
def test_neighbouring_motions_part_as_linearized() -> None:
    """The linearization along a motion gives the central difference of motions around it."""
    arm, q, qd = started()
    steps, h, delta = 8, 5e-3, 1e-4
    way = robolin.loop_constraints(arm, q).jacobian
    free = np.linalg.svd(way)[2][-1]
    ends = [
        robolin.close(arm, q + sign * delta * free, qd + sign * delta * free)
        for sign in (1.0, -1.0)
    ]
    motions = [robolin.simulate(arm, end.q, end.qd, duration=steps * h, dt=h / 2) for end in ends]
    computed = _carried(arm, q, qd, ends[0].q - ends[1].q, ends[0].qd - ends[1].qd, steps, h)
    true = motions[0].q[-1] - motions[1].q[-1], motions[0].qd[-1] - motions[1].qd[-1]

    for mine, theirs in zip(computed, true, strict=True):
        # differences over 2e-4 err by 1e-8, and the integrator by less
        assert np.abs(mine - theirs).max() < 1e-7 * np.abs(theirs).max()


def _carried(arm, q, qd, dq, dqd, steps, h):
    """δq and δq̇ after a while: Runge–Kutta on the variational equation along the motion."""
    nominal = robolin.simulate(arm, q, qd, duration=steps * h, dt=h / 2)
    models = robolin.linearize_forward(arm, nominal.q, nominal.qd, tau=0.0)
    x = np.concatenate([dq, dqd])
    zero, unit = np.zeros((arm.n, arm.n)), np.eye(arm.n)
    A = [
        np.block([[zero, unit], [models.dqdd_dq[i], models.dqdd_dqd[i]]])
        for i in range(2 * steps + 1)
    ]
    for i in range(0, 2 * steps, 2):
        k1 = A[i] @ x
        k2 = A[i + 1] @ (x + h / 2 * k1)
        k3 = A[i + 1] @ (x + h / 2 * k2)
        k4 = A[i + 2] @ (x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x[: arm.n], x[arm.n :]


@pytest.mark.slow
def test_many_linkages_move_as_each_by_itself() -> None:
    """A batch of starts gives the motion of every one of them."""
    arm, q, qd = started()
    other = robolin.close(arm, [0.2, 0.0, 0.0], hold="drive")
    both = robolin.simulate(
        arm, np.stack([q, other.q]), np.stack([qd, other.qd]), duration=0.02, dt=2e-3
    )
    alone = robolin.simulate(arm, other.q, other.qd, duration=0.02, dt=2e-3)
    np.testing.assert_allclose(both.q[1], alone.q, atol=1e-12)


def test_a_start_off_the_closures_is_refused() -> None:
    """A simulation must begin on the closures."""
    arm = robolin.load("four-bar")
    with pytest.raises(robolin.RobolinError, match="has a constraint violation of"):
        robolin.simulate(arm, [0.1, 0.0, 0.0], duration=0.1)
    with pytest.raises(robolin.RobolinError, match="requires fixed steps"):
        robolin.simulate(arm, 0.0, duration=0.1, rtol=1e-6)
