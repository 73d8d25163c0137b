"""Mutated recordings: text without names, several files, NPY, MAT, Arrow and HDF5 files.

Every result must match the positions that another reader finds.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import pickle
import random
import resource
import shutil
import struct
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars
from polars.exceptions import PolarsError

import robolin
from tests.cli.test_datasets import version_2, version_3
from tests.fuzz import mutators
from tests.fuzz.bag_subjects import changed

ARM = "two-link"
JOINTS = ("shoulder", "elbow")
TABLE = np.random.default_rng(0).uniform(-1, 1, (12, 4))
TIMES = np.arange(12.0)
POSITIONS = ["--columns", "position=1:3"]


def words(path: str, *flags: str) -> list[str]:
    return ["mass-matrix", ARM, "--trajectory", path, "--format", "csv", *flags]


def _same(out: str, q: np.ndarray | None, exact: bool = True) -> None:
    """Check that each row is the mass matrix of these positions; None if they are not known."""
    if q is None:
        return
    lines = [line.split(",") for line in out.splitlines()[1:]]
    computed = np.array([[float(x) for x in line[-4:]] for line in lines])
    truth = robolin.mass_matrix(robolin.load(ARM), q, engine="python").reshape(-1, 4)
    assert len(computed) == len(q), "there are other rows in the answer than in the file"
    if exact:
        assert computed.tobytes() == truth.tobytes(), "it is of another motion"
    elif np.abs(q).max(initial=0.0) < 1e3:
        assert np.allclose(computed, truth, rtol=1e-9, atol=1e-9), "it is of another motion"


def _same_mat(path: str, out: str) -> None:
    """Check like `_same`; numbers of the class single are rounded, which SciPy does not do."""
    q = _mat_positions(path)
    data = Path(path).read_bytes()
    with contextlib.suppress(zlib.error):
        data += zlib.decompress(data[136:])
    if q is not None and _FLAGS_OF_SINGLE in data:
        q = q.astype(np.float32).astype(np.float64)
    _same(out, q)


def _lines(separator: str) -> bytes:
    return "".join(separator.join(map(repr, row)) + "\n" for row in TABLE.tolist()).encode()


def _headerless(_: Path) -> list[bytes]:
    aligned = _lines("   ").replace(b"\n", b"  \n  ")
    return [_lines(","), _lines("\t"), _lines(" "), aligned.rstrip()]


def _rows_of_text(path: str) -> np.ndarray | None:
    """Columns 1 and 2 of a text with commas, tabs or spaces; None if it has quotes or others."""
    text = Path(path).read_bytes().decode("utf-8-sig")
    head = text.lstrip("\r\n").partition("\n")[0]
    if '"' in text or ";" in head:
        return None
    if "," in head:
        rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    elif "\t" in head:
        rows = [line.split("\t") for line in text.splitlines() if line]
    else:
        rows = [line.split() for line in text.splitlines() if line.strip()]
    return np.array([[float(row[1]), float(row[2])] for row in rows])


def _npy(_: Path) -> list[bytes]:
    files = []
    for values in (TABLE, np.asfortranarray(TABLE), TABLE.astype(">f4")):
        stream = io.BytesIO()
        np.save(stream, values)
        files.append(stream.getvalue())
    return files


# an element of array flags with the class single of MATLAB
_FLAGS_OF_SINGLE = struct.pack("<IIB", 6, 8, 7)


def _mat(_: Path) -> list[bytes]:
    from scipy.io import savemat

    files = []
    variables: list[dict[str, Any]] = [
        {"time": TIMES, "q": TABLE[:, :2], "gain": np.eye(3), "text": "abc"},
        {"log": {"t": TIMES, "position": TABLE[:, :2].T}},
    ]
    for held in variables:
        for packed in (False, True):
            stream = io.BytesIO()
            savemat(stream, held, do_compression=packed)
            files.append(stream.getvalue())
    return files


def _change_mat(data: bytes, rng: random.Random) -> bytes:
    """Change bytes or lengths of a file, or of what its first variable is compressed from."""
    kind, size = struct.unpack_from("<II", data, 128)
    if kind != 15 or rng.random() < 0.4:
        return changed(data, rng)
    inside = zlib.decompress(data[136 : 136 + size])
    packed = zlib.compress(changed(inside, rng))
    return data[:128] + struct.pack("<II", 15, len(packed)) + packed + data[136 + size :]


def _mat_positions(path: str) -> np.ndarray | None:
    """Positions by SciPy in a process of its own, which some files crash; None without a result."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        with open("/proc/self/statm") as text:
            used = int(text.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 28), used + (1 << 28)))
        with contextlib.suppress(BaseException), open(write, "wb") as stream:
            pickle.dump(_by_scipy(path), stream)
        os._exit(0)
    os.close(write)
    with open(read, "rb") as stream:
        data = stream.read()
    os.waitpid(child, 0)
    positions: np.ndarray | None = pickle.loads(data) if data else None
    return positions


