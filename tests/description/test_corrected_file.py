"""Corrected robot files: only the values change, and the file gives the same arm."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parameters import parameters
from robolin.description.building.build_arm import DEFAULTS
from robolin.description.building.keywords import ModelOptions, model_options
from robolin.description.corrected_file import CorrectedFile, corrected_file, require_extension
from robolin.description.load import load_with, read
from robolin.description.robot_source import robot_text
from robolin.description.xml_edits import XmlEdits
from robolin.errors import RobolinError, UsageError
from tests.cases import for_each

V0 = 0.05

URDF = """<?xml version='1.0'?>
<!-- a comment -->
<robot name="arm">
  <link name="base"/>
  <joint name="a" type="revolute"><parent link="base"/><child link="upper"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="5" velocity="2"/>
  </joint>
  <link name='upper'>
    <!-- measured -->
    <inertial><mass value = '2.0'/>
      <origin xyz="0.1 0 0" rpy="0.3 0 0"/>
      <inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.03"/></inertial>
    <visual><geometry><sphere radius="0.1"/></geometry></visual>
  </link>
  <joint name="fixed" type="fixed"><parent link="upper"/><child link="tool"/>
    <origin xyz="0.5 0 0"/></joint>
  <link name="tool"><inertial><mass value="0.5"/>
    <inertia ixx="0.001" ixy="0" ixz="0" iyy="0.001" iyz="0" izz="0.001"/></inertial></link>
</robot>
"""

MJCF = """<mujoco model="arm">
  <!-- angles in degrees -->
  <compiler angle="degree" autolimits="true"/>
  <default>
    <joint damping="2" armature="0.1"/>
    <default class="small"><joint frictionloss=".3"/></default>
  </default>
  <worldbody>
    <body name="tower" pos=".1 .2 .3" euler="20 0 30">
      <geom type="capsule" size=".05" fromto="0 0 0 .1 .2 .4" density="800"/>
      <body name="from geoms" pos="0 .1 .4">
        <joint name="pan" axis="0 1 1" pos=".1 .02 -.03" range="-90 90"/>
        <geom type="box" size=".1 .05 .2" pos=".03 .01 .1" euler="10 20 30"/>
        <geom type="sphere" size=".03" pos=".2 0 0" mass=".2"/>
        <frame pos="0 0 .1">
          <body name="full">
            <inertial pos=".01 .02 .03" mass=".4" fullinertia=".01 .02 .025 .001 .002 -.001"/>
            <joint name="tilt" class="small" axis="1 0 -1" damping="0.5"/>
            <body pos=".3 0 .2">
              <joint axis="0 0 1" pos=".02 0 0"/>
              <inertial mass=".3" pos="0 0 .1" euler="30 0 10" diaginertia=".01 .02 .015"/>
              <body name="tool" pos="0 0 .1"><geom type="sphere" size=".02" mass=".1"/></body>
            </body>
          </body>
        </frame>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

SDF = """<?xml version="1.0"?>
<sdf version="1.9" xmlns:drake="drake.mit.edu">
  <world name="w">
    <model name="floor"><static>true</static><link name="plane"/></model>
    <model name="arm">
      <link name="base"/>
      <link name="upper"><!-- of aluminium -->
        <pose relative_to="a"/>
        <inertial><pose degrees="true">.1 0 0 20 0 0</pose><mass>2</mass>
          <inertia><ixx>.02</ixx><iyy>.03</iyy><izz>.03</izz></inertia></inertial>
      </link>
      <joint name="fix" type="fixed"><parent>world</parent><child>base</child></joint>
      <joint name="a" type="revolute"><parent>base</parent><child>upper</child>
        <pose relative_to="base">0 0 .2 .1 0 0</pose>
        <axis><xyz>0 0 1</xyz><dynamics><damping>1</damping></dynamics></axis>
        <drake:rotor_inertia>0.001</drake:rotor_inertia><drake:gear_ratio>10</drake:gear_ratio>
      </joint>
      <joint name="b" type="revolute"><parent>upper</parent><child>hand::palm</child>
        <pose relative_to="upper">.3 0 0 0 0 0</pose><axis><xyz>0 1 0</xyz></axis></joint>
      <model name="hand"><pose>.4 0 .1 0 0 .3</pose>
        <link name="palm"><inertial><mass>1</mass></inertial></link>
      </model>
    </model>
  </world>
</sdf>
"""

