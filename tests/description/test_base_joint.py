"""A base with fewer than six DoF, by its joint type."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.description.building.keywords import options_from_texts
from tests.dynamics.running import gap


@pytest.mark.parametrize("kind", ["planar", "spherical"])
def test_a_base_joint_is_a_part_of_a_floating_base(kind: str) -> None:
    """Torques and mass matrix are those of a floating base without the missing DoF.

    A selection of rows of H(n+1): the same sums about another point, equal to 1e-13.
    """
    floating, arm = robolin.load("ur5", floating_base=True), robolin.load("ur5", base_joint=kind)
    indices = [floating.joint_names.index(name) for name in arm.joint_names]
    q, qd, qdd = np.random.default_rng(3).uniform(-1.0, 1.0, (3, arm.n))
    full = np.zeros((3, floating.n))
    full[:, indices] = q, qd, qdd
    both = np.ix_(indices, indices)
    tau = robolin.inverse(arm, q, qd, qdd, engine="python")
    assert gap(tau, robolin.inverse(floating, *full, engine="python")[indices]) <= 1e-13
    mass = robolin.mass_matrix(floating, full[0], engine="python")[both]
    assert gap(robolin.mass_matrix(arm, q, engine="python"), mass) <= 1e-13


def test_the_base_joint_is_stored() -> None:
    """The stored options build the same arm, and a floating base has two equivalent names."""
    assert robolin.load("ur5", base_joint="planar").loaded_with == {
        "arm": "ur5",
        "base-joint": "planar",
    }
    either = robolin.load("ur5", base_joint="floating")
    assert either == robolin.load("ur5", floating_base=True)
    assert "planar: joint 'base'" in robolin.load("ur5", base_joint="planar").contract["base"]


def test_a_base_that_does_not_exist_is_refused() -> None:
    """Only multi-DoF joint types are valid for a base; the hint lists them."""
    with pytest.raises(robolin.UsageError, match="unknown base joint 'planer'") as caught:
        robolin.load("ur5", base_joint="planer")
    assert "planar" in caught.value.hint


def test_two_base_joints_are_rejected() -> None:
    """Different base joints contradict each other; setting floating twice does not."""
    with pytest.raises(robolin.UsageError, match="'planar' cannot be used with floating_base"):
        robolin.load("ur5", floating_base=True, base_joint="planar")
    texts = {"floating-base": True, "base-joint": "spherical"}
    with pytest.raises(robolin.UsageError, match="cannot be used with --floating-base"):
        options_from_texts(texts)
    twice = robolin.load("ur5", floating_base=True, base_joint="floating")
    assert twice == robolin.load("ur5", floating_base=True)
