"""Named poses of YAML arms and of the bundled arms."""

from __future__ import annotations

from math import pi
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.load import read
from robolin.description.robot_source import bundled_names
from robolin.description.validate import validate
from robolin.errors import RobolinError

ARM = """robolin: 1
name: crane
joints:
  - {name: pan, type: revolute, parent: base, child: mast, axis: [0, 0, 1],
     limits: {lower: -90deg, upper: 90deg}}
  - {name: lift, type: prismatic, parent: mast, child: boom, axis: [0, 0, 1]}
  - {name: twin, type: prismatic, parent: boom, child: hook, axis: [0, 0, 1],
     mimic: {joint: lift}}
links:
  - {name: mast, mass: 1, com: [0.1, 0, 0]}
  - {name: boom, mass: 1}
  - {name: hook, mass: 1}
poses:
"""


def crane(poses: str, **options: object) -> robolin.Arm:
    return robolin.load(ARM + poses, **options)


def test_a_pose_is_a_mapping_or_a_list() -> None:
    """Angles have units, a list has the order of q, and missing joints are 0."""
    arm = crane("  home: {pan: 45deg, lift: 0.2}\n  up: [-pi/2, 1]\n  low: {lift: -0.1}\n")
    assert {name: values.tolist() for name, values in arm.poses.items()} == {
        "home": [pi / 4, 0.2],
        "up": [-pi / 2, 1.0],
        "low": [0.0, -0.1],
    }
    with pytest.raises(ValueError, match="read-only"):
        arm.poses["home"][0] = 1.0


def test_positions_of_other_joints_are_ignored() -> None:
    """Locked joints, mimic joints and joints off the chain have no place in a pose."""
    poses = "  home: {pan: 0.5, lift: 0.2, twin: 0.7}\n"
    assert crane(poses, lock={"pan": 0.1}).poses["home"].tolist() == [0.2]
    assert crane(poses, tip="mast").poses["home"].tolist() == [0.5]
    assert crane(poses, joints=["lift", "pan"]).poses["home"].tolist() == [0.2, 0.5]
    assert crane(poses, floating_base=True).poses["home"].tolist() == [0.0] * 6 + [0.5, 0.2]


@pytest.mark.parametrize(
    ("poses", "message"),
    [
        ("  pan: [0, 0]\n", "a joint has this name"),
        ("  2: [0, 0]\n", "the name is a number"),
        ("  pi/2: [0, 0]\n", "the name is a number"),
        ("  'a,b': [0, 0]\n", "contains ','"),
        ("  home: {pam: 0}\n", "unknown key 'pam'"),
        ("  home: [0, 0, 0]\n", "must have 2 values, got 3"),
        ("  home: {lift: 10deg}\n", "not a decimal number"),
        ("  home: [0, 10deg]\n", "not a decimal number"),
        ("  home: 5\n", "must be a mapping, got a single value"),
        ("  - home\n", "poses must be a mapping, got a list"),
        ("  home: [0, 0]\n  home: [1, 1]\n", "twice"),
    ],
)
def test_a_wrong_pose_is_an_error_with_its_line(poses: str, message: str) -> None:
    """Every mistake in `poses:` is reported with its location."""
    with pytest.raises(RobolinError, match=message) as caught:
        crane(poses)
    assert "<text>:1" in str(caught.value.where)


def test_a_pose_outside_the_limits_is_a_finding(tmp_path: Path) -> None:
    """`validate` notes the joint, its position and its limits; missing joints do not count."""
    path = tmp_path / "crane.yaml"
    path.write_text(ARM + "  home: [0, 0]\n  far: {pan: 2}\n")
    findings = [each for each in validate(read(path)) if each.id == "pose-outside-limits"]
    assert [each.level for each in findings] == ["note"]
    assert "'pan' is at 2 rad, its limits are -1.5708 to 1.5708" in findings[0].message
    assert findings[0].location.line == 15


@pytest.mark.parametrize("name", bundled_names())
def test_bundled_arms_have_a_home_within_their_limits(name: str) -> None:
    """The pose 'home' names all joints, and no joint is outside its limits."""
    reading = read(name)
    assert reading.description is not None
    arm = robolin.load(name)
    (home,) = (pose for pose in reading.description.poses if pose.name == "home")
    assert set(arm.joint_names) <= set(home.positions)
    assert not [each for each in validate(reading) if each.id.startswith(("pose", "srdf"))]


def test_the_home_of_the_panda_is_that_of_its_maker() -> None:
    """0, -π/4, 0, -3π/4, 0, π/2, π/4, the pose `ready` of panda_moveit_config."""
    expected = np.array([0, -pi / 4, 0, -3 * pi / 4, 0, pi / 2, pi / 4])
    assert np.array_equal(robolin.load("panda").poses["home"], expected)
