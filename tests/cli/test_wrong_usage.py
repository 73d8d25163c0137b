"""Invalid flags: exit code 2, nothing on stdout, the flag and its value in the error."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cases import in_groups
from tests.cli.command import robolin, run_ok
from tools.command_pages import commands

SLIDER = """\
robolin: 1
name: lifter
joints:
  - {name: lift, type: prismatic, parent: base, child: a, axis: [0, 0, 1]}
  - {name: turn, type: revolute, parent: a, child: b, axis: [0, 1, 0]}
links:
  - {name: a, mass: 1}
  - {name: b, mass: 1, com: [0.5, 0, 0]}
"""

# verb, arguments, and text that the error and the hint must contain
TWO_LINK = [
    ("inverse", "--q 0", "--q=0: got 1 value, but 'two-link' has 2 joints", "shoulder, elbow"),
    ("inverse", "--q 0,0,0", "--q=0,0,0: got 3 values, but 'two-link' has 2 joints", ""),
    ("inverse", "--q 0,", "--q=0,: a number is missing", ""),
    ("inverse", "--q 0,x", "--q=0,x: 'x' is not a number", "1e-3"),
    ("inverse", "--q 0,nan", "--q=0,nan: 'nan' is not a number", ""),
    ("inverse", "--q 0,inf", "--q=0,inf: 'inf' is not a number", ""),
    ("inverse", "--q 0,1e999", "--q=0,1e999: '1e999' is too large", ""),
    ("inverse", "--q 0,1_0", "--q=0,1_0: '1_0' is not a number", ""),
    ("inverse", "--q 0,1rad", "--q=0,1rad: '1rad' is not a number", ""),
    ("inverse", "--q 0,deg", "--q=0,deg: 'deg' is not a number", ""),
    ("inverse", "--q elbo=1", "--q=elbo=1: 'two-link' has no movable joint 'elbo'", "'elbow'?"),
    ("inverse", "--q elbow=1,elbow=2", "--q=elbow=1,elbow=2: 'elbow' is given twice", ""),
    (
        "inverse",
        "--q elbow=1,2",
        "--q=elbow=1,2: some values have a joint name and others do not",
        "",
    ),
    ("inverse", "--q elbow=", "--q=elbow=: a number is missing", ""),
    ("inverse", "--q =1", "--q==1: '=1' must have the form JOINT=VALUE", ""),
    ("inverse", "--qd x,0", "--qd=x,0: 'x' is not a number", ""),
    ("inverse", "--tau 0,0", "robolin inverse: no such option '--tau'", ""),
    ("inverse", "--q", "--q: requires a value", "--help"),
    ("inverse", "--format tabel", "--format: 'tabel' is not one of 'table'", "'table'?"),
    ("inverse", "--state pose.csv", "--state=pose.csv: not a state file", "--trajectory pose.csv"),
    ("lqr", "--weight q", "--weight=q: 'q' must have the form NAME=WEIGHT", "q=VALUE"),
    ("lqr", "--weight p=1", "--weight: state 'p' not found", "use q, qd, JOINT/q"),
    ("identify", "--trajectory x.csv --what frction", "'frction' is not one of", "'friction'?"),
    ("inverse", "--gravity x", "--gravity=x: 'x' is not a number", ""),
    ("inverse", "--gravity 0,1", "--gravity=0,1: must have 1 or 3 numbers, got 2", ""),
    (
        "inverse",
        "--gravity -9.81",
        "--gravity=-9.81: a single number is a magnitude and must be ≥ 0, got -9.81",
        "0,0,-9.81",
    ),
    ("inverse", "--lock elbow", "--lock=elbow: 'elbow' must have the form JOINT=VALUE", ""),
    ("inverse", "--lock elbow=1 --lock elbow=2", "--lock=elbow=2: 'elbow' is given twice", ""),
    (
        "inverse",
        "--armature elbow=1deg",
        "--armature=elbow=1deg: the value of 'elbow' is not an angle",
        "",
    ),
    (
        "inverse",
        "--armature elbow=-1",
        "--armature: the value of joint 'elbow' must be ≥ 0, got -1.0",
        "",
    ),
    (
        "inverse",
        "--payload tip",
        "--payload=tip: must have the form LINK:MASS[@X,Y,Z]",
        "tool0:1.5",
    ),
    ("inverse", "--payload tip:x", "--payload=tip:x: 'x' is not a number", ""),
    ("inverse", "--payload tip:1@0,0", "--payload=tip:1@0,0: must have 3 numbers, got 2", "X,Y,Z"),
    ("inverse", "--wrench tip", "--wrench=tip: must have the form LINK=FX,FY,FZ,TX,TY,TZ", ""),
    ("inverse", "--wrench tip=1,2,3", "--wrench=tip=1,2,3: must have 6 numbers, got 3", "FX,FY,FZ"),
    (
        "inverse",
        "--wrench-frame body",
        "--wrench-frame: 'body' is not one of 'follower', 'dead', 'world'",
        "",
    ),
    ("inverse", "--friction-velocity x", "--friction-velocity=x: 'x' is not a number", ""),
    ("inverse", "--friction-velocity 0", "--friction-velocity: must be > 0, got 0.0", ""),
    ("inverse", "--precision 0", "--precision: must be 1 to 17, got 0", ""),
    (
        "inverse",
        "--format xml",
        "--format: 'xml' is not one of 'table', 'csv', 'json', 'npz', 'parquet', 'mat'",
        "",
    ),
    ("inverse", "-o out.txt", "out.txt: unknown file extension '.txt'", ".csv"),
    ("inverse", "extra", "robolin inverse: unexpected argument 'extra'", "robolin inverse --help"),
    ("forward", "--tau 1deg,0", "--tau=1deg,0: joint 'shoulder': the value is not an angle", ""),
    (
        "forward",
        "--qdd 0,0",
        "--qdd: has no effect on this command",
        "use `robolin inverse`, which computes torques from --qdd",
    ),
    ("forward", "--tau holt", "--tau=holt: 'holt' is not a number", ""),
    ("forward", "--method fast", "'fast' is not one of", ""),
    ("mass-matrix", "--qd 0,0", "--qd: has no effect on this command", "use --q only"),
    (
        "linearize-inverse",
        "--perturb dtau=0,1",
        "--perturb=dtau=0,1: must be one of dq, dqd, dqdd, got 'dtau'",
        "",
    ),
    (
        "linearize-inverse",
        "--perturb 0,1",
        "--perturb=0,1: must be one of dq, dqd, dqdd, got '0,1'",
        "",
    ),
    ("linearize-inverse", "--perturb dq=0,x", "--perturb=dq=0,x: 'x' is not a number", ""),
    (
        "linearize-inverse",
        "--perturb dq=0,1 --perturb dq=1,0",
        "--perturb=dq=1,0: 'dq' is given twice",
        "",
    ),
    (
        "linearize-forward",
        "--perturb dqdd=0,1",
        "--perturb=dqdd=0,1: must be one of dq, dqd, dtau, got 'dqdd'",
        "",
    ),
    ("linearize-forward", "--tau 0,0 --qdd 0,0", "--tau: cannot be used with --qdd", ""),
    ("linearize-forward", "--tau hold --qdd 0,0", "--tau: cannot be used with --qdd", ""),
    ("diagonalize", "--inverse-transform", "--inverse-transform: requires --nu", ""),
    (
        "diagonalize",
        "--inverse-transform --unnormalized --nu 0,0",
        "--inverse-transform: requires --xi",
        "--xi 0.1,0.2",
    ),
    (
        "diagonalize",
        "--inverse-transform --curvature",
        "--curvature: cannot be used with --inverse-transform",
        "remove the other options",
    ),
    (
        "diagonalize",
        "--inverse-transform --nu 0,0 --qd 0,0",
        "--qd: has no effect on this command",
        "",
    ),
    ("diagonalize", "--nu 0,0", "--nu: has no effect on this command", "--q, --qd, --tau"),
    ("inspect", "-o out.csv", "out.csv: unknown file extension for a report", "use .json, .txt"),
    ("inspect", "-o out.json --format table", "out.json: the extension means json, not table", ""),
    ("validate", "--q 0,0", "robolin validate: no such option '--q'", ""),
]


@in_groups("verb,flags,says,hints", TWO_LINK)
def test_wrong_flags_are_rejected(verb: str, flags: str, says: str, hints: str) -> None:
    """The error names the flag, its value and what is wrong; a hint helps where it can."""
    ran = robolin(verb, "two-link", *flags.split(" "))

    assert (ran.code, ran.out) == (2, ""), ran.err
    error, *more = ran.err.splitlines()
    assert error.startswith("error: ")
    assert says.lower() in error.lower()
    assert not hints or hints in more[0].removeprefix("hint: ")


def test_degrees_are_rejected_for_prismatic_joints(tmp_path: Path) -> None:
    """A length in degrees is an error, by place, by name and when locked; an angle is not."""
    arm = tmp_path / "lifter.yaml"
    arm.write_text(SLIDER)

    for flags in (["--q=1deg,0"], ["--q=lift=1deg"], ["--qd=lift=1deg"], ["--lock=lift=1deg"]):
        ran = robolin("inverse", arm, *flags)
        assert (ran.code, ran.out) == (2, "")
        assert "joint 'lift'" in ran.err
    for flags in (["--q=0.1,90deg"], ["--lock=turn=90deg"]):
        assert robolin("inverse", arm, *flags).code == 0


def test_a_follower_has_no_value_of_its_own() -> None:
    """A joint that mimics another is named as such, with its leader."""
    ran = robolin("inverse", "panda-fingers", "--q", "panda_finger_joint2=0.01")

    assert ran.code == 2
    assert "joint 'panda_finger_joint2' is a mimic joint and has no value of its own" in ran.err
    assert "panda_finger_joint1" in ran.err


def test_one_stdin_cannot_be_arm_and_trajectory() -> None:
    """Standard input is read once."""
    ran = robolin("inverse", "-", "--trajectory", "-", stdin=SLIDER.encode())

    assert (ran.code, ran.out) == (2, "")
    assert "standard input is already used for ARM" in ran.err


def test_a_file_name_that_is_not_text_is_rejected() -> None:
    """Results carry the names of files, so a name has to be one."""
    ran = robolin("inverse", "arm\udcff.urdf")

    assert (ran.code, ran.out) == (2, "")
    assert "the file name must be valid UTF-8" in ran.err


def test_several_wrong_options_are_still_wrong_usage() -> None:
    """Several errors keep their common exit code."""
    ran = robolin("inverse", "two-link", "--friction-velocity", "0", "--armature", "elbow=-1")

    assert ran.code == 2
    assert ran.err.count("error: ") == 2


@pytest.mark.parametrize(
    "flags, says, hints",
    [
        ("--lock elbo=1", "lock: joint 'elbo' not found", "did you mean 'elbow'?"),
        ("--payload tp:1", "payload: link 'tp' not found", "did you mean 'tip'?"),
        ("--wrench tp=1,2,3,4,5,6", "wrench: link 'tp' not found", "did you mean 'tip'?"),
        ("--tip tp", "tip: link 'tp' not found", "did you mean 'tip'?"),
        ("--base bas", "base: link 'bas' not found", "did you mean 'base'?"),
        (
            "--armature elbo=1",
            "armature: joint 'elbo' not found",
            "did you mean 'elbow'?",
        ),
        ("--joints elbo,shoulder", "joints: joint 'elbo' not found", "did you mean 'elbow'?"),
        (
            "--joints elbow",
            "joints: 'shoulder' missing",
            "name every movable joint; use --lock to fix a joint",
        ),
    ],
)
def test_unknown_names_are_rejected(flags: str, says: str, hints: str) -> None:
    """The flag and the file do not fit together: both are named, with what was meant."""
    ran = robolin("inverse", "two-link", *flags.split(" "))

    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error: two-link.yaml: ")
    assert says in ran.err
    assert hints in ran.err


def test_choices_are_on_one_line() -> None:
    """A missing argument is named with its choices, in a message of one line."""
    ran = robolin("completion")
    assert ran.code == 2
    assert "choose from: bash, zsh, fish" in ran.err.lower()


@pytest.mark.parametrize("flags", [["--copy", "two-link"], ["--show", "two-link"], ["--schema"]])
def test_an_output_without_effect_is_rejected(
    flags: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list of arms can be written to a file; other outputs reject -o."""
    monkeypatch.chdir(tmp_path)
    ran = robolin("models", *flags, "-o", "x.json")
    assert (ran.code, ran.out, list(tmp_path.iterdir())) == (2, "", [])
    assert "which only writes the list of robots" in ran.err


