"""`robolin diagonalize --curvature`: whether and where the metric is curved."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.analysis.identification import random_configurations
from tests.cli.command import robolin, run_ok

CART_POLE = """\
robolin: 1
name: cart-pole
joints:
  - {name: cart, type: prismatic, parent: rail, child: wagon, axis: [1, 0, 0]}
  - {name: pole, type: continuous, parent: wagon, child: rod, axis: [0, 1, 0]}
links:
  - {name: wagon, mass: 2}
  - {name: rod, mass: 1, com: [0, 0, 0.5], inertia: {ixx: 0.1, iyy: 0.1, izz: 0}}
"""


def test_golden_arm() -> None:
    """One configuration: its curvature and its one independent symbol, as the library has them."""
    ran = run_ok("diagonalize", "two-link", "--curvature", "--symbols", "--q", "0.3,-0.7")
    curvature = library.curvature(library.load("two-link"), [0.3, -0.7])

    symbol = "riemann/shoulder/elbow/shoulder/elbow"
    assert ran.rows[0] == ["shoulder/position", "elbow/position", "curvature", symbol]
    assert ran.numbers == [
        [0.3, -0.7, float(curvature.relative), float(curvature.symbols[0, 1, 0, 1])]
    ]
    assert round(ran.numbers[0][-1], 5) == 0.24936


def test_the_contract_names_the_largest_symbol() -> None:
    """The contract has the verdict, the largest symbol with its joints and row, and the count."""
    command = ("diagonalize", "ur5", "--curvature", "--samples", "6", "--seed", "2")
    answer = json.loads(run_ok(*command, "--format", "json").out)
    arm = library.load("ur5")
    curvature = library.curvature(arm, random_configurations(arm, 6, 2))

    contract = answer["meta"]["contract"]
    assert contract["verdict"].startswith("not flat")
    assert contract["independent symbols"] == 105
    assert f"R({', '.join(curvature.largest)}) = " in contract["largest symbol"]
    assert contract["largest symbol"].endswith(f"in row {curvature.at[0] + 1}")
    np.testing.assert_array_equal(answer["results"]["curvature"], curvature.relative)
    assert run_ok(*command).out == run_ok(*command).out


def test_a_flat_arm_is_a_valid_result(tmp_path: Path) -> None:
    """A cart with a pole is flat; the exit code is 0, as for any other result."""
    path = tmp_path / "cart-pole.yaml"
    path.write_text(CART_POLE)
    table = run_ok("diagonalize", path, "--curvature", "--samples", "9", "--format", "table").out

    assert "flat in all 9 configurations tested" in table
    assert "not flat" not in table
    ran = run_ok("diagonalize", path, "--curvature")
    assert "flat in the one configuration tested" in ran.err


def test_numbers_come_with_the_verdict() -> None:
    """For CSV the verdict is a note on stderr; a table contains it."""
    note = "not flat: no coordinates make the mass matrix constant"
    assert note in run_ok("diagonalize", "two-link", "--curvature").err
    assert not run_ok("diagonalize", "two-link", "--curvature", "--format", "table").err


def test_one_joint_is_flat() -> None:
    """A single joint has no curvature; one configuration is enough to show it."""
    ran = run_ok("diagonalize", "two-link", "--lock", "elbow=0", "--curvature")
    assert "note: flat: one joint has no curvature" in ran.err


@pytest.mark.parametrize("extension", ["csv", "json", "npz", "parquet"])
def test_files(tmp_path: Path, extension: str) -> None:
    """Every file format can hold the result."""
    path = tmp_path / f"curvature.{extension}"
    run_ok("diagonalize", "two-link", "--curvature", "--symbols", "--samples", "3", "-o", path)

    assert path.stat().st_size > 0
    if extension == "npz":
        with np.load(path) as stored:
            assert stored["riemann"].shape == (3, 1)
            assert stored["curvature"].shape == (3,)


def test_rows_of_a_file(tmp_path: Path) -> None:
    """Configurations may come from a trajectory, whose time goes along."""
    path = tmp_path / "poses.csv"
    path.write_text("time,q1,q2\n0,0.3,-0.7\n1,0.3,1.5\n")
    ran = run_ok("diagonalize", "two-link", "--curvature", "--trajectory", path)

    expected = library.curvature(library.load("two-link"), [[0.3, -0.7], [0.3, 1.5]]).relative
    assert [row[0] for row in ran.numbers] == [0.0, 1.0]
    np.testing.assert_array_equal([row[-1] for row in ran.numbers], expected)


WRONG = [
    (["--symbols"], "--symbols: has no effect without --curvature"),
    (["--curvature", "--qd", "1,1"], "has no effect on this command"),
    (["--curvature", "--unnormalized"], "cannot be used with --unnormalized"),
]


@pytest.mark.parametrize("flags, message", WRONG, ids=[" ".join(flags) for flags, _ in WRONG])
def test_flags_without_effect_are_rejected(flags: list[str], message: str) -> None:
    ran = robolin("diagonalize", "two-link", *flags)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err
