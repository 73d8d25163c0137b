"""Time stamps that float64 cannot hold pass through as they came."""

import json

import numpy as np
import polars
import pytest

from robolin.errors import RobolinError
from robolin.files.csv import csv_reader
from robolin.files.formats import FORMATS, trajectory_formats
from robolin.files.stored import read_result
from robolin.trajectory.read import open_trajectory, read_trajectory
from tests.cli.command import answered, robolin

JOINTS = ("shoulder", "elbow")
STAMPS = 1_700_000_000_000_000_001 + 10_000_001 * np.arange(300)


def written(folder, form, stamps=STAMPS):
    """A motion with these stamps, by somebody else's hand."""
    path = folder / f"motion.{form}"
    q = np.linspace(0, 1, 2 * len(stamps)).reshape(-1, 2)
    if form == "npz":
        np.savez(path, time=stamps, q=q, joints=np.array(JOINTS))
        return path
    columns = {f"{joint}/position": q[:, i] for i, joint in enumerate(JOINTS)}
    table = polars.DataFrame({"time": stamps, **columns})
    if form == "csv":
        table.write_csv(path)
    else:
        table.write_parquet(path)
    return path


@pytest.fixture(params=["plain", "polars"])
def _both_csv_readers(request, monkeypatch):
    if request.param == "polars":
        monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
        monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 512)


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("form", trajectory_formats())
def test_nanoseconds_stay_exact(tmp_path, form):
    """Every stamp is read as the whole number it is, in chunks and at once."""
    path = written(tmp_path, form)
    with open_trajectory(path, JOINTS, ("q",)) as stream:
        times = [chunk.time for chunk in stream.chunks(7)]
    assert np.concatenate(times).dtype == np.int64
    assert np.concatenate(times).tolist() == STAMPS.tolist()
    assert read_trajectory(path, JOINTS, ("q",)).time.tolist() == STAMPS.tolist()


@pytest.mark.parametrize("read", trajectory_formats())
@pytest.mark.parametrize("form", FORMATS)
def test_a_verb_hands_them_through(tmp_path, read, form):
    """From every format into every format the stamps are the same numbers."""
    path, out = written(tmp_path, read), tmp_path / f"tau.{form}"
    answered("inverse", "two-link", "--trajectory", path, "-q", "-o", out)
    assert read_result(out).arrays["time"].tolist() == STAMPS.tolist()
    answered("check", out, "--root", tmp_path)


def test_pipes_have_them_too(tmp_path):
    """CSV and JSON on standard output have all digits of the stamps."""
    asked = ("inverse", "two-link", "--trajectory", written(tmp_path, "csv"), "-q", "--format")
    assert [int(row[0]) for row in answered(*asked, "csv").rows[1:]] == STAMPS.tolist()
    assert json.loads(answered(*asked, "json").out)["time"] == STAMPS.tolist()


def test_small_whole_numbers_in_a_text_are_numbers_as_ever(tmp_path):
    """0, 1, 2 in a CSV file says nothing of a type, and float64 holds it exactly."""
    path = written(tmp_path, "csv", np.arange(5))
    assert read_trajectory(path, JOINTS, ("q",)).time.dtype == np.float64


@pytest.mark.usefixtures("_both_csv_readers")
def test_a_stamp_that_is_not_whole_is_refused(tmp_path):
    """A column that began with whole numbers has to go on so, and the line is named."""
    path = written(tmp_path, "csv")
    lines = path.read_text().splitlines()
    lines[250] = lines[250].replace(",", ".5,", 1)
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RobolinError, match="is not a whole number like those") as caught:
        read_trajectory(path, JOINTS, ("q",))
    assert ":251" in caught.value.where


def test_a_missing_stamp_is_refused_even_where_gaps_may_be(tmp_path):
    """No whole number stands for a gap."""
    path = tmp_path / "motion.parquet"
    columns = {f"{joint}/position": [0.0, 1.0] for joint in JOINTS}
    polars.DataFrame({"time": [1, None], **columns}).write_parquet(path)
    ran = robolin("inverse", "two-link", "--trajectory", path, "--on-bad-row", "nan", "-q")
    assert ran.code == 3
    assert "column 'time' is empty" in ran.err
