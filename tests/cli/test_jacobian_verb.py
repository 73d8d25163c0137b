"""robolin jacobian, and the link and frame outputs of robolin forward."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin as library
from robolin.checking.recorded_question import frame_in_contract
from tests.cli.command import robolin, run_ok

Q = [0.3, -1.0, 1.2, 0.4, 0.9, 0.1]
QD = [0.5, -0.2, 0.9, 0.3, -0.8, 0.1]
TAU = [3.0, -20.0, 1.0, 2.0, 0.5, 1.0]
SPATIAL = ["rx", "ry", "rz", "x", "y", "z"]
STATE = ["--q", ",".join(map(repr, Q)), "--qd", ",".join(map(repr, QD))]
TOOL = ["--frame", "tool0"]
TORQUE = ["--tau", ",".join(map(repr, TAU))]


def document(*args: str | Path) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(run_ok(*args, "--format", "json").out)
    return printed


def assert_same(results: dict[str, Any], expected: Any) -> None:
    """Every array of a library's result, to the bit."""
    for name, values in arrays_of(expected).items():
        assert results[name] == values.tolist(), name


def arrays_of(expected: Any) -> dict[str, Any]:
    return {name: values for name, values in vars(expected).items() if name != "frame"}


def test_jacobian_is_the_librarys() -> None:
    """Every array by its public name, at a point of a merged link."""
    arm = library.load("ur5")
    frame = ["--frame", "tool0", "--point", "0,0.1,0.2"]
    printed = document("jacobian", "ur5", *STATE, *frame)

    expected = library.jacobian(arm, Q, QD, frame="tool0", point=(0, 0.1, 0.2))
    assert_same(printed["results"], expected)
    assert list(printed["results"]) == list(arrays_of(expected))
    assert printed["units"]["jacobian"] == "rad/s or m/s per rad/s"
    assert printed["units"]["position"] == "m"
    contract = printed["meta"]["contract"]
    assert contract["frame"] == "'tool0' at 0.0, 0.1, 0.2 m, vectors in world axes"


def test_everything_at_once_is_the_librarys() -> None:
    """Derivatives are those at the accelerations that the torques cause."""
    arm, at = library.load("ur5"), {"frame": "ee_link"}
    flags = ["--frame", "ee_link", "--derivatives", "--operational-space"]
    results = document("jacobian", "ur5", *STATE, *TORQUE, *flags)["results"]
    qdd = library.forward(arm, Q, QD, TAU)

    assert_same(results, library.jacobian(arm, Q, QD, **at))
    assert_same(results, library.frame_derivatives(arm, Q, QD, qdd, **at))
    assert_same(results, library.operational_space(arm, Q, QD, TAU, **at))


def test_derivatives_take_accelerations() -> None:
    """Without the operational space, --qdd sets the accelerations."""
    arm = library.load("ur5")
    printed = document("jacobian", "ur5", *STATE, "--qdd", "1,0,2,0,0,1", "--derivatives", *TOOL)

    qdd = [1, 0, 2, 0, 0, 1]
    assert_same(printed["results"], library.frame_derivatives(arm, Q, QD, qdd, frame="tool0"))


def test_jacobian_in_axes_of_the_frame() -> None:
    """--reference frame is reference='frame', and the contract states it."""
    arm = library.load("ur5")
    flags = ["--reference", "frame", "--operational-space", *TOOL]
    printed = document("jacobian", "ur5", *STATE, *TORQUE, *flags)

    assert_same(printed["results"], library.jacobian(arm, Q, QD, reference="frame", frame="tool0"))
    expected = library.operational_space(arm, Q, QD, TAU, reference="frame", frame="tool0")
    assert_same(printed["results"], expected)
    assert "the frame's own axes" in printed["meta"]["contract"]["frame"]


def test_columns_are_named_by_direction_and_joint() -> None:
    """CSV columns name the row of the Jacobian and the joint."""
    header = run_ok("jacobian", "two-link").rows[0]

    assert header[:12] == [f"jacobian/{row}/{joint}" for row in SPATIAL for joint in JOINTS]
    assert header[18:24] == [f"twist/{row}" for row in SPATIAL]
    assert header[24:27] == ["position/x", "position/y", "position/z"]


JOINTS = ("shoulder", "elbow")


