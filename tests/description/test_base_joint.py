"""A base with fewer freedoms, by the kind of its joint."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.description.building.option_texts import options_from_texts
from tests.dynamics.running import gap


@pytest.mark.parametrize("kind", ["planar", "spherical"])
def test_fewer_freedoms_are_those_of_a_floating_base(kind: str) -> None:
    """Torques and mass matrix are a floating base's, without the freedoms that are not there.

    A choice of rows of H(n+1): the same sums about another point, equal to 1e-13.
    """
    floating, arm = robolin.load("ur5", floating_base=True), robolin.load("ur5", base_joint=kind)
    places = [floating.joint_names.index(name) for name in arm.joint_names]
    q, qd, qdd = np.random.default_rng(3).uniform(-1.0, 1.0, (3, arm.n))
    full = np.zeros((3, floating.n))
    full[:, places] = q, qd, qdd
    both = np.ix_(places, places)
    found = robolin.inverse(arm, q, qd, qdd, engine="python")
    assert gap(found, robolin.inverse(floating, *full, engine="python")[places]) <= 1e-13
    mass = robolin.mass_matrix(floating, full[0], engine="python")[both]
    assert gap(robolin.mass_matrix(arm, q, engine="python"), mass) <= 1e-13


def test_the_choice_is_kept() -> None:
    """What made the arm makes it again, and a floating base is one by either name."""
    assert robolin.load("ur5", base_joint="planar").loaded_with == {
        "arm": "ur5",
        "base-joint": "planar",
    }
    either = robolin.load("ur5", base_joint="floating")
    assert either == robolin.load("ur5", floating_base=True)
    assert "planar: joint 'base'" in robolin.load("ur5", base_joint="planar").contract["base"]


def test_a_base_that_does_not_exist_is_refused() -> None:
    """Only kinds with several freedoms stand under a base; the hint has them."""
    with pytest.raises(robolin.UsageError, match="a base cannot be 'planer'") as caught:
        robolin.load("ur5", base_joint="planer")
    assert "planar" in caught.value.hint


def test_two_answers_about_the_base_are_refused() -> None:
    """Six freedoms and three cannot both be meant; saying floating twice is no contradiction."""
    with pytest.raises(robolin.UsageError, match="'planar' cannot go together with floating_base"):
        robolin.load("ur5", floating_base=True, base_joint="planar")
    texts = {"floating-base": True, "base-joint": "spherical"}
    with pytest.raises(robolin.UsageError, match="cannot go together with --floating-base"):
        options_from_texts(texts)
    twice = robolin.load("ur5", floating_base=True, base_joint="floating")
    assert twice == robolin.load("ur5", floating_base=True)
