"""Verbs on every row of a trajectory file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

ROWS = 7


@pytest.fixture
def motion(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {
        word: rng.uniform(-1, 1, (ROWS, 2)) for word in ("position", "velocity", "acceleration")
    }


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20)


def sheet(path: Path, columns: dict[str, np.ndarray], time: bool = True) -> Path:
    """A CSV file with the joints of the two-link arm."""
    names = [f"{joint}/{word}" for word in columns for joint in ("shoulder", "elbow")]
    values = np.hstack(list(columns.values()))
    if time:
        names = ["time", *names]
        values = np.hstack([0.1 * np.arange(len(values))[:, None], values])
    lines = [",".join(names), *(",".join(map(repr, row)) for row in values.tolist())]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_every_row_has_a_result(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """The rows are bit-identical to the library's batch, with the time in front."""
    file = sheet(tmp_path / "motion.csv", motion)
    ran = run_ok("inverse", "two-link", "--trajectory", file)

    expected = library.inverse(library.load("two-link"), *motion.values())
    assert ran.rows[0] == ["time", "shoulder/effort", "elbow/effort"]
    np.testing.assert_array_equal(np.array(ran.numbers)[:, 1:], expected)
    np.testing.assert_array_equal(np.array(ran.numbers)[:, 0], 0.1 * np.arange(ROWS))
    assert ran.err == ""


