"""robolin check: recompute stored results and compare."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from itertools import cycle
from pathlib import Path

import numpy as np
import pytest

from robolin.checking.outcome import CheckOutcome, junit
from robolin.description.robot_source import bundled_path
from robolin.description.urdf import urdf_reader
from robolin.description.yaml import yaml_arm
from robolin.engine.compiled import kernels
from robolin.io.stored import read_result
from tests.cli.command import START, CommandRun, forked, process, robolin, run_ok
from tests.work import count_calls

STATE = ("--q", "0.3,-0.7", "--qd", "0.5,-1.2", "--qdd", "0.8,0.4")
TWO_LINK = """\
robolin: 1
name: two-link
joints:
  - {name: shoulder, type: revolute, parent: base, child: upper, axis: [0, 1, 0], damping: 0.1}
  - {name: elbow, type: revolute, parent: upper, child: forearm, axis: [0, 1, 0],
     origin: {xyz: [1, 0, 0]}}
links:
  - {name: base}
  - {name: upper, mass: 2.0, com: [0.5, 0, 0], inertia: {iyy: 0.2, izz: 0.2, ixx: 0.01}}
  - {name: forearm, mass: 1.2, com: [0.4, 0, 0], inertia: {iyy: 0.1, izz: 0.1, ixx: 0.01}}
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an arm, a motion and a folder for stored results."""
    (tmp_path / "arm.yaml").write_text(TWO_LINK)
    (tmp_path / "stored").mkdir()
    rows = np.random.default_rng(4).uniform(-1, 1, (300, 4))
    header = "shoulder/position,elbow/position,shoulder/velocity,elbow/velocity"
    text = "\n".join([header, *(",".join(map(repr, row)) for row in rows.tolist())])
    (tmp_path / "motion.csv").write_text(f"{text}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def record(path: str = "stored/a.npz", *more: str) -> str:
    run_ok("record", "inverse", "arm.yaml", *STATE, "-o", path, *more)
    return path


def edited(old: str, new: str) -> None:
    text = Path("arm.yaml").read_text()
    assert text.count(old) == 1
    Path("arm.yaml").write_text(text.replace(old, new))


def status(ran: CommandRun) -> list[str]:
    """The first word of the line of each case."""
    return re.findall(r"^(same|differs|updated|refused) ", ran.out, re.MULTILINE)


@pytest.mark.parametrize("form", ["npz", "csv", "json", "parquet"])
@pytest.mark.usefixtures("project")
def test_nothing_changed(form: str) -> None:
    """A result of any format is the same as long as nothing changes."""
    for question in (STATE, ("--trajectory", "motion.csv")):
        run_ok("record", "inverse", "arm.yaml", *question, "-o", f"stored/a.{form}")
        ran = robolin("check", f"stored/a.{form}")
        assert (ran.code, ran.err) == (0, "")
        assert status(ran) == ["same"]


@pytest.mark.usefixtures("project")
def test_what_changed_is_named() -> None:
    """A heavier link is named with both masses, and the efforts with joint and unit."""
    path = record()
    edited("mass: 1.2", "mass: 1.26")
    ran = robolin("check", path)
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0] == "1 checked: 1 differs"
    lines = lines[3:]
    assert lines[:3] == [
        "stored/a.npz: differs",
        "link forearm: mass 1.2 → 1.26 kg (+5 %)",
        "input arm.yaml has changed",
    ]
    assert [line.split()[0] for line in lines[5:7]] == ["shoulder/effort", "elbow/effort"]
    assert all("N·m" in line and line.endswith("nothing") for line in lines[5:7])


@pytest.mark.usefixtures("project")
def test_rows_of_a_trajectory_are_named() -> None:
    """The worst row of each column is reported, with the number of rows."""
    run_ok("record", "inverse", "arm.yaml", "--trajectory", "motion.csv", "-o", "m.parquet")
    text = Path("motion.csv").read_text().splitlines()
    cells = text[12].split(",")
    text[12] = ",".join([*cells[:3], repr(float(cells[3]) + 0.25)])
    Path("motion.csv").write_text("\n".join(text))
    ran = robolin("check", "m.parquet", "--format", "json")
    (case,) = json.loads(ran.out)["cases"]
    assert ran.code == 1
    assert {entry["row"] for entry in case["differences"]} == {12}
    assert case["notes"] == ["input motion.csv has changed"]
    assert case["model"] == []


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "stored_with, flags, code",
    [
        ((), (), 1),
        (("--rtol", "1"), (), 0),
        ((), ("--rtol", "1"), 0),
        (("--rtol=1",), ("--rtol=0",), 1),
    ],
)
def test_tolerances(stored_with: tuple[str, ...], flags: tuple[str, ...], code: int) -> None:
    """A tolerance may be stored with the result; one on the command line takes precedence."""
    path = record("stored/a.npz", *stored_with)
    edited("mass: 1.2", "mass: 1.20001")
    ran = robolin("check", path, *flags)
    assert ran.code == code
    assert "link forearm: mass" in ran.out


@pytest.mark.usefixtures("project")
def test_a_parameter_without_effect_still_differs() -> None:
    """The base's mass changes no torque, but the exact check reports it."""
    path = record()
    edited("{name: base}", "{name: base, mass: 3.0}")
    ran = robolin("check", path)
    assert ran.code == 1
    assert "link base: mass 0 → 3 kg" in ran.out


