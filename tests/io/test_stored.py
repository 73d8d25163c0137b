"""A stored result is read as it was written, or not at all."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import robolin
from robolin.core.result import Array, Result, stream_of_one_part
from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS
from robolin.io.stored import read_result
from tests.io.file_damage import mutated, swapped_lines, swapped_members

JOINTS = ("shoulder", "arm/elbow", 'wrist "2"')
# a tenth of them have members or lines exchanged
MUTATIONS = 300
ROWS = (None, 4)


def result(rows: int | None, seed: int) -> Result:
    """A vector and a matrix with awkward numbers, small enough to be damaged thousands of times."""
    rng = np.random.default_rng(seed)
    batch = () if rows is None else (rows,)
    vector, matrix = (rng.standard_normal((*batch, *shape)) for shape in ((3,), (3, 3)))
    vector.reshape(-1)[:3] = 5e-324, -0.0, 1.7976931348623157e308
    return Result(
        verb="linearize-forward",
        arrays=(
            Array("qdd", vector, (JOINTS,), "rad/s²", "acceleration"),
            Array("dqdd_dq", matrix, (JOINTS, JOINTS), "1/s²"),
        ),
        joints=JOINTS,
        contract={"gravity": "0, 0, -9.81", "notes": ["ε"]},
        options={"arm": "arm.urdf", "q": f"{seed},0,0"},
        inputs={"arm.urdf": "ab" * 32},
        time=None if rows is None else rng.standard_normal(rows),
        model={"arm": {"name": "a"}, "links": {"l": {"mass": 1.5}}, "joints": {}, "loops": {}},
    )


def written(form: str, folder: Path, rows: int | None, seed: int) -> Path:
    path = folder / f"{seed}.{form}"
    FORMATS[form].write(stream_of_one_part(result(rows, seed)), path)
    return path


def parts_of(path: Path) -> list[Path]:
    """The files that make up one stored result."""
    beside = Path(f"{path}.meta.json")
    return [path, beside] if beside.exists() else [path]


def same_bits(path: Path, expected: Result) -> bool:
    stored = read_result(path)
    arrays = dict(expected.stored())
    assert stored.joints == expected.joints
    assert stored.meta["options"] == dict(expected.options)
    return stored.arrays.keys() == arrays.keys() and all(
        stored.arrays[name].tobytes() == values.tobytes()
        and stored.arrays[name].shape == values.shape
        for name, values in arrays.items()
    )


def refusal(path: Path, expected: Result) -> RobolinError | None:
    """Return the error of reading a file; if there is none, its content must be as expected."""
    try:
        assert same_bits(path, expected)
    except RobolinError as error:
        return error
    return None


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", [None, 1, 4])
def test_stored_results_are_read_back(tmp_path: Path, form: str, rows: int | None) -> None:
    """Every format preserves every bit, the names and the provenance."""
    assert same_bits(written(form, tmp_path, rows, 1), result(rows, 1))


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("rows", ROWS)
def test_damage_is_refused_or_harmless(tmp_path: Path, form: str, rows: int | None) -> None:
    """None of 600 damaged files per format is read as other data or raises another exception."""
    rng = random.Random(f"{form} {rows}")
    path, other = (written(form, tmp_path, rows, seed) for seed in (1, 2))
    files, others = parts_of(path), parts_of(other)
    healthy = [file.read_bytes() for file in files]
    foreign = [file.read_bytes() for file in others]
    expected = result(rows, 1)
    exchanged = {"npz": swapped_members, "csv": swapped_lines, "json": swapped_lines}.get(form)
    refused = 0
    for i in range(MUTATIONS):
        which = rng.randrange(len(files))
        damage = exchanged if exchanged and i % 10 == 0 else mutated
        damaged = foreign[which]
        while damaged in (foreign[which], healthy[which]):
            damaged = damage(healthy[which], foreign[which], rng)
        files[which].write_bytes(damaged)
        error = refusal(path, expected)
        assert error is None or (str(path) in error.where and error.message)
        refused += error is not None
        files[which].write_bytes(healthy[which])
    # a blank, a last line without end, or a date in an archive does no harm
    assert refused > 0.8 * MUTATIONS


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("form", FORMATS)
def test_the_result_itself_comes_back(tmp_path: Path, form: str, rows: int | None) -> None:
    """The result read back is the one written, with labels, units and model assumptions."""
    stored = read_result(written(form, tmp_path, rows, 7))
    assert stored.result == result(rows, 7)
    assert stored.to_polars().equals(result(rows, 7).to_polars())
    assert "[rad/s²]" in stored._repr_html_()


def test_a_result_with_nan_is_read_back(tmp_path: Path) -> None:
    """NaN, for rows without a result, survives the formats that can represent it."""
    gappy = result(4, 1)
    gappy.arrays[0].values[2] = np.nan
    for form in ("npz", "csv", "parquet"):
        FORMATS[form].write(stream_of_one_part(gappy), tmp_path / f"gaps.{form}")
        assert same_bits(tmp_path / f"gaps.{form}", gappy)


def test_another_format_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a later robolin is rejected for its format, not as damaged."""
    with monkeypatch.context() as later:
        later.setattr("robolin.io.provenance.FORMAT", 99)
        path = written("json", tmp_path, None, 1)
    with pytest.raises(
        RobolinError,
        match="format 99 is not supported; this version of robolin reads formats 2 and 3",
    ):
        read_result(path)


