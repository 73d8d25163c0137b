"""Times that are dates pass unchanged from every format to every format."""

from __future__ import annotations

import io
from itertools import cycle
from pathlib import Path

import numpy as np
import polars
import pytest

from robolin import load
from robolin.core.arrays import DECIMALS, format_datetimes
from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS, trajectory_formats
from robolin.io.formats import csv_reader
from robolin.io.formats.csv_records import parse_datetimes
from robolin.io.stored import read_result
from robolin.io.trajectories.read import open_trajectory, read_trajectory
from tests.cli.command import CommandRun, robolin, run_ok

JOINTS = ("shoulder", "elbow")
FIRST = np.datetime64("2026-05-01T12:30:00.123456789", "ns")
STAMPS = FIRST + 10_000_001 * np.arange(300).astype("m8[ns]")


def written(folder: Path, form: str, stamps: np.ndarray) -> Path:
    """Write a trajectory with these times, as other programs do."""
    path = folder / f"motion.{form}"
    q = np.linspace(0, 1, 2 * len(stamps)).reshape(-1, 2)
    if form == "npz":
        np.savez(path, time=stamps, q=q, joints=np.array(JOINTS))
        return path
    columns = {f"{joint}/position": q[:, i] for i, joint in enumerate(JOINTS)}
    if form == "csv":
        table = {"time": format_datetimes(stamps), **columns}
        polars.DataFrame(table).write_csv(path)
    else:
        fine = stamps.astype("M8[ms]") if stamps.dtype == "M8[s]" else stamps
        polars.DataFrame({"time": fine, **columns}).write_parquet(path)
    return path


@pytest.fixture(params=["plain", "polars"])
def _both_csv_readers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.param == "polars":
        monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
        monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 512)


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("unit", DECIMALS)
@pytest.mark.parametrize("form", trajectory_formats())
def test_datetimes_are_read_exactly(form: str, unit: str, tmp_path: Path) -> None:
    """Every time stamp is read unchanged, in its unit, in chunks and in one pass."""
    stamps = STAMPS.astype(f"M8[{unit}]")
    path = written(tmp_path, form, stamps)
    with open_trajectory(path, JOINTS, ("q",)) as stream:
        times = np.concatenate([chunk.time for chunk in stream.chunks(7)])
    assert times.dtype == ("M8[ms]" if (form, unit) == ("parquet", "s") else stamps.dtype)
    assert np.array_equal(times, stamps)
    assert np.array_equal(read_trajectory(path, JOINTS, ("q",)).time, stamps)


@pytest.mark.parametrize(
    ("form", "read"), list(zip(FORMATS, cycle(reversed(trajectory_formats())), strict=False))
)
def test_a_command_passes_datetimes_through(read: str, form: str, tmp_path: Path) -> None:
    """They are unchanged from every format to every format, in pairs."""
    if form == "mat":
        pytest.importorskip("scipy")
    path, out = written(tmp_path, read, STAMPS), tmp_path / f"tau.{form}"
    run_ok("inverse", "two-link", "--trajectory", path, "-q", "-o", out)
    time = read_result(out).arrays["time"]
    assert time.dtype == STAMPS.dtype
    assert np.array_equal(time, STAMPS)
    run_ok("check", out, "--root", tmp_path)


def test_text_comes_out_as_it_went_in(tmp_path: Path) -> None:
    """CSV in, CSV out: the same letters; and so in JSON and on the terminal."""
    path = written(tmp_path, "csv", STAMPS[:3].astype("M8[ms]"))
    arguments = ("inverse", "two-link", "--trajectory", path, "-q", "--format")
    texts = [line.split(",")[0] for line in path.read_text().splitlines()]
    assert [row[0] for row in run_ok(*arguments, "csv").rows] == texts
    assert all(f'"{text}"' in run_ok(*arguments, "json").out for text in texts)
    assert texts[1] in run_ok(*arguments, "table").out


def test_both_csv_writers_format_datetimes_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, "npz", STAMPS)
    arguments = ("inverse", "two-link", "--trajectory", path, "-q", "--format", "csv")
    small = run_ok(*arguments).out
    monkeypatch.setattr("robolin.io.formats.csv_writer._LARGE_TABLE", 0)
    assert run_ok(*arguments).out == small


