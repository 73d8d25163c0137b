"""Time stamps that float64 cannot hold pass through as they came."""

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


@pytest.mark.parametrize(
    ("form", "read"), list(zip(FORMATS, cycle(trajectory_formats()), strict=False))
)
def test_a_verb_hands_them_through(tmp_path, read, form):
    """From every format and into every format, in pairs, the stamps are the same numbers."""
    path, out = written(tmp_path, read), tmp_path / f"tau.{form}"
    run_ok("inverse", "two-link", "--trajectory", path, "-q", "-o", out)
    assert read_result(out).arrays["time"].tolist() == STAMPS.tolist()
    run_ok("check", out, "--root", tmp_path)


def test_pipes_have_them_too(tmp_path):
    """CSV and JSON on standard output have all digits of the stamps."""
    asked = ("inverse", "two-link", "--trajectory", written(tmp_path, "csv"), "-q", "--format")
    assert [int(row[0]) for row in run_ok(*asked, "csv").rows[1:]] == STAMPS.tolist()
    assert json.loads(run_ok(*asked, "json").out)["time"] == STAMPS.tolist()


def texts(folder, stamps):
    """A CSV motion whose times are spelt like this."""
    path = folder / "motion.csv"
    rows = [f"{stamp},0.1,0.2" for stamp in stamps]
    path.write_text("\n".join(["time,shoulder/position,elbow/position", *rows]) + "\n")
    return path


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("first", [0, -3, (1 << 53) - 150, STAMPS[0]])
def test_whole_numbers_stay_whole_however_small_they_begin(tmp_path, first):
    """Steps, milliseconds and nanoseconds come out as they went in, beyond 2^53 too."""
    stamps = [str(int(first) + i) for i in range(300)]
    path = texts(tmp_path, stamps)
    time = read_trajectory(path, JOINTS, ("q",)).time
    assert time.dtype == np.int64
    out = run_ok("inverse", "two-link", "--trajectory", path, "-q", "--format", "csv")
    assert [row[0] for row in out.rows[1:]] == stamps


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("at", [0, 1, 99, 100, 150, 299])
def test_one_number_with_a_point_makes_all_of_them_real(tmp_path, at):
    """Wherever it stands, in the first rows or far behind: no whole number is rounded for it."""
    stamps = [str(i) for i in range(300)]
    stamps[at] += ".5"
    time = read_trajectory(texts(tmp_path, stamps), JOINTS, ("q",)).time
    assert time.dtype == np.float64
    assert time.tolist() == [float(stamp) for stamp in stamps]


@pytest.mark.usefixtures("_both_csv_readers")
@pytest.mark.parametrize("at", [0, 1, 99, 100, 150, 299])
@pytest.mark.parametrize("odd", ["1700000000000000000.5", "1.7e18", "0.5", "1" + 19 * "0"])
def test_stamps_that_would_be_rounded_are_refused(tmp_path, at, odd):
    """A column that is not whole throughout holds no whole number that float64 does not hold."""
    stamps = STAMPS.astype(str).tolist()
    stamps[at] = odd
    with pytest.raises(RobolinError, match="in column 'time' would be rounded") as caught:
        read_trajectory(texts(tmp_path, stamps), JOINTS, ("q",))
    assert caught.value.parts[0].where.endswith(f":{3 if at == 0 else 2}")


@pytest.mark.usefixtures("_both_csv_readers")
def test_large_numbers_that_are_not_whole_are_read(tmp_path):
    """What is written with a point or a power is the nearest float64, as everywhere."""
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
    """The same type and the same numbers, or the same complaint, whatever the column holds."""
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
    """The type and every time, or what is wrong first."""
    try:
        with open_trajectory(path, JOINTS, ("q",)) as stream:
            times = [chunk.time for chunk in stream.chunks(7, gaps=gaps)]
    except RobolinError as error:
        return str(error.parts[0])
    return {time.dtype for time in times}, [repr(x) for time in times for x in time.tolist()]


def test_a_pipe_that_began_whole_has_to_go_on_so(tmp_path, monkeypatch):
    """What has been handed on cannot be changed any more, so the line is refused by name."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    monkeypatch.setattr(csv_reader, "_SMALLEST_BLOCK", 512)
    monkeypatch.setattr(csv_reader.LineReader, "_SMALLEST_READ", 512)
    stamps = [str(i) for i in range(300)]
    stamps[250] += ".5"
    text = texts(tmp_path, stamps).read_bytes()
    ran = robolin("inverse", "two-link", "--trajectory", "-", "-q", stdin=text)
    assert ran.code == 3
    assert "'250.5' in column 'time' is not a whole number like those in other rows" in ran.err


def test_a_header_that_comes_alone_tells_nothing_of_times(tmp_path, monkeypatch):
    """What is translated or unpacked has no second look, so that a first row is waited for."""
    monkeypatch.setattr(csv_reader, "_LARGE_FILE", 0)
    path = tmp_path / "motion.tsv"
    path.write_text("time\tshoulder/position\telbow/position\n0.5\t0\t0\n1\t0\t0\n")
    assert read_trajectory(path, JOINTS, ("q",)).time.tolist() == [0.5, 1.0]


@pytest.mark.parametrize("form", ["npz", "parquet"])
def test_types_that_would_be_rounded_are_refused(tmp_path, form):
    """Numbers of more digits than 64 bits hold are no times, whatever the file can store."""
    if form == "npz":
        path = written(tmp_path, form, STAMPS.astype(np.longdouble))
    else:
        path = written(tmp_path, form, [Decimal("1700000000.123456789")] * 3)
    with pytest.raises(RobolinError, match=r"'time'.* holds .*(longdouble|float128|Decimal)"):
        read_trajectory(path, JOINTS, ("q",))


@pytest.mark.parametrize(
    "asked",
    [
        ("sensitivity", "two-link", "--perturb", "dq=0.1,0", "--trajectory"),
        ("simulate", "two-link", "--duration", "0.1", "--trajectory"),
        ("lqr", "two-link", "--time-varying", "--dt", "0.01", "--trajectory"),
    ],
    ids=lambda asked: asked[0],
)
def test_nanoseconds_are_no_seconds(tmp_path, asked):
    """Who integrates over time refuses stamps that it would have to round."""
    if asked[0] == "lqr":
        pytest.importorskip("scipy")
    path, rows = tmp_path / "motion.npz", np.zeros((len(STAMPS), 2))
    np.savez(path, time=STAMPS, q=rows, qd=rows, tau=rows, joints=np.array(JOINTS))
    ran = robolin(*asked, path)
    assert ran.code == 3
    assert "time stamps such as 1700000000000000001 are no seconds" in ran.err


def test_a_missing_stamp_is_refused_even_where_gaps_may_be(tmp_path):
    """No whole number stands for a gap."""
    path = tmp_path / "motion.parquet"
    columns = {f"{joint}/position": [0.0, 1.0] for joint in JOINTS}
    polars.DataFrame({"time": [1, None], **columns}).write_parquet(path)
    ran = robolin("inverse", "two-link", "--trajectory", path, "--on-bad-row", "nan", "-q")
    assert ran.code == 3
    assert "column 'time' is empty" in ran.err
