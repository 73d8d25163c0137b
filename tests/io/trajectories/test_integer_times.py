"""Integer time stamps beyond the precision of float64 pass unchanged."""

import json
import random
from decimal import Decimal
from itertools import cycle

import numpy as np
import polars
import pytest

from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS, trajectory_formats
from robolin.io.formats import csv_reader
from robolin.io.stored import read_result
from robolin.io.trajectories.read import open_trajectory, read_trajectory
from tests.cli.command import robolin, run_ok

JOINTS = ("shoulder", "elbow")
STAMPS = 1_700_000_000_000_000_001 + 10_000_001 * np.arange(300)


def written(folder, form, stamps=STAMPS):
    """Write a trajectory with these time stamps, as other programs do."""
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
    """Every time stamp is read as an integer, in chunks and in one pass."""
    path = written(tmp_path, form)
    with open_trajectory(path, JOINTS, ("q",)) as stream:
        times = [chunk.time for chunk in stream.chunks(7)]
    assert np.concatenate(times).dtype == np.int64
    assert np.concatenate(times).tolist() == STAMPS.tolist()
    assert read_trajectory(path, JOINTS, ("q",)).time.tolist() == STAMPS.tolist()


@pytest.mark.parametrize(
    ("form", "read"), list(zip(FORMATS, cycle(trajectory_formats()), strict=False))
)
def test_a_command_passes_stamps_through(tmp_path, read, form):
    """The time stamps are unchanged from every format to every format, in pairs."""
    path, out = written(tmp_path, read), tmp_path / f"tau.{form}"
    run_ok("inverse", "two-link", "--trajectory", path, "-q", "-o", out)
    assert read_result(out).arrays["time"].tolist() == STAMPS.tolist()
    run_ok("check", out, "--root", tmp_path)


def test_stamps_pass_through_pipes(tmp_path):
    """CSV and JSON on standard output have all digits of the stamps."""
    arguments = ("inverse", "two-link", "--trajectory", written(tmp_path, "csv"), "-q", "--format")
    assert [int(row[0]) for row in run_ok(*arguments, "csv").rows[1:]] == STAMPS.tolist()
    assert json.loads(run_ok(*arguments, "json").out)["time"] == STAMPS.tolist()


def texts(folder, stamps):
    """Write a CSV trajectory with these texts in the time column."""
    path = folder / "motion.csv"
    rows = [f"{stamp},0.1,0.2" for stamp in stamps]
    path.write_text("\n".join(["time,shoulder/position,elbow/position", *rows]) + "\n")
    return path


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("first", [0, -3, (1 << 53) - 150, STAMPS[0]])
def test_integers_stay_integers_for_any_first_value(tmp_path, first):
    """Steps, milliseconds and nanoseconds are unchanged, beyond 2^53 too."""
    stamps = [str(int(first) + i) for i in range(300)]
    path = texts(tmp_path, stamps)
    time = read_trajectory(path, JOINTS, ("q",)).time
    assert time.dtype == np.int64
    out = run_ok("inverse", "two-link", "--trajectory", path, "-q", "--format", "csv")
    assert [row[0] for row in out.rows[1:]] == stamps


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("at", [0, 1, 99, 100, 150, 299])
def test_one_number_with_a_point_makes_all_of_them_real(tmp_path, at):
    """One decimal point in any row makes the column float64, and no integer is rounded by it."""
    stamps = [str(i) for i in range(300)]
    stamps[at] += ".5"
    time = read_trajectory(texts(tmp_path, stamps), JOINTS, ("q",)).time
    assert time.dtype == np.float64
    assert time.tolist() == [float(stamp) for stamp in stamps]


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("at", [0, 1, 99, 100, 150, 299])
@pytest.mark.parametrize("odd", ["1700000000000000000.5", "1.7e18", "0.5", "1" + 19 * "0"])
def test_stamps_that_would_be_rounded_are_refused(tmp_path, at, odd):
    """A column with a decimal number must not contain integers beyond 2^53."""
    stamps = STAMPS.astype(str).tolist()
    stamps[at] = odd
    with pytest.raises(RobolinError, match="in column 'time' would be rounded") as caught:
        read_trajectory(texts(tmp_path, stamps), JOINTS, ("q",))
    assert caught.value.parts[0].where.endswith(f":{3 if at == 0 else 2}")


@pytest.mark.usefixtures("_both_csv_readers")
def test_large_decimal_numbers_are_read(tmp_path):
    """A number with a point or an exponent is the nearest float64."""
    stamps = [f"{1.7e18 + 1e9 * i:.6e}" for i in range(300)]
    time = read_trajectory(texts(tmp_path, stamps), JOINTS, ("q",)).time
    assert time.tolist() == [float(stamp) for stamp in stamps]


