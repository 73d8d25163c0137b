"""Reports from Python are those of the command."""

from __future__ import annotations

from pathlib import Path

import pytest

import robolin
from tests.cli.command import run_ok


def test_a_report_is_that_of_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The page of a robot file has the same bytes from Python and from the command line."""
    monkeypatch.chdir(tmp_path)
    words = ("report", "two-link", "--q", "0.3,-0.7", "--verify-states", "0", "-o", "command.html")
    run_ok(*words)
    states = robolin.States(q="0.3,-0.7")
    page = robolin.report("two-link", states=states, path="python.html", verify_states=0)
    assert page == Path("command.html").read_text("utf-8") == Path("python.html").read_text("utf-8")


def test_a_loaded_robot_is_reported(tmp_path: Path) -> None:
    """A robot in memory has a page without a validated file; its initial pose is 'home'."""
    arm = robolin.load("two-link")
    page = robolin.report(arm, verify_states=0)
    assert "no robot file to validate" in page
    assert page == robolin.report(arm, states=robolin.States(q="home"), verify_states=0)
    assert not list(tmp_path.iterdir())


def test_stored_results_are_compared(tmp_path: Path) -> None:
    """Two stored results have a page with their differences."""
    arm = robolin.load("two-link")
    files = [tmp_path / name for name in ("one.npz", "other.npz")]
    for q, file in zip(([0.3, -0.7], [0.2, -0.7]), files, strict=True):
        robolin.write(robolin.answer(arm, "inverse", robolin.States(q=q)), file)
    assert "Entries that differ" in robolin.report(*files)


def test_invalid_requests_are_rejected(tmp_path: Path) -> None:
    """Another extension, and a robot with a stored result, are rejected before any work."""
    arm = robolin.load("two-link")
    with pytest.raises(robolin.UsageError, match="extension must be"):
        robolin.report(arm, path=tmp_path / "page.pdf")
    with pytest.raises(robolin.UsageError, match="cannot combine"):
        robolin.report(arm, tmp_path / "one.npz")
    with pytest.raises(robolin.UsageError, match="cannot combine"):
        robolin.report(tmp_path / "one.npz", states=robolin.States(q=[0.0, 0.0]))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_an_optimal_motion_has_its_cost_and_gains(tmp_path: Path) -> None:
    """The page of `optimize` begins with the cost by iteration and each motor's own gains."""
    path = tmp_path / "motion.npz"
    run_ok("optimize", "two-link", "--goal", "1,-0.5", "--duration", "1", "-q", "-o", path)
    page = robolin.report(path)
    assert page.index("Cost and gains") < page.index("Values over time")
    for word, unit in (("position", "rad"), ("velocity", "rad/s")):
        assert f"Gain of each motor for the {word} of its own joint, in N·m per {unit}" in page
    assert "Cost: " in page
    assert "K/shoulder/effort/elbow/position" not in page
