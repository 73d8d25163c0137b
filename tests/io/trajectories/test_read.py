"""Trajectory files are read exactly, or rejected with line and column."""

import hashlib
import io

import numpy as np
import polars
import pytest

from robolin.core.result import Array, Result, stream_of_one_part
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.formats import csv_reader, parquet_reader
from robolin.io.formats.csv_writer import write_csv
from robolin.io.formats.npz_writer import write_npz
from robolin.io.formats.parquet_writer import write_parquet
from robolin.io.trajectories.read import read_trajectory

ARM = ("shoulder", "elbow")
AWKWARD = [0.0, -0.0, 5e-324, 1.7976931348623157e308, 1 / 3, -1e-5, 2.5e-9, 1e16]


def motion(rows=50):
    rng = np.random.default_rng(3)
    values = rng.standard_normal((rows, 2)) * 10.0 ** rng.integers(-12, 12, (rows, 2))
    values.ravel()[: len(AWKWARD)] = AWKWARD
    return values


def same_bits(a, b):
    return a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.fixture(params=["plain", "polars"])
def both_csv_readers(request, monkeypatch):
    """Run a test on the reader for small files and on the one for large files."""
    if request.param == "polars":
        monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)


def result_of(tau, time):
    array = Array("tau", tau, (ARM,), "N·m", "effort")
    return Result("inverse", (array,), ARM, {}, {}, {}, time)


@pytest.mark.usefixtures("both_csv_readers")
@pytest.mark.parametrize(
    "extension, writer", [("csv", write_csv), ("npz", write_npz), ("parquet", write_parquet)]
)
def test_written_results_are_read_exactly(tmp_path, extension, writer):
    """The torques of one command are the input of another, in every format, exactly."""
    tau, time = motion(), np.arange(50) / 3
    path = tmp_path / f"r.{extension}"
    writer(stream_of_one_part(result_of(tau, time)), path)
    read = read_trajectory(path, ARM, ["tau"])
    assert read.rows == 50
    assert same_bits(read.tau, tau)
    assert same_bits(read.time, time)
    assert read.q is None
    assert read.digest == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("extension", ["csv", "npz", "parquet"])
def test_columns_follow_the_arm_not_the_file(tmp_path, extension):
    """An arm that names its joints in another order gets its columns in that order."""
    writer = {"csv": write_csv, "npz": write_npz, "parquet": write_parquet}[extension]
    tau = motion()
    writer(stream_of_one_part(result_of(tau, None)), tmp_path / f"r.{extension}")
    read = read_trajectory(tmp_path / f"r.{extension}", ARM[::-1], ["tau"])
    assert same_bits(read.tau, np.ascontiguousarray(tau[:, ::-1]))


@pytest.mark.usefixtures("both_csv_readers")
def test_csv_takes_what_spreadsheets_write(tmp_path):
    """A byte order mark, CRLF, quotes, blanks, blank lines and text columns are accepted."""
    text = '\ufeff"time", q_shoulder ,q_elbow,comment\r\n0, 1 ,2,"a,b"\r\n\r\n1,3,4e0,\r\n\r\n'
    (tmp_path / "m.csv").write_bytes(text.encode())
    read = read_trajectory(tmp_path / "m.csv", ARM, ["q"], ["qd"])
    assert read.q.tolist() == [[1, 2], [3, 4]]
    assert read.time.tolist() == [0, 1]
    assert read.qd is None
    assert read.notes == ("unused columns: 'comment'",)


def test_partly_given_optional_columns_are_zero(tmp_path):
    """If a command documents 0, a joint without a column is 0 in every row, with a note."""
    (tmp_path / "m.csv").write_text("q1,q2,qd_elbow\n1,2,3\n4,5,6\n")
    read = read_trajectory(tmp_path / "m.csv", ARM, ["q"], ["qd"])
    assert read.qd.tolist() == [[0, 3], [0, 6]]
    assert any("set to 0" in note for note in read.notes)


