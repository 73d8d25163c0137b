"""Small files of numbers that claim to be large are rejected before memory is allocated."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars
import pytest

import robolin
from robolin.errors import RobolinError
from robolin.io.provenance import with_checksum
from robolin.io.trajectories.read import read_trajectory
from tests.cli.command import robolin as command
from tests.cli.command import run_ok
from tests.fuzz.mutators import zipped

JOINTS = ("shoulder", "elbow")
MOST = 64 << 20


def _npy(array: np.ndarray) -> bytes:
    held = io.BytesIO()
    np.save(held, array)
    return held.getvalue()


def _claiming(shape: str, dtype: str = "<f8") -> bytes:
    """The header of an array that is not there."""
    head = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (118 - len(head) % 64 + 64 - 118 % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode()


Q = _npy(np.zeros((3, 2)))
ARCHIVES: dict[str, Callable[[], bytes]] = {
    "more rows than there are": lambda: zipped({"q.npy": _claiming("(99999999999, 2)")}, 0),
    "fewer rows than there are": lambda: zipped({"q.npy": _claiming("(1, 2)") + b"0" * 99}, 0),
    "names of a gigabyte": lambda: zipped(
        {"q.npy": Q, "joints.npy": _claiming("(2,)", "<U99999999")}, 8
    ),
    "names packed": lambda: zipped(
        {"q.npy": Q, "joints.npy": _claiming("(2,)", "<U4000000") + bytes(32_000_000)}, 8
    ),
    "another packing": lambda: zipped({"q.npy": Q}, zipfile.ZIP_LZMA),
    "a header that never ends": lambda: zipped({"q.npy": Q[:10] + b"{'descr': ((" * 9}, 0),
}


@pytest.mark.parametrize("what", ARCHIVES)
def test_an_archive_that_claims_too_much(tmp_path: Path, what: str) -> None:
    """It is rejected by name, and only a few blocks of memory are allocated."""
    path = tmp_path / "m.npz"
    path.write_bytes(ARCHIVES[what]())
    tracemalloc.start()
    with pytest.raises(RobolinError, match=r"m\.npz"):
        read_trajectory(path, JOINTS, ["q"])
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < MOST


def test_damage_in_packed_members_is_refused(tmp_path: Path) -> None:
    """Any error of decompression is reported as a corrupt archive."""
    path = tmp_path / "m.npz"
    for way in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        sound = zipped({"q.npy": Q}, way)
        for at in range(30, len(sound) - 60):
            path.write_bytes(sound[:at] + bytes([sound[at] ^ 255]) + sound[at + 1 :])
            # some bytes of an archive are not used, and may be changed
            with suppress(RobolinError):
                read_trajectory(path, JOINTS, ["q"])


def test_a_stored_result_is_not_unpacked(tmp_path: Path) -> None:
    """A stored archive of compressed members is rejected before any of them is read."""
    path = tmp_path / "r.npz"
    run_ok("forward", "two-link", "-o", path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    parts["meta.npy"] = _claiming("()", "<U10000000") + bytes(40_000_000)
    path.write_bytes(zipped(parts, zipfile.ZIP_DEFLATED))
    tracemalloc.start()
    with pytest.raises(RobolinError, match="must not be compressed"):
        robolin.read_result(path)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < MOST // 4


def test_a_parquet_file_that_unfolds(tmp_path: Path) -> None:
    """A few bytes that expand to many millions of rows are not a trajectory."""
    path = tmp_path / "m.parquet"
    rows = 8_000_000
    frame = polars.DataFrame({"q1": polars.repeat(1.0, rows, eager=True), "q2": 0.0})
    frame.write_parquet(path, compression="zstd")
    if path.stat().st_size * 1000 > rows * 16:
        pytest.skip("polars packs repeated numbers less tightly here")
    with pytest.raises(RobolinError, match="expand to 16000000 numbers"):
        read_trajectory(path, JOINTS, ["q"])


# a table and its companion file


def test_the_companion_of_another_table_is_named(tmp_path: Path) -> None:
    """A CSV next to the provenance of another run is rejected, with a hint about the cause."""
    for name, q in (("a", "elbow=1"), ("b", "elbow=2")):
        run_ok("mass-matrix", "two-link", "--q", q, "-o", tmp_path / f"{name}.csv")
    (tmp_path / "b.csv.meta.json").rename(tmp_path / "a.csv.meta.json")
    ran = command("check", tmp_path / "a.csv")
    assert ran.code == 3
    assert "'a.csv.meta.json' belongs to another CSV file" in ran.err + ran.out


def test_a_row_more_than_one_state(tmp_path: Path) -> None:
    """A row appended to the table of a single state is rejected."""
    path = tmp_path / "a.csv"
    run_ok("mass-matrix", "two-link", "-o", path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines, lines[-1]]) + "\n")
    ran = command("check", path)
    assert ran.code == 3
    assert "must have one row, because it is a result for one state" in ran.err + ran.out


# provenance under a right seal


WRONG = {
    "verb": 3,
    "options": {"arm": 3},
    "joints": ["shoulder", 2],
    "rows": True,
    "role": 3,
    "inputs": ["a"],
    "model": {"arm": {}},
    "arrays": {},
    "contract": None,
    "robolin": None,
}


@pytest.mark.parametrize("key", WRONG)
@pytest.mark.parametrize("gone", [False, True])
def test_a_provenance_of_other_types_is_refused(tmp_path: Path, key: str, gone: bool) -> None:
    """A wrong or missing entry is rejected even if the checksum is valid."""
    path = tmp_path / "r.json"
    run_ok("forward", "two-link", "-o", path)
    document = json.loads(path.read_text())
    document["meta"][key] = WRONG[key]
    if gone:
        del document["meta"][key]
    document["meta"] = with_checksum(document["meta"])
    path.write_text(json.dumps(document))
    with pytest.raises(RobolinError, match=r"r\.json"):
        robolin.read_result(path)


@pytest.mark.parametrize(
    "verb", ["inverse", "jacobian", "diagonalize", "linearize-forward", "regressor", "simulate"]
)
@pytest.mark.parametrize("arm", ["two-link", "ur5"])
def test_stored_results_are_read(tmp_path: Path, verb: str, arm: str) -> None:
    """Every result that robolin stores can be read back."""
    path = tmp_path / "r.json"
    frame = {"two-link": "tip", "ur5": "tool0"}[arm]
    more = {"simulate": ["--duration", "0.01"], "jacobian": ["--frame", frame]}.get(verb, [])
    ran = command(verb, arm, *more, "-o", path)
    assert ran.code == 0, ran.err
    robolin.read_result(path)


@pytest.mark.parametrize("value", [10**400, -(10**400), 1 << 64])
def test_an_integer_beyond_the_range_of_floats(value: int) -> None:
    """It is rejected or read exactly, in every input."""
    arm = robolin.load("two-link")
    with pytest.raises(RobolinError):
        robolin.inverse(arm, value)