@pytest.mark.usefixtures("project")
def test_a_changed_comment_is_not_a_difference() -> None:
    """A file with unchanged parameters is reported as changed, and passes."""
    path = record()
    edited("robolin: 1", "# lighter soon\nrobolin: 1")
    ran = robolin("check", path)
    assert ran.code == 0
    assert "input arm.yaml has changed" in ran.out


@pytest.mark.usefixtures("project")
def test_all_lists_equal_entries_too() -> None:
    """--all has a line for every entry."""
    ran = run_ok("check", record(), "--all")
    (line,) = (line for line in ran.out.splitlines() if line.startswith("shoulder/effort"))
    effort = f"{read_result('stored/a.npz').arrays['tau'][0]:.5g}"
    assert line.split()[1:3] == [effort, effort]
    assert "shoulder/effort" not in run_ok("check", "stored/a.npz").out


def test_inputs_are_found_from_the_stored_file(project: Path, monkeypatch) -> None:
    """The working folder does not matter; a project that moved as a whole is checked as before."""
    record()
    monkeypatch.chdir("/")
    run_ok("check", project / "stored/a.npz")
    moved = project.parent / "moved"
    project.rename(moved)
    run_ok("check", moved / "stored/a.npz")


@pytest.mark.usefixtures("project")
def test_inputs_elsewhere() -> None:
    """A missing arm is reported with the searched path; --root and --model set another."""
    path = record("stored/a.npz")
    Path("else").mkdir()
    Path("arm.yaml").rename("else/arm.yaml")
    ran = robolin("check", path)
    assert ran.code == 4
    assert "the arm 'arm.yaml' does not exist\n" in ran.out
    assert "--root FOLDER" in ran.out
    run_ok("check", path, "--root", "else")
    run_ok("check", path, "--model", "else/arm.yaml")
    Path("else/arm.yaml").rename("else/other.yaml")
    run_ok("check", path, "--model", "else/other.yaml")


@pytest.mark.usefixtures("project")
def test_a_result_is_not_taken_for_its_recording() -> None:
    """A result that is called as its recording, which is elsewhere, is not read in its place."""
    Path("in").mkdir()
    Path("in/m.csv").write_text("time,shoulder/position,elbow/position\n0,0,0\n1,0.1,0.2\n")
    run_ok("inverse", "two-link", "--trajectory", "in", "-o", "res/", "-q")
    ran = robolin("check", "res/m.csv")
    assert ran.code == 4
    assert "res/m.csv: the trajectory 'm.csv' does not exist\n" in ran.out
    assert "--root FOLDER" in ran.out
    run_ok("check", "res/m.csv", "--root", "in")


