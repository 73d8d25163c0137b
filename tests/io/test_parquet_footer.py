"""A Parquet file with an inconsistent footer or pages is rejected before polars reads it."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from robolin.errors import RobolinError
from robolin.io.formats.parquet_footer import (
    ColumnChunk,
    FooterError,
    column_chunks,
    read_footer,
    read_structure,
    require_pages,
)
from robolin.io.trajectories.read import open_trajectory, read_trajectory
from tests.cli.command import environment

JOINTS = ("shoulder", "elbow")
NAMES = [f"{joint}/position" for joint in JOINTS]


def _file(rows: int = 300, at_once: int = 100, **options: Any) -> bytes:
    values = np.random.default_rng(0).uniform(-1, 1, (rows, 2))
    held = io.BytesIO()
    frame = polars.DataFrame(values, schema=NAMES).with_columns(note=polars.lit("a"))
    frame.write_parquet(held, row_group_size=at_once, **options)
    return held.getvalue()


def _footer(data: bytes) -> dict[int, Any]:
    length = int.from_bytes(data[-8:-4], "little")
    return read_structure(data[-8 - length : -8])[0]


def _with_footer(data: bytes, footer: dict[int, Any]) -> bytes:
    length = int.from_bytes(data[-8:-4], "little")
    new = _written(footer)
    return data[: -8 - length] + new + len(new).to_bytes(4, "little") + b"PAR1"


# a Thrift writer with every integer in its longest encoding


def _varint(value: int) -> bytes:
    head = b""
    while value > 127:
        head, value = head + bytes([value & 127 | 128]), value >> 7
    return head + bytes([value])


def _zigzag(value: int) -> bytes:
    return _varint((value << 1) ^ (value >> 63))


def _kind(value: object) -> int:
    if isinstance(value, bool):
        return 1 if value else 2
    return {int: 6, bytes: 8, list: 9, dict: 12}[type(value)]


def _written(value: Any) -> bytes:
    if isinstance(value, bool):
        return b""
    if isinstance(value, int):
        return _zigzag(value)
    if isinstance(value, bytes):
        return _varint(len(value)) + value
    if isinstance(value, list):
        kind = _kind(value[0]) if value else 12
        return bytes([0xF0 | kind]) + _varint(len(value)) + b"".join(map(_written, value))
    fields = (bytes([_kind(v)]) + _zigzag(k) + _written(v) for k, v in value.items())
    return b"".join(fields) + b"\0"


def _columns(path: Path, names: Sequence[str]) -> list[ColumnChunk]:
    """The numeric columns of a file, whose pages are valid."""
    paths = [(name.encode(),) for name in names]
    with open(path, "rb") as stream:
        chunks = [each for each in column_chunks(read_footer(stream)) if each.name in paths]
        require_pages(stream, chunks)
    return chunks


def _refused(data: bytes, path: Path) -> None:
    path.write_bytes(data)
    with pytest.raises(FooterError):
        _columns(path, NAMES)


KINDS: list[dict[str, Any]] = [
    *({"compression": way} for way in ("zstd", "snappy", "lz4", "gzip", "uncompressed")),
    *({"data_page_size": 64}, {"statistics": "full"}, {"rows": 0}, {"rows": 1}, {"at_once": 300}),
]


@pytest.mark.parametrize("options", KINDS, ids=str)
def test_valid_files_pass(tmp_path: Path, options: dict[str, Any]) -> None:
    """Every writer option of polars is accepted, and every encoding of integers in the footer."""
    path = tmp_path / "m.parquet"
    data = _file(**options)
    for each in (data, _with_footer(data, _footer(data))):
        path.write_bytes(each)
        chunks = _columns(path, NAMES[:1])
        assert sum(len(each.rows) for each in chunks) == options.get("rows", 300)
        assert len(_columns(path, NAMES)) == 2 * len(chunks)


def test_columns_of_other_kinds_pass(tmp_path: Path) -> None:
    """Strings, lists, structures and nulls are left to polars; only their offsets are checked."""
    path = tmp_path / "m.parquet"
    polars.DataFrame(
        {"a": [1.0, None], "b": ["x", "y"], "c": [[1], [2, 3]], "d": [{"u": 1}, {"u": 2}]}
    ).write_parquet(path)
    assert [chunk.name for chunk in _columns(path, ["a", "b"])] == [(b"a",), (b"b",)]


# changes of a valid footer; the fields of a column are under 3
LIES: dict[str, Callable[[dict[int, Any]], Any]] = {
    "more rows": lambda f: f.update({3: 1 << 40}),
    "fewer rows": lambda f: f.update({3: 99}),
    "no rows said": lambda f: f.pop(3),
    "rows below none": lambda f: f[4][0].update({3: -1}),
    "no groups": lambda f: f.update({4: 7}),
    "a column less": lambda f: f[4][0][1].pop(0),
    "a column without words": lambda f: f[4][0][1][0].pop(3),
    "a name of numbers": lambda f: f[4][0][1][0][3].update({3: [1]}),
    "no size": lambda f: f[4][0][1][0][3].pop(7),
    "beyond the end": lambda f: f[4][0][1][0][3].update({9: 1 << 40}),
    "more numbers than its pages": lambda f: (
        (f[4][0].update({3: 200}), f[4][1].update({3: 0}))
        and [c[3].update({5: 200}) for c in f[4][0][1]]
    ),
    "fewer numbers than its pages": lambda f: f[4][0].update({3: 99}) or f.update({3: 299}),
    "another page after its own": lambda f: f[4][0][1][0][3].update({7: 2 * f[4][0][1][0][3][7]}),
}


@pytest.mark.parametrize("what", LIES)
def test_an_inconsistent_footer(tmp_path: Path, what: str) -> None:
    """A footer that contradicts itself or the pages is rejected, before or by polars."""
    data, path = _file(), tmp_path / "m.parquet"
    footer = _footer(data)
    LIES[what](footer)
    path.write_bytes(_with_footer(data, footer))
    with pytest.raises(RobolinError, match=r"m\.parquet"):
        read_trajectory(path, JOINTS, ["q"])


def _with_page(data: bytes, change: dict[int, Any]) -> bytes:
    """The file with a changed header of its first page, which is moved to the end."""
    (header, size), footer = read_structure(data[4:]), _footer(data)
    column = footer[4][0][1][0][3]
    body = data[4 + size : 4 + column[7]]
    page = _written({**header, **change, 5: {**header[5], **change.get(5, {})}}) + body
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    column.update({9: end, 7: len(page)})
    return _with_footer(data[:end] + page + data[end:], footer)


@pytest.mark.parametrize(
    "change", [{2: (1 << 31) - 1}, {5: {1: -1}}, {5: {1: 99}}, {1: 7}, {3: -5}]
)
def test_pages_that_polars_would_trust(tmp_path: Path, change: dict[int, Any]) -> None:
    """A page of 2 GB, with a negative or another number of values, or unknown is rejected."""
    path = tmp_path / "m.parquet"
    path.write_bytes(_with_page(_file(), {}))
    assert read_trajectory(path, JOINTS, ["q"]).rows == 300
    _refused(_with_page(_file(), change), path)


@pytest.mark.parametrize(
    "data",
    [b"", b"PAR1", b"PAR1" + b"\xff" * 30 + b"PAR1", b"PAR1" + bytes(30) + b"\x1c\0\0\0PAR1"],
    ids=["nothing", "a beginning", "a footer longer than all", "zeros"],
)
def test_no_footer_at_all(tmp_path: Path, data: bytes) -> None:
    """A file in another format is rejected as such."""
    _refused(data, tmp_path / "m.parquet")


def test_deep_and_endless_structures_are_refused(tmp_path: Path) -> None:
    """Nested structures, endless lists and endless numbers are rejected."""
    data = _file()
    for footer in (
        b"\x1c" * 5000,
        b"\x19" * 5000,
        b"\x16" + b"\xff" * 5000,
        b"\x19\xfc\xff\xff\x7f",
    ):
        lie = data[:4] + footer + len(footer).to_bytes(4, "little") + b"PAR1"
        _refused(lie, tmp_path / "m.parquet")


def _damaged_pages(data: bytes) -> Sequence[bytes]:
    """The file with bytes of its pages changed, one at a time."""
    end = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    return [data[:at] + bytes([data[at] ^ 85]) + data[at + 1 :] for at in range(4, end, 9)]


@pytest.mark.slow
def test_a_damaged_page_never_gives_fewer_rows(tmp_path: Path) -> None:
    """A damaged page has no checksum: it gives other numbers or an error, but not fewer rows."""
    path = tmp_path / "m.parquet"
    read = 0
    for data in _damaged_pages(_file(40, 20, compression="snappy")):
        path.write_bytes(data)
        try:
            trajectory = read_trajectory(path, JOINTS, ["q"])
        except RobolinError:
            continue
        read += 1
        assert trajectory.rows == 40
    assert read


# after half of the rows polars panics in a thread of its own, without an exception
PANIC = Path(__file__).parents[1] / "fuzz" / "corpus" / "parquet-e09ec96376.parquet"


@pytest.mark.slow
def test_a_panic_in_polars_is_an_error(tmp_path: Path) -> None:
    """A file on which polars panics is rejected with a message of robolin, not read in part."""
    shutil.copy(PANIC, tmp_path / "m.parquet")
    line = [sys.executable, "-m", "robolin", "mass-matrix", "two-link", "-q", "--trajectory"]
    ran = subprocess.run([*line, tmp_path / "m.parquet"], env=environment(), capture_output=True)
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert ran.stderr.startswith(b"error: "), ran.stderr
    assert b"panicked" not in ran.stderr


def test_rows_before_a_panic_are_not_the_result(tmp_path: Path) -> None:
    """A trajectory of which polars returns only the first rows is rejected."""
    shutil.copy(PANIC, tmp_path / "m.parquet")
    seen = []
    with open_trajectory(tmp_path / "m.parquet", JOINTS, ["q"]) as stream:
        rows = (seen.append(chunk.rows) for chunk in stream.chunks(10))
        with pytest.raises(RobolinError, match="not a valid Parquet file"):
            list(rows)
    assert sum(seen) < 40