def test_another_datetime_is_a_difference(tmp_path: Path) -> None:
    """check reports a difference of one nanosecond as such."""
    path, out = written(tmp_path, "npz", STAMPS), tmp_path / "tau.npz"
    run_ok("inverse", "two-link", "--trajectory", path, "-q", "-o", out)
    later = STAMPS.copy()
    later[7] += np.timedelta64(1, "ns")
    written(tmp_path, "npz", later)
    ran = robolin("check", out, "--root", tmp_path)
    assert ran.code == 1
    assert any(line.split()[:2] == ["8", "time"] for line in ran.out.splitlines())


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize(
    "odd",
    ["2026-13-01T00:00:00", "2026-05-01", "12:00", "1.5", "NaT", "now", "", "2026-05-01T12:30:00Z"],
)
def test_invalid_datetimes_are_rejected(odd: str, tmp_path: Path) -> None:
    """A column of dates has one in every row, and an invalid cell is named with its line."""
    path = written(tmp_path, "csv", STAMPS)
    lines = path.read_text().splitlines()
    lines[250] = odd + lines[250][lines[250].index(",") :]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RobolinError, match="in column 'time'"):
        read_trajectory(path, JOINTS, ("q",))


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_datetimes_in_utc_are_those_without_a_zone(zone: str, tmp_path: Path) -> None:
    """The UTC suffix is ignored; another zone is an error with a hint."""
    path = written(tmp_path, "csv", STAMPS)
    text = path.read_text()
    path.write_text("\n".join(line.replace(",", f"{zone},", 1) for line in text.splitlines()))
    path.write_text(path.read_text().replace(zone, "", 1))
    assert np.array_equal(read_trajectory(path, JOINTS, ("q",)).time, STAMPS)
    path.write_text(path.read_text().replace(zone, "+02:00"))
    with pytest.raises(RobolinError) as caught:
        read_trajectory(path, JOINTS, ("q",))
    assert ("write dates as 2026-05-01T12:30:00.125; end all dates with Z, or none") in str(
        caught.value
    )


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_missing_datetimes_are_rejected(form: str, tmp_path: Path) -> None:
    stamps = STAMPS.copy()
    stamps[3] = np.datetime64("NaT", "ns")
    path = written(tmp_path, form, stamps)
    with pytest.raises(RobolinError, match=r"'time' (contains NaT|has an empty cell)"):
        read_trajectory(path, JOINTS, ("q",))


def test_datetimes_beyond_64_bits_are_rejected(tmp_path: Path) -> None:
    """Nanoseconds of the year 3000 do not fit, and do not wrap around."""
    assert parse_datetimes(["3000-01-01T00:00:00.000000001"], "ns") is None
    assert parse_datetimes(["3000-01-01T00:00:00.001"], "ms") is not None
    path = tmp_path / "motion.csv"
    path.write_text("time,shoulder/position,elbow/position\n3000-01-01T00:00:00.000000001,0,0\n")
    with pytest.raises(RobolinError, match="in column 'time' is not a time stamp"):
        read_trajectory(path, JOINTS, ("q",))


def test_zones_other_than_utc_are_refused(tmp_path: Path) -> None:
    """Not every format can store a time zone."""
    path = tmp_path / "motion.parquet"
    columns = {f"{joint}/position": [0.0] for joint in JOINTS}
    table = polars.DataFrame({"time": STAMPS[:1], **columns})
    zoned = table.with_columns(polars.col("time").dt.replace_time_zone("Europe/Berlin"))
    zoned.write_parquet(path)
    with pytest.raises(RobolinError, match=r"'time' must contain numbers, got Datetime.*Berlin"):
        read_trajectory(path, JOINTS, ("q",))


def test_integration_rejects_dates(tmp_path: Path) -> None:
    """Commands that integrate over time require seconds."""
    path, rows = tmp_path / "motion.npz", np.zeros((len(STAMPS), 2))
    np.savez(path, time=STAMPS, q=rows, qd=rows, tau=rows, joints=np.array(JOINTS))
    ran = robolin("sensitivity", "two-link", "--perturb", "dq=0.1,0", "--trajectory", path)
    assert ran.code == 3
    assert "time: must be in seconds, got dates" in ran.err


def test_datetimes_pass_through_pipes(tmp_path: Path) -> None:
    """CSV is read from and written to a pipe without changes."""
    text = written(tmp_path, "csv", STAMPS).read_bytes()
    arguments = ("inverse", "two-link", "--trajectory", "-", "-q", "--format", "csv")
    out = run_ok(*arguments, stdin=text).out
    lines = io.StringIO(text.decode()).read().splitlines()
    assert [line.split(",")[0] for line in out.splitlines()] == [
        line.split(",")[0] for line in lines
    ]


@pytest.mark.parametrize("stamp", ["1700000000000000001", "2026-05-01T12:30:00.125", "7"])
def test_limits_report_the_exact_time(stamp: str, tmp_path: Path) -> None:
    """The reported time of an exceeded limit is that of the row."""
    names = load("panda").joint_names
    path = tmp_path / "motion.csv"
    head = ",".join(["time", *(f"{name}/position" for name in names)])
    path.write_text(f"{head}\n{stamp},0,0,0,1,0,0,0\n")
    arguments = ("inverse", "panda", "--limits", "--trajectory", path, "-q", "--format")
    rows = run_with_exceeded_limits(*arguments, "csv").rows
    assert {row[3] for row in rows[1:]} == {stamp}
    assert stamp in run_with_exceeded_limits(*arguments, "table").out


def run_with_exceeded_limits(*arguments: str | Path) -> CommandRun:
    """Run a command; exit code 1 means that a limit was exceeded."""
    ran = robolin(*arguments)
    assert ran.code in (0, 1), ran.err
    return ran
