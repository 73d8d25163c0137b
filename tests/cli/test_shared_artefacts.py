"""Shared outputs name files, not the folders of the machine."""

from __future__ import annotations

import gzip
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from tests.cli.command import ROOT, robolin

SECRET = "a-private-folder"


@pytest.fixture
def private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Arms, one of them wrong, and two recordings of one name, outside the working directory."""
    secret = tmp_path / SECRET
    for folder in ("arms", "logs/1", "logs/2"):
        (secret / folder).mkdir(parents=True)
    arm = (ROOT / "models" / "two-link.yaml").read_text()
    (secret / "arms/my.yaml").write_text(arm)
    (secret / "arms/other.yaml").write_text(arm.replace("9.81", "9.80"))
    (secret / "arms/bad.yaml").write_text(arm.replace("mass", "mas"))
    shutil.copy(ROOT / "models" / "ur5.urdf", secret / "arms")
    head = "time," + ",".join(
        f"{joint}/{word}"
        for word in ("position", "velocity", "acceleration")
        for joint in ("shoulder", "elbow")
    )
    for number in "12":
        rows = np.column_stack([np.arange(20) / 10, np.zeros((20, 6))])
        path = secret / "logs" / number / "a.csv"
        np.savetxt(path, rows, delimiter=",", header=head, comments="")
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return secret


def contains_folder(path: Path) -> bool:
    """Return whether the bytes of a file, or of archive members, contain the folder."""
    data = path.read_bytes()
    if path.suffix == ".npz":
        with zipfile.ZipFile(path) as archive:
            data += b"".join(archive.read(name).replace(b"\0", b"") for name in archive.namelist())
    if data.startswith(b"\x1f\x8b"):
        data = gzip.decompress(data)
    return SECRET.encode() in data or SECRET.encode("utf-16-le") in data


# arguments of a command; ARM, WRONG, URDF, OTHER and LOGS stand for absolute paths
WRITTEN = {
    **{
        f"inverse.{form}": f"inverse ARM --trajectory LOGS/1/a.csv -o inverse.{form}"
        for form in ("csv", "json", "npz", "parquet")
    },
    "simulate.json": "simulate ARM --q 0.1,0.2 --duration 0.05 -o simulate.json",
    "two.json": "inverse ARM --trajectory LOGS/1/a.csv --trajectory LOGS/2/a.csv -o two.json",
    "parts": "inverse ARM --trajectory LOGS/1/a.csv --trajectory LOGS/2/a.csv -o parts/ "
    "--part-rows 9",
    "planned": "plan inverse ARM --trajectory LOGS/1/a.csv -o planned/ --part-rows 9",
    "sensitivity.json": "sensitivity ARM --trajectory LOGS/1/a.csv --perturb dq=0.1,0 "
    "-o sensitivity.json",
    "arm.html": "report URDF -o arm.html",
    "two.html": "report ARM OTHER -o two.html",
    "plot.svg": "plot ARM -o plot.svg",
    "generated": "generate ARM inverse -o generated",
}
PRINTED = {
    **{f"validate {form}": f"validate WRONG URDF --format {form}" for form in ("sarif", "junit")},
    "validate github": "validate WRONG URDF --format github",
}


def words(command: str, private: Path) -> list[str]:
    places = {"ARM": "arms/my.yaml", "OTHER": "arms/other.yaml", "WRONG": "arms/bad.yaml"}
    for word, below in {**places, "URDF": "arms/ur5.urdf", "LOGS": "logs"}.items():
        command = command.replace(word, str(private / below))
    return command.split()


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_file_names_no_folder(private: Path, name: str) -> None:
    """Absolute paths of the command line are in no file that a command writes."""
    if name == "plot.svg":
        pytest.importorskip("matplotlib")
    ran = robolin(*words(WRITTEN[name], private))
    assert ran.code == 0, ran.err
    files = [path for path in Path.cwd().rglob("*") if path.is_file()]
    assert files
    assert [path.name for path in files if contains_folder(path)] == []


@pytest.mark.parametrize("name", PRINTED)
def test_an_annotation_names_no_folder(private: Path, name: str) -> None:
    """Annotations for continuous integration contain base names only."""
    ran = robolin(*words(PRINTED[name], private))
    assert ran.code == 1, ran.err
    assert SECRET not in ran.out
    assert "bad.yaml" in ran.out
    assert "ur5.urdf" in ran.out


@pytest.mark.parametrize("form", ["junit", "github"])
def test_a_checked_result_names_no_folder(private: Path, form: str) -> None:
    """Results that are checked by absolute paths are named by their last names."""
    stored = private / "stored.json"
    robolin("record", "inverse", private / "arms/my.yaml", "--q", "0.1,0.2", "-o", stored)
    (private / "arms/my.yaml").write_text((private / "arms/other.yaml").read_text())
    ran = robolin("check", stored, "--format", form)
    assert ran.code == 1, ran.err
    assert SECRET not in ran.out
    assert "stored.json" in ran.out


def test_paths_below_the_working_directory_stay(
    private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Annotations need paths from the root of a repository, however they were typed."""
    monkeypatch.chdir(private)
    for path in ("arms/bad.yaml", private / "arms/bad.yaml"):
        ran = robolin("validate", path, "--format", "github")
        assert "file=arms/bad.yaml,line=" in ran.out
        assert SECRET not in ran.out


def test_a_notebook_shows_no_folder(private: Path) -> None:
    """Representations of an arm and a result name the file only."""
    arm = library.load(private / "arms/my.yaml")
    states = library.States(trajectory=str(private / "logs/1/a.csv"))
    result = library.answer(arm, library.Question("inverse"), states, notify=lambda *_: None)
    shown = [repr(arm), arm._repr_html_(), repr(result), result._repr_html_()]
    assert "my.yaml" in shown[0]
    assert [text for text in shown if SECRET in text] == []
