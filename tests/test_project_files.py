"""Files about the project agree with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import robolin
from robolin import __version__

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def test_the_citation_has_the_version_of_the_package() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))
    assert citation["version"] == __version__
    years = [each.get("year") for each in citation["references"]]
    # the year of the first paper is not confirmed
    assert years == [None, 1992, 1995, 2000]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_run_steps_with_few_rights(path: Path) -> None:
    """Every job has a machine and steps, and may only read the repository by default."""
    workflow = yaml.safe_load(path.read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["runs-on"]
        assert all("run" in step or "uses" in step for step in job["steps"])


def test_workflows_name_actions_by_their_hash() -> None:
    """A tag of an action can be moved to another commit, a hash cannot."""
    used = [
        line.partition("uses:")[2].strip()
        for path in (*WORKFLOWS, ROOT / "action.yml")
        if path.exists()
        for line in path.read_text("utf-8").splitlines()
        if "uses:" in line
    ]
    assert used
    assert not [each for each in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v[\d.]+", each)]


def test_workflows_test_the_declared_versions_of_python() -> None:
    declared = [
        line.strip().strip('",').rpartition(" ")[2]
        for line in (ROOT / "pyproject.toml").read_text("utf-8").splitlines()
        if "Programming Language :: Python :: 3." in line
    ]
    tested = yaml.safe_load((ROOT / ".github/workflows/tests.yml").read_text("utf-8"))
    # 3.15 is declared after the first run that passes
    assert tested["jobs"]["quick"]["strategy"]["matrix"]["python"] == [*declared, "3.15"]


def test_every_public_name_is_stable_or_provisional() -> None:
    """The page on stable names lists each public name exactly once."""
    page = (ROOT / "docs/reference/stable-names.md").read_text("utf-8")
    blocks = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    listed = [name for block in blocks for name in block.split()]
    assert sorted(listed) == sorted(robolin.__all__)


def test_the_conda_recipe_has_the_dependencies_of_the_package() -> None:
    recipe = yaml.safe_load((ROOT / "packaging/conda/recipe.yaml").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert recipe["context"]["version"] == __version__
    assert f">={recipe['context']['python_min']}" == project["requires-python"]
    needed = [each.replace(" ", "") for each in recipe["requirements"]["run"]]
    assert needed[1:] == project["dependencies"]
    (entry,) = recipe["build"]["python"]["entry_points"]
    assert entry == f"robolin = {project['scripts']['robolin']}"


def test_constraints_cover_the_dependencies() -> None:
    """Every package of the tests has a version that satisfies the lower bound in the project."""
    lines = (ROOT / "packaging/constraints.txt").read_text("utf-8").splitlines()[1:]
    pinned = {_name(name): version for name, _, version in (x.partition("==") for x in lines)}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    for need in (*project["dependencies"], *extras["test"], *extras["test-all"]):
        name, _, least = need.partition(";")[0].partition(">=")
        name = _name(name.partition("[")[0])
        if name != "robolin":
            assert name in pinned, need
            assert _version(pinned[name]) >= _version(least or "0"), need


def _name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _version(text: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", text)]
