"""The reader of large CSV files and the one of small files accept the same, cell by cell."""

from __future__ import annotations

import io
import random
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest

from robolin.errors import RobolinError
from robolin.io.formats import csv_reader, csv_records, line_reader
from robolin.io.formats.csv_reader import csv_table
from robolin.io.formats.line_reader import LineReader
from robolin.io.table_file import ReadRequest, TableFile, TableSource

CELLS = [
    *(
        "0",
        "1.5",
        "-2",
        "+3",
        "1e5",
        "1.",
        ".5",
        "-0",
        "1e-320",
        "1E+5",
        "00012",
        "123456789012345",
    ),
    *("", " ", " 1.5", "1.5 ", "\t2", "nan", "NaN", "inf", "-inf", "Infinity", "1e999", "-1e999"),
    *("1_000", "0x10", "1e", "e5", ".", "-", "1.5f", "1d5", "abc", "1 2", "--1", "true", "null"),
    *("١٢", "０.５", "1\u00a0", "\u2212" + "1", "é", "1\r", "\r1", "\x00", "1\x00", "\x1f1", "1;2"),
]
USUAL = CELLS[:12]


def _opened(stream: BinaryIO) -> TableFile:
    return csv_table(TableSource(stream, "f.csv", "f.csv", regular=False))


def _read(text: bytes, request: ReadRequest) -> tuple[list[list[str]], str]:
    """Return every number exactly, or the error without its count of further problems."""
    try:
        blocks = list(_opened(io.BytesIO(text)).blocks(request))
    except RobolinError as error:
        # other line ends make the two readers count lines differently
        stray = text.count(b"\r") != text.count(b"\r\n")
        return [], error.parts[0].message if stray else str(error.parts[0])
    return [[x.hex() for x in row] for block in blocks for row in block.values.tolist()], ""


def _both(text: bytes, request: ReadRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    small = _read(text, request)
    with monkeypatch.context() as patch:
        patch.setattr(csv_reader, "_LARGE_FILE", 0)
        patch.setattr(csv_reader, "_SMALLEST_BLOCK", 32)
        patch.setattr(LineReader, "_SMALLEST_READ", 16)
        assert _read(text, request) == small, (text, request)


def _table(rng: random.Random, width: int) -> list[list[str]]:
    odd = rng.choice([0.0, 0.0, 0.03, 0.3])
    return [
        [rng.choice(CELLS if rng.random() < odd else USUAL) for _ in range(width)]
        for _ in range(rng.randint(0, 9))
    ]


def _damaged(rng: random.Random, rows: list[list[str]], width: int) -> list[str]:
    """Lines that now and then have a cell too many, one too few, or no content."""
    lines = []
    for cells in rows:
        match rng.randrange(14):
            case 0:
                cells.insert(rng.randint(0, width), rng.choice(USUAL))
            case 1 if width > 1:
                cells.pop(rng.randrange(width))
            case 2:
                lines.append(rng.choice(["", "", " ", ","]))
        lines.append(",".join(cells))
    return lines


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_both_readers_accept_the_same_files(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Unused columns may be anywhere, and rows may be of any length."""
    rng = random.Random(seed)
    for _ in range(75):
        width = rng.randint(1, 5)
        end = rng.choice(["\n", "\n", "\r\n"])
        lines = _damaged(rng, _table(rng, width), width)
        head = ",".join(f"c{i}" for i in range(width))
        text = end.join([head, *lines]) + rng.choice(["", end, end + end])
        indices = sorted(rng.sample(range(width), rng.randint(1, width)))
        _both(text.encode(), ReadRequest(indices, 4, allow_nan=rng.random() < 0.3), monkeypatch)


@pytest.mark.parametrize("unread", range(4))
@pytest.mark.parametrize("index", range(4))
@pytest.mark.parametrize("other", ["", "4,5"])
def test_a_cell_too_many_is_never_shifted_away(
    unread: int, index: int, other: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row with one cell too many is rejected, even if another row has one too few."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    cells = ["1", "2", "3"]
    cells.insert(index, "9")
    rows = ["1,2,3"] * 50 + [",".join(cells)] + ["1,2,3"] * 50 + [other] * bool(other)
    text = "\n".join(["a,b,c", *rows]).encode()
    request = ReadRequest([i for i in range(3) if i != unread], 1000)
    assert "f.csv:52: must have 3 cells like the header, got 4" in _read(text, request)[1]


@pytest.mark.parametrize("extra", [0, 1, 256])
@pytest.mark.parametrize("width", [3, 256, 257, 300])
def test_cells_are_counted_in_tables_of_any_width(
    width: int, extra: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row with too many cells is rejected even if an unused column hides it."""
    row = ",".join(["1"] * width)
    lines = [row, row + ",1" * extra, row]
    text = "\n".join([",".join(f"c{i}" for i in range(width)), *lines]).encode()
    request = ReadRequest(list(range(1, width - 1)), 10)
    _both(text, request, monkeypatch)
    assert bool(_read(text, request)[1]) == bool(extra)


@pytest.mark.parametrize("digits", ["١٢", "０.５", "1٢"])
def test_digits_of_other_scripts_are_no_numbers(digits: str) -> None:
    """A number is written with the digits 0 to 9."""
    text = f"a,b\n{digits},1\n".encode()
    assert f"'{digits}' in column 'a' is not" in _read(text, ReadRequest([0, 1], 10))[1]


class Endless(io.RawIOBase):
    """A device that never sends a line end, and how much was taken from it."""

    taken = 0

    def read(self, size: int = -1) -> bytes:
        self.taken += size
        return b"1," * (size // 2)


@pytest.mark.parametrize("before", [b"", b"a,b\n1,2\n"])
def test_a_line_without_end_is_refused(before: bytes) -> None:
    """Little more than the longest permitted line is read, wherever the line begins."""
    device = Endless()
    held = io.BytesIO(before)
    first = held.read
    device_read = device.read
    device.read = lambda size=-1: first(size) or device_read(size)  # type: ignore[method-assign]
    with pytest.raises(RobolinError, match="longer than 16 MiB"):
        list(_opened(device).blocks(ReadRequest([0], 10)))  # type: ignore[arg-type]
    assert device.taken < 2 * line_reader.LONGEST_LINE


def test_a_header_of_a_million_columns_is_refused(tmp_path: Path) -> None:
    """One wide row is rejected before it is split."""
    text = b"a," * csv_records.MOST_COLUMNS + b"a\n"
    with pytest.raises(RobolinError, match="more than 500000 columns"):
        _opened(io.BytesIO(text))


@pytest.mark.slow
def test_every_row_of_a_large_file_is_checked() -> None:
    """The file is larger than the real limit from which polars reads."""
    rows = np.random.default_rng(3).uniform(size=(40_000, 3)).tolist()
    lines = ["a,note,b", *(f"{a!r},{note!r},{b!r}" for a, note, b in rows)]
    lines[30_001] = "1,2,3,4"
    text = "\n".join(lines).encode()
    assert len(text) > csv_reader._LARGE_FILE
    assert "f.csv:30002: must have 3 cells" in _read(text, ReadRequest([0, 2], 1000))[1]