# command and options -> hint
SLIPS = [
    ("inverse --gravty 0", "did you mean --gravity?"),
    ("inverse --trajectry x", "did you mean --trajectory?"),
    ("inverse --wernch a", "did you mean --wrench or --wrench-frame?"),
    ("inverse --joint 1", "did you mean --joints?"),
    ("inverse --no-damp", "did you mean --no-damping?"),
    ("inverse --jobbs=3", "did you mean --jobs?"),
    ("simulate --dur 3", "did you mean --duration?"),
    ("inverse --foo", "run `robolin inverse --help`"),
    ("simulate --bar 3", "run `robolin simulate --help`"),
    # names of other programs
    ("inverse --qdot 0,0", "did you mean --qd?"),
    ("inverse --velocity 0,0", "did you mean --qd?"),
    ("inverse --dq 0,0", "did you mean --qd?"),
    ("inverse --acceleration 0,0", "did you mean --qdd?"),
    ("inverse --position 0,0", "did you mean --q?"),
    ("inverse --mass 3", "did you mean --payload?"),
    ("inverse --output-file x", "did you mean --output?"),
    ("forward --torque 1", "did you mean --tau?"),
    ("forward --effort 1,1", "did you mean --tau?"),
    ("simulate --steps 3", "did you mean --rows?"),
    ("simulate --timestep 3", "did you mean --dt?"),
    ("lqr --Q 1", "did you mean --weight?"),
    ("poles --csv", "did you mean --format csv?"),
    ("jacobian --link x", "did you mean --frame?"),
    ("poles --pose home", "did you mean --q?"),
    ("lqr -Q 1", "did you mean --weight?"),
    ("simulate --tf 3", "did you mean --duration?"),
    ("poles --g 0", "did you mean --gravity?"),
    ("response --step", "the step response is the default: add --duration 2"),
    ("inverse --robot x", "pass the robot as an argument: robolin inverse ARM"),
    # options of other commands
    ("inverse --tau 0,0", "use `robolin forward`, which computes accelerations from --tau"),
    ("inverse --torque 0,0", "use `robolin forward`, which computes accelerations from --tau"),
    ("inverse --duration 1", "--duration is an option of excite, response, optimize"),
]