YAML = """# bench arm
robolin: 1
name: arm
joints:
  - {name: a, type: revolute, parent: base, child: upper, axis: [0, 0, 1]}  # slow
  - name: b
    type: continuous
    parent: upper
    child: middle
    axis: [0, 1, 0]
    friction: {positive: 1, negative: 2}   # both sides
    rotor_inertia: 1e-4
    gear_ratio: 50
  - {name: c, type: prismatic, parent: middle, child: last, axis: [1, 0, 0], armature: 2}
links:
  - name: upper      # a box
    density: 2700
    shape: {box: [0.1, 0.1, 0.3]}
    com:
      - 0
      - 0
      - 0.15
  - name: middle
    mass: 2
    inertia:
      ixx: 0.02   # from CAD

      iyy: 0.03
      izz: 0.03
    # the end
  - {name: last, mass: 0.5, com: [0.1, 0, 0], inertia: {ixx: 0.01, iyy: 0.01, izz: 0.01}}
"""

FILES = {"arm.urdf": URDF, "arm.xml": MJCF, "arm.sdf": SDF, "arm.yaml": YAML}


def other_values(arm: Arm, seed: int = 0) -> Arm:
    """The arm with other bodies, all possible, and other damping, friction and armature."""
    rng = np.random.default_rng([seed, 3])
    arm = replace(arm, friction_velocity=V0)
    values = {each.label: each.value for each in parameters(arm)}
    for link in arm.links:
        factor = float(rng.uniform(0.8, 1.25))
        for name in values:
            if name.startswith(f"{link.name}/"):
                values[name] *= factor
    kinds = ("/damping", "/armature", "/friction", "/friction_positive", "/friction_negative")
    for name in values:
        if name.endswith(kinds):
            values[name] = float(rng.uniform(0.05, 0.5))
    return arm.with_parameters(values)


def corrected(
    source: Any, after: Arm, options: ModelOptions = DEFAULTS, output: Path | None = None
) -> CorrectedFile:
    description = read(source, options).description
    assert description is not None
    before = load_with(source, options)
    robot = robot_text(source)
    output = output or (Path(source) if robot.path else Path("corrected.urdf"))
    return corrected_file(robot, description, options, before, after, output, ["one -- remark"])


def same_torques(one: Arm, other: Arm) -> None:
    """Both arms have the same torques to 1e-12 of the largest, at random states."""
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 10, one.n))
    expected, tau = (robolin.inverse(arm, q, qd, qdd, engine="python") for arm in (one, other))
    np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def file_of(name: str, folder: Path, text: str | None = None) -> Path:
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    path = folder / name
    path.write_text(FILES[name] if text is None else text)
    return path


@pytest.mark.parametrize("name", FILES)
def test_the_file_gives_the_torques_of_the_fit(name: str, tmp_path: Path) -> None:
    """Loaded again with the flags that belong to it, the file is the corrected arm."""
    path = file_of(name, tmp_path)
    after = other_values(robolin.load(path))

    new_file = corrected(path, after)

    path.write_bytes(new_file.text)
    same_torques(after, robolin.load(path, friction_velocity=V0, armature=dict(new_file.armature)))
    assert b"remark" in new_file.text
    assert [each.name for each in tmp_path.iterdir()] == [name]


