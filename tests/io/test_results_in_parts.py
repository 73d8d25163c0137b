"""A result in parts is written exactly as the complete result."""

import io
import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest

from robolin.core.result import Footer, ResultStream, stream_of_one_part
from robolin.display.terminal.show import spread_rows
from robolin.display.terminal.table import render_table
from robolin.errors import FileError
from robolin.io.formats import csv_writer
from robolin.io.formats.csv_writer import write_csv
from robolin.io.formats.json_writer import write_json
from robolin.io.formats.npz_writer import write_npz, write_npz_to
from robolin.io.formats.parquet_writer import write_parquet
from tests.io.sample_results import meta, sample

WRITERS = {"csv": write_csv, "json": write_json, "npz": write_npz, "parquet": write_parquet}
ROWS = 40


def in_parts(result, cuts, most_rows=None):
    ending = Footer(result.contract, result.inputs)
    parts = (result.rows(first, stop) for first, stop in pairwise([0, *cuts, result.batch]))
    return ResultStream(parts, lambda _: ending, lambda: most_rows)


@pytest.fixture(params=["plain", "polars"])
def _both_csv_writers(request, monkeypatch):
    if request.param == "polars":
        monkeypatch.setattr(csv_writer, "_LARGE_TABLE", 1000)


@pytest.mark.usefixtures("_both_csv_writers")
@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("cuts", [[], [1], [7, 8, 30], list(range(1, ROWS))], ids=len)
@pytest.mark.parametrize("most_rows", [None, ROWS, ROWS + 5])
def test_parts_do_not_show(tmp_path, form, cuts, most_rows):
    """Cut anywhere, its length known, overestimated or not, a result gives the same bytes."""
    files = []
    for folder, result_stream in (
        ("whole", stream_of_one_part(sample(ROWS))),
        ("parts", in_parts(sample(ROWS), cuts, most_rows)),
    ):
        (tmp_path / folder).mkdir()
        WRITERS[form](result_stream, tmp_path / folder / f"r.{form}")
        files.append({path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()})
    assert files[0] == files[1]


def test_the_archive_is_the_one_numpy_would_write():
    """Members, their order and every byte of them are those of zipfile and NumPy."""
    result = sample(5)
    held = io.BytesIO()
    write_npz_to(stream_of_one_part(result), held)
    again = io.BytesIO()
    with zipfile.ZipFile(again, "w") as archive:
        arrays = {**dict(result.stored()), "joints": np.array(result.joints)}
        arrays["meta"] = np.array(json.dumps(meta(result), ensure_ascii=False))
        for name, values in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            with archive.open(entry, "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, values)
    assert held.getvalue() == again.getvalue()
    assert zipfile.ZipFile(held).testzip() is None


def test_more_rows_than_announced_are_refused(tmp_path):
    """A trajectory that grows while it is read does not overwrite adjacent data."""
    with pytest.raises(FileError, match="grew"):
        write_npz(in_parts(sample(ROWS), [10], 39), tmp_path / "r.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("form", WRITERS)
def test_an_error_in_a_late_part_leaves_nothing(tmp_path, form):
    """If a part fails, no file is written."""

    def parts():
        yield sample(ROWS)
        raise FileError("the disk is gone")

    result_stream = in_parts(sample(ROWS), [])
    with pytest.raises(FileError, match="the disk is gone"):
        WRITERS[form](ResultStream(parts(), result_stream.ending), tmp_path / f"r.{form}")
    assert list(tmp_path.iterdir()) == []


def test_a_table_shows_spaced_rows():
    """Evenly spaced rows, also of a result in parts, with the first and the last one."""
    result = sample(ROWS)
    top, rows = spread_rows(in_parts(result, [3, 4, 25]))
    complete = spread_rows(stream_of_one_part(result))
    assert (top.batch, rows.total) == (10, ROWS)
    assert rows.picked[0] == 0
    assert rows.picked[-1] == ROWS - 1
    assert render_table(top, 80, False, 6, rows) == render_table(
        complete[0], 80, False, 6, complete[1]
    )


@pytest.mark.parametrize("count", [129, 1000, 4321])
def test_few_rows_of_a_long_result_are_held(count):
    """The rows of a long result are nearly evenly spaced, and hold the values of the result."""
    result = sample(count)
    top, rows = spread_rows(in_parts(result, [count // 3, count // 2]), 5)
    assert len(rows.picked) == 5
    assert np.ptp(np.diff(rows.picked)) <= 0.1 * count
    for name, values in top.stored():
        assert (values == dict(result.stored())[name][list(rows.picked)]).all()


def test_nan_is_spelled_the_same_by_both_csv_writers(tmp_path, monkeypatch):
    """Rows without a result read NaN from both writers."""
    result = sample(3)
    for _, values in result.stored():
        values[1] = np.nan
    texts = []
    for limit in (10**9, 0):
        monkeypatch.setattr(csv_writer, "_LARGE_TABLE", limit)
        write_csv(stream_of_one_part(result), tmp_path / "r.csv")
        texts.append((tmp_path / "r.csv").read_text().splitlines()[2])
    assert texts[0] == texts[1]
    assert set(texts[0].split(",")) == {"NaN"}
