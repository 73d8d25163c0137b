"""Three arms with damping and rotors on, against MuJoCo.

MuJoCo keeps an inertia as principal moments and a quaternion, a few roundings more than a matrix
has; the bounds are those held against Pinocchio, and some 1e-15 is seen.
"""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.configuration import matrix_of, quaternion_from_rpy
from robolin.description.robot_source import bundled_path
from tests.dynamics.running import gap, gap_by_state
from tests.robots import random_states

mujoco = pytest.importorskip("mujoco")

TOLERANCE = 1e-12
STATES = 20
ARMS = ("panda", "iiwa14", "xarm7")


@pytest.fixture(params=ARMS)
def pair(request: pytest.FixtureRequest) -> tuple[Arm, object]:
    """The same file read by both, with the same rotors."""
    plain = robolin.load(request.param)
    rotors = np.random.default_rng(3).uniform(0.05, 0.5, plain.n)
    armature = dict(zip(plain.joint_names, rotors.tolist(), strict=True))
    arm = robolin.load(request.param, armature=armature)

    spec = mujoco.MjSpec.from_string(bundled_path(request.param).read_text(encoding="utf-8"))
    spec.compiler.balanceinertia = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    model = spec.compile()
    flags = mujoco.mjtDisableBit
    model.opt.disableflags |= flags.mjDSBL_CONSTRAINT | flags.mjDSBL_CONTACT | flags.mjDSBL_LIMIT
    model.dof_frictionloss[:] = 0.0
    model.dof_armature[:] = rotors
    return arm, model


def test_the_files_have_damping(pair: tuple[Arm, object]) -> None:
    """Both programs read the same damping, and it is not zero."""
    arm, model = pair
    damping = [joint.damping for joint in arm.joints]

    assert [model.joint(i).name for i in range(model.njnt)] == list(arm.joint_names)
    np.testing.assert_array_equal(model.dof_damping, damping)
    assert min(damping) > 0.0


def test_inverse_dynamics_and_mass_matrix(pair: tuple[Arm, object]) -> None:
    """τ with damping and rotors, and 𝓜 with rotors, are MuJoCo's."""
    arm, model = pair
    data, states = mujoco.MjData(model), random_states(arm, STATES)
    taus, masses = [], []
    for q, qd, qdd in zip(states.q, states.qd, states.qdd, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        mujoco.mj_inverse(model, data)
        taus.append(data.qfrc_inverse.copy())
        masses.append(full_mass_matrix(model, data))

    tau = robolin.inverse(arm, states.q, states.qd, states.qdd)
    assert gap_by_state(tau, np.array(taus)).max() <= TOLERANCE
    M = robolin.mass_matrix(arm, states.q)
    assert gap_by_state(M, np.array(masses)).max() <= TOLERANCE


def test_a_free_joint() -> None:
    """A floating Panda: τ, 𝓜 and q̈ by every way are those of MuJoCo's free joint.

    MuJoCo keeps the base's linear velocity in the world's axes and its angular one in the body's;
    q̈ within 1e-12 + 1e-15 cond(𝓜), ten times (1e4 here), as everywhere.
    """
    text = bundled_path("panda").read_text(encoding="utf-8")
    world = '<link name="w"/><joint name="base" type="floating"><parent link="w"/>'
    root = '<child link="panda_link0"/></joint></robot>'
    spec = mujoco.MjSpec.from_string(text.replace("</robot>", world + root))
    spec.compiler.balanceinertia = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    model = spec.compile()
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    model.dof_damping[:] = 0.0

    arm = robolin.load("panda", floating_base=True, damping=False)
    data, s = mujoco.MjData(model), random_states(arm, STATES)
    quaternion = quaternion_from_rpy(s.q[:, :3])
    rotation = matrix_of(quaternion)
    for i, (q, qd, qdd) in enumerate(zip(s.q, s.qd, s.qdd, strict=True)):
        R, spin, slide = rotation[i], qd[:3], qd[3:6]
        turn = np.eye(arm.n)
        turn[:6, :6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
        data.qpos[:] = np.concatenate([q[3:6], quaternion[i, [3, 0, 1, 2]], q[6:]])
        data.qvel[:], data.qacc[:] = turn @ qd, turn @ qdd
        data.qacc[:3] += R @ np.cross(spin, slide)
        mujoco.mj_inverse(model, data)

        tau, M = turn.T @ data.qfrc_inverse, turn.T @ full_mass_matrix(model, data) @ turn
        assert gap(robolin.inverse(arm, q, qd, qdd), tau) <= TOLERANCE
        assert gap(robolin.mass_matrix(arm, q), M) <= TOLERANCE
        bound = 10.0 * (1e-12 + 1e-15 * np.linalg.cond(M))
        for way in ("a", "b", "c", "d", "conventional"):
            assert gap(robolin.forward(arm, q, qd, tau, method=way), qdd) <= bound


def full_mass_matrix(model: object, data: object) -> np.ndarray:
    M = np.zeros((model.nv, model.nv))
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:
        # before version 3.5 the sparse inertia was handed over instead of the data
        mujoco.mj_fullM(model, M, data.qM)
    return M


def test_forward_dynamics(pair: tuple[Arm, object]) -> None:
    """q̈ of given torques, damping braking, is MuJoCo's."""
    arm, model = pair
    data, states = mujoco.MjData(model), random_states(arm, STATES)
    tau = robolin.inverse(arm, states.q, states.qd, states.qdd)
    accelerations = []
    for q, qd, push in zip(states.q, states.qd, tau, strict=True):
        data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, qd, push
        mujoco.mj_forward(model, data)
        accelerations.append(data.qacc.copy())

    condition = np.linalg.cond(robolin.mass_matrix(arm, states.q)).max()
    tolerance = 10.0 * (TOLERANCE + 1e-15 * condition)
    for method in ("operator", "conventional"):
        qdd = robolin.forward(arm, states.q, states.qd, tau, method=method)
        assert gap_by_state(qdd, np.array(accelerations)).max() <= tolerance


def test_gradients_of_torque(pair: tuple[Arm, object]) -> None:
    """∂τ/∂q, ∂τ/∂q̇ and ∂τ/∂q̈ are MuJoCo's finite differences, to their 1e-5."""
    arm, model = pair
    data, states = mujoco.MjData(model), random_states(arm, 3)
    for q, qd, qdd in zip(states.q, states.qd, states.qdd, strict=True):
        data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
        linearized = robolin.linearize_inverse(arm, q, qd, qdd)
        gradients = [np.zeros((arm.n, arm.n)) for _ in range(3)]
        mujoco.mjd_inverseFD(model, data, 1e-6, False, *gradients, None, None, None, None)

        # MuJoCo stores the derivative of every torque with respect to one input as a row
        names = ("dtau_dq", "dtau_dqd", "mass_matrix")
        for name, rows in zip(names, gradients, strict=True):
            size = np.abs(rows).max()
            np.testing.assert_allclose(
                getattr(linearized, name), rows.T, rtol=0.0, atol=1e-5 * size, err_msg=name
            )
