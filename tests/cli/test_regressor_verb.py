"""`robolin regressor`: the matrix, its parameters, and their identifiability."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.analysis.identification import random_motions
from tests.cli.command import robolin, run_ok

MOTION = ["--q", "0.3,-0.7", "--qd", "0.5,-1.2", "--qdd", "0.8,0.4"]


def test_matrix_is_the_librarys() -> None:
    """One column for every joint and parameter, named after both."""
    regressor = library.regressor(library.load("two-link"), [0.3, -0.7], [0.5, -1.2], [0.8, 0.4])
    ran = run_ok("regressor", "two-link", *MOTION)

    names = [f"regressor/{j}/{p}" for j in ("shoulder", "elbow") for p in regressor.names]
    assert ran.rows[0] == names
    np.testing.assert_array_equal(ran.numbers, [regressor.matrix.ravel()])


def test_regressor_times_parameters_is_the_torque() -> None:
    """Matrix times parameters equals the torques of `inverse`, to rounding."""
    matrix = np.reshape(run_ok("regressor", "two-link", *MOTION).numbers, (2, -1))
    parameters = run_ok("regressor", "two-link", "--parameters")
    tau = run_ok("inverse", "two-link", *MOTION).numbers[0]

    assert parameters.rows[0][0] == "parameters/upper/mass"
    np.testing.assert_allclose(matrix @ parameters.numbers[0], tau, rtol=1e-14)


def test_rows_of_a_file(tmp_path: Path) -> None:
    """A trajectory is processed row by row, streamed as for any other verb."""
    path, target = tmp_path / "motion.csv", tmp_path / "regressor.npz"
    rng = np.random.default_rng(0)
    table = rng.normal(size=(20, 6))
    header = "q1,q2,qd1,qd2,qdd1,qdd2"
    np.savetxt(path, table, delimiter=",", header=header, comments="", fmt="%.17g")
    run_ok("regressor", "two-link", "--trajectory", path, "--chunk-rows", "7", "-o", target)

    q, qd, qdd = table[:, :2], table[:, 2:4], table[:, 4:]
    expected = library.regressor(library.load("two-link"), q, qd, qdd).matrix
    with np.load(target) as stored:
        np.testing.assert_array_equal(stored["regressor"], expected)


@pytest.mark.slow
def test_rank() -> None:
    """The result has the number of identifiable parameters, and the fraction of each."""
    command = ("regressor", "panda", "--rank", "--samples", "40", "--format", "json")
    answer = json.loads(run_ok(*command).out)
    arm = library.load("panda")
    identifiable = library.identifiable(arm, *random_motions(arm, 40))

    line = f"{identifiable.rank} combinations of 84 parameters"
    assert answer["meta"]["contract"]["identifiable"] == line
    assert answer["results"]["rank"] == identifiable.rank
    np.testing.assert_array_equal(answer["results"]["share"], identifiable.share)


def test_friction_has_columns_when_it_acts() -> None:
    """--friction-velocity adds a column per joint."""
    more = run_ok("regressor", "panda", "--friction-velocity", "0.1").rows[0]
    less = run_ok("regressor", "panda").rows[0]

    assert set(more) > set(less)
    assert len(more) - len(less) == 7 * 7
    assert "regressor/panda_joint1/panda_joint1/friction" in more


def test_wrenches_are_not_part_of_the_regressor() -> None:
    """Wrenches are not parameters: their torques are omitted, and a note states it."""
    ran = run_ok("regressor", "two-link", "--wrench", "tip=0,1,0,0,0,0")

    assert "the regressor does not include the torques of external wrenches" in ran.err


WRONG = [
    (["--rank", "--parameters"], "cannot be used with --parameters"),
    (["--tau", "0,0"], "no such option"),
]


@pytest.mark.parametrize("flags, message", WRONG, ids=[" ".join(flags) for flags, _ in WRONG])
def test_contradictory_flags_are_rejected(flags: list[str], message: str) -> None:
    """Contradictory flags and flags without an effect are wrong usage."""
    ran = robolin("regressor", "two-link", *flags)

    assert (ran.code, ran.out) == (2, "")
    assert message in ran.err


SPRINGS = """\
robolin: 1
name: sprung
joints:
  - {name: a, type: continuous, parent: base, child: u, axis: [0, 1, 0], stiffness: 2, rest: 0.3}
  - name: b
    type: continuous
    parent: u
    child: l
    axis: [0, 1, 0]
    friction: {positive: 0.5, negative: 0.9}
    stiffness: 5
links:
  - {name: u, mass: 1, com: [0, 0, 0.1]}
  - {name: l, mass: 2, com: [0.1, 0, 0.2]}
"""


def test_springs_have_columns_in_one_state_and_in_rows_of_a_file(tmp_path: Path) -> None:
    """Together with the other columns, those of springs give the torque."""
    arm, path = tmp_path / "sprung.yaml", tmp_path / "motion.csv"
    arm.write_text(SPRINGS)
    path.write_text("q1,q2,qd1,qd2,qdd1,qdd2\n0.3,-0.7,0.5,-1.2,0.8,0.4\n")
    model = ("--friction-velocity", "0.1")
    theta = run_ok("regressor", arm, "--parameters", *model).numbers[0]
    tau = run_ok("inverse", arm, *MOTION, *model).numbers[0]

    for states in (MOTION, ["--trajectory", path]):
        matrix = np.reshape(run_ok("regressor", arm, *states, *model).numbers, (2, -1))
        np.testing.assert_allclose(matrix @ theta, tau, rtol=1e-13)