def _by_scipy(path: str) -> np.ndarray | None:
    """Positions by SciPy; None if it cannot read the file, or names are unexpected."""
    from scipy.io import loadmat

    try:
        held = loadmat(path, struct_as_record=False, squeeze_me=True)
    except Exception:
        return None
    q = held.get("q", getattr(held.get("log"), "position", None))
    if q is None or np.shape(q) not in ((12, 2), (2, 12)):
        return None
    times = held.get("time", getattr(held.get("log"), "t", None))
    if np.shape(times) != (12,):
        return None
    return np.asarray(q, float) if np.shape(q) == (12, 2) else np.asarray(q, float).T


def _arrow(_: Path) -> list[bytes]:
    frame = polars.DataFrame(TABLE, schema=["a", "shoulder/position", "elbow/position", "b"])
    # columns of other types have other numbers of buffers
    others = polars.DataFrame(
        {
            "nothing": [None] * 12,
            "text": [None, "a", "more than twelve bytes"] * 4,
            "list": [[1.0], None, []] * 4,
        }
    )
    files = []
    for packed in ("uncompressed", "lz4", "zstd"):
        for each in (frame, others.hstack(frame)):
            stream = io.BytesIO()
            each.write_ipc(stream, compression=packed)
            files.append(stream.getvalue())
    return files


def _arrow_positions(path: str) -> np.ndarray | None:
    """Positions by pyarrow; None if it cannot read the file, or cannot convert its nulls."""
    import pyarrow

    try:
        with pyarrow.OSFile(path) as stream:
            table = pyarrow.ipc.open_file(stream).read_all()
        names = ["shoulder/position", "elbow/position"]
        return np.array([table[name].to_numpy() for name in names], float).T
    except Exception:
        return None


def _hdf5(_: Path) -> list[bytes]:
    import h5py

    files = []
    for options in ({}, {"compression": "gzip", "chunks": (4, 2)}, {"fletcher32": True}):
        stream = io.BytesIO()
        with h5py.File(stream, "w") as root:
            root.create_dataset("log/t", data=TIMES)
            root.create_dataset("log/position", data=TABLE[:, :2], **options)
        files.append(stream.getvalue())
    return files


def _hdf5_positions(path: str) -> np.ndarray | None:
    """Positions by the name of their dataset; None if names or types are unexpected."""
    import h5py

    try:
        with h5py.File(path, "r") as root:
            return np.asarray(root["log/position"][:], float)
    except Exception:
        return None


def _second_file(_: Path) -> list[bytes]:
    rows = np.c_[TIMES, TABLE[:, :2]]
    head = "time,shoulder/position,elbow/position\n"
    return [(head + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())).encode()]


def _joined(path: str, *flags: str) -> list[str]:
    """A first file with other times, and the mutated one."""
    first = Path(path).with_name("first.csv")
    times = TIMES if "time" not in flags else np.linspace(0.0, 11.0, 30)
    first.write_text("time,x\n" + "".join(f"{float(t)!r},0\n" for t in times))
    return words(f"{first}+{path}", *flags)


def _second_positions(path: str, by_time: bool) -> np.ndarray | None:
    text = Path(path).read_bytes().decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    head = [name.strip() for name in rows[0]]
    names = ["time", "shoulder/position", "elbow/position"]
    if any(head.count(name) != 1 for name in names) or len(rows) < 2:
        return None
    time, *q = np.array([[float(row[head.index(name)]) for name in names] for row in rows[1:]]).T
    if not by_time:
        return np.array(q).T
    at = np.linspace(0.0, 11.0, 30)
    if np.abs(np.array(q)).max() > 1e3 or (np.diff(time) <= 0).any():
        return None
    return np.array([np.interp(at, time, each) for each in q]).T


def _currents(_: Path) -> list[bytes]:
    """Positions at rest, and motor currents."""
    head = "shoulder/position,elbow/position,shoulder/current,elbow/current\n"
    return [head.encode() + _lines(",")]


def _by_constants(path: str) -> list[str]:
    flags = ["--torque-constants", "3,-0.5", "--format", "csv"]
    return ["forward", ARM, "--trajectory", path, *flags]


def _currents_checked(path: str, out: str) -> None:
    """Check accelerations with the efforts that another reader computes from the currents."""
    text = Path(path).read_bytes().decode("utf-8-sig")
    rows = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    head = [name.strip() for name in rows[0]]
    names = [f"{joint}/{word}" for word in ("position", "current") for joint in JOINTS]
    if any(head.count(name) != 1 for name in names) or {*head} - {*names}:
        return
    table = np.array([[float(row[head.index(name)]) for name in names] for row in rows[1:]])
    tau = table[:, 2:] * [3.0, -0.5]
    arm = robolin.load(ARM)
    truth = robolin.forward(arm, table[:, :2], np.zeros_like(tau), tau, engine="python")
    computed = np.array([[float(x) for x in line.split(",")] for line in out.splitlines()[1:]])
    assert computed[:, -2:].tobytes() == truth.tobytes(), "it is of other efforts"


