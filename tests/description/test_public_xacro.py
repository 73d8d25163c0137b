"""Xacro files of public arms, from the package rtb-data, are the URDFs published beside them."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.arm import Arm

pytest.importorskip("xacro", reason="xacro files need the package xacro")
_SPEC = find_spec("rtbdata")
PLACES = (_SPEC.submodule_search_locations if _SPEC else None) or [""]
XACRO = Path(next(iter(PLACES))) / "xacro"
KUKA = XACRO / "kuka_description"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not KUKA.is_dir(), reason="needs the xacro files of rtb-data"),
]

# the folder, and the name of both files in it
PAIRS = [("lbr_iiwa", "lbr_iiwa_14_r820"), ("kr16", "kr16_2"), ("kr120", "kr120r2500pro")]


def limits(arm: Arm) -> np.ndarray:
    found = [
        (j.limits.lower, j.limits.upper, j.limits.velocity, j.limits.effort) for j in arm.joints
    ]
    return np.array(found, dtype=float)


def poses(arm: Arm, frame: str, q: np.ndarray) -> np.ndarray:
    found = robolin.jacobian(arm, q, frame=frame)
    return np.concatenate([found.position.reshape(-1), found.rotation.reshape(-1)])


@pytest.mark.parametrize(("folder", "name"), PAIRS, ids=[pair[1] for pair in PAIRS])
def test_a_xacro_is_the_urdf_published_with_it(folder, name):
    """Joints, limits, poses and torques of the expansion are those of the published URDF."""
    place = KUKA / f"kuka_{folder}"
    packages = {"kuka_resources": str(KUKA / "kuka_resources")}
    packages[f"kuka_{folder}_support"] = str(place)
    ours = robolin.load(place / "urdf" / f"{name}.xacro", packages=packages)
    published = robolin.load(place / "urdf" / f"{name}.urdf")
    assert ours.joint_names == published.joint_names
    # the published numbers have 12 digits
    assert np.allclose(limits(ours), limits(published), rtol=1e-11)
    q, qd, qdd = np.random.default_rng(0).uniform(-1, 1, (3, ours.n))
    torques = [robolin.inverse(arm, q, qd, qdd, engine="python") for arm in (ours, published)]
    assert np.allclose(*torques, rtol=1e-10, atol=1e-10)
    assert np.allclose(poses(ours, "tool0", q), poses(published, "tool0", q), atol=1e-10)


def test_a_panda_moves_as_the_bundled_one():
    """A Panda with other masses has the joints, limits and poses of the published one."""
    place = XACRO / "qut_frankie_description"
    packages = {"qut_frankie_description": str(place)}
    file = place / "robots" / "panda_arm.urdf.xacro"
    ours, published = robolin.load(file, packages=packages), robolin.load("panda")
    assert ours.joint_names == published.joint_names
    assert np.allclose(limits(ours), limits(published), rtol=1e-11)
    q = np.random.default_rng(0).uniform(-1, 1, ours.n)
    assert np.allclose(
        poses(ours, "panda_link8", q), poses(published, "panda_link8", q), atol=1e-10
    )
