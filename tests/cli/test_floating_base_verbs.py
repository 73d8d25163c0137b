"""Arms with a floating base, and floating and planar joints in files, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.core.configuration import quaternion_from_rpy
from tests.cli.command import robolin, run_ok

PARTS = ("rx", "ry", "rz", "x", "y", "z")
BASE = [f"base:{part}" for part in PARTS]

# nearly the largest norm that a quaternion may have to count as normalized
LONG = 1.0 + 9e-7

CART = """\
robolin: 1
name: cart
joints:
  - {name: drive, type: planar, parent: ground, child: chassis, axis: [0, 0, 1], damping: 0.5}
  - {name: mast, type: revolute, parent: chassis, child: pole, axis: [0, 1, 0]}
  - {name: drop, type: floating, parent: pole, child: load}
links:
  - {name: ground}
  - {name: chassis, mass: 5.0, com: [0.1, 0, 0], inertia: {ixx: 0.1, iyy: 0.2, izz: 0.3}}
  - {name: pole, mass: 1.0, com: [0, 0, 0.5], inertia: {ixx: 0.1, iyy: 0.1, izz: 0.01}}
  - {name: load, mass: 0.5, com: [0, 0, 0.1], inertia: {ixx: 0.01, iyy: 0.01, izz: 0.01}}
"""


def test_rows_and_columns_have_names() -> None:
    """Every coordinate of the base is a column, in the order rotations, translations, joints."""
    ran = run_ok("inverse", "two-link", "--floating-base")
    joints = [*BASE, "shoulder", "elbow"]
    assert ran.rows[0] == [f"{name}/effort" for name in joints]
    ran = run_ok("mass-matrix", "two-link", "--floating-base")
    assert ran.rows[0] == [f"mass_matrix/{row}/{column}" for row in joints for column in joints]


def test_a_quaternion_replaces_the_angles() -> None:
    """--q takes roll, pitch and yaw, or the quaternion of the same rotation, up to its norm.

    Holding torques depend on the orientation; the mass matrix does not.
    """
    rpy = np.array([0.4, -0.9, 2.0])
    angles = ",".join(f"{n}={x!r}" for n, x in zip(BASE, rpy.tolist(), strict=False))
    values = (LONG * quaternion_from_rpy(rpy)).tolist()
    quaternion = ",".join(f"base:q{c}={x!r}" for c, x in zip("xyzw", values, strict=True))
    with_angles, with_quaternion = (
        run_ok("inverse", "panda", "--floating-base", "--q", f"{q},base:x=2")
        for q in (angles, quaternion)
    )
    np.testing.assert_allclose(with_quaternion.numbers, with_angles.numbers, rtol=0, atol=1e-12)


WRONG = [
    ("base:qx=0,base:qw=1", "the quaternion of 'base' lacks base:qy, base:qz"),
    ("base:qx=1,base:qy=0,base:qz=0,base:qw=1", "must have length 1, got 1.41421356"),
    ("base:qx=0,base:qy=0,base:qz=0,base:qw=1.000002", "must have length 1, got 1.000002"),
    ("base:qx=0,base:qy=0,base:qz=0,base:qw=1,base:rx=0", "both a quaternion and base:rx"),
    ("base:qx=0deg,base:qy=0,base:qz=0,base:qw=1", "must not contain angles"),
    ("base:x=1deg", "is prismatic"),
    ("base=1", "no movable joint 'base'"),
]


@pytest.mark.parametrize(("typed", "message"), WRONG, ids=[row[0] for row in WRONG])
def test_wrong_quaternions(typed: str, message: str) -> None:
    """A quaternion is four numbers of length one, or it is rejected."""
    ran = robolin("mass-matrix", "panda", "--floating-base", "--q", typed)
    assert ran.code == 2
    assert message in ran.err


def sheet(path: Path, columns: dict[str, np.ndarray]) -> Path:
    rows = np.stack(list(columns.values()), axis=1).tolist()
    lines = [",".join(columns), *(",".join(map(repr, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def motion(rows: int = 5) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Positions of a floating two-link arm with a quaternion, and the same as q."""
    rng = np.random.default_rng(3)
    q = rng.uniform(-1.2, 1.2, (rows, 8))
    quaternions = LONG * quaternion_from_rpy(q[:, :3])
    columns = {f"base:q{c}/position": quaternions[:, i] for i, c in enumerate("xyzw")}
    names = [*BASE[3:], "shoulder", "elbow"]
    return columns | {f"{n}/position": q[:, 3 + i] for i, n in enumerate(names)}, q


def test_quaternions_in_a_trajectory(tmp_path: Path) -> None:
    """A file may have quaternion columns in place of angles; a note reports it."""
    columns, q = motion()
    file = sheet(tmp_path / "motion.csv", columns)
    ran = run_ok("inverse", "two-link", "--floating-base", "--trajectory", file)
    expected = library.inverse(library.load("two-link", floating_base=True), q, 0.0, 0.0)
    np.testing.assert_allclose(ran.numbers, expected, rtol=0, atol=1e-13)
    assert "the angles of 'base' are computed from its normalized quaternion" in ran.err


