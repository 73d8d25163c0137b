"""robolin validate in continuous integration: many files, ignored findings, and formats."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from robolin.cli.commands.validate_verb import command
from robolin.cli.report import VALIDATE_EXTENSIONS, VALIDATE_FORMS
from tests.cli.command import robolin, run_ok

ODD = """\
<robot name="{name}">
  <link name="base"/>
  <link name="arm"><inertial><mass value="-1"/><inertia ixx="1" ixy="0" ixz="0" iyy="1"
    iyz="0" izz="1"/></inertial></link>
  <joint name="turn" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
    <dynamics damping="-0.1"/>
  </joint>
</robot>
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files with findings, one of them in a subfolder."""
    (tmp_path / "old").mkdir()
    for name in ("one", "two", "old/three"):
        (tmp_path / f"{name}.urdf").write_text(ODD.format(name=Path(name).name))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ids_by_file(*args: str) -> dict[str, set[str]]:
    """The ids found in each file."""
    files = json.loads(robolin("validate", *args, "--format", "json").out)
    return {
        file["source"]: {each["id"] for each in file["findings"]}
        for file in files.get("files", [files])
    }


def test_many_files_and_patterns(folder: Path) -> None:
    """Every file that is named or matched is validated, once, and one bad file is enough for 1."""
    listed = ids_by_file("one.urdf", "**/*.urdf", "panda", "one.urdf")

    assert list(listed) == ["one.urdf", "old/three.urdf", "two.urdf", "panda"]
    assert listed["two.urdf"] == listed["old/three.urdf"]
    assert listed["two.urdf"] > {"negative-mass", "negative-damping"}
    assert listed["panda"] == set()
    assert robolin("validate", "panda", "two.urdf").code == 1
    assert "2 files: 1 without findings" in robolin("validate", "panda", "two.urdf").out


def test_a_pattern_without_files_is_rejected(folder: Path) -> None:
    """A check of nothing does not pass."""
    ran = robolin("validate", "nowhere/*.urdf")

    assert ran.code == 4
    assert "no file matches this pattern" in ran.err


def test_ignored_ids_do_not_count(folder: Path) -> None:
    """--ignore removes findings from the count and the exit code, and reports how many."""
    every = sorted(ids_by_file("one.urdf")["one.urdf"])
    ran = robolin("validate", "one.urdf", "--ignore", ",".join(every[:-1]), "--ignore", every[-1])

    assert ran.code == 0
    assert ran.out == f"one.urdf: no findings, {len(every)} ignored\n"
    assert robolin("validate", "one.urdf", "--ignore", every[0]).code == 1


@pytest.mark.parametrize(
    "name, message",
    [
        ("negative-mas", "did you mean 'negative-mass'?"),
        ("cycle", "errors cannot be ignored"),
    ],
)
def test_what_cannot_be_ignored(folder: Path, name: str, message: str) -> None:
    """A misspelt id and one of an error are rejected instead of having no effect."""
    ran = robolin("validate", "one.urdf", "--ignore", name)

    assert ran.code == 2
    assert message in ran.err


def test_settings_of_a_project(folder: Path) -> None:
    """robolin.toml ignores ids everywhere, or in the files that match, from its own folder."""
    ids = sorted(ids_by_file("one.urdf")["one.urdf"])
    (folder / "robolin.toml").write_text(
        f'[validate]\nignore = ["{ids[0]}"]\n[validate.per-file-ignores]\n"old/*" = {ids[1:]}\n'
    )

    assert ids_by_file("one.urdf")["one.urdf"] == set(ids[1:])
    assert ids_by_file("old/three.urdf")["old/three.urdf"] == set()
    assert robolin("validate", "old/three.urdf").code == 0


@pytest.mark.parametrize(
    "text, message",
    [
        ("[validate]\nignor = []\n", "robolin.toml:2: unknown key 'ignor'"),
        ("[validate]\n\nignore = ['x']\n", "robolin.toml:3: unknown finding 'x'"),
        ("[validate]\nignore = 1\n", "robolin.toml:2: must be a list of ids"),
        ("[validate]\nbaseline = 'no.json'\n", "reading the baseline failed"),
        ("validate = 3\n", "must be a table"),
        ("[validate]\nper-file-ignores = 3\n", "must be a table of patterns"),
    ],
)
def test_wrong_settings(folder: Path, text: str, message: str) -> None:
    """Every error in the settings is reported with its line."""
    (folder / "robolin.toml").write_text(text)
    ran = robolin("validate", "one.urdf")

    assert ran.code in (2, 3, 4)
    assert message in ran.err


def test_a_baseline_lets_only_new_findings_count(folder: Path) -> None:
    """Findings of the baseline pass; a new one does not."""
    run_ok("validate", "*.urdf", "--write-baseline", "known.json")
    (folder / "robolin.toml").write_text('[validate]\nbaseline = "known.json"\n')
    assert robolin("validate", "*.urdf").code == 0

    text = (folder / "one.urdf").read_text()
    # line numbers may change
    (folder / "one.urdf").write_text(text.replace("<robot", "\n\n<robot"))
    assert robolin("validate", "*.urdf").code == 0

    (folder / "one.urdf").write_text(text.replace('xyz="0 0 1"', 'xyz="0 0 2"'))
    ran = robolin("validate", "*.urdf")
    assert ran.code == 1
    assert "axis-not-unit" in ran.out
    assert "negative-mass" not in ran.out
    assert robolin("validate", "old/three.urdf").code == 1


def test_a_baseline_has_no_errors(folder: Path) -> None:
    """A file that does not load is never known and harmless."""
    (folder / "broken.urdf").write_text("<robot")
    ran = robolin("validate", "*.urdf", "--write-baseline", "known.json")

    assert ran.code == 2
    assert not (folder / "known.json").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a baseline"),
        ("[]", "the version of the baseline is not supported"),
        ('{"format": 2}', "the version of the baseline is not supported"),
        ('{"format": 1, "findings": [1]}', "not a baseline"),
    ],
)
def test_a_damaged_baseline_is_rejected(folder: Path, text: str, message: str) -> None:
    """An invalid baseline is not taken for an empty one."""
    (folder / "known.json").write_text(text)
    (folder / "robolin.toml").write_text('[validate]\nbaseline = "known.json"\n')
    ran = robolin("validate", "one.urdf")

    assert ran.code == 3
    assert message in ran.err


def test_github_annotations_have_file_line_and_level(folder: Path) -> None:
    """Each finding is one workflow command, the worst first; without --all at most three."""
    lines = robolin("validate", "one.urdf", "--format", "github", "--all").out.splitlines()
    findings = json.loads(robolin("validate", "one.urdf", "--format", "json").out)["findings"]
    findings.sort(key=lambda each: ("error", "warning", "note").index(each["level"]))
    few = robolin("validate", "one.urdf", "--format", "github").out.splitlines()
    assert few[:-1] == lines[: min(3, len(findings))]
    assert ("not annotated" in few[-1]) == (len(findings) > 3)

    commands = [line for line in lines if line.startswith("::")]
    assert len(commands) == len(findings)
    for line, each in zip(commands, findings, strict=True):
        level = {"note": "notice"}.get(each["level"], each["level"])
        assert line.startswith(f"::{level} file=one.urdf,line={each['line']},")
        assert each["message"].replace("%", "%25") in line


def test_hostile_names_are_no_workflow_commands(folder: Path) -> None:
    """A name from the file can neither begin a line nor steer the terminal."""
    name = "a&#10;::error::b"
    (folder / "one.urdf").write_text(ODD.format(name="x").replace('"turn"', f'"{name}"'))
    for form in VALIDATE_FORMS:
        text = robolin("validate", "one.urdf", "--format", form).out
        assert not any(line.startswith("::error::b") for line in text.splitlines())


def test_junit_counts_files(folder: Path) -> None:
    """One test case for each file, a failure where something counts."""
    root = ET.fromstring(robolin("validate", "one.urdf", "panda", "--format", "junit").out)

    assert (root.get("tests"), root.get("failures")) == ("2", "1")
    assert [case.find("failure") is not None for case in root] == [True, False]


def test_sarif_has_rules_locations_and_suppressions(folder: Path) -> None:
    """Every finding is a result with its rule and line; what is ignored is there, suppressed."""
    ran = robolin("validate", "one.urdf", "--format", "sarif", "--ignore", "negative-mass")
    (run,) = json.loads(ran.out)["runs"]
    rules = run["tool"]["driver"]["rules"]

    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        location = result["locations"][0]["physicalLocation"]
        assert location["artifactLocation"]["uri"] == "one.urdf"
        assert location["region"]["startLine"] > 0
        assert ("suppressions" in result) == (result["ruleId"] == "negative-mass")
    assert {rule["id"] for rule in rules} == ids_by_file("one.urdf")["one.urdf"]


def test_a_file_and_standard_output_together(folder: Path) -> None:
    """-o picks the form of the file by its extension, --format that of standard output."""
    ran = robolin("validate", "one.urdf", "-o", "x.sarif", "--format", "github")

    assert json.loads((folder / "x.sarif").read_text())["version"] == "2.1.0"
    assert ran.out.startswith("::")
    assert robolin("validate", "one.urdf", "-o", "y.xml").out == ""
    assert (folder / "y.xml").read_text().startswith("<?xml")
    assert robolin("validate", "one.urdf", "-o", "y.csv").code == 2


def test_the_flag_offers_every_format() -> None:
    (form,) = (param for param in command.params if param.name == "form")
    assert tuple(form.type.choices) == VALIDATE_FORMS  # type: ignore[attr-defined]
    assert set(VALIDATE_EXTENSIONS.values()) < set(VALIDATE_FORMS)


_DAMPED = """<robot name="arm"><link name="base"/><link name="rod"><inertial>
<origin xyz="0 0 0.5"/><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="hinge" type="continuous"><parent link="base"/><child link="rod"/><axis xyz="0 1 0"/>
<limit effort="9" velocity="9"/><dynamics damping="0.1"/></joint></robot>"""


def test_inspect_and_report_count_the_same_findings(tmp_path: Path) -> None:
    """Notes on other programs are findings of all three commands."""
    copied, page = tmp_path / "arm.urdf", tmp_path / "page.html"
    copied.write_text(_DAMPED)
    assert run_ok("validate", copied).out.endswith(": 1 note\n")
    assert "\n1 note; run `robolin validate`" in run_ok("inspect", copied).out
    run_ok("report", copied, "-o", page)
    assert "validate: 1 finding" in page.read_text("utf-8")