KINDS = [
    lambda rng: str(rng.randrange(1000)),
    lambda rng: str((1 << 53) + rng.randrange(-5, 5)),
    lambda rng: f"{rng.random():.3f}",
    lambda rng: f" {rng.randrange(9)}",
    lambda rng: f'"{rng.randrange(9)}"',
    lambda rng: f"+{rng.randrange(9)}",
    lambda rng: "",
    lambda rng: str((1 << 63) + rng.randrange(-2, 2)),
]


@pytest.mark.parametrize("seed", range(4))
def test_both_csv_readers_have_the_same_times(tmp_path, monkeypatch, seed):
    """Type and numbers, or the error, are the same for every kind of column."""
    rng = random.Random(seed)
    for _ in range(20):
        common = rng.choice(KINDS[:3])
        odd = rng.choice([0.0, 0.02, 0.5])
        count = rng.choice([1, 3, 130])
        stamps = [(rng.choice(KINDS) if rng.random() < odd else common)(rng) for _ in range(count)]
        path = texts(tmp_path, stamps)
        gaps = rng.random() < 0.3
        small = _times(path, gaps)
        with monkeypatch.context() as patch:
            patch.setattr(csv_reader, "_LARGE_FILE", 0)
            patch.setattr(csv_reader, "_SMALLEST_BLOCK", 64)
            assert _times(path, gaps) == small, stamps


def _times(path, gaps):
    """Return the type and every time, or the first error."""
    try:
        with open_trajectory(path, JOINTS, ("q",)) as stream:
            times = [chunk.time for chunk in stream.chunks(7, gaps=gaps)]
    except RobolinError as error:
        return str(error.parts[0])
    return {time.dtype for time in times}, [repr(x) for time in times for x in time.tolist()]


def test_a_pipe_of_integers_must_continue_with_integers(tmp_path, monkeypatch):
    """Rows already passed on cannot change their type, so the line is an error."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 512)
    monkeypatch.setattr(csv_reader.LineReader, "_SMALLEST_READ", 512)
    stamps = [str(i) for i in range(300)]
    stamps[250] += ".5"
    text = texts(tmp_path, stamps).read_bytes()
    ran = robolin("inverse", "two-link", "--trajectory", "-", "-q", stdin=text)
    assert ran.code == 3
    assert "'250.5' in column 'time' is not an integer, as in other rows" in ran.err


def test_the_time_type_is_not_set_by_the_header_alone(tmp_path, monkeypatch):
    """A translated or decompressed text is read once, so the type waits for the first row."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    path = tmp_path / "motion.tsv"
    path.write_text("time\tshoulder/position\telbow/position\n0.5\t0\t0\n1\t0\t0\n")
    assert read_trajectory(path, JOINTS, ("q",)).time.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_types_that_would_be_rounded_are_refused(tmp_path, form):
    """Numbers with more than 64 bits are not times, in any format."""
    if form == "npz":
        path = written(tmp_path, form, STAMPS.astype(np.longdouble))
    else:
        path = written(tmp_path, form, [Decimal("1700000000.123456789")] * 3)
    with pytest.raises(
        RobolinError, match=r"'time'.* (got|contains) .*(longdouble|float128|Decimal)"
    ):
        read_trajectory(path, JOINTS, ("q",))


@pytest.mark.parametrize(
    "arguments",
    [
        ("sensitivity", "two-link", "--perturb", "dq=0.1,0", "--trajectory"),
        ("simulate", "two-link", "--duration", "0.1", "--trajectory"),
        ("lqr", "two-link", "--time-varying", "--dt", "0.01", "--trajectory"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_integration_rejects_nanoseconds(tmp_path, arguments):
    """Commands that integrate over time reject stamps that they would have to round."""
    if arguments[0] == "lqr":
        pytest.importorskip("scipy")
    path, rows = tmp_path / "motion.npz", np.zeros((len(STAMPS), 2))
    np.savez(path, time=STAMPS, q=rows, qd=rows, tau=rows, joints=np.array(JOINTS))
    ran = robolin(*arguments, path)
    assert ran.code == 3
    assert "time: must be in seconds, got time stamps such as 1700000000000000001" in ran.err


def test_a_missing_stamp_is_rejected_even_if_nan_is_allowed(tmp_path):
    """An integer column cannot represent NaN."""
    path = tmp_path / "motion.parquet"
    columns = {f"{joint}/position": [0.0, 1.0] for joint in JOINTS}
    polars.DataFrame({"time": [1, None], **columns}).write_parquet(path)
    ran = robolin("inverse", "two-link", "--trajectory", path, "--on-bad-row", "nan", "-q")
    assert ran.code == 3
    assert "column 'time' has an empty cell" in ran.err
