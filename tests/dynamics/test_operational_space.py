"""The operational-space inertia of a frame, its inverse and bias.

Every result divides by the mass matrix once: 1e-12 + 1e-15 cond(𝓜) of the largest entry is allowed;
Λ divides again, by a matrix whose condition number is a further factor.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm, Wrench
from robolin.dynamics.catalogue import ALGORITHMS
from robolin.engine.direct_storage import generic_chain
from robolin.engine.parameters import parameters_of
from robolin.engine.run import count_operations
from robolin.evaluation.frames import at_frame
from tests.dynamics.running import gap, gap_by_state
from tests.engine.on_lanes import on_lanes
from tests.robots import (
    TOOL,
    arm_name,
    bundled_arms,
    random_arm,
    random_states,
    with_wrench,
    without_mimic,
)

STATES = 2


def arrays_of(result: Any) -> dict[str, Any]:
    return {name: values for name, values in vars(result).items() if name != "frame"}


def arm_and_tip(arm: Arm) -> str:
    return TOOL if TOOL in arm.frames else arm.links_tip_to_base[0].name


ARMS = [
    random_arm(900, 2),
    random_arm(901, 6),
    with_wrench(random_arm(902, 8, armature=True), "follower"),
    random_arm(903, 12, tree=True, armature=True, damping=True),
    *without_mimic(bundled_arms()),
]
LONG = [arm for arm in ARMS if arm.serial and arm.n >= 6]
each_arm = pytest.mark.parametrize("arm", ARMS, ids=arm_name)
each_long = pytest.mark.parametrize("arm", LONG, ids=arm_name)


def tolerance(arm: Arm, q: np.ndarray) -> np.ndarray:
    return 1e-12 + 1e-15 * np.linalg.cond(robolin.mass_matrix(arm, q))


@each_arm
def test_the_inverse_is_the_jacobian_around_that_of_the_mass_matrix(arm: Arm) -> None:
    """The recursion along the links gives J 𝓜⁻¹ J* of dense matrices, symmetric to the bit."""
    frame, s = arm_and_tip(arm), random_states(arm, STATES)
    computed = robolin.operational_space(arm, s.q, frame=frame, inverse_only=True)
    J = robolin.jacobian(arm, s.q, frame=frame).jacobian
    true = J @ np.linalg.solve(robolin.mass_matrix(arm, s.q), np.swapaxes(J, 1, 2))
    inverse = computed.operational_inertia_inverse

    assert (gap_by_state(inverse, true) <= tolerance(arm, s.q)).all()
    assert np.array_equal(inverse, np.swapaxes(inverse, 1, 2))


@each_arm
def test_the_free_acceleration_is_that_of_forward_dynamics(arm: Arm) -> None:
    """Without a further wrench the frame accelerates as the torques and loads there are say."""
    frame, s = arm_and_tip(arm), random_states(arm, STATES)
    computed = robolin.operational_space(arm, s.q, s.qd, s.dtau, frame=frame, inverse_only=True)
    qdd = robolin.forward(arm, s.q, s.qd, s.dtau)
    true = robolin.frame_motion(arm, s.q, s.qd, qdd, frame=frame).classical_acceleration

    assert (gap_by_state(computed.free_acceleration, true) <= 10.0 * tolerance(arm, s.q)).all()


@each_long
def test_a_wrench_accelerates_the_frame_as_the_inertia_says(arm: Arm) -> None:
    """Λ a + μ = F, with a from forward dynamics of the arm that F is applied to as a load."""
    frame, s = arm_and_tip(arm), random_states(arm, STATES)
    force, torque = (tuple(x) for x in np.random.default_rng(1).normal(size=(2, 3)).tolist())
    F = np.array([*torque, *force])
    pushed = replace(arm, wrenches=(*arm.wrenches, Wrench(frame, "dead", force, torque)))
    qdd = robolin.forward(pushed, s.q, s.qd, s.dtau)
    a = robolin.frame_motion(arm, s.q, s.qd, qdd, frame=frame).classical_acceleration
    operational = robolin.operational_space(arm, s.q, s.qd, s.dtau, frame=frame)
    left = np.einsum("bij,bj->bi", operational.operational_inertia, a)

    condition = np.linalg.cond(operational.operational_inertia)
    error = np.abs(left + operational.bias_wrench - F).max(axis=1) / np.abs(left).max(axis=1)
    assert (error <= 10.0 * tolerance(arm, s.q) * condition).all()


@each_long
def test_the_inertia_is_the_inverse_of_its_inverse(arm: Arm) -> None:
    """Swept pivot by pivot, Λ equals LAPACK's inverse of Λ⁻¹, and is symmetric to the bit."""
    frame, s = arm_and_tip(arm), random_states(arm, STATES)
    computed = robolin.operational_space(arm, s.q, frame=frame)
    inertia = computed.operational_inertia
    true = np.linalg.inv(computed.operational_inertia_inverse)

    assert (gap_by_state(inertia, true) <= 1e-15 * np.linalg.cond(true)).all()
    assert np.array_equal(inertia, np.swapaxes(inertia, 1, 2))
    assert (np.linalg.eigvalsh(inertia) > 0.0).all()


