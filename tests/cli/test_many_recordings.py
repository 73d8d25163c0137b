"""Commands on many recordings: one table, one file each, parts, live rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.batch.sample_recordings import ROWS, SIZES, write_recordings
from tests.cli.command import START, environment, robolin, run_ok


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write_recordings(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASK = ("inverse", "two-link", "--trajectory", "run_*", "--trajectory", "c.npz", "-q")


def test_a_table_has_a_column_that_counts_recordings(logs: Path) -> None:
    """Without a file the output is CSV with a column for the number of the recording."""
    ran = run_ok(*ASK)
    assert ran.rows[0] == ["time", "source", "shoulder/effort", "elbow/effort"]
    counts = [row[1] for row in ran.rows[1:]]
    assert [counts.count(str(i)) for i in range(len(SIZES))] == list(SIZES.values())
    one = run_ok("inverse", "two-link", "--trajectory", "run_2/a.csv", "-q")
    second = [[row[0], *row[2:]] for row in ran.rows[1:] if row[1] == "2"]
    assert second == one.rows[1:]


def test_a_folder_has_a_result_for_each(logs: Path) -> None:
    """Files are named after the recordings, in their own formats, and can be checked."""
    run_ok(*ASK, "-o", "out/")
    for name in SIZES:
        assert (logs / "out" / name).exists()
    run_ok("check", "out/run_2/a.csv", "--root", "run_2")
    assert run_ok("status", "out").out.splitlines()[1].endswith("4 parts of 4 recordings: 4 done")


@pytest.mark.slow
def test_parts_are_resumed_and_merged(logs: Path) -> None:
    """Shards, a resumed run and a merge give the bytes of one command."""
    run_ok(*ASK, "-o", "all.npz")
    options = ("-o", "out", "--part-rows", "50", "--format", "npz")
    run_ok(*ASK, *options, "--shard", "2/2")
    ran = robolin("status", "out", "--shards", "2", "--format", "json")
    assert ran.code == 1
    assert json.loads(ran.out)["shards"] == {"1": 4}
    assert robolin("merge", "out", "-o", "merged.npz").code == 3
    run_ok(*ASK, *options, "--resume")
    run_ok("merge", "out", "-o", "merged.npz")
    assert (logs / "merged.npz").read_bytes() == (logs / "all.npz").read_bytes()
    summary = json.loads((logs / "out" / "_robolin.json").read_text())
    assert summary["rows"] == ROWS
    ran = robolin("check", "merged.npz")
    assert ran.code != 70
    assert "several recordings" in ran.err + ran.out


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (("--part-rows", "5"), "--part-rows"),
        (("--resume", "-o", "x.npz"), "--resume"),
        (("--shard", "1/2", "-o", "x.csv"), "--shard"),
        (("-o", "run_1"), "run_1: the recording 'run_1/a.csv' is in the output folder"),
        (("-o", "run_1/a.csv"), "run_1/a.csv: the output must not be the input 'run_1/a.csv'"),
        (("--limits",), "--limits"),
        (("--live",), "--live"),
        (("--format", "npz"), "--format"),
        (("--trajectory", "none*.csv"), "--trajectory=none*.csv: no recording found"),
        (("--trajectory", "-"), "--trajectory -: cannot be used with other recordings"),
        (("--trajectory", "rns/"), "rns/: no such folder"),
        (("-o", "out/", "--part-rows", "3k"), "--part-rows: '3k' is not an integer"),
    ],
)
def test_invalid_combinations_are_rejected(logs: Path, args: tuple[str, ...], words: str) -> None:
    """Wishes that would have no effect or lose something are rejected by their flag."""
    before = sorted(logs.rglob("*"))
    ran = robolin(*ASK, *args)
    assert ran.code in (2, 3, 4), ran.err
    assert words in ran.err
    assert sorted(logs.rglob("*")) == before


def test_recordings_that_do_not_go_together_are_named(logs: Path) -> None:
    """A recording without time is not put under others that have one."""
    path = logs / "run_1" / "b.csv"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line.partition(",")[2] for line in lines) + "\n")
    ran = robolin(*ASK)
    assert ran.code == 3
    message = "the recording has no time column, but 'run_1/a.csv' has numbers in the time column"
    assert f"b.csv: {message}" in ran.err


def test_dates_mixed_with_numbers_are_rejected(logs: Path) -> None:
    """One table and numbered parts both reject them, by file, and leave nothing behind."""
    path = logs / "run_1" / "b.csv"
    head, *rows = path.read_text().splitlines()
    dated = [f"2026-01-01T00:00:{i:02},{row.partition(',')[2]}" for i, row in enumerate(rows)]
    path.write_text("\n".join([head, *dated]))
    for options in (("-o", "one.csv"), ("-o", "out/", "--part-rows", "50")):
        ran = robolin(*ASK, *options)
        assert ran.code == 3
        assert (
            "run_1/b.csv: the recording has dates (resolution s) in the time column, but" in ran.err
        )
        assert "'run_1/a.csv' has numbers in the time column" in ran.err
        assert "hint: use the same number type" in ran.err
        assert not list(logs.glob("o*"))


def test_record_takes_one_recording(logs: Path) -> None:
    """A reference is about one recording."""
    ran = robolin("record", *ASK, "-o", "x.npz")
    assert ran.code == 2
    assert "one recording" in ran.err


def test_messages_of_many_recordings_appear_once(logs: Path) -> None:
    """A common warning of recordings appears once, with the number of others."""
    ran = run_ok(*ASK[:-1])
    assert ran.err.count("no acceleration columns") == 2
    assert "(repeated 3 times)" in ran.err


def test_messages_of_the_arm_appear_once(logs: Path) -> None:
    """Notes of the arm are not repeated for every recording."""
    arm = run_ok("models", "--show", "two-link").out.replace("izz: 0.08", "izz: 0.18")
    (logs / "arm.yaml").write_text(arm)
    for where in ((), ("-o", "out/")):
        ran = run_ok("inverse", "arm.yaml", *ASK[2:-1], *where)
        assert ran.err.count("by `robolin validate`") == 1
        assert "are set to 0 (--differentiate savgol computes them) (repeated 3 times)" in ran.err


def test_live_rows_have_the_numbers_of_a_file(logs: Path) -> None:
    """Live rows have the results of the same rows in a file."""
    text = (logs / "run_1" / "a.csv").read_bytes()
    live = run_ok("inverse", "two-link", "--trajectory", "-", "--live", "-q", stdin=text)
    assert live.out == run_ok("inverse", "two-link", "--trajectory", "run_1/a.csv", "-q").out


BAD_ROWS = {
    "word": (b"2,x,0,", "<stdin>:4: 'x' in column 'shoulder/position'"),
    "cells": (b"2,0", "<stdin>:4: must have 4 cells like the header, got 2"),
    "far": (
        b"2,1e300,0,",
        "<stdin>:4, row 3: q: must be within ±1048576 rad, got 1e+300 rad at joint 'shoulder'",
    ),
    "no text": (b"2,\xff,0,", "<stdin>:4: the file is not UTF-8 text"),
    "open quote": (b'2,0,0,"', "<stdin>:5: the file is not well-formed CSV"),
}


@pytest.mark.parametrize(("bad", "message"), BAD_ROWS.values(), ids=BAD_ROWS)
@pytest.mark.parametrize("note", ["", '"a, b"'], ids=["plain", "quoted"])
def test_live_rows_before_a_bad_one_have_results(note: str, bad: bytes, message: str) -> None:
    """A bad row affects itself and later rows only."""
    good = f"time,shoulder/position,elbow/position,note\n0,0,0,{note}\n1,0.1,0.2,{note}\n"
    ask = ("inverse", "two-link", "--trajectory", "-", "--live", "-q")
    ran = robolin(*ask, stdin=good.encode() + bad + b"\n3,0,0,\n")
    assert ran.out == run_ok(*ask, stdin=good.encode()).out
    assert len(ran.rows) == 3
    assert ran.code == 3
    assert ran.err.startswith(f"error: {message}")


@pytest.mark.slow
def test_live_lines_have_results_as_they_arrive() -> None:
    """Each line, quoted or not, has its result before the next is sent; time may start at 0."""
    command = [sys.executable, "-c", START, "inverse", "two-link", "--trajectory", "-"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": environment()}
    with subprocess.Popen([*command, "--live", "-q"], bufsize=0, **pipes) as live:
        assert live.stdin is not None
        assert live.stdout is not None
        live.stdin.write(b"time,shoulder/position,elbow/position\n")
        answers = []
        for time in ("0", "0.5", "1", '"1.5"', "2"):
            live.stdin.write(f"{time},0.1,0.2\n".encode())
            if not answers:
                assert live.stdout.readline().startswith(b"time,")
            answers.append(live.stdout.readline().partition(b",")[0])
        live.stdin.close()
    assert answers == [b"0.0", b"0.5", b"1.0", b"1.5", b"2.0"]


@pytest.mark.parametrize(
    ("first", "shown"),
    [("1700000000000000001", "1700000000000000001"), ("5", "5.0"), ("2026-01-01T00:00:00", "2026")],
)
def test_live_times_are_what_the_first_one_needs(first: str, shown: str) -> None:
    """Nanoseconds stay whole, dates stay dates, and what a float holds is one."""
    text = f"time,shoulder/position,elbow/position\n{first},0,0\n".encode()
    ran = run_ok("inverse", "two-link", "--trajectory", "-", "--live", "-q", stdin=text)
    assert ran.rows[1][0].startswith(shown)
