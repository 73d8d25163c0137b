"""Trajectories of any length: the same bytes for any chunk size, in constant memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

import numpy as np
import polars
import pytest

import robolin as library
from robolin.io.formats import csv_reader as csv_sheet
from robolin.io.stored import read_result
from tests.cli.command import START, environment, forked, python, robolin, run_ok

JOINTS = ("shoulder", "elbow")
WORDS = {"q": "position", "qd": "velocity", "qdd": "acceleration"}
FORMATS = ("csv", "parquet", "npz")
ROWS = 500

# runs a command for one file after the other, and prints the peak memory so far
MEASURED = r"""
import re, sys
from robolin.cli.main import main
from robolin.io.formats import parquet_writer
# a whole group of rows is held at a time: with small ones, so is less than what is looked for
parquet_writer._NUMBERS_PER_GROUP = 1 << 17
target, *files = sys.argv[1:]
for file in files:
    words = ["linearize-forward", "two-link", "--trajectory", file, "--chunk-rows", "2000", "-q"]
    assert main([*words, "-o", target]) == 0
    # of this process alone: what rusage says begins with whoever started it
    print(re.search(r"VmHWM:\s*(\d+)", open("/proc/self/status").read())[1])
"""


def motion(rows: int = ROWS) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(21)
    return {name: rng.uniform(-2, 2, (rows, 2)) for name in WORDS}


def table(columns: dict[str, np.ndarray], time: np.ndarray | None) -> polars.DataFrame:
    named = {} if time is None else {"time": time}
    for name, values in columns.items():
        named |= {f"{joint}/{WORDS[name]}": values[:, i] for i, joint in enumerate(JOINTS)}
    return polars.DataFrame(named)


def stored(path: Path, columns: dict[str, np.ndarray], time: np.ndarray | None = None) -> Path:
    """A trajectory in the format of the path's extension."""
    if path.suffix == ".npz":
        times = {} if time is None else {"time": time}
        np.savez(path, joints=np.array(JOINTS), **columns, **times)
    elif path.suffix == ".csv":
        table(columns, time).write_csv(path)
    else:
        rows = table(columns, time)
        rows.write_parquet(path, row_group_size=max(100, len(rows) // 20))
    return path


def numbers(path: Path) -> np.ndarray:
    """All columns of a result with a vector, time first."""
    if path.suffix == ".npz":
        arrays = read_result(path).arrays
        return np.column_stack([arrays["time"], arrays["tau"]])
    if path.suffix == ".csv":
        return polars.read_csv(path).to_numpy()
    return polars.read_parquet(path).to_numpy()


@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_every_pair_of_formats_gives_the_bits_of_the_library(
    tmp_path: Path, source: str, target: str
) -> None:
    """For every input and output format, the numbers are those of the Python function."""
    times = np.arange(ROWS) / 7
    file = stored(tmp_path / f"motion.{source}", motion(), times)
    result = tmp_path / f"tau.{target}"
    run_ok("inverse", "two-link", "--trajectory", file, "-o", result)

    expected = library.inverse(library.load("two-link"), **motion())
    np.testing.assert_array_equal(numbers(result), np.column_stack([times, expected]))


VERBS = [
    ["inverse"],
    ["linearize-forward"],
    ["linearize-forward", "--perturb", "dq=0.1,0"],
    ["mass-matrix", "--derivative", "--factor"],
]


# every verb with one format, and every format with one verb
@pytest.mark.slow
@pytest.mark.parametrize(
    ("verb", "target"),
    [*((verb, "csv") for verb in VERBS), *((VERBS[-1], each) for each in (*FORMATS[1:], "json"))],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_chunks_and_threads_change_nothing(
    tmp_path: Path, verb: list[str], target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes are the same for every chunk size, every number of threads and polars."""
    file = stored(tmp_path / "motion.csv", motion(20))
    written = []
    for rows, jobs, large in [(4096, 1, 2_000_000), (7, 2, 0), (1, 1, 0), (15, 2, 2_000_000)]:
        monkeypatch.setattr(csv_sheet, "_LARGE_FILE", large)
        folder = tmp_path / f"{rows}-{jobs}"
        folder.mkdir()
        flags = ["--chunk-rows", str(rows), "--jobs", str(jobs), "-o", str(folder / f"r.{target}")]
        run_ok(verb[0], "two-link", *verb[1:], "--trajectory", file, *flags)
        written.append({path.name: path.read_bytes() for path in folder.iterdir()})

    assert all(files == written[0] for files in written)
    assert f"r.{target}" in written[0]


def test_a_long_table_is_cut_anywhere(tmp_path: Path) -> None:
    """Beyond the length from which polars is used, CSV is the same for every chunk size."""
    file = stored(tmp_path / "motion.npz", motion(20_000))
    command = ["linearize-forward", "two-link", "--trajectory", file, "-q"]
    full, parts = (run_ok(*command, "--chunk-rows", n).out for n in ("20000", "777"))

    assert full == parts
    assert full.count("\n") == 20_001


def test_a_trajectory_of_unknown_length_gives_the_same_archive(tmp_path: Path) -> None:
    """From a pipe, where the number of rows shows only at the end, the same arrays come out."""
    file = stored(tmp_path / "motion.csv", motion())
    known, piped = tmp_path / "a.npz", tmp_path / "b.npz"
    run_ok("inverse", "two-link", "--trajectory", file, "-o", known)
    run_ok("inverse", "two-link", "--trajectory", "-", "-o", piped, stdin=file.read_bytes())

    first, second = read_result(known), read_result(piped)
    assert first.meta["inputs"]["motion.csv"] == second.meta["inputs"]["stdin"]
    assert first.meta["arrays"] == second.meta["arrays"]
    np.testing.assert_array_equal(first.arrays["tau"], second.arrays["tau"])


def test_blank_lines_leave_no_room_in_the_archive(tmp_path: Path) -> None:
    """Fewer rows than lines make the same arrays as without the blank lines."""
    file = stored(tmp_path / "motion.csv", motion())
    loose = tmp_path / "loose.csv"
    loose.write_text(file.read_text().replace("\n", "\n\n") + "\n\n")
    for source, target in ((file, "a.npz"), (loose, "b.npz")):
        run_ok("linearize-inverse", "two-link", "--trajectory", source, "-o", tmp_path / target)

    first, second = (read_result(tmp_path / name) for name in ("a.npz", "b.npz"))
    assert first.meta["arrays"] == second.meta["arrays"]


def spoiled(rows: int, bad: dict[int, float]) -> dict[str, np.ndarray]:
    columns = motion(rows)
    for row, value in bad.items():
        columns["q"][row, 1] = value
    return columns


@pytest.mark.parametrize("rows", [20, 2000])
@pytest.mark.parametrize(
    "value, says",
    [
        (np.nan, "in column 'elbow/position' is not a finite number"),
        (np.inf, "in column 'elbow/position' is not a finite number"),
        (1e9, "rad, got 1e+09 rad at joint 'elbow'"),
    ],
)
@pytest.mark.parametrize("source", FORMATS)
def test_a_bad_row_is_an_error_before_anything_is_written(
    tmp_path: Path, rows: int, value: float, says: str, source: str
) -> None:
    """The row is named, by its line in a CSV, and no file appears."""
    file = stored(tmp_path / f"motion.{source}", spoiled(rows, {rows - 2: value}))
    ran = robolin("inverse", "two-link", "--trajectory", file, "-o", tmp_path / "out" / "r.npz")
    assert ran.code == 4, "the folder is checked before the rows"
    (tmp_path / "out").mkdir()
    ran = robolin("inverse", "two-link", "--trajectory", file, "-o", tmp_path / "out" / "r.npz")

    assert (ran.code, ran.out) == (3, "")
    assert says in ran.err
    assert (f"motion.csv:{rows}" if source == "csv" else f"row {rows - 1}") in ran.err
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("rows", [20, 2000])
@pytest.mark.parametrize("source", FORMATS)
@pytest.mark.parametrize("target", FORMATS)
def test_bad_rows_may_be_nan(tmp_path: Path, rows: int, source: str, target: str) -> None:
    """With --on-bad-row nan every other row keeps its bits, and the bad ones are counted."""
    bad = {3: np.nan, 11: -np.inf, 17: 1e9}
    times = np.arange(rows) / 7
    file = stored(tmp_path / f"motion.{source}", spoiled(rows, bad), times)
    flags = ["--on-bad-row", "nan", "-o", str(tmp_path / f"tau.{target}")]
    ran = run_ok("inverse", "two-link", "--trajectory", file, *flags)

    torques = numbers(tmp_path / f"tau.{target}")
    fine = [row for row in range(rows) if row not in bad]
    expected = library.inverse(library.load("two-link"), **motion(rows))
    np.testing.assert_array_equal(torques[fine, 1:], expected[fine])
    assert np.isnan(torques[list(bad), 1:]).all()
    np.testing.assert_array_equal(torques[:, 0], times)
    text = "NaN is written for 3 rows without a result, first in row 4"
    assert ran.err == f"warning: motion.{source}: {text}\n"


def test_a_joint_that_moves_nothing_is_named_with_its_row(tmp_path: Path) -> None:
    """The error for a row without inertia names the joint."""
    arm = tmp_path / "arm.yaml"
    arm.write_text(
        "robolin: 1\nname: idle\njoints:\n"
        "  - {name: shoulder, type: revolute, parent: base, child: upper, axis: [0, 0, 1]}\n"
        "  - {name: elbow, type: revolute, parent: upper, child: lower, axis: [0, 0, 1]}\n"
        "links:\n  - {name: upper, mass: 1.0, com: [0.5, 0, 0],\n"
        "     inertia: {ixx: 0.1, iyy: 0.1, izz: 0.1, ixy: 0, ixz: 0, iyz: 0}}\n"
        "  - {name: lower}\n"
    )
    file = stored(tmp_path / "motion.csv", {"q": motion(100)["q"]})
    ran = robolin("forward", arm, "--trajectory", file, "-q")
    nan = run_ok("forward", arm, "--trajectory", file, "--on-bad-row", "nan")

    assert (ran.code, ran.out) == (3, "")
    assert "motion.csv:2, row 1: joint 'elbow'" in ran.err
    assert nan.out.splitlines()[1:] == ["NaN,NaN"] * 100
    assert "100 rows without a result" in nan.err


def test_text_is_an_error_even_where_nan_is_allowed(tmp_path: Path) -> None:
    """A cell with text is never taken for a missing number."""
    file = tmp_path / "motion.csv"
    file.write_text("q1,q2\n0,1\n,nan\n1,30deg\n")
    ran = robolin("inverse", "two-link", "--trajectory", file, "--on-bad-row", "nan")

    assert (ran.code, ran.out) == (3, "")
    assert f"{file}:4: '30deg' in column 'q2'" in ran.err


@pytest.mark.parametrize(
    "flags, says",
    [
        (["--on-bad-row", "nan", "--q", "0,0"], "--on-bad-row nan: requires --trajectory"),
        (["--on-bad-row", "skip"], "--on-bad-row: 'skip' is not one of 'error', 'nan'"),
        (["--jobs", "0"], "--jobs"),
        (["--chunk-rows", "0"], "--chunk-rows"),
        (["-o", "result"], "result: the file name has no extension"),
        (["-o", "result.txt"], "result.txt: unknown file extension '.txt'"),
    ],
)
def test_wrong_flags_are_wrong_usage(flags: list[str], says: str) -> None:
    """Flags that cannot be meant are rejected with exit code 2."""
    ran = robolin("inverse", "two-link", *flags)

    assert (ran.code, ran.out) == (2, "")
    assert says in ran.err


@pytest.mark.parametrize("output", [["--format", "json"], ["-o", "r.json"]], ids=" ".join)
def test_json_has_no_nan(tmp_path: Path, output: list[str]) -> None:
    """JSON cannot hold rows without a result; the error comes before anything is read."""
    command = ["inverse", "two-link", "--trajectory", tmp_path / "none.csv", "--on-bad-row", "nan"]
    ran = robolin(*command, *output)

    assert (ran.code, ran.out) == (2, "")
    assert "--on-bad-row=nan: JSON cannot represent NaN" in ran.err


def test_json_of_many_rows_reads_back(tmp_path: Path) -> None:
    """Arrays that waited for the last row come out as nested lists, exactly."""
    file = stored(tmp_path / "motion.npz", motion(3000), np.arange(3000) / 7)
    run_ok("mass-matrix", "two-link", "--trajectory", file, "-o", tmp_path / "r.json", "-q")
    document = json.loads((tmp_path / "r.json").read_text())

    expected = library.mass_matrix(library.load("two-link"), motion(3000)["q"])
    assert document["results"]["mass_matrix"] == expected.tolist()
    assert document["time"] == (np.arange(3000) / 7).tolist()


@pytest.mark.slow
def test_a_table_shows_ten_rows_of_many(tmp_path: Path) -> None:
    """A table of a long trajectory has ten rows from its first to its last one."""
    file = stored(tmp_path / "motion.npz", motion(3000))
    command = ["inverse", "two-link", "--trajectory", file, "--format", "table", "-q"]
    ran = run_ok(*command, "--chunk-rows", "4")

    assert "10 of 3000 rows" in ran.out
    assert "3000 rows of motion.npz" in ran.out
    assert ran.out == run_ok(*command).out


def test_numbers_that_overflow_are_named(tmp_path: Path) -> None:
    """A result that no double holds is an error with its row, or NaN."""
    columns = motion(200)
    columns["qdd"][150] = 1e308
    file = stored(tmp_path / "motion.csv", columns)
    ran = robolin("inverse", "two-link", "--trajectory", file)
    nan = run_ok("inverse", "two-link", "--trajectory", file, "--on-bad-row", "nan")

    assert ran.code == 3
    assert "motion.csv:152, row 151: tau" in ran.err
    assert np.isnan(nan.numbers[150]).all()
    assert np.isfinite(np.delete(nan.numbers, 150, axis=0)).all()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="memory is counted in KiB there")
@pytest.mark.parametrize(
    ("source", "target", "rows", "most"),
    [
        # on a busy machine, a reader that prefetches holds more chunks
        ("csv", "parquet", (50_000, 300_000), 25_000),
        ("parquet", "npz", (50_000, 200_000), 11_000),
        ("npz", "csv", (50_000, 200_000), 11_000),
    ],
)
def test_memory_does_not_grow_with_the_trajectory(
    tmp_path: Path, source: str, target: str, rows: tuple[int, int], most: int
) -> None:
    """Rows of 144 bytes of results, 36 MB or 22 MB more, take no more memory than a few chunks.

    At most 12 MB and 7 MB were measured; results kept in memory would exceed every bound.
    """
    # compile the kernel first, in this process: that takes memory too
    q = np.zeros((1000, 2))
    library.linearize_forward(library.load("two-link"), q, q, q)
    files = [str(stored(tmp_path / f"{count}.{source}", motion(count))) for count in rows]
    ran = python(MEASURED, str(tmp_path / f"r.{target}"), *files)
    assert ran.code == 0, ran.err
    shorter, longer = map(int, ran.out.split())
    assert longer - shorter < most


def running(*args: str | Path, stdin: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", START, *map(str, args)],
        env=environment(),
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=None if os.name == "nt" else hear_signals,
    )


def hear_signals() -> None:
    """Even if these tests run under nohup, which has signals ignored."""
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def bytes_in_pipe(pipe: IO[bytes]) -> int:
    """Number of bytes that the other process has not read yet."""
    import fcntl
    import termios

    return int.from_bytes(fcntl.ioctl(pipe, termios.FIONREAD, bytes(4)), sys.byteorder)


def stopped(process: subprocess.Popen[bytes], number: int) -> tuple[int, str]:
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode()


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
@pytest.mark.parametrize(
    ("name", "code", "target"),
    [("SIGINT", 130, "csv"), ("SIGTERM", 143, "parquet"), ("SIGHUP", 129, "npz")],
)
def test_a_signal_in_the_middle_leaves_nothing(
    tmp_path: Path, name: str, code: int, target: str
) -> None:
    """Stopped while rows are computed and written, no part of a file stays behind."""
    rows = motion(2000)
    text = table(rows, None).write_csv(include_header=False).encode()
    out = tmp_path / "out"
    out.mkdir()
    process = running(
        *("linearize-forward", "two-link", "--trajectory", "-", "-o", out / f"r.{target}"),
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(table(rows, None).write_csv().encode())
    for _ in range(10_000):
        if list(out.iterdir()):
            break
        process.stdin.write(text)
    # the call that creates the file may not have returned: have more rows computed
    for _ in range(20):
        process.stdin.write(text)
    process.stdin.flush()
    # the pipe stays open: the command is in the middle of a trajectory, waiting for more
    ended, err = stopped(process, getattr(signal, name))

    assert ended == code, err
    assert "Traceback" not in err
    assert list(out.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="signals are different there")
def test_waiting_for_a_pipe_can_be_interrupted() -> None:
    """Ctrl-C ends a command that waits for its standard input."""
    process = running("inverse", "two-link", "--trajectory", "-", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(b"shoulder/position,")
    process.stdin.flush()
    while process.poll() is None and bytes_in_pipe(process.stdin):
        time.sleep(0.01)
    ended, err = stopped(process, signal.SIGINT)

    assert (ended, err) == (130, "error: interrupted\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="pipes close differently there")
def test_a_reader_that_leaves_early_stops_the_work(tmp_path: Path) -> None:
    """`robolin … | head -1` ends quietly in the middle of a trajectory."""
    file = stored(tmp_path / "motion.npz", motion(20_000))
    with running("inverse", "two-link", "--trajectory", file) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"shoulder/effort,elbow/effort\n"
        process.stdout.close()
        assert process.stderr.read() == b""

    assert process.returncode == 0


def test_warnings_of_the_library_are_one_line(tmp_path: Path) -> None:
    """A cache folder that cannot be used is mentioned once, without a place in our sources."""
    (tmp_path / "file").write_text("")
    file = stored(tmp_path / "motion.npz", motion(1000))
    words = ("inverse", "two-link", "--trajectory", str(file))
    ran = forked(START, *words, ROBOLIN_CACHE=str(tmp_path / "file"))

    assert ran.code == 0
    assert ran.err.startswith("warning: compiled kernels cannot be cached in ")
    assert ran.err.count("\n") == 1
