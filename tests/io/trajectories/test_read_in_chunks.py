"""Trajectories in chunks: the same rows for every chunk size, with correct locations."""

import gzip
import io
import re
import zipfile
from dataclasses import replace

import numpy as np
import polars
import pytest

from robolin.errors import FileError, RobolinError
from robolin.io.formats import csv_reader
from robolin.io.formats.line_reader import LineReader
from robolin.io.trajectories.read import open_trajectory, read_trajectory
from robolin.io.trajectories.read_options import RowSlice

ARM = ("shoulder", "elbow")


def values(rows=100):
    return np.random.default_rng(8).uniform(-1, 1, (rows, 2))


def text(table, end="\n"):
    lines = ["q1,q2", *(f"{a!r},{b!r}" for a, b in table.tolist())]
    return end.join(lines) + end


@pytest.fixture
def small_blocks(monkeypatch):
    """Treat every file as large, in blocks of a few lines."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 64)
    monkeypatch.setattr(LineReader, "_SMALLEST_READ", 16)


def chunks(path, rows, **options):
    with open_trajectory(path, ARM, ["q"]) as stream:
        return list(stream.chunks(rows, **options))


WRITERS = {
    "csv": lambda path, table: path.write_text(text(table)),
    "npz": lambda path, table: np.savez(path, q=table),
    "parquet": lambda path, table: polars.DataFrame(table, schema=["q1", "q2"]).write_parquet(
        path, row_group_size=30
    ),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("rows", [1, 7, 100, 4096])
def test_chunks_make_up_the_file(tmp_path, form, rows):
    """Together, chunks of any size are the file, and none has more rows than requested."""
    path = tmp_path / f"m.{form}"
    WRITERS[form](path, values())
    read = chunks(path, rows)
    assert np.concatenate([c.columns["q"] for c in read]).tobytes() == values().tobytes()
    assert max(chunk.rows for chunk in read) <= rows
    with open_trajectory(path, ARM, ["q"]) as stream:
        assert stream.table.most_rows() == 100
        # each begins where the last one ended
        begins, ends = zip(*(chunk.reach for chunk in read), strict=True)
        assert begins == (0, *ends[:-1])
        assert ends[-1] == stream.table.size


PACKED = {
    "tabs.dat": lambda table: text(table).replace(",", "\t").encode(),
    "semicolons.csv": lambda table: text(table).replace(",", ";").encode(),
    "aligned.txt": lambda table: text(table).replace(",", "      ").encode(),
    "commas.csv.gz": lambda table: gzip.compress(text(table).encode(), 0),
}


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("name", PACKED)
def test_progress_of_a_translated_text(tmp_path, monkeypatch, name):
    """Progress counts bytes of the file, also if its text is decompressed or translated."""
    monkeypatch.setattr(gzip, "READ_BUFFER_SIZE", 64, raising=False)
    (tmp_path / name).write_bytes(PACKED[name](values(2000)))
    read = chunks(tmp_path / name, 100)
    assert np.concatenate([c.columns["q"] for c in read]).tobytes() == values(2000).tobytes()
    ends = [chunk.reach[1] for chunk in read]
    with open_trajectory(tmp_path / name, ARM, ["q"]) as stream:
        size = stream.size
    assert size == ends[-1] == (tmp_path / name).stat().st_size
    assert ends == sorted(ends)
    # chunk k of 20 is at about k/20 of the file
    middle = len(ends) // 2
    assert 0.3 * size < ends[middle - 1] < 0.8 * size


ENDS = [("unix", "\n"), ("dos", "\r\n"), ("mac", "\r"), ("blank lines", "\n\n")]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("end", [row[1] for row in ENDS], ids=[row[0] for row in ENDS])
@pytest.mark.parametrize("tail", [True, False])
def test_every_line_end_is_accepted(tmp_path, end, tail):
    """Every line end gives the same rows, with or without one after the last line."""
    written = text(values(), end) if tail else text(values(), end).rstrip()
    (tmp_path / "m.csv").write_bytes(written.encode())
    with open_trajectory(tmp_path / "m.csv", ARM, ["q"]) as stream:
        at_most = stream.table.most_rows()
    assert read_trajectory(tmp_path / "m.csv", ARM, ["q"]).q.tobytes() == values().tobytes()
    assert 100 <= at_most <= (201 if end == "\n\n" else 100)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("row", [0, 1, 57, 99])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n"])
def test_a_bad_cell_is_found_in_any_block(tmp_path, row, end):
    """Line and column are correct deep inside a file that is read in blocks."""
    lines = text(values()).splitlines()
    lines[row + 1] = "0,oops"
    (tmp_path / "m.csv").write_bytes(end.join([*lines, ""]).encode())
    with pytest.raises(RobolinError) as caught:
        chunks(tmp_path / "m.csv", 10)
    line = (row + 1) * (2 if end == "\n\n" else 1) + 1
    assert caught.value.where == f"{tmp_path / 'm.csv'}:{line}"
    assert "'oops' in column 'q2'" in caught.value.message


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("end", ["\n", "\n\n"])
def test_rows_know_their_location(tmp_path, end):
    """Every row of every chunk knows its line number."""
    (tmp_path / "m.csv").write_text(text(values(), end))
    locations = [c.location(i) for c in chunks(tmp_path / "m.csv", 7) for i in range(c.rows)]
    step = len(end)
    file = tmp_path / "m.csv"
    assert locations == [f"{file}:{step * (i + 1) + 1}, row {i + 1}" for i in range(100)]


@pytest.mark.usefixtures("small_blocks")
def test_quotes_may_span_lines_and_blocks(tmp_path):
    """A quoted comment with line ends in it does not cut a row, wherever the block ends."""
    comment = '"first line\nsecond, line\n""third"" line"'
    rows = [f"{a!r},{b!r},{comment}" for a, b in values().tolist()]
    (tmp_path / "m.csv").write_text("\n".join(["q1,q2,note", *rows]))
    read = chunks(tmp_path / "m.csv", 7)
    assert np.concatenate([c.columns["q"] for c in read]).tobytes() == values().tobytes()
    assert read[1].location(0) == f"{tmp_path / 'm.csv'}:23, row 8"


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("form", ["csv", "npz", "parquet"])
def test_gaps_are_let_through_on_request(tmp_path, form):
    """Cells without a finite number are NaN or infinite and their rows are marked."""
    table = values()
    table[[5, 60], [0, 1]] = [np.nan, -np.inf]
    if form == "csv":
        lines = text(table).replace("nan", "").replace("-inf", "-INF")
        (tmp_path / "m.csv").write_text(lines)
    else:
        WRITERS[form](tmp_path / f"m.{form}", table)
    read = chunks(tmp_path / f"m.{form}", 9, gaps=True)
    gaps = np.concatenate([chunk.gaps for chunk in read])
    q = np.concatenate([chunk.columns["q"] for chunk in read])
    assert np.flatnonzero(gaps).tolist() == [5, 60]
    assert q[~gaps].tobytes() == table[~gaps].tobytes()


@pytest.mark.usefixtures("small_blocks")
def test_a_short_row_is_no_gap(tmp_path):
    """Where gaps are let through, a row that lacks cells is still an error."""
    (tmp_path / "m.csv").write_text("q1,q2\n1,2\n3\n5,6\n")
    with pytest.raises(RobolinError, match="must have 2 cells like the header, got 1") as caught:
        chunks(tmp_path / "m.csv", 2, gaps=True)
    assert caught.value.where.endswith("m.csv:3")


def saved(path, array, compressed=False):
    (np.savez_compressed if compressed else np.savez)(path, q=array)


KINDS = [
    ("rows first", lambda a: a),
    ("columns first", np.asfortranarray),
    ("float32", lambda a: a.astype("f4")),
    ("other byte order", lambda a: a.astype(">f8")),
    ("whole numbers", lambda a: (a * 100).astype("i2")),
]


@pytest.mark.parametrize("change", [row[1] for row in KINDS], ids=[row[0] for row in KINDS])
@pytest.mark.parametrize("compressed", [False, True])
def test_npz_arrays_of_every_kind_are_streamed(tmp_path, change, compressed):
    """Layout, type, byte order and compression of an array do not matter."""
    saved(tmp_path / "m.npz", change(values()), compressed)
    q = np.concatenate([c.columns["q"] for c in chunks(tmp_path / "m.npz", 7)])
    assert q.tobytes() == change(values()).astype("<f8").tobytes(order="C")


def test_an_array_that_is_cut_off_is_damage(tmp_path):
    """An array with fewer numbers than its header declares is rejected."""
    held = io.BytesIO()
    np.save(held, values())
    with zipfile.ZipFile(tmp_path / "m.npz", "w") as archive:
        archive.writestr("q.npy", held.getvalue()[:-8])
    with pytest.raises(RobolinError, match="not a valid"):
        chunks(tmp_path / "m.npz", 7)


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_only_csv_can_be_piped(tmp_path, form):
    """Formats with their directory at the end need a file."""
    import os

    os.mkfifo(tmp_path / f"m.{form}")
    with open(os.open(tmp_path / f"m.{form}", os.O_RDWR), "wb"), pytest.raises(FileError) as caught:
        chunks(tmp_path / f"m.{form}", 7)
    assert "only CSV can be compressed or read from a pipe" in caught.value.hint


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("cell", ["0", '"0"'], ids=["plain", "quoted"])
def test_errors_of_a_text_end_with_the_last_line_read(tmp_path, cell):
    """Reading stops at the first block with errors, and the message names its last line."""
    path = tmp_path / "m.csv"
    path.write_text(f"q1,q2\n{cell},y\n" + "0,0\n" * 1000 + "0,y\n")
    with pytest.raises(RobolinError) as caught:
        chunks(path, 200)
    bad, behind = caught.value.parts
    assert bad.where.endswith("m.csv:2")
    match = re.fullmatch(r"rows after line (\d+) were not checked", behind.message)
    assert match
    assert 2 < int(match[1]) < 1001
    # no such part if the bad line is the last one
    path.write_text(f"q1,q2\n{cell},y\n")
    with pytest.raises(RobolinError) as caught:
        chunks(path, 200)
    assert [part.where[-4:] for part in caught.value.parts] == ["sv:2"]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("cell", ["0", '"0"'], ids=["plain", "quoted"])
def test_rows_outside_the_selection_are_not_mentioned(tmp_path, cell):
    """The last line read is reported relative to the selected rows."""
    path = tmp_path / "m.csv"
    path.write_text(f"q1,q2\n0,0\n{cell},y\n" + "0,0\n" * 1000)

    def last_part(stop):
        with open_trajectory(path, ARM, ["q"]) as stream, pytest.raises(RobolinError) as caught:
            list(replace(stream, choice=RowSlice(1, stop)).chunks(200))
        return caught.value.parts[-1]

    assert last_part(2).where.endswith("m.csv:3")
    assert re.fullmatch(
        r"rows after line \d+, up to row 900, were not checked", last_part(900).message
    )


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_errors_of_a_block_end_with_the_last_row_read(tmp_path, form):
    """Formats without lines count rows; after the last row this part is absent."""
    path, table = tmp_path / f"m.{form}", values(100)
    table[[3, 99]] = np.nan
    WRITERS[form](path, table)
    with pytest.raises(RobolinError) as caught:
        chunks(path, 30)
    *bad, behind = caught.value.parts
    assert [part.where[-5:] for part in bad] == ["row 4", "row 4"]
    assert behind.message == "rows after row 30 were not checked"
    with pytest.raises(RobolinError) as caught:
        chunks(path, 100)
    assert [part.where[-3:] for part in caught.value.parts] == ["w 4"] * 2 + ["100"] * 2


@pytest.mark.parametrize("before", ["", "0,0,0\n\n"], ids=["first", "behind others"])
def test_a_row_of_several_lines_is_named_by_its_first(tmp_path, before):
    """A line end within quotes does not change the location of errors before it."""
    (tmp_path / "m.csv").write_text(f'q1,q2,note\n{before}0,y,"a\nb\nc"\n0,z,\n')
    with pytest.raises(RobolinError) as caught:
        chunks(tmp_path / "m.csv", 200)
    line = 2 + before.count("\n")
    assert [int(p.where.rpartition(":")[2]) for p in caught.value.parts] == [line, line + 3]