@for_each(
    "name",
    ["ur5", "panda", "puma560", "two-link", "panda-fingers", "xarm7"],
)
def test_bundled_arms(name: str) -> None:
    """Also with fixed links, DH tables, mimic joints and one-sided friction."""
    after = other_values(robolin.load(name))
    new_file = corrected(name, after, output=Path("corrected"))
    again = robolin.load(new_file.text, friction_velocity=V0, armature=dict(new_file.armature))
    same_torques(after, again)


_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
# what a change replaces besides numbers: quotes, other forms of a rotation, and shapes
REPLACED = {
    "arm.urdf": ["'", "'"],
    "arm.xml": [' euler="# # #"', ' diaginertia="# # #"'],
    "arm.sdf": [' degrees="true"'],
    "arm.yaml": ["density", "shape: {box: [", "]}"],
}


@pytest.mark.parametrize("name", FILES)
def test_all_other_text_stays(name: str, tmp_path: Path) -> None:
    """Without a change the text is the same; with one, only numbers differ and values are added."""
    path = file_of(name, tmp_path)
    before = robolin.load(path)
    same = corrected(path, before).text.decode()
    remark = "<!--\n  one - - remark\n-->\n"
    assert same.replace(remark, "").removesuffix("# one -- remark\n") == FILES[name]

    text = corrected(path, other_values(before)).text.decode()

    one, other = (_NUMBER.sub("#", each) for each in (FILES[name], text))
    steps = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    removed = [one[i:j] for kind, i, j, _, _ in steps if kind in ("replace", "delete")]
    assert sum(map(len, removed)) <= sum(map(len, REPLACED[name])), removed


def test_urdf_elements_are_added() -> None:
    """A missing <dynamics> is added, quotes and spaces of a tag remain."""
    after = robolin.load(URDF).with_parameters({"upper/mass": 2.75, "a/damping": 0.25})

    text = corrected(URDF, after).text.decode()

    assert '<mass value = "2.25"/>' in text
    assert '<dynamics damping="0.25" friction="0.0"/><parent link="base"/>' in text
    assert '<visual><geometry><sphere radius="0.1"/></geometry></visual>' in text
    assert text.count('<mass value="0.5"/>') == 1
    assert robolin.load(text).links[0].inertia.mass == 2.75


@pytest.mark.slow
def test_mjcf_elements(tmp_path: Path) -> None:
    """Inertias are written in body axes; a body with geoms gets an <inertial>."""
    path = file_of("arm.xml", tmp_path)
    text = corrected(path, other_values(robolin.load(path))).text.decode()

    assert text.count("fullinertia=") == 3
    assert "diaginertia=" not in text
    assert 'euler="30 0 10"' not in text
    assert '<body name="from geoms" pos="0 .1 .4">\n        <inertial pos="' in text
    assert '<default class="small"><joint frictionloss=".3"/></default>' in text
    assert text.count("frictionloss=") == 4
    assert text.count("<geom") == MJCF.count("<geom")


def test_a_link_without_enough_mass_for_its_fixed_links_is_rejected() -> None:
    """The error names the fixed link that cannot have been there."""
    before = robolin.load(URDF)
    values = {p.label: 0.1 * p.value for p in parameters(before) if p.owner == "upper"}
    with pytest.raises(
        RobolinError,
        match=r"identified mass of link .upper. and its fixed links is less than the mass of tool",
    ):
        corrected(URDF, before.with_parameters(values))


def test_model_options_belong_to_the_file(tmp_path: Path) -> None:
    """A payload is not written into the file; armature by option is replaced by the file's."""
    path = file_of("arm.yaml", tmp_path)
    keywords: dict[str, Any] = {"payload": ("last", 0.3, (0.1, 0.0, 0.2)), "armature": {"a": 0.2}}
    after = other_values(robolin.load(path, **keywords))
    new_file = corrected(path, after, model_options(keywords))
    path.write_bytes(new_file.text)
    assert new_file.armature == {}
    again = robolin.load(path, friction_velocity=V0, payload=keywords["payload"])
    same_torques(after, again)


