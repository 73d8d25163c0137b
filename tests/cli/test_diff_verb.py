"""robolin diff: what differs between two models."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from robolin.description.bundled import bundled_path
from tests.cli.command import answered, robolin


@pytest.fixture
def heavier(tmp_path: Path) -> Path:
    """The Panda with one mass and one limit changed and a link renamed."""
    source = bundled_path("panda")
    assert source is not None
    text = source.read_text()
    for old, new in (("3.228604", "3.3"), ('upper="1.7628"', 'upper="1.8"')):
        assert text.count(old) == 1
        text = text.replace(old, new)
    path = tmp_path / "panda.urdf"
    path.write_text(text.replace("panda_link5", "forearm"))
    return path


def test_nothing_differs() -> None:
    """An arm does not differ from itself: exit code 0."""
    assert answered("diff", "panda", "panda").out == "nothing differs\n"


def test_differences_are_a_table(heavier: Path) -> None:
    """Every difference is one row: part, name, quantity, both values, unit and share."""
    ran = robolin("diff", "panda", str(heavier))
    assert (ran.code, ran.err) == (1, "")
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["link", "panda_link3", "mass", "3.2286", "3.3", "kg", "+2.2", "%"] in rows
    assert ["link", "panda_link5", "renamed", "panda_link5", "forearm"] in rows
    assert ["joint", "panda_joint2", "upper", "limit", "1.7628", "1.8", "rad", "+2.1", "%"] in rows
    assert ran.out.endswith("3 differences\n")


def test_json_and_csv_have_all_digits(heavier: Path) -> None:
    """Machines get the numbers themselves."""
    ran = robolin("diff", "panda", str(heavier), "--format", "json")
    changes = json.loads(ran.out)["changes"]
    mass = next(change for change in changes if change["quantity"] == "mass")
    assert (mass["old"], mass["new"], mass["unit"]) == (3.228604, 3.3, "kg")
    rows = list(
        csv.DictReader(io.StringIO(robolin("diff", "panda", heavier, "--format", "csv").out))
    )
    assert [row["name"] for row in rows] == [change["name"] for change in changes]
    assert float(rows[0]["new"]) == 3.3


def test_another_arm_differs_in_everything() -> None:
    """Parts of two unrelated arms are added and removed."""
    ran = robolin("diff", "ur5", "two-link")
    assert ran.code == 1
    assert "removed" in ran.out
    assert "added" in ran.out


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    """What cannot be read cannot be compared."""
    (tmp_path / "arm.urdf").write_text("<robot>")
    assert robolin("diff", "panda", tmp_path / "arm.urdf").code == 3
    assert robolin("diff", "panda", tmp_path / "none.urdf").code == 4