@pytest.mark.usefixtures("project")
def test_another_arm_with_the_same_name_is_not_used(monkeypatch) -> None:
    """Recorded paths are relative to the stored file or --root, not to the working folder."""
    path = Path(record()).resolve()
    Path("else/stored").mkdir(parents=True)
    Path("here").mkdir()
    Path("here/arm.yaml").write_text(TWO_LINK)
    Path("arm.yaml").rename("else/arm.yaml")
    run_ok("check", path, "--root", "else/stored")
    monkeypatch.chdir("here")
    assert robolin("check", path).code == 4


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("question", [STATE, ("--trajectory", "motion.csv")])
def test_a_number_edited_in_the_stored_file_is_damage(question: tuple[str, ...]) -> None:
    """A stored number that is not the one that was stored is rejected, not called a difference."""
    run_ok("record", "inverse", "arm.yaml", *question, "-o", "a.csv")
    lines = Path("a.csv").read_text().splitlines()
    lines[-1] = f"1{lines[-1].lstrip('-')}"
    Path("a.csv").write_text("\n".join(lines) + "\n")
    ran = robolin("check", "a.csv")
    assert ran.code == 3
    assert "array 'tau' was changed after it was stored" in ran.out


@pytest.mark.usefixtures("project")
def test_results_without_record_are_checked_too() -> None:
    """Every file of -o can be checked; its arm is searched next to it and in this folder."""
    run_ok("inverse", "arm.yaml", *STATE, "-o", "stored/plain.json")
    run_ok("check", "stored/plain.json")
    run_ok("mass-matrix", "two-link", "--q", "-1,2", "--factor", "-o", "stored/bundled.npz")
    run_ok("check", "stored/bundled.npz")


@pytest.mark.usefixtures("project")
def test_every_kind_of_flag_is_restored() -> None:
    """Repeated, negative, named and bare flags are restored."""
    flags = ("--payload", "forearm:1", "--payload=forearm:2@0,0,1", "--gravity", "-1,2,-3")
    more = ("--no-damping", "--lock", "elbow=-30deg", "--wrench", "forearm=1,2,3,-4,5,6")
    path = "stored/flags.npz"
    run_ok("record", "linearize-forward", "arm.yaml", "--q=-0.3", *flags, *more, "-o", path)
    run_ok("check", path)
    assert read_result(path).meta["options"]["payload"] == ["forearm:1", "forearm:2@0,0,1"]


@pytest.mark.usefixtures("project")
def test_an_arm_from_standard_input_needs_model() -> None:
    """Piped input cannot be read again, so --model names the arm."""
    run_ok("record", "inverse", "-", "-o", "piped.npz", stdin=TWO_LINK.encode())
    ran = robolin("check", "piped.npz")
    assert ran.code == 3
    assert "the arm was read from standard input" in ran.out
    run_ok("check", "piped.npz", "--model", "arm.yaml")


@pytest.mark.usefixtures("project")
def test_damage_is_exit_code_3() -> None:
    """A damaged file is rejected with 3, and the others are checked all the same."""
    good, bad = record(), record("stored/b.npz")
    Path(bad).write_bytes(Path(bad).read_bytes()[:-9])
    ran = robolin("check", good, bad, "stored/none.npz")
    assert ran.code == 4
    assert sorted(status(ran)) == ["refused", "refused", "same"]
    assert robolin("check", good, bad).code == 3


@pytest.mark.usefixtures("project")
def test_an_arm_that_lost_a_joint_is_reported() -> None:
    """The stored question does not fit any more; the error lists the changes of the arm."""
    path = record()
    edited("name: elbow, type: revolute", "name: elbow, type: fixed")
    ran = robolin("check", path)
    assert ran.code == 3
    assert "2 values" in ran.out
    assert "joint elbow: type revolute → fixed" in ran.out
    assert "refused  stored/a.npz  inverse arm.yaml  " in ran.out
    (case,) = json.loads(robolin("check", path, "--format", "json").out)["cases"]
    assert "2 values" in case["errors"][0]["message"]
    assert ("elbow", "type") in {(change["name"], change["quantity"]) for change in case["model"]}


@pytest.mark.usefixtures("project")
def test_hints_fit_the_command_check() -> None:
    """Options of the recorded command are named as such; a path is not named twice."""
    run_ok("record", "inverse", "arm.yaml", "--trajectory", "motion.csv", "-o", "a.npz")
    edited("name: elbow", "name: wrist")
    ran = robolin("check", "a.npz")
    assert ran.code == 3
    assert "hint: record the result again with `robolin inverse`: " in ran.out
    Path("arm.yaml").unlink()
    assert "the arm 'arm.yaml' does not exist\n" in robolin("check", "a.npz").out