def test_pinocchios_inverse_mass_matrix_gives_the_same() -> None:
    """J 𝓜⁻¹ J* with Pinocchio's Jacobian and computeMinverse, rows and columns reordered."""
    pin = pytest.importorskip("pinocchio")
    from robolin.description.robot_source import bundled_path
    from tests.dynamics.pinocchio_reference import model_from_urdf

    arm = robolin.load("panda", damping=False)
    model = model_from_urdf(bundled_path("panda"), arm)
    data, number = model.createData(), model.getFrameId("panda_hand")
    s = random_states(arm, STATES)
    computed = robolin.operational_space(arm, s.q, frame="panda_hand")
    allowed = tolerance(arm, s.q)
    for i in range(STATES):
        J = pin.computeFrameJacobian(model, data, s.q[i], number, pin.LOCAL_WORLD_ALIGNED)
        upper = pin.computeMinverse(model, data, s.q[i])
        J = J[[3, 4, 5, 0, 1, 2]]
        true = J @ (np.triu(upper) + np.triu(upper, 1).T) @ J.T
        assert gap(computed.operational_inertia_inverse[i], true) <= allowed[i]


def test_vectors_and_matrices_in_the_frames_own_axes() -> None:
    """Λ, Λ⁻¹, μ and the free acceleration are turned by the frame's rotation on every axis."""
    arm = LONG[0]
    s = random_states(arm, 3)
    world = robolin.operational_space(arm, s.q, s.qd, frame=TOOL)
    own = robolin.operational_space(arm, s.q, s.qd, frame=TOOL, reference="frame")
    R = robolin.jacobian(arm, s.q, frame=TOOL).rotation
    back = np.zeros((3, 6, 6))
    back[:, :3, :3] = back[:, 3:, 3:] = np.swapaxes(R, 1, 2)

    for name, values in arrays_of(world).items():
        true = np.einsum("bij,b...j->b...i", back, values)
        if values.ndim > 2:
            true = back @ values @ np.swapaxes(back, 1, 2)
        assert gap(getattr(own, name), true) <= 1e-13, name


@pytest.mark.slow
def test_the_cost_is_linear_in_the_number_of_joints() -> None:
    """Counted operations at 5, 10, 20 and 30 joints are exactly on a line."""
    for name in ("operational-space", "operational-space-inverse", "jacobian"):
        algorithm, totals = ALGORITHMS[name], {}
        for n in (5, 10, 20, 30):
            cost = count_operations(
                generic_chain(n), algorithm.run, algorithm.needs, algorithm.gives
            )
            totals[n] = cost.total.total()
        slope = (totals[10] - totals[5]) / 5
        assert [totals[n] for n in (20, 30)] == [totals[5] + slope * (n - 5) for n in (20, 30)]


@pytest.mark.slow
@each_long
def test_lanes_have_the_same_bits(arm: Arm) -> None:
    """Kernels are bit-identical to NumPy, for Λ as well."""
    placed, algorithm = at_frame(arm, arm_and_tip(arm)), ALGORITHMS["operational-space"]
    s = random_states(arm, 100)
    inputs = {"q": s.q, "qd": s.qd, "tau": s.dtau}
    lanes, status = on_lanes(placed, "operational-space", algorithm, inputs)
    true = robolin.operational_space(
        arm, s.q, s.qd, s.dtau, frame=arm_and_tip(arm), engine="python"
    )

    assert not status.any()
    for name, values in arrays_of(true).items():
        assert lanes[name].tobytes() == values.tobytes(), name


# where Λ does not exist


def test_few_joints_have_an_inverse_only() -> None:
    """With fewer than six joints on the chain to the frame Λ does not exist, and is None."""
    short = robolin.operational_space(random_arm(901, 5), np.zeros(5), frame=TOOL)
    panda = robolin.load("panda")
    middle = robolin.operational_space(panda, np.full(7, 0.5), frame="panda_link5")

    for operational in (short, middle):
        assert operational.operational_inertia is None
        assert operational.bias_wrench is None
        assert np.linalg.matrix_rank(operational.operational_inertia_inverse) == 5


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_a_singular_pose_is_named_by_its_state(engine: Any) -> None:
    """The outstretched UR5 cannot move in all directions: the error names the state."""
    arm = robolin.load("ur5", tip="wrist_3_link")
    fine = [0.3, -1.0, 1.2, 0.4, 0.9, 0.1]
    with pytest.raises(robolin.RobolinError, match="operational_inertia does not exist") as caught:
        robolin.operational_space(arm, [fine, [0.0] * 6], engine=engine)
    assert str(caught.value).startswith("ur5: state 1: ")
    assert "inverse alone" in caught.value.hint

    operational = robolin.operational_space(
        arm, [fine, [0.0] * 6], inverse_only=True, engine=engine
    )
    ranks = np.linalg.matrix_rank(operational.operational_inertia_inverse, tol=1e-9)
    J = robolin.jacobian(arm, [fine, [0.0] * 6]).jacobian
    assert ranks.tolist() == np.linalg.matrix_rank(J, tol=1e-9).tolist() == [6, 5]


def test_the_recursion_rejects_mimic_joints() -> None:
    """It needs independent joints and names the one that is not; elimination does not."""
    arm = robolin.load("panda-fingers")
    q = np.full(arm.n, 0.3)
    assert robolin.operational_space(arm, q, frame="panda_hand").operational_inertia is not None
    with pytest.raises(robolin.RobolinError, match="'panda_finger_joint2' mimics"):
        robolin.operational_space(arm, q, frame="panda_hand", method="operator")


def test_a_floating_arm_feels_all_of_itself() -> None:
    """With a floating base Λ⁻¹ is J 𝓜⁻¹ J* with the base's six columns among J's."""
    arm = robolin.load("ur5", floating_base=True)
    s = random_states(arm, 5)
    computed = robolin.operational_space(arm, s.q, s.qd, frame="tool0")
    J = robolin.jacobian(arm, s.q, frame="tool0").jacobian
    true = J @ np.linalg.solve(robolin.mass_matrix(arm, s.q), np.swapaxes(J, 1, 2))

    assert J.shape[-1] == 12 == parameters_of(arm).n
    assert (gap_by_state(computed.operational_inertia_inverse, true) <= tolerance(arm, s.q)).all()
