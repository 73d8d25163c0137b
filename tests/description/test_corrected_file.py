"""Corrected robot files: only the values change, and the file gives the same arm."""

from __future__ import annotations

import numpy as np
import pytest

import robolin
from robolin.core.arm import Arm
from robolin.core.arm_parameters import parameters
from robolin.description.corrected_file import corrected_urdf, correction
from robolin.description.load import read
from robolin.description.robot_source import robot_text
from robolin.errors import RobolinError
from tests.analysis.identify_recordings import excitation, true_arm

URDF = b"""<?xml version='1.0'?>
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


def rewritten(text: bytes, before: Arm, after: Arm) -> bytes:
    description = read(text, robolin.description.load.ModelOptions()).description
    assert description is not None
    return corrected_urdf(text, correction(description, before, after), ["one -- remark"])


def test_the_file_gives_the_torques_of_the_fit() -> None:
    """Loaded again, the text has the torques of the corrected arm, to 1e-12."""
    text = robot_text("ur5").text
    before = robolin.load("ur5")
    after = true_arm(before)
    loads = {p.label: p.value for p in parameters(after) if not p.label.endswith("/armature")}
    after = before.with_parameters(loads)

    again = robolin.load(rewritten(text, before, after))

    q, qd, qdd = excitation(6, np.linspace(0.0, 5.0, 40))
    expected = robolin.inverse(after, q, qd, qdd)
    tau = robolin.inverse(again, q, qd, qdd)
    np.testing.assert_allclose(tau, expected, rtol=0.0, atol=1e-12 * np.abs(expected).max())


def test_all_other_text_stays() -> None:
    """Comments, shapes, quotes and order remain; a missing <dynamics> is added."""
    before = robolin.load(URDF)
    after = before.with_parameters({"upper/mass": 2.75, "a/damping": 0.25})

    text = rewritten(URDF, before, after).decode()

    assert "<!-- a comment -->" in text
    assert "<!-- measured -->" in text
    assert '<mass value = "2.25"/>' in text
    assert '<dynamics damping="0.25" friction="0.0"/><parent link="base"/>' in text
    assert '<visual><geometry><sphere radius="0.1"/></geometry></visual>' in text
    assert "one - - remark" in text
    assert text.count('<mass value="0.5"/>') == 1
    loaded = robolin.load(text)
    assert loaded.links[0].inertia.mass == 2.75


def test_a_link_without_enough_mass_for_its_fixed_links_is_rejected() -> None:
    """The error names the fixed link that cannot have been there."""
    before = robolin.load(URDF)
    values = {p.label: 0.1 * p.value for p in parameters(before) if p.owner == "upper"}
    with pytest.raises(RobolinError, match="because tool fixed to it have more"):
        rewritten(URDF, before, before.with_parameters(values))


@pytest.mark.parametrize("peer", ["pinocchio", "mujoco"])
def test_other_programs_load_the_file(peer: str) -> None:
    """Pinocchio and MuJoCo read the corrected text with the new masses."""
    program = pytest.importorskip(peer)
    before = robolin.load("ur5")
    after = true_arm(before)
    text = rewritten(robot_text("ur5").text, before, after).decode()
    total = sum(link.inertia.mass for link in after.links)
    if peer == "pinocchio":
        model = program.buildModelFromXML(text)
        mass = sum(model.inertias[i].mass for i in range(1, model.njoints))
    else:
        mass = float(program.MjModel.from_xml_string(text).body_mass.sum())
    assert mass == pytest.approx(total, rel=1e-9)
