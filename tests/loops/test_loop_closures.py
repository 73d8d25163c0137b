"""Equations of closures: each derivative is that of what it belongs to."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.loops.closures import Closures, rotation_vector
from tests.dynamics.world import frame_in_world
from tests.loops.closed_arms import Closed, relative, sample

STEP = 1e-30
# complex steps are exact; what is left are roundings of products along ten links
EXACT = 1e-13

every_arm = pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)


def stepped(closed: Closed, along: str) -> tuple[np.ndarray, np.ndarray]:
    """q and q̇ of the first state, with a complex step of one of them in every direction."""
    unit = 1j * STEP * np.eye(closed.arm.n)
    q, qd = (np.tile(x[0], (closed.arm.n, 1)).astype(complex) for x in (closed.q, closed.qd))
    return (q + unit, qd) if along == "q" else (q, qd + unit)


@every_arm
def test_positions_are_those_of_the_frames(closed: Closed) -> None:
    """The gap of a closure is the distance of its frames' origins, placed link by link."""
    arm, q = closed.arm, closed.q + 0.1
    gaps = Closures(arm, q).open_by
    first = 0
    for loop in arm.loops:
        ends = []
        for frame in (loop.first, loop.second):
            if frame.link == arm.base:
                ends.append(np.tile(frame.pose.translation, (len(q), 1)))
            else:
                named = {**arm.frames, frame.name: frame}
                lone = type(arm)(arm.name, arm.links, named, arm.joint_names)
                ends.append(frame_in_world(lone, frame.name, q)[1])
        assert relative(gaps[:, first : first + 3], ends[0] - ends[1]) < 1e-12
        first += 3 if loop.kind == "point" else 6


@every_arm
def test_jacobian_is_the_derivative_of_the_gaps(closed: Closed) -> None:
    """L δq is by how much closed frames part: exact for points, to first order for turns."""
    arm, h = closed.arm, 1e-6
    L = Closures(arm, closed.q[:1]).jacobian[0]
    for k in range(arm.n):
        e = h * np.eye(arm.n)[k]
        ends = Closures(arm, np.stack([closed.q[0] + e, closed.q[0] - e])).open_by
        # central differences: h² beside the derivative, and rounding over h
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), L[:, k], atol=1e-8)


@every_arm
def test_bias_is_the_rate_of_the_jacobian(closed: Closed) -> None:
    """c = -L̇ q̇, with L̇ from a complex step along the motion."""
    moved = Closures(closed.arm, closed.q + 1j * STEP * closed.qd)
    rate = moved.jacobian.imag / STEP
    true = -np.einsum("bij,bj->bi", rate, closed.qd)

    assert relative(Closures(closed.arm, closed.q).bias(closed.qd), true) < EXACT


@every_arm
@pytest.mark.parametrize("along", ["q", "qd"])
def test_acceleration_gradients(closed: Closed, along: str) -> None:
    """Gq and Gv are the derivatives of L q̈ + L̇ q̇."""
    q, qd = stepped(closed, along)
    moved = Closures(closed.arm, q)
    rows = np.einsum("bij,j->bi", moved.jacobian, closed.tau[0]) - moved.bias(qd)
    true = rows.imag.T / STEP
    gradients = Closures(closed.arm, closed.q[:1]).acceleration_gradients(
        closed.qd[:1], closed.tau[:1]
    )

    assert relative(gradients[0 if along == "q" else 1][0], true) < EXACT


@every_arm
def test_force_gradient(closed: Closed) -> None:
    """The derivative of L* λ, forces and moments keeping their world components."""
    lam = np.random.default_rng(3).normal(size=Closures(closed.arm, closed.q).open_by[:1].shape)
    moved = Closures(closed.arm, stepped(closed, "q")[0]).jacobian
    true = np.einsum("cij,i->jc", moved, lam[0]).imag / STEP

    assert relative(Closures(closed.arm, closed.q[:1]).force_gradient(lam)[0], true) < EXACT


@every_arm
def test_changes_open_closures(closed: Closed) -> None:
    """L δq and the change of L q̇ are derivatives of the gaps and of their rates."""
    dq, dqd = np.random.default_rng(4).normal(size=(2, *closed.q.shape))
    still, moved = (Closures(closed.arm, q) for q in (closed.q, closed.q + 1j * STEP * dq))
    rate = np.einsum("bij,bj->bi", moved.jacobian, closed.qd + 1j * STEP * dqd)
    found = still.change(closed.qd, dq, dqd)

    assert relative(found[0], np.einsum("bij,bj->bi", still.jacobian, dq)) < EXACT
    assert relative(found[1], rate.imag / STEP) < EXACT


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-8, np.pi])
def test_rotation_vectors_come_back(angle: float) -> None:
    """Axis times angle of a turn about any axis, up to the sign at half a turn."""
    axes = np.random.default_rng(0).normal(size=(20, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    K = np.stack([np.cross(np.eye(3), axis) for axis in axes])
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    found = rotation_vector(R)
    sign = np.sign((found * axes).sum(axis=1, keepdims=True)) if angle > np.pi - 1e-6 else 1.0

    # near half a turn the axis is known to √ε only
    np.testing.assert_allclose(found, sign * angle * axes, atol=1e-7 if angle > 3.1 else 1e-13)
