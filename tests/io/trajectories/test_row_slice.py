"""Selected rows of a recording equal those rows of a full read, in every format."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import robolin
from robolin.core.text_parsing import FlagText, parse_rows
from robolin.errors import RobolinError, UsageError
from robolin.io.formats.line_reader import Lines
from robolin.io.formats.row_index import row_offsets, slice_lines
from robolin.io.table_file import FileIndex, RowOffset
from robolin.io.trajectories.read import read_trajectory
from robolin.io.trajectories.read_options import RowSlice

JOINTS = ("shoulder", "elbow")
ROWS = 1000
FORMS = ("csv", "blank.csv", "quoted.csv", "crlf.csv", "csv.gz", "tsv", "npz", "parquet")
CHOICES = ("0:1", ":7", "993:", "400:600", "0:1000", "999:5000")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write one trajectory in every format, as text also with blank lines, quotes and CRLF."""
    folder = tmp_path_factory.mktemp("rows")
    time, q = np.arange(ROWS) / 128, np.random.default_rng(0).normal(size=(ROWS, 2))
    names = ["time", *(f"{joint}/position" for joint in JOINTS)]
    lines = [",".join(names)]
    lines += [",".join(map(repr, map(float, (t, *row)))) for t, row in zip(time, q, strict=True)]
    text = "\n".join(lines) + "\n"
    texts = {
        "csv": text,
        "blank.csv": text.replace("\n", "\n\n"),
        "quoted.csv": "\n".join([lines[0], *(f'"{a}",{b}' for a, _, b in _cut(lines[1:]))]),
        "crlf.csv": text.replace("\n", "\r\n").replace("\r\n", "\r\n\r\n"),
        "tsv": text.replace(",", "\t"),
    }
    for name, content in texts.items():
        (folder / f"motion.{name}").write_bytes(content.encode())
    (folder / "motion.csv.gz").write_bytes(gzip.compress(text.encode()))
    np.savez(folder / "motion.npz", q=q, time=time, joints=np.array(JOINTS))
    import polars

    table = np.column_stack([time, q])
    frame = polars.from_numpy(table, schema=names, orient="row")
    frame.write_parquet(folder / "motion.parquet", row_group_size=150)
    return folder


def _cut(lines: list[str]) -> list[tuple[str, str, str]]:
    return [line.partition(",") for line in lines]


@pytest.mark.parametrize("form", FORMS)
def test_selected_rows_equal_those_of_a_full_read(files: Path, form: str) -> None:
    """Selected rows are bit-identical, and the hash is that of the file."""
    path = files / f"motion.{form}"
    full = read_trajectory(path, JOINTS, ("q",))
    assert full.q is not None
    assert full.rows == ROWS
    for text in CHOICES:
        for stride in (1, 7):
            choice = RowSlice(*parse_rows(FlagText("--rows", text)), stride)
            some = read_trajectory(path, JOINTS, ("q",), choice=choice)
            meant = slice(choice.first, choice.stop, stride)
            np.testing.assert_array_equal(some.q, full.q[meant])
            np.testing.assert_array_equal(some.time, full.time[meant])
            assert some.digest == full.digest


@pytest.mark.slow
def test_rows_come_in_chunks_of_any_size(files: Path) -> None:
    """A stride continues across chunks."""
    states = {"trajectory": files / "motion.parquet", "rows": "11:801", "stride": 7}
    arm = robolin.load("two-link")
    ask = [
        robolin.answer(arm, "mass-matrix", robolin.States(**states), chunk_rows=rows)
        for rows in (1, 5, 1000)
    ]
    for other in ask[1:]:
        np.testing.assert_array_equal(ask[0]["mass_matrix"], other["mass_matrix"])
    assert ask[0].options["rows"] == "11:801"
    assert ask[0].batch == len(range(11, 801, 7))


