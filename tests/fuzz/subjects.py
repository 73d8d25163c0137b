"""The kinds of files to mutate and the commands to run on them; every result is checked."""

from __future__ import annotations

import csv as csv_module
import gzip
import io
import json
import random
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import polars

import robolin
from robolin.io.formats import csv_reader
from tests.cli.command import robolin as command
from tests.fuzz import mutators, stored_mutators
from tests.fuzz.bag_subjects import bag_subjects
from tests.fuzz.recording_subjects import recording_subjects
from tests.fuzz.robot_subjects import ROBOTS, models
from tests.fuzz.subject import Subject

ARM = "two-link"
FOREIGN = ["--columns", "position={joint}.angle", "--time", "clock"]
MEASURED = ["time", "shoulder/position", "elbow/position", "shoulder/effort", "elbow/effort"]
WIDTH = 0.1
HEADER = ["time", "shoulder/position", "note", "elbow/position"]
SMALL = (
    '<robot name="small"><link name="base"/>'
    + "".join(
        f'<link name="{name}"><inertial><mass value="2"/><origin xyz="0.1 0.2 0.3"/>'
        '<inertia ixx="0.2" iyy="0.3" izz="0.4" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        f'<joint name="{joint}" type="continuous"><parent link="{parent}"/><child link="{name}"/>'
        '<origin xyz="0 0.4 0.5" rpy="0 0 1"/><axis xyz="0 1 0"/></joint>'
        for joint, parent, name in (("shoulder", "base", "upper"), ("elbow", "upper", "lower"))
    )
    + "</robot>"
)


def _csv(_: Path) -> list[bytes]:
    rng = np.random.default_rng(0)
    rows = [[repr(float(x)) for x in row] for row in rng.uniform(-1, 1, (12, 4))]
    lines = [",".join(row) for row in [HEADER, *rows]]
    return ["\n".join(lines).encode() + b"\n", "\r\n".join(lines).encode()]


def _packed(folder: Path) -> list[bytes]:
    return [gzip.compress(data, mtime=0) for data in _csv(folder)]


def _in_gzip(data: bytes, rng: random.Random) -> bytes:
    """Change bytes of the compressed file, or of its contents."""
    if rng.random() < 0.5:
        return mutators.any_bytes(data, rng)
    inside = mutators.of_text(mutators.csv)(gzip.decompress(data), rng)
    return gzip.compress(inside, mtime=0)


def _semicolons(folder: Path) -> list[bytes]:
    """With decimal commas, and with tabs."""
    one = _csv(folder)[0]
    return [one.replace(b",", b";").replace(b".", b","), one.replace(b",", b"\t")]


def _foreign(folder: Path) -> list[bytes]:
    """A CSV whose columns only --columns patterns describe."""
    return [
        data.replace(b"/position", b".angle").replace(b"time", b"clock") for data in _csv(folder)
    ]


def _as_large() -> AbstractContextManager[object]:
    """Small files are read as large ones are: by polars, in many blocks."""
    return patch.multiple(csv_reader, _LARGE_FILE=0, _SMALLEST_BLOCK=64)


def _npz(_: Path) -> list[bytes]:
    rng = np.random.default_rng(0)
    q, qd = rng.uniform(-1, 1, (2, 12, 2))
    held = [io.BytesIO(), io.BytesIO()]
    np.savez(held[0], q=q, qd=qd, time=np.arange(12.0), joints=np.array(["shoulder", "elbow"]))
    np.savez_compressed(held[1], q=q, qd=qd)
    return [each.getvalue() for each in held]


def _parquet(_: Path) -> list[bytes]:
    values = np.random.default_rng(0).uniform(-1, 1, (12, 4))
    held = io.BytesIO()
    polars.DataFrame(values, schema=HEADER).write_parquet(held)
    return [held.getvalue()]


def _small_arm(path: str) -> str:
    """Write a minimal arm with two joints next to the trajectory."""
    arm = Path(path).with_name("small.urdf")
    if not arm.exists():
        arm.write_text(SMALL)
    return str(arm)


