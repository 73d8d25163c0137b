"""Times that are dates pass through as they came, from every format into every format."""

from __future__ import annotations

import io
from itertools import cycle
from pathlib import Path

import numpy as np
import polars
import pytest

from robolin import load
from robolin.core.results.number_kind import DECIMALS, format_datetimes, parse_datetimes
from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS, trajectory_formats
from robolin.io.formats import csv_reader
from robolin.io.stored import read_result
from robolin.io.trajectories.read import open_trajectory, read_trajectory
from tests.cli.command import CommandRun, robolin, run_ok

JOINTS = ("shoulder", "elbow")
FIRST = np.datetime64("2026-05-01T12:30:00.123456789", "ns")
STAMPS = FIRST + 10_000_001 * np.arange(300).astype("m8[ns]")


def written(folder: Path, form: str, stamps: np.ndarray) -> Path:
    """A motion with these times, by somebody else's hand."""
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
def test_moments_are_read_exactly(form: str, unit: str, tmp_path: Path) -> None:
    """Every moment is the one that was written, in chunks and at once, in the unit it had."""
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
def test_a_verb_hands_them_through(read: str, form: str, tmp_path: Path) -> None:
    """From every format and into every format, in pairs, they are the same moments."""
    if form == "mat":
        pytest.importorskip("scipy")
    path, out = written(tmp_path, read, STAMPS), tmp_path / f"tau.{form}"
    run_ok("inverse", "two-link", "--trajectory", path, "-q", "-o", out)
    found = read_result(out).arrays["time"]
    assert found.dtype == STAMPS.dtype
    assert np.array_equal(found, STAMPS)
    run_ok("check", out, "--root", tmp_path)


def test_text_comes_out_as_it_went_in(tmp_path: Path) -> None:
    """CSV in, CSV out: the same letters; and so in JSON and on the terminal."""
    path = written(tmp_path, "csv", STAMPS[:3].astype("M8[ms]"))
    asked = ("inverse", "two-link", "--trajectory", path, "-q", "--format")
    texts = [line.split(",")[0] for line in path.read_text().splitlines()]
    assert [row[0] for row in run_ok(*asked, "csv").rows] == texts
    assert all(f'"{text}"' in run_ok(*asked, "json").out for text in texts)
    assert texts[1] in run_ok(*asked, "table").out