@pytest.mark.parametrize(("typed", "hint"), SLIPS, ids=[row[0] for row in SLIPS])
def test_an_unknown_option_has_a_hint(typed: str, hint: str) -> None:
    """Hints name a similar option, the option of this meaning, or commands with the option."""
    verb, *flags = typed.split(" ")
    assert robolin(verb, "two-link", *flags).err.endswith(f"\nhint: {hint}\n")


@pytest.mark.parametrize(
    ("typed", "error"),
    [
        ("inverse two-link --precision 0", "--precision: must be 1 to 17, got 0"),
        ("inverse two-link --jobs 0", "--jobs: must be at least 1, got 0"),
        ("inverse two-link --jobs=1.5", "--jobs: '1.5' is not an integer"),
        ("check a.npz --rtol x", "--rtol: 'x' is not a number"),
        ("inverse two-link --q", "--q: requires a value"),
        ("inverse two-link --strict=1", "--strict: takes no value"),
        ("inverse", "robolin inverse: missing argument 'ARM'"),
        ("batch none", "robolin batch: 'none' is not one of 'plan', 'status', 'merge'"),
    ],
)
def test_errors_name_the_option_as_typed(typed: str, error: str) -> None:
    """An error has the form `WHERE: rule and value`."""
    ran = robolin(*typed.split())
    assert (ran.code, ran.out, ran.err.splitlines()[0]) == (2, "", f"error: {error}")


