"""Complex numbers, integers and axes of other kinds round-trip exactly in every format."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import polars
import pytest

from robolin.core.result import Array, Footer, Result, ResultStream, stream_of_one_part
from robolin.display.terminal.table import render_table
from robolin.errors import RobolinError, UsageError
from robolin.io.format_table import FORMATS
from robolin.io.formats import csv_writer
from robolin.io.stored import open_stored, read_result
from tests.io.sample_results import meta, sample

JOINTS = ("shoulder", "elbow")
STATES = ("shoulder/position", "elbow/position", "shoulder/velocity", "elbow/velocity")
MODES = ("1", "2", "3", "4")
EPOCH = 1_700_000_000_000_000_001
AWKWARD = [complex(-0.0, 5e-324), complex(1 / 3, -0.0), complex(-1e-5, 1.7e308)]


def poles(rows=None, time=True):
    """Complex poles by mode, a matrix from inputs to states, and nanoseconds as time."""
    rng = np.random.default_rng(3)
    batch = () if rows is None else (rows,)

    def drawn(*shape):
        return rng.standard_normal((*batch, *shape))

    values = drawn(4) + 1j * drawn(4)
    values.reshape(-1)[: len(AWKWARD)] = AWKWARD
    return Result(
        verb="modes",
        arrays=(
            Array("poles", values, (MODES,), "1/s", axes=("mode",)),
            Array(
                "shapes",
                drawn(4, 4) + 1j * drawn(4, 4),
                (STATES, MODES),
                "1",
                None,
                ("state", "mode"),
            ),
            Array("b", drawn(4, 2), (STATES, JOINTS), "1", axes=("state", "input")),
            Array("count", np.full(batch, 4, np.int64), (), "1"),
        ),
        joints=JOINTS,
        contract={},
        options={},
        inputs={},
        time=EPOCH + 7 * np.arange(rows) if rows is not None and time else None,
    )


def same(computed, expected):
    return (
        computed.dtype == expected.dtype
        and computed.shape == expected.shape
        and computed.tobytes() == expected.tobytes()
    )


@pytest.fixture(params=["plain", "polars"])
def _both_csv_writers(request, monkeypatch):
    if request.param == "polars":
        monkeypatch.setattr(csv_writer, "_LARGE_TABLE", 0)


@pytest.mark.usefixtures("_both_csv_writers")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [None, 1, 30])
def test_every_bit_comes_back(tmp_path, form, rows):
    """Types, shapes, bits, names and kinds of axes are the ones that were stored."""
    result = poles(rows)
    FORMATS[form].write(stream_of_one_part(result), tmp_path / f"r.{form}")
    stored = read_result(tmp_path / f"r.{form}")
    expected = dict(result.stored())
    assert list(stored.arrays) == list(expected)
    assert all(same(stored.arrays[name], values) for name, values in expected.items())
    with open_stored(tmp_path / f"r.{form}") as file:
        again = next(iter(file.result_stream().parts))
    for array, first in zip(again.arrays, result.arrays, strict=True):
        assert (array.labels, array.axes, array.unit) == (first.labels, first.axes, first.unit)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("cuts", [[1], [7, 8, 20]], ids=len)
def test_parts_do_not_show(tmp_path, form, cuts):
    """Written in parts, complex numbers and integers give the same bytes."""
    result = poles(30)
    ends = pairwise([0, *cuts, 30])
    parts = (result.rows(first, stop) for first, stop in ends)
    in_parts = ResultStream(parts, lambda _: Footer({}, {}), lambda: None)
    FORMATS[form].write(stream_of_one_part(result), tmp_path / f"whole.{form}")
    FORMATS[form].write(in_parts, tmp_path / f"parts.{form}")
    assert (tmp_path / f"whole.{form}").read_bytes() == (tmp_path / f"parts.{form}").read_bytes()


@pytest.mark.parametrize("form", FORMATS)
def test_damage_is_found(tmp_path, form):
    """A changed byte anywhere is rejected or has no effect."""
    result, path = poles(3), tmp_path / f"r.{form}"
    FORMATS[form].write(stream_of_one_part(result), path)
    healthy, refused, tried = path.read_bytes(), 0, 0
    for offset in range(0, len(healthy), 41):
        path.write_bytes(healthy[:offset] + bytes([healthy[offset] ^ 1]) + healthy[offset + 1 :])
        tried += 1
        try:
            read = read_result(path)
        except RobolinError:
            refused += 1
        else:
            assert all(same(read.arrays[name], values) for name, values in result.stored())
    assert refused > 0.9 * tried


def test_columns_have_both_parts(tmp_path):
    """CSV and Parquet have a column for each part; integers stay integers in both."""
    FORMATS["csv"].write(stream_of_one_part(poles(2)), tmp_path / "r.csv")
    FORMATS["parquet"].write(stream_of_one_part(poles(2)), tmp_path / "r.parquet")
    header, first, _ = (tmp_path / "r.csv").read_text().splitlines()
    assert header.split(",")[:4] == ["time", "poles/1/re", "poles/1/im", "poles/2/re"]
    assert first.split(",")[:3] == [str(EPOCH), "-0.0", "5e-324"]
    table = polars.read_parquet(tmp_path / "r.parquet")
    assert table.columns == header.split(",")
    assert table["time"].to_list() == [EPOCH, EPOCH + 7]


def test_json_has_an_object_of_two_lists(tmp_path):
    """In JSON, complex numbers are an object with re and im."""
    FORMATS["json"].write(stream_of_one_part(poles()), tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["results"]["poles"]["im"] == poles()["poles"].imag.tolist()
    assert document["results"]["count"] == 4
    assert document["meta"]["arrays"]["b"]["axes"][1] == {"kind": "input", "labels": "joints"}


def test_only_new_kinds_of_numbers_use_the_new_format():
    """A result of real numbers over joints keeps its format number; others have the new one."""
    assert meta(sample(2))["format"] == 2
    assert meta(poles())["format"] == 3
    assert meta(replace(sample(2), time=np.arange(2)))["format"] == 3
    assert "numbers" not in meta(sample(2))["arrays"]["qdd"]


def test_tables_show_both_parts_and_the_kind_of_axis():
    """Tables print complex numbers with a sign between the parts, and rows name their kind."""
    array = Array(
        "poles", np.array([-1 + 2j, -10.5 - 0.25j]), (("1", "2"),), "1/s", None, ("mode",)
    )
    lines = render_table(Result("modes", (array,), JOINTS, {}, {}, {}), 80, False, 3).splitlines()
    assert lines[2].split() == ["mode", "poles", "[1/s]"]
    assert lines[3:5] == ["1      -1.00 + 2.00j", "2     -10.5 - 0.250j"]
    text = render_table(poles(2), None, False, 3)
    assert str(EPOCH) in text
    assert "shapes, position rows" in text
    assert "shapes, velocity rows" in text


def test_axes_are_named_all_or_none():
    """A list of kinds that is too short is rejected."""
    with pytest.raises(UsageError, match="has 2 axes, but 1 axis names"):
        Array("b", np.zeros((1, 1)), (("a",), ("b",)), "1", axes=("state",))


def test_an_array_is_found_by_its_name():
    """result["poles"] is the array; the error for an unknown name lists the available ones."""
    result = poles(2)
    assert result["poles"] is result.arrays[0].values
    assert "time" in result
    assert "tau" not in result
    assert repr(result).startswith("<Result of modes: poles (2, 4) [1/s], shapes (2, 4, 4)")
    with pytest.raises(UsageError, match="array 'tau' not found") as caught:
        result["tau"]
    assert "time, poles, shapes, b, count" in caught.value.hint