def test_a_dash_reads_csv_from_stdin(monkeypatch):
    """'-' is CSV on standard input."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"q1,q2\n1,2\n")))
    assert read_trajectory("-", ARM, ["q"]).q.tolist() == [[1, 2]]


HEADER = "time,q1,q2\n"
BAD_CSV = [
    ("empty file", "", "m.csv", "the file is empty"),
    ("blank file", "\n\n", "m.csv", "the file is empty"),
    ("no header", "0,1,2\n1,2,3\n", "m.csv:1", "header line with column names is missing"),
    ("blank first line", "\nq1,q2\n1,2\n", "m.csv:1", "header line with column names is missing"),
    ("no rows", HEADER, "m.csv", "the file has no rows after the header"),
    ("text", HEADER + "0,1,2\n1,two,3\n", "m.csv:3", "'two' in column 'q1' is not a finite number"),
    ("an empty cell", HEADER + "0,1,\n", "m.csv:2", "column 'q2' has an empty cell"),
    ("a blank cell", HEADER + "0,1,  \n", "m.csv:2", "column 'q2' has an empty cell"),
    ("NaN", HEADER + "0,nan,2\n", "m.csv:2", "'nan' in column 'q1' is not a finite number"),
    ("infinity", HEADER + "0,1,-inf\n", "m.csv:2", "'-inf' in column 'q2' is not a finite number"),
    (
        "overflow",
        HEADER + "0,1,1e999\n",
        "m.csv:2",
        "'1e999' in column 'q2' is not a finite number",
    ),
    (
        "bad time",
        HEADER + "noon,1,2\n",
        "m.csv:2",
        "'noon' in column 'time' is not a finite number",
    ),
    (
        "digit groups",
        HEADER + "0,1_000,2\n",
        "m.csv:2",
        "'1_000' in column 'q1' is not a finite number",
    ),
    ("degrees", HEADER + "0,30deg,2\n", "m.csv:2", "'30deg' in column 'q1' is not a finite number"),
    ("a short row", HEADER + "0,1\n", "m.csv:2", "must have 3 cells like the header, got 2"),
    ("a long row", HEADER + "0,1,2,3\n", "m.csv:2", "must have 3 cells like the header, got 4"),
    (
        "short where unread",
        "q1,q2,note\n1,2\n",
        "m.csv:2",
        "must have 3 cells like the header, got 2",
    ),
    (
        "after a blank line",
        HEADER + "0,1,2\n\n0,x,2\n",
        "m.csv:4",
        "'x' in column 'q1' is not a finite number",
    ),
    ("an open quote", HEADER + '0,"1,2\n', "m.csv:2", "not well-formed CSV"),
    ("not text", b"q1,q2\n\xff\xfe,2\n", "m.csv:2", "not UTF-8 text"),
    ("a missing column", "time,q1\n0,1\n", "m.csv", "the column 'elbow/position' is missing"),
]


@pytest.mark.usefixtures("both_csv_readers")
@pytest.mark.parametrize(
    "content, where, message", [row[1:] for row in BAD_CSV], ids=[row[0] for row in BAD_CSV]
)
def test_bad_csv_is_rejected_with_its_location(tmp_path, monkeypatch, content, where, message):
    """Every bad file names its line and column, in both readers, and exits with 3."""
    monkeypatch.chdir(tmp_path)
    data = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "m.csv").write_bytes(data)
    with pytest.raises(RobolinError) as caught:
        read_trajectory("m.csv", ARM, ["q"])
    assert message in caught.value.message
    assert caught.value.where == where
    assert caught.value.exit_code == 3


def test_all_bad_cells_are_reported_but_not_thousands(tmp_path):
    """A file with many mistakes lists the first twenty and counts the others."""
    (tmp_path / "m.csv").write_text("q1,q2\n" + "x,y\n" * 100)
    with pytest.raises(RobolinError) as caught:
        read_trajectory(tmp_path / "m.csv", ARM, ["q"])
    assert len(caught.value.parts) == 21
    assert caught.value.parts[-1].message == "and 180 more problems of this kind"


def test_large_files_give_the_same_numbers(tmp_path, monkeypatch):
    """The reader for large files is taken past its limit and agrees to the bit."""
    write_csv(stream_of_one_part(result_of(motion(500), None)), tmp_path / "m.csv")
    exact = read_trajectory(tmp_path / "m.csv", ARM, ["tau"]).tau
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    monkeypatch.setattr(csv_reader, "records_table", None)
    assert same_bits(read_trajectory(tmp_path / "m.csv", ARM, ["tau"]).tau, exact)


def save_npz(path, **arrays):
    np.savez(path, **{name: np.asarray(value) for name, value in arrays.items()})


def test_npz_without_names_is_taken_in_order_and_says_so(tmp_path):
    """Arrays alone are read in the arm's order, and the order is printed back."""
    save_npz(tmp_path / "m.npz", q=[[1, 2]], qd=[[3.0, 4.0]], time=[0])
    read = read_trajectory(tmp_path / "m.npz", ARM, ["q"], ["qd"])
    assert (read.q.tolist(), read.qd.tolist()) == ([[1, 2]], [[3, 4]])
    assert "columns are numbered; joint order: shoulder, elbow" in read.notes[0]


