"""`robolin sensitivity`: from the file of a motion to its perturbations."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.analysis.motions import Motion, swing
from tests.cli.command import robolin, run_ok

JOINTS = ("shoulder", "elbow")
WORDS = {"q": "position", "qd": "velocity", "tau": "effort"}


@pytest.fixture(scope="module")
def motion() -> Motion:
    return swing(library.load("two-link"), seed=1, duration=0.05).motion()


def written(path: Path, motion: Motion, *names: str) -> Path:
    """The motion as a CSV file with these columns."""
    header = ["time", *(f"{joint}/{WORDS[name]}" for name in names for joint in JOINTS)]
    table = np.column_stack([motion.time, *(getattr(motion, name) for name in names)])
    np.savetxt(path, table, delimiter=",", header=",".join(header), comments="", fmt="%.17g")
    return path


@pytest.fixture
def file(tmp_path: Path, motion: Motion) -> Path:
    return written(tmp_path / "motion.csv", motion, "q", "qd", "tau")


@pytest.mark.slow
def test_perturbations_are_those_of_the_library(file: Path, motion: Motion, tmp_path: Path) -> None:
    """Every kind of perturbation adds to one result: dq and dqd row by row, with the times."""
    push = Motion(motion.time[::10], motion.q[::10], motion.qd[::10], motion.tau[::10] * 0.1)
    torques = written(tmp_path / "push.csv", push, "tau")
    ran = run_ok(
        *("sensitivity", "two-link", "--trajectory", file),
        *("--perturb", "dq=elbow=1deg", "--perturb", "dqd=0.1,0", "--perturb", "dtau=0.5,0"),
        *("--perturb-torque", torques),
        *("--parameter", "lower/mass=0.1,elbow/damping=0.2", "--parameter", "upper/com_x=0.01"),
        *("--payload-change", "tip:0.05@0.1,0,0"),
    )
    history = [np.interp(motion.time, push.time, column) for column in push.tau.T]
    expected = library.sensitivity(
        library.load("two-link"),
        motion.time,
        motion.q,
        motion.qd,
        motion.tau,
        dq=[0.0, np.radians(1.0)],
        dqd=[0.1, 0.0],
        dtau=np.stack(history, axis=1) + np.array([0.5, 0.0]),
        parameters={"lower/mass": 0.1, "elbow/damping": 0.2, "upper/com_x": 0.01},
        payload=[("tip", 0.05, (0.1, 0.0, 0.0))],
    )

    changes = ["time", "dq/shoulder", "dq/elbow", "dqd/shoulder", "dqd/elbow"]
    assert ran.rows[0][:5] == changes
    assert ran.rows[0][5:7] == ["shoulder/position", "elbow/position"], (
        "s, but the trajectory covers"
    )
    own = [motion.time, expected.dq, expected.dqd, motion.q, motion.qd]
    np.testing.assert_allclose(np.array(ran.numbers)[:, :9], np.column_stack(own), rtol=1e-12)


def test_matrices(file: Path, motion: Motion, tmp_path: Path) -> None:
    """All sensitivities in one file, with the names of states and parameters in JSON and CSV."""
    target = tmp_path / "all.npz"
    command = ("sensitivity", "two-link", "--trajectory", file, "--matrices")
    run_ok(*command, "-o", target)
    header = run_ok(*command).rows[0]

    expected = library.sensitivity_matrices(
        library.load("two-link"), motion.time, motion.q, motion.qd, motion.tau
    )
    with np.load(target) as stored:
        np.testing.assert_array_equal(stored["dx_dx0"], expected.transition)
        np.testing.assert_array_equal(stored["dx_dtau"], expected.torque)
        np.testing.assert_array_equal(stored["dx_dparameters"], expected.parameter)
    assert "dx_dx0/elbow/velocity/shoulder/position" in header
    assert "dx_dparameters/elbow/position/lower/com_x" in header


def test_the_contract_names_motion_change_and_method(file: Path) -> None:
    """The contract names the motion, the perturbation and the method."""
    command = ("sensitivity", "two-link", "--trajectory", file, "--parameter", "lower/mass=0.1")
    meta = json.loads(run_ok(*command, "--format", "json").out)["meta"]

    assert meta["contract"]["motion"] == (
        "51 rows of motion.csv, efforts given, torques continuous"
    )
    assert meta["contract"]["changed"] == "parameters"
    assert set(meta["inputs"]) == {"two-link", "motion.csv"}


def test_a_simulated_file_is_read_back(tmp_path: Path) -> None:
    """`sensitivity` reads the output of `simulate`."""
    path = tmp_path / "fall.csv"
    run_ok("simulate", "two-link", "--q", "0.3,-0.7", "--duration", "0.05", "-o", path)
    ran = run_ok("sensitivity", "two-link", "--trajectory", path, "--perturb", "dq=0.1,0")

    assert ran.numbers[0][:3] == [0.0, 0.1, 0.0]
    assert len(ran.numbers) > 10


def test_gradient_of_a_cost(file: Path, motion: Motion, tmp_path: Path) -> None:
    """Slopes of a file give the library's gradient, and a file without any is rejected."""
    rows = (motion.time, motion.q, motion.qd, motion.tau)
    true = library.cost_gradient(library.load("two-link"), *rows, dcost_dqd=motion.qd)
    slopes, out = written(tmp_path / "slopes.csv", motion, "qd"), tmp_path / "gradient.npz"
    command = ("sensitivity", "two-link", "--trajectory", file, "--cost-gradient")
    assert robolin(*command, slopes, "-o", out).code == 0

    with np.load(out) as arrays:
        named = {"dcost_dq": "q", "dcost_dqd": "qd", "dcost_dtau": "tau"}
        for name, field in {**named, "dcost_dparameters": "parameter"}.items():
            np.testing.assert_array_equal(arrays[name], getattr(true, field))
    ran = robolin(*command, written(tmp_path / "none.csv", motion, "tau"))
    assert (ran.code, "none.csv: the cost gradient is missing" in ran.err) == (3, True)


