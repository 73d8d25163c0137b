"""The bundled YAML arms reproduce values that were published for them.

Puma 560: the Robotics Toolbox prints gravity load and inertia of its `p560`, with the rotors'
contribution, at the nominal pose qn = (0, π/4, π, 0, π/4, 0); see P. Corke, "Robotics, Vision and
Control", chapter 9. Pinocchio computes ours from the joints and links as read.
"""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robolin.core.arm import Inertia
from robolin.description.model import Description
from robolin.description.yaml.yaml_arm import read_yaml

MODELS = Path(__file__).resolve().parents[2] / "models"
QN = np.array([0, pi / 4, pi, 0, pi / 4, 0])


def described(name: str) -> Description:
    reading = read_yaml((MODELS / f"{name}.yaml").read_bytes(), name)
    assert not reading.findings
    assert reading.description is not None
    return reading.description


def pinocchio_model(arm: Description) -> Any:
    """The description as a Pinocchio model: fixed joints become placements."""
    pin = pytest.importorskip("pinocchio")
    model = pin.Model()
    model.gravity.linear = np.array(arm.gravity or (0, 0, -9.81))
    inertias = {link.name: link.inertia or Inertia() for link in arm.links}
    carriers = {arm.root: (0, pin.SE3.Identity())}
    for joint in arm.joints:
        number, placed = carriers[joint.parent]
        rotation = np.reshape(joint.pose.rotation, (3, 3))
        placed = placed * pin.SE3(rotation, np.array(joint.pose.translation))
        if joint.kind != "fixed":
            moving = pin.JointModelRevoluteUnaligned(np.array(joint.axis))
            number = model.addJoint(number, moving, placed, joint.name)
            model.armature[model.joints[number].idx_v] = joint.armature
            placed = pin.SE3.Identity()
        carriers[joint.child] = (number, placed)
        body = inertias[joint.child]
        xx, xy, xz, yy, yz, zz = body.rotary
        rotary = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        model.appendBodyToJoint(number, pin.Inertia(body.mass, np.array(body.com), rotary), placed)
    return model


def mass_matrix(model: Any, q: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The full symmetric mass matrix with the armature on its diagonal."""
    import pinocchio as pin

    upper = np.triu(pin.crba(model, model.createData(), q))
    return np.asarray(upper + np.triu(upper, 1).T)


def gravity_torque(model: Any, q: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    import pinocchio as pin

    return np.asarray(pin.computeGeneralizedGravity(model, model.createData(), q))


def test_puma_gravity_load_is_the_published_one() -> None:
    """At qn the gravity torques are 31.6399, 6.0351 and 0.0283 N·m, to the four digits printed."""
    published = [0, 31.6399, 6.0351, 0, 0.0283, 0]
    load = gravity_torque(pinocchio_model(described("puma560")), QN)

    np.testing.assert_allclose(load, published, rtol=0, atol=5.1e-5)


def test_puma_inertia_is_the_published_one() -> None:
    """At qn the diagonal of M, rotors included, is the printed one to its four digits."""
    published = [3.6594, 4.4137, 0.9378, 0.1925, 0.1713, 0.1941]
    M = mass_matrix(pinocchio_model(described("puma560")), QN)

    np.testing.assert_allclose(np.diag(M), published, rtol=0, atol=5.1e-5)


def test_puma_friction_is_referred_to_the_joints() -> None:
    """Damping is G² B, and friction G times the Coulomb torque of the motors in each direction."""
    gear = np.array([62.6111, 107.815, 53.7063, 76.0364, 71.923, 76.686])
    viscous = np.array([1.48e-3, 0.817e-3, 1.38e-3, 71.2e-6, 82.6e-6, 36.7e-6])
    forward = np.array([0.395, 0.126, 0.132, 11.2e-3, 9.26e-3, 3.96e-3])
    backward = np.array([0.435, 0.071, 0.105, 16.9e-3, 14.5e-3, 10.5e-3])
    joints = [joint for joint in described("puma560").joints if joint.kind != "fixed"]

    # nine decimals are written in the file
    np.testing.assert_allclose([j.damping for j in joints], gear**2 * viscous, atol=1e-9)
    sides = np.transpose([gear * forward, gear * backward])
    np.testing.assert_allclose([j.friction_sides for j in joints], sides, rtol=1e-15)


def test_two_link_is_the_closed_form() -> None:
    """M and gravity of two uniform rods are those of the textbook, at any pose."""
    model = pinocchio_model(described("two-link"))
    for q1, q2 in np.random.default_rng(2).uniform(-3, 3, (20, 2)):
        coupling = 1 / 3 + np.cos(q2) / 2
        M = [[4 / 3 + 1 / 3 + np.cos(q2), coupling], [coupling, 1 / 3]]
        outer = 9.81 * np.cos(q1 + q2) / 2
        load = [9.81 * 1.5 * np.cos(q1) + outer, outer]

        np.testing.assert_allclose(mass_matrix(model, np.array([q1, q2])), M, atol=1e-14)
        np.testing.assert_allclose(gravity_torque(model, np.array([q1, q2])), load, atol=1e-13)


@pytest.mark.parametrize("name", ["puma560", "two-link"])
def test_the_header_names_source_and_licence(name: str) -> None:
    """Every bundled YAML arm begins with title, source, licence, options and notes."""
    lines = (MODELS / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    keys = [line.removeprefix("# ").partition(":")[0] for line in lines if line.startswith("# ")]

    assert keys == ["title", "source", "licence", "options", "notes"]
