"""robolin report: pages that it writes, and requests that it rejects."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import ROOT, robolin, run_ok


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i * 0.1},{0.1 * i},{-0.2 * i}\n" for i in range(5))
    Path("motion.csv").write_text("time,shoulder/position,elbow/position\n" + rows)


def test_a_page_of_an_arm_in_motion() -> None:
    """The page is written to the given path, and states the assumptions."""
    ran = run_ok(
        *("report", "two-link", "--trajectory", "motion.csv", "--verify-states", "0"),
        *("-o", "page.html"),
    )
    page = Path("page.html").read_text("utf-8")
    assert "no velocity columns; velocities are set to 0" in ran.err
    assert page.startswith("<!doctype html>")
    assert "5 rows" in page
    assert "SHA-256 of motion.csv" in page


def test_two_stored_results_side_by_side() -> None:
    """The page lists every entry that differs between two results."""
    for name, load in (("a.npz", "0"), ("b.npz", "1")):
        run_ok("inverse", "two-link", "--payload", f"tip:{load}", "-o", name)
    run_ok("report", "a.npz", "b.npz")
    page = Path("report.html").read_text("utf-8")
    assert "Entries that differ" in page
    assert "shoulder/effort" in page


def test_an_existing_default_page_is_kept() -> None:
    """Without -o a report.html that is there stays as it is; with -o it is replaced."""
    run_ok("inverse", "two-link", "-o", "a.npz")
    assert run_ok("report", "a.npz").err == "note: report.html: written\n"
    Path("report.html").write_text("mine")
    ran = robolin("report", "a.npz")
    assert (ran.code, Path("report.html").read_text()) == (4, "mine")
    assert "add -o report.html to replace the file" in ran.err
    assert run_ok("report", "a.npz", "-o", "report.html", "-q").err == ""
    assert Path("report.html").read_text() != "mine"


def test_files_with_hostile_names() -> None:
    """Names of files are text on the page, for any content."""
    nasty = "x<img src=x onerror=alert(1)>\x1b\u202e"
    for kind in ("csv", "yaml"):
        source = Path("motion.csv") if kind == "csv" else ROOT / "models" / "two-link.yaml"
        Path(f"{nasty}.{kind}").write_bytes(source.read_bytes())
    run_ok(
        *("report", f"{nasty}.yaml", "--trajectory", f"{nasty}.csv", "--verify-states", "0", "-q")
    )
    page = Path("report.html").read_text("utf-8")
    assert "<img" not in page
    assert not {c for c in page if c != "\n" and not c.isprintable()}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["two-link", "two-link", "two-link"], "at most 2 ARM arguments, got 3"),
        (["two-link", "-o", "page.pdf"], "the extension must be .html"),
        (["two-link", "a.npz"], "cannot combine a robot and a stored result"),
        (["a.npz", "--q", "0,0"], "cannot be used with a stored result"),
        (["two-link", "-o", "nowhere/page.html"], "does not exist"),
        (["four-bar", "--trajectory", "motion.csv"], "'pivot/position' are missing"),
        (["two-link", "--trajectory", "motion.csv", "--q", "0,0"], "cannot be used"),
    ],
)
def test_invalid_requests_write_no_page(words: list[str], message: str) -> None:
    """Invalid requests are rejected with a message, and leave no file."""
    ran = robolin("report", *words)
    assert ran.code in (2, 3, 4), ran.err
    assert message in ran.err
    assert not list(Path().glob("*.html"))