def test_values_separated_by_spaces_have_a_hint_with_commas() -> None:
    """The hint has the same values with commas."""
    ran = robolin("inverse", "two-link", "--q", "0.1 -0.2")
    assert (ran.code, ran.out) == (2, "")
    assert "values must be separated by commas" in ran.err
    assert "hint: write 0.1,-0.2" in ran.err


@pytest.mark.parametrize(
    "typed",
    ["--q 0.1 -0.2", "--q=0.1 -0.2", "--q 0.1, -0.2", "--q shoulder=0.1 elbow=-0.2"],
)
def test_values_in_several_words_are_joined(typed: str) -> None:
    """Blanks between the numbers of a command line mean the same as commas."""
    ran = robolin("inverse", "two-link", *typed.split(), "--format", "csv")
    assert (ran.code, ran.out) == (0, robolin("inverse", "two-link", "--q", "0.1,-0.2").out)


def test_a_number_that_follows_another_option_is_an_argument() -> None:
    """Only values per joint are joined."""
    assert robolin("inverse", "two-link", "--precision", "3", "4").code == 2
    assert robolin("inverse", "--q", "0.1", "0.2", "two-link").code == 0


@pytest.mark.parametrize("option", ["--target", "--position", "--goal"])
def test_a_goal_of_ik_has_several_names(option: str) -> None:
    """The option of `simulate` and usual names work, with and without the frame."""
    expected = robolin("ik", "two-link", "--goal", "tip=1.2,0.5,0").out
    for goal in ("tip=1.2,0.5,0", "1.2,0.5,0"):
        assert robolin("ik", "two-link", f"{option}={goal}").out == expected != ""
    ran = robolin("ik", "panda", option, "0.4,0,0.5")
    assert "hint: choose a frame with --goal FRAME=X,Y,Z" in ran.err


