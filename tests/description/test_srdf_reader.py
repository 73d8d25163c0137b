"""Group states of SRDF files are named poses of URDF and xacro files."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.load import read
from robolin.description.robot_source import bundled_path
from robolin.errors import FileError, RobolinError, UsageError

URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/><origin xyz="0.2 0 0"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <link name="finger"><inertial><mass value="1"/>
    <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
  <joint name="elbow" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="9" velocity="9"/></joint>
  <joint name="grip" type="prismatic"><parent link="upper"/><child link="finger"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.1" effort="9" velocity="9"/></joint>
</robot>
"""
# groups and states as the MoveIt setup assistant writes them
SRDF = """<?xml version="1.0" encoding="UTF-8"?>
<robot name="arm">
  <group name="arm"><chain base_link="base" tip_link="upper"/></group>
  <group name="hand"><joint name="grip"/></group>
  <group_state name="ready" group="arm"><joint name="elbow" value="0.7"/></group_state>
  <group_state name="ready" group="hand"><joint name="grip" value=" 0.05 "/></group_state>
  <group_state name="open" group="hand"><joint name="grip" value="0.1"/></group_state>
  <end_effector name="hand" parent_link="upper" group="hand"/>
  <virtual_joint name="world" type="fixed" parent_frame="world" child_link="base"/>
  <disable_collisions link1="upper" link2="finger" reason="Adjacent"/>
</robot>
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("arm.urdf").write_text(URDF)
    return tmp_path


def test_states_of_one_name_form_one_pose(here: Path) -> None:
    """The states of arm and hand are one pose, and joints without a state are at 0."""
    Path("arm.srdf").write_text(SRDF)
    poses = robolin.load("arm.urdf").poses
    assert {name: values.tolist() for name, values in poses.items()} == {
        "ready": [0.7, 0.05],
        "open": [0.0, 0.1],
    }
    assert robolin.load(URDF).poses == {}


def test_an_option_names_the_file(here: Path) -> None:
    """`srdf` replaces the file of the same name."""
    Path("arm.srdf").write_text(SRDF)
    Path("config").mkdir()
    Path("config/moveit.srdf").write_text(SRDF.replace("0.7", "0.3"))
    arm = robolin.load("arm.urdf", srdf=Path("config/moveit.srdf"))
    assert arm.poses["ready"][0] == 0.3
    assert arm.digest == robolin.load("arm.urdf").digest
    with pytest.raises(FileError, match="no such file"):
        robolin.load("arm.urdf", srdf="moveit.srdf")
    with pytest.raises(UsageError, match="has no effect"):
        robolin.load("two-link", srdf="arm.srdf")


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ('<group_state name="elbow"><joint name="grip" value="0"/></group_state>', "a joint has"),
        ('<group_state name="a=b"/>', "contains ','"),
        (
            '<group_state name="ready"><joint name="elbow" value="0.6"/></group_state>',
            "contains joint 'elbow' twice: 0.7 and 0.6",
        ),
        (
            '<group_state name="up"><joint name="elbow" value="1 2"/></group_state>',
            "2 values do not fit joint 'elbow'",
        ),
        ('<group_state name="up"><joint name="elbow"/></group_state>', "value is missing"),
        ('<group_state name="up"><joint name="elbow" value="up"/></group_state>', "not a number"),
        ("<xacro:states/>", "unexpanded xacro"),
        ("</group>", "malformed XML:"),
    ],
)
def test_a_robot_loads_next_to_a_wrong_srdf_file(here: Path, state: str, message: str) -> None:
    """A mistake is a warning in the file next to the robot, with its line."""
    Path("arm.srdf").write_text(SRDF.replace("</robot>", f"{state}\n</robot>"))
    findings = [each for each in read("arm.urdf").findings if each.id == "pose-ignored"]
    assert [(each.level, str(each.location)[:11]) for each in findings] == [
        ("warning", "arm.srdf:11")
    ]
    assert message in findings[0].message
    assert robolin.load("arm.urdf").n == 2


def test_a_wrong_srdf_file_that_is_named_is_an_error(here: Path) -> None:
    """An option that names a broken file is an error."""
    Path("moveit.srdf").write_text(SRDF[:-9])
    with pytest.raises(RobolinError, match="malformed XML:"):
        robolin.load("arm.urdf", srdf="moveit.srdf")


def test_joints_of_other_variants_are_notes(here: Path) -> None:
    """A joint that the robot lacks is noted, and the rest of the state is used."""
    extra = '<joint name="elbow" value="0.7"/><joint name="elbw" value="1"/>'
    Path("arm.srdf").write_text(SRDF.replace('<joint name="elbow" value="0.7"/>', extra))
    (finding,) = (each for each in read("arm.urdf").findings if each.id == "srdf-other-joint")
    assert (finding.level, finding.hint) == ("note", "did you mean 'elbow'?")
    assert robolin.load("arm.urdf").poses["ready"].tolist() == [0.7, 0.05]


def test_planar_and_floating_joints_have_moveits_variables(here: Path) -> None:
    """Planar: x y theta; floating: x y z and a quaternion x y z w, here 90° about z."""
    text = URDF.replace('type="revolute"', 'type="{}"').replace("0 1 0", "0 0 1")
    state = '<robot name="arm"><group_state name="up"><joint name="elbow" value="{}"/>'
    for kind, values, expected in (
        ("planar", "1 2 0.5", [1, 2, 0.5]),
        ("floating", "1 2 3 0 0 2 2", [0, 0, np.pi / 2, 1, 2, 3]),
    ):
        Path("arm.urdf").write_text(text.format(kind))
        Path("arm.srdf").write_text(state.format(values) + "</group_state></robot>")
        # arctangents of exact quotients
        assert np.allclose(robolin.load("arm.urdf").poses["up"][:-1], expected, rtol=0, atol=1e-15)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("xacro") is None, reason="needs the package xacro")
def test_a_xacro_file_has_poses_too(here: Path) -> None:
    """The SRDF file of arm.urdf.xacro is arm.srdf."""
    text = URDF.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    Path("arm.urdf.xacro").write_text(text)
    Path("arm.srdf").write_text(SRDF)
    assert list(robolin.load("arm.urdf.xacro").poses) == ["ready", "open"]


def test_the_bundled_srdf_files_are_those_of_moveit() -> None:
    """MoveIt requires the robot name of the URDF file, and links and joints of the file."""
    for path in sorted(Path(str(bundled_path("panda"))).parent.glob("*.srdf")):
        text = path.read_text(encoding="utf-8")
        urdf = path.with_suffix(".urdf").read_text(encoding="utf-8")
        assert f'<robot name="{path.stem}">' in text
        assert f'<robot name="{path.stem}">' in urdf
        for line in text.splitlines():
            for key in ("base_link", "tip_link"):
                if f'{key}="' in line:
                    name = line.partition(f'{key}="')[2].partition('"')[0]
                    assert f'<link name="{name}"' in urdf


XACRO = SRDF.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ').replace(
    '"0.7"', '"${0.1 + 0.6}"'
)


@pytest.mark.skipif(find_spec("xacro") is None, reason="needs the package xacro")
def test_a_srdf_file_may_be_a_xacro_file(here: Path) -> None:
    """arm.srdf.xacro is expanded, with those arguments of the robot file that it has."""
    Path("arm.srdf.xacro").write_text(XACRO)
    assert robolin.load("arm.urdf").poses["ready"].tolist() == [pytest.approx(0.7), 0.05]
    Path("arm.srdf.xacro").rename("poses.srdf.xacro")
    assert robolin.load("arm.urdf", srdf="poses.srdf.xacro").poses["open"].tolist() == [0.0, 0.1]

    argument = '<xacro:arg name="size" default="1"/>'
    text = URDF.replace("<robot ", '<robot xmlns:xacro="http://www.ros.org/wiki/xacro" ')
    Path("sized.urdf.xacro").write_text(text.replace("<link", f"{argument}<link", 1))
    Path("sized.srdf.xacro").write_text(XACRO)
    assert list(robolin.load("sized.urdf.xacro", xacro_args={"size": "2"}).poses) == [
        "ready",
        "open",
    ]


@pytest.mark.skipif(find_spec("xacro") is None, reason="needs the package xacro")
def test_a_xacro_file_of_poses_that_cannot_be_expanded_is_ignored(here: Path) -> None:
    """The robot loads with a warning; a file named by an option is an error."""
    Path("arm.srdf.xacro").write_text(XACRO.replace("0.1 + 0.6", "nothing"))
    (finding,) = read("arm.urdf").findings
    assert (finding.id, finding.level) == ("pose-ignored", "warning")
    assert "nothing" in finding.message
    with pytest.raises(RobolinError, match="nothing"):
        robolin.load("arm.urdf", srdf="arm.srdf.xacro")


@pytest.mark.parametrize("name", ["arm.srdf", "arm.xml"])
def test_an_srdf_instead_of_a_robot_is_called_so(tmp_path, name):
    path = tmp_path / name
    path.write_text('<robot name="a"><group name="g"/><group_state name="home" group="g"/></robot>')
    with pytest.raises(RobolinError, match="is an SRDF file") as caught:
        robolin.load(path)
    assert "--srdf" in caught.value.hint
