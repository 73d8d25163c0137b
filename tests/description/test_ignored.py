"""The contract lists every part of a robot file that was read and not used."""

from __future__ import annotations

from pathlib import Path

import pytest

import robolin
from robolin.description.load import read
from robolin.description.mjcf import mjcf_reader, mjcf_worker

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
    """The expansion of macros is counted as in a URDF file."""
    pytest.importorskip(
        "xacro",
        reason="xacro files need the package xacro, which is not installed",
    )
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
    assert [finding.id for finding in reading.findings] == ["ignored-key"] * 3
    assert robolin.load(text).contract["ignored"] == list(unused)
    for wrong in (text + "strange: 1\n", text.replace("mass: 1", "mass: 1, strange: 1")):
        (finding,) = [each for each in read(wrong).findings if each.id == "unknown-key"]
        assert finding.level == "error"


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
    """Springs, loops and forces that are not read are warnings, so `strict` rejects the file."""
    text = URDF.format(namespace="").replace("</robot>", f"{part}</robot>")
    (finding,) = [each for each in read(text).findings if each.id == "urdf-left-out"]
    assert (finding.level, finding.location.line) == ("warning", 10)
    assert why in finding.message
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
    (finding,) = [
        each for each in read(text.replace(old, new)).findings if each.id == "urdf-left-out"
    ]
    assert finding.location.line == 5


def test_settings_of_a_simulator_without_springs_are_no_warning() -> None:
    """A spring of stiffness 0, materials and plugins in `<gazebo>` do not change the dynamics."""
    quiet = "<gazebo><springStiffness>0</springStiffness><material/><plugin/></gazebo></robot>"
    text = URDF.format(namespace="").replace("</robot>", quiet)
    assert not [each for each in read(text).findings if each.id == "urdf-left-out"]


MJCF = """<mujoco>
  <option timestep="0.001"><flag contact="disable"/></option>
  <default><geom rgba="1 0 0 1"/><site size=".01"/><default class="c"><motor gear="2"/></default>
  </default>
  <asset><material name="grey"/></asset>
  <worldbody><light pos="0 0 3"/><include file="part.xml"/></worldbody>
  <equality><joint joint1="j" joint2="k" active="false"/></equality>
  <actuator><motor name="m" joint="j" gear="3" ctrlrange="-1 1"/></actuator>
  <sensor><jointpos joint="j"/><jointvel joint="j"/></sensor>
  <keyframe><key qpos="1 0" qvel="0 1"/></keyframe>
</mujoco>"""
PART = """<mujoco><body name="a" user="3"><joint name="j" margin=".1" range="-1 1" user="1"/>
  <geom size=".1" friction="1 1 1"/><site name="s"/>
  <body name="b" gravcomp="1"><joint name="k" axis="1 0 0"/><geom size=".1" pos="1 0 0"/></body>
</body></mujoco>"""
UNUSED_OF_MJCF = [
    "asset/material (1)",
    "body attribute gravcomp (1)",
    "body attribute user (1)",
    "default/site (1)",
    "equality that is not active (1)",
    "flag attribute contact (1)",
    "geom attribute friction (1)",
    "geom attribute rgba (1)",
    "joint attribute margin (1)",
    "joint attribute user (1)",
    "key attribute qvel (1)",
    "light (1)",
    "option attribute timestep (1)",
    "sensor/jointpos (1)",
    "sensor/jointvel (1)",
    "site (1)",
]


@pytest.fixture
def mjcf(tmp_path: Path) -> Path:
    pytest.importorskip(
        "mujoco",
        reason="MJCF files need the package mujoco, which is not installed",
    )
    head = '<size nuser_body="1" nuser_jnt="1"/><worldbody>'
    (tmp_path / "part.xml").write_text(PART)
    path = tmp_path / "m.xml"
    path.write_text(MJCF.replace("<worldbody>", head))
    return path


@pytest.mark.slow
def test_mjcf(mjcf: Path) -> None:
    """Elements and attributes without effect are counted, in defaults and included files too."""
    sizes = ["size attribute nuser_body (1)", "size attribute nuser_jnt (1)"]
    assert robolin.load(mjcf).contract["ignored"] == sorted([*UNUSED_OF_MJCF, *sizes])


