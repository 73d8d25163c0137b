"""Arms with other parameters: the regressor times the values gives their torques."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parameters import body_from_linear, linear_values, parameters
from robolin.errors import UsageError
from tests.robots import grouped_arm, random_arm, random_body, random_states, with_springs


def _one_sided(arm: Arm) -> Arm:
    links = tuple(
        replace(link, joint=replace(link.joint, friction_negative=0.7))
        for link in arm.links_tip_to_base
    )
    return replace(arm, links_tip_to_base=links)


ARMS = {
    "springs": with_springs(random_arm(1, 4)),
    "friction": random_arm(2, 4, tree=True, damping=True, armature=True, friction_velocity=0.1),
    "one-sided": _one_sided(random_arm(3, 4, friction_velocity=0.1)),
    "groups": grouped_arm(4, ("floating", "revolute", "spherical"), armature=True),
}


@pytest.mark.parametrize("kind", ARMS)
def test_torques_are_the_regressor_times_the_values(kind: str) -> None:
    """inverse(arm.with_parameters(π)) = Y π, with Y of the arm itself."""
    arm = ARMS[kind]
    states = random_states(arm, 5)
    Y = robolin.regressor(arm, states.q, states.qd, states.qdd, engine="python")
    values = Y.parameters * (1.0 + 0.3 * np.random.default_rng(0).random(len(Y.parameters)))

    other = arm.with_parameters(values)

    tau = robolin.inverse(other, states.q, states.qd, states.qdd, engine="python")
    expected = Y.matrix @ values
    # the conversion to centres of mass and back rounds
    np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-13 * np.abs(expected).max())
    np.testing.assert_allclose([p.value for p in parameters(other)], values, rtol=1e-13, atol=1e-14)


def test_named_values_leave_all_others_as_they_are() -> None:
    """Parts that are not named keep their bits."""
    arm = robolin.load("panda")

    heavy = arm.with_parameters({"panda_link3/mass": 4.0})

    assert heavy.links[2].inertia.mass == 4.0
    assert heavy.links[:2] + heavy.links[3:] == arm.links[:2] + arm.links[3:]
    assert heavy.contract["parameters"] == "1 of 84 set by with_parameters"
    assert heavy != arm
    assert arm.with_parameters({}) is arm
    assert arm.with_parameters([p.value for p in parameters(arm)]) is arm


def test_only_damping_that_is_set_applies_to_an_arm_loaded_without() -> None:
    """The damping in the file, switched off at loading, does not return."""
    arm = robolin.load("panda", damping=False)

    damped = arm.with_parameters({"panda_joint2/damping": 0.5})

    assert [joint.damping for joint in damped.joints] == [0.0, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert damped.contract["damping"] == "set by with_parameters"


def test_linear_values_convert_back_to_the_body() -> None:
    """Mass, centre and inertia follow from m, m c and J."""
    for seed in range(20):
        body = random_body(np.random.default_rng(seed))
        back = body_from_linear(linear_values(body))
        assert back.mass == body.mass
        np.testing.assert_allclose(back.com, body.com, rtol=1e-15, atol=1e-16)
        np.testing.assert_allclose(back.rotary, body.rotary, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize(
    "values, message",
    [
        ({"lower/weight": 1.0}, "lower/weight: parameter not found"),
        ({"elbow/friction": 1.0}, "hint: also set 'elbow/friction_velocity'"),
        ({"lower/mass": float("nan")}, "lower/mass: must be finite, got nan"),
        ({"lower/mass": "heavy"}, "parameters: must be numbers"),
        ({"lower/mass": 0.0}, "lower: a link with mass 0 must have zero first moments"),
        (np.zeros(5), r"parameters: must have shape \(24,\), got \(5,\)"),
    ],
)
def test_invalid_values_are_rejected(values: object, message: str) -> None:
    """The error names the parameter and the rule."""
    with pytest.raises(UsageError, match=message):
        robolin.load("two-link").with_parameters(values)  # type: ignore[arg-type]


def test_negative_masses_are_a_warning() -> None:
    """As in a robot file: the dynamics are computed."""
    arm = robolin.load("two-link")
    with pytest.warns(robolin.RobolinWarning) as caught:
        other = arm.with_parameters({"lower/mass": -30.0, "elbow/damping": -1.0, "lower/mx": -2.0})
    text = "masses must be ≥ 0 to be physical: lower/mass = -30"
    assert [str(warning.message) for warning in caught] == [text]
    assert caught[0].filename == __file__
    assert other.links[1].inertia.mass == -30.0
