"""Changes of a model are reported with the line that was changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from robolin.checking.check_results import changed_location
from robolin.checking.model_changes import model_changes
from robolin.description.load import model_dict

YAML = """robolin: 1
name: arm
joints:
  - name: shoulder
    type: revolute
    parent: base
    child: upper
    origin:
      {xyz: [0, 0, 1], rpy: [0, 0, 0]}
    axis: [0, 0, 1]
    damping: 0.1
    friction: 0.2
    armature: 0.3
    limits: {lower: -1, upper: 1}
links:
  - name: upper
    mass: 2
    com: [0, 0, 0.5]
    inertia: {ixx: 0.1, iyy: 0.1, izz: 0.05}
"""
URDF = """<robot name="arm">
  <link name="base"/>
  <link name="upper">
    <inertial>
      <origin xyz="0 0 0.5"/>
      <mass value="2"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.05" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="shoulder" type="revolute">
    <parent link="base"/>
    <child link="upper"/>
    <origin xyz="0 0 1" rpy="0 0 0"/>
    <axis xyz="0 0 1"/>
    <dynamics damping="0.1" friction="0.2"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/>
  </joint>
</robot>
"""
EDITS = [
    *((YAML, *edit) for edit in (("mass: 2", "mass: 3"), ("0, 0.5]", "0.1, 0.5]"))),
    *((YAML, *edit) for edit in (("izz: 0.05", "izz: 0.06"), ("damping: 0.1", "damping: 0.5"))),
    *(
        (YAML, *edit)
        for edit in (("friction: 0.2", "friction: 0"), ("armature: 0.3", "armature: 0.4"))
    ),
    *((YAML, *edit) for edit in (("rpy: [0", "rpy: [1"), ("xyz: [0", "xyz: [1"))),
    *((YAML, *edit) for edit in (("upper: 1}", "upper: 2}"), ("axis: [0", "axis: [1"))),
    *((URDF, *edit) for edit in (('value="2"', 'value="3"'), ('"0 0 0.5"', '"0 0 0.6"'))),
    *((URDF, *edit) for edit in (('izz="0.05"', 'izz="0.06"'), ('friction="0.2"', ""))),
    *((URDF, *edit) for edit in (('rpy="0 0 0"', 'rpy="0 1 0"'), ('upper="1"', 'upper="2"'))),
]


@pytest.mark.parametrize(("text", "old", "new"), EDITS, ids=lambda value: str(value)[-16:])
def test_the_line_that_was_edited_is_named(text: str, old: str, new: str, tmp_path: Path) -> None:
    """For every edited parameter, the reported line is the edited one."""
    ending = ".yaml" if text == YAML else ".urdf"
    before, after = tmp_path / f"before{ending}", tmp_path / f"after{ending}"
    assert text.count(old) == 1
    before.write_text(text)
    after.write_text(text.replace(old, new))
    location = changed_location(
        str(after), model_changes(model_dict(str(before)), model_dict(str(after)))
    )
    assert location is not None
    assert location.line == text[: text.index(old)].count("\n") + 1
