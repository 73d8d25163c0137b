"""Jacobians, motion of frames and its derivatives.

Everything here is sums and products of poses and rates: 1e-12 of the largest entry is allowed,
some 1e-15 is seen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Frame, Wrench
from robolin.core.configuration import integrate
from robolin.evaluation.frames import at_frame
from tests.dynamics.running import STEP, complex_step, gap, run_on
from tests.dynamics.world import frame_in_world
from tests.robots import (
    TOOL,
    arm_name,
    bundled_arms,
    random_arm,
    random_pose,
    random_states,
    with_follower,
)

POINT = (0.11, -0.23, 0.31)
EXACT = 1e-12


def with_tool(arm: Arm) -> Arm:
    """The arm with a slanted frame on a link in the middle."""
    pose = random_pose(np.random.default_rng(len(arm.links)))
    tool = Frame(TOOL, 1 + len(arm.links) // 3, pose)
    return replace(arm, frames={**arm.frames, TOOL: tool})


ARMS = [
    with_tool(arm)
    for arm in (
        random_arm(800, 1),
        random_arm(801, 4),
        random_arm(802, 7, armature=True),
        random_arm(803, 9, tree=True),
        with_follower(random_arm(804, 6, tree=True)),
        *bundled_arms(),
    )
]
each_arm = pytest.mark.parametrize("arm", ARMS, ids=arm_name)


def spin(R: np.ndarray) -> np.ndarray:
    """The w of δR R* = w~, for R with a complex step in it."""
    W = (R.imag / STEP) @ np.swapaxes(R.real, -1, -2)
    return np.stack([W[..., 2, 1], W[..., 0, 2], W[..., 1, 0]], axis=-1)


@each_arm
def test_jacobian_is_the_derivative_of_the_pose(arm: Arm) -> None:
    """Columns equal complex steps of plain poses, mimic joints and branches included."""
    s = random_states(arm, 2)
    R, p = frame_in_world(arm, TOOL, s.q[:, None] + 1j * STEP * np.eye(arm.n))
    at = (R @ np.array(POINT)[:, None])[..., 0] + p
    kinematics = robolin.jacobian(arm, s.q, frame=TOOL, point=POINT)

    assert (
        gap(kinematics.jacobian, np.swapaxes(np.concatenate([spin(R), at.imag / STEP], -1), 1, 2))
        <= EXACT
    )
    assert gap(kinematics.position, at.real[:, 0]) <= EXACT
    assert gap(kinematics.rotation, R.real[:, 0]) <= EXACT


@each_arm
def test_twist_and_acceleration_are_the_jacobians(arm: Arm) -> None:
    """twist = J q̇, and the classical acceleration is J q̈ + J̇ q̇."""
    s = random_states(arm, 2)
    J = robolin.jacobian(arm, s.q, s.qd, frame=TOOL, point=POINT)
    moving = robolin.frame_motion(arm, s.q, s.qd, s.qdd, frame=TOOL, point=POINT)
    twist = np.einsum("bij,bj->bi", J.jacobian, s.qd)
    acceleration = np.einsum("bij,bj->bi", J.jacobian, s.qdd) + J.jacobian_rate_qd

    assert gap(J.twist, twist) <= EXACT
    assert gap(moving.twist, twist) <= EXACT
    assert gap(moving.classical_acceleration, acceleration) <= EXACT
    for name in ("position", "rotation"):
        assert np.array_equal(getattr(moving, name), getattr(J, name))


@each_arm
def test_jacobian_rate_is_the_jacobians_rate(arm: Arm) -> None:
    """J̇ q̇ comes from a complex step of J along q̇."""
    s = random_states(arm, 2)
    placed = at_frame(arm, TOOL, POINT)
    moved = run_on(placed, "jacobian", {"q": s.q + 1j * STEP * s.qd, "qd": s.qd})
    true = np.einsum("bij,bj->bi", moved["jacobian"].imag / STEP, s.qd)
    jacobian_rate_qd = robolin.jacobian(arm, s.q, s.qd, frame=TOOL, point=POINT).jacobian_rate_qd

    # a single prismatic joint rotates nothing, and a single hinge only by its own speed
    assert gap(jacobian_rate_qd, true, made_of=float(np.abs(s.qd).max() ** 2)) <= EXACT


def moved_motion(arm: Arm, inputs: Mapping[str, Any], along: str) -> dict[str, np.ndarray]:
    """∂/∂along of the frame's motion by complex step, joints on the last axis."""
    return complex_step(at_frame(arm, TOOL, POINT), "frame-motion", inputs, along)