def test_a_start_outside_the_limits_suggests_a_pose() -> None:
    """The error of an optimization from q = 0 names a pose within the limits."""
    ran = robolin("optimize", "panda", "--goal", "home", "--duration", "1")
    assert ran.code == 3
    assert "the start position of joint 'panda_joint4' is 0 rad" in ran.err
    assert "hint: use --q home, a pose within the limits" in ran.err


def test_a_recording_is_not_plotted_as_a_result(tmp_path: Path, monkeypatch) -> None:
    """The hint has the command that computes a result from the recording."""
    pytest.importorskip("matplotlib", reason="plots are drawn with matplotlib")
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text("time,a\n0,1\n")
    ran = robolin("plot", "log.csv", "-o", "log.svg")
    assert (ran.code, ran.out) == (3, "")
    assert "log.csv: is a recording, not a result of robolin" in ran.err
    assert "`robolin inverse ARM --trajectory log.csv -o tau.npz`" in ran.err


def test_units_in_numbers_have_a_hint(tmp_path: Path) -> None:
    """Degrees are a suffix of angles on the command line; a duration has no unit."""
    ran = robolin("inverse", "two-link", "--q", "30,20", "--degrees")
    assert "hint: write angles on the command line as 30deg" in ran.err
    ran = robolin("simulate", "two-link", "--duration", "3s")
    assert ran.err.endswith("hint: write numbers like 0.5 or 1e-3, without a unit\n")
    log = tmp_path / "log.csv"
    log.write_text("time,shoulder_deg,elbow_deg\n0,10,20\n1,11,20\n")
    ran = robolin("inverse", "two-link", "--trajectory", log)
    assert "; add --degrees if the values are in degrees" in ran.err


def test_every_command_has_quiet() -> None:
    """-q is an option of every command that has options."""
    for name, command in commands().items():
        words = [word for param in command.params for word in param.opts]
        assert ("-q" in words) == bool(command.options_metavar), name


@pytest.mark.parametrize("command", ["record", "sweep", "batch plan"])
def test_quiet_before_a_recorded_command_gets_its_place(command: str) -> None:
    """The options of a recorded command follow it."""
    ran = robolin(*command.split(), "-q", "inverse", "panda")
    assert ran.code == 2
    assert f"error: robolin {command}: no such option '-q'\n" in ran.err
    assert f"hint: write -q after the command, as in robolin {command} COMMAND ARM -q\n" in ran.err


