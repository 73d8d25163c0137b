"""Equilibria of arms with passive joints."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from tests.robots import random_arm


def test_the_centre_of_mass_ends_above_the_shoulder() -> None:
    """The Acrobot balances where its two links together are above the passive joint."""
    arm = robolin.load("acrobot")
    trim = robolin.trim(arm, [3.0, 0.2], passive="shoulder", keep="elbow")
    q1, q2 = trim.q
    assert q2 == 0.2
    assert abs(0.5 * np.sin(q1) + np.sin(q1) + np.sin(q1 + q2)) < 1e-14
    assert trim.tau[0] == 0.0
    assert np.abs(robolin.forward(arm, trim.q, 0.0, trim.tau)).max() < 1e-12
    assert not robolin.state_space(arm, trim.q, passive="shoulder").drift.any()


def test_nothing_moves_at_an_equilibrium() -> None:
    """With all motors any pose is held, and an equilibrium stays as it is."""
    arm = robolin.load("panda")
    q = np.linspace(-0.5, 0.5, 7)
    trim = robolin.trim(arm, q)
    assert np.array_equal(trim.q, q)
    assert trim.iterations == 0
    assert np.allclose(trim.tau, robolin.inverse(arm, q), rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_passive_joints_of_random_arms_hang(seed: int) -> None:
    """From any pose, an equilibrium of two passive joints is found, and the arm stays in it."""
    arm = random_arm(200 + seed, 4, prismatic=False)
    q = np.random.default_rng(seed).uniform(-1.0, 1.0, 4)
    trim = robolin.trim(arm, q, passive=arm.joint_names[:2])
    assert np.abs(robolin.inverse(arm, trim.q)[:2]).max() < 1e-8
    assert np.abs(robolin.forward(arm, trim.q, 0.0, trim.tau)).max() < 1e-6


def test_limits_are_kept() -> None:
    """A joint that would have to leave its limits stops there, and others go on."""
    arm = robolin.load("panda")
    q = np.array([0.0, 0.3, 0.0, -1.8, 0.0, 2.1, 0.7])
    trim = robolin.trim(arm, q, passive="panda_joint2")
    lower = np.array([joint.limits.lower for joint in arm.joints])
    upper = np.array([joint.limits.upper for joint in arm.joints])
    assert ((trim.q >= lower) & (trim.q <= upper)).all()
    assert abs(robolin.inverse(arm, trim.q)[1]) < 1e-9


def test_a_missing_equilibrium_is_reported_with_its_residual() -> None:
    """If nothing balances, the error names the joint and its torque at the best pose."""
    arm = robolin.load("cart-pole")
    with pytest.raises(robolin.RobolinError) as caught:
        robolin.trim(arm, [0.0, 0.1], actuated="slide", keep="pivot")
    assert (
        "no equilibrium found near the initial pose: the best pose requires -0.0587 N·m at "
        "passive joint" in str(caught.value)
    )
    with pytest.raises(
        robolin.RobolinError,
        match="no equilibrium found near the initial pose: the best pose requires",
    ):
        robolin.trim(robolin.load("two-link", floating_base=True), 0.0, passive="base")
    with pytest.raises(robolin.UsageError, match="keep: joint 'wheel' not found"):
        robolin.trim(arm, 0.0, keep="wheel")
    with pytest.raises(
        robolin.UsageError, match=r"q: trim requires one pose, got a batch of \(2,\)"
    ):
        robolin.trim(arm, np.zeros((2, 2)))
