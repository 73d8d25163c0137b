"""The contract lists every part of a robot file that was read and not used."""

from __future__ import annotations

from pathlib import Path

import pytest

import robolin
from robolin.description.load import read

URDF = """<robot name="r"{namespace}>
<link name="a" color="red"/>
<link name="b"><inertial><mass value="1"/><visual_hint/></inertial><visual/></link>
<joint name="j" type="continuous"><parent link="a"/><child link="b"/>
  <origin xyz="0 0 1"><offset/></origin><axis xyz="0 0 1"/><limit effort="1" soft="2"/>
  <calibration rising="0"/></joint>
<joint name="k" type="fixed"><parent link="b"/><child link="c"/><axis xyz="0 0 1"/></joint>
<link name="c"/>
<gazebo reference="b"/><ros2_control/><strange/><strange/>
</robot>"""

UNUSED_OF_URDF = [
    "axis of a fixed joint (1)",
    "calibration (1)",
    "gazebo (1)",
    "limit attribute soft (1)",
    "link attribute color (1)",
    "offset (1)",
    "ros2_control (1)",
    "strange (2)",
    "visual (1)",
    "visual_hint (1)",
]


def test_urdf() -> None:
    """Unknown and unused elements and attributes of a URDF file are counted, at every level."""
    assert robolin.load(URDF.format(namespace="")).contract["ignored"] == UNUSED_OF_URDF


def test_xacro(tmp_path: Path) -> None:
    """What macros expand to is counted as in a URDF file."""
    pytest.importorskip("xacro", reason="xacro files need the package xacro")
    path = tmp_path / "r.xacro"
    macro = '<xacro:macro name="m"><strange/><visual/></xacro:macro><xacro:m/></robot>'
    namespace = ' xmlns:xacro="http://www.ros.org/wiki/xacro"'
    path.write_text(URDF.format(namespace=namespace).replace("</robot>", macro))
    expected = [each.replace("strange (2)", "strange (3)") for each in UNUSED_OF_URDF]
    expected[expected.index("visual (1)")] = "visual (2)"
    assert robolin.load(path).contract["ignored"] == expected


def test_yaml() -> None:
    """An unknown key is an error; a key without effect is listed and warned about."""
    text = """robolin: 1
name: r
joints:
  - {name: j, type: continuous, parent: base, child: a, axis: [0, 0, 1], limits: {lower: -1}}
  - {name: k, type: fixed, parent: a, child: b, axis: [0, 0, 1], damping: 1}
links:
  - {name: a, mass: 1}
"""
    reading = read(text)
    assert reading.description is not None
    unused = ("joint 'j': limits.lower", "joint 'k': axis", "joint 'k': damping")
    assert reading.description.ignored == unused
    assert [found.id for found in reading.findings] == ["ignored-key"] * 3
    assert robolin.load(text).contract["ignored"] == list(unused)
    for wrong in (text + "strange: 1\n", text.replace("mass: 1", "mass: 1, strange: 1")):
        (found,) = [each for each in read(wrong).findings if each.id == "unknown-key"]
        assert found.level == "error"


PARTS = [
    ('<loop_joint name="l"/>', "closes a loop"),
    ("<force_element/>", "forces"),
    ('<drake:linear_bushing_rpy xmlns:drake="x"/>', "spring"),
    ('<drake:ball_constraint xmlns:drake="x"/>', "closes a loop"),
    ('<gazebo reference="j"><springStiffness>4</springStiffness></gazebo>', "spring"),
    ('<gazebo><joint name="l" type="revolute"><parent>a</parent></joint></gazebo>', "joint"),
]


@pytest.mark.parametrize(("part", "why"), PARTS)
def test_parts_that_change_the_dynamics_are_warned_about(part: str, why: str) -> None:
    """Springs, loops and forces that are not read are warnings, so `strict` refuses the file."""
    text = URDF.format(namespace="").replace("</robot>", f"{part}</robot>")
    (found,) = [each for each in read(text).findings if each.id == "urdf-left-out"]
    assert (found.level, found.place.line) == ("warning", 10)
    assert why in found.message
    assert "urdf-left-out" in robolin.load(text).contract["notes"][-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('<origin xyz="0 0 1">', '<origin xyz="0 0 1" quat_xyzw="0 0 1 0">'),
        ('<axis xyz="0 0 1"/><limit', '<axis xyz="0 0 1"/><dynamics stiffness="3"/><limit'),
    ],
)
def test_attributes_that_change_the_dynamics_are_warned_about(old: str, new: str) -> None:
    """A rotation or a spring in an attribute that is not read is a warning."""
    text = URDF.format(namespace="")
    assert old in text
    (found,) = [
        each for each in read(text.replace(old, new)).findings if each.id == "urdf-left-out"
    ]
    assert found.place.line == 5


def test_settings_of_a_simulator_without_springs_are_no_warning() -> None:
    """A spring of stiffness 0, materials and plugins in `<gazebo>` do not change the dynamics."""
    quiet = "<gazebo><springStiffness>0</springStiffness><material/><plugin/></gazebo></robot>"
    text = URDF.format(namespace="").replace("</robot>", quiet)
    assert not [each for each in read(text).findings if each.id == "urdf-left-out"]
