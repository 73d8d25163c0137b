"""Pinocchio's results in an arm's own joint order, reduced where joints mimic.

All joints are independent in Pinocchio's model; mimic joints are tied afterwards by S, q_full = S q
+ b.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pinocchio as pin

from robolin.core.arm import Arm, Link
from tests.dynamics.world import link_positions, spreading
from tests.robots import States


@dataclass(frozen=True)
class Reference:
    """Arrays (count, n) and (count, n, n); the forward side is None if 𝓜 is singular."""

    tau: np.ndarray
    mass_matrix: np.ndarray
    dtau_dqd: np.ndarray
    dtau_dq: np.ndarray
    qdd: np.ndarray | None = None
    dqdd_dtau: np.ndarray | None = None
    dqdd_dqd: np.ndarray | None = None
    dqdd_dq: np.ndarray | None = None


def model_from_urdf(path: Path, arm: Arm) -> pin.Model:
    """Pinocchio's own reading of the file, under the arm's gravity and rotors."""
    return _prepared(pin.buildModelFromUrdf(str(path)), arm)


def model_from_arm(arm: Arm) -> pin.Model:
    """A model made joint by joint, for arms that have no URDF."""
    model, joints = pin.Model(), {arm.base: 0}
    for k in range(len(arm.links), 0, -1):
        link = arm.link(k)
        pose = link.joint.pose
        placement = pin.SE3(np.reshape(pose.rotation, (3, 3)), np.array(pose.translation))
        joints[k] = model.addJoint(
            joints[link.parent], _joint_model(link), placement, link.joint.name
        )
        xx, xy, xz, yy, yz, zz = link.inertia.rotary
        rotary = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        body = pin.Inertia(link.inertia.mass, np.array(link.inertia.com), rotary)
        model.appendBodyToJoint(joints[k], body, pin.SE3.Identity())
    return _prepared(model, arm)


def _joint_model(link: Link) -> pin.JointModel:
    axis = np.array(link.joint.axis)
    if link.joint.turns:
        return pin.JointModelRevoluteUnaligned(axis)
    return pin.JointModelPrismaticUnaligned(axis)


def _prepared(model: pin.Model, arm: Arm) -> pin.Model:
    assert model.nv == len(arm.links), "both must see the same moving joints"
    model.gravity.linear = np.array(arm.gravity)
    rotors = np.zeros(model.nv)
    rotors[velocity_indices(model, arm)] = [link.joint.armature for link in arm.links_tip_to_base]
    model.armature = rotors
    return model


def velocity_indices(model: pin.Model, arm: Arm) -> np.ndarray:
    """Indices of the joints of links 1 … N in Pinocchio's velocity."""
    return np.array(
        [model.idx_vs[model.getJointId(link.joint.name)] for link in arm.links_tip_to_base]
    )


def reference(model: pin.Model, arm: Arm, states: States, forward: bool) -> Reference:
    """The inverse side of all states, and the forward side if requested."""
    spread, indices = spreading(arm), velocity_indices(model, arm)
    S = np.zeros((model.nv, arm.n))
    S[indices] = spread
    full = np.zeros((len(states.q), model.nv))
    full[:, indices] = link_positions(arm, states.q)
    qd, qdd = states.qd @ S.T, states.qdd @ S.T

    rows = [
        _state(model, S, *row, forward, arm.has_mimic) for row in zip(full, qd, qdd, strict=True)
    ]
    return Reference(*(np.array(column) for column in zip(*rows, strict=True)))


def _state(
    model: pin.Model,
    S: np.ndarray,
    value: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    forward: bool,
    tied: bool,
) -> tuple[np.ndarray, ...]:
    # a continuous joint is a point on a circle to Pinocchio
    q = pin.integrate(model, pin.neutral(model), value)
    return answers(model, S, q, v, a, forward, tied)


def answers(
    model: pin.Model,
    S: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    forward: bool = True,
    tied: bool = False,
) -> tuple[np.ndarray, ...]:
    """The fields of `Reference` for one state; q is Pinocchio's own."""
    data = model.createData()
    full_tau = pin.rnea(model, data, q, v, a).copy()
    pin.computeRNEADerivatives(model, data, q, v, a)
    M = S.T @ _symmetric(data.M) @ S
    A, B = S.T @ data.dtau_dv @ S, S.T @ data.dtau_dq @ S
    inverse = (S.T @ full_tau, M, A, B)
    if not forward:
        return inverse
    if tied:
        solved = np.linalg.inv(M), -np.linalg.solve(M, A), -np.linalg.solve(M, B)
        return (*inverse, np.linalg.lstsq(S, a, rcond=None)[0], *solved)
    pin.computeABADerivatives(model, data, q, v, full_tau)
    sided = (S.T @ side @ S for side in (_symmetric(data.Minv), data.ddq_dv, data.ddq_dq))
    return (*inverse, S.T @ data.ddq, *sided)


def _symmetric(upper: np.ndarray) -> np.ndarray:
    """Pinocchio fills the upper triangle only."""
    return np.triu(upper) + np.triu(upper, 1).T
