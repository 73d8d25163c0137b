"""robolin identify: tables, corrected files, refusals, and nothing half-written."""

from __future__ import annotations

import json
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin as library
from robolin.analysis.identify.recording import Recording
from robolin.cli.report import ReportTable, TextLines, fitting_sections
from robolin.core.arm_parameters import parameters
from robolin.description.robot_source import robot_text
from tests.analysis.identify_recordings import V0, recorded, true_arm
from tests.cli.command import robolin, run_ok
from tests.description.test_corrected_file import FILES

ARM = library.load("ur5")
TRUE = true_arm(ARM)


def write_csv(
    path: Path, recording: Recording, arm: library.Arm = ARM, *, header: bool = True
) -> Path:
    """Time, positions, velocities and efforts as CSV."""
    names = ["time"] + [
        f"{joint}/{word}"
        for word in ("position", "velocity", "effort")
        for joint in arm.joint_names
    ]
    columns = [recording.time[:, None], recording.q, recording.qd, recording.tau]
    text = "\n".join(",".join(map(repr, row)) for row in np.hstack(columns).tolist())
    path.write_text((",".join(names) + "\n" if header else "") + text + "\n")
    return path


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A recording of an arm that differs from the bundled one, with friction and noise."""
    recording = recorded(TRUE, coulomb=3.0, offset=0.3, noise=0.01)
    return write_csv(tmp_path_factory.mktemp("identify") / "log.csv", recording)


def test_currents_require_gains(log: Path, tmp_path: Path) -> None:
    """The hint for columns of currents has the gains: currents are not efforts."""
    currents, new = tmp_path / "currents.csv", tmp_path / "new.urdf"
    currents.write_text(log.read_text().replace("/effort", "/current"))

    run = robolin("identify", "ur5", "--trajectory", currents, "-o", new)

    assert run.code == 3
    assert "--columns 'current={joint}/current' --torque-constants VALUES" in run.err
    assert not new.exists()


@pytest.mark.slow
def test_a_corrected_file_and_its_numbers(log: Path, tmp_path: Path) -> None:
    """The verdict is first; the written file loads, passes validate, and predicts better."""
    urdf, npz = tmp_path / "new.urdf", tmp_path / "found.npz"
    plot = tmp_path / "fit.svg"
    pictures = ["--plot", str(plot)] if find_spec("matplotlib") else []

    run = run_ok("identify", "ur5", "--trajectory", log, "-o", urdf, "--npz", npz, *pictures)

    assert run.out.startswith("error on held-out rows: ")
    assert "the inertias of all bodies are physically possible" in run.out
    assert "mean" in run.out
    assert "--friction-velocity" in run.err
    assert "--armature" in run.err
    assert plot.exists() == bool(pictures)
    before, after = (robolin("validate", arm).out.count("warning ") for arm in ("ur5", urdf))
    assert after <= before
    with np.load(npz) as archive:
        stored = {**archive}
    names = stored["names"].tolist()
    assert stored["covariance"].shape == (len(names), len(names))
    corrected = library.load(urdf)
    at = names.index(f"{ARM.links[2].name}/mass")
    assert corrected.links[2].inertia.mass == pytest.approx(float(stored["values"][at]), rel=1e-12)
    document = json.loads(str(stored["settings"]))
    assert document["stages"][-1]["error"] < 0.3 * document["stages"][0]["error"]


@pytest.mark.slow
def test_recordings_kept_back_may_be_files(log: Path, tmp_path: Path) -> None:
    """--holdout names other recordings, or a part of each."""
    other = write_csv(tmp_path / "other.csv", recorded(TRUE, 6.0, coulomb=3.0, seed=3))
    arguments = ("identify", "ur5", "--trajectory", log, "--width", "0.1", "--lag", "0")
    for holdout in (other, "20%", "spread"):
        run = run_ok(*arguments, "--holdout", holdout, "--what", "friction", "--format", "json")
        assert [stage["name"] for stage in json.loads(run.out)["stages"]] == ["file", "friction"]


def test_a_poor_fit_is_a_warning(tmp_path: Path) -> None:
    """With the efforts of two joints exchanged, the error decreases, but the fit is poor."""
    recording = recorded(TRUE, coulomb=3.0, noise=0.01)
    exchanged = replace(recording, tau=recording.tau[:, [0, 1, 3, 2, 4, 5]])
    flags = ("--trajectory", write_csv(tmp_path / "log.csv", exchanged), "--what", "friction")

    run, quiet = (robolin("identify", "ur5", *flags, *more) for more in ((), ("-q",)))

    assert "warning: no parameter values explain the efforts of 'elbow_joint'" in run.err
    assert "warning" not in quiet.err


def test_a_complete_table_has_no_number_of_other_rows() -> None:
    """A table that is too high for the screen, but has few rows, is shown as it is."""
    table = ReportTable(("joint", "error"), [(f"joint{i}", "1 %") for i in range(4)])
    lines = [TextLines(["words"]), table, TextLines(["width: 0.1 s"] * 9, "Settings, all")]
    shown = fitting_sections(lines, 80, 8)
    assert [each.lines[0] for each in shown if isinstance(each, TextLines)] == [
        "words",
        "Also: Settings (--all)",
    ]


@pytest.mark.slow
def test_held_out_rows_at_rest_do_not_judge_a_fit(log: Path, tmp_path: Path) -> None:
    """At rest, torques show stiction: the hint names the held-out rows, not the fit."""
    q = np.full((600, ARM.n), 0.3)
    stiction = 2.0 * np.sign(np.sin(np.arange(len(q)) / 7.0))[:, None]
    tau = library.inverse(ARM, q) + stiction
    rest = Recording(0.01 * np.arange(len(q)), q, tau, 1e-5 * stiction + 0.0 * q)
    held_out, urdf = write_csv(tmp_path / "rest.csv", rest), tmp_path / "new.urdf"

    run = robolin("identify", "ur5", "--trajectory", log, "--holdout", held_out, "-o", urdf)

    assert run.code == 3
    assert "hint: no joint moves in the held-out rows" in run.err
    assert not urdf.exists()


@pytest.mark.slow
def test_nothing_is_written_if_the_error_does_not_fall(tmp_path: Path) -> None:
    """A recording of the file itself leaves nothing to correct; both files stay absent."""
    log = write_csv(tmp_path / "log.csv", recorded(ARM, 12.0, noise=0.05, seed=6))
    urdf, page = tmp_path / "new.urdf", tmp_path / "why.html"

    run = robolin("identify", "ur5", "--trajectory", log, "-o", urdf)

    assert run.code != 0
    assert "does not decrease" in run.err
    assert "nothing is written" in run.err
    assert not urdf.exists()
    run = robolin("identify", "ur5", "--trajectory", log, "-o", urdf, "--report", page)
    assert run.code != 0
    assert "no robot file is written" in run.err
    assert not urdf.exists()
    assert "Error on held-out rows" in page.read_text()


@pytest.mark.parametrize(
    "flags, message",
    [
        (["-o", "new.txt"], "the extension must be .urdf"),
        (["--npz", "found.csv"], "the extension must be .npz"),
        (["--report", "found.pdf"], "the extension must be .html"),
        (["--plot", "found.html"], "unknown plot extension"),
        (["-o", "absent/new.urdf"], "absent/new.urdf: "),
        (["--prior", "much"], "must be a fraction or a percentage"),
        (["--holdout", "0%"], "between 0 and 0.9, got 0.0"),
        (["--holdout", "0"], "between 0 and 0.9, got 0.0"),
        (["--holdout", "100%"], "between 0 and 0.9, got 1.0"),
        (["--holdout", "-.5"], "between 0 and 0.9, got -0.5"),
        (["--holdout", "3e1 %", "--what", "payload", "--payload-link", "x"], "link 'x' not found"),
        (["--clock", "slow"], "must be auto, stamps or a period in s"),
        (["--effort-scale", "1,2"], "must be one number or 6 numbers, got 2"),
        (["--effort-scale", "elbow=2"], "joint 'elbow' not found"),
        (["--effort-scale", "0.001"], "times the model torques"),
        (["--payload-link", "tool1"], "moving link 'tool1' not found"),
        (["--trajectory", "absent.csv"], "absent.csv"),
    ],
)
def test_wrong_usage_is_rejected(log: Path, flags: list[str], message: str) -> None:
    """Each error names the flag or the value."""
    run = robolin("identify", "ur5", "--trajectory", log, *flags)
    assert run.code not in (0, 70)
    assert message in run.err


def test_the_robot_file_is_never_overwritten(log: Path, tmp_path: Path) -> None:
    """-o must name another file than ARM, which is the prior of the fit."""
    urdf = tmp_path / "ur5.urdf"
    before = robot_text("ur5").text
    urdf.write_bytes(before)
    run = robolin("identify", urdf, "--trajectory", log, "-o", urdf)
    assert run.code == 2
    assert urdf.read_bytes() == before


@pytest.mark.parametrize("flag", ["--trajectory", "--holdout", "--unloaded"])
@pytest.mark.parametrize("named", ["logs/*.npz", "logs"])
def test_recordings_of_a_pattern_or_folder_are_never_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flag: str, named: str
) -> None:
    """Outputs are compared with every file that a pattern or a folder stands for."""
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    for name in ("logs/a.npz", "logs/b.npz", "other.npz"):
        np.savez(name, time=np.arange(3.0), position=np.zeros((3, 2)))
    before = Path("logs/a.npz").read_bytes()
    others = [] if flag == "--trajectory" else ["--trajectory", "other.npz"]
    run = robolin("identify", "two-link", *others, flag, named, "--npz", "logs/a.npz")
    assert run.code == 2
    assert "logs/a.npz: the output must not be the input 'logs/a.npz'" in run.err
    assert Path("logs/a.npz").read_bytes() == before


_XACRO = '<robot name="a" xmlns:xacro="http://www.ros.org/wiki/xacro">{}</robot>'
_LINKS = '<link name="base"/><link name="tip"><inertial><mass value="1"/>{}</inertial></link>'
_INERTIA = '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
_JOINT = (
    '<joint name="j" type="continuous"><parent link="base"/><child link="tip"/>'
    '<axis xyz="0 1 0"/></joint>'
)
_SDF = '<sdf version="1.9">{}</sdf>'
_BODY = '<body><joint name="j"/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body>'
# robot file, included file and output -> texts of both files
INCLUDES = {
    ("arm.urdf.xacro", "macros.xml"): (
        _XACRO.format('<xacro:include filename="macros.xml"/>' + _JOINT),
        _XACRO.format(_LINKS.format(_INERTIA)),
    ),
    ("arm.mjcf", "part.xml"): (
        '<mujoco><include file="part.xml"/></mujoco>',
        f"<mujoco><worldbody>{_BODY}</worldbody></mujoco>",
    ),
    ("arm.sdf", "part.sdf"): (
        _SDF.format("<world name='w'><include><uri>part.sdf</uri></include></world>"),
        _SDF.format(
            '<model name="m"><link name="base"/><link name="tip"/><joint name="j" type="revolute">'
            "<parent>base</parent><child>tip</child><axis><xyz>0 1 0</xyz></axis></joint></model>"
        ),
    ),
}


@pytest.mark.parametrize("names", INCLUDES, ids=lambda names: names[0])
def test_included_files_are_never_overwritten(
    names: tuple[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Macros and included models are inputs, though the command line does not name them."""
    monkeypatch.chdir(tmp_path)
    if names[0] == "arm.mjcf":
        pytest.importorskip("mujoco")
    Path("inc").mkdir()
    for name, text in zip(names, INCLUDES[names], strict=True):
        Path("inc", name).write_text(text)
    Path("log.csv").write_text("time,j/position,j/effort\n0,0,0\n")
    arm, output = (str(Path("inc", name)) for name in names)
    run = robolin("identify", arm, "--trajectory", "log.csv", "-o", output)
    assert run.code == 2, run.err
    assert f"{output}: the output must not be the input " in run.err
    assert Path(output).read_text() == INCLUDES[names][1]


