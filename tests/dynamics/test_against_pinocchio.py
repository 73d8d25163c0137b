"""Every bundled arm, every published file and random robots against Pinocchio.

20 random states each, damping off, errors relative to the largest entry. Inverse results agree to
1e-12 (some 1e-15 seen); results that divide by the mass matrix are allowed 1e-15 cond(𝓜) more, ten
times as much for q̈, whose torques are rounded before they are divided.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.description.robot_source import bundled_names, bundled_path
from tests.dynamics.running import gap_by_state, inertia_bound
from tests.published import each_file
from tests.robots import States, arm_name, random_arm, random_states

pin = pytest.importorskip("pinocchio")

from tests.dynamics.pinocchio_reference import (  # noqa: E402  (needs Pinocchio)
    Reference,
    model_from_arm,
    model_from_urdf,
    reference,
)

STATES = 20


def assert_inverse_side(arm: Arm, states: States, true: Reference) -> None:
    model = robolin.linearize_inverse(arm, states.q, states.qd, states.qdd)
    tau = robolin.inverse(arm, states.q, states.qd, states.qdd)
    mass_matrix = robolin.mass_matrix(arm, states.q)

    assert gap_by_state(tau, true.tau).max() <= 1e-12
    assert gap_by_state(mass_matrix, true.mass_matrix).max() <= 1e-12
    for name in ("mass_matrix", "dtau_dqd", "dtau_dq"):
        computed, expected = getattr(model, name), getattr(true, name)
        assert gap_by_state(computed, expected, _made_of(arm, states)).max() <= 1e-12, name


def assert_forward_side(arm: Arm, states: States, true: Reference, method: str) -> None:
    model = robolin.linearize_forward(arm, states.q, states.qd, true.tau, method=method)
    qdd = robolin.forward(arm, states.q, states.qd, true.tau, method=method)
    tolerance = 1e-12 + 1e-15 * np.linalg.cond(true.mass_matrix)
    terms = np.abs(true.dqdd_dtau).max(axis=(1, 2)) * _made_of(arm, states)

    assert (gap_by_state(qdd, true.qdd) <= 10.0 * tolerance).all()
    assert (gap_by_state(model.qdd, true.qdd) <= 10.0 * tolerance).all()
    for name in ("dqdd_dtau", "dqdd_dqd", "dqdd_dq"):
        computed, expected = getattr(model, name), getattr(true, name)
        assert (gap_by_state(computed, expected, terms) <= tolerance).all(), name


def _made_of(arm: Arm, states: States) -> np.ndarray:
    """Size of the terms of torque gradients: the arm's inertia times its speeds and accelerations.

    The scale for gradients that are zero: rotors turning about their own balanced axes, as on a
    quadrotor, have no Coriolis torque and no gravity torque, and both programs return round-off.
    """
    speed = np.abs(states.qd).max(axis=1)
    return inertia_bound(arm) * (speed + speed**2 + np.abs(states.qdd).max(axis=1))


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_arm(name: str) -> None:
    """Inverse and forward results of every bundled arm, by both methods, are Pinocchio's."""
    arm, path = robolin.load(name, damping=False, open_loops=True), bundled_path(name)
    model = model_from_urdf(path, arm) if path.suffix == ".urdf" else model_from_arm(arm)
    states = random_states(arm, STATES)
    true = reference(model, arm, states, forward=True)

    assert_inverse_side(arm, states, true)
    assert_forward_side(arm, states, true, "conventional")
    assert_forward_side(arm, states, true, "auto")


@pytest.mark.slow
@each_file("path")
def test_published_file(path: Path) -> None:
    """Every published robot has Pinocchio's dynamics; joints that move no mass are named."""
    arm = robolin.load(path, damping=False)
    model = model_from_urdf(path, arm)
    states = random_states(arm, STATES)
    idle = _idle(arm, reference(model, arm, _first(states), forward=False))
    true = reference(model, arm, states, forward=not idle)
    assert_inverse_side(arm, states, true)

    if idle:
        with pytest.raises(robolin.RobolinError) as caught:
            robolin.linearize_forward(arm, states.q, states.qd, true.tau)
        assert any(f"joint '{name}' moves no inertia" in str(caught.value) for name in idle)
    else:
        assert_forward_side(arm, states, true, "auto")


def _first(states: States) -> States:
    return States(**{name: values[:1] for name, values in vars(states).items()})


def _idle(arm: Arm, true: Reference) -> list[str]:
    """Joints whose own inertia is zero in Pinocchio, in this state as in any other."""
    own = np.abs(np.einsum("bii->bi", true.mass_matrix)).max(axis=0)
    return [name for name, size in zip(arm.joint_names, own, strict=True) if size < 1e-14]


ROBOTS = [random_arm(220 + n, n, tree=n % 2 == 0, armature=n > 6) for n in (1, 3, 4, 6, 8, 11, 12)]


@pytest.mark.parametrize("arm", ROBOTS, ids=arm_name)
def test_random_robot(arm: Arm) -> None:
    """Skew axes, sliding joints, trees, rotors, slanted gravity: still Pinocchio's results."""
    states = random_states(arm, STATES)
    true = reference(model_from_arm(arm), arm, states, forward=True)

    assert_inverse_side(arm, states, true)
    assert_forward_side(arm, states, true, "auto")


LONG = [random_arm(240 + n, n, tree=tree) for n in (7, 20, 40) for tree in (False, True)]


@pytest.mark.parametrize("arm", [*ROBOTS, *LONG], ids=arm_name)
def test_inverse_of_the_mass_matrix(arm: Arm) -> None:
    """By recursion and by elimination it equals Pinocchio's computeMinverse."""
    model, q = model_from_arm(arm), random_states(arm, STATES).q
    data, order = model.createData(), [model.names.tolist().index(n) - 1 for n in arm.joint_names]
    true = np.empty((STATES, arm.n, arm.n))
    for i, each in enumerate(q):
        placed = np.empty(arm.n)
        placed[order] = each
        upper = np.triu(pin.computeMinverse(model, data, placed))
        true[i] = (upper + np.triu(upper, 1).T)[np.ix_(order, order)]
    allowed = 1e-12 + 1e-15 * np.linalg.cond(robolin.mass_matrix(arm, q))
    for method in ("operator", "conventional", "auto"):
        M_inverse = robolin.mass_matrix_inverse(arm, q, method=method)
        assert (gap_by_state(M_inverse, true) <= allowed).all(), method


@pytest.mark.parametrize("name", ["panda", "ur5", "iiwa14"])
def test_bundled_arm_with_rotors(name: str) -> None:
    """Armature has the same effect in both programs."""
    arm = robolin.load(name, damping=False)
    rotors = np.random.default_rng(1).uniform(0.05, 1.5, arm.n)
    armature = dict(zip(arm.joint_names, rotors.tolist(), strict=True))
    arm = robolin.load(name, damping=False, armature=armature)
    states = random_states(arm, STATES)
    true = reference(model_from_urdf(bundled_path(name), arm), arm, states, forward=True)

    assert_inverse_side(arm, states, true)
    assert_forward_side(arm, states, true, "auto")