@each_arm
def test_derivatives_of_the_moving_point(arm: Arm) -> None:
    """∂/∂q and ∂/∂q̇ of twist and classical acceleration equal complex steps."""
    s = random_states(arm, 2)
    inputs = {"q": s.q, "qd": s.qd, "qdd": s.qdd}
    by_q, by_qd = (moved_motion(arm, inputs, name) for name in ("q", "qd"))
    derivatives = robolin.frame_derivatives(arm, s.q, s.qd, s.qdd, frame=TOOL, point=POINT)
    size = float(np.abs(s.qd).max() ** 2 + np.abs(s.qdd).max())

    assert gap(derivatives.dtwist_dq, by_q["twist"], size) <= EXACT
    assert (
        gap(derivatives.dclassical_acceleration_dq, by_q["classical_acceleration"], size) <= EXACT
    )
    assert (
        gap(derivatives.dclassical_acceleration_dqd, by_qd["classical_acceleration"], size) <= EXACT
    )


@each_arm
def test_derivatives_at_a_fixed_point(arm: Arm) -> None:
    """Referred to the point before the motion: V + w x (r₀ - r), a + ẇ x (r₀ - r)."""
    s = random_states(arm, 2)
    placed, names = at_frame(arm, TOOL, POINT), ("q", "qd", "qdd")
    here = run_on(placed, "frame-motion", {name: getattr(s, name) for name in names})["position"]
    derivatives = robolin.frame_derivatives(arm, s.q, s.qd, s.qdd, frame=TOOL, point=POINT)
    size = float(np.abs(s.qd).max() ** 2 + np.abs(s.qdd).max())
    for along, result, array in (
        ("q", "dspatial_velocity_dq", "twist"),
        ("q", "dspatial_acceleration_dq", "spatial_acceleration"),
        ("qd", "dspatial_acceleration_dqd", "spatial_acceleration"),
    ):
        steps = {name: getattr(s, name)[:, None, :] for name in names}
        steps[along] = steps[along] + 1j * STEP * np.eye(arm.n)
        moved = run_on(placed, "frame-motion", steps)
        away = here[:, None, :] - moved["position"]
        X = moved[array]
        at_rest = np.concatenate([X[..., :3], X[..., 3:] + np.cross(X[..., :3], away)], axis=-1)
        true = np.swapaxes(at_rest.imag / STEP, 1, 2)

        assert gap(getattr(derivatives, result), true, size) <= EXACT, result


@each_arm
def test_torques_do_the_work_of_the_wrench(arm: Arm) -> None:
    """A wrench F on the frame takes the torques -J* F: their power is F · twist."""
    rng, s = np.random.default_rng(3), random_states(arm, 2)
    force, torque = (tuple(x) for x in rng.normal(size=(2, 3)).tolist())
    pushed = replace(arm, wrenches=(Wrench(TOOL, "dead", force, torque),))
    change = robolin.inverse(arm, s.q, s.qd) - robolin.inverse(pushed, s.q, s.qd)
    J = robolin.jacobian(arm, s.q, s.qd, frame=TOOL)
    size = float(np.abs(robolin.inverse(arm, s.q, s.qd)).max())

    assert gap(change, np.einsum("bij,i->bj", J.jacobian, [*torque, *force]), size) <= EXACT
    power = np.einsum("bi,i->b", J.twist, [*torque, *force])
    assert gap(np.einsum("bi,bi->b", change, s.qd), power, size) <= EXACT


def test_vectors_in_the_frames_own_axes() -> None:
    """reference='frame' multiplies every vector by R* and leaves the pose alone."""
    arm = ARMS[2]
    s = random_states(arm, 4)
    world = robolin.jacobian(arm, s.q, s.qd, frame=TOOL)
    own = robolin.jacobian(arm, s.q, s.qd, frame=TOOL, reference="frame")
    back = np.zeros((4, 6, 6))
    back[:, :3, :3] = back[:, 3:, 3:] = np.swapaxes(world.rotation, 1, 2)

    assert gap(own.jacobian, back @ world.jacobian) <= EXACT
    for name in ("twist", "jacobian_rate_qd"):
        true = np.einsum("bij,bj->bi", back, getattr(world, name))
        assert gap(getattr(own, name), true) <= EXACT
    assert np.array_equal(own.position, world.position)
    assert np.array_equal(own.rotation, world.rotation)
    unknown: Any = "body"
    with pytest.raises(
        robolin.UsageError, match="reference: must be 'world' or 'frame', got 'body'"
    ):
        robolin.jacobian(arm, s.q, reference=unknown)