def test_chunks_change_nothing(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """The bytes are the same for every chunk size, with a common perturbation."""
    file = sheet(tmp_path / "motion.csv", motion)
    commands = [
        ["inverse", "two-link"],
        ["linearize-forward", "two-link"],
        ["linearize-inverse", "two-link", "--perturb", "dq=0.1,0"],
        ["mass-matrix", "two-link", "--derivative"],
    ]
    full = [run_ok(*words, "--trajectory", file).out for words in commands]
    parts = [run_ok(*words, "--trajectory", file, "--chunk-rows", "3").out for words in commands]

    assert parts == full


def test_a_trajectory_on_standard_input(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """`--trajectory -` reads CSV from a pipe."""
    file = sheet(tmp_path / "motion.csv", motion, time=False)
    piped = run_ok("inverse", "two-link", "--trajectory", "-", stdin=file.read_bytes())

    assert piped.out == run_ok("inverse", "two-link", "--trajectory", file).out
    assert piped.rows[0] == ["shoulder/effort", "elbow/effort"]


def test_missing_columns_are_zero_with_a_warning(
    tmp_path: Path, motion: dict[str, np.ndarray]
) -> None:
    """Missing columns are 0 with a warning and a line in the contract, or rejected if strict."""
    file = sheet(tmp_path / "motion.csv", {"position": motion["position"]})
    ran = run_ok("inverse", "two-link", "--trajectory", file, "--format", "json")
    strict = robolin("inverse", "two-link", "--trajectory", file, "--strict")

    assert ran.err.splitlines() == [
        "warning: motion.csv: no velocity columns; velocities are set to 0 "
        "(--differentiate savgol computes them)",
        "warning: motion.csv: no acceleration columns; accelerations are set to 0 "
        "(--differentiate savgol computes them)",
    ]
    contract = json.loads(ran.out)["meta"]["contract"]
    assert contract["state"] == "7 rows of motion.csv: q given, qd and qdd zero"
    assert (strict.code, strict.out) == (3, "")
    assert strict.err.count("error: motion.csv: ") == 2


def test_holding_torques_are_reported(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """Without efforts and accelerations, holding torques are used and reported, or rejected."""
    still = sheet(tmp_path / "still.csv", {word: motion[word] for word in ("position", "velocity")})
    moved = sheet(tmp_path / "moved.csv", motion)
    message = "still.csv: no effort or acceleration columns; efforts are the holding torques"
    for verb in ("linearize-forward", "state-space"):
        assert message in run_ok(verb, "two-link", "--trajectory", still).err
        assert run_ok(verb, "two-link", "--trajectory", moved).err == ""
    strict = robolin("linearize-forward", "two-link", "--trajectory", still, "--strict")
    assert (strict.code, strict.out) == (3, "")


def test_missing_positions_are_an_error(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """Positions are never assumed; the missing columns are named."""
    file = sheet(tmp_path / "motion.csv", {"velocity": motion["velocity"]})
    ran = robolin("inverse", "two-link", "--trajectory", file)

    assert (ran.code, ran.out) == (3, "")
    assert "'shoulder/position', 'elbow/position' are missing" in ran.err


def test_linearize_forward_finds_its_torques(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """Torques come from efforts of the file, else from its accelerations, else they hold."""
    arm = library.load("two-link")
    tau = library.inverse(arm, *motion.values())
    state = {word: motion[word] for word in ("position", "velocity")}

    def run(columns: dict[str, np.ndarray]) -> tuple[list[list[float]], str, str]:
        file = sheet(tmp_path / "motion.csv", columns)
        csv = run_ok("linearize-forward", "two-link", "--trajectory", file)
        ran = run_ok("linearize-forward", "two-link", "--trajectory", file, "--format", "json")
        return csv.numbers, json.loads(ran.out)["meta"]["contract"]["torque"], csv.err

    efforts, contract_efforts, _ = run({**state, "effort": tau})
    both, _, note = run({**state, "effort": tau, "acceleration": motion["acceleration"]})
    accelerations, contract_accelerations, _ = run(motion)
    held, contract_held, _ = run(state)

    assert efforts == accelerations == both
    assert contract_efforts == "given"
    assert "accelerations" in contract_accelerations
    assert "holding" in contract_held
    assert "acceleration columns are ignored" in note
    np.testing.assert_allclose(np.array(held)[:, 1:3], 0.0, atol=1e-12)


def test_inputs_are_recorded(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """The provenance has both files by base name, and the flags do not reveal folders."""
    file = sheet(tmp_path / "motion.csv", motion)
    meta = json.loads(run_ok("inverse", "two-link", "--trajectory", file, "--format", "json").out)[
        "meta"
    ]

    assert set(meta["inputs"]) == {"two-link", "motion.csv"}
    assert meta["options"] == {"arm": "two-link", "trajectory": "motion.csv"}
    assert str(tmp_path) not in json.dumps(meta)


@pytest.mark.parametrize(
    "verb, flags, says",
    [
        ("inverse", ["--q", "0,0"], "cannot be used with --q"),
        ("forward", ["--qd", "0,0", "--tau", "hold"], "cannot be used with --qd and --tau"),
        ("diagonalize", ["--inverse-transform"], "--nu"),
    ],
)
def test_a_state_is_given_once(
    verb: str, flags: list[str], says: str, tmp_path: Path, motion: dict[str, np.ndarray]
) -> None:
    """Flags that contradict a file are wrong usage."""
    file = sheet(tmp_path / "motion.csv", motion)
    ran = robolin(verb, "two-link", "--trajectory", file, *flags)

    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


def test_unused_columns_and_bad_cells_are_located(tmp_path: Path) -> None:
    """An unknown column is noted, a cell that is not a number rejects the file."""
    file = tmp_path / "motion.csv"
    file.write_text("shoulder/position,elbow/position,extra\n0,1,2\n0,oops,2\n")
    bad = robolin("inverse", "two-link", "--trajectory", file)
    file.write_text("shoulder/position,elbow/position,extra\n0,1,2\n")
    noted = run_ok("inverse", "two-link", "--trajectory", file)

    assert (bad.code, bad.out) == (3, "")
    assert "oops" in bad.err
    assert "note: motion.csv: unused columns: 'extra'" in noted.err


def test_the_worst_condition_of_a_trajectory(tmp_path: Path, motion: dict[str, np.ndarray]) -> None:
    """-v reports the largest condition of the mass matrix over all rows."""
    file = sheet(tmp_path / "motion.csv", motion)
    matrices = library.mass_matrix(library.load("two-link"), motion["position"])
    ran = run_ok("linearize-forward", "two-link", "--trajectory", file, "-v")

    assert f"cond(M) = {np.linalg.cond(matrices).max():.3g} in the worst row" in ran.err


def test_a_missing_file_is_exit_code_4(tmp_path: Path) -> None:
    """A trajectory that is not there could not be read."""
    ran = robolin("inverse", "two-link", "--trajectory", tmp_path / "none.csv")

    assert (ran.code, ran.out) == (4, "")
