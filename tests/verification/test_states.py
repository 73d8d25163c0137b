"""The states that an arm is checked in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import robolin
from robolin.arm import Limits
from robolin.verification.states import SPEED, sampled_states
from tests.robots import random_arm


def test_states_are_inside_the_limits() -> None:
    """Positions and velocities keep to what the description allows, its ends included."""
    arm = robolin.load("panda")
    states = sampled_states(arm, 50, 0)
    lower = np.array([joint.limits.lower for joint in arm.joints])
    upper = np.array([joint.limits.upper for joint in arm.joints])
    fastest = np.array([joint.limits.velocity for joint in arm.joints])

    assert (states["q"] >= lower - 1e-12).all()
    assert (states["q"] <= upper + 1e-12).all()
    np.testing.assert_allclose(states["q"][:3], [(lower + upper) / 2, lower, upper], atol=1e-12)
    assert (np.abs(states["qd"]) <= np.minimum(fastest, SPEED)).all()


def test_more_samples_add_states() -> None:
    """The first states stay what they are, so that a worst state can be looked at again."""
    arm = random_arm(4, 3)
    few, many = (sampled_states(arm, count, 7) for count in (4, 9))
    for name, values in few.items():
        assert np.array_equal(values, many[name][:4]), name


def test_limits_that_say_nothing_are_not_taken_at_their_word() -> None:
    """No limit, a velocity of 0 and ends in the wrong order leave a joint free to move."""
    arm = random_arm(4, 2, prismatic=False)
    odd = [Limits(), Limits(lower=1.0, upper=-1.0, velocity=0.0)]
    links = tuple(
        replace(link, joint=replace(link.joint, limits=limits))
        for link, limits in zip(arm.links_tip_to_base, odd, strict=True)
    )
    states = sampled_states(replace(arm, links_tip_to_base=links), 40, 0)
    assert (np.ptp(states["q"], axis=0) > 4.0).all()
    assert (np.ptp(states["qd"], axis=0) > 2.0).all()
