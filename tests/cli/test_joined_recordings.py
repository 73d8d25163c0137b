"""Several files that are one recording give the results of one file with all their columns."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.io.format_table import base_name, split_files
from robolin.io.trajectories import read
from tests.cli.command import CommandRun, robolin

TIME = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, 60)) * 0.01
Q, QD = np.random.default_rng(0).uniform(-1, 1, (2, 60, 2))
HEADS = {"q": "shoulder/position,elbow/position", "qd": "shoulder/velocity,elbow/velocity"}


def text(head: str, values: np.ndarray) -> str:
    lines = [",".join(map(repr, map(float, row))) for row in values]
    return "\n".join(([head] if head else []) + lines) + "\n"


def run(path: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", path, *flags)


@pytest.fixture(autouse=True)
def expected(tmp_path, monkeypatch) -> str:
    """Write one file with everything, and files of their own; return the result of the one."""
    monkeypatch.chdir(tmp_path)
    Path("whole.csv").write_text(text(f"time,{HEADS['q']},{HEADS['qd']}", np.c_[TIME, Q, QD]))
    Path("q.csv").write_text(text(f"time,{HEADS['q']}", np.c_[TIME, Q]))
    Path("qd.csv").write_text(text(HEADS["qd"], QD))
    Path("tqd.csv").write_text(text(f"time,{HEADS['qd']}", np.c_[TIME, QD]))
    Path("q.txt").write_text(text("", Q).replace(",", " "))
    Path("qd.txt").write_text(text("", QD).replace(",", "\t"))
    Path("t.txt").write_text(text("", TIME[:, None]))
    return run("whole.csv").out


def test_rows_with_the_same_number(expected):
    """Named files, files with equal times, and files without names are joined row by row."""
    assert run("q.csv+qd.csv").out == expected
    assert run("q.csv+tqd.csv").out == expected
    flags = ("--no-header", "--columns", "position=0:2,velocity=2:4,time=4")
    assert run("q.txt+qd.txt+t.txt", *flags).out == expected
    np.savez("qd.npz", **dict(zip(HEADS["qd"].split(","), QD.T, strict=True)))
    assert run("q.csv+qd.npz").out == expected


def test_equal_times_are_exact(expected):
    """Rows joined by time have the bits of the file where times are equal."""
    assert run("q.csv+tqd.csv", "--join", "time").out == expected
    for path in ("q.txt", "qd.txt"):
        rows = Path(path).read_text().replace("\t", " ").split("\n")
        stamped = [f"{float(t)!r} {row}" for t, row in zip(TIME, rows, strict=False)]
        Path(f"t{path}").write_text("\n".join(stamped) + "\n")
    flags = ("--no-header", "--columns", "position=1:3,velocity=4:6", "--time", "0")
    assert run("tq.txt+tqd.txt", *flags, "--join", "time").out == expected


@pytest.mark.parametrize("rows", [1, 7, 64])
def test_values_between_rows_are_linear(monkeypatch, rows):
    """A file with other times has NumPy's interpolation, for every number of rows per block."""
    monkeypatch.setattr(read, "MOST_ROWS", rows)
    monkeypatch.setattr(read, "FEWEST_ROWS", 1)
    times = np.linspace(TIME[0] - 0.01, TIME[-1] + 0.02, 37)
    velocities = np.random.default_rng(2).normal(size=(37, 2))
    Path("other.csv").write_text(text(f"time,{HEADS['qd']}", np.c_[times, velocities]))
    joined = read.read_trajectory(
        *("q.csv+other.csv", ("shoulder", "elbow"), ("q", "qd")),
        rules=read.ReadOptions(join="time"),
    )
    truth = np.stack([np.interp(TIME, times, each) for each in velocities.T], axis=1)
    assert np.array_equal(joined.q, Q)
    # two roundings of the share and two of the sum
    assert np.abs(joined.qd - truth).max() < 1e-14
    assert joined.lines["joined files"].startswith("q.csv, other.csv by time, interpolated")


def test_integer_times_are_not_rounded():
    """Nanoseconds since 1970 are subtracted before they are divided."""
    stamps = 1_700_000_000_000_000_001 + np.array([0, 10, 20])
    rows = zip(stamps, Q[:3], strict=True)
    Path("a.csv").write_text(
        f"time,{HEADS['q']}\n" + "".join(f"{t},{a},{b}\n" for t, (a, b) in rows)
    )
    Path("b.csv").write_text(
        f"time,{HEADS['qd']}\n{stamps[0]},0,0\n{stamps[0] + 16},16,32\n{stamps[2]},20,40\n"
    )
    ran = read.read_trajectory(
        *("a.csv+b.csv", ("shoulder", "elbow"), ("q", "qd")), rules=read.ReadOptions(join="time")
    )
    assert ran.qd.tolist() == [[0, 0], [10, 20], [20, 40]]
    assert ran.time.tolist() == stamps.tolist()