def test_the_table_shows_the_jacobian_as_a_matrix() -> None:
    """One row per direction, one column per joint, and directions are not called joints."""
    table = run_ok("jacobian", "two-link", "--q", "0.3,-0.7", "--format", "table").out
    lines = [line.rstrip() for line in table.splitlines()]
    start = lines.index("jacobian [rad/s or m/s per rad/s]")

    assert lines[start + 1].split() == [*JOINTS]
    assert [line.split()[0] for line in lines[start + 2 : start + 8]] == SPATIAL
    assert "joint  " not in "\n".join(lines[start:])


@pytest.fixture
def trajectory(tmp_path: Path) -> Path:
    """Ten rows, the fourth of them a singular pose."""
    rng = np.random.default_rng(5)
    rows = np.array(Q + QD) + rng.uniform(-0.2, 0.2, (10, 12))
    rows[3] = 0.0
    names = library.load("ur5").joint_names
    header = [f"{name}/{word}" for word in ("position", "velocity") for name in names]
    file = tmp_path / "motion.csv"
    lines = [",".join(header), *(",".join(map(repr, row)) for row in rows.tolist())]
    file.write_text("\n".join(lines) + "\n")
    return file


def columns(trajectory: Path) -> tuple[np.ndarray, np.ndarray]:
    rows = np.loadtxt(trajectory, delimiter=",", skiprows=1)
    return rows[:, :6], rows[:, 6:]


@pytest.mark.parametrize("suffix", [".npz", ".csv", ".parquet", ".json"])
def test_trajectories_in_every_format(trajectory: Path, tmp_path: Path, suffix: str) -> None:
    """Every row of a file, written to every kind of file."""
    target = tmp_path / f"jacobians{suffix}"
    run_ok("jacobian", "ur5", "--trajectory", trajectory, "--frame", "tool0", "-o", target)
    q, qd = columns(trajectory)
    true = library.jacobian(library.load("ur5"), q, qd, frame="tool0").jacobian
    if suffix == ".npz":
        jacobian = np.load(target)["jacobian"]
    elif suffix == ".json":
        jacobian = np.array(json.loads(target.read_text())["results"]["jacobian"])
    else:
        import polars

        read = polars.read_csv if suffix == ".csv" else polars.read_parquet
        table = read(target)
        columns_of_jacobian = [name for name in table.columns if name.startswith("jacobian/")]
        jacobian = table.select(columns_of_jacobian).to_numpy().reshape(true.shape)
    assert np.array_equal(jacobian, true)


def test_a_singular_row_is_rejected_or_nan(trajectory: Path, tmp_path: Path) -> None:
    """An error names the line of the file; with --on-bad-row nan only that row is NaN."""
    command = ["jacobian", "ur5", "--trajectory", str(trajectory), "--operational-space", *TOOL]
    target = tmp_path / "inertia.npz"
    run = robolin(*command, "-o", str(target))
    assert run.code == 3
    assert "operational_inertia does not exist" in run.err
    assert "motion.csv:5" in run.err
    assert not target.exists()

    run_ok(*command, "-o", str(target), "--on-bad-row", "nan")
    missing = np.isnan(np.load(target)["operational_inertia"]).any(axis=(1, 2))
    assert missing.tolist() == [row == 3 for row in range(10)]
    run_ok("jacobian", "ur5", "--trajectory", trajectory, "--operational-space-inverse", *TOOL)


@pytest.mark.parametrize("args", [["jacobian"], ["forward", "--tip-acceleration"]], ids=" ".join)
@pytest.mark.parametrize("form", ["csv", "json"])
def test_the_default_frame_is_reported(args: list[str], form: str) -> None:
    """Columns do not name the frame, so a note does, unless the user named it."""
    ran = run_ok(args[0], "two-link", "--format", form, *args[1:])
    assert "the frame is 'tip'" in ran.err


def test_a_named_frame_needs_no_note() -> None:
    assert "frame" not in run_ok("jacobian", "two-link", "--frame", "lower").err


def test_results_stored_without_a_named_frame_are_checked(tmp_path: Path) -> None:
    """A stored result is recomputed for the frame of its contract."""
    stored = tmp_path / "stored.json"
    run_ok("jacobian", "two-link", "-o", stored)
    assert robolin("check", stored).code == 0
    frame = frame_in_contract(json.loads(stored.read_text())["meta"])
    assert frame == {"frame": "tip"}