@pytest.mark.parametrize("words", ["-q inverse panda", "batch -q", "help --quiet"])
def test_quiet_before_a_command_gets_its_place(words: str) -> None:
    """The hint was about --q, the positions."""
    ran = robolin(*words.split())
    assert ran.code == 2
    assert "hint: write -q after the command, as in robolin inverse panda -q\n" in ran.err
    assert run_ok("inverse", "panda", "-q").err == ""


def test_quiet_hides_warnings_and_notes(tmp_path: Path) -> None:
    """-q leaves the result and the exit code unchanged; `validate -q` lists errors only."""
    robot = tmp_path / "odd.urdf"
    inertia = "ixx='9' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'"
    robot.write_text(
        f"<robot name='odd'><link name='a'/><link name='b'><inertial><mass value='1'/>"
        f"<inertia {inertia}/></inertial></link><joint name='j' type='continuous'>"
        f"<parent link='a'/><child link='b'/></joint></robot>"
    )
    for words in (["inverse", robot], ["validate", robot]):
        plain, quiet = robolin(*words), robolin(*words, "-q")
        assert "triangle-inequality" in plain.out + plain.err
        assert plain.code == quiet.code
        assert "triangle-inequality" not in quiet.out + quiet.err
    assert robolin("validate", robot, "--quiet").out == f"{robot}: 2 warnings\n"
    assert run_ok("sweep", "inverse", robot, "--payload", "b:1,2", "-q").err == ""


def test_an_unknown_command_to_record_has_a_suggestion() -> None:
    ran = robolin("record", "inverze", "two-link")
    assert "unknown command 'inverze'" in ran.err
    assert "did you mean 'inverse'?" in ran.err
    assert "has no result to store" in robolin("record", "plot", "two-link").err


def test_similar_files_are_suggested(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("motion.csv", "motion.npz", "gains.npz"):
        Path(name).touch()
    ran = robolin("inverse", "two-link", "--trajectory", "motoin.csv")
    assert (ran.code, "hint: did you mean 'motion.csv'?" in ran.err) == (4, True)
    ran = robolin("simulate", "two-link", "--duration", "1", "--feedback", "gainz.npz")
    assert (ran.code, "hint: did you mean 'gains.npz'?" in ran.err) == (4, True)
    ran = robolin("inverse", "two-link", "--trajectory", "other/motoin.csv")
    assert (ran.code, "hint: check the path" in ran.err) == (4, True)


def test_a_flag_without_hyphens_is_suggested() -> None:
    ran = robolin("models", "show", "acrobot")
    assert "did you mean `--show acrobot`?" in ran.err
    ran = robolin("simulate", "two-link", "duration", "0.01")
    assert "did you mean `--duration 0.01`?" in ran.err


@pytest.mark.parametrize(
    "words", [["models", ""], ["inspect", "panda", " "], ["poles", "panda", ""]]
)
def test_an_empty_word_is_wrong_usage(words: list[str]) -> None:
    ran = robolin(*words)
    assert (ran.code, "unexpected argument" in ran.err) == (2, True)


def test_files_that_cannot_be_read_are_not_suggested(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken link has the missing name itself; names that are not UTF-8 are rejected."""
    monkeypatch.chdir(tmp_path)
    Path("motion.csv").symlink_to("absent.csv")
    Path(os.fsdecode(b"mot\xffion.csv")).touch()
    ran = robolin("inverse", "two-link", "--trajectory", "motion.csv")
    assert (ran.code, "hint: check the path" in ran.err) == (4, True)


def test_far_goals_have_a_hint_with_the_unit_and_no_words_of_python() -> None:
    ran = robolin("ik", "iiwa14", "--goal", "726.8,0,0")
    hint = "move the goal (goal positions are in m), use more starting points with --starts, or "
    assert f"{hint}ignore the limits with --ignore-limits\n" in ran.err


def test_hints_of_the_command_line_name_flags_only() -> None:
    ran = robolin(
        "simulate",
        *["two-link", "--control", "pd", "--kp", "1e9", "--kd", "1e7", "--duration", "1"],
    )
    hint = "use smaller --kp and --kd, --integrator radau, or --dt 1.7e-08 or less"
    assert f"hint: {hint}\n" in ran.err
    assert "in Python" not in ran.err
    assert "integrator=" not in ran.err