@pytest.mark.usefixtures("project")
def test_the_provenance_of_a_csv_result_is_not_checked_twice() -> None:
    """`check stored/*` matches FILE.csv and FILE.csv.meta.json, which belong together."""
    table = record("stored/a.csv")
    ran = robolin("check", table, f"./{table}.meta.json")
    assert (ran.code, status(ran)) == (0, ["same"])
    alone = robolin("check", f"{table}.meta.json")
    assert alone.code == 3
    assert "contains the provenance of stored/a.csv, not a result" in alone.out
    assert "hint: check stored/a.csv" in alone.out


@pytest.mark.usefixtures("project")
def test_a_folder_is_refused_with_its_files_as_hint() -> None:
    """A folder has no extension either, but that is not the mistake."""
    record()
    ran = robolin("check", "stored")
    assert ran.code == 4
    assert "stored: is a folder, not a stored result" in ran.out
    assert "hint: check the results in it: stored/*" in ran.out


@pytest.mark.usefixtures("project")
def test_against_compares_two_files() -> None:
    """--against runs nothing, so that the arm need not be there."""
    record("a.npz")
    edited("mass: 1.2", "mass: 1.3")
    record("b.csv")
    Path("arm.yaml").unlink()
    assert robolin("check", "a.npz", "--against", "a.npz").code == 0
    ran = robolin("check", "a.npz", "--against", "b.csv")
    assert ran.code == 1
    assert "link forearm: mass 1.2 → 1.3 kg" in ran.out


@pytest.mark.usefixtures("project")
def test_update_replaces_results_and_never_passes() -> None:
    """--update replaces and lists different results and exits with 1; the next check passes."""
    path = record("stored/a.csv", "--rtol", "0")
    untouched = record("stored/b.npz", "--rtol", "10")
    before = Path(untouched).read_bytes()
    edited("mass: 1.2", "mass: 1.3")
    ran = robolin("check", path, untouched, "--update")
    assert ran.code == 1
    assert sorted(status(ran)) == ["same", "updated"]
    assert "link forearm: mass 1.2 → 1.3 kg" in ran.out
    assert Path(untouched).read_bytes() == before
    assert robolin("check", path, "--update").code == 0


@pytest.mark.usefixtures("project")
def test_github_annotations() -> None:
    """A result that differs is one command, its text on one line, at the line that was changed."""
    path = record()
    edited("mass: 1.2", "mass: 1.26")
    ran = robolin("check", path, "--format", "github")
    command, count = ran.out.splitlines()
    file, line = _annotated(command)
    assert "mass: 1.26" in Path(file).read_text().splitlines()[line - 1]
    assert ",title=robolin check%3A stored/a.npz differs::" in command
    assert "link forearm: mass 1.2 → 1.26 kg (+5 %25)%0A" in command
    assert count == "1 checked: 1 differs"


def _annotated(command: str) -> tuple[str, int]:
    match = re.match(r"::error file=([^,]*),line=(\d+),", command)
    assert match, command
    return match[1], int(match[2])


@pytest.mark.usefixtures("project")
def test_annotations_together_with_a_file() -> None:
    """With -o the file has the form of its extension, and the annotations are shown as well."""
    path = record()
    edited("mass: 1.2", "mass: 1.26")
    ran = robolin("check", path, "--format", "github", "-o", "report.xml")
    assert ran.out == robolin("check", path, "--format", "github").out
    assert ElementTree.parse("report.xml").getroot().get("failures") == "1"


@pytest.mark.usefixtures("project")
def test_annotations_without_a_line() -> None:
    """A difference with an unchanged model is annotated at the stored file."""
    path = record()
    run_ok("record", "inverse", "arm.yaml", "--q", "0.3,0.1", "-o", "other.npz")
    ran = robolin("check", path, "--against", "other.npz", "--format", "github")
    assert ran.out.startswith("::error file=stored/a.npz,title=")