def test_a_csv_needs_its_provenance(tmp_path: Path) -> None:
    """A CSV file without provenance is rejected."""
    path = written("csv", tmp_path, None, 1)
    Path(f"{path}.meta.json").unlink()
    with pytest.raises(RobolinError, match="reading the provenance failed") as caught:
        read_result(path)
    assert caught.value.exit_code == 3


def test_the_provenance_of_another_result_does_not_fit(tmp_path: Path) -> None:
    """A valid provenance file of other numbers is rejected."""
    path, other = (written("csv", tmp_path, None, seed) for seed in (1, 2))
    Path(f"{path}.meta.json").write_bytes(Path(f"{other}.meta.json").read_bytes())
    with pytest.raises(
        RobolinError,
        match=r"changed after it was stored, or '1\.csv\.meta\.json' belongs to another CSV file",
    ):
        read_result(path)


def test_one_bit_of_the_provenance_counts(tmp_path: Path) -> None:
    """An option changed by hand is detected although every number is right."""
    path = written("json", tmp_path, None, 1)
    path.write_text(path.read_text().replace('"q": "1,0,0"', '"q": "7,0,0"'))
    with pytest.raises(RobolinError, match="'meta' was changed"):
        read_result(path)


@pytest.mark.parametrize("name", ["r.txt", "r"])
def test_other_extensions_are_wrong_usage(tmp_path: Path, name: str) -> None:
    """Only the formats that robolin writes are read."""
    with pytest.raises(RobolinError) as caught:
        read_result(tmp_path / name)
    assert caught.value.exit_code == 2
    assert ".npz" in caught.value.hint


def test_a_foreign_parquet_file_is_rejected(tmp_path: Path) -> None:
    """A valid Parquet file without robolin's checksum is not a result."""
    import polars

    polars.DataFrame({"a": [1.0]}).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(RobolinError, match="not a valid Parquet file written by robolin"):
        read_result(tmp_path / "a.parquet")


def test_parquet_into_a_pipe_has_its_checksum(tmp_path: Path) -> None:
    """The bytes written to a pipe are those of the file."""
    import os
    import threading

    pipe, through = tmp_path / "pipe.parquet", tmp_path / "through.parquet"
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: through.write_bytes(pipe.read_bytes()))
    reader.start()
    FORMATS["parquet"].write(stream_of_one_part(replace(result(4, 1))), pipe)
    reader.join(60)
    assert through.read_bytes() == written("parquet", tmp_path, 4, 1).read_bytes()


def test_a_read_result_is_displayed_and_subtracted(tmp_path: Path) -> None:
    """A stored result shows command, arrays and shapes, and subtracts as results do."""
    arm = robolin.load("two-link")
    one, other = (robolin.answer(arm, "inverse", robolin.States(q=q)) for q in ([0, 0], [1, 2]))
    robolin.write(one, tmp_path / "one.npz")
    robolin.write(other, tmp_path / "other.json")
    first, second = (robolin.read_result(tmp_path / name) for name in ("one.npz", "other.json"))
    assert repr(first) == "<Stored result of inverse: tau (2,) [N·m]>"
    for difference in (first - second, first - other, one - second):
        assert np.array_equal(difference["tau"], one["tau"] - other["tau"])
    with pytest.raises(robolin.UsageError, match="is not a Result"):
        first - 3  # type: ignore[operator]


