"""CSV, JSON and Parquet bring back the same bits, and say where they come from."""

import csv
import io
import json

import numpy as np
import polars
import pytest

from robolin import __version__
from robolin.core.result import Array, Result, stream_of_one_part
from robolin.core.summary import table_columns
from robolin.io.formats import csv_writer
from robolin.io.formats.csv_writer import write_csv, write_csv_to
from robolin.io.formats.json_writer import write_json
from robolin.io.formats.parquet_writer import write_parquet
from tests.io.sample_results import JOINTS, meta, same_bits, sample

WRITERS = {"csv": write_csv, "json": write_json, "parquet": write_parquet}


def flat(result):
    """Names and values of a result whose numbers are all real."""
    (columns,) = table_columns(result)
    return columns.names, columns.values


def plain_meta(result):
    return json.loads(json.dumps(meta(result)))


@pytest.fixture(params=["plain", "polars"])
def both_csv_writers(request, monkeypatch):
    """Run a test on the writer for small tables and on the one for large tables."""
    if request.param == "polars":
        monkeypatch.setattr(csv_writer, "_LARGE_TABLE", 0)


@pytest.mark.usefixtures("both_csv_writers")
@pytest.mark.parametrize("rows", [None, 1, 20])
def test_csv_brings_back_the_same_bits(tmp_path, rows):
    """Column names and numbers survive CSV exactly, in both writers."""
    result = sample(rows)
    write_csv(stream_of_one_part(result), tmp_path / "r.csv")
    with open(tmp_path / "r.csv", newline="") as stream:
        header, *body = csv.reader(stream)
    names, values = flat(result)
    assert header == names
    assert same_bits(np.array(body, dtype=float), values)


def test_columns_are_named_after_joints():
    """Vectors are `<joint>/<word>`, everything else `<name>/<row>/<column>`, time comes first."""
    names, _ = flat(sample(2))
    assert names[:4] == ["time", *(f"{joint}/acceleration" for joint in JOINTS)]
    assert names[4] == "dqdd_dq/shoulder/shoulder"
    assert names[5] == "dqdd_dq/shoulder/arm/elbow.x"
    assert f"dmass_matrix_dq/{JOINTS[0]}/{JOINTS[1]}/{JOINTS[2]}" in names
    assert names[-1] == "kinetic_energy"
    assert Array("nu", np.zeros(1), (("a",),), "√J").column_names() == ["nu/a"]


def test_the_csv_has_a_companion_file(tmp_path):
    """`<file>.meta.json` holds the same meta as every other format."""
    result = sample(3)
    write_csv(stream_of_one_part(result), tmp_path / "r.csv")
    assert json.loads((tmp_path / "r.csv.meta.json").read_text()) == plain_meta(result)


def test_json_brings_back_the_same_bits(tmp_path):
    """The JSON document has joints, results, units and meta, with exact numbers."""
    result = sample(3)
    write_json(stream_of_one_part(result), tmp_path / "r.json")
    document = json.loads((tmp_path / "r.json").read_text())
    assert document["joints"] == list(JOINTS)
    assert document["units"]["qdd"] == "rad/s²"
    assert document["meta"] == plain_meta(result)
    assert document["time"] == result.time.tolist()
    for array in result.arrays:
        assert same_bits(np.array(document["results"][array.name]), array.values)


def test_json_writes_one_line_per_matrix_row(tmp_path):
    """A person can read a matrix in the JSON file."""
    array = Array("mass_matrix", np.array([[1.0, 2.0], [3.0, 4.0]]), (("a", "b"),) * 2, "kg")
    write_json(
        stream_of_one_part(Result("mass-matrix", (array,), ("a", "b"), {}, {}, {})),
        tmp_path / "r.json",
    )
    assert "[1.0, 2.0],\n" in (tmp_path / "r.json").read_text()


def test_parquet_brings_back_the_same_bits(tmp_path):
    """Parquet holds the CSV's columns exactly, and meta inside the file."""
    result = sample(20)
    write_parquet(stream_of_one_part(result), tmp_path / "r.parquet")
    names, values = flat(result)
    table = polars.read_parquet(tmp_path / "r.parquet")
    assert table.columns == names
    assert same_bits(table.to_numpy(), values)
    stored = polars.read_parquet_metadata(tmp_path / "r.parquet")["robolin"]
    assert json.loads(stored) == plain_meta(result)


@pytest.mark.usefixtures("both_csv_writers")
@pytest.mark.parametrize("form", WRITERS)
def test_the_same_result_gives_the_same_bytes(tmp_path, form):
    """Writing twice writes the same bytes."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        WRITERS[form](stream_of_one_part(sample(2000)), tmp_path / folder / f"r.{form}")
    first, second = (sorted((tmp_path / folder).iterdir()) for folder in ("a", "b"))
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


@pytest.mark.parametrize("form", WRITERS)
def test_a_writer_that_fails_leaves_nothing(tmp_path, form, monkeypatch):
    """An interruption in the middle of any writer leaves no file."""

    def interrupted(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("robolin.io.provenance.Digests.meta", interrupted)
    with pytest.raises(KeyboardInterrupt):
        WRITERS[form](stream_of_one_part(sample(3)), tmp_path / f"r.{form}")
    assert list(tmp_path.iterdir()) == []


def test_meta_has_everything_except_time_and_paths(tmp_path):
    """meta has version, command, options, inputs, contract, units, shapes and hashes; no paths."""
    result = sample(3)
    object.__setattr__(result, "options", {"arm": tmp_path / "arm.urdf", "q": np.arange(2.0)})
    object.__setattr__(result, "inputs", {str(tmp_path / "arm.urdf"): "ab" * 32})
    stored = meta(result)
    assert stored["robolin"] == __version__
    assert stored["verb"] == "linearize-forward"
    assert stored["options"] == {"arm": "arm.urdf", "q": [0.0, 1.0]}
    assert stored["inputs"] == {"arm.urdf": "ab" * 32}
    assert stored["contract"]["gravity"] == [0.0, 0.0, -9.81]
    assert stored["rows"] == 3
    assert stored["arrays"]["dqdd_dq"]["unit"] == "1/s²"
    assert stored["arrays"]["dqdd_dq"]["shape"] == [3, 3, 3]
    assert len(stored["arrays"]["time"]["sha256"]) == 64
    assert str(tmp_path) not in json.dumps(stored)


def test_large_tables_are_streamed_by_polars(monkeypatch):
    """Past the limit both writers still agree on every number."""
    result = sample(50)
    small, large = io.BytesIO(), io.BytesIO()
    write_csv_to(stream_of_one_part(result), small)
    monkeypatch.setattr(csv_writer, "_LARGE_TABLE", 0)
    write_csv_to(stream_of_one_part(result), large)

    def numbers(stream):
        text = stream.getvalue().decode().splitlines()[1:]
        return np.array([line.split(",") for line in text], dtype=float)

    assert same_bits(numbers(small), numbers(large))