@pytest.mark.usefixtures("project")
def test_junit() -> None:
    """JUnit's XML has a case for each result, failures and errors counted."""
    good, bad = record("good & well.npz"), record("bad.npz")
    Path(bad).write_bytes(b"")
    assert robolin("check", good, bad, "-o", "report.xml").code == 3
    suite = ElementTree.parse("report.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("2", "0", "1")
    assert {case.get("name") for case in suite} == {"good & well.npz", "bad.npz"}
    text = junit([CheckOutcome("bell\a <1>", "a.npz", "differs", "inverse \x1b[0m")])
    (case,) = ElementTree.fromstring(text)
    assert (case.get("name"), case.get("classname")) == ("bell\\x07 <1>", "inverse \\x1b[0m")


@pytest.mark.usefixtures("project")
def test_usage() -> None:
    """Flags that cannot be used are wrong usage."""
    path = record()
    for words in (
        (path, "--suite", "s.toml"),
        (path, path + "x", "--against", path),
        (path, "--against", path, "--update"),
        (path, "--rtol", "-1"),
        (path, "-o", "report.pdf"),
        (path, "--against", path, "--model", "arm.yaml"),
        (path, "--against", path, "--root", "."),
        ("--root", "."),
    ):
        assert robolin("check", *words).code == 2


SUITE = """
[[case]]
name = "holding"
verb = "inverse"
arm = "arm.yaml"
state = { q = [0.3, -0.7] }
stored = "stored/holding.npz"

[[case]]
verb = "forward"
arm = "two-link"
stored = "new/fall.csv"
"""


def test_a_suite_is_recorded_and_checked(project: Path, monkeypatch) -> None:
    """`record --suite` makes what is missing, `check` without a file runs everything."""
    (project / "robolin.toml").write_text(SUITE)
    ran = robolin("check")
    assert ran.code == 3
    assert "run `robolin record --suite` to compute missing results" in ran.out
    assert run_ok("record", "--suite").out.splitlines()[-1] == "2 recorded, 0 already stored"
    assert run_ok("record", "--suite").out == "0 recorded, 2 already stored\n"
    monkeypatch.chdir(project / "stored")
    ran = run_ok("check")
    assert status(ran) == ["same", "same"]
    assert ran.out.startswith("2 checked: 2 same\n")


def test_a_case_with_a_changed_request_differs(project: Path) -> None:
    """A suite that was edited after recording does not agree with what is stored."""
    (project / "robolin.toml").write_text(SUITE)
    run_ok("record", "--suite")
    (project / "robolin.toml").write_text(SUITE.replace("0.3, -0.7", "0.3, -0.8"))
    ran = robolin("check")
    assert ran.code == 1
    assert "option q: 0.3,-0.7 → 0.3,-0.8" in ran.out
    assert robolin("check", "--update").code == 1
    run_ok("check")


def test_current_tolerances_of_the_suite_apply(project: Path) -> None:
    """A tolerance that the suite got after recording counts; one that is typed comes first."""
    (project / "robolin.toml").write_text(SUITE)
    run_ok("record", "--suite")
    edited("mass: 1.2", "mass: 1.20001")
    assert robolin("check").code == 1
    (project / "robolin.toml").write_text(f"rtol = 0.1\n{SUITE}")
    run_ok("check")
    assert robolin("check", "--rtol", "0").code == 1


def test_mistakes_in_a_suite_have_lines(project: Path) -> None:
    """An unknown key is an error with its line and what was meant."""
    (project / "robolin.toml").write_text(SUITE.replace("state =", "sate ="))
    ran = robolin("check")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == ("error: robolin.toml:6: unknown key 'sate'\nhint: did you mean 'state'?\n")


def test_a_wrong_case_is_reported_with_its_line(project: Path) -> None:
    """An invalid case is named with its line; the others are still recorded."""
    wrong = SUITE.replace("[0.3, -0.7]", "[0.3]") + "options = { gravity = -1 }\n"
    (project / "robolin.toml").write_text(
        wrong
        + SUITE.replace('"two-link"', '"panda"').replace("holding", "more").replace("fall", "other")
    )
    ran = robolin("record", "--suite")
    assert ran.code == 2
    assert ran.out.splitlines() == [
        "recorded more: stored/more.npz",
        "recorded other: new/other.csv",
    ]
    assert (
        "robolin.toml:2: case 'holding': --q=0.3: got 1 value, but 'two-link' has 2 joints"
        in ran.err
    )
    assert "robolin.toml:9: case 'fall': --gravity=-1" in ran.err


@pytest.mark.usefixtures("project")
def test_results_that_depend_on_lapack_are_explained() -> None:
    """A difference in numbers that depend on LAPACK comes with that explanation."""

    def notes(*words: str) -> list[str]:
        run_ok("record", *words, "-o", "a.npz")
        text = Path("arm.yaml").read_text()
        edited("mass: 1.2", "mass: 1.3")
        ran = robolin("check", "a.npz")
        Path("arm.yaml").write_text(text)
        assert ran.code == 1
        return [line for line in ran.out.splitlines() if "linear-algebra library" in line]

    assert notes("regressor", "arm.yaml", "--rank", "--samples", "3")
    assert not notes("regressor", "arm.yaml", "--q", "1,2")


def test_a_missing_suite_is_reported(tmp_path: Path, monkeypatch) -> None:
    """Without a suite and without files there is nothing to check."""
    monkeypatch.chdir(tmp_path)
    ran = robolin("check")
    assert ran.code == 4
    assert (
        "no robolin.toml in this folder or its parents, and no [tool.robolin] in a pyproject.toml"
        in ran.err
    )


def scaled(text: str, start: int) -> str:
    """The number that begins at this place, larger by one part in a million."""
    number = re.compile(r"[-+.\deE]+").match(text, start)
    assert number is not None
    return text[:start] + repr(float(number[0]) * (1 + 1e-6)) + text[number.end() :]


def single_changes() -> list[tuple[str, str, str]]:
    """(part, quantity, text) for every parameter of the Panda, changed by one part in a million.

    An axis is tilted by a millionth, along the directions in which its components are 0.
    """
    path = bundled_path("panda")
    assert path is not None
    text = path.read_text()
    changes = []
    part = ""
    inertial = False
    for tag in re.finditer(r"<(/?)(\w+)([^>]*)>", text):
        if tag[2] in ("link", "joint") and not tag[1] and 'name="' in tag[3]:
            part = re.search(r'name="([^"]*)"', tag[3])[1]
        inertial = (tag[2] == "inertial" and not tag[1]) or (inertial and tag[2] != "inertial")
        attributes = {
            "mass": ["value"],
            "inertia": ["ixx", "ixy", "ixz", "iyy", "iyz", "izz"],
            "origin": ["xyz", "rpy"],
            "axis": ["xyz"],
            "dynamics": ["damping"],
        }.get(tag[2], [])
        for name in attributes:
            attribute = re.search(rf'\b{name}="([^"]*)"', tag[3])
            if attribute is None:
                continue
            base = tag.start(3) + attribute.start(1)
            for number in re.finditer(r"[-+.\deE]+", attribute[1]):
                quantity = {"dynamics": "damping"}.get(tag[2], tag[2])
                if inertial and tag[2] == "origin":
                    quantity = "com" if name == "xyz" else "inertia"
                if float(number[0]):
                    changes.append((part, quantity, scaled(text, base + number.start())))
                elif tag[2] == "axis":
                    start = base + number.start()
                    changes.append(
                        (part, "axis", f"{text[:start]}1e-6{text[start + len(number[0]) :]}")
                    )
    return changes


@pytest.mark.slow
def test_one_part_in_a_million_is_found_and_named(tmp_path: Path) -> None:
    """A change of 1e-6 in any mass, COM, inertia, origin, axis or damping is reported.

    A hundred and more changes, each checked against one recorded state with all joints moving.
    """
    arm, stored = tmp_path / "panda.urdf", tmp_path / "stored.npz"
    source = bundled_path("panda")
    assert source is not None
    arm.write_text(source.read_text())
    state = [
        f"--{name}={','.join(str(x) for x in np.linspace(a, b, 7))}"
        for name, a, b in (("q", 0.3, -1.1), ("qd", -0.8, 0.9), ("qdd", 0.5, -0.4))
    ]
    run_ok("record", "inverse", str(arm), *state, "-o", str(stored))
    changes = single_changes()
    quantities = {quantity for _, quantity, _ in changes}
    assert quantities == {"mass", "com", "inertia", "origin", "axis", "damping"}
    assert len(changes) > 130
    for part, quantity, text in changes:
        arm.write_text(text)
        ran = robolin("check", str(stored), "--format", "json")
        assert ran.code == 1, f"{part}: {quantity}"
        (case,) = json.loads(ran.out)["cases"]
        changed = {(change["name"], change["quantity"].split()[0]) for change in case["model"]}
        assert changed == {(part, quantity)}


@pytest.mark.slow
@pytest.mark.parametrize(
    "options, width",
    [(("--jobs=2", "--chunk-rows=7"), "2"), (("--jobs=2", "--chunk-rows=101"), "2"), ((), "8")],
)
def test_threads_chunks_and_width_change_nothing(
    project: Path, options: tuple[str, ...], width: str
) -> None:
    """Made with one thread, checked with two, seven rows at a time, on registers of two numbers.

    Seven rows are run without a kernel, 101 with one.
    """
    for form in ("npz", "csv"):
        words = ["linearize-forward", "arm.yaml", "--trajectory", "motion.csv", "--jobs", "1"]
        run_ok("record", *words, "-o", f"stored/m.{form}")
    ran = run_with_width(width, "check", "stored/m.npz", "stored/m.csv", *options)
    assert (ran.code, ran.err) == (0, "")
    assert status(ran) == ["same", "same"]


@pytest.mark.slow
def test_an_invalid_width_is_reported(project: Path) -> None:
    """ROBOLIN_WIDTH is 2, 4 or 8."""
    ran = run_with_width("3", "inverse", "arm.yaml", "--trajectory", "motion.csv", "-q")
    assert ran.code == 2
    assert ran.err.startswith("error: ROBOLIN_WIDTH: must be 2, 4 or 8, got '3'\n")


def run_with_width(width: str, *args: str) -> CommandRun:
    """Run a command in a new process, on registers of this width."""
    return forked(START, *args, ROBOLIN_WIDTH=width)


@pytest.mark.slow
def test_fifty_results_over_ten_arms_take_little_work(tmp_path: Path, monkeypatch) -> None:
    """A suite of 50 single states reads each case's arm at most once and compiles nothing."""
    monkeypatch.chdir(tmp_path)
    arms = ["iiwa14", "j2s6s200", "panda", "panda-fingers", "puma560"]
    arms += ["two-link", "ur10", "ur5", "xarm7", "arm.yaml"]
    Path("arm.yaml").write_text(TWO_LINK)
    verbs = ["inverse", "forward", "mass-matrix", "linearize-inverse", "linearize-forward"]
    cases = [
        f'[[case]]\nname = "{arm}-{verb}-{damping}"\nverb = "{verb}"\narm = "{arm}"\n'
        f"options = {{ no-damping = {damping} }}\nstored = 's/{arm}-{verb}-{damping}.npz'\n"
        for i, arm in enumerate(arms)
        for verb, damping in zip(verbs, cycle(("true", "false") if i % 2 else ("false", "true")))
    ]
    Path("robolin.toml").write_text("\n".join(cases))
    run_ok("record", "--suite")
    read = [
        count_calls(monkeypatch, module, name)
        for module, name in ((urdf_reader, "read_urdf"), (yaml_arm, "read_yaml"))
    ]
    compiled = count_calls(monkeypatch, kernels, "_compiled")
    ran = run_ok("check")
    assert 10 <= sum(map(len, read)) <= 50
    assert not compiled
    assert ran.out.startswith("50 checked: 50 same\n")
    seconds = [float(line.split()[-2]) for line in ran.out.splitlines() if line.endswith(" s")]
    assert len(seconds) == 50
    assert seconds == sorted(seconds)


@pytest.mark.slow
def test_the_entry_point_checks(project: Path) -> None:
    """The command works in a process of its own."""
    path = str(project / record("stored/a.npz"))
    ran = process("check", path)
    assert (ran.code, ran.err) == (0, "")


def test_prismatic_joints_have_their_own_units(project: Path) -> None:
    """On an arm with both kinds of joints, every entry has the unit of its joint."""
    edited("name: elbow, type: revolute", "name: elbow, type: prismatic")
    run_ok("record", "mass-matrix", "arm.yaml", "-o", "m.npz")
    run_ok("record", "inverse", "arm.yaml", "--q", "0.3,0.2", "--qdd", "1,1", "-o", "t.npz")
    edited("mass: 1.2", "mass: 1.3")
    ran = robolin("check", "m.npz", "t.npz", "--format", "json")
    units = {
        entry["entry"]: entry["unit"]
        for case in json.loads(ran.out)["cases"]
        for entry in case["differences"]
    }
    assert units["shoulder/effort"] == "N·m"
    assert units["elbow/effort"] == "N"
    assert units["mass_matrix/elbow/elbow"] == "N per m/s²"
    assert units["mass_matrix/shoulder/shoulder"] == "N·m per rad/s²"
