"""`robolin sweep`: one question for several values of an option."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import robolin, run_ok

MASSES = (0.0, 1.0, 2.5)
# far beyond the range of the joint: a warning
_TURNED = "panda_joint1=45"


@pytest.mark.parametrize("joined", [True, False])
def test_each_row_is_the_result_of_one_value(joined: bool) -> None:
    """Each row of a sweep has the bits of the result for its value alone."""
    payload = ["--payload", "lower:0,1,2.5@0.1,0,0"]
    flags = ["=".join(payload)] if joined else payload
    swept = run_ok("sweep", "inverse", "two-link", *flags, "--q", "0.3,-0.7")
    assert swept.rows[0] == ["payload", "shoulder/effort", "elbow/effort"]
    for mass, row in zip(MASSES, swept.numbers, strict=True):
        alone = run_ok(
            "inverse", "two-link", "--payload", f"lower:{mass}@0.1,0,0", "--q", "0.3,-0.7"
        )
        assert row == [mass, *alone.numbers[0]]


@pytest.mark.parametrize(
    "flags, values, unit",
    [
        (("--armature", "elbow=0,0.5"), [0.0, 0.5], "kg·m²"),
        (("--lock", "elbow=0,90deg"), [0.0, np.pi / 2], "rad"),
        (("--friction-velocity", "0.01,0.1"), [0.01, 0.1], "rad/s"),
    ],
)
def test_other_options_can_be_swept(
    flags: tuple[str, ...], values: list[float], unit: str, tmp_path: Path
) -> None:
    """Armatures, locked joints and friction take several values too, with their units."""
    file = tmp_path / "swept.json"
    run_ok("sweep", "mass-matrix", "two-link", *flags, "-o", file)
    stored = library.read_result(file)
    name = flags[0].removeprefix("--").replace("-", "_")
    assert stored.arrays[name].tolist() == values
    assert stored.meta["arrays"][name]["unit"] == unit
    assert "1 same" in run_ok("check", file).out


@pytest.mark.parametrize(
    "args, message",
    [
        ((), "requires a COMMAND"),
        (("inspect", "two-link"), "requires a COMMAND"),
        (("inverse", "two-link"), "no option has several values"),
        (
            ("inverse", "two-link", "--payload", "lower:0,1", "--armature", "elbow=0,1"),
            "robolin sweep: more than one option has several values",
        ),
        (
            ("inverse", "two-link", "--payload", "lower:0,x"),
            "--payload=lower:0,x: 'x' is not a number",
        ),
        (("inverse", "two-link", "--payload", "lower:0,1", "--limits"), "--limits"),
        (("sweep", "inverse", "two-link", "--payload", "lower:0,1"), "requires a COMMAND"),
        (
            ("simulate", "two-link", "--duration", "0.01", "--payload", "lower:0,1"),
            "a sweep requires one state, got several rows",
        ),
    ],
)
def test_invalid_sweeps_are_rejected(args: tuple[str, ...], message: str) -> None:
    """A sweep of nothing, of two options or of many rows is rejected with a hint."""
    ran = robolin("sweep", *args)
    assert ran.code == library.UsageError.exit_code
    assert message in ran.err


@pytest.mark.parametrize("payload", ["tip:0,1,2", ("tip", [0, 1, 2])])
def test_python_gives_the_same_sweep(payload: object, tmp_path: Path) -> None:
    """A sweep has the same bytes from Python and from the command line."""
    arm = library.load("two-link", damping=False)
    swept = library.sweep(arm, "inverse", library.States(q=[0.3, -0.7]), payload=payload)
    library.write(swept, tmp_path / "python.npz")
    flags = ("--no-damping", "--payload", "tip:0,1,2", "--q", "0.3,-0.7")
    run_ok("sweep", "inverse", "two-link", *flags, "-o", tmp_path / "command.npz")
    assert (tmp_path / "python.npz").read_bytes() == (tmp_path / "command.npz").read_bytes()


def test_options_of_the_arm_are_kept() -> None:
    """Swept values are added to the options of the arm, as `load` would."""
    arm = library.load("two-link", payload=("lower", 0.5), armature={"elbow": 0.2})
    swept = library.sweep(arm, "inverse", payload=("tip", [0.0, 2.0], (0.1, 0, 0)))
    loads = [("lower", 0.5), ("tip", 2.0, (0.1, 0, 0))]
    alone = library.load("two-link", payload=loads, armature={"elbow": 0.2})
    assert np.array_equal(swept["tau"][1], library.inverse(alone, np.zeros(2)))


def test_a_recorded_sweep_is_checked(tmp_path: Path) -> None:
    """`record` stores a sweep with its tolerances, and `check` lists changes of the arm."""
    robot, stored = tmp_path / "arm.yaml", tmp_path / "swept.npz"
    text = run_ok("models", "--show", "two-link").out
    robot.write_text(text, "utf-8")
    command = ("sweep", "inverse", robot, "--payload", "tip:0,1", "-o", stored, "--rtol", "1e-9")
    run_ok("record", *command)
    assert library.read_result(stored).meta["tolerances"] == {"*": {"rtol": 1e-9, "atol": 0.0}}
    assert library.check(stored).status == "same"
    robot.write_text(text.replace("mass: 1\n", "mass: 1.5\n"), "utf-8")
    ran = robolin("check", stored)
    assert ran.code == 1
    assert "mass" in ran.out
    assert "shoulder/effort" in ran.out


def test_a_suite_can_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A case of a suite names the verb as the command line does."""
    monkeypatch.chdir(tmp_path)
    case = """[[case]]
        verb = "sweep inverse"
        arm = "two-link"
        options = { payload = "tip:0,1,2" }
        stored = "swept.json"
        """
    Path("robolin.toml").write_text(case, "utf-8")
    run_ok("record", "--suite")
    assert library.read_result("swept.json").arrays["payload"].tolist() == [0, 1, 2]
    assert "1 same" in run_ok("check").out