def test_a_robot_file_that_changes_during_the_fit(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values of two versions of the file are never mixed."""
    urdf, output = tmp_path / "ur5.urdf", tmp_path / "new.urdf"
    urdf.write_bytes(robot_text("ur5").text)
    fit = library.identify

    def changing(*arguments: Any, **options: Any) -> library.Identification:
        urdf.write_bytes(urdf.read_bytes() + b"<!-- later -->")
        return fit(*arguments, **options)

    monkeypatch.setattr("robolin.analysis.identify.identify.identify", changing)
    flags = ("--what", "friction", "--width", "0.1", "--lag", "0")
    run = robolin("identify", urdf, "--trajectory", log, "-o", output, *flags)
    assert run.code == 3
    assert "ur5.urdf: changed while the fit was running; nothing is written" in run.err
    assert "hint: run the command again" in run.err
    assert not output.exists()


def test_a_file_that_ends_in_the_middle_of_a_row(log: Path, tmp_path: Path) -> None:
    """A row that is cut off is reported, or left out with a note."""
    cut = tmp_path / "cut.csv"
    text = log.read_text()
    cut.write_text(text[: len(text) - 40])

    run = robolin("identify", "ur5", "--trajectory", cut, "--what", "friction")

    assert run.code == 0, run.err
    assert "incomplete" in run.err


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_corrected_file_in_the_format_of_the_input(name: str, tmp_path: Path) -> None:
    """The file predicts the recording with the flags of the notes, and passes validate."""
    if name.endswith(".xml"):
        pytest.importorskip("mujoco")
    source, output = tmp_path / name, tmp_path / f"new{Path(name).suffix}"
    source.write_text(FILES[name])
    arm = library.load(source)
    recording = recorded(true_arm(arm), 10.0, coulomb=0.5, offset=0.1, noise=0.002)
    assert recording.qd is not None
    # another friction velocity for the first joint
    first = recording.qd[:, 0]
    recording.tau[:, 0] += 0.5 * (np.tanh(first / 0.2) - np.tanh(first / V0))
    log, npz = tmp_path / "log.csv", tmp_path / "found.npz"
    write_csv(log, recording, arm)

    run = run_ok("identify", source, "--trajectory", log, "-o", output, "--npz", npz)

    assert "torque offsets, which a robot file cannot store" in run.err
    assert ("--armature" in run.err) == (name in ("arm.urdf", "arm.sdf"))
    with np.load(npz) as archive:
        arrays = {**archive}
    velocities = dict(zip(arm.joint_names, arrays["friction_velocity"].tolist(), strict=True))
    named = ",".join(f"{joint}={v:g}" for joint, v in velocities.items())
    flag = named if arm.n > 1 else f"{velocities[arm.joint_names[0]]:g}"
    assert (f"--friction-velocity {flag}" in run.err) == (name != "arm.yaml")
    again = library.load(output, friction_velocity=None if name == "arm.yaml" else velocities)
    assert {joint.name: joint.friction_velocity for joint in again.joints} == velocities
    expected = dict(zip(arrays["names"].tolist(), arrays["values"].tolist(), strict=True))
    for each in parameters(again):
        if each.name != "armature" or name in ("arm.xml", "arm.yaml"):
            assert each.value == pytest.approx(expected[each.label], rel=1e-9, abs=1e-12)
    before, after = (robolin("validate", file).out for file in (source, output))
    assert after.count("warning ") <= before.count("warning ")
    assert "error" not in after


def test_a_log_without_efforts_is_rejected(log: Path, tmp_path: Path) -> None:
    """The error names the missing column, and no file is written."""
    kept = [",".join(line.split(",")[:13]) for line in log.read_text().splitlines()]
    (tmp_path / "log.csv").write_text("\n".join(kept) + "\n")
    urdf, npz = tmp_path / "new.urdf", tmp_path / "found.npz"

    run = robolin("identify", "ur5", "--trajectory", tmp_path / "log.csv", "-o", urdf, "--npz", npz)

    assert run.code not in (0, 70)
    assert "effort" in run.err
    assert not urdf.exists()
    assert not npz.exists()


def test_numbers_of_1e293_are_replaced(log: Path, tmp_path: Path) -> None:
    """Single numbers that cannot be measured leave the result as it is."""
    lines = log.read_text().splitlines()
    for row, column in ((300, 2), (700, 9), (1100, 15)):
        cells = lines[row].split(",")
        cells[column] = "1e293"
        lines[row] = ",".join(cells)
    wild = tmp_path / "wild.csv"
    wild.write_text("\n".join(lines) + "\n")
    flags = ("--what", "friction", "--width", "0.1", "--lag", "0", "--format", "json", "-q")

    clean, cleaned = (
        json.loads(run_ok("identify", "ur5", "--trajectory", path, *flags).out)["stages"][-1]
        for path in (log, wild)
    )

    assert cleaned["error"] == pytest.approx(clean["error"], rel=0.02)


@pytest.mark.slow
def test_check_identifies_again(tmp_path: Path) -> None:
    """`check` runs the stored command in the folder of the result, and finds another recording."""
    log, npz = tmp_path / "log.csv", tmp_path / "found.npz"
    write_csv(log, recorded(TRUE, 8.0, coulomb=3.0, noise=0.01))
    run_ok(
        *("identify", "ur5", "--trajectory", log, "--what", "friction", "--lag", "0", "--npz", npz)
    )

    assert "1 same" in run_ok("check", npz).out
    write_csv(log, recorded(TRUE, 8.0, coulomb=3.3, noise=0.01))
    run = robolin("check", npz)
    assert run.code == 1
    assert "elbow_joint/friction" in run.out
    assert robolin("check", npz, "--update").code == 3
    assert "identify again" in robolin("check", npz, "--against", npz).out


def test_check_of_a_result_without_the_option_holdout(tmp_path: Path) -> None:
    """A result of an older version held out the end of the recording, and is the same again."""
    log, npz = tmp_path / "log.csv", tmp_path / "old.npz"
    write_csv(log, recorded(TRUE, 8.0, coulomb=3.0, noise=0.01))
    flags = ("--what", "friction", "--lag", "0", "--holdout", "0.3", "--npz", npz)
    run_ok("identify", "ur5", "--trajectory", log, *flags)
    with np.load(npz) as archive:
        stored = {**archive}
    command = json.loads(str(stored["command"]))
    assert command["options"].pop("holdout") == ["0.3"]
    np.savez(npz, **{**stored, "command": np.array(json.dumps(command))})

    assert "1 same" in run_ok("check", npz).out