VECTORS = {
    "elbow/position": [1.0, 3.0],
    "shoulder/position": [2.0, 4.0],
    "shoulder/velocity": [5.0, 6.0],
    "elbow/velocity": [7.0, 8.0],
    "time": [0.0, 0.5],
}


@pytest.mark.parametrize("names", [list(VECTORS), list(VECTORS)[::-1]], ids=["as is", "reversed"])
def test_npz_with_a_vector_per_column_is_read_as_csv(tmp_path, names):
    """An NPZ whose arrays are named like the columns of a CSV is the same recording."""
    save_npz(tmp_path / "m.npz", **{name: VECTORS[name] for name in names})
    rows = zip(*map(VECTORS.get, names), strict=True)
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "m.csv").write_text("\n".join(lines))
    npz, csv = (
        read_trajectory(tmp_path / f"m.{end}", ARM, ["q"], ["qd"]) for end in ("npz", "csv")
    )
    for trajectory in (npz, csv):
        assert trajectory.q.tolist() == [[2.0, 1.0], [4.0, 3.0]]
        assert trajectory.qd.tolist() == [[5.0, 7.0], [6.0, 8.0]]
        assert trajectory.time.tolist() == [0.0, 0.5]


def test_npz_vectors_of_several_lengths_are_refused(tmp_path):
    """Vectors of other lengths are errors; none is truncated or ignored silently."""
    save_npz(tmp_path / "m.npz", **{**VECTORS, "elbow/velocity": [7.0]})
    with pytest.raises(
        RobolinError,
        match="has 2, shoulder/position has 2, shoulder/velocity has 2, elbow/velocity has 1",
    ):
        read_trajectory(tmp_path / "m.npz", ARM, ["q"])


def test_npz_vectors_next_to_matrices_are_not_columns(tmp_path):
    """In an archive with q, other vectors are ignored."""
    save_npz(tmp_path / "m.npz", q=[[1, 2]], gains=[1.0, 2.0, 3.0], timestamp=[7.0])
    assert read_trajectory(tmp_path / "m.npz", ARM, ["q"]).time is None


def test_npz_names_may_be_more_than_the_arm_has(tmp_path):
    """Joints the arm does not have are noted, not an error."""
    save_npz(tmp_path / "m.npz", q=[[1, 2, 3]], joints=["elbow", "finger", "shoulder"])
    read = read_trajectory(tmp_path / "m.npz", ARM, ["q"])
    assert read.q.tolist() == [[3, 1]]
    assert read.notes == ("unused columns: 'finger/position'",)


BAD_NPZ = [
    ("one state", {"q": [1.0, 2.0]}, "'q' must have shape (rows, 2), got (2,)"),
    ("wrong width", {"q": [[1.0, 2.0, 3.0]]}, "'q' must have shape (rows, 2), got (1, 3)"),
    (
        "other rows",
        {"q": [[1.0, 2.0]], "qd": [[1.0, 2.0]] * 2},
        "all arrays must have the same number of rows: q has 1, qd has 2",
    ),
    (
        "time of another length",
        {"q": [[1.0, 2.0]], "time": [1.0, 2.0]},
        "all arrays must have the same number of rows: q has 1, time has 2",
    ),
    (
        "time as a table",
        {"q": [[1.0, 2.0]], "time": [[1.0]]},
        "'time' must have shape (rows,), got (1, 1)",
    ),
    ("text", {"q": [["a", "b"]]}, "'q' must contain real numbers, got <U1"),
    ("complex", {"q": [[1j, 2j]]}, "'q' must contain real numbers, got complex128"),
    ("NaN", {"q": [[1.0, 2.0], [np.nan, 1.0]]}, "'nan' in column 'q[0]' is not a finite number"),
    (
        "joints as numbers",
        {"q": [[1.0, 2.0]], "joints": [1, 2]},
        "'joints' must be a list of names",
    ),
    (
        "a joint twice",
        {"q": [[1.0, 2.0]], "joints": ["elbow", "elbow"]},
        "the column 'elbow/position' occurs more than once",
    ),
    ("no q", {"tau": [[1.0, 2.0]]}, "'shoulder/position', 'elbow/position' are missing"),
    ("no rows", {"q": np.zeros((0, 2))}, "the file has no rows after the header"),
]