def _motion(path: str) -> list[str]:
    return ["mass-matrix", _small_arm(path), "--trajectory", path, "--format", "csv"]


def _rows_checked(path: str, out: str) -> None:
    """Check that each row is the mass matrix of the positions that another reader finds."""
    q = _positions(path)
    if q is None:
        return
    lines = list(csv_module.reader(io.StringIO(out)))
    names = [name for name in lines[0] if name not in ("time", "clock")]
    printed = np.array([[float(x) for x in row[-len(names) :]] for row in lines[1:]])
    truth = robolin.mass_matrix(robolin.load(_small_arm(path)), q, engine="python")
    assert printed.shape[0] == len(q), "there are other rows in the answer than in the file"
    assert printed.reshape(truth.shape).tobytes() == truth.tobytes(), "it is of another motion"


def _positions(path: str) -> np.ndarray | None:
    """Read the joint positions independently; None if the column names are unexpected."""
    names = ["shoulder/position", "elbow/position"]
    if path.endswith(".npz"):
        with np.load(path) as held:
            named = [str(name) for name in held["joints"]] if "joints" in held else names
            order = {"shoulder": 0, "elbow": 1, **dict(zip(names, (0, 1), strict=True))}
            q = np.asarray(held["q"], float) if "q" in held else None
        return None if q is None else q[:, np.argsort([order[name] for name in named])]
    if path.endswith(".parquet"):
        if not set(names) <= set(polars.read_parquet_schema(path)):
            return None
        frame = polars.read_parquet(path, columns=names)
        return frame.select(names).cast(polars.Float64).to_numpy()
    return _columns(path, names)


def _columns(path: str, names: list[str]) -> np.ndarray | None:
    """Read columns of a CSV file independently; None if one is missing or not unique."""
    data = Path(path).read_bytes()
    text = (gzip.decompress(data) if path.endswith(".gz") else data).decode("utf-8-sig")
    rows = [row for row in csv_module.reader(io.StringIO(text, newline=""), strict=True) if row]
    head = [name.strip().replace(".angle", "/position") for name in rows[0]]
    if any(head.count(name) != 1 for name in names):
        return None
    at = [head.index(name) for name in names]
    return np.array([[float(row[i]) for i in at] for row in rows[1:]])


def _measured(_: Path) -> list[bytes]:
    """Positions that are cubic polynomials of time, and efforts, at even and uneven times."""
    even = np.arange(14) * 0.01
    noise = np.random.default_rng(0).uniform(-1, 1, (14, 2))
    held = []
    for time in (even, even + 0.004 * noise[:, 0]):
        rows = np.column_stack([time, np.polyval([9, -5, 2, 1], time), 4 * time**3 - time, noise])
        lines = [",".join(map(repr, row)) for row in rows.tolist()]
        held.append("\n".join([",".join(MEASURED), *lines]).encode() + b"\n")
    return held


def _savgol(path: str) -> list[str]:
    words = ["--differentiate", f"savgol:{WIDTH}", "--format", "csv"]
    return ["inverse", _small_arm(path), "--trajectory", path, *words]


def _polynomials_checked(path: str, out: str) -> None:
    """Check that local cubic polynomials differentiate positions on one cubic exactly."""
    rows = _columns(path, MEASURED[:3])
    if rows is None:
        return
    printed = np.array([row[-2:] for row in csv_module.reader(io.StringIO(out))][1:], float)
    assert len(printed) == len(rows), "there are other rows in the answer than in the file"
    time, q = rows[:, 0] - rows[0, 0], rows[:, 1:]
    if len(time) < 4 or not np.isfinite(rows).all() or np.abs(rows).max() > 10:
        return
    fitted = [np.polynomial.Polynomial.fit(time, column, 3) for column in q.T]
    if (
        max(np.abs(one(time) - column).max() for one, column in zip(fitted, q.T, strict=True))
        > 1e-9
    ):
        return
    qd, qdd = (np.column_stack([one.deriv(m)(time) for one in fitted]) for m in (1, 2))
    truth = robolin.inverse(robolin.load(_small_arm(path)), q, qd, qdd, engine="python")
    # a window of a few hundredths of a second divides rounding of positions by its square
    np.testing.assert_allclose(printed, truth, rtol=1e-6, atol=1e-6)