def test_rows_outside_the_times_of_a_file():
    """Such rows are errors, NaN on request, and may be left out by --rows."""
    Path("late.csv").write_text(text(f"time,{HEADS['qd']}", np.c_[TIME, QD][3:]))
    ran = run("q.csv+late.csv", "--join", "time")
    assert ran.code == 3
    assert "before the first row of 'late.csv'" in ran.err
    assert "--on-bad-row nan" in ran.err
    skipped = run("q.csv+late.csv", "--join", "time", "--on-bad-row", "nan")
    assert "3 rows outside the times of a file" in skipped.err
    expected = run("whole.csv", "--rows", "3:").out
    assert run("q.csv+late.csv", "--join", "time", "--rows", "3:").out == expected
    assert skipped.out.splitlines()[4:] == expected.splitlines()[1:]


def test_selected_rows(expected):
    """--rows and --stride select rows of all files, also of those that cannot skip rows."""
    np.savez("qd.npz", **dict(zip(HEADS["qd"].split(","), QD.T, strict=True)))
    lines = expected.splitlines()
    for path in ("q.csv+qd.csv", "q.csv+qd.npz"):
        assert run(path, "--rows", "10:20").out.splitlines()[1:] == lines[11:21]
        assert run(path, "--rows", "5:", "--stride", "9").out.splitlines()[1:] == lines[6::9]


def test_parts_and_check(expected):
    """Joined files can be divided into parts, recorded and checked; Python reads them too."""
    Path("logs").mkdir()
    for name in ("q.csv", "qd.csv"):
        Path(f"logs/{name}").write_text(Path(name).read_text())
    path = "logs/q.csv+logs/qd.csv"
    words = ("inverse", "two-link", "--trajectory", path)
    ran = robolin("record", *words, "-o", "stored.npz")
    assert ran.code == 0, ran.err
    assert robolin("check", "stored.npz").code == 0
    stored = library.read_result("stored.npz")
    assert stored.meta["options"]["trajectory"] == "q.csv+qd.csv"
    assert stored.meta["files"]["trajectory"] == path
    ran = robolin(*words, "-o", "out/", "--format", "csv")
    assert (ran.code, Path("out/q.csv+qd.csv").read_text()) == (0, expected), ran.err
    ran = robolin(*words, "-o", "parts/", "--part-rows", "25")
    assert (ran.code, "joined files" in ran.err) == (3, True)
    arm = library.load("two-link")
    result = library.answer(arm, "inverse", library.States(trajectory=path), notify=lambda *_: None)
    written = [line.split(",")[1:] for line in expected.splitlines()[1:]]
    assert np.array_equal(result["tau"], np.array(written, float))
    ran = robolin(*words, "-o", "logs/qd.csv")
    assert (ran.code, "must not be the input" in ran.err) == (2, True)


REFUSED = [
    ("q.csv+short.csv", (), 3, "--rows :50"),
    ("q.csv+few.csv", (), 3, "--join time"),
    ("q.csv+shifted.csv", (), 3, "--join time"),
    ("q.csv+none.csv", (), 4, "none.csv: no such file"),
    ("q.csv+qd.csv", ("--join", "time"), 3, "--join row"),
    ("falling.csv+tqd.csv", ("--join", "time"), 3, "time must not decrease"),
    ("q.csv+falling.csv", ("--join", "time"), 3, "time must not decrease"),
    ("q.csv+dates.csv", ("--join", "time"), 3, "the times have another unit or type"),
    ("q.csv+q.csv", (), 3, "occur more than once"),
    ("q.txt+qd.txt", ("--no-header",), 3, "--columns position=0:2"),
]


@pytest.mark.parametrize(("path", "flags", "code", "message"), REFUSED, ids=range(len(REFUSED)))
def test_wrong_files_are_rejected(path, flags, code, message):
    """The error names the file, the row and the flag that helps."""
    Path("short.csv").write_text(text(HEADS["qd"], QD[:50]))
    Path("few.csv").write_text(text(f"time,{HEADS['qd']}", np.c_[TIME, QD][:50]))
    Path("shifted.csv").write_text(text(f"time,{HEADS['qd']}", np.c_[TIME + 0.001, QD]))
    falling = np.c_[TIME[::-1], QD]
    head = HEADS["q"] if path.startswith("falling") else HEADS["qd"]
    Path("falling.csv").write_text(text(f"time,{head}", falling))
    Path("dates.csv").write_text(f"time,{HEADS['qd']}\n2026-05-01T12:30:00,1,2\n")
    ran = run(path, *flags)
    assert (ran.code, message in ran.err) == (code, True), ran.err


def test_names_with_a_plus(expected):
    """A file whose name contains + is one file."""
    Path("a+b.csv").write_text(Path("whole.csv").read_text())
    Path("c.csv+d.csv").write_text(Path("whole.csv").read_text())
    for name in ("a+b.csv", "c.csv+d.csv"):
        assert split_files(name) == [name]
        assert run(name).out == expected
    assert split_files("missing+file.csv") == ["missing+file.csv"]
    Path("a+b").mkdir()
    files = [str(Path(name).rename(f"a+b/{name}")) for name in ("q.csv", "qd.csv")]
    assert split_files("+".join(files)) == files
    assert split_files("+".join([*files, "a+b/none.csv"])) == ["+".join([*files, "a+b/none.csv"])]
    assert base_name("x/q.csv+y/qd.csv") == "q.csv+qd.csv"