@pytest.mark.parametrize(
    "arrays, message", [row[1:] for row in BAD_NPZ], ids=[row[0] for row in BAD_NPZ]
)
def test_bad_npz_is_refused(tmp_path, arrays, message):
    """An archive of the wrong shape, type or names is an error with array and reason."""
    save_npz(tmp_path / "m.npz", **arrays)
    with pytest.raises(RobolinError) as caught:
        read_trajectory(tmp_path / "m.npz", ARM, ["q"], ["qd"])
    assert message in str(caught.value)
    assert caught.value.exit_code == 3


def _pickled():
    held = io.BytesIO()
    np.savez(held, q=np.array([[{}, {}]], dtype=object))
    return held.getvalue()


def _npy():
    held = io.BytesIO()
    np.save(held, np.zeros((3, 2)))
    return held.getvalue()


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"text", _pickled(), _npy()])
@pytest.mark.parametrize("extension", ["npz", "parquet"])
def test_files_of_another_kind_are_refused(tmp_path, content, extension):
    """A damaged or foreign file is a RobolinError, and nothing in it is unpickled."""
    path = tmp_path / f"m.{extension}"
    path.write_bytes(content)
    with pytest.raises(RobolinError, match="not a valid"):
        read_trajectory(path, ARM, ["q"])


BAD_PARQUET = [
    ("empty cell", [1.0, None], "row 2", "column 'q2' has an empty cell"),
    ("NaN", [float("nan"), 1.0], "row 1", "'nan' in column 'q2' is not a finite number"),
    ("text", ["a", "b"], "", "column 'q2' must contain numbers, got String"),
]


@pytest.mark.parametrize("group", [7, 50])
def test_parquet_slices_have_the_same_rows(tmp_path, monkeypatch, group):
    """Slices that end within a row group give the same rows."""
    values = motion(50)
    frame = polars.DataFrame(dict(zip(("q1", "q2"), values.T, strict=True)))
    frame.write_parquet(tmp_path / "m.parquet", row_group_size=group)
    monkeypatch.setattr(parquet_reader, "_NUMBERS_PER_SLICE", 26)
    read = read_trajectory(tmp_path / "m.parquet", ARM, ["q"])
    assert same_bits(read.q, values)


@pytest.mark.parametrize(
    "column, where, message", [row[1:] for row in BAD_PARQUET], ids=[row[0] for row in BAD_PARQUET]
)
def test_bad_parquet_is_refused(tmp_path, column, where, message):
    """A cell that is not a number is named by row and column."""
    polars.DataFrame({"q1": [1, 2], "q2": column}).write_parquet(tmp_path / "m.parquet")
    with pytest.raises(RobolinError) as caught:
        read_trajectory(tmp_path / "m.parquet", ARM, ["q"])
    assert message in caught.value.message
    assert where in caught.value.where


def test_unreadable_files_are_file_errors(tmp_path):
    """A missing file or a folder gives exit code 4."""
    (tmp_path / "folder.csv").mkdir()
    for name in ("none.csv", "none.npz", "none.parquet", "folder.csv"):
        with pytest.raises(FileError) as caught:
            read_trajectory(tmp_path / name, ARM, ["q"])
        assert caught.value.exit_code == 4
        assert caught.value.where == str(tmp_path / name)


@pytest.mark.parametrize("name", ["motion.xlsx", "motion"])
def test_other_extensions_are_usage_errors(name):
    """An unknown format is rejected with a list of the known ones."""
    with pytest.raises(UsageError) as caught:
        read_trajectory(name, ARM, ["q"])
    for ending in (".csv", ".tsv", ".npz", ".parquet", ".mcap"):
        assert ending in caught.value.hint
