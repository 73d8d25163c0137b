"""inspect, validate and models: text and tables, or JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import robolin as library
from robolin.description.robot_source import bundled_names
from tests.cli.command import robolin, run_ok
from tests.published import each_file

DOUBTFUL = """\
<robot name="doubtful">
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.3 0 0"/><mass value="1"/>
    <inertia ixx="0.01" ixy="0" ixz="0" iyy="0.01" iyz="0" izz="0.03"/></inertial></link>
  <joint name="turn" type="continuous"><parent link="base"/><child link="arm"/></joint>
</robot>
"""
MASSLESS_BETWEEN = """\
robolin: 1
name: pan-tilt
joints:
  - {name: pan, type: continuous, parent: base, child: yoke, axis: [0, 0, 1]}
  - {name: tilt, type: continuous, parent: yoke, child: camera, axis: [0, 1, 0]}
links:
  - {name: yoke}
  - {name: camera, mass: 1, com: [0.1, 0, 0], inertia: {ixx: 0.01, iyy: 0.01, izz: 0.01}}
"""


@pytest.mark.parametrize("name", bundled_names())
def test_inspect_shows_every_bundled_arm(name: str) -> None:
    """Text has the tree, every joint, the mass and the contract; JSON the same as data."""
    arm = library.load(name)
    text = run_ok("inspect", name).out
    document = json.loads(run_ok("inspect", name, "--format", "json").out)

    assert all(joint in text for joint in arm.joint_names)
    assert all(
        heading in text for heading in ("Tree", "Joints", "kg in total", "Model assumptions")
    )
    assert [row["name"] for row in document["joints"] if not row["mimic"]] == list(arm.joint_names)
    assert document["contract"]["gravity"] == arm.contract["gravity"]
    assert document["n"] == arm.n


def test_inspect_takes_the_model_flags() -> None:
    """The inspected arm is the one that the other verbs use."""
    document = json.loads(
        run_ok(
            "inspect", "two-link", "--lock", "elbow=1", "--payload", "tip:2", "--format=json"
        ).out
    )

    assert document["n"] == 1
    assert document["mass"]["moving"] == 4.0
    assert "2 kg on link 'tip'" in document["contract"]["payload"]


def test_inspect_has_no_colour_in_a_pipe_by_default() -> None:
    """Escape sequences appear only on request."""
    assert "\x1b" not in run_ok("inspect", "two-link").out
    assert "\x1b" in run_ok("inspect", "two-link", "--color", "always").out


@pytest.mark.parametrize("form", ["json", "txt"])
def test_a_report_goes_to_a_file(form: str, tmp_path: Path) -> None:
    """-o writes what stdout would have shown."""
    file = tmp_path / f"report.{form}"
    ran = run_ok("inspect", "two-link", "-o", file)
    shown = run_ok("inspect", "two-link", *(["--format", "json"] if form == "json" else []))

    assert ran.out == ""
    assert file.read_text(encoding="utf-8") == shown.out


def test_validate_is_quiet_about_a_good_file() -> None:
    """Nothing found is exit code 0 and one line."""
    ran = robolin("validate", "panda")

    assert (ran.code, ran.out) == (0, "panda: no findings\n")


def test_validate_locates_what_it_finds(tmp_path: Path) -> None:
    """A finding is `file:line: level id: message`, a hint, and exit code 1."""
    file = tmp_path / "doubtful.urdf"
    file.write_text(DOUBTFUL)
    ran = robolin("validate", file)
    listed = robolin("validate", file, "--format", "json")

    assert (ran.code, ran.err) == (1, "")
    assert f"{file}:3: warning triangle-inequality: link 'arm'" in ran.out
    assert ran.out.splitlines()[-1] == f"{file}: 1 warning"
    assert listed.code == 1
    (finding,) = json.loads(listed.out)["findings"]
    assert (finding["id"], finding["level"]) == ("triangle-inequality", "warning")
    assert finding["line"] == 3
    assert json.loads(listed.out)["counts"] == {"error": 0, "warning": 1, "note": 0}


def test_validate_reports_a_file_that_does_not_parse(tmp_path: Path) -> None:
    """A file no verb could load is findings here, not a failure of the command."""
    file = tmp_path / "broken.urdf"
    file.write_text("<robot name='x'>\n<link name='a'/>\n<joint></robot>\n")
    ran = robolin("validate", file)

    assert ran.code == 1
    assert f"{file}:3" in ran.out
    assert " error " in ran.out


def test_validate_counts_notes_only_when_strict(tmp_path: Path) -> None:
    """A note alone is exit code 0, with --strict exit code 1."""
    file = tmp_path / "massless.yaml"
    file.write_text(MASSLESS_BETWEEN)
    counts = json.loads(robolin("validate", file, "--format", "json").out)["counts"]

    assert counts["error"] == counts["warning"] == 0
    assert counts["note"] > 0
    assert robolin("validate", file).code == 0
    assert robolin("validate", file, "--strict").code == 1


def test_validate_of_a_missing_file_is_exit_code_4() -> None:
    """A file that cannot be read cannot be validated."""
    ran = robolin("validate", "nowhere.urdf")

    assert (ran.code, ran.out) == (4, "")


def test_models_lists_every_bundled_arm() -> None:
    """Name, joints, title, source and licence of each; the numbers are those of the arms."""
    rows = json.loads(run_ok("models", "--format", "json").out)
    text = run_ok("models").out

    assert [row["name"] for row in rows] == list(bundled_names())
    assert all(row["joints"] == library.load(row["name"]).n for row in rows)
    assert all(row["title"] and row["source"] and row["licence"] for row in rows)
    assert all(row["name"] in text and row["source"] in text for row in rows)


@each_file("file")
def test_every_published_file_is_inspected_or_rejected(file: Path) -> None:
    """A published file gives JSON, or an error with its location and nothing on stdout."""
    ran = robolin("inspect", file, "--format", "json")

    assert ran.code in (0, 3), ran.err
    if ran.code == 0:
        assert json.loads(ran.out)["n"] > 0
    else:
        assert ran.out == ""
        assert ran.err.startswith(f"error: {file}")
