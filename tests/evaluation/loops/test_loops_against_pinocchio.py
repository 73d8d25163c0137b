"""A second implementation: tree, frames and their accelerations from Pinocchio, then one system."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import robolin
from robolin.core.arm import Frame
from tests.evaluation.loops.closed_arms import Closed, relative, sample

pin = pytest.importorskip("pinocchio")

from tests.dynamics.pinocchio_reference import model_from_arm, velocity_indices  # noqa: E402, needs pin

INDEPENDENT = [closed for closed in sample() if not closed.arm.has_mimic]
WORLD = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED


def added(model: pin.Model, arm: robolin.Arm, frame: Frame) -> int:
    """The frame's number in Pinocchio's model, to which it is added."""
    pose = pin.SE3(np.reshape(frame.pose.rotation, (3, 3)), np.array(frame.pose.translation))
    joint = 0 if frame.link == arm.base else model.getJointId(arm.link(frame.link).joint.name)
    return model.addFrame(pin.Frame(frame.name, joint, 0, pose, pin.FrameType.OP_FRAME))


def motion(
    model: pin.Model,
    closures: list[tuple[int, int, int]],
    q: np.ndarray,
    v: np.ndarray,
    tau: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """q̈ and λ from [[M, L*], [L, 0]] [q̈; -λ] = [τ - C; -L̇ q̇], [linear; angular] as here."""
    data = model.createData()
    M = pin.crba(model, data, q)
    M = np.triu(M) + np.triu(M, 1).T
    C = pin.nle(model, data, q, v)
    pin.forwardKinematics(model, data, q, v, np.zeros(model.nv))
    pin.computeJointJacobians(model, data, q)
    rows, bias = [], []
    for first, second, size in closures:
        J = [pin.computeFrameJacobian(model, data, q, f, WORLD).copy() for f in (first, second)]
        a = [
            pin.getFrameClassicalAcceleration(model, data, f, WORLD).vector.copy()
            for f in (first, second)
        ]
        rows.append((J[0] - J[1])[:size])
        bias.append((a[1] - a[0])[:size])
    L, c = np.vstack(rows), np.concatenate(bias)
    system = np.block([[M, L.T], [L, np.zeros((len(L), len(L)))]])
    solution = np.linalg.solve(system, np.concatenate([tau - C, c]))
    return solution[: model.nv], -solution[model.nv :]


@pytest.mark.parametrize("closed", INDEPENDENT, ids=lambda closed: closed.arm.name)
def test_motion_and_forces_are_pinocchios(closed: Closed) -> None:
    """Accelerations, and forces and torques of the closures in world axes, are the same."""
    arm = replace(closed.arm, damping=False)
    model = model_from_arm(arm)
    closures = [
        (
            added(model, arm, loop.first),
            added(model, arm, loop.second),
            3 if loop.kind == "point" else 6,
        )
        for loop in arm.loops
    ]
    computed = robolin.loop_forces(arm, closed.q, closed.qd, closed.tau)
    indices, coordinate = velocity_indices(model, arm), np.array(arm.coordinates)
    for i in range(len(closed.q)):
        state = np.zeros((3, model.nv))
        state[:, indices] = np.stack([closed.q[i], closed.qd[i], closed.tau[i]])[:, coordinate]
        qdd, lam = motion(model, closures, *state)

        # condition numbers of up to 1e3 times rounding, measured at 1e-14
        assert relative(computed.qdd[i][coordinate], qdd[indices]) < 1e-12
        assert relative(computed.lam[i], lam) < 1e-12