@pytest.mark.slow
@pytest.mark.parametrize(
    "old, new, message, hint",
    [
        ("<compiler ", '<compiler inertiafromgeom="true" ', "ignores every <inertial>", "auto"),
        ("<compiler ", '<compiler settotalmass="9" ', "would be", "remove settotalmass"),
        ("<compiler ", '<compiler boundmass="5" ', "would be", "remove boundmass"),
        ("<compiler ", '<compiler fusestatic="true" ', "is not in the file", "remove fusestatic"),
        ('name="pan"', 'name="pan" springdamper="1 1"', "would be", "remove springdamper"),
    ],
)
def test_settings_that_change_values_are_rejected(
    old: str, new: str, message: str, hint: str, tmp_path: Path
) -> None:
    """A file that would not give the fit is never written, and the hint names the reason."""
    path = file_of("arm.xml", tmp_path, MJCF.replace(old, new, 1))
    after = other_values(robolin.load(path))
    with pytest.raises(RobolinError) as caught:
        corrected(path, after)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert [each.name for each in tmp_path.iterdir()] == ["arm.xml"]


@pytest.mark.slow
def test_bodies_that_are_not_written_are_rejected(tmp_path: Path) -> None:
    """The copies of a <replicate> have no element of their own."""
    copies = '<replicate count="2" offset="1 0 0"><body name="tower"'
    text = MJCF.replace('<body name="tower"', copies)
    text = text.replace("    </body>\n  </worldbody>", "    </body></replicate></worldbody>")
    path = file_of("arm.xml", tmp_path, text)
    with pytest.raises(RobolinError) as caught:
        corrected(path, other_values(robolin.load(path)))
    assert "is not in the file, but its" in caught.value.message
    assert "<replicate> creates the element" in caught.value.hint


@pytest.mark.slow
def test_bodies_of_included_files_are_rejected(tmp_path: Path) -> None:
    """The hint names the included file; that file itself can be corrected."""
    file_of("arm.xml", tmp_path)
    scene = tmp_path / "scene.xml"
    scene.write_text('<mujoco><include file="arm.xml"/><option timestep="0.01"/></mujoco>')
    with pytest.raises(RobolinError) as caught:
        corrected(scene, other_values(robolin.load(scene)))
    assert "is not in the file, but its" in caught.value.message
    assert "(arm.xml)" in caught.value.hint


@pytest.mark.slow
def test_files_relative_to_the_folder(tmp_path: Path) -> None:
    """An MJCF file with other files stays in its folder; a URDF gets a note."""
    (tmp_path / "old").mkdir()
    hull = '<asset><hfield name="h" file="h.bin" size="1 1 1 1"/></asset><worldbody>'
    path = file_of("arm.xml", tmp_path / "old", MJCF.replace("<worldbody>", hull))
    (tmp_path / "old" / "h.bin").write_bytes(np.array([1, 1], "<i4").tobytes() + b"\0\0\0\0")
    after = other_values(robolin.load(path))
    with pytest.raises(UsageError) as caught:
        corrected(path, after, output=tmp_path / "new.xml")
    assert f"-o {tmp_path / 'old' / 'new.xml'}" in caught.value.hint
    corrected(path, after, output=tmp_path / "old" / "new.xml")

    mesh = URDF.replace('<sphere radius="0.1"/>', '<mesh filename="m.stl"/>')
    urdf = file_of("arm.urdf", tmp_path / "old", mesh)
    new_file = corrected(urdf, other_values(robolin.load(urdf)), output=tmp_path / "new.urdf")
    assert "'m.stl'" in new_file.notes[0]


