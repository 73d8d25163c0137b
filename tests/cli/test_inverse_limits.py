"""robolin inverse --limits: the margins of a motion to its limits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin

ARM = """\
robolin: 1
name: pair
gravity: [0, 0, 0]
joints:
  - {name: shoulder, type: revolute, parent: base, child: upper, axis: [0, 0, 1],
     limits: {lower: -1, upper: 1, velocity: 2, effort: 3}}
  - {name: slide, type: prismatic, parent: upper, child: hand, axis: [1, 0, 0]}
links:
  - {name: upper, mass: 1, com: [0.5, 0, 0], inertia: {ixx: 0, iyy: 0.1, izz: 0.1}}
  - {name: hand, mass: 2, com: [1, 0, 0], inertia: {ixx: 0, iyy: 0.2, izz: 0.2}}
"""


@pytest.fixture
def arm(tmp_path: Path) -> Path:
    path = tmp_path / "pair.yaml"
    path.write_text(ARM)
    return path


@pytest.fixture
def motion(tmp_path: Path) -> Path:
    """Three rows; the second is too fast, the third needs too much torque."""
    path = tmp_path / "motion.csv"
    path.write_text(
        "time,shoulder/position,shoulder/velocity,shoulder/acceleration,"
        "slide/position,slide/velocity,slide/acceleration\n"
        "0.0,0.5,0,0,0,0,0\n0.1,0,2.5,0,0,0,0\n0.2,0,0,4,0,0,0\n"
    )
    return path


def test_one_state(arm: Path) -> None:
    """Margins of a state are shown, joints without limits are named, and all is well."""
    ran = robolin("inverse", arm, "--q", "0.75,0", "--limits", "--format", "table")
    assert ran.code == 0
    assert ran.out.splitlines()[4].split() == [
        "shoulder", "position", "0.75", "1", "0.25", "75.0", "rad",
    ]  # fmt: skip
    assert "joints without position, velocity and effort limits: slide" in ran.out
    assert ran.out.startswith(
        "within all limits; smallest margin: shoulder position, 75.0 % used\n"
    )


def test_a_trajectory_that_exceeds_its_limits(arm: Path, motion: Path) -> None:
    """Exit code 1, and the worst row of each joint with its time, counted from 1."""
    ran = robolin("inverse", arm, "--trajectory", motion, "--limits", "--format", "json")
    report = json.loads(ran.out)
    velocity, effort = report["margins"][1:]

    assert ran.code == 1
    assert (report["rows"], report["exceeded"]) == (3, 2)
    assert (velocity["row"], velocity["time"], velocity["value"]) == (2, 0.1, 2.5)
    assert (velocity["margin"], velocity["used_percent"]) == (-0.5, 125.0)
    # izz 0.1 + 0.2, 1 kg at 0.5 m and 2 kg at 1 m, at 4 rad/s²
    assert effort["value"] == pytest.approx(4 * (0.3 + 0.25 + 2.0), rel=1e-14)
    assert (effort["row"], effort["exceeded"]) == (3, True)
    assert report["unlimited"] == {"slide": ["position", "velocity", "effort"]}


def test_csv_into_a_pipe(arm: Path, motion: Path) -> None:
    """Without a format a pipe gets CSV, and stderr lists quantities without a limit."""
    ran = robolin("inverse", arm, "--trajectory", motion, "--limits")
    assert ran.code == 1
    assert ran.rows[0][:4] == ["joint", "quantity", "row", "time"]
    assert ran.rows[0][-2:] == ["unit", "exceeded"]
    assert [row[1] for row in ran.rows[1:]] == ["position", "velocity", "effort"]
    assert [row[-1] for row in ran.rows[1:]] == ["false", "true", "true"]
    assert "note: joints without position, velocity and effort limits: slide" in ran.err


def test_torques_do_not_depend_on_limits(arm: Path, motion: Path, tmp_path: Path) -> None:
    """With -o the file is the same as without --limits, for any format of the margins."""
    with_limits, without = tmp_path / "with.npz", tmp_path / "without.npz"
    ran = robolin(
        "inverse", arm, "--trajectory", motion, "--limits", "-o", with_limits, "--format", "json"
    )
    assert robolin("inverse", arm, "--trajectory", motion, "-o", without).code == 0
    assert ran.code == 1
    assert json.loads(ran.out)["exceeded"] == 2
    assert with_limits.read_bytes() == without.read_bytes()


def test_chunks_change_nothing(arm: Path, tmp_path: Path) -> None:
    """Margins of a long trajectory do not depend on the chunk size."""
    rng = np.random.default_rng(0)
    table = rng.normal(size=(500, 6))
    joints, words = ("shoulder", "slide"), ("position", "velocity", "acceleration")
    names = [f"{joint}/{word}" for word in words for joint in joints]
    path = tmp_path / "long.csv"
    np.savetxt(path, table, delimiter=",", header=",".join(names), comments="", fmt="%.17g")
    command = ("inverse", arm, "--trajectory", path, "--limits")
    full, pieces = robolin(*command), robolin(*command, "--chunk-rows", "7", "--jobs", "2")

    pair = library.load(arm)
    q, qd, qdd = table[:, :2], table[:, 2:4], table[:, 4:]
    margins = library.limits(pair, q, qd, library.inverse(pair, q, qd, qdd)).margins
    assert full.out == pieces.out
    assert [int(row[2]) - 1 for row in full.rows[1:]] == [margin.row for margin in margins]
    assert [float(row[6]) for row in full.rows[1:]] == [margin.margin for margin in margins]


def test_bad_rows_have_no_margin(arm: Path, tmp_path: Path) -> None:
    """A row without finite numbers has no margin; --on-bad-row nan continues after it."""
    path = tmp_path / "gap.csv"
    path.write_text("shoulder/position,slide/position\n0.1,0\nnan,0\n0.4,0\n")
    command = ("inverse", arm, "--trajectory", path, "--limits", "--format", "json")
    assert robolin(*command).code == 3
    ran = robolin(*command, "--on-bad-row", "nan")
    assert ran.code == 0
    assert json.loads(ran.out)["margins"][0]["row"] == 3


def test_an_arm_without_limits(tmp_path: Path) -> None:
    """An arm without limits is reported as such."""
    path = tmp_path / "free.yaml"
    limits = ",\n     limits: {lower: -1, upper: 1, velocity: 2, effort: 3}"
    path.write_text(ARM.replace(limits, ""))
    ran = robolin("inverse", path, "--limits", "--format", "table")
    assert ran.code == 0
    assert ran.out.startswith("no joint has limits\n")
