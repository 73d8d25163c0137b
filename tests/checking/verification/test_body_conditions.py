"""Condition numbers of single bodies, as used by the bounds of `verify`."""

from __future__ import annotations

import numpy as np

import robolin
from robolin.checking.verification.check_context import (
    condition_of_bodies,
    flat_body,
    reaches,
    slides_of,
)
from robolin.dynamics.links.link_poses import forward_kinematics
from robolin.engine.direct import DirectChain
from robolin.engine.parameters import parameters_of
from tests.robots import random_arm, random_states


def test_bodies_that_are_flat_are_named() -> None:
    """A planar arm's bodies have no inverse, the Panda's have one."""
    assert flat_body(robolin.load("two-link")) == "upper"
    assert flat_body(robolin.load("panda")) == ""


def test_no_body_is_worse_than_the_bound() -> None:
    """The condition of every body's 6x6 inertia about the base is below the common bound."""
    arm = random_arm(51, 5)
    q = random_states(arm, 1).q
    most = condition_of_bodies(arm, reaches(arm, q, slides_of(arm, q)))[0]
    links = forward_kinematics(DirectChain(parameters_of(arm), {"q": q[0].tolist()}))
    conditions = [np.linalg.cond(_matrix(links.M[k])) for k in range(1, arm.base)]
    assert 1.0 < max(conditions) < most


def _matrix(M: tuple[float, ...]) -> np.ndarray:
    """m, m c and J (xx xy xz yy yz zz) as [J, (mc)~; -(mc)~, m]."""
    m, (x, y, z), (xx, xy, xz, yy, yz, zz) = M[0], M[1:4], M[4:]
    tilde = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    J = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return np.block([[J, tilde], [-tilde, m * np.eye(3)]])
