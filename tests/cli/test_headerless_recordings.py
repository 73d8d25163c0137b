"""A table without a header line gives the results of the same table with one."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import robolin as library
from robolin.io.formats import csv_reader
from robolin.io.formats.row_index import counted_by_lines, index_plain_text
from tests.cli.command import CommandRun, robolin

NAMES = "time,shoulder/position,elbow/position,shoulder/velocity,elbow/velocity"
TABLE = np.c_[np.arange(40) * 0.25, np.random.default_rng(0).uniform(-1, 1, (40, 4))]
ROWS = [[repr(float(x)) for x in row] for row in TABLE]
PLAIN = "".join(",".join(row) + "\n" for row in ROWS)
FLAGS = ("--no-header", "--columns", "time=0,position=1:3,velocity=3:5")


def run(path: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", path, *flags)


@pytest.fixture(autouse=True)
def native(tmp_path, monkeypatch) -> str:
    """The result of the table with a header."""
    monkeypatch.chdir(tmp_path)
    Path("native.csv").write_text(f"{NAMES}\n{PLAIN}")
    return run("native.csv").out


def with_separator(text: str) -> str:
    return "".join(text.join(row) + "\n" for row in ROWS)


ALIGNED = "".join("".join(f"{cell:>26}" for cell in row) + "  \n" for row in ROWS)
FORMS = {
    "commas": PLAIN,
    "no last line end": PLAIN.rstrip("\n"),
    "returns": PLAIN.replace("\n", "\r\n"),
    "blank lines": "\n" + PLAIN.replace("\n", "\n\n"),
    "byte order mark": "\ufeff" + PLAIN,
    "quotes": "".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in ROWS),
    "tabs": with_separator("\t"),
    "spaces": with_separator(" "),
    "aligned": ALIGNED,
    "aligned with returns": ALIGNED.replace("\n", "\r\n"),
    "semicolons": with_separator(";"),
    "decimal commas": with_separator(";").replace(".", ","),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("large", [False, True], ids=["small", "large"])
def test_every_delimiter(form, large, native, monkeypatch):
    """Commas, tabs, semicolons and aligned columns are read as with a header."""
    if large:
        monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
        monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 64)
    Path("r.txt").write_bytes(FORMS[form].encode())
    ran = run("r.txt", *FLAGS)
    assert (ran.code, ran.out) == (0, native), ran.err


def test_compressed_and_piped(native, monkeypatch):
    """A gzip file and standard input are read as the file."""
    Path("r.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    assert run("r.csv.gz", *FLAGS).out == native
    piped = robolin(
        *("inverse", "two-link", "--format", "csv", "--trajectory", "-", *FLAGS),
        stdin=PLAIN.encode(),
    )
    assert piped.out == native


def test_ranges_name_columns_of_a_table_with_a_header(native):
    """Ranges count the columns of any table, also if their names are not unique."""
    Path("r.csv").write_text(f"t,a,a,b,b\n{PLAIN}")
    ran = run("r.csv", "--columns", "position=1:3,velocity=3:5", "--time", "0")
    assert (ran.code, ran.out) == (0, native), ran.err


def test_integer_times_and_copied_columns():
    """Integers of a table without names are not rounded, and a column is copied by its index."""
    stamps = [1_700_000_000_000_000_001 + i for i in range(3)]
    Path("r.csv").write_text("".join(f"{stamp},0.1,0.2,7.5\n" for stamp in stamps))
    ran = run("r.csv", "--no-header", "--columns", "position=1:3", "--time", "0", "--carry", "3")
    assert [line.split(",")[0] for line in ran.out.splitlines()] == ["time", *map(str, stamps)]
    assert [line.split(",")[-1] for line in ran.out.splitlines()] == ["3", "7.5", "7.5", "7.5"]


def test_python_reads_the_same_rows(native):
    """`States` has the same options, and a result stores them for `check`."""
    Path("r.csv").write_text(PLAIN)
    columns = "time=0,position=1:3,velocity=3:5"
    states = library.States(trajectory="r.csv", no_header=True, columns=columns)
    assert states.columns == ("time=0", "position=1:3", "velocity=3:5")
    result = library.answer(library.load("two-link"), "inverse", states, notify=lambda *_: None)
    written = [line.split(",")[1:] for line in native.splitlines()[1:]]
    assert np.array_equal(result["tau"], np.array(written, float))
    assert (
        robolin(
            "record", "inverse", "two-link", "--trajectory", "r.csv", *FLAGS, "-o", "s.npz"
        ).code
        == 0
    )
    ran = robolin("check", "s.npz")
    assert (ran.code, "1 same" in ran.out) == (0, True), ran.err


def test_parts_of_a_table(native):
    """Parts of rows are those of the whole table."""
    Path("r.csv").write_text(PLAIN)
    ran = robolin(
        *("inverse", "two-link", "--trajectory", "r.csv", *FLAGS),
        *("--part-rows", "7", "--format", "csv", "-o", "out/"),
    )
    assert ran.code == 0, ran.err
    parts = [path.read_text().splitlines() for path in sorted(Path("out").glob("part-*.csv"))]
    assert len(parts) == 6
    assert [line for part in parts for line in part[1:]] == native.splitlines()[1:]
    Path("r.csv").touch()
    assert run("r.csv", *FLAGS, "--rows", "7:14").out.splitlines()[1:] == parts[1][1:]


@pytest.mark.parametrize("text", ["1,2\n3,4\n5,6\n7,8", "1,2\n3,4\n5,6\n7,8\n"])
@pytest.mark.parametrize("first, every", [(0, 1), (0, 2), (1, 2), (3, 5)])
def test_marks_of_rows_without_a_header(text, first, every, tmp_path):
    """The quick index and the one by lines find rows where they begin."""
    Path("t.csv").write_text(text)
    with open("t.csv", "rb") as stream:
        quick = index_plain_text(stream, every, first, header=False)
    with open("t.csv", "rb") as stream:
        slow = counted_by_lines(stream, every, first, "t.csv", header=False)
    assert quick.rows == slow.rows == 4
    for mark in quick.marks[:-1]:
        assert text[mark.byte :].startswith(f"{2 * mark.row + 1},")
        assert mark.line == mark.row + 1
    assert quick.marks[:-1] == slow.marks


REFUSED = [
    (PLAIN, (), 3, "add --no-header --columns position=0:N"),
    (PLAIN, ("--no-header",), 3, "--columns position=0:2"),
    (
        PLAIN,
        ("--no-header", "--columns", "position=1:4"),
        2,
        "position=1:3 selects shoulder, elbow",
    ),
    (PLAIN, ("--no-header", "--columns", "position=4:6"), 3, "the last possible range is 3:5"),
    (PLAIN, ("--no-header", "--columns", "position=1:3,velocity=2:4"), 2, "by another rule"),
    (PLAIN, ("--no-header", "--columns", "position=1:3,time=1"), 2, "by another rule"),
    (PLAIN, ("--no-header", "--columns", "position=1:3,time=9"), 3, "unknown column '9'"),
    (PLAIN, ("--no-header", "--columns", "position=3:1"), 2, "position=3:5"),
    (PLAIN + "1,2,3\n", FLAGS, 3, "must have 5 cells like the first row, got 3"),
    (f"{NAMES}\n{PLAIN}", FLAGS, 3, "remove --no-header"),
    ("", FLAGS, 3, "the file is empty"),
    ("\n\n", FLAGS, 3, "the file is empty"),
    ("1,234;2\n1.5;3\n", ("--no-header", "--columns", "position=0:2"), 3, "thousands separator"),
]


@pytest.mark.parametrize(("content", "flags", "code", "message"), REFUSED, ids=range(len(REFUSED)))
def test_wrong_tables_are_rejected(content, flags, code, message):
    """The error names the flag that helps, or the row."""
    Path("r.csv").write_text(content)
    ran = run("r.csv", *flags)
    assert (ran.code, message in ran.err) == (code, True), ran.err


def test_other_formats_have_names():
    """Formats with names reject --no-header."""
    np.savez("m.npz", q=TABLE[:, 1:3])
    ran = run("m.npz", "--no-header")
    assert (ran.code, "remove --no-header" in ran.err) == (2, True)
