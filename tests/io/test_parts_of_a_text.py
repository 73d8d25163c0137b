"""Parts of a CSV, read with the row index of the file, equal the rows of a full read."""

from __future__ import annotations

import random
from io import BytesIO
from pathlib import Path

import pytest

from robolin.batch.survey import SurveyedRecording
from robolin.errors import RobolinError
from robolin.io.formats import csv_reader, row_index
from robolin.io.formats.csv_reader import csv_table
from robolin.io.formats.line_reader import LineReader
from robolin.io.formats.row_index import counted_by_lines, index_plain_text
from robolin.io.table_file import FileIndex, ReadRequest, TableSource

ROWS = (1, 9, 30, 60)
FAULTS = (*[""] * 4, *["\n"] * 4, "abc", "nan", "7,7", '"1"', "\u00a01", "\n1,2,3\n")


def _lines(rng: random.Random) -> list[str]:
    """Rows of three cells, some of them with another number of cells or blank."""
    count = rng.choice(ROWS)
    lines = [",".join(str(rng.randrange(99) / 8) for _ in range(3)) for _ in range(count)]
    for fault in rng.choices(FAULTS, k=2):
        if fault and lines:
            index = rng.randrange(len(lines))
            cells = lines[index].split(",")
            cells[rng.randrange(len(cells))] = fault
            lines[index] = rng.choice([fault, ",".join(cells)])
    return lines


def _read(path: Path, known: FileIndex | None, first: int, stop: int | None) -> list[object]:
    """Return the location and the exact numbers of every row, then the error if there is one."""
    rows_read: list[object] = []
    request = ReadRequest([0, 2], 4, first=first, stop=stop)
    with path.open("rb") as stream:
        try:
            for block in csv_table(TableSource(stream, str(path), "f", known=known)).blocks(
                request
            ):
                rows = enumerate(block.values.tolist())
                rows_read += [(block.location(i), *(x.hex() for x in row)) for i, row in rows]
        except RobolinError as error:
            rows_read.append(str(error.parts[0]))
    return rows_read


def _read_in_parts(path: Path, every: int) -> tuple[list[object], bool]:
    """Read part by part up to the first error; also return whether the file is rectangular."""
    text = path.read_bytes()
    plainly = index_plain_text(BytesIO(text), every, 0)
    counted = plainly or counted_by_lines(BytesIO(text), every, 0, "f")
    assert counted.rows is not None
    all_of_it = SurveyedRecording(
        str(path), "f", 0, 0, counted.digest, counted.rows, counted.marks, even=counted.even
    )
    rows_read: list[object] = []
    for first in range(0, counted.rows, every):
        stop = min(first + every, counted.rows)
        rows_read += _read(path, all_of_it.known(first, stop), first, stop)
        if rows_read and isinstance(rows_read[-1], str):
            break
    return rows_read, counted.even


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("every", [3, 7, 100])
def test_parts_equal_a_full_read(
    end: str, every: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Numbers, line numbers and the first error are the same, with and without a check of cells."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 64)
    monkeypatch.setattr(LineReader, "_SMALLEST_READ", 50)
    monkeypatch.setattr(row_index, "_PLAINLY_AT_ONCE", 100)
    rng, path, evens = random.Random(every), tmp_path / "f.csv", set[bool]()
    for _ in range(15):
        text = end.join(["a,b,c", *_lines(rng)]) + rng.choice(["", end, end + end])
        path.write_bytes(text.encode())
        parts, even = _read_in_parts(path, every)
        full = _read(path, None, 0, None)
        if full and isinstance(full[-1], str):
            # rows before the error in its block or part are not returned
            parts, full = parts[-1:], full[-1:]
        assert parts == full, text
        evens.add(even)
    # texts with carriage returns are checked cell by cell
    assert (True in evens) == (end == "\n")
