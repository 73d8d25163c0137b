"""Options that shorten the output: --only, --summary, paging and progress lines."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.cli import query_command
from robolin.cli.query_command import RowProgress
from robolin.display.terminal import show
from tests.cli.command import robolin, run_ok

Q = ("--q", "0.3,-0.7")


def test_only_some_arrays_are_shown() -> None:
    """--only keeps the named arrays, in every format of standard output."""
    full = run_ok("linearize-forward", "two-link", *Q)
    some = run_ok("linearize-forward", "two-link", *Q, "--only", "dqdd_dq", "--only", "qdd")
    kept = [i for i, name in enumerate(full.rows[0]) if "dqdd_d" not in name or "dqdd_dq/" in name]
    assert some.rows == [[row[i] for i in kept] for row in full.rows]
    table = run_ok("linearize-forward", "two-link", *Q, "--only", "qdd", "--format", "table").out
    assert "qdd [rad/s²]" in table
    assert "dqdd" not in table


@pytest.mark.parametrize(
    "args, message",
    [
        (("--only", "tua"), "available arrays: tau"),
        (("--only", "tua", "-o", "x.npz"), "available arrays: tau"),
        (("--summary", "--format", "csv"), "cannot be used with --format csv"),
    ],
)
def test_invalid_options_are_rejected(
    args: tuple[str, ...], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An array that is not there and a summary as CSV are rejected, and no file is written."""
    monkeypatch.chdir(tmp_path)
    ran = robolin("inverse", "two-link", *args)
    assert ran.code == library.UsageError.exit_code
    assert message in ran.err
    assert not list(tmp_path.iterdir())


def test_a_file_has_only_the_named_arrays(tmp_path: Path) -> None:
    """--only with -o writes these arrays of every row, and `check` compares only them."""
    motion = tmp_path / "motion.csv"
    q = np.random.default_rng(5).standard_normal((10, 2))
    lines = [f"{0.1 * i},{a},{b}" for i, (a, b) in enumerate(q)]
    motion.write_text("\n".join(["time,shoulder/position,elbow/position", *lines]))
    command = ("poles", "two-link", "--trajectory", motion, "--chunk-rows", "3")
    full, some, far = (tmp_path / f"{name}.npz" for name in ("full", "some", "far"))
    run_ok(*command, "--distances", "-o", full)
    run_ok(*command, "--only", "poles", "--only", "damping", "-o", some)
    run_ok(*command, "--only", "controllability_distance", "-o", far)
    by_path = {}
    for path in (full, some, far):
        with np.load(path) as arrays:
            by_path[path] = {name: arrays[name] for name in arrays.files}
    assert set(by_path[some]) - {"joints", "meta"} == {"poles", "damping", "time"}
    assert set(by_path[far]) - {"joints", "meta"} == {"controllability_distance", "time"}
    for each in (some, far):
        names = set(by_path[each]) - {"meta"}
        assert all(np.array_equal(by_path[each][name], by_path[full][name]) for name in names)
    assert "same" in run_ok("check", some).out
    assert "same" in run_ok("check", full).out

    # names separated by commas, and one that does not exist
    run_ok(*command, "--only", "poles,controllability_distance", "-o", far)
    with np.load(far) as arrays:
        names = {"poles", "controllability_distance"}
        assert {*arrays.files} - {"joints", "meta", "time"} == names
        assert all(np.array_equal(arrays[name], by_path[full][name]) for name in names)
    wrong = robolin(*command, "--only", "poles,distance", "-o", far)
    assert "--only: array 'distance' not found" in wrong.err
    assert "controllability_distance, observability_distance" in " ".join(wrong.err.split())


@pytest.mark.parametrize("chunk", ["3", "100"])
def test_a_summary_has_the_extremes_of_all_rows(tmp_path: Path, chunk: str) -> None:
    """The smallest and the largest number of each array are those of all rows, with their rows."""
    motion = tmp_path / "motion.csv"
    q = np.random.default_rng(5).standard_normal((10, 2))
    lines = [f"{0.1 * i},{a},{b}" for i, (a, b) in enumerate(q)]
    motion.write_text("\n".join(["time,shoulder/position,elbow/position", *lines]))
    command = ("mass-matrix", "two-link", "--trajectory", motion, "--chunk-rows", chunk)
    extremes = json.loads(run_ok(*command, "--summary", "--format", "json").out)
    values = library.mass_matrix(library.load("two-link"), q)
    (summary,) = extremes["arrays"]
    names = ("shoulder", "elbow")
    assert extremes["rows"] == 10
    for key, index in (("smallest", values.argmin()), ("largest", values.argmax())):
        row, i, j = np.unravel_index(index, values.shape)
        assert summary[key]["value"] == values[row, i, j]
        assert summary[key]["entry"] == f"mass_matrix/{names[i]}/{names[j]}"
        assert summary[key]["row"] == row + 1
    file = tmp_path / "m.npz"
    shown = run_ok(*command, "--summary", "-o", file).out
    assert "10 rows" in shown
    assert np.array_equal(np.load(file)["mass_matrix"], values)


def test_inspect_lists_centers_of_mass_and_inertias() -> None:
    shown = run_ok("inspect", "two-link").out
    link = library.load("two-link").links[0]
    lines = shown.partition("Centres of mass")[2].splitlines()
    row = next(line.split() for line in lines if "upper" in line)
    assert [float(cell) for cell in row[1:]] == pytest.approx(
        [*link.inertia.com, *link.inertia.rotary], rel=1e-5
    )


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="there are no pseudo-terminals here")
def test_long_texts_are_paged_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text that does not fit goes to the pager on a terminal only."""
    ours, theirs = os.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("PAGER", f"{sys.executable} -c 'import sys; {_keep(tmp_path)}'")
    monkeypatch.setenv("LINES", "24")
    monkeypatch.setenv("COLUMNS", "80")
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        assert show.page_text("ä line\n" * 100, terminal)
        assert (tmp_path / "kept").read_text("utf-8") == "ä line\n" * 100
        assert not show.page_text("line\n" * 5, terminal)
        with (tmp_path / "file").open("w") as file:
            assert not show.page_text("line\n" * 100, file)
        monkeypatch.setenv("PAGER", "cat")
        assert not show.page_text("line\n" * 100, terminal)
    os.close(ours)


def _keep(folder: Path) -> str:
    return f'open(r"{folder / "kept"}", "wb").write(sys.stdin.buffer.read())'


def test_long_jobs_log_their_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a bar, lines state rows, percentage and time left; short jobs log nothing."""
    lines: list[str] = []
    for between in (30.0, 0.0):
        assert not lines
        monkeypatch.setattr(query_command, "_LOGGED_EVERY", between)
        with RowProgress(False, lines.append) as job:
            job.begin(1_000)
            for step in (1, 2):
                job.add(500, 250 * step)
    assert [line.split(" rows,")[0] for line in lines] == ["500", "1,000"]
    assert re.search(r" rows/s, 25%, about [\d,]+ s left$", lines[0])
    assert " rows/s, 50%, " in lines[1]