def test_large_tables_have_the_same_letters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever writes the table, a moment is spelt in one way."""
    path = written(tmp_path, "npz", STAMPS)
    asked = ("inverse", "two-link", "--trajectory", path, "-q", "--format", "csv")
    small = run_ok(*asked).out
    monkeypatch.setattr("robolin.io.formats.csv_writer._LARGE_TABLE", 0)
    assert run_ok(*asked).out == small


def test_another_moment_is_a_difference(tmp_path: Path) -> None:
    """A nanosecond is told, as one."""
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
def test_what_is_no_moment_is_refused(odd: str, tmp_path: Path) -> None:
    """A column of moments has one in every row, and what is none is named with its line."""
    path = written(tmp_path, "csv", STAMPS)
    lines = path.read_text().splitlines()
    lines[250] = odd + lines[250][lines[250].index(",") :]
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(RobolinError, match="in column 'time'"):
        read_trajectory(path, JOINTS, ("q",))


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("zone", ["Z", "+00:00"])
def test_moments_in_utc_are_those_without_a_zone(zone: str, tmp_path: Path) -> None:
    """The mark of UTC is left aside; that of another zone is refused with what helps."""
    path = written(tmp_path, "csv", STAMPS)
    text = path.read_text()
    path.write_text("\n".join(line.replace(",", f"{zone},", 1) for line in text.splitlines()))
    path.write_text(path.read_text().replace(zone, "", 1))
    assert np.array_equal(read_trajectory(path, JOINTS, ("q",)).time, STAMPS)
    path.write_text(path.read_text().replace(zone, "+02:00"))
    with pytest.raises(RobolinError) as caught:
        read_trajectory(path, JOINTS, ("q",))
    assert "all of them with Z at the end or none" in str(caught.value)


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_missing_moments_are_refused(form: str, tmp_path: Path) -> None:
    """No moment stands for one that is not there."""
    stamps = STAMPS.copy()
    stamps[3] = np.datetime64("NaT")
    path = written(tmp_path, form, stamps)
    with pytest.raises(RobolinError, match=r"'time' is (missing|empty)"):
        read_trajectory(path, JOINTS, ("q",))


def test_moments_beyond_64_bits_are_refused(tmp_path: Path) -> None:
    """Nanoseconds of the year 3000 do not fit, and are not wrapped around."""
    assert parse_datetimes(["3000-01-01T00:00:00.000000001"], "ns") is None
    assert parse_datetimes(["3000-01-01T00:00:00.001"], "ms") is not None
    path = tmp_path / "motion.csv"
    path.write_text("time,shoulder/position,elbow/position\n3000-01-01T00:00:00.000000001,0,0\n")
    with pytest.raises(RobolinError, match="in column 'time' is not a moment"):
        read_trajectory(path, JOINTS, ("q",))


def test_zones_other_than_utc_are_refused(tmp_path: Path) -> None:
    """Whose midnight is meant cannot be told in every format."""
    path = tmp_path / "motion.parquet"
    columns = {f"{joint}/position": [0.0] for joint in JOINTS}
    table = polars.DataFrame({"time": STAMPS[:1], **columns})
    zoned = table.with_columns(polars.col("time").dt.replace_time_zone("Europe/Berlin"))
    zoned.write_parquet(path)
    with pytest.raises(RobolinError, match=r"'time' holds Datetime.*Berlin"):
        read_trajectory(path, JOINTS, ("q",))


def test_dates_are_no_seconds(tmp_path: Path) -> None:
    """Who integrates over time asks for seconds."""
    path, rows = tmp_path / "motion.npz", np.zeros((len(STAMPS), 2))
    np.savez(path, time=STAMPS, q=rows, qd=rows, tau=rows, joints=np.array(JOINTS))
    ran = robolin("sensitivity", "two-link", "--perturb", "dq=0.1,0", "--trajectory", path)
    assert ran.code == 3
    assert "time is given as dates, not as seconds" in ran.err


def test_pipes_have_them_too(tmp_path: Path) -> None:
    """CSV through a pipe is read and written alike."""
    text = written(tmp_path, "csv", STAMPS).read_bytes()
    asked = ("inverse", "two-link", "--trajectory", "-", "-q", "--format", "csv")
    out = run_ok(*asked, stdin=text).out
    given = io.StringIO(text.decode()).read().splitlines()
    assert [line.split(",")[0] for line in out.splitlines()] == [
        line.split(",")[0] for line in given
    ]


@pytest.mark.parametrize("stamp", ["1700000000000000001", "2026-05-01T12:30:00.125", "7"])
def test_limits_tell_when_exactly(stamp: str, tmp_path: Path) -> None:
    """The time at which a limit is passed is that of the row, whatever it is."""
    names = load("panda").joint_names
    path = tmp_path / "motion.csv"
    head = ",".join(["time", *(f"{name}/position" for name in names)])
    path.write_text(f"{head}\n{stamp},0,0,0,1,0,0,0\n")
    asked = ("inverse", "panda", "--limits", "--trajectory", path, "-q", "--format")
    rows = answered_or_exceeded(*asked, "csv").rows
    assert {row[3] for row in rows[1:]} == {stamp}
    assert stamp in answered_or_exceeded(*asked, "table").out


def answered_or_exceeded(*asked: str | Path) -> CommandRun:
    """An exceeded limit is an answer, with an exit code of its own."""
    ran = robolin(*asked)
    assert ran.code in (0, 1), ran.err
    return ran
