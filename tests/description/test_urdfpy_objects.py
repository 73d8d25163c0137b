"""Objects of urchin, the living fork of urdfpy, say the same as the file they came from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robolin.description.model import Reading
from robolin.description.urdf.urdf_reader import read_urdf
from robolin.description.urdf.urdfpy_objects import read_urdfpy
from robolin.errors import RobolinError

TEXT = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0.5 -0.1 0.02" rpy="0.3 -0.7 1.1"/>
      <mass value="1.5"/>
      <inertia ixx="0.11" ixy="0.01" ixz="-0.02" iyy="0.2" iyz="0.003" izz="0.25"/>
    </inertial>
  </link>
  <link name="slider">
    <inertial>
      <mass value="0.25"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>
    </inertial>
  </link>
  <link name="tool">
    <inertial>
      <origin xyz="0 0 0.1"/>
      <mass value="1"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/> <child link="upper"/>
    <origin xyz="0 0.2 1" rpy="0.1 1.57 -2"/> <axis xyz="0 1 0"/>
    <limit lower="-1" upper="1.5" effort="10" velocity="2"/>
    <dynamics damping="0.1" friction="0.2"/>
  </joint>
  <joint name="slide" type="prismatic">
    <parent link="upper"/> <child link="slider"/>
    <axis xyz="0 0 1"/>
    <limit lower="0" upper="1" effort="5" velocity="1"/>
    <mimic joint="shoulder" multiplier="0.5" offset="0.1"/>
  </joint>
  <joint name="mount" type="fixed">
    <parent link="slider"/> <child link="tool"/>
    <origin xyz="0 0 0.3"/>
  </joint>
</robot>
"""


@pytest.fixture
def loaded(tmp_path: Path) -> Iterator[Any]:
    """The text as urchin loads it."""
    (tmp_path / "arm.urdf").write_text(TEXT)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        urchin = pytest.importorskip("urchin")
        yield urchin.URDF.load(str(tmp_path / "arm.urdf"))


def flat(reading: Reading) -> tuple[list[Any], list[float]]:
    """All words and all numbers of a description, in order."""
    assert reading.description is not None
    words: list[Any] = [reading.description.name, reading.description.root]
    numbers: list[float] = []
    for link in reading.description.links:
        words.append(link.name)
        if link.name != "base":
            assert link.inertia is not None
            numbers += [link.inertia.mass, *link.inertia.com, *link.inertia.rotary]
    for joint in reading.description.joints:
        limits, mimic = joint.limits, joint.mimic
        words += [joint.name, joint.kind, joint.parent, joint.child, mimic and mimic.leader]
        numbers += [*joint.pose.rotation, *joint.pose.translation, *joint.axis]
        numbers += [joint.damping, joint.friction]
        for value in (limits.lower, limits.upper, limits.velocity, limits.effort):
            words.append(value is None)
            numbers.append(value or 0.0)
        numbers += [mimic.ratio, mimic.offset] if mimic else []
    return words, numbers


def test_the_object_agrees_with_the_file(loaded: Any) -> None:
    """Two parsers that share no code agree on every name and, to round-off, on every number."""
    ours, theirs = flat(read_urdf(TEXT.encode(), "arm.urdf")), flat(read_urdfpy(loaded))

    assert ours[0] == theirs[0]
    assert ours[1] == pytest.approx(theirs[1], abs=1e-15)


def test_parts_of_the_object_without_effect_are_listed(tmp_path: Path) -> None:
    """Shapes, calibrations and transmissions of an object are counted as those of its file."""
    urchin = pytest.importorskip("urchin")
    box = '<geometry><box size="1 1 1"/></geometry>'
    shapes = f'<link name="base"><visual>{box}</visual><collision>{box}</collision></link>'
    drive = (
        '<transmission name="t"><type>SimpleTransmission</type><joint name="shoulder">'
        "<hardwareInterface>Effort</hardwareInterface></joint><actuator name='m'/></transmission>"
    )
    text = TEXT.replace('<link name="base"/>', shapes).replace("</robot>", f"{drive}</robot>")
    text = text.replace("<dynamics", '<safety_controller k_velocity="1"/><dynamics', 1)
    (tmp_path / "arm.urdf").write_text(text)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        reading = read_urdfpy(urchin.URDF.load(str(tmp_path / "arm.urdf")))
    assert reading.description is not None
    listed = ("collision (1)", "safety_controller (1)", "transmission (1)", "visual (1)")
    assert reading.description.ignored == listed


def test_the_invented_kilogram_is_named(loaded: Any) -> None:
    """The link without inertial is warned about, a real body of 1 kg elsewhere is not."""
    reading = read_urdfpy(loaded)

    (finding,) = reading.findings
    assert (finding.id, finding.level) == ("invented-inertia", "warning")
    assert "'base'" in finding.message
    assert "'tool'" not in finding.message
    assert "urchin object 'arm'" in str(finding.location)


def test_the_same_object_has_the_same_hash(loaded: Any) -> None:
    """The hash depends only on the data read."""
    first, second = read_urdfpy(loaded).description, read_urdfpy(loaded).description
    assert first is not None
    assert second is not None
    assert first.digest == second.digest
    assert len(first.digest) == 64


def test_numbers_the_library_lets_through_are_still_refused(loaded: Any) -> None:
    """An infinite mass and a NaN limit are errors, as they are in a file."""
    loaded.links[1].inertial.mass = float("inf")
    loaded.joints[0].limit.lower = float("nan")
    reading = read_urdfpy(loaded)

    assert reading.description is None
    errors = [finding for finding in reading.findings if finding.level == "error"]
    assert [error.id for error in errors] == ["number-not-finite", "number-not-finite"]
    assert "'upper'" in errors[0].message
    assert "'shoulder'" in errors[1].message


def test_an_object_may_lack_an_inertial() -> None:
    """A library that leaves the inertial out gives a link without mass."""
    link = SimpleNamespace(name="a", inertial=None)
    description = read_urdfpy(SimpleNamespace(name="r", links=[link], joints=[])).description

    assert description is not None
    assert description.links[0].inertia is None


@pytest.mark.parametrize("wrong", [None, "panda.urdf", SimpleNamespace(name="r", links=[3])])
def test_other_objects_are_rejected(wrong: object) -> None:
    """An object that is not a loaded robot is a RobolinError with a hint, not an AttributeError."""
    with pytest.raises(RobolinError, match="not a robot") as caught:
        read_urdfpy(wrong)
    assert "urchin.URDF.load" in caught.value.hint


def test_unknown_joint_types_of_objects_are_rejected() -> None:
    """A joint type that urdfpy does not have is a RobolinError with the joint's name."""
    links = [SimpleNamespace(name=name, inertial=None) for name in "ab"]
    joint = SimpleNamespace(name="elbow", joint_type="weird", parent="a", child="b")
    with pytest.raises(RobolinError, match="joint 'elbow' has the unknown type 'weird'"):
        read_urdfpy(SimpleNamespace(name="r", links=links, joints=[joint]))
