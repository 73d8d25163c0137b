"""Tables in memory give the results of files, for every table library."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.errors import RobolinError, UsageError
from tests.cli.command import python

JOINTS = ("shoulder", "elbow")
ROWS = 40


@pytest.fixture(scope="module")
def columns() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    words = ("position", "velocity", "acceleration")
    by_name = {f"{joint}/{word}": rng.normal(size=ROWS) for word in words for joint in JOINTS}
    return {
        "time": np.arange(ROWS) * 10**15 + 1_700_000_000_000_000_001,
        **by_name,
        "note": ["x"] * ROWS,
    }


@pytest.fixture(scope="module")
def arm() -> robolin.Arm:
    return robolin.load("two-link")


def _frame(library: str, columns: dict[str, Any]) -> Any:
    if library == "polars":
        import polars

        return polars.DataFrame(columns)
    if library == "pandas":
        pandas = pytest.importorskip("pandas")
        return pandas.DataFrame(columns, index=np.arange(ROWS) + 100)
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.table(columns)
    return table if library == "arrow" else table.to_batches()[0]


def _values(frame: Any, name: str) -> np.ndarray:
    column = (
        frame.column(name)
        if hasattr(frame, "schema") and hasattr(frame, "num_rows")
        else frame[name]
    )
    return np.asarray(column)


@pytest.mark.parametrize("library", ["polars", "pandas", "arrow", "batch"])
def test_every_kind_of_table_gives_the_result_of_a_file(
    library: str, columns: dict[str, Any], arm: robolin.Arm, tmp_path: Path
) -> None:
    """A table gives the bits of the same rows in a file, as a table of the same library."""
    import polars

    path = tmp_path / "motion.parquet"
    polars.DataFrame(columns).write_parquet(path)
    stored = robolin.answer(arm, "inverse", robolin.States(trajectory=path))
    frame = _frame(library, columns)
    result = robolin.tables.compute(arm, "inverse", frame)
    assert type(result) is type(frame)
    np.testing.assert_array_equal(_values(result, "time"), columns["time"])
    for i, joint in enumerate(JOINTS):
        np.testing.assert_array_equal(_values(result, f"{joint}/effort"), stored["tau"][:, i])
    if library == "pandas":
        assert result.index.equals(frame.index)


@pytest.mark.parametrize("library", ["polars", "pandas", "arrow", "batch"])
def test_pieces_add_up_and_may_be_empty(
    library: str, columns: dict[str, Any], arm: robolin.Arm
) -> None:
    """Results do not depend on how a table is split; an empty table gives an empty result."""
    frame = _frame(library, columns)
    cut = frame.iloc if library == "pandas" else frame
    full = robolin.tables.compute(arm, "mass-matrix", frame)
    for first, stop in ((0, 0), (0, 1), (1, 17), (17, ROWS)):
        piece = cut.slice(first, stop - first) if hasattr(cut, "slice") else cut[first:stop]
        result = robolin.tables.compute(arm, "mass-matrix", piece)
        name = "mass_matrix/shoulder/elbow"
        np.testing.assert_array_equal(_values(result, name), _values(full, name)[first:stop])
        assert _values(result, "time").dtype == np.int64


def test_bad_rows_and_columns_are_reported(columns: dict[str, Any], arm: robolin.Arm) -> None:
    """A row without a result is an error with its number, or NaN; text is an error."""
    import polars

    q = np.array(columns["elbow/position"])
    q[7] = np.nan
    frame = polars.DataFrame({**columns, "elbow/position": q})
    with pytest.raises(RobolinError, match="the table, row 8"):
        robolin.tables.compute(arm, "inverse", frame)
    result = robolin.tables.compute(arm, "inverse", frame, on_bad_row="nan", notify=lambda *_: None)
    assert np.flatnonzero(np.isnan(result["elbow/effort"].to_numpy())).tolist() == [7]
    text = polars.DataFrame({**columns, "elbow/position": ["x"] * ROWS})
    with pytest.raises(RobolinError, match="elbow/position"):
        robolin.tables.compute(arm, "inverse", text)
    for wrong in (columns, [1, 2], frame.lazy(), frame["time"]):
        with pytest.raises(UsageError, match="must be a table"):
            robolin.tables.compute(arm, "inverse", wrong)
    with pytest.raises(UsageError, match="one result per row"):
        robolin.tables.compute(arm, robolin.Question("regressor", rank=True), frame)


def test_column_rules_apply_to_tables(columns: dict[str, Any], arm: robolin.Arm) -> None:
    """Column rules of recordings apply to tables."""
    import polars

    plain = {name: columns[name] for name in ("shoulder/position", "elbow/position")}
    frame = polars.DataFrame(
        {f"arm.{n.partition('/')[0]}": np.degrees(x) for n, x in plain.items()}
    )
    rule = {"columns": "position=arm.{joint}", "degrees": True, "notify": lambda *_: None}
    result = robolin.tables.compute(arm, "mass-matrix", frame, **rule)
    straight = robolin.tables.compute(arm, "mass-matrix", polars.DataFrame(plain))
    np.testing.assert_allclose(result.to_numpy(), straight.to_numpy(), rtol=1e-14)


LINES = {
    "dask": """