def test_xacro_is_expanded(tmp_path: Path) -> None:
    """The corrected file of a xacro file is its expansion, and a note states it."""
    pytest.importorskip("xacro")
    path = tmp_path / "arm.xacro"
    head = '<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    macro = '<xacro:arg name="m" default="2.0"/>'
    path.write_text(URDF.replace('<robot name="arm">', head + macro).replace("'2.0'", '"$(arg m)"'))
    options = ModelOptions(xacro_args={"m": "3.0"})
    after = other_values(load_with(path, options))
    new_file = corrected(path, after, options, tmp_path / "arm.urdf")
    assert b"xacro:arg" not in new_file.text
    assert "is expanded" in new_file.notes[0]
    same_torques(
        after, robolin.load(new_file.text, friction_velocity=V0, armature=dict(new_file.armature))
    )
    with pytest.raises(UsageError) as caught:
        require_extension("new.xacro", robot_text(path))
    assert "new.urdf" in caught.value.hint


@pytest.mark.parametrize(
    "name, output",
    [("arm.urdf", "a.yaml"), ("arm.sdf", "a.urdf"), ("arm.yaml", "a.xml"), ("arm.xml", "a.urdf")],
)
def test_the_extension_is_that_of_the_input(name: str, output: str, tmp_path: Path) -> None:
    """A file is corrected in its own format only."""
    (tmp_path / name).write_text(FILES[name])
    with pytest.raises(UsageError, match="the extension must be"):
        require_extension(output, robot_text(tmp_path / name))


@pytest.mark.parametrize("text", ["<!-- x -->10", "1<!-- x -->0", "<![CDATA[10]]>", " 10 "])
def test_comments_inside_a_number(text: str, tmp_path: Path) -> None:
    """A gear ratio with a comment or CDATA is the number that the reader finds."""
    path = file_of("arm.sdf", tmp_path, SDF.replace(">10<", f">{text}<"))
    after = other_values(robolin.load(path))
    new_file = corrected(path, after)
    path.write_bytes(new_file.text)
    same_torques(after, robolin.load(path, friction_velocity=V0, armature=dict(new_file.armature)))
    assert "a" not in new_file.armature


def test_names_and_flags_in_the_comment() -> None:
    """Joint names are written as they are, and flags by name, since XML forbids two hyphens."""
    text = URDF.replace('"a"', '"épaule"')
    new_file = corrected(text, other_values(robolin.load(text)))
    values = ",".join(f"{name}={value!r}" for name, value in new_file.armature.items())
    comment = new_file.text.decode().rpartition("<!--")[2]
    assert values.startswith("épaule=")
    assert f"to apply the armature, add the flag 'armature' {values}\n" in comment
    assert "two hyphens" in comment
    latin = text.replace("<?xml version='1.0'?>", "<?xml version='1.0' encoding='iso-8859-1'?>")
    source = latin.encode("latin-1")
    new_file = corrected(source, other_values(robolin.load(source)))
    assert f"'armature' {values}" in new_file.text.decode("latin-1")