@pytest.mark.parametrize("form", FORMATS)
def test_a_read_result_is_written_again(form: str, tmp_path: Path) -> None:
    """A stored result written once more has the bytes it was read from."""
    stored, again = tmp_path / f"stored.{form}", tmp_path / f"again.{form}"
    robolin.write(result(4, 1), stored)
    robolin.write(robolin.read_result(stored), again)
    assert again.read_bytes() == stored.read_bytes()


def test_other_objects_are_not_written(tmp_path: Path) -> None:
    """Other objects and streams that are not open are wrong usage, and no file is written."""
    unopened = robolin.answer_stream(robolin.load("two-link"), "inverse")
    for wrong, message in (
        ({}, "result must be a Result or a stream, got dict"),
        (unopened, "the stream is not open"),
    ):
        with pytest.raises(robolin.UsageError, match=message):
            robolin.write(wrong, tmp_path / "none.npz")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


NAMED = (("shoulder", "elbow"),)
TAU = robolin.Array("tau", np.zeros(2), NAMED, "N·m", "effort")
UNSOUND: list[tuple[tuple[robolin.Array, ...], str]] = [
    ((), "the result has no arrays"),
    ((TAU, TAU), "two arrays have the same name: tau, tau"),
    ((robolin.Array("tau", np.zeros(3), NAMED, "N·m"),), "the labels require"),
    ((robolin.Array("tau", np.zeros((2, 2, 2)), NAMED, "N·m"),), "the labels require"),
    (
        (robolin.Array("tau", np.array(["a", "b"]), NAMED, "N·m"),),
        "array 'tau': the values must be numbers, got <U1",
    ),
    (
        (TAU, robolin.Array("g", np.zeros((3, 2)), NAMED, "N·m")),
        "the arrays have different numbers of rows: tau: None, g: 3",
    ),
    ((robolin.Array("tau", np.zeros((0, 2)), NAMED, "N·m"),), "the result has no rows"),
    ((robolin.Array("meta", np.zeros(2), NAMED, "N·m"),), "array name 'meta' is reserved"),
    (
        (robolin.Array("tau", np.zeros(2), ((1, 2),), "N·m"),),
        "array 'tau': 1 is not a string",
    ),  # type: ignore
    (("tau",), "'tau' is not a robolin.Array"),  # type: ignore
]


@pytest.mark.parametrize("arrays, message", UNSOUND, ids=[row[1] for row in UNSOUND])
def test_results_made_by_hand_must_make_sense(
    arrays: tuple[robolin.Array, ...], message: str, tmp_path: Path
) -> None:
    """A result that could not be read back is rejected before a file is written."""
    made = robolin.Result("inverse", arrays, NAMED[0], {}, {}, {})
    for keep in (robolin.write, robolin.record):
        with pytest.raises(robolin.UsageError, match=message):
            keep(made, tmp_path / "made.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("time", [[0.0, 1.0], np.zeros((2, 2)), np.array(["a", "b"])])
def test_times_made_by_hand_are_one_axis_of_numbers(time: Any, tmp_path: Path) -> None:
    """Any other shape or type is rejected before a file is written."""
    tau = robolin.Array("tau", np.zeros((2, 2)), NAMED, "N·m", "effort")
    made = robolin.Result("inverse", (tau,), NAMED[0], {}, {}, {}, time=time)
    with pytest.raises(
        robolin.UsageError, match="time: must be an array of numbers with one axis, got"
    ):
        robolin.write(made, tmp_path / "made.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", FORMATS)
def test_a_stream_is_written_once(form: str, tmp_path: Path) -> None:
    """A stream whose rows were consumed is rejected, and no second file is written."""
    states = robolin.States(q=np.zeros((5, 2)))
    with robolin.answer_stream(robolin.load("two-link"), "inverse", states) as stream:
        assert next(iter(stream.parts)).batch == 5
        with pytest.raises(robolin.UsageError, match="has already been read"):
            robolin.write(stream, tmp_path / f"twice.{form}")
    assert not list(tmp_path.iterdir())


def test_results_made_by_hand_are_stored(tmp_path: Path) -> None:
    """Lists are accepted, and the values read are those written."""
    tau = robolin.Array("tau", [[1.0, 2.0]], NAMED, "N·m", "effort")  # type: ignore[arg-type]
    made = robolin.Result("inverse", (tau,), NAMED[0], {}, {}, {})
    robolin.write(made, tmp_path / "made.csv")
    assert robolin.read_result(tmp_path / "made.csv").result == made