import dask.dataframe as dd
parts = dd.from_pandas(frame, npartitions=3)
meta = compute(arm, "inverse", frame.iloc[:0])
result = parts.map_partitions(lambda part: compute(arm, "inverse", part), meta=meta)
result = result.compute(scheduler="synchronous").to_numpy()
""",
    "ray": """
import ray
ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
data = ray.data.from_pandas(frame)
result = data.map_batches(lambda part: compute(arm, "inverse", part), batch_format="pandas")
result = result.sort("time").to_pandas().to_numpy()
ray.shutdown()
""",
    "pyspark": """
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
data = spark.createDataFrame(frame).repartition(3)
schema = ", ".join(f"`{name}` double" for name in compute(arm, "inverse", frame.iloc[:0]).columns)
result = data.mapInArrow(lambda parts: (compute(arm, "inverse", part) for part in parts), schema)
result = result.sort("time").toPandas().to_numpy()
spark.stop()
""",
    "xarray": """
import xarray
held = [frame[[f"{j}/{w}" for j in joints]].to_numpy() for w in words]
q, qd, qdd = (xarray.DataArray(values, dims=("row", "joint")) for values in held)
result = xarray.apply_ufunc(lambda *state: robolin.inverse(arm, *state), q, qd, qdd,
                            input_core_dims=[["joint"]] * 3, output_core_dims=[["joint"]])
result = numpy.column_stack([frame["time"], result])
""",
}

PROGRAM = """
import sys, warnings
warnings.simplefilter("ignore")
import numpy, pandas, robolin
from robolin.queries.tables import compute
arm, joints = robolin.load("two-link"), ("shoulder", "elbow")
words = ("position", "velocity", "acceleration")
rng = numpy.random.default_rng(1)
columns = {f"{j}/{w}": rng.normal(size=20) for w in words for j in joints}
frame = pandas.DataFrame({"time": numpy.arange(20) / 4, **columns})
"""


CHECK = 'assert (result == compute(arm, "inverse", frame).to_numpy()).all(); print("same")'
# the others start servers for minutes: `python -m tests.long_tables` runs all of them
QUICK = ("dask", "xarray")


@pytest.mark.slow
def test_documented_lines_give_the_same_bits() -> None:
    """The documented line of each library is bit-identical to the result of the full table."""
    missing = [library for library in ("pandas", *QUICK) if find_spec(library) is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")
    # one process for all of them, which import much the same
    checked = "\n".join(f"{LINES[library]}\n{CHECK}" for library in QUICK)
    ran = python(f"{PROGRAM}\n{checked}")
    assert ran.out.split() == ["same"] * len(QUICK), ran.err[-2000:]


def test_the_page_has_the_tested_lines() -> None:
    page = (Path(__file__).parents[2] / "docs" / "howto/scale.md").read_text()
    for library, text in LINES.items():
        call = next(line for line in text.splitlines() if "map" in line or "apply_ufunc" in line)
        assert call.strip() in page, library


def test_an_invalid_number_of_threads_is_rejected() -> None:
    frame = pytest.importorskip("polars").DataFrame(
        {"shoulder/position": [0.1], "elbow/position": [0.2]}
    )
    with pytest.raises(UsageError, match="jobs is 0"):
        robolin.tables.compute(robolin.load("two-link"), "mass-matrix", frame, jobs=0)