def test_a_frame_on_the_base_is_fixed() -> None:
    """No joint moves it, and its pose is the description's."""
    arm = robolin.load("ur5")
    kinematics = robolin.jacobian(arm, np.full((2, 6), 0.3), 1.0, frame="base")

    assert not kinematics.jacobian.any()
    assert not kinematics.twist.any()
    np.testing.assert_array_equal(
        kinematics.rotation[0], np.reshape(arm.frames["base"].pose.rotation, (3, 3))
    )


def test_floating_and_planar_joints() -> None:
    """Along a small twist of the body, the frame moves by J, and its motion by the derivatives.

    Central differences of step 1e-5: 1e-10 of third derivatives and 1e-11 of the values.
    """
    arm, h = robolin.load("panda", floating_base=True), 1e-5
    s = random_states(arm, 1)
    q, qd, qdd = s.q[0], s.qd[0], s.qdd[0]

    def motion(delta: np.ndarray, dqd: np.ndarray | float = 0.0) -> Any:
        at = integrate(arm, q, delta)
        return robolin.frame_motion(arm, at, qd + dqd, qdd, frame="panda_hand", point=POINT)

    J = robolin.jacobian(arm, q, qd, frame="panda_hand", point=POINT)
    derivatives = robolin.frame_derivatives(arm, q, qd, qdd, frame="panda_hand", point=POINT)
    for j, e in enumerate(h * np.eye(arm.n)):
        ahead, behind = motion(e), motion(-e)
        faster, slower = motion(0.0 * e, e), motion(0.0 * e, -e)
        for name, column, (one, other) in (
            ("position", J.jacobian[3:, j], (ahead, behind)),
            ("twist", derivatives.dtwist_dq[:, j], (ahead, behind)),
            ("twist", J.jacobian[:, j], (faster, slower)),
            (
                "classical_acceleration",
                derivatives.dclassical_acceleration_dq[:, j],
                (ahead, behind),
            ),
            (
                "classical_acceleration",
                derivatives.dclassical_acceleration_dqd[:, j],
                (faster, slower),
            ),
        ):
            difference = (getattr(one, name) - getattr(other, name)) / (2.0 * h)
            np.testing.assert_allclose(difference, column, rtol=0, atol=2e-8, err_msg=name)


# against Pinocchio


@pytest.mark.parametrize("arm", [*ARMS[1:4], ARMS[-1]], ids=arm_name)
def test_pinocchio_agrees(arm: Arm) -> None:
    """Pose, Jacobian, velocity, and both accelerations in Pinocchio's world-aligned frame."""
    pin = pytest.importorskip("pinocchio")
    from tests.dynamics.pinocchio_reference import model_from_arm, velocity_indices
    from tests.dynamics.world import link_positions, spreading

    model = model_from_arm(arm)
    frame = arm.frames[TOOL]
    pose = pin.SE3(np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.translation))
    pose = pose * pin.SE3(np.eye(3), np.array(POINT))
    joint = model.getJointId(arm.link(frame.link).joint.name)
    number = model.addFrame(pin.Frame("tool", joint, pose, pin.FrameType.OP_FRAME))
    data, indices, aligned = (
        model.createData(),
        velocity_indices(model, arm),
        pin.LOCAL_WORLD_ALIGNED,
    )
    S = np.zeros((model.nv, arm.n))
    S[indices] = spreading(arm)
    swapped = [3, 4, 5, 0, 1, 2]

    s = random_states(arm, 10)
    J = robolin.jacobian(arm, s.q, s.qd, frame=TOOL, point=POINT)
    moving = robolin.frame_motion(arm, s.q, s.qd, s.qdd, frame=TOOL, point=POINT)
    for i in range(10):
        full = np.zeros(model.nv)
        full[indices] = link_positions(arm, s.q[i])
        q = pin.integrate(model, pin.neutral(model), full)
        pin.forwardKinematics(model, data, q, S @ s.qd[i], S @ s.qdd[i])
        pin.updateFramePlacements(model, data)
        at = (model, data, number, aligned)
        for computed, true in (
            (J.jacobian[i], pin.computeFrameJacobian(model, data, q, number, aligned) @ S),
            (moving.twist[i], pin.getFrameVelocity(*at).vector),
            (moving.spatial_acceleration[i], pin.getFrameAcceleration(*at).vector),
            (moving.classical_acceleration[i], pin.getFrameClassicalAcceleration(*at).vector),
        ):
            assert gap(computed, true[swapped]) <= EXACT
        assert gap(moving.position[i], data.oMf[number].translation) <= EXACT
        assert gap(moving.rotation[i], data.oMf[number].rotation) <= EXACT
