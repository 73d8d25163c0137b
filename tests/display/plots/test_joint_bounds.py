"""Joint limits of results."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.display.plots.panels import closest_approach, joint_bounds


@pytest.mark.parametrize("name", ["panda", "ur5", "j2s6s200", "two-link", "cart-pole"])
def test_margins_are_those_of_limits(name: str) -> None:
    """Row, value and margin in a plot are those that `limits` returns."""
    arm = robolin.load(name)
    values = np.random.default_rng(3).standard_normal((3, 200, arm.n)) * 2.0
    limits = robolin.limits(arm, *values)
    drawn = {}
    for quantity, word, rows in zip(
        ("q", "qd", "tau"), ("position", "velocity", "effort"), values, strict=True
    ):
        for i, joint in enumerate(arm.joint_names):
            bounds = joint_bounds(arm.model_dict, quantity, joint)
            closest = closest_approach(rows[:, i], bounds)
            assert bounds.exist == (closest is not None)
            if closest is not None:
                drawn[joint, word] = (closest.row, closest.value, closest.limit, closest.margin)
    assert drawn == {
        (m.joint, m.quantity): (m.row, m.value, m.limit, m.margin) for m in limits.margins
    }


def test_nothing_else_has_limits() -> None:
    """Accelerations, unknown joints and results without a model have no limits."""
    arm = robolin.load("panda")
    assert not joint_bounds(arm.model_dict, "qdd", "panda_joint1").exist
    assert not joint_bounds(arm.model_dict, "q", "nobody").exist
    assert not joint_bounds(None, "q", "panda_joint1").exist
    assert closest_approach(
        np.full(3, np.nan), joint_bounds(arm.model_dict, "q", "panda_joint1")
    ) is (None)
