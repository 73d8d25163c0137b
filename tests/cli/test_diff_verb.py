"""robolin diff: differences between two models."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import numpy as np
import pytest

import robolin as robolin_library
from robolin.description.robot_source import bundled_path
from tests.cli.command import robolin, run_ok


@pytest.fixture
def heavier(tmp_path: Path) -> Path:
    """The Panda with one mass and one limit changed and a link renamed."""
    source = bundled_path("panda")
    assert source is not None
    text = source.read_text()
    for old, new in (("3.228604", "3.3"), ('upper="1.7628"', 'upper="1.8"')):
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "panda.urdf"
    path.write_text(text.replace("panda_link5", "forearm"))
    return path


def test_nothing_differs() -> None:
    """An arm does not differ from itself: exit code 0."""
    assert run_ok("diff", "panda", "panda").out == "no differences\n"


def test_differences_are_a_table(heavier: Path) -> None:
    """Every difference is one row: part, name, quantity, both values, unit and share."""
    ran = robolin("diff", "panda", str(heavier))
    assert (ran.code, ran.err) == (1, "")
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["link", "panda_link3", "mass", "3.2286", "3.3", "kg", "+2.2", "%"] in rows
    assert ["link", "panda_link5", "renamed", "panda_link5", "forearm"] in rows
    assert ["joint", "panda_joint2", "upper", "limit", "1.7628", "1.8", "rad", "+2.1", "%"] in rows
    # the copy has no SRDF file
    assert ["pose", "home", "removed"] in rows
    assert ran.out.endswith("4 differences\n")


def test_json_and_csv_have_all_digits(heavier: Path) -> None:
    """Machines get the numbers themselves."""
    ran = robolin("diff", "panda", str(heavier), "--format", "json")
    changes = json.loads(ran.out)["changes"]
    mass = next(change for change in changes if change["quantity"] == "mass")
    assert (mass["old"], mass["new"], mass["unit"]) == (3.228604, 3.3, "kg")
    rows = list(
        csv.DictReader(io.StringIO(robolin("diff", "panda", heavier, "--format", "csv").out))
    )
    assert [row["name"] for row in rows] == [change["name"] for change in changes]
    assert float(rows[0]["new"]) == 3.3


POSED = """
robolin: 1
name: arm
joints:
  - {name: NAME, type: continuous, parent: base, child: a, axis: [0, 0, 1]}
  - {name: slide, type: prismatic, parent: a, child: b, axis: [0, 0, 1]}
links:
  - {name: a, mass: 1, com: [0.5, 0, 0], inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}}
  - {name: b, mass: 1, inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1}}