def test_geometric_parameters(file: Path, tmp_path: Path) -> None:
    """Origins and rotations are perturbed like masses, and rotations may be in degrees."""
    command = ("sensitivity", "two-link", "--trajectory", file, "--parameter")
    turned, same = (
        robolin(*command, f"elbow/turn_z={angle}", "--format", "csv") for angle in ("90deg", "pi/2")
    )
    assert (turned.code, turned.out) == (0, same.out)
    assert robolin(*command, "elbow/origin_x=0.01").out != turned.out


WRONG = [
    ([], 2, "robolin sensitivity: requires --perturb or --perturb-torque"),
    (["--perturb", "dqdd=1,1"], 2, "--perturb=dqdd=1,1: must be one of dq, dqd, dtau, got 'dqdd'"),
    (
        ["--parameter", "lower/mass"],
        2,
        "--parameter=lower/mass: 'lower/mass' must have the form NAME=CHANGE",
    ),
    (["--parameter", "lower/mass=1deg"], 2, "is not an angle"),
    (
        ["--parameter", "lower/mass=1,lower/mass=2"],
        2,
        "--parameter=lower/mass=1,lower/mass=2: 'lower/mass' is given twice",
    ),
    (["--parameter", "forearm/mass=1"], 2, "forearm/mass: parameter not found"),
    (["--payload-change", "tip"], 2, "--payload-change=tip: must have the form LINK:MASS[@X,Y,Z]"),
    (["--parameter", "elbow/orign_x=1"], 2, "did you mean 'elbow/origin_x'?"),
    (["--parameter", "elbow/origin_x=1deg"], 2, "is not an angle"),
]


@pytest.mark.parametrize("flags, code, message", WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_invalid_perturbations(file: Path, flags: list[str], code: int, message: str) -> None:
    """Invalid perturbations are reported before anything is computed."""
    ran = robolin("sensitivity", "two-link", "--trajectory", file, *flags)

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


def test_a_motion_must_be_complete(tmp_path: Path, motion: Motion) -> None:
    """Time, velocities, and efforts or accelerations are required; errors name the missing ones."""
    change = ("--parameter", "lower/mass=0.1")

    def error_for(*names: str) -> str:
        path = written(tmp_path / "part.csv", motion, *names)
        ran = robolin("sensitivity", "two-link", "--trajectory", path, *change)
        assert (ran.code, ran.out) == (3, "")
        return ran.err

    assert "part.csv: effort or acceleration columns are missing" in error_for("q", "qd")
    assert "'shoulder/velocity'" in error_for("q", "tau")
    path = tmp_path / "timeless.csv"
    path.write_text("q1,q2,qd1,qd2,tau1,tau2\n0,0,0,0,0,0\n")
    assert (
        "error: timeless.csv: column 'time' is missing"
        in robolin("sensitivity", "two-link", "--trajectory", path, *change).err
    )


def test_torques_must_last(file: Path, motion: Motion, tmp_path: Path) -> None:
    """A history of torques that is shorter than the motion is not continued by guessing."""
    short = Motion(motion.time[:9], motion.q[:9], motion.qd[:9], motion.tau[:9])
    torques = written(tmp_path / "short.csv", short, "tau")
    ran = robolin("sensitivity", "two-link", "--trajectory", file, "--perturb-torque", torques)

    assert ran.code == 3
    assert (
        "short.csv: the torques cover 0 s to 0.008 s, but the trajectory covers 0 s to 0.05 s"
        in ran.err
    )


@pytest.mark.parametrize(
    "rows, message",
    [
        (["0"], "the trajectory must have at least two rows"),
        (["0", "2", "1"], "time: must increase, but row 2 has 2 s and row 3 has 1 s"),
        (["0", "1", "1"], "time: must increase, but row 2 has 1 s and row 3 has 1 s"),
    ],
)
def test_time_must_increase(file: Path, tmp_path: Path, rows: list[str], message: str) -> None:
    """One row, and rows out of order, are reported with their file, and nothing is written."""
    wrong, out = tmp_path / "wrong.csv", tmp_path / "out.csv"
    header = "time,q1,q2,qd1,qd2,tau1,tau2\n"
    wrong.write_text(header + "".join(f"{time},0,0,0,0,0,0\n" for time in rows))
    change = ("--parameter", "lower/mass=1", "-o", out)
    ran = robolin("sensitivity", "two-link", "--trajectory", wrong, *change)
    torques = ("--trajectory", file, "--perturb-torque", wrong, "-o", out)

    for each in (ran, robolin("sensitivity", "two-link", *torques)):
        assert (each.code, each.out, out.exists()) == (3, "", False)
        assert f"error: wrong.csv: {message}" in each.err
        assert "hint: " in each.err
