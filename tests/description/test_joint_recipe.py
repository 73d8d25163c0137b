"""The recipe for a joint type in docs/dev/extending.md: one entry in the table of joint types."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.description.model import JOINT_TYPES, JointPart, JointType
from tests.cli.command import robolin as command_line
from tests.cli.command import run_ok

# the entry in robolin/description/model.py: translation along `axis`, then rotation about `axis2`
PIN_SLOT = JointType(
    axes=("axis", "axis2"),
    parts=(JointPart("slide", rotary=False), JointPart("turn", rotary=True, axis="axis2")),
)
LINKS = """
links:
  - {name: base}
  - {name: body, mass: 2, com: [0.3, 0, 0.1], inertia: {ixx: 0.1, iyy: 0.2, izz: 0.15}}
"""
NEW = f"""
robolin: 1
name: slotted
joints:
  - {{name: pin, type: pin_slot, parent: base, child: body, axis: [1, 0, 0], axis2: [0, 1, 0],
     damping: 0.5}}
{LINKS}"""
SERIAL = f"""
robolin: 1
name: slotted
joints:
  - {{name: slide, type: prismatic, parent: base, child: slot, axis: [1, 0, 0], damping: 0.5}}
  - {{name: turn, type: continuous, parent: slot, child: body, axis: [0, 1, 0], damping: 0.5}}
{LINKS}  - {{name: slot}}
"""
URDF = """
<robot name="slotted">
  <link name="base"/>
  <link name="body">
    <inertial>
      <origin xyz="0.3 0 0.1"/>
      <mass value="2"/>
      <inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.15"/>
    </inertial>
  </link>
  <joint name="pin" type="pin_slot">
    <parent link="base"/>
    <child link="body"/>
    <axis xyz="1 0 0"/>
    <axis2 xyz="0 1 0"/>
    <limit lower="-1" upper="1" velocity="1" effort="10"/>
    <dynamics damping="0.5"/>
  </joint>
</robot>
"""
STATE = ("--q", "0.2,0.7", "--qd", "0.3,-1.1", "--qdd", "1,2")


@pytest.fixture(autouse=True)
def _pin_slot(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(JOINT_TYPES, "pin_slot", PIN_SLOT)  # type: ignore[arg-type]
    monkeypatch.chdir(tmp_path)
    for name, text in {"new.yaml": NEW, "serial.yaml": SERIAL, "new.urdf": URDF}.items():
        Path(name).write_text(text.strip() + "\n", "utf-8")


@pytest.mark.parametrize("file", ["new.yaml", "new.urdf"])
def test_a_new_joint_type_moves_as_its_two_joints(file: str) -> None:
    """Torques and linear models are those of a prismatic and a revolute joint in series."""
    assert robolin.load(file).joint_names == ("pin:slide", "pin:turn")
    for command in (("inverse", *STATE), ("linearize-forward", *STATE[:4])):
        verb, *state = command
        new, serial = (run_ok(verb, name, *state).numbers for name in (file, "serial.yaml"))
        np.testing.assert_array_equal(new, serial)


def test_all_commands_and_files_support_a_new_joint_type() -> None:
    """Simulation, stored results and generated columns name both coordinates."""
    run_ok("simulate", "new.yaml", "--q", "pin:turn=0.5", "--duration", "0.01", "-o", "m.csv")
    assert Path("m.csv").read_text("utf-8").startswith("time,pin:slide/position,pin:turn/position")
    run_ok("inverse", "new.yaml", "--trajectory", "m.csv", "-o", "tau.npz")
    run_ok("check", "tau.npz")
    assert "pin:slide" in run_ok("inspect", "new.yaml").out


def test_checks_follow_from_the_entry() -> None:
    """Limits of a joint with two units are ignored, and mimic joints follow one coordinate."""
    assert "limit of a pin_slot joint" in run_ok("inspect", "new.urdf").out
    follower = "  - {name: tail, type: revolute, parent: body, child: end, axis: [0, 1, 0], mimic: "
    text = NEW.strip().replace("links:\n", follower + "{joint: pin}}\nlinks:\n  - {name: end}\n")
    Path("new.yaml").write_text(text, "utf-8")
    ran = command_line("inspect", "new.yaml")
    assert ran.code == 3
    assert "mimic one of 'pin:slide', 'pin:turn'" in ran.err
    Path("new.yaml").write_text(text.replace("{joint: pin}", "{joint: 'pin:turn'}"), "utf-8")
    assert robolin.load("new.yaml").n == 2


def test_the_schema_and_messages_list_a_new_joint_type() -> None:
    """Editors accept the type, and a misspelt type has it as a hint."""
    assert '"pin_slot"' in run_ok("models", "--schema").out
    Path("new.yaml").write_text(NEW.strip().replace("pin_slot", "pinslot"), "utf-8")
    assert "did you mean 'pin_slot'?" in command_line("inspect", "new.yaml").err
