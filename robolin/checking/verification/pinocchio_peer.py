"""Pinocchio as a reference: its own model of the file, or one built joint by joint."""

from __future__ import annotations

from typing import Any

import numpy as np

from robolin.checking.verification.peers import urdf_path
from robolin.core.arm import Arm, Link
from robolin.core.arrays import Floats


class PinocchioPeer:
    """A model with every joint independent, with the arm's gravity and armature."""

    exact = True
    springs = "added to the other torques"

    def __init__(self, arm: Arm) -> None:
        import pinocchio

        self._pin: Any = pinocchio
        self.title = f"Pinocchio {pinocchio.__version__}"
        self._model, self.read = self._from_file(arm), "read from the file"
        if self._model is None:
            self._model, self.read = self._built(arm), "built joint by joint from robolin's model"
        self._data = self._model.createData()
        joints = [self._model.getJointId(link.joint.name) for link in arm.links_tip_to_base]
        self._indices = np.array([self._model.idx_vs[joint] for joint in joints])
        rotors = np.zeros(self._model.nv)
        rotors[self._indices] = [link.joint.armature for link in arm.links_tip_to_base]
        self._model.armature = rotors
        self._model.gravity.linear = np.array(arm.gravity)
        joints = [link.joint for link in arm.links_tip_to_base]
        self._stiffness = np.array([joint.stiffness * arm.springs for joint in joints])
        self._rest = np.array([joint.rest for joint in joints])

    def inverse(self, q: Floats, qd: Floats, qdd: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        pin, model, data = self._pin, self._model, self._data
        state = self._configuration(q), self._spread(qd), self._spread(qdd)
        tau = pin.rnea(model, data, *state).copy()
        pin.computeRNEADerivatives(model, data, *state)
        return (
            tau[self._indices] + self._stiffness * (q - self._rest),
            self._taken(_symmetric(data.M)),
            self._taken(data.dtau_dv),
            self._taken(data.dtau_dq) + np.diag(self._stiffness),
        )

    def forward(self, q: Floats, qd: Floats, tau: Floats) -> tuple[Floats, ...]:
        pin, model, data = self._pin, self._model, self._data
        left = tau - self._stiffness * (q - self._rest)
        state = self._configuration(q), self._spread(qd), self._spread(left)
        pin.computeABADerivatives(model, data, *state)
        gradients = (_symmetric(data.Minv), data.ddq_dv, data.ddq_dq)
        inverse, by_qd, by_q = (self._taken(gradient) for gradient in gradients)
        return data.ddq[self._indices], inverse, by_qd, by_q - inverse * self._stiffness

    def _configuration(self, q: Floats) -> Floats:
        """Configuration vector: Pinocchio represents a continuous joint by cosine and sine."""
        pin = self._pin
        configuration: Floats = pin.integrate(
            self._model, pin.neutral(self._model), self._spread(q)
        )
        return configuration

    def _spread(self, values: Floats) -> Floats:
        full = np.zeros(self._model.nv)
        full[self._indices] = values
        return full

    def _taken(self, matrix: Floats) -> Floats:
        reordered: Floats = matrix[np.ix_(self._indices, self._indices)]
        return reordered

    def _from_file(self, arm: Arm) -> Any:
        """The model of the arm's file, or None if options modify the arm."""
        path = urdf_path(arm)
        if path is None:
            return None
        try:
            model = self._pin.buildModelFromUrdf(str(path))
        except (ValueError, RuntimeError):
            return None
        moving = {link.joint.name for link in arm.links}
        return model if model.nv == len(moving) and moving <= set(model.names) else None

    def _built(self, arm: Arm) -> Any:
        pin = self._pin
        model, joints = pin.Model(), {arm.base: 0}
        for k in range(len(arm.links), 0, -1):
            link = arm.link(k)
            pose, body = link.joint.pose, link.inertia
            placement = pin.SE3(np.reshape(pose.rotation, (3, 3)), np.array(pose.translation))
            parent = joints[link.parent]
            joints[k] = model.addJoint(parent, self._joint(link), placement, link.joint.name)
            rotary = np.array(body.rotary)[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
            inertia = pin.Inertia(body.mass, np.array(body.com), rotary)
            model.appendBodyToJoint(joints[k], inertia, pin.SE3.Identity())
        return model

    def _joint(self, link: Link) -> Any:
        axis = np.array(link.joint.axis)
        if link.joint.turns:
            return self._pin.JointModelRevoluteUnaligned(axis)
        return self._pin.JointModelPrismaticUnaligned(axis)


def _symmetric(upper: Floats) -> Floats:
    """Fill the lower triangle: Pinocchio computes the upper one only."""
    return np.triu(upper) + np.triu(upper, 1).T