def test_standard_input_is_read_once() -> None:
    """An arm from a pipe is the same for every value."""
    text = run_ok("models", "--show", "two-link").out
    flags = ("--payload", "tip:0,1,2")
    piped = robolin("sweep", "inverse", "-", *flags, stdin=text.encode())
    assert piped.out == run_ok("sweep", "inverse", "two-link", *flags).out


def test_messages_name_their_value() -> None:
    """Common notes appear once; other notes and errors name their value."""
    ran = run_ok("sweep", "inverse", "panda", "--payload", "panda_hand:0,1", "--q", _TURNED)
    assert ran.err.count("45 rad") == 1
    assert "note: --payload panda_hand:0: panda: the payload" in ran.err
    refused = robolin("sweep", "inverse", "two-link", "--payload", "tip:0,-1")
    assert refused.code == library.UsageError.exit_code
    assert "--payload tip:-1: payload: the mass on link 'tip' must be ≥ 0, got -1 kg" in refused.err


@pytest.mark.parametrize(
    "wish, message",
    [
        ({}, "no option has several values"),
        ({"payload": ("tip", 1.0)}, "no option has several values"),
        ({"payload": 3}, "payload: must have several values, got 3"),
        (
            {"armature": {"elbow": [0, 1]}, "lock": {"elbow": [0, 1]}},
            "robolin sweep: more than one option has several values",
        ),
    ],
)
def test_python_rejects_the_same_requests(wish: dict[str, object], message: str) -> None:
    """A request that is not a sweep is rejected in Python too."""
    with pytest.raises(library.UsageError, match=message):
        library.sweep(library.load("two-link"), "inverse", **wish)  # type: ignore[arg-type]


def test_an_arm_without_a_file_cannot_be_swept() -> None:
    """An arm given as text, or whose file has changed, is rejected rather than guessed at."""
    text = run_ok("models", "--show", "two-link").out
    with pytest.raises(
        library.RobolinError,
        match="the robot was not loaded from a file and cannot be loaded again",
    ):
        library.sweep(library.load(text), "inverse", payload="tip:0,1")
    with pytest.raises(library.UsageError, match=r"robolin\.sweep"):
        library.Question("sweep inverse")


def test_a_file_that_changed_is_not_swept(tmp_path: Path) -> None:
    """Rows of a sweep are those of the loaded arm, or the sweep is rejected."""
    robot = tmp_path / "arm.yaml"
    text = run_ok("models", "--show", "two-link").out
    robot.write_text(text, "utf-8")
    arm = library.load(robot)
    robot.write_text(text.replace("mass: 1\n", "mass: 1.5\n"), "utf-8")
    with pytest.raises(
        library.RobolinError, match="the file was changed after the robot was loaded"
    ):
        library.sweep(arm, "inverse", payload="tip:0,1")


def test_rows_are_labelled_by_their_values() -> None:
    """Tables and text plots of a sweep show its values instead of row numbers."""
    command = ("sweep", "inverse", "two-link", "--payload", "tip:0.5,1.5", "--only", "tau")
    lines = run_ok(*command, "--format", "table").out.splitlines()
    top = lines.index("tau [N·m]")
    assert lines[top + 1].split() == ["payload", "[kg]", "shoulder", "elbow"]
    assert [line.split()[0] for line in lines[top + 2 : top + 4]] == ["0.5", "1.5"]
    assert "0.5 to 1.5, payload [kg]" in run_ok(*command, "--plot").out


@pytest.mark.slow
def test_a_sweep_is_drawn_over_its_values(tmp_path: Path) -> None:
    """The picture of a sweep has the swept values along its axis."""
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot'")
    file = tmp_path / "swept.svg"
    run_ok("sweep", "inverse", "two-link", "--payload", "lower:0,1,2", "-o", file)
    assert "payload [kg]" in file.read_text("utf-8")


def test_the_contract_has_only_lines_common_to_all_values() -> None:
    """A line that differs from value to value, such as the payload, is not in the contract."""
    arm = library.load("two-link")
    swept = library.sweep(arm, "inverse", library.States(q=[0.3, -0.7]), payload="lower:0,1,2")
    alone = library.answer(arm, "inverse", library.States(q=[0.3, -0.7]))
    assert "payload" in alone.contract
    assert "payload" not in swept.contract
    same = {key: alone.contract[key] for key in ("gravity", "joints", "state", "damping")}
    assert {key: swept.contract[key] for key in same} == same