def test_an_error_while_reading_again_is_not_a_write_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An error of reading the corrected text again is reported as such."""
    path = file_of("arm.sdf", tmp_path)
    after = other_values(robolin.load(path))
    monkeypatch.setattr("robolin.description.load.load_with", _unreadable)
    with pytest.raises(RobolinError, match="cannot be read again: no such device"):
        corrected(path, after)
    assert [each.name for each in tmp_path.iterdir()] == ["arm.sdf"]


def _unreadable(*_: object) -> Arm:
    raise OSError("no such device")


def test_files_in_other_encodings() -> None:
    """A byte order mark, white space before the declaration and CRLF remain; UTF-16 is rejected."""
    for text in (
        b"\xef\xbb\xbf" + URDF.encode(),
        b"\n " + URDF.encode(),
        URDF.replace("\n", "\r\n").encode(),
        b"\xef\xbb\xbf" + YAML.replace("\n", "\r\n").encode(),
    ):
        after = other_values(robolin.load(text))
        new_file = corrected(text, after)
        assert new_file.text.startswith(text[:30])
        assert (b"\r\n" in text) == (b"\r\n" in new_file.text)
        assert b"\n" not in new_file.text.replace(b"\r\n", b"") or b"\r\n" not in text
        again = robolin.load(new_file.text, friction_velocity=V0, armature=dict(new_file.armature))
        same_torques(after, again)
    with pytest.raises(RobolinError, match="not UTF-8"):
        XmlEdits(URDF.replace("?>", " encoding='utf-16'?>", 1).encode("utf-16"), "arm.urdf")


def pinocchio_torques(model: Any, arm: Arm, armature: Mapping[str, float]) -> None:
    """Pinocchio's RNEA and damping equal the torques of the arm without friction."""
    pin = pytest.importorskip("pinocchio")
    data = model.createData()
    frictionless = replace(arm, friction_velocity=None)
    q, qd, qdd = np.random.default_rng(5).normal(size=(3, 10, arm.n))
    expected = robolin.inverse(frictionless, q, qd, qdd, engine="python")
    model.gravity.linear = np.array(arm.gravity)
    for row in range(10):
        tau = pin.rnea(model, data, q[row], qd[row], qdd[row])
        # `rnea` applies the armature of an MJCF file, and no damping
        tau += [armature.get(name, 0.0) for name in arm.joint_names] * qdd[row]
        tau += np.array([joint.damping for joint in arm.joints]) * qd[row]
        assert np.abs(tau - expected[row]).max() <= 1e-12 * np.abs(expected).max()


@pytest.mark.slow
def test_pinocchio_reads_the_same_dynamics(tmp_path: Path) -> None:
    """Torques of the corrected URDF and MJCF in Pinocchio equal those of the arm."""
    pin = pytest.importorskip("pinocchio")
    after = other_values(robolin.load("ur5"))
    new_file = corrected("ur5", after, output=tmp_path / "ur5.urdf")
    pinocchio_torques(pin.buildModelFromXML(new_file.text.decode()), after, new_file.armature)
    # its reader of MJCF ignores <frame>, poses of fixed bodies, and positions of joints
    plain = re.sub(r"</?frame[^>]*>", "", MJCF).replace("<body pos", '<body name="hand" pos')
    for ignored in (' pos=".1 .02 -.03"', ' pos=".02 0 0"', ' pos=".1 .2 .3" euler="20 0 30"'):
        plain = plain.replace(ignored, "")
    path = file_of("arm.xml", tmp_path, plain.replace("<joint axis", '<joint name="turn" axis'))
    arm = other_values(robolin.load(path))
    path.write_bytes(corrected(path, arm).text)
    pinocchio_torques(pin.buildModelFromMJCF(str(path)), arm, {})


def test_mujoco_reads_the_same_dynamics(tmp_path: Path) -> None:
    """mj_inverse of the corrected MJCF and URDF equals the torques of the arm."""
    mujoco = pytest.importorskip("mujoco")
    path = file_of("arm.xml", tmp_path)
    after = other_values(robolin.load(path))
    new_file = corrected(path, after)
    urdf = other_values(robolin.load("ur5"))
    text = corrected("ur5", urdf, output=tmp_path / "ur5.urdf")
    for xml, arm, armature in ((new_file.text, after, {}), (text.text, urdf, text.armature)):
        model = mujoco.MjModel.from_xml_string(xml.decode())
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        data = mujoco.MjData(model)
        smooth = replace(arm, friction_velocity=None)
        for q, qd, qdd in np.random.default_rng(0).uniform(-1, 1, (5, 3, arm.n)):
            data.qpos[:], data.qvel[:], data.qacc[:] = q, qd, qdd
            mujoco.mj_inverse(model, data)
            tau = data.qfrc_inverse + [armature.get(n, 0.0) for n in arm.joint_names] * qdd
            expected = robolin.inverse(smooth, q, qd, qdd, engine="python")
            assert np.abs(tau - expected).max() <= 1e-12 * np.abs(expected).max()