def _archives(_: Path) -> list[bytes]:
    """NPZ files with an array per joint."""
    files = []
    arrays = {f"{joint}/position": TABLE[:, i] for i, joint in enumerate(JOINTS)}
    for write in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        write(stream, time=TIMES, gain=np.eye(3), **arrays)
        files.append(stream.getvalue())
    return files


def _archive_positions(path: str) -> np.ndarray | None:
    with np.load(path) as held:
        names = [f"{joint}/position" for joint in JOINTS]
        if not {*names} <= {*held} or any(held[name].shape != (12,) for name in names):
            return None
        return np.column_stack([np.asarray(held[name], float) for name in names])


def _datasets(_: Path) -> list[bytes]:
    """Folders of LeRobot datasets, as ZIP archives."""
    files = []
    for write in (version_2, version_3):
        with TemporaryDirectory() as folder, contextlib.chdir(folder):
            root = Path(write())
            parts = {str(each): each.read_bytes() for each in sorted(root.rglob("*.*"))}
            files.append(mutators.zipped(parts, zipfile.ZIP_STORED))
    return files


def _parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _change_dataset(data: bytes, rng: random.Random) -> bytes:
    """Change one file of a dataset, or remove it."""
    parts = _parts(data)
    name = rng.choice(list(parts))
    kind = rng.random()
    if kind < 0.1:
        del parts[name]
    elif kind < 0.3:
        parts[name] = changed(parts[name], rng)
    elif name.endswith(".parquet"):
        parts[name] = mutators.parquet(parts[name], rng)
    else:
        lines = [json.loads(line) for line in parts[name].splitlines()]
        i = rng.randrange(len(lines))
        lines[i] = mutators.tree(lines[i], rng)
        parts[name] = "\n".join(map(json.dumps, lines)).encode()
    return mutators.zipped(parts, zipfile.ZIP_STORED)


def _all_episodes(path: str) -> list[str]:
    """Unpack a dataset, and read all its episodes."""
    folder = Path(path).with_name("dataset")
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in _parts(Path(path).read_bytes()).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    return words(f"{folder}/set/", "--radians")


def _dataset_positions(path: str) -> np.ndarray | None:
    """Positions by Polars, if only data changed and every episode has all its rows."""
    parts = _parts(Path(path).read_bytes())
    about = {name: data for name, data in parts.items() if "/meta/" in name}
    if about not in [
        {name: data for name, data in _parts(seed).items() if "/meta/" in name}
        for seed in _datasets(Path())
    ]:
        return None
    data = [parts[name] for name in sorted(parts) if "/data/" in name]
    try:
        frame = polars.concat([polars.read_parquet(io.BytesIO(each)) for each in data])
        if frame["episode_index"].to_list() != [0] * 4 + [1] * 5:
            return None
        return np.array(frame["observation.state"].to_list(), float)
    except (PolarsError, ValueError):
        return None


def recording_subjects(make: Callable[..., Any]) -> dict[str, Any]:
    """The kinds of recordings, as subjects of a campaign."""
    text = mutators.of_text(mutators.csv)
    subjects = {
        "headerless": make(
            *("txt", _headerless, text),
            lambda path: words(path, "--no-header", *POSITIONS),
            lambda path, out: _same(out, _rows_of_text(path)),
        ),
        "joined": make(
            *("csv", _second_file, text, _joined),
            lambda path, out: _same(out, _second_positions(path, False)),
        ),
        "joined-by-time": make(
            *("csv", _second_file, text),
            lambda path: _joined(path, "--join", "time"),
            lambda path, out: _same(out, _second_positions(path, True), exact=False),
        ),
        "currents": make("csv", _currents, text, _by_constants, _currents_checked),
        "npz-joints": make(
            *("npz", _archives, mutators.npz, words),
            lambda path, out: _same(out, _archive_positions(path)),
        ),
        "lerobot": make(
            *("zip", _datasets, _change_dataset, _all_episodes),
            lambda path, out: _same(out, _dataset_positions(path)),
        ),
        "npy": make(
            *("npy", _npy, changed, lambda path: words(path, *POSITIONS)),
            lambda path, out: _same(out, np.load(path)[:, 1:3].astype(float)),
        ),
        "arrow": make(
            *("arrow", _arrow, changed, words),
            lambda path, out: _same(out, _arrow_positions(path)),
        ),
    }
    try:
        import scipy.io  # noqa: F401

        subjects["mat"] = make("mat", _mat, _change_mat, words, _same_mat)
        import h5py  # noqa: F401

        subjects["hdf5"] = make(
            *("h5", _hdf5, changed, words),
            lambda path, out: _same(out, _hdf5_positions(path)),
        )
    except ImportError:
        # the packages that write these files are absent
        pass
    return subjects
