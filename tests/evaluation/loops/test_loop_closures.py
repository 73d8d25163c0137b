"""Closure equations: each derivative matches the function it belongs to."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.evaluation.loop_linear_algebra import Closures, rotation_vector
from tests.dynamics.running import run_on
from tests.dynamics.world import frame_in_world
from tests.evaluation.loops.closed_arms import Closed, relative, sample

STEP = 1e-30
# complex steps are exact; the difference is round-off of products along ten links
EXACT = 1e-13

every_arm = pytest.mark.parametrize("closed", sample(), ids=lambda closed: closed.arm.name)


def stepped(closed: Closed, **along: np.ndarray) -> dict[str, np.ndarray]:
    """Results of the algorithm for complex steps of q and q̇ (count, n) from the first state."""
    state = {"q": closed.q[0], "qd": closed.qd[0]}
    moved = {name: x + 1j * STEP * along.get(name, np.zeros((1, 1))) for name, x in state.items()}
    return run_on(closed.arm, "closures", moved)


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
                lone = type(arm)(arm.name, arm.links_tip_to_base, named, arm.joint_names)
                ends.append(frame_in_world(lone, frame.name, q)[1])
        assert relative(gaps[:, first : first + 3], ends[0] - ends[1]) < 1e-12
        first += 3 if loop.kind == "point" else 6


@every_arm
def test_jacobian_is_the_derivative_of_the_gaps(closed: Closed) -> None:
    """L δq is the change of the gap: exact for points, to first order for rotations."""
    arm, h = closed.arm, 1e-6
    L = Closures(arm, closed.q[:1]).jacobian[0]
    for k in range(arm.n):
        e = h * np.eye(arm.n)[k]
        ends = Closures(arm, np.stack([closed.q[0] + e, closed.q[0] - e])).open_by
        # central differences: h² relative to the derivative, and round-off over h
        np.testing.assert_allclose((ends[0] - ends[1]) / (2 * h), L[:, k], atol=1e-8)


@every_arm
def test_bias_is_the_rate_of_the_jacobian(closed: Closed) -> None:
    """c = -L̇ q̇, with L̇ from a complex step along the motion."""
    rate = stepped(closed, q=closed.qd[:1])["closure_jacobian"][0].imag / STEP

    bias = Closures(closed.arm, closed.q[:1], closed.qd[:1]).bias[0]
    assert relative(bias, -rate @ closed.qd[0]) < EXACT


@every_arm
@pytest.mark.parametrize("along", ["q", "qd"])
def test_acceleration_gradients(closed: Closed, along: str) -> None:
    """The gradients of L q̈ + L̇ q̇ are its derivatives."""
    moved = stepped(closed, **{along: np.eye(closed.arm.n)})
    rows = moved["closure_jacobian"] @ closed.tau[0] + moved["closure_jacobian_rate_qd"]
    gradients = Closures(closed.arm, closed.q[:1], closed.qd[:1]).linearized(closed.tau[:1])

    assert relative(gradients[f"dclosure_acceleration_d{along}"][0], rows.imag.T / STEP) < EXACT


@every_arm
def test_jacobian_gradient(closed: Closed) -> None:
    """∂L/∂q, whose sum with λ is the derivative of L* λ for forces of constant direction."""
    moved = stepped(closed, q=np.eye(closed.arm.n))["closure_jacobian"].imag / STEP
    gradients = Closures(closed.arm, closed.q[:1], closed.qd[:1]).linearized(closed.tau[:1])

    assert relative(gradients["dclosure_jacobian_dq"][0], np.moveaxis(moved, 0, -1)) < EXACT


@every_arm
def test_changes_open_closures(closed: Closed) -> None:
    """L δq and the change of L q̇ are derivatives of the gaps and of their rates."""
    dq, dqd = np.random.default_rng(4).normal(size=(2, 1, closed.arm.n))
    moved = stepped(closed, q=dq, qd=dqd)
    change = Closures(closed.arm, closed.q[:1], closed.qd[:1]).change(dq, dqd)

    # the state is closed, so that the sine of a rotation changes as the rotation does
    assert relative(change[0], moved["closure_gap"].imag / STEP) < EXACT
    assert relative(change[1], moved["closure_velocity"].imag / STEP) < EXACT


@pytest.mark.parametrize("angle", [0.0, 1e-9, 1e-3, 1.0, 3.0, np.pi - 1e-4, np.pi - 1e-8, np.pi])
def test_rotation_vectors_round_trip(angle: float) -> None:
    """Axis times angle of a rotation about any axis, up to the sign at half a revolution."""
    axes = np.random.default_rng(0).normal(size=(20, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    K = np.stack([np.cross(np.eye(3), axis) for axis in axes])
    R = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    vectors = rotation_vector(R)
    sign = np.sign((vectors * axes).sum(axis=1, keepdims=True)) if angle > np.pi - 1e-6 else 1.0

    # near half a revolution the axis is accurate to √ε only
    np.testing.assert_allclose(vectors, sign * angle * axes, atol=1e-7 if angle > 3.1 else 1e-13)
