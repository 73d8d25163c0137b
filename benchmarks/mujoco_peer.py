"""MuJoCo, called state by state in a Python loop, without contacts and constraints.

Its derivatives are finite differences; derivatives of the transition divided by the time step, here
one second, are those of the acceleration.
"""

from __future__ import annotations

from collections.abc import Iterable

import mujoco
import numpy as np

from benchmarks.subjects import States, Subject
from robolin.core.arm import Arm, Link
from robolin.description.robot_source import bundled_path

DIFFERENCE = 1e-6


class MuJoCo:
    """The subject as a MuJoCo model; one method per supported verb."""

    name = "MuJoCo"

    def __init__(self, subject: Subject) -> None:
        text = (
            bundled_path(subject.urdf).read_text(encoding="utf-8")
            if subject.urdf
            else _mjcf(subject.arm)
        )
        self.model = _model(text, subject.arm)
        self.data = mujoco.MjData(self.model)

    def inverse(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, qdd = states["q"], states["qd"], states["qdd"]
        tau = np.empty((rows, model.nv))
        for i in range(rows):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[i], qd[i], qdd[i]
            mujoco.mj_inverse(model, data)
            tau[i] = data.qfrc_inverse
        return {"tau": tau}

    def forward(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, tau = states["q"], states["qd"], states["tau"]
        qdd = np.empty((rows, model.nv))
        for i in range(rows):
            data.qpos[:], data.qvel[:], data.ctrl[:] = q[i], qd[i], tau[i]
            mujoco.mj_forward(model, data)
            qdd[i] = data.qacc
        return {"qdd": qdd}

    def mass_matrix(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data, q = self.model, self.data, states["q"]
        make = getattr(mujoco, "mj_makeM", mujoco.mj_crb)
        M = np.empty((rows, model.nv, model.nv))
        for i in range(rows):
            data.qpos[:] = q[i]
            mujoco.mj_kinematics(model, data)
            mujoco.mj_comPos(model, data)
            make(model, data)
            _full(model, data, M[i])
        return {"mass_matrix": M}

    def linearize_inverse(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data = self.model, self.data
        q, qd, qdd = states["q"], states["qd"], states["qdd"]
        by_q, by_qd, M = np.empty((3, rows, model.nv, model.nv))
        unwanted = (None,) * 4
        for i in range(rows):
            data.qpos[:], data.qvel[:], data.qacc[:] = q[i], qd[i], qdd[i]
            mujoco.mjd_inverseFD(model, data, DIFFERENCE, False, by_q[i], by_qd[i], M[i], *unwanted)
        # rows are inputs and columns are outputs: transpose
        return {
            "mass_matrix": M,
            "dtau_dqd": by_qd.transpose(0, 2, 1),
            "dtau_dq": by_q.transpose(0, 2, 1),
        }

    def linearize_forward(self, states: States, rows: int) -> dict[str, np.ndarray]:
        model, data, n = self.model, self.data, self.model.nv
        q, qd, tau = states["q"], states["qd"], states["tau"]
        A, B = np.empty((rows, 2 * n, 2 * n)), np.empty((rows, 2 * n, n))
        for i in range(rows):
            data.qpos[:], data.qvel[:], data.ctrl[:] = q[i], qd[i], tau[i]
            mujoco.mjd_transitionFD(model, data, DIFFERENCE, True, A[i], B[i], None, None)
        step = model.opt.timestep
        return {
            "dqdd_dtau": B[:, n:] / step,
            "dqdd_dqd": (A[:, n:, n:] - np.eye(n)) / step,
            "dqdd_dq": A[:, n:, :n] / step,
        }


def _full(model: mujoco.MjModel, data: mujoco.MjData, M: np.ndarray) -> None:
    try:
        mujoco.mj_fullM(model, data, M)
    except TypeError:
        # before version 3.5 the argument is the sparse inertia instead of the data
        mujoco.mj_fullM(model, M, data.qM)


def _model(text: str, arm: Arm) -> mujoco.MjModel:
    """The model with a motor on every joint, without contacts, dissipation or limits."""
    spec = mujoco.MjSpec.from_string(text)
    spec.compiler.balanceinertia = False
    spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
    for joint in spec.joints:
        motor = spec.add_actuator(name=f"motor_{joint.name}", target=joint.name)
        motor.trntype = mujoco.mjtTrn.mjTRN_JOINT
    model = spec.compile()
    names = [model.joint(i).name for i in range(model.njnt)]
    assert names == list(arm.joint_names), "states are handed over without reordering"
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
    model.opt.timestep = 1.0
    model.opt.gravity[:] = arm.gravity
    model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
    model.dof_armature[:] = [joint.armature for joint in arm.joints]
    return model


def _mjcf(arm: Arm) -> str:
    """The robot in MJCF, body by body."""
    bodies = "".join(_body(arm, k) for k in _children(arm, arm.base))
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'


def _body(arm: Arm, k: int) -> str:
    link = arm.link(k)
    pose, inertia = link.joint.pose, link.inertia
    xx, xy, xz, yy, yz, zz = inertia.rotary
    x_axis, y_axis = pose.rotation[0::3], pose.rotation[1::3]
    return (
        f'<body name="{link.name}" pos="{_list(pose.translation)}" '
        f'xyaxes="{_list(x_axis)} {_list(y_axis)}">'
        f'<inertial pos="{_list(inertia.com)}" mass="{inertia.mass!r}" '
        f'fullinertia="{_list((xx, yy, zz, xy, xz, yz))}"/>'
        f'<joint name="{link.joint.name}" type="{_kind(link)}" axis="{_list(link.joint.axis)}"/>'
        + "".join(_body(arm, child) for child in _children(arm, k))
        + "</body>"
    )


def _children(arm: Arm, parent: int) -> list[int]:
    """Child links of a link, base to tip."""
    return [k for k in range(len(arm.links), 0, -1) if arm.link(k).parent == parent]


def _kind(link: Link) -> str:
    return "hinge" if link.joint.turns else "slide"


def _list(numbers: Iterable[float]) -> str:
    return " ".join(repr(number) for number in numbers)
