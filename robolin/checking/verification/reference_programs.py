"""Pinocchio and MuJoCo as references: their own model of the file, or one built joint by joint."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from xml.etree import ElementTree

import numpy as np

from robolin.checking.verification.peers import PeerRefusedError, urdf_path
from robolin.core.arm import Arm, Link
from robolin.core.arrays import Floats


class PinocchioPeer:
    """A model with every joint independent, with the arm's gravity and armature."""

    title: str
    read: str

    exact = True
    springs = "added to the torques of the other program"

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


# step of MuJoCo's finite differences
STEP = 1e-6


class MuJoCoPeer:
    """A model with every joint independent, without contacts, dissipation or limits."""

    read: str
    title: str

    exact = False
    springs = "set in the model of the other program"

    def __init__(self, arm: Arm) -> None:
        import mujoco

        self._mj: Any = mujoco
        if mujoco.get_mju_user_warning() is None:
            # MuJoCo would write its warnings to a log file in the current folder
            mujoco.set_mju_user_warning(lambda text: None)
        self.title = f"MuJoCo {mujoco.__version__}"
        model, self.read = self._from_file(arm)
        if model is None:
            model = self._compiled(_mjcf(arm))
        self._model, self._data = model, mujoco.MjData(model)
        joints = [model.joint(link.joint.name) for link in arm.links_tip_to_base]
        self._indices = np.array([int(joint.dofadr[0]) for joint in joints])
        self._quiet(arm)

    def _quiet(self, arm: Arm) -> None:
        model, off = self._model, self._mj.mjtDisableBit
        model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT | off.mjDSBL_LIMIT
        model.opt.gravity[:] = arm.gravity
        model.dof_damping[:] = model.dof_frictionloss[:] = 0.0
        model.dof_armature[self._indices] = [link.joint.armature for link in arm.links_tip_to_base]
        model.jnt_stiffness[:] = 0.0
        for link in arm.links if arm.has_springs else ():
            joint = model.joint(link.joint.name)
            model.jnt_stiffness[joint.id] = link.joint.stiffness
            model.qpos_spring[joint.qposadr[0]] = link.joint.rest

    def inverse(self, q: Floats, qd: Floats, qdd: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        mj, model, data = self._mj, self._model, self._data
        self._set(qpos=q, qvel=qd, qacc=qdd)
        mj.mj_inverse(model, data)
        tau = data.qfrc_inverse[self._indices]
        M = np.zeros((model.nv, model.nv))
        try:
            mj.mj_fullM(model, data, M)
        except TypeError:
            # before version 3.5 the argument is the sparse inertia instead of the data
            mj.mj_fullM(model, M, data.qM)
        by_q, by_qd = np.zeros_like(M), np.zeros_like(M)
        mj.mjd_inverseFD(model, data, STEP, False, by_q, by_qd, *(None,) * 5)
        # rows are inputs and columns are outputs: transpose
        return tau, self._taken(M), self._taken(by_qd.T), self._taken(by_q.T)

    def forward(self, q: Floats, qd: Floats, tau: Floats) -> tuple[Floats, ...]:
        self._set(qpos=q, qvel=qd, qfrc_applied=tau)
        self._mj.mj_forward(self._model, self._data)
        return (self._data.qacc[self._indices],)

    def _set(self, **values: Floats) -> None:
        for name, value in values.items():
            getattr(self._data, name)[self._indices] = value

    def _taken(self, matrix: Floats) -> Floats:
        reordered: Floats = matrix[np.ix_(self._indices, self._indices)]
        return reordered

    def _from_file(self, arm: Arm) -> tuple[Any, str]:
        """The model of the arm's file and its source, or None and the reason."""
        path, built = urdf_path(arm), "built body by body from robolin's model"
        if path is None:
            return None, built
        robot = ElementTree.fromstring(path.read_bytes())
        if link := _first_massless(robot):
            return (
                None,
                f"{built}: MuJoCo ignores the inertia of link '{link}', which has no mass",
            )
        try:
            model = self._compiled(_without_shapes(robot))
        except PeerRefusedError as refusal:
            return None, f"{built}; reading the file: {refusal}"
        return (model, "read from the file") if self._is(model, arm) else (None, built)

    def _compiled(self, text: str) -> Any:
        try:
            spec = self._mj.MjSpec.from_string(text)
            spec.compiler.balanceinertia = False
            spec.compiler.boundmass = spec.compiler.boundinertia = 0.0
            return spec.compile()
        except ValueError as error:
            reason = " ".join(str(error).removeprefix("Error: ").split())
            raise PeerRefusedError(f"{self.title} reports: {reason}") from error

    def _is(self, model: Any, arm: Arm) -> bool:
        """True if the same joints move, with one DoF each."""
        names = {model.joint(i).name for i in range(model.njnt)}
        return names == {link.joint.name for link in arm.links} and model.nv == len(arm.links)


def _first_massless(robot: ElementTree.Element) -> str:
    """The first link with rotational inertia but no mass, '' if there is none."""
    for link in robot.iter("link"):
        mass, inertia = link.find("inertial/mass"), link.find("inertial/inertia")
        if mass is None or inertia is None or float(mass.get("value", 0.0)) != 0.0:
            continue
        if any(float(value) for value in inertia.attrib.values()):
            return link.get("name", "")
    return ""


def _without_shapes(robot: ElementTree.Element) -> str:
    """The file's text without meshes and textures, which dynamics does not need."""
    for link in robot.iter("link"):
        for shape in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(shape)
    return ElementTree.tostring(robot, encoding="unicode")


def _mjcf(arm: Arm) -> str:
    """The robot in MJCF, body by body."""
    bodies = "".join(_body(arm, k) for k in _children(arm, arm.base))
    return f'<mujoco><compiler angle="radian"/><worldbody>{bodies}</worldbody></mujoco>'


def _body(arm: Arm, k: int) -> str:
    from xml.sax.saxutils import quoteattr

    link = arm.link(k)
    pose, body = link.joint.pose, link.inertia
    # principal moments, since a full matrix must have no zero moment
    principal, axes = np.linalg.eigh(np.array(body.rotary)[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]])
    kind = "hinge" if link.joint.turns else "slide"
    return (
        f'<body name={quoteattr(link.name)} pos="{_list(pose.translation)}" '
        f'xyaxes="{_list(pose.rotation[0::3])} {_list(pose.rotation[1::3])}">'
        f'<inertial pos="{_list(body.com)}" mass="{body.mass!r}" '
        f'xyaxes="{_list(axes[:, 0])} {_list(axes[:, 1])}" diaginertia="{_list(principal)}"/>'
        f'<joint name={quoteattr(link.joint.name)} type="{kind}" '
        f'axis="{_list(link.joint.axis)}"/>'
        + "".join(_body(arm, child) for child in _children(arm, k))
        + "</body>"
    )


def _children(arm: Arm, parent: int) -> list[int]:
    """Child links of a link, base to tip."""
    return [k for k in range(len(arm.links), 0, -1) if arm.link(k).parent == parent]


def _list(numbers: Iterable[float]) -> str:
    return " ".join(repr(float(number)) for number in numbers)