@pytest.mark.slow
def test_mjcf_with_an_unknown_element(mjcf: Path) -> None:
    """An element or an attribute that MuJoCo does not know is an error."""
    text = mjcf.read_text()
    for old, new in (("</mujoco>", "<strange/></mujoco>"), ("<light ", '<light strange="1" ')):
        mjcf.write_text(text.replace(old, new))
        with pytest.raises(robolin.RobolinError, match="strange"):
            robolin.load(mjcf)


# attributes with another value than the default, in elements of the model above
VALUES = {
    "joint": {
        **dict.fromkeys(("armature", "damping", "frictionloss", "ref", "margin", "group"), "1"),
        **dict.fromkeys(("stiffness", "springref"), "1"),
        "springdamper": ".1 .5",
        **dict.fromkeys(("pos", "axis"), "0 1 1"),
        "type": "slide",
        "range": "-.5 .4",
        "limited": "false",
        "actuatorfrcrange": "-3 4",
        "solreflimit": ".05 1",
        "solimplimit": ".8 .9 .01",
        "actuatorgravcomp": "true",
    },
    "geom": {
        **dict.fromkeys(("pos", "size", "euler", "zaxis"), ".3 .2 .1"),
        "type": "box",
        "quat": "1 2 3 4",
        "mass": "3",
        "density": "50",
        "shellinertia": "true",
        **dict.fromkeys(("condim", "contype", "conaffinity", "group", "margin"), "1"),
        "friction": ".1 .1 .1",
        "rgba": ".1 .1 .1 1",
        "solref": ".05 1",
        "solmix": ".5",
        "priority": "2",
    },
    "body": {
        **dict.fromkeys(("pos", "euler", "zaxis"), ".3 .2 .1"),
        "quat": "1 2 3 4",
        "gravcomp": ".5",
        "sleep": "never",
    },
    "option": {
        "gravity": "1 2 3",
        "timestep": ".003",
        "density": "3",
        "integrator": "RK4",
        "cone": "elliptic",
        "wind": "1 0 0",
    },
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tag", "attribute"), [(tag, name) for tag, values in VALUES.items() for name in values]
)
def test_every_attribute_is_used_or_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tag: str, attribute: str
) -> None:
    """An attribute changes the arm, or the contract lists it."""
    pytest.importorskip(
        "mujoco",
        reason="MJCF files need the package mujoco, which is not installed",
    )
    # one process for all
    monkeypatch.setattr(
        mjcf_reader,
        "run_in_separate_process",
        lambda _module, request, _bounds: mjcf_worker.reply(request),
    )
    parts: dict[str, dict[str, str]] = {
        "option": {},
        "body": {},
        "joint": {"type": "hinge", "range": "-1 1"},
        "geom": {"type": "ellipsoid", "size": ".1 .2 .3", "pos": ".1 0 0"},
    }

    def arm(changed: dict[str, str]) -> robolin.Arm:
        values = {**parts, tag: {**parts[tag], **changed}}
        texts = {
            key: " ".join(f'{k}="{v}"' for k, v in value.items()) for key, value in values.items()
        }
        text = (
            f'<mujoco><compiler angle="radian"/><option {texts["option"]}/><worldbody>'
            f"<body {texts['body']}><joint {texts['joint']}/><geom {texts['geom']}/></body>"
            "</worldbody></mujoco>"
        )
        path = tmp_path / "m.xml"
        path.write_text(text)
        return robolin.load(path)

    label = f"{tag} attribute {attribute} (1)"
    plain, changed = arm({}), arm({attribute: VALUES[tag][attribute]})
    used = plain.model_dict != changed.model_dict
    assert used != (label in changed.contract["ignored"])


def test_effects_disabled_by_mjcf_flags_are_listed(tmp_path: Path) -> None:
    """Damping, springs and friction that a flag disables are listed with their number."""
    pytest.importorskip(
        "mujoco",
        reason="MJCF files need the package mujoco, which is not installed",
    )
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><option><flag damper="disable" spring="disable" frictionloss="disable"/></option>'
        '<worldbody><body><joint stiffness="3" damping="2" springref="30" frictionloss="1"/>'
        '<geom size=".1" pos=".1 0 0"/></body></worldbody></mujoco>'
    )
    assert robolin.load(path).contract["ignored"] == [
        f"{what} disabled by a flag (1)" for what in ("damping", "frictionloss", "spring")
    ]