def _residuals(path: str) -> list[str]:
    return [*_savgol(path)[:-1], "json", "--residual"]


def _residuals_checked(path: str, out: str) -> None:
    """Check RMS, bias and largest residual with the torques that the same rows give alone."""
    rows = _columns(path, MEASURED)
    if rows is None:
        return
    ran = command(*_savgol(path))
    table = [row[-2:] for row in csv_module.reader(io.StringIO(ran.out))][1:]
    residual = rows[:, 3:] - np.array(table, float)
    for values, joint in zip(residual.T, json.loads(out)["joints"], strict=True):
        truth = [np.sqrt(np.mean(values**2)), np.mean(values), np.abs(values).max()]
        np.testing.assert_allclose(
            [joint["rms"], joint["bias"], abs(joint["largest"])],
            truth,
            rtol=1e-9,
            atol=1e-9 * truth[2],
        )


def _results(ext: str) -> Callable[[Path], list[bytes]]:
    def made(folder: Path) -> list[bytes]:
        motion = folder / "motion.csv"
        motion.write_bytes(_csv(folder)[0])
        commands = [
            ["forward", ARM],
            ["record", "--rtol", "1e-9", "linearize-forward", ARM, "--q", "elbow=1"],
            ["record", "inverse", ARM, "--trajectory", str(motion)],
        ]
        contents = []
        for i, words in enumerate(commands):
            path = folder / f"stored{i}.{ext}"
            ran = command(*words, "-o", str(path))
            assert ran.code == 0, ran.err
            contents.append(path.read_bytes())
        return contents

    return made


def _check_with_first_companion(path: str) -> list[str]:
    """Put the companion file of the first seed next to a table, and check it."""
    meta = Path(path).parent / "stored0.csv.meta.json"
    Path(f"{path}.meta.json").write_bytes(meta.read_bytes())
    return ["check", path]


def _metas(folder: Path) -> list[bytes]:
    """The companion file of the first table."""
    _results("csv")(folder)
    return [(folder / "stored0.csv.meta.json").read_bytes()]


def _with_table(path: str) -> list[str]:
    """Put the first table next to its companion."""
    beside = Path(path)
    table = beside.with_name(beside.name.removesuffix(".meta.json"))
    table.write_bytes((beside.parent / "stored0.csv").read_bytes())
    return ["check", str(table)]


def _gains(folder: Path) -> list[bytes]:
    path = folder / "gains.npz"
    ran = command("lqr", ARM, "--q", "elbow=1", "-o", str(path))
    assert ran.code == 0, ran.err
    return [path.read_bytes()]


def _settings(folder: Path) -> list[bytes]:
    arm, known = folder / "arm.urdf", folder / "known.json"
    arm.write_bytes(models("urdf")(folder)[0])
    command("validate", str(arm), "--write-baseline", str(known))
    return [
        b'[validate]\nignore = ["massless-link"]\nbaseline = "known.json"\n\n'
        b'[validate.per-file-ignores]\n"*.urdf" = ["placeholder-inertia"]\n"robots/**" = []\n',
        b'[tool.robolin.validate]\nignore = ["massless-link", "placeholder-inertia"]\n',
    ]


def _stored_checked(path: str, _: str) -> None:
    """Check that a result read back is a stored one: its arrays match their checksums."""
    stored = robolin.read_result(path)
    again = json.loads(json.dumps(stored.meta))
    assert set(stored.arrays) == set(again["arrays"])
    for name, values in stored.arrays.items():
        assert list(values.shape) == again["arrays"][name]["shape"]


