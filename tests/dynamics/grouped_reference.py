"""Pinocchio's results for arms with multi-DoF joints, in the arm's own order.

Pinocchio orders a free joint's velocity [linear; angular] and keeps a quaternion in q.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pinocchio as pin

from robolin.core.arm import Arm, Group
from tests.dynamics.pinocchio_reference import Reference, _joint_model, answers
from tests.dynamics.world import link_positions, spreading
from tests.robots import States

# the coordinates in the order of Pinocchio's velocity
PARTS = {
    "floating": ("x", "y", "z", "rx", "ry", "rz"),
    "planar": ("x", "y", "rz"),
    "spherical": ("rx", "ry", "rz"),
}
MODELS = {
    "floating": pin.JointModelFreeFlyer,
    "planar": pin.JointModelPlanar,
    "spherical": pin.JointModelSpherical,
}


def free_flyer_from_urdf(path: Path, arm: Arm) -> pin.Model:
    """Pinocchio's own reading of the file, its root free."""
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    return _prepared(model, arm, {"base": "root_joint"})


def grouped_model(arm: Arm) -> pin.Model:
    """A model made joint by joint, one for every group."""
    model, joints, frames = pin.Model(), {arm.base: 0}, {arm.base: pin.SE3.Identity()}
    groups = {group.links[0]: group for group in arm.groups}
    k = len(arm.links)
    while k > 0:
        inner = arm.link(k)
        group = groups.get(k)
        body = group.body if group else k
        name, kind, axes = inner.joint.name, _joint_model(inner), pin.SE3.Identity()
        if group:
            name = group.name
            axes = _axes(arm, group)
            kind = MODELS[group.kind]()
        placement = frames[inner.parent] * _se3(inner.joint.pose) * axes
        joints[body] = model.addJoint(joints[inner.parent], kind, placement, name)
        frames[body] = axes.inverse()
        link = arm.link(body)
        xx, xy, xz, yy, yz, zz = link.inertia.rotary
        rotary = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        inertia = pin.Inertia(link.inertia.mass, np.array(link.inertia.com), rotary)
        model.appendBodyToJoint(joints[body], inertia, frames[body])
        k = body - 1
    return _prepared(model, arm, {})


def _axes(arm: Arm, group: Group) -> pin.SE3:
    """The frame along whose x and y a planar joint translates."""
    if group.kind != "planar":
        return pin.SE3.Identity()
    columns = [arm.link(k).joint.axis for k in group.links]
    return pin.SE3(np.array(columns).T, np.zeros(3))


def _se3(pose) -> pin.SE3:
    return pin.SE3(np.reshape(pose.rotation, (3, 3)), np.array(pose.translation))


def _prepared(model: pin.Model, arm: Arm, names: dict[str, str]) -> pin.Model:
    assert model.nv == len(arm.links), "both must see the same freedoms"
    model.gravity.linear = np.array(arm.gravity)
    model.places = velocity_indices(model, arm, names)
    rotors = np.zeros(model.nv)
    rotors[model.places] = [link.joint.armature for link in arm.links_tip_to_base]
    model.armature = rotors
    return model


def velocity_indices(model: pin.Model, arm: Arm, names: dict[str, str]) -> np.ndarray:
    """Index of the coordinate of each link, 1, 2, …, in Pinocchio's velocity."""
    indices = {}
    for group in arm.groups:
        start = model.idx_vs[model.getJointId(names.get(group.name, group.name))]
        for part, k in group.coordinates.items():
            indices[k] = start + PARTS[group.kind].index(part)
    for k, link in enumerate(arm.links_tip_to_base, start=1):
        if k not in indices:
            indices[k] = model.idx_vs[model.getJointId(link.joint.name)]
    return np.array([indices[k] for k in range(1, arm.base)])


def configuration(model: pin.Model, arm: Arm, q: np.ndarray) -> np.ndarray:
    """q as Pinocchio keeps it."""
    position = link_positions(arm, q)
    flat = np.zeros(model.nv)
    flat[model.places] = position
    for group in arm.groups:
        flat[model.places[np.array(group.links) - 1]] = 0.0
    full = pin.integrate(model, pin.neutral(model), flat)
    for group in arm.groups:
        at = {part: position[k - 1] for part, k in group.coordinates.items()}
        first = model.places[group.coordinates[PARTS[group.kind][0]] - 1]
        joint = next(i for i in range(1, model.njoints) if model.idx_vs[i] == first)
        start = model.idx_qs[joint]
        if group.kind == "planar":
            full[start : start + 4] = at["x"], at["y"], np.cos(at["rz"]), np.sin(at["rz"])
            continue
        R = pin.rpy.rpyToMatrix(at["rx"], at["ry"], at["rz"])
        if group.kind == "floating":
            full[start : start + 3] = at["x"], at["y"], at["z"]
            start += 3
        full[start : start + 4] = pin.Quaternion(R).coeffs()
    return full


def grouped_reference(model: pin.Model, arm: Arm, states: States) -> Reference:
    """Inverse and forward side of all states, at the torques of the inverse side."""
    S = np.zeros((model.nv, arm.n))
    S[model.places] = spreading(arm)
    rows = [
        answers(model, S, configuration(model, arm, q), S @ qd, S @ qdd, tied=arm.has_mimic)
        for q, qd, qdd in zip(states.q, states.qd, states.qdd, strict=True)
    ]
    reference = Reference(*(np.array(column) for column in zip(*rows, strict=True)))
    return _with_turning_rotors(reference, arm, states.qd)


def _with_turning_rotors(reference: Reference, arm: Arm, qd: np.ndarray) -> Reference:
    """Add the armature effect that Pinocchio omits: the axes of velocities rotate.

    Pinocchio adds a v̇ for a translation, with v in the axes of the body. Kinetic energy ½ v* A v
    takes A v̇ + ω x A v, and a torque v x A v, as MuJoCo has it for its free joints.
    """
    if not any(link.joint.armature for link in arm.links):
        return reference
    torque = _turning_rotors(arm, qd)
    stepped = _turning_rotors(arm, qd[:, None, :] + 1e-30j * np.eye(arm.n))
    slope = np.swapaxes(np.imag(stepped) / 1e-30, -1, -2)
    return replace(
        reference,
        tau=reference.tau + torque,
        dtau_dqd=reference.dtau_dqd + slope,
        dqdd_dqd=reference.dqdd_dqd - reference.dqdd_dtau @ slope,
    )


def _turning_rotors(arm: Arm, qd: np.ndarray) -> np.ndarray:
    """[v x A v; ω x A v] of every joint with translations, at the indices of its coordinates."""
    torque = np.zeros_like(qd)
    for group in arm.groups:
        indices, joints = (
            arm.coordinate_indices(group),
            {p: arm.link(k).joint for p, k in group.coordinates.items()},
        )
        v, w, momentum = (np.zeros((*qd.shape[:-1], 3), qd.dtype) for _ in range(3))
        for i, axis in enumerate("xyz"):
            if axis in indices:
                v[..., i] = qd[..., indices[axis]]
                momentum[..., i] = joints[axis].armature * v[..., i]
            if f"r{axis}" in indices:
                w[..., i] = qd[..., indices[f"r{axis}"]]
        force, couple = np.cross(w, momentum), np.cross(v, momentum)
        for i, axis in enumerate("xyz"):
            for part, share in ((axis, force), (f"r{axis}", couple)):
                if part in indices:
                    torque[..., indices[part]] += share[..., i]
    return torque
