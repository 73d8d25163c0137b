"""The same motion in NPY, MAT, Arrow and HDF5 files gives the results of the CSV file."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np
import polars
import pytest

from tests.cli.command import CommandRun, robolin

ROWS = 50
TIME = np.cumsum(np.random.default_rng(1).uniform(0.5, 1.5, ROWS)) * 0.01
Q, QD = np.random.default_rng(0).uniform(-1, 1, (2, ROWS, 2))
NAMES = ["time", "shoulder/position", "elbow/position", "shoulder/velocity", "elbow/velocity"]
TABLE = np.c_[TIME, Q, QD]
INDEXED = ("--columns", "time=0,position=1:3,velocity=3:5")


def run(path: str, *flags: str) -> CommandRun:
    return robolin("inverse", "two-link", "--format", "csv", "--trajectory", path, *flags)


@pytest.fixture(autouse=True)
def native(tmp_path, monkeypatch) -> str:
    """The result of the CSV file."""
    monkeypatch.chdir(tmp_path)
    rows = [",".join(map(repr, map(float, row))) for row in TABLE]
    Path("m.csv").write_text("\n".join([",".join(NAMES), *rows]) + "\n")
    return run("m.csv").out


@pytest.mark.parametrize("order", ["C", "F"])
def test_npy(native, order):
    """Columns of a matrix are selected by index; fields of a structured array by name."""
    np.save("m.npy", np.asarray(TABLE, order=order))
    assert run("m.npy", *INDEXED).out == native
    assert run("m.npy", *INDEXED, "--no-header").out == native
    assert run("m.npy", *INDEXED, "--rows", "7:9").out.splitlines()[1:] == native.splitlines()[8:10]
    fields = np.zeros(ROWS, dtype=[("time", "f8"), ("q", "f8", 2), ("qd", "f8", 2)])
    fields["time"], fields["q"], fields["qd"] = TIME, Q, QD
    np.save("f.npy", fields)
    assert run("f.npy").out == native


def test_sample_time():
    """Rows without times are those of a file whose time is the row number times the sample time."""
    step, smooth = 0.005, np.column_stack([np.sin(TIME), np.cos(TIME)])
    header = "time,shoulder/position,elbow/position"
    timed = np.c_[np.arange(ROWS) * step, smooth]
    rows = [
        "\n".join(",".join(map(repr, row)) for row in table.tolist()) for table in (timed, smooth)
    ]
    Path("timed.csv").write_text(f"{header}\n{rows[0]}\n")
    Path("bare.txt").write_text(rows[1].replace(",", " ") + "\n")
    np.save("bare.npy", smooth)
    np.save("q1.npy", smooth[:, 1:])
    np.savez("bare.npz", q=smooth)
    index, step_flag = ("--columns", "position=0:2"), ("--sample-time", repr(step))
    for method in ("savgol:0.05", "savgol", "central"):
        flags = ("--differentiate", method)
        truth = run("timed.csv", *flags)
        assert truth.code == 0, truth.err
        flags += step_flag
        assert run("bare.npy", *index, *flags).out == truth.out
        assert run("bare.txt", "--no-header", *index, *flags).out == truth.out
        assert run("bare.npz", *flags).out == truth.out
    some = run("bare.npy", *index, *step_flag, "--rows", "10:20", "--stride", "4").rows[1:]
    assert [row[0] for row in some] == ["0.05", "0.07", "0.09"]
    joined = run("bare.npy+q1.npy", "--columns", "position=0:2", *step_flag)
    assert joined.out == run("bare.npy", *index, *step_flag).out


@pytest.mark.parametrize(
    ("file", "flags", "message"),
    [
        ("m.csv", ["--sample-time", "0.1"], "has no effect: the file has the time column 'time'"),
        ("m.csv", ["--sample-time", "0"], "must be a time from 1e-09 to 1e+06 s"),
        ("m.csv", ["--sample-time", "nan"], "must be a time from 1e-09 to 1e+06 s"),
        ("m.csv", ["--sample-time", "1", "--time", "time"], "--time"),
        ("q.npz", ["--differentiate", "savgol"], "or set --sample-time SECONDS"),
    ],
)
def test_sample_times_that_are_rejected(file, flags, message):
    """A sample time is for files without a time; a file that needs one names the option."""
    np.savez("q.npz", q=Q)
    ran = run(file, *flags)
    assert ran.code in (2, 3)
    assert message in ran.err


def mat(name: str, variables: dict, **options) -> str:
    scipy_io = pytest.importorskip("scipy.io")
    scipy_io.savemat(name, variables, **options)
    return name


def test_arrays_that_are_too_wide():
    """Arrays with more columns than a table may have are not columns."""
    image = np.zeros((ROWS, 10_001), dtype=np.int8)
    ran = run(mat("wide.mat", {"time": TIME, "q": Q, "image": image}, do_compression=True))
    assert ran.code == 0, ran.err
    assert "arrays without a row axis are ignored: 'image'" in ran.err


@pytest.mark.parametrize("packed", [False, True], ids=["plain", "compressed"])
def test_mat(native, packed):
    """Rows are either axis; structs and names of quantities are found."""
    arrays = {"time": TIME, "q": Q, "qd": QD, "note": "text", "gain": np.eye(3)}
    for number, oriented in enumerate((arrays, {n: np.transpose(x) for n, x in arrays.items()})):
        ran = run(mat(f"m{number}.mat", oriented, do_compression=packed))
        assert (ran.code, ran.out) == (0, native), ran.err
        assert "'gain'" in ran.err
    words = {"data": {"t": TIME, "position": Q, "velocity": QD}}
    path = mat("s.mat", words, do_compression=packed)
    # the struct is a prefix of its fields
    assert run(path).out == native
    assert run(f"{path}:data").out == native


def test_mat_integers_and_octave_storage():
    """MATLAB stores doubles that are integers in fewer bytes; integer times are not rounded."""
    stamps = 1_700_000_000_000_000_001 + np.arange(4)
    path = mat("i.mat", {"time": stamps, "q": np.arange(8.0).reshape(4, 2)})
    # replace the numbers of q by bytes, as MATLAB does
    ran = run(path)
    assert [line.split(",")[0] for line in ran.out.splitlines()[1:]] == list(map(str, stamps))
    data = Path(path).read_bytes()
    at = data.index(struct.pack("<II", 9, 64))
    small = struct.pack("<II8B", 2, 8, *range(0, 8, 2), *range(1, 8, 2))
    body = data[:at] + small
    begin = body.rindex(b"\x0e\x00\x00\x00", 0, at)
    size = len(body) - begin - 8
    patched = body[: begin + 4] + struct.pack("<I", size) + body[begin + 8 :]
    Path("small.mat").write_bytes(patched)
    assert run("small.mat").out == ran.out


def test_arrow(native):
    """Arrow and Feather files, plain and compressed, are read by polars."""
    frame = polars.DataFrame(TABLE, schema=NAMES)
    for name, packed in (("m.arrow", "uncompressed"), ("m.feather", "zstd"), ("l.arrow", "lz4")):
        frame.write_ipc(name, compression=packed)
        ran = run(name)
        assert (ran.code, ran.out) == (0, native), ran.err


def test_arrow_with_columns_of_other_types(native):
    """Texts, lists, structures and columns of nulls do not change how numbers are read."""
    pyarrow = pytest.importorskip("pyarrow")
    texts = [None, "a", "a text of more than twelve bytes", None, "a"] * (ROWS // 5)
    pairs = [[1.0, None], None, [], [2.0, 3.0], [4.0]] * (ROWS // 5)
    numbers = {name: pyarrow.array(TABLE[:, k]) for k, name in enumerate(NAMES)}
    others = {
        "nothing": pyarrow.nulls(ROWS),
        "text": pyarrow.array(texts),
        "long": pyarrow.array(texts, pyarrow.large_string()),
        "view": pyarrow.array(texts, pyarrow.string_view()),
        "list": pyarrow.array(pairs),
        "pair": pyarrow.array([[1, 2], None] * (ROWS // 2), pyarrow.list_(pyarrow.int8(), 2)),
        "structure": pyarrow.array([{"a": 1, "b": "x"}, None] * (ROWS // 2)),
        "category": pyarrow.array(texts).dictionary_encode(),
        "flag": pyarrow.array([True, None] * (ROWS // 2)),
    }
    # polars stores texts as views
    frame = polars.from_arrow(pyarrow.table({**others, **numbers}))
    frame.write_ipc("polars.arrow", compression="zstd")
    assert run("polars.arrow").out == native
    names, rng = [*others], np.random.default_rng(0)
    orders = [(first, *rng.permutation(names)[:k]) for k in range(4) for first in names]
    for order in [*orders, ("nothing", "text", "long")]:
        table = pyarrow.table({**{name: others[name] for name in order}, **numbers})
        with pyarrow.ipc.new_file("m.arrow", table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
        ran = run("m.arrow")
        assert (ran.code, ran.out) == (0, native), (order, ran.err)


UNREAD = {"run-end encoded", "a calendar interval", "a list view", "a union"}


@pytest.mark.parametrize("kind", sorted(UNREAD))
def test_arrow_with_a_column_that_polars_cannot_read(kind):
    """The error names the column and its type; the file is not damaged."""
    pyarrow = pytest.importorskip("pyarrow")
    numbers, count = pyarrow.array(range(ROWS)), pyarrow.array([ROWS], pyarrow.int32())
    values = {
        "run-end encoded": lambda: pyarrow.RunEndEncodedArray.from_arrays(count, [1.0]),
        "a calendar interval": lambda: pyarrow.array([pyarrow.MonthDayNano([1, 2, 3])] * ROWS),
        "a list view": lambda: pyarrow.array([[1.0]] * ROWS, pyarrow.list_view(pyarrow.float64())),
        "a union": lambda: pyarrow.UnionArray.from_sparse(
            pyarrow.array([0] * ROWS, pyarrow.int8()), [numbers]
        ),
    }[kind]()
    columns = {name: pyarrow.array(TABLE[:, k]) for k, name in enumerate(NAMES)}
    table = pyarrow.table({**columns, "mode": values})
    with pyarrow.ipc.new_file("m.arrow", table.schema) as writer:
        writer.write_table(table)
    ran = run("m.arrow")
    assert (ran.code, f"column 'mode' is {kind}, which is not supported" in ran.err) == (3, True)


def test_arrow_with_impossible_numbers_of_nulls_is_rejected(native):
    """A column has from 0 nulls to as many as rows, and a bitmap for them, in every batch."""
    pyarrow = pytest.importorskip("pyarrow")
    feather = pytest.importorskip("pyarrow.feather")
    columns = {name: pyarrow.array(TABLE[:, k]) for k, name in enumerate(NAMES)}
    # the buffers of texts are between those of numbers
    columns = {"texts": pyarrow.array(["a"] * ROWS), **columns}
    feather.write_feather(
        pyarrow.table(columns), "m.arrow", compression="uncompressed", chunksize=20
    )
    assert run("m.arrow").out == native
    data = Path("m.arrow").read_bytes()
    for rows in (20, 10):
        node = struct.pack("<qq", rows, 0)
        for nulls in (-1, -(2**48), 1, rows + 1):
            at = data.rindex(node) if rows == 10 else data.index(node)
            changed = data[:at] + struct.pack("<qq", rows, nulls) + data[at + 16 :]
            ran = run(damage("nulls.arrow", changed))
            assert (ran.code, "not a valid" in ran.err) == (3, True), (rows, nulls, ran.err)


def test_hdf5(native):
    """Datasets are columns or matrices; a group is selected after a colon."""
    h5py = pytest.importorskip("h5py")
    for name, options in (("m.h5", {}), ("m.hdf5", {"compression": "gzip", "chunks": True})):
        with h5py.File(name, "w") as root:
            for prefix in ("", "demo_0/obs/"):
                root.create_dataset(f"{prefix}time", data=TIME, **options)
                root.create_dataset(f"{prefix}position", data=Q, **options)
                root.create_dataset(f"{prefix}velocity", data=QD, **options)
        assert run(f"{name}:/demo_0/obs").out == native
        rules = "position=demo_0/obs/position[{index}],velocity=demo_0/obs/velocity[{index}]"
        assert run(name, "--columns", f"{rules}, time=time").out == native
        wrong = run(name, "--columns", "position=angle_{index}")
        assert (wrong.code, "the columns are 'demo_0/obs/position[0]'" in wrong.err) == (3, True)
    with h5py.File("one.h5", "w") as root:
        root.create_dataset("states/t", data=TIME)
        root.create_dataset("states/position", data=Q.T)
        root.create_dataset("states/velocity", data=QD.T)
    ran = run("one.h5")
    assert (ran.code, ran.out) == (0, native), ran.err


def test_npz_of_other_programs(native):
    """Arrays JOINT/position, and matrices named after quantities, are found."""
    np.savez("named.npz", **dict(zip(NAMES, TABLE.T, strict=True)))
    # a matrix of another size is not read
    np.savez("gain.npz", gain=np.eye(3), **dict(zip(NAMES, TABLE.T, strict=True)))
    assert run("gain.npz").out == native
    np.savez("words.npz", time=TIME, position=Q, velocity=QD)
    np.savez("plural.npz", time=TIME, positions=Q, velocities=QD)
    for path in ("named.npz", "words.npz", "plural.npz"):
        ran = run(path)
        assert (ran.code, ran.out) == (0, native), ran.err
    # settings of a program, among them one that is named as a quantity, and Python objects
    objects = np.array([[1], [2, 3]], dtype=object)
    np.savez("settings.npz", times=TIME, positions=Q, velocities=QD, q=np.zeros(7), a=objects)
    ran = run("settings.npz")
    assert (ran.code, ran.out) == (0, native), ran.err
    ran = run("plural.npz", "--columns", "position=positions[{index}]")
    assert ran.code == 0


def test_formats_are_joined(native):
    """Files of different formats are one recording."""
    np.save("qd.npy", QD)
    polars.DataFrame(TABLE[:, :3], schema=NAMES[:3]).write_ipc("q.arrow")
    rules = ("--columns", "position={joint}/position", "--columns", "velocity=3:5")
    assert run("q.arrow+qd.npy", *rules).out == native


def damage(name: str, data: bytes) -> str:
    Path(name).write_bytes(data)
    return name


def test_damaged_files_are_rejected():
    """Files that are not of their format are errors with a hint."""
    np.save("m.npy", np.array([object()], dtype=object), allow_pickle=True)
    np.save("c.npy", np.ones((3, 2), complex))
    np.save("e.npy", np.ones((0, 2)))
    bomb = zlib.compress(struct.pack("<II", 14, 1 << 31) + bytes(1 << 20))
    head = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    for path in (
        *("m.npy", "c.npy", "e.npy"),
        damage("a.npy", b"\x93NUMPY\x01\x00\xff\xff"),
        damage("b.npy", b""),
        damage("z.npy", b"PK\x03\x04"),
        damage("a.mat", b""),
        damage("b.mat", b"MATLAB" * 40),
        damage("c.mat", head + struct.pack("<II", 15, len(bomb)) + bomb),
        damage("d.mat", head + struct.pack("<II", 14, 1 << 30)),
        damage("a.arrow", b"ARROW1" + bytes(40) + b"ARROW1"),
        damage("b.feather", b"FEA1"),
    ):
        ran = run(path, "--columns", "position=0:2")
        assert (ran.code, "hint:" in ran.err) == (3, True), (path, ran.err)
    assert "no such file" in run("none.npy").err


def test_damaged_hdf5_is_rejected():
    """A file that is not HDF5, and a group that does not exist, are errors with a hint."""
    pytest.importorskip("h5py")
    assert run(damage("a.h5", b"\x89HDF\r\n\x1a\n" + bytes(100))).code == 3
