"""Commands and Python accept the name of a pose in place of positions."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin import Question, States
from robolin.errors import UsageError
from tests.cli.command import robolin as run
from tests.cli.command import run_ok


@pytest.fixture
def arm_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    run_ok("models", "--copy", "two-link")
    return Path("two-link.yaml")


@pytest.mark.parametrize(
    "command",
    [
        "inverse",
        "forward",
        "linearize-forward",
        "linearize-inverse",
        "mass-matrix",
        "jacobian",
        "momentum",
        "regressor",
        "diagonalize",
        "state-space",
        "poles",
        "lqr",
        "response --duration 0.1",
        "simulate --duration 0.01 --dt 0.005",
    ],
)
def test_every_command_accepts_a_pose(command: str) -> None:
    """A pose gives the same numbers as its positions."""
    verb, *flags = command.split()
    by_name = run_ok(verb, "two-link", "--q", "home", *flags, "--format", "csv")
    by_value = run_ok(verb, "two-link", "--q", "0,90deg", *flags, "--format", "csv")
    assert by_name.out == by_value.out


def test_python_accepts_a_pose() -> None:
    """Text is accepted where text is accepted, and `arm.poses` has the array."""
    arm = robolin.load("panda")
    result = robolin.answer(arm, "inverse", States(q="home"))
    assert np.array_equal(result["tau"], robolin.inverse(arm, arm.poses["home"]))
    assert result.options["q"] == "home"
    assert result.contract["pose"] == {"home": arm.poses["home"].tolist()}
    assert "pose" not in robolin.answer(arm, "inverse").contract


def test_the_goal_of_a_controller_can_be_a_pose() -> None:
    """`simulate --goal home` moves the arm to the pose."""
    arm = robolin.load("two-link")
    goals = [{"goal": "home"}, {"goal": "0,90deg"}]
    options = {"duration": "0.01", "dt": "0.001", "control": "pd"}
    by_name, by_value = (
        robolin.answer(arm, Question("simulate", **options, **goal)) for goal in goals
    )
    assert np.array_equal(by_name["q"], by_value["q"])
    assert by_name.contract["pose"] == {"home": arm.poses["home"].tolist()}


def test_a_misspelled_pose_is_an_error_with_all_poses() -> None:
    """The error names the closest pose and lists all of them."""
    arm = robolin.load("puma560")
    with pytest.raises(UsageError, match="'hoem' is not a number and not a pose") as caught:
        robolin.answer(arm, "inverse", States(q="hoem"))
    assert caught.value.hint == "did you mean 'home'? the poses are 'home', 'ready'"
    failed = run("inverse", "two-link", "--q", "elbow")
    assert failed.code == 2
    assert "--q=elbow" in failed.err


def test_a_pose_outside_the_limits_is_noted(arm_file: Path) -> None:
    """A note lists the joints outside their limits; within them there is none."""
    text = arm_file.read_text().replace("type: continuous", "type: revolute")
    limits = "    limits: {lower: -1, upper: 1}\n"
    arm_file.write_text(text.replace("    child: lower\n", f"    child: lower\n{limits}", 1))
    noted = run_ok("inverse", arm_file, "--q", "home")
    expected = "pose 'home' is outside the joint limits: 'elbow' is at 1.5708 rad, its limits are"
    assert expected in " ".join(noted.err.split())
    assert "outside" not in run_ok("inverse", arm_file, "--q", "0,0.5").err


@pytest.mark.parametrize("verb", ["inverse", "linearize-forward", "lqr"])
def test_a_state_outside_the_limits_is_noted(verb: str) -> None:
    """One note on stderr lists the joints outside; a limit rounded to degrees is within."""
    state = ("--q", "panda_joint1=170deg,panda_joint4=-90deg", "--format", "csv")
    noted = run_ok(verb, "panda", *state)
    text = "q is outside the joint limits: 'panda_joint1' is at 2.96706 rad, its limits are "
    assert [line for line in noted.err.splitlines() if "outside" in line] == [
        f"note: {text}-2.8973 to 2.8973"
    ]
    within = ("--q", "panda_joint1=2.89730001,panda_joint4=-90deg", "--format", "csv")
    assert "outside" not in run_ok(verb, "panda", *within).err


def test_the_limits_of_a_trimmed_state_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--trim` moves the state, so the note is about the equilibrium and not about --q."""
    monkeypatch.chdir(tmp_path)
    run_ok("models", "--copy", "acrobot")
    text = Path("acrobot.yaml").read_text().replace("type: continuous", "type: revolute", 1)
    limits = "    limits: {lower: -1, upper: 3.2}\n"
    limited = text.replace("    child: upper\n", f"    child: upper\n{limits}", 1)
    Path("acrobot.yaml").write_text(limited)
    state = ("acrobot.yaml", "--q", "3.3,0")
    noted = "q is outside the joint limits: 'shoulder' is at 3.3 rad, its limits are -1 to 3.2"
    assert noted in run_ok("inverse", *state).err
    # the equilibrium is within the limits
    assert "outside" not in run_ok("poles", *state, "--trim").err


