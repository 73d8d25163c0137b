"""The random states in which an arm is checked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.checking.verification.verify import (
    FAR_PLACED,
    ILL_CONDITIONED,
    SPEED,
    STEEPEST,
    checked_states,
)
from robolin.core.arm import Limits
from tests.robots import random_arm


def test_states_are_inside_the_limits() -> None:
    """Positions and velocities keep to what the description allows, its ends included."""
    arm = robolin.load("panda")
    states = checked_states(arm, 50, 0)
    lower = np.array([joint.limits.lower for joint in arm.joints])
    upper = np.array([joint.limits.upper for joint in arm.joints])
    fastest = np.array([joint.limits.velocity for joint in arm.joints])

    assert (states["q"] >= lower - 1e-12).all()
    assert (states["q"] <= upper + 1e-12).all()
    ends = [(lower + upper) / 2, lower, upper]
    np.testing.assert_allclose(states["q"][[0, 2, 3]], ends, atol=1e-12)
    assert (np.abs(states["qd"]) <= np.minimum(fastest, SPEED)).all()


def test_more_samples_add_states() -> None:
    """More samples keep the first states, so that the worst state can be reproduced."""
    arm = random_arm(4, 3)
    few, many = (checked_states(arm, count, 7) for count in (4, 9))
    for name, values in few.items():
        assert np.array_equal(values, many[name][:4]), name


def test_invalid_limits_are_ignored() -> None:
    """No limit, a velocity of 0 and ends in the wrong order leave a joint free to move."""
    arm = random_arm(4, 2, prismatic=False)
    odd = [Limits(), Limits(lower=1.0, upper=-1.0, velocity=0.0)]
    links = tuple(
        replace(link, joint=replace(link.joint, limits=limits))
        for link, limits in zip(arm.links_tip_to_base, odd, strict=True)
    )
    states = checked_states(replace(arm, links_tip_to_base=links), 40, 0)
    assert (np.ptp(states["q"], axis=0) > 4.0).all()
    assert (np.ptp(states["qd"], axis=0) > 2.0).all()


@pytest.mark.parametrize("samples", [2, 5, 20])
def test_a_badly_conditioned_state_is_always_among_them(samples: int) -> None:
    """Its mass matrix is harder to divide by than those of nineteen states out of twenty."""
    arm = robolin.load("panda")
    q = checked_states(arm, samples, 0)["q"]
    drawn = checked_states(arm, 200, 1)["q"][5:]
    hard, others = (np.linalg.cond(robolin.mass_matrix(arm, x)) for x in (q[1], drawn))
    assert hard > np.quantile(others, 0.95)
    assert hard < ILL_CONDITIONED


@pytest.mark.parametrize(
    "arm", [robolin.load("cart-pole"), robolin.load("ur5", floating_base=True)]
)
def test_a_far_state_is_always_included(arm: robolin.Arm) -> None:
    """Prismatic and floating joints without a limit are checked at a hundred metres."""
    q = checked_states(arm, 3, 0)["q"]
    slides = np.array([not joint.turns for joint in arm.joints])
    assert (q[2, slides] == FAR_PLACED).all()
    assert (np.abs(q[:2]) < 10.0).all()


def test_states_are_within_limits() -> None:
    """A finger that opens 4 cm is checked within its limits; a rail of 30 m at its end."""
    assert np.abs(checked_states(robolin.load("panda-fingers"), 20, 0)["q"]).max() < 4.0
    cart = robolin.load("cart-pole")
    pole, slider = cart.links_tip_to_base
    rail = replace(slider.joint, limits=Limits(-30.0, 30.0))
    arm = replace(cart, links_tip_to_base=(pole, replace(slider, joint=rail)))
    assert checked_states(arm, 3, 0)["q"][2, 0] == 30.0


def test_free_rotations_avoid_gimbal_lock() -> None:
    """Where pitch is a right angle, derivatives by steps along angles lose their digits."""
    arm = robolin.load("two-link", floating_base=True)
    pitch = arm.joint_names.index("base:ry")
    states = checked_states(arm, 40, 0)
    assert np.abs(states["q"][:, pitch]).max() <= STEEPEST
    assert np.abs(states["q"][:, pitch]).max() > 0.9 * STEEPEST