poses:
"""


def test_poses_are_compared(tmp_path: Path) -> None:
    """Poses are added and removed, and positions change, also of a renamed joint."""
    old, new = tmp_path / "old.yaml", tmp_path / "new.yaml"
    home = "  home: {NAME: 0.5, slide: 0.1}\n"
    old.write_text((POSED + home + "  rest: {slide: 0.2}\n").replace("NAME", "elbow"))
    new.write_text((POSED + home.replace("0.1", "0.3") + "  up: {}\n").replace("NAME", "bend"))

    rows = [line.split() for line in robolin("diff", old, new).out.splitlines()]

    assert [row for row in rows if row[:1] == ["pose"]] == [
        ["pose", "home", "slide", "0.1", "0.3", "m", "+200", "%"],
        ["pose", "rest", "removed"],
        ["pose", "up", "added"],
    ]


def test_another_arm_differs_in_everything() -> None:
    """Parts of two unrelated arms are added and removed."""
    ran = robolin("diff", "ur5", "two-link")
    assert ran.code == 1
    assert "removed" in ran.out
    assert "added" in ran.out


def test_a_broken_file_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "arm.urdf").write_text("<robot>")
    assert robolin("diff", "panda", tmp_path / "arm.urdf").code == 3
    assert robolin("diff", "panda", tmp_path / "none.urdf").code == 4


def _motion(path: Path, rows: int = 5) -> Path:
    """A motion of the Panda with positions, velocities and accelerations."""
    joints = [f"panda_joint{i}" for i in range(1, 8)]
    words = ("position", "velocity", "acceleration")
    lines = [",".join(f"{joint}/{word}" for word in words for joint in joints)]
    values = np.random.default_rng(3).uniform(-1, 1, (rows, 21))
    lines += [",".join(map(repr, row)) for row in values.tolist()]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_torques_are_compared_joint_by_joint(heavier: Path, tmp_path: Path) -> None:
    """--torques lists, for every joint, the row with the largest change and its size."""
    motion = _motion(tmp_path / "motion.csv")
    ran = robolin("diff", "panda", heavier, "--torques", motion, "--format", "json")
    changes = json.loads(ran.out)["torques"]

    data = np.loadtxt(motion, delimiter=",", skiprows=1).reshape(-1, 3, 7).swapaxes(0, 1)
    before = robolin_library.inverse(robolin_library.load("panda"), *data)
    after = robolin_library.inverse(robolin_library.load(heavier), *data)
    worst = np.abs(after - before).argmax(axis=0)
    assert [each["row"] - 1 for each in changes] == worst.tolist()
    assert [each["old"] for each in changes] == before[worst, range(7)].tolist()
    assert [each["new"] for each in changes] == after[worst, range(7)].tolist()
    assert ran.code == 1


def test_equal_models_give_equal_torques(tmp_path: Path) -> None:
    """The comparison of an arm with itself lists nothing."""
    motion = _motion(tmp_path / "motion.csv")
    ran = run_ok("diff", "panda", "panda", "--torques", motion)
    assert "the torques are equal" in ran.out


def test_torques_need_the_same_joints(tmp_path: Path) -> None:
    """Arms whose joints differ have no torques to compare, and the joint is named."""
    motion = _motion(tmp_path / "motion.csv")
    ran = robolin("diff", "panda", "two-link", "--torques", motion)
    assert ran.code == 3
    assert "is only in" in ran.err


def test_markdown_is_a_table_that_names_cannot_break(heavier: Path, tmp_path: Path) -> None:
    """Every row has as many cells as the header, for any names."""
    text = heavier.read_text().replace("forearm", "fore|arm&lt;b&gt;`x`")
    heavier.write_text(text)
    path = tmp_path / "changes.md"
    assert robolin("diff", "panda", heavier, "-o", path).code == 1
    rows = [line for line in path.read_text().splitlines() if line.startswith("|")]
    cells = {len(re.findall(r"(?<!\\)\|", row)) for row in rows}
    assert len(rows) > 3
    assert cells == {8}
    assert "fore\\|arm\\<b\\>\\`x\\`" in path.read_text()


def test_csv_cannot_hold_torques(tmp_path: Path) -> None:
    """Output that a format cannot hold is rejected, not dropped."""
    motion = _motion(tmp_path / "motion.csv")
    ran = robolin("diff", "panda", "panda", "--torques", motion, "--format", "csv")
    assert ran.code == 2


def test_torques_that_differ_by_rounding_are_counted(tmp_path: Path) -> None:
    """With a heavier upper arm that swings up, only the torque of its own joint changes."""
    source = bundled_path("ur5")
    assert source is not None
    heavier, motion = tmp_path / "ur5.urdf", tmp_path / "motion.csv"
    heavier.write_text(source.read_text().replace('"8.393"', '"8.4"'))
    joints = robolin_library.load("ur5").joint_names
    words = ("position", "velocity", "acceleration")
    names = [f"{joint}/{word}" for word in words for joint in joints]
    row = ["1" if name == "shoulder_lift_joint/acceleration" else "0" for name in names]
    motion.write_text(f"{','.join(names)}\n{','.join(row)}\n")
    ran = robolin("diff", "ur5", heavier, "--torques", motion)
    table = ran.out.partition("Largest torque change of each joint along the trajectory")[2]
    assert "shoulder_lift_joint" in table
    assert "1 joint differs by round-off only" in table
    assert "shoulder_pan" not in table