def _suite(folder: Path) -> list[bytes]:
    _results("json")(folder)
    return [
        b'rtol = 1e-9\n\n[[case]]\nname = "a"\nverb = "forward"\narm = "two-link"\n'
        b'state = { q = [0, -0.5], qd = { elbow = "30deg" } }\nstored = "stored0.json"\n\n'
        b'[[case]]\nverb = "inverse"\narm = "two-link"\noptions = { no-damping = true }\n'
        b'stored = "stored1.json"\natol = 0.5\n[case.tolerances]\ntau = { rtol = 1e-3 }\n',
    ]


def _flags(_: Path) -> list[bytes]:
    return [
        b"inverse\ntwo-link\n--q\nelbow=1,shoulder=-90deg\n--gravity\n0,0,-9.81",
        b"jacobian\ntwo-link\n--q\nshoulder=1e-3\n--precision\n6",
        b"forward\ntwo-link\n--tau\nelbow=1\n--payload\n1.5\n--tip\nlower",
        b"mass-matrix\ntwo-link\n--lock\nelbow=0.5\n--derivative\n--format\njson",
        b"linearize-forward\ntwo-link\n--q\n0.1,0.2\n--jobs\n1",
    ]


def _typed(path: str) -> list[str]:
    words = Path(path).read_bytes().decode(errors="replace").split("\n")
    # forbid overwriting files and reading from standard input
    return [word.replace("\0", "") for word in words if word not in ("-", "-o", "--output")]


SUBJECTS: dict[str, Subject] = {
    **ROBOTS,
    "csv": Subject("csv", _csv, mutators.of_text(mutators.csv), _motion, _rows_checked),
    "large-csv": Subject(
        *("csv", _csv, mutators.of_text(mutators.csv), _motion, _rows_checked, _as_large)
    ),
    "csv-gz": Subject("csv.gz", _packed, _in_gzip, _motion, _rows_checked),
    "semicolons": Subject("csv", _semicolons, mutators.of_text(mutators.csv), _motion),
    "columns": Subject(
        *("csv", _foreign, mutators.of_text(mutators.csv)),
        lambda path: [*_motion(path), *FOREIGN],
        _rows_checked,
    ),
    "savgol": Subject(
        "csv", _measured, mutators.of_text(mutators.csv), _savgol, _polynomials_checked
    ),
    "residual": Subject(
        "csv", _measured, mutators.of_text(mutators.csv), _residuals, _residuals_checked
    ),
    "npz": Subject("npz", _npz, mutators.npz, _motion, _rows_checked),
    "parquet": Subject("parquet", _parquet, mutators.parquet, _motion, _rows_checked),
    "stored-json": Subject(
        *("json", _results("json"), stored_mutators.stored_json),
        lambda path: ["check", path],
        _stored_checked,
    ),
    "stored-npz": Subject(
        *("npz", _results("npz"), stored_mutators.stored_npz),
        lambda path: ["check", path],
        _stored_checked,
    ),
    "stored-csv": Subject(
        "csv", _results("csv"), mutators.of_text(mutators.csv), _check_with_first_companion
    ),
    "stored-parquet": Subject(
        *("parquet", _results("parquet"), stored_mutators.stored_parquet),
        lambda path: ["check", path],
        _stored_checked,
    ),
    "stored-meta": Subject("csv.meta.json", _metas, stored_mutators.stored_meta, _with_table),
    "gains": Subject(
        *("npz", _gains, stored_mutators.stored_npz),
        lambda path: ["simulate", ARM, "--duration", "0.003", "--feedback", path, "-q"],
    ),
    "settings": Subject(
        *("toml", _settings, mutators.of_text(mutators.toml)),
        lambda path: ["validate", str(Path(path).parent / "arm.urdf"), "--config", path],
    ),
    "suite": Subject(
        *("toml", _suite, mutators.of_text(mutators.toml)),
        lambda path: ["check", "--suite", path],
    ),
    "flags": Subject("txt", _flags, mutators.of_text(mutators.any_text), _typed),
}

SUBJECTS |= bag_subjects(Subject) | recording_subjects(Subject)
