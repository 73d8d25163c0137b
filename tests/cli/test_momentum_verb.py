"""`robolin momentum`: the centre of mass, momentum and their Jacobians."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import robolin as library
from tests.cli.command import robolin, run_ok

STATE = ["--q", "0.3,-0.7", "--qd", "0.5,-1.2"]


def test_columns_are_the_librarys() -> None:
    """Every array of the library, in its order, with a column for each number."""
    expected = vars(library.momentum(library.load("two-link"), [0.3, -0.7], [0.5, -1.2]))
    ran = run_ok("momentum", "two-link", *STATE)

    assert ran.rows[0][:4] == ["mass", "com/x", "com/y", "com/z"]
    np.testing.assert_array_equal(
        ran.numbers[0], np.concatenate([np.ravel(x) for x in expected.values()])
    )


def test_units() -> None:
    """Angular momentum comes first, in N·m·s, then linear momentum in N·s."""
    command = ("momentum", "two-link", *STATE, "--format", "json")
    units = json.loads(run_ok(*command).out)["units"]

    assert units["momentum"] == "N·m·s or N·s"
    assert (units["mass"], units["com"], units["com_jacobian"]) == ("kg", "m", "m/rad")


def test_loops_make_no_difference() -> None:
    """A closed linkage has the momentum of its tree: every joint is moved by itself."""
    assert (
        run_ok("momentum", "four-bar").numbers
        == run_ok("momentum", "four-bar", "--open-loops").numbers
    )


def test_rows_of_a_file(tmp_path: Path) -> None:
    """Every row of a trajectory has a result, and `check` reproduces it."""
    path, target = tmp_path / "motion.csv", tmp_path / "momentum.npz"
    table = np.random.default_rng(0).normal(size=(20, 4))
    np.savetxt(path, table, delimiter=",", header="q1,q2,qd1,qd2", comments="", fmt="%.17g")
    run_ok("momentum", "two-link", "--trajectory", path, "--chunk-rows", "7", "-o", target)

    expected = library.momentum(library.load("two-link"), table[:, :2], table[:, 2:])
    with np.load(target) as stored:
        np.testing.assert_array_equal(stored["momentum"], expected.momentum)
    assert robolin("check", target).code == 0
