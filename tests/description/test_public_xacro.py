"""Xacro files of public arms, from the package rtb-data, expand to their published URDFs.

The URDFs of the KUKA arms are in the same package, that of the xArm 6 is in pybullet.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm

pytest.importorskip(
    "xacro",
    reason="xacro files need the package xacro, which is not installed",
)


def folder_of(package: str) -> Path:
    """Where a package keeps its files; a folder that is not there, where it is not installed."""
    spec = find_spec(package)
    roots = (spec.submodule_search_locations if spec else None) or [f"/no/{package}"]
    return Path(next(iter(roots)))


RTB = folder_of("rtbdata")
XACRO = RTB / "xacro"
KUKA = XACRO / "kuka_description"
XARM = folder_of("pybullet_data") / "xarm"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KUKA.is_dir(), reason="needs the xacro files of rtb-data"),
]

# the folder, and the name of both files in it
PAIRS = [("lbr_iiwa", "lbr_iiwa_14_r820"), ("kr16", "kr16_2"), ("kr120", "kr120r2500pro")]
# published without masses: their torques cannot be compared
WEIGHTLESS = ("kuka_lbr_iiwa_14_r820",)


def limits(arm: Arm) -> np.ndarray:
    rows = [
        (j.limits.lower, j.limits.upper, j.limits.velocity, j.limits.effort) for j in arm.joints
    ]
    return np.array(rows, dtype=float)


def poses(arm: Arm, frame: str, q: np.ndarray) -> np.ndarray:
    kinematics = robolin.jacobian(arm, q, frame=frame)
    return np.concatenate([kinematics.position.reshape(-1), kinematics.rotation.reshape(-1)])


def require_same(ours: Arm, published: Arm, tip: str) -> None:
    assert ours.joint_names == published.joint_names
    # the published numbers have 12 digits
    assert np.allclose(limits(ours), limits(published), rtol=1e-11)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, ours.n))
    torques = [robolin.inverse(arm, q, qd, qdd, engine="python") for arm in (ours, published)]
    assert torques[0].any() == (ours.name not in WEIGHTLESS)
    assert np.allclose(*torques, rtol=1e-10, atol=1e-10)
    assert np.allclose(poses(ours, tip, q), poses(published, tip, q), atol=1e-10)


@pytest.mark.parametrize(("folder", "name"), PAIRS, ids=[pair[1] for pair in PAIRS])
def test_a_xacro_is_the_urdf_published_with_it(folder, name):
    """Joints, limits, poses and torques of the expansion are those of the published URDF."""
    folder_path = KUKA / f"kuka_{folder}"
    packages = {"kuka_resources": str(KUKA / "kuka_resources")}
    packages[f"kuka_{folder}_support"] = str(folder_path)
    ours = robolin.load(folder_path / "urdf" / f"{name}.xacro", packages=packages)
    require_same(ours, robolin.load(folder_path / "urdf" / f"{name}.urdf"), "tool0")


@pytest.mark.skipif(not XARM.is_dir(), reason="needs the URDF of the xArm 6 in pybullet")
def test_an_xarm_6_is_the_one_that_another_package_publishes():
    """Its expansion equals the URDF in pybullet, which was expanded independently."""
    file = RTB / "armer_xarm/data/xacro/robots/xarm6/xarm6.xacro"
    require_same(robolin.load(file), robolin.load(XARM / "xarm6_robot.urdf"), "link6")


def test_a_panda_moves_as_the_bundled_one():
    """A Panda with other masses has the joints, limits and poses of the published one."""
    folder_path = XACRO / "qut_frankie_description"
    packages = {"qut_frankie_description": str(folder_path)}
    file = folder_path / "robots" / "panda_arm.urdf.xacro"
    ours, published = robolin.load(file, packages=packages), robolin.load("panda")
    assert ours.joint_names == published.joint_names
    assert np.allclose(limits(ours), limits(published), rtol=1e-11)
    q = np.random.default_rng(0).uniform(-1, 1, ours.n)
    assert np.allclose(
        poses(ours, "panda_link8", q), poses(published, "panda_link8", q), atol=1e-10
    )
