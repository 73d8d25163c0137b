"""Robots are drawn with the meshes that their files name, read only inside their packages."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.display.report.report_page import report_page
from robolin.display.report.visuals import robot_visuals
from robolin.queries.states import States
from tests.display.report import meshes
from tests.display.report.meshes import mesh, robot
from tests.display.report.pages import data_in, report_arm

_BOX = '<geometry><box size="1 2 3"/></geometry>'


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """The folder of a package with meshes, and a mesh outside it."""
    folder = tmp_path / "pack"
    (folder / "meshes").mkdir(parents=True)
    (folder / "urdf").mkdir()
    (folder / "package.xml").write_text("<package><name>pack</name></package>")
    (folder / "meshes" / "cube.stl").write_bytes(meshes.binary_stl())
    (folder / "meshes" / "red cube.dae").write_bytes(meshes.dae())
    (tmp_path / "secret.stl").write_bytes(meshes.binary_stl())
    return folder


def test_meshes_are_placed_on_their_links(package: Path) -> None:
    """Origin, scale and colour are those of the file; the colour of a DAE file comes first."""
    origin = '<origin xyz="1 0 0" rpy="0 0 1.5707963267948966"/>'
    material = '<material name="blue"><color rgba="0 0 1 1"/></material>'
    file = robot(
        package / "urdf",
        origin + mesh("package://pack/meshes/cube.stl", "2 2 2"),
        mesh("../meshes/red%20cube.dae") + mesh("../meshes/red cube.dae"),
        material,
    )
    visuals = robot_visuals(robolin.load(file))
    first, second = visuals.parts
    assert (first["link"], second["link"]) == (0, 1)
    assert first["origin"] == [1, 0, 0]
    assert first["rotation"][3] == 1
    assert (first["colour"], second["colour"]) == ([0, 0, 1], [1, 0, 0])
    assert visuals.meshes[first["mesh"]]["step"] == pytest.approx(2.0 / 65535.0)
    assert visuals.note == ""


def test_only_files_of_the_package_are_read(package: Path) -> None:
    """Paths, links and schemes that lead outside are rejected; the note has no folder."""
    (package / "meshes" / "link.stl").symlink_to(package.parent / "secret.stl")
    names = {
        "../../secret.stl": "outside the robot's package",
        str(package.parent / "secret.stl"): "outside the robot's package",
        f"file://{package.parent}/secret.stl": "outside the robot's package",
        "package://pack/../secret.stl": "outside the robot's package",
        "../meshes/link.stl": "outside the robot's package",
        "package://other/secret.stl": "package 'other' not found",
        "http://localhost/secret.stl": "not a file",
        "../meshes/absent.stl": "not found",
        "../meshes/a\0b.stl".replace("\0", "&#9;"): "not found",
    }
    for name, reason in names.items():
        file = robot(package / "urdf", mesh(name))
        visuals = robot_visuals(robolin.load(file))
        assert (visuals.parts, list(visuals.missing)) == ([], [reason]), name
        assert str(package.parent) not in visuals.note


@pytest.mark.slow
def test_a_link_without_its_mesh_is_a_capsule(package: Path) -> None:
    """One link keeps its mesh, the other one becomes capsules, and the page names the reason."""
    file = robot(package / "urdf", mesh("../meshes/cube.stl"), mesh("gone/arm.stl"))
    visuals = robot_visuals(robolin.load(file))
    assert [part["link"] for part in visuals.parts] == [0, 1]
    assert visuals.note == (
        "Capsules are drawn instead of 1 mesh of the robot file: arm.stl (not found)."
    )
    page = report_page([report_arm(robolin.load(file), States())])
    assert visuals.note in page
    assert str(package.parent) not in page


def test_without_any_mesh_the_robot_is_drawn_as_capsules(package: Path) -> None:
    """Simple shapes alone would hide the missing meshes."""
    file = robot(package / "urdf", _BOX, mesh("gone.stl"))
    visuals = robot_visuals(robolin.load(file))
    assert (visuals.meshes, visuals.parts) == ([], [])
    assert "gone.stl (not found)" in visuals.note


def test_simple_shapes_are_drawn(package: Path) -> None:
    """A file with boxes only has no meshes, and its boxes are drawn."""
    visuals = robot_visuals(robolin.load(robot(package / "urdf", _BOX)))
    (part,) = visuals.parts
    assert part["link"] == 0
    assert visuals.meshes[0]["low"] == [-0.5, -1, -1.5]


def test_invalid_visuals_are_skipped(package: Path) -> None:
    """Invalid numbers in shapes do not matter for the dynamics, and not for the drawing."""
    bad = ["<geometry/>", "", mesh("../meshes/cube.stl", "1 nan 1"), mesh(""), mesh("x.stl", "2")]
    bad += ['<origin xyz="a"/>' + _BOX, '<geometry><box size="1 2"/></geometry>']
    for text in bad:
        visuals = robot_visuals(robolin.load(robot(package / "urdf", text)))
        assert (visuals.parts, visuals.note) == ([], ""), text


def test_robots_without_a_file_have_no_meshes(package: Path) -> None:
    """Bundled robots, changed files and robots in memory are drawn as capsules, without a note."""
    file = robot(package / "urdf", mesh("../meshes/cube.stl"))
    arm = robolin.load(file)
    assert robot_visuals(arm).parts
    file.write_text(file.read_text().replace("0.2", "0.3"))
    shutil.move(file, package / "robot.urdf")
    for each in (
        arm,
        robolin.load("panda"),
        robolin.load(file.parent.parent.joinpath("robot.urdf").read_text()),
    ):
        visuals = robot_visuals(each)
        assert (visuals.parts, visuals.note) == ([], "")


@pytest.mark.slow
def test_a_page_keeps_its_size(package: Path) -> None:
    """A mesh of 180 000 triangles is simplified to the budget; the page stays below 1 MB."""
    (package / "meshes" / "ball.stl").write_bytes(meshes.sphere_stl(300))
    file = robot(package / "urdf", mesh("../meshes/ball.stl"), mesh("../meshes/ball.stl"))
    page = report_page([report_arm(robolin.load(file), States())])
    shape = data_in(page)["arms"][0]["shape"]
    assert (len(shape["meshes"]), len(shape["parts"])) == (1, 2)
    assert (
        300_000 < len(shape["meshes"][0]["triangles"]) + len(shape["meshes"][0]["points"]) < 365_000
    )
    assert len(page) < 1_000_000


@pytest.mark.slow
def test_geoms_of_mjcf_are_drawn(tmp_path: Path) -> None:
    """MuJoCo's visible geoms are on the links of their bodies, with the colours of materials."""
    pytest.importorskip("mujoco")
    (tmp_path / "cube.stl").write_bytes(meshes.binary_stl())
    (tmp_path / "arm.xml").write_text("""<mujoco><asset><mesh name="cube" file="cube.stl"/>
        <material name="red" rgba="1 0 0 1"/></asset><worldbody>
        <geom type="plane" size="1 1 1"/>
        <body><joint name="a" axis="0 0 1"/><geom type="mesh" mesh="cube" material="red"/>
        <geom type="sphere" size="0.1" group="3"/>
        <body pos="1 0 0"><joint name="b" axis="0 0 1"/>
        <geom type="capsule" size="0.1 0.4" pos="0 0 2" rgba="0 1 0 1"/></body></body>
        </worldbody></mujoco>""")
    visuals = robot_visuals(robolin.load(tmp_path / "arm.xml"))
    first, second = visuals.parts
    assert (first["link"], first["colour"]) == (0, [1, 0, 0])
    assert (second["link"], second["colour"], second["origin"]) == (1, [0, 1, 0], [0, 0, 2])
    low = np.array(visuals.meshes[second["mesh"]]["low"])
    assert low == pytest.approx([-0.1, -0.1, -0.5])