def test_an_invalid_quaternion_is_rejected(tmp_path: Path) -> None:
    """A row whose quaternion has the wrong norm is rejected with its line, or has no result."""
    columns, _ = motion()
    columns["base:qw/position"] = columns["base:qw/position"].copy()
    columns["base:qw/position"][2] += 0.3
    file = sheet(tmp_path / "motion.csv", columns)
    command = ("inverse", "two-link", "--floating-base", "--trajectory", file)
    ran = robolin(*command)
    assert ran.code == 3
    assert f"{file}:4, row 3: the quaternion of joint 'base' must have length 1" in ran.err
    ran = run_ok(*command, "--on-bad-row", "nan")
    bad = np.isnan(ran.numbers).all(axis=1)
    assert bad.tolist() == [False, False, True, False, False]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"base:qz/position": None}, "the quaternion of joint 'base' lacks qz"),
        ({"base:rx/position": 0.0}, "both a quaternion and rx"),
    ],
)
def test_columns_that_do_not_make_a_rotation(
    tmp_path: Path, change: dict[str, float | None], message: str
) -> None:
    """An incomplete quaternion, or one together with angles, is an error that names the columns."""
    columns, q = motion()
    for name, value in change.items():
        if value is None:
            del columns[name]
        else:
            columns[name] = np.full(len(q), value)
    file = sheet(tmp_path / "motion.csv", columns)
    ran = robolin("inverse", "two-link", "--floating-base", "--trajectory", file)
    assert ran.code == 3
    assert message in ran.err
    # the angles are not reported as missing
    assert ran.err.count("error: ") == 1


def test_planar_and_floating_joints_in_a_file(tmp_path: Path) -> None:
    """A YAML arm may have planar and floating joints; damping acts on each coordinate."""
    file = tmp_path / "cart.yaml"
    file.write_text(CART)
    arm = library.load(file)
    drop = [f"drop:{part}" for part in PARTS]
    assert arm.joint_names == ("drive:x", "drive:y", "drive:rz", "mast", *drop)
    # steady driving on a straight line needs only the damping forces
    ran = run_ok("inverse", file, "--qd", "drive:x=2", "--gravity", "0")
    assert ran.numbers[0][0] == pytest.approx(1.0)
    assert np.abs(ran.numbers[0][1:]).max() <= 1e-13
    # the body's x axis rotates with it: the same twist is another direction in the plane
    ran = run_ok("inverse", file, "--q", "drive:rz=90deg", "--qdd", "drive:x=1", "--gravity", "0")
    assert ran.numbers[0][0] == pytest.approx(6.5)
    assert ran.numbers[0][1] == pytest.approx(0.0, abs=1e-13)


def test_a_multi_dof_joint_has_no_single_value() -> None:
    """A single value for the joint is rejected, and its coordinates are listed."""
    ran = robolin("inverse", "two-link", "--floating-base", "--q", "base=1")
    assert ran.code == 2
    assert "set the degrees of freedom 'base:rx', 'base:ry'" in ran.err


def test_a_base_coordinate_without_inertia_is_reported() -> None:
    """Two thin rods in a row have no inertia about their axis; the hint offers what there is."""
    ran = robolin("forward", "two-link", "--floating-base")
    assert ran.code == 3
    assert "joint 'base:rx' moves no inertia" in ran.err
    assert "--armature base:rx=VALUE" in ran.err
    assert "--lock" not in ran.err


def test_links_are_bodies() -> None:
    """--links lists the links of the description, without virtual links."""
    ran = run_ok("forward", "panda", "--floating-base", "--links", "--format", "json")
    arm = library.load("panda", floating_base=True)
    link_acceleration = json.loads(ran.out)["results"]["link_acceleration"]
    assert arm.link_names == tuple(f"panda_link{i}" for i in range(8))
    expected = library.link_accelerations(arm, 0.0, 0.0, library.forward(arm, 0.0))
    assert link_acceleration == expected.link_acceleration.tolist()


def test_curvature_along_twists() -> None:
    """Symbols are named by the coordinates of the base, and are those of the library."""
    command = ("diagonalize", "two-link", "--base-joint", "planar", "--armature", "base:rz=0.5")
    ran = run_ok(*command, "--curvature", "--symbols", "--q", "base:rz=0.4,elbow=-0.7")
    arm = library.load("two-link", base_joint="planar", armature={"base:rz": 0.5})
    curvature = library.curvature(arm, [0.0, 0.0, 0.4, 0.0, -0.7])
    at = ran.rows[0].index("riemann/base:rz/elbow/base:rz/elbow")
    assert ran.numbers[0][at] == float(curvature.symbols[2, 4, 2, 4]) != 0.0
    assert curvature.independent == 50
    assert "not flat" in ran.err


def test_inspect_describes_the_base() -> None:
    """The tree, the joints and the links show the floating joint once, by its own name."""
    ran = run_ok("inspect", "panda", "--floating-base", "--format", "json")
    document = json.loads(ran.out)
    assert document["tree"][:2] == ["world", "└─ panda_link0 0.629769 kg  (base: floating)"]
    assert document["links"][0]["joint"] == "base"
    assert [row["name"] for row in document["joints"][:6]] == list(BASE)
    assert document["mass"]["base"] == 0
