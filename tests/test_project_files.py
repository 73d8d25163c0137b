"""Files about the project agree with the package."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from robolin.version import __version__

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == __version__
    assert {each["year"] for each in citation["references"]} == {1992, 1993, 1995, 2000}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_steps_with_few_rights(path: Path) -> None:
    """Every job has a machine and steps, and may only read the repository by default."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert all("run" in step or "uses" in step for step in job["steps"])


def test_workflows_test_the_declared_versions_of_python() -> None:
    declared = [
        line.strip().strip('",').rpartition(" ")[2]
        for line in (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
        if "Programming Language :: Python :: 3." in line
    ]
    tested = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    assert tested["jobs"]["quick"]["strategy"]["matrix"]["python"] == declared
