"""Configurations of arms with multi-DoF joints: steps, differences, rates, rotations."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parts import rotation_from_rpy
from robolin.core.configuration import (
    coordinates_of,
    difference,
    embedded,
    embedded_rates,
    has_groups,
    integrate,
    kinematic_block,
    matrix_of,
    quaternion_from_rpy,
    rpy_from_quaternion,
)
from tests.dynamics.world import placed
from tests.robots import arm_name, grouped_arm, random_states

ARMS = (
    grouped_arm(10, ["floating"]),
    grouped_arm(11, ["planar", "revolute"]),
    grouped_arm(12, ["revolute", "floating", "planar", "prismatic", "floating"], True),
)
ROUNDING = 1e-14


def poses(arm: Arm, q: np.ndarray) -> np.ndarray:
    """Placements of all bodies as one row of numbers."""
    where = placed(arm, q)
    bodies = [k - 1 for k in range(1, arm.base) if k not in arm.virtual_links]
    R, p = where.R[..., bodies, :, :], where.p[..., bodies, :]
    batch = p.shape[:-2]
    return np.concatenate([R.reshape(*batch, -1), p.reshape(*batch, -1)], axis=-1)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_embedding_keeps_every_pose(arm: Arm) -> None:
    """Through quaternions and back, every link is where it was, also if quaternions are long."""
    q = random_states(arm, 20).q * 2.0
    y = embedded(arm, q)
    floating = sum(group.kind == "floating" for group in arm.groups)
    assert y.shape == (20, arm.n + floating)
    np.testing.assert_allclose(poses(arm, coordinates_of(arm, y)), poses(arm, q), atol=ROUNDING)
    for group in arm.groups:
        if group.kind == "floating":
            places = [arm.coordinate_indices(group)[part] for part in ("rx", "ry", "rz")]
            y[:, places] *= 1.7
    y[:, arm.n :] *= 1.7
    np.testing.assert_allclose(poses(arm, coordinates_of(arm, y)), poses(arm, q), atol=ROUNDING)


@pytest.mark.parametrize("pitch", [np.pi / 2, -np.pi / 2, np.pi / 2 - 1e-9, 1.5707, 0.3, 2.5])
def test_angles_of_a_quaternion_make_the_same_turn(pitch: float) -> None:
    """Roll, pitch and yaw read off a quaternion reproduce its rotation to rounding, everywhere.

    Some ten operations on numbers up to 1: 1e-15.
    """
    rng = np.random.default_rng(0)
    rpy = np.stack([rng.uniform(-3, 3, 50), np.full(50, pitch), rng.uniform(-3, 3, 50)], axis=-1)
    quaternion = quaternion_from_rpy(rpy)
    again = rpy_from_quaternion(quaternion)
    R = [np.reshape(rotation_from_rpy(*row), (3, 3)) for row in again]
    np.testing.assert_allclose(R, matrix_of(quaternion), atol=1e-15)
    true = [np.reshape(rotation_from_rpy(*row), (3, 3)) for row in rpy]
    np.testing.assert_allclose(matrix_of(quaternion), true, atol=1e-15)


@pytest.mark.parametrize("size", [1e-9, 1e-3, 0.09, 0.11, 1.0, 3.0])
@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_a_step_and_its_difference(arm: Arm, size: float) -> None:
    """q ⊕ (q' ⊖ q) is q', and (q ⊕ δ) ⊖ q is δ while no joint rotates by more than π."""
    rng = np.random.default_rng(1)
    q = rng.uniform(-1.5, 1.5, (20, arm.n))
    delta = rng.uniform(-1.0, 1.0, (20, arm.n)) * size / np.sqrt(3.0)
    after = integrate(arm, q, delta)
    np.testing.assert_allclose(difference(arm, q, after), delta, atol=1e-14 * (1.0 + size))
    other = rng.uniform(-1.5, 1.5, (20, arm.n))
    reached = integrate(arm, q, difference(arm, q, other))
    np.testing.assert_allclose(poses(arm, reached), poses(arm, other), atol=1e-13)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_one_step_equals_many_small_steps(arm: Arm) -> None:
    """Moving along a constant twist in one step or in a hundred steps gives the same pose."""
    rng = np.random.default_rng(2)
    q, delta = rng.uniform(-1.0, 1.0, (2, 5, arm.n))
    small = q
    for _ in range(100):
        small = integrate(arm, small, delta / 100.0)
    np.testing.assert_allclose(poses(arm, small), poses(arm, integrate(arm, q, delta)), atol=1e-12)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_rates_of_the_embedding(arm: Arm) -> None:
    """dy/dt is the limit of y(q ⊕ h q̇) - y(q) over h: central differences, h = 1e-5, to 1e-9."""
    s, h = random_states(arm, 10), 1e-5
    ahead, behind = (embedded(arm, integrate(arm, s.q, sign * h * s.qd)) for sign in (1.0, -1.0))
    y = embedded(arm, s.q)
    for each in (ahead, behind):
        # a quaternion and its opposite are the same turn
        for i, group in enumerate(g for g in arm.groups if g.kind == "floating"):
            at = [*(arm.coordinate_indices(group)[part] for part in ("rx", "ry", "rz")), arm.n + i]
            sign = np.sign(np.sum(each[:, at] * y[:, at], axis=1, keepdims=True))
            each[:, at] *= sign
    np.testing.assert_allclose(
        embedded_rates(arm, y, s.qd), (ahead - behind) / (2.0 * h), atol=1e-9
    )


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_the_body_moves_as_its_twist_says(arm: Arm) -> None:
    """The rate of a body's pose along q̇ has the numbers of q̇ in the body's own axes."""
    q, rate, h = random_states(arm, 1).q[0], random_states(arm, 1).qd[0], 1e-6
    for group in arm.groups:
        only = np.zeros(arm.n)
        at = arm.coordinate_indices(group)
        only[list(at.values())] = rate[list(at.values())]
        before, ahead, behind = (
            placed(arm, integrate(arm, q, sign * h * only)) for sign in (0.0, 1.0, -1.0)
        )
        k = group.body - 1
        R = before.R[k]
        # the body's own axes: for a planar joint, its plane and normal
        axes = {
            part: np.array(arm.link(link).joint.axis) for part, link in group.coordinates.items()
        }
        slip = R.T @ (ahead.p[k] - behind.p[k]) / (2.0 * h)
        spin = R.T @ (ahead.R[k] - behind.R[k]) / (2.0 * h)
        turn = np.array([spin[2, 1], spin[0, 2], spin[1, 0]])
        for part, index in at.items():
            component = axes[part] @ (turn if part.startswith("r") else slip)
            assert component == pytest.approx(rate[index], abs=1e-8), part


def test_ordinary_arms_have_plain_sums() -> None:
    """Without groups, q is its own embedding, steps are sums and the block is zero."""
    arm = robolin.load("ur5")
    q, qd = np.random.default_rng(3).normal(size=(2, 4, arm.n))
    assert not has_groups(arm)
    assert np.array_equal(embedded(arm, q), q)
    assert np.array_equal(coordinates_of(arm, q), q)
    assert np.array_equal(embedded_rates(arm, q, qd), qd)
    assert np.array_equal(integrate(arm, q, qd), q + qd)
    assert np.array_equal(difference(arm, q, qd), qd - q)
    assert not kinematic_block(arm, qd).any()
    assert kinematic_block(arm, qd).shape == (4, arm.n, arm.n)


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_the_kinematic_block(arm: Arm) -> None:
    """d(δq)/dt = δq̇ - crm(v) δq: neighbours that move with the same q̇ drift apart by it.

    A second-order difference of steps of 1e-4 errs by about as much: 1e-3 of the largest entry.
    """
    assert has_groups(arm)
    s, h = random_states(arm, 5), 1e-4
    start = integrate(arm, s.q, h * s.dq)
    ends = (integrate(arm, start, h * s.qd), integrate(arm, s.q, h * s.qd))
    apart = difference(arm, ends[1], ends[0])
    drift = (apart - h * s.dq) / h**2
    expected = np.einsum("bij,bj->bi", kinematic_block(arm, s.qd), s.dq)
    assert np.abs(drift - expected).max() <= 1e-3 * max(1.0, np.abs(expected).max())


def test_the_same_zero() -> None:
    """Angles that are zero are 0.0, never -0.0, which would look odd in a table."""
    assert not np.signbit(coordinates_of(ARMS[0], embedded(ARMS[0], np.zeros(ARMS[0].n)))).any()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda arm: robolin.integrate(arm, np.zeros(3), 0.0),
            "^q: must have 6 values along its last axis, one per joint of .*, got 3",
        ),
        (
            lambda arm: robolin.difference(arm, 0.0, np.zeros(3)),
            "^q1: must have 6 values along its last axis, one per joint of .*, got 3",
        ),
        (
            lambda arm: robolin.kinematic_block(arm, "still"),
            "qd: must be an array of real numbers, got text\nhint: pass numbers in rad or m",
        ),
        (lambda _: robolin.kinematic_block("ur5", 0.0), "arm: must be a loaded robot, got 'ur5'"),
    ],
    ids=["integrate", "difference", "kinematic_block", "name"],
)
def test_wrong_values_are_rejected(call: Callable[[Arm], object], message: str) -> None:
    """Values that are not a state of the arm raise an error that names the problem."""
    with pytest.raises(robolin.RobolinError, match=message):
        call(ARMS[0])


@pytest.mark.parametrize("arm", ARMS, ids=arm_name)
def test_many_configurations_have_the_bits_of_one(arm: Arm) -> None:
    """A row of a batch is bit-identical to the same single configuration."""
    s = random_states(arm, 40, seed=5)
    y, step = embedded(arm, s.q), 0.1 * s.qd
    for function, first in ((embedded_rates, y), (integrate, s.q), (difference, s.q)):
        second = s.q[::-1] if function is difference else step
        rows = function(arm, first, second)
        single = np.array([function(arm, a, b) for a, b in zip(first, second, strict=True)])
        assert np.array_equal(rows, single)