def test_a_result_at_a_pose_can_be_checked(arm_file: Path) -> None:
    """`check` reads the pose again, and reports a pose that has changed."""
    run_ok("record", "inverse", arm_file, "--q", "home", "-o", "stored.json")
    assert json.loads(Path("stored.json").read_text())["meta"]["options"]["q"] == "home"
    run_ok("check", "stored.json")
    arm_file.write_text(arm_file.read_text().replace("elbow: 90deg", "elbow: 80deg"))
    changed = run("check", "stored.json")
    assert changed.code == 1
    assert "pose: home" in changed.out
    assert "elbow: 1.5708 → 1.3963" in changed.out


def test_a_new_pose_keeps_stored_results(arm_file: Path) -> None:
    """A pose added to the robot file changes its hash, and no result at another state."""
    run_ok("record", "inverse", arm_file, "--q", "0.3,0.5", "-o", "stored.json")
    arm_file.write_text(arm_file.read_text() + "  folded: [0, 170deg]\n")
    assert "input two-link.yaml has changed" in run_ok("check", "stored.json").out


def test_a_result_with_an_srdf_file_can_be_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recorded result finds its SRDF file again, and its hash is an input."""
    monkeypatch.chdir(tmp_path)
    run_ok("models", "--copy", "ur5")
    Path("config").mkdir()
    Path("ur5.srdf").rename("config/moveit.srdf")
    flags = ("--srdf", "config/moveit.srdf", "--q", "home")
    run_ok("record", "inverse", "ur5.urdf", *flags, "-o", "stored.json")
    meta = json.loads(Path("stored.json").read_text())["meta"]
    assert meta["options"]["srdf"] == "moveit.srdf"
    assert sorted(meta["inputs"]) == ["moveit.srdf", "ur5.urdf"]
    run_ok("check", "stored.json")


def test_inspect_lists_the_poses() -> None:
    """A table for people, and positions by joint in JSON."""
    assert "home   0, 0.785398, -3.14159, 0, 0.785398, 0" in run_ok("inspect", "puma560").out
    poses = json.loads(run_ok("inspect", "two-link", "--format", "json").out)["poses"]
    assert poses == {"home": {"shoulder": 0.0, "elbow": np.pi / 2}}


def test_the_hint_for_an_arm_without_poses_depends_on_the_format(tmp_path: Path) -> None:
    """YAML files have the key `poses:`; other files need an SRDF file."""
    yaml = tmp_path / "arm.yaml"
    yaml.write_text(
        "robolin: 1\nname: arm\n"
        "joints: [{name: a, type: continuous, axis: [0, 1, 0], parent: base, child: body}]\n"
        "links: [{name: base}, {name: body, mass: 2, com: [0, 0, -0.5]}]\n"
    )
    urdf = tmp_path / "arm.urdf"
    urdf.write_text(
        '<robot name="arm"><link name="base"/><link name="body"><inertial><mass value="2"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link>'
        '<joint name="a" type="continuous"><parent link="base"/><child link="body"/></joint>'
        "</robot>"
    )
    for path, hint in ((yaml, "the key 'poses:' adds poses"), (urdf, "--srdf FILE adds poses")):
        arm = robolin.load(path)
        with pytest.raises(UsageError) as caught:
            robolin.answer(arm, "inverse", States(q="upright"))
        assert f"'arm' has no named poses ({hint})" in (caught.value.hint or "")