def test_a_row_index_changes_nothing(tmp_path: Path) -> None:
    """Starting at an indexed row gives the same rows and the same line numbers in messages."""
    path = tmp_path / "long.csv"
    head = "shoulder/position,elbow/position\n"
    rows = [f"{i}.5,{-i}.25\n" for i in range(200_000)]
    rows[150_010] = "1.0,many\n"
    path.write_text(head + "".join(rows))
    byte = len(head) + sum(map(len, rows[:150_000]))
    known = FileIndex("0" * 64, (RowOffset(0, 2, len(head)), RowOffset(150_000, 150_002, byte)))
    ask = {"choice": RowSlice(150_005, 150_010), "known": known}
    trajectory = read_trajectory(path, JOINTS, ("q",), **ask)
    assert trajectory.q is not None
    assert trajectory.q[:, 0].tolist() == [150_005.5 + i for i in range(5)]
    assert trajectory.digest == "0" * 64
    ask["choice"] = RowSlice(150_005, 150_020)
    with pytest.raises(RobolinError, match=r"long\.csv:150012"):
        read_trajectory(path, JOINTS, ("q",), **ask)
    del ask["known"]
    with pytest.raises(RobolinError, match=r"long\.csv:150012"):
        read_trajectory(path, JOINTS, ("q",), **ask)


def test_unselected_rows_are_not_checked(tmp_path: Path) -> None:
    """A row outside the selection may contain anything."""
    path = tmp_path / "odd.csv"
    path.write_text("shoulder/position,elbow/position\nx,1\n1,2\n3,4\n5,y\n")
    trajectory = read_trajectory(path, JOINTS, ("q",), choice=RowSlice(1, 3))
    assert trajectory.q is not None
    assert trajectory.q.tolist() == [[1.0, 2.0], [3.0, 4.0]]


def test_rows_that_are_not_there_are_refused(files: Path) -> None:
    """An empty selection is an error that names the file, not an empty result."""
    for form in FORMS:
        with pytest.raises(RobolinError, match="none of the selected rows"):
            read_trajectory(files / f"motion.{form}", JOINTS, ("q",), choice=RowSlice(1000))


@pytest.mark.parametrize("text", ["", "5", "a:b", "-3:5", "5:5", "7:3", "1:2:3"])
def test_invalid_ranges_are_rejected(text: str) -> None:
    with pytest.raises(UsageError, match="--rows"):
        robolin.States(trajectory="a.csv", rows=text)


def test_rows_need_a_file() -> None:
    """Without a recording there are no rows to choose from."""
    with pytest.raises(UsageError, match="--stride"):
        robolin.States(q=[0, 0], stride=2)


@pytest.mark.parametrize(
    "data", [b"", b"\n", b"1\n\n2", b"1\r\n\r\n2\r\n", b"\r\n1\n\r", b"1\n2\n"]
)
def test_rows_of_a_text_are_its_nonempty_lines(data: bytes) -> None:
    """A line that consists only of its line end is not a row."""
    kept = [line for line in data.split(b"\n") if line.strip(b"\r")]
    begins = row_offsets(data).tolist()
    assert [data[i:].partition(b"\n")[0] for i in begins] == kept


def test_lines_keep_their_numbers() -> None:
    """The lines that are left have the numbers they had."""
    chosen, passed = slice_lines(Lines(b"a\n\nb\nc\nd\n", 10, 99, True), 1, 2)
    assert (chosen.data, chosen.first, passed) == (b"b\nc\n", 12, 1)


@pytest.mark.parametrize("rows", ["0:", "3:", "12:"])
@pytest.mark.parametrize("form, location", [("csv", "bad.csv:14"), ("npz", "bad.npz, row 13")])
def test_a_bad_selected_row_is_named_by_its_location(
    tmp_path: Path, form: str, location: str, rows: str
) -> None:
    """For any selection, an error names the location of the bad row in the file."""
    arm, path = robolin.load("two-link"), tmp_path / f"bad.{form}"
    q = np.zeros((20, 2))
    # no sine has digits there
    q[12, 0] = 1e9
    if form == "csv":
        lines = [f"{i},{a},{b}" for i, (a, b) in enumerate(q.tolist())]
        path.write_text("\n".join(["time,shoulder/position,elbow/position", *lines, ""]))
    else:
        np.savez(path, q=q, time=np.arange(20.0), joints=np.array(JOINTS))
    states = robolin.States(trajectory=path, rows=rows, stride=3)
    with pytest.raises(RobolinError) as refused:
        robolin.answer(arm, "inverse", states, notify=lambda *_: None)
    assert location in str(refused.value)
    # rows 1, 4, 7, … pass it by
    states = robolin.States(trajectory=path, rows="1:", stride=3)
    assert robolin.answer(arm, "inverse", states, notify=lambda *_: None)["tau"].shape == (7, 2)