def test_arms_with_grippers_use_elimination() -> None:
    """With mimic joints, elimination is used, and the contract states it."""
    state = [
        "panda-fingers",
        "--q",
        "0.1,-0.8,0.2,-2.4,0.3,1.6,0.8,0.01",
        "--qd",
        "0.1,0,0,0,0,0,0,0",
    ]
    inertia = document("jacobian", *state, "--frame", "panda_hand", "--operational-space")
    assert "J 𝓜⁻¹ J* by elimination" in inertia["meta"]["contract"]["algorithm"]
    diagonal = document("diagonalize", *state)
    assert "factorization of the mass matrix" in diagonal["meta"]["contract"]["algorithm"]


def test_few_joints_are_noted() -> None:
    """If fewer than six joints move the frame, a note lists the missing arrays."""
    ran = run_ok("jacobian", "two-link", "--operational-space", "--format", "json")
    results = json.loads(ran.out)["results"]

    assert "fewer than six joints move 'tip'" in ran.err
    assert "operational_inertia_inverse" in results
    assert "operational_inertia" not in results


WRONG = [
    (["panda", "--frame", "panda_hnd"], 2, "did you mean 'panda_hand'?"),
    (["panda-fingers"], 2, "has several end links and no default frame"),
    (["panda"], 2, "the last link of 'panda' has 6 frames and no default frame"),
    (["ur5"], 2, "'wrist_3_link', 'ee_link', 'tool0'"),
    (["panda", "--point", "1,2"], 2, "must have 3 numbers, got 2"),
    (["panda", "--frame", "panda_hand", "--tau", "hold"], 2, "has no effect on this command"),
    (["two-link", "--qdd", "1,1"], 2, "has no effect on this command"),
    (["panda", "--derivatives", "--reference", "frame"], 2, "cannot be used"),
    (["ur5", *TOOL, "--operational-space"], 3, "operational_inertia does not exist"),
    (["ur5", *TOOL, "--operational-space"], 3, "alone: --operational-space-inverse"),
    (["panda", "--reference", "tool"], 2, "--reference"),
]


@pytest.mark.parametrize("args, code, message", WRONG, ids=[" ".join(row[0]) for row in WRONG])
def test_invalid_requests(args: list[str], code: int, message: str) -> None:
    """Invalid requests give one message, and nothing is printed."""
    ran = robolin("jacobian", *args)

    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err


# forward


def test_forward_returns_accelerations_of_links_and_tip() -> None:
    """--links and --tip-acceleration add the accelerations that go with qdd."""
    arm = library.load("ur5")
    flags = ["--links", "--tip-acceleration", "tool0"]
    results = document("forward", "ur5", *STATE, *TORQUE, *flags)["results"]
    qdd = library.forward(arm, Q, QD, TAU)
    tip = library.frame_motion(arm, Q, QD, qdd, frame="tool0")

    assert results["qdd"] == qdd.tolist()
    assert_same(results, library.link_accelerations(arm, Q, QD, qdd))
    assert results["tip_acceleration"] == tip.spatial_acceleration.tolist()
    assert results["tip_classical_acceleration"] == tip.classical_acceleration.tolist()
    assert list(document("forward", "ur5", *STATE)["results"]) == ["qdd"]


def test_the_tip_needs_no_name() -> None:
    """--tip-acceleration alone uses the default frame, and is recorded as given."""
    alone = document("forward", "two-link", "--qd", "1,2", "--tip-acceleration")
    named = document("forward", "two-link", "--qd", "1,2", "--tip-acceleration=tip")

    assert alone["results"] == named["results"]
    assert alone["meta"]["options"]["tip-acceleration"] == ""
    assert named["meta"]["contract"]["frame"] == "'tip'"


@pytest.mark.parametrize("way", ["a", "b", "c", "d", "bias-free", "three-sweeps"])
def test_forward_supports_every_method(way: Any) -> None:
    """Each method returns the bits of the Python function, and the contract names it."""
    printed = document("forward", "ur5", *STATE, *TORQUE, "--method", way)

    expected = library.forward(library.load("ur5"), Q, QD, TAU, method=way)
    assert printed["results"]["qdd"] == expected.tolist()
    assert (
        printed["meta"]["contract"]["algorithm"]
        == {
            "a": "bias torques computed first, four sweeps, O(n)",
            "b": "bias torques computed first, with link accelerations, four sweeps, O(n)",
            "c": "bias forces of the links computed first, three sweeps, O(n)",
            "d": "articulated bodies, O(n)",
            "bias-free": "bias torques computed first, four sweeps, O(n)",
            "three-sweeps": "bias forces of the links computed first, three sweeps, O(n)",
        }[way]
    )
