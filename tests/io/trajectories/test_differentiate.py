"""Derivatives of recordings are those of the polynomials and sines they were made of."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.read import open_trajectory, read_trajectory
from robolin.io.trajectories.read_options import ReadOptions, parse_differentiation
from robolin.io.trajectories.trajectory import from_first_row, increasing_seconds

EVEN = np.arange(60) * 0.01
UNEVEN = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 60)) * 0.01


def derived(path, method="central", **more):
    """Velocities and accelerations (rows,) of a file."""
    rules = ReadOptions(differentiate=method, turning=(True,), **more)
    read = read_trajectory(path, ["a"], ["q"], ["qd", "qdd"], rules)
    return read.qd[:, 0], read.qdd[:, 0]


def written(tmp_path, time, q, name="time", **more):
    """A CSV file of joint 'a' with all digits."""
    columns = [[*time], *(np.asarray(each).tolist() for each in (q, *more.values()))]
    rows = "".join(",".join(map(str, row)) + "\n" for row in zip(*columns, strict=True))
    names = ",".join([name, "a/position", *(f"a/{word}" for word in more)])
    (tmp_path / "m.csv").write_text(f"{names}\n{rows}")
    return tmp_path / "m.csv"


@pytest.mark.parametrize("time", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_central_differences_are_exact_for_parabolas(tmp_path, time):
    """A parabola has its own velocities and accelerations in every row, the ends among them."""
    qd, qdd = derived(written(tmp_path, time.tolist(), 3 - 2 * time + 5 * time**2))
    # rounding of q, 1e-16, divided by steps of 0.005 once and twice
    assert np.allclose(qd, -2 + 10 * time, atol=1e-12)
    assert np.allclose(qdd, 10, atol=1e-9)


def test_central_differences_come_closer_with_the_square_of_the_step(tmp_path):
    """Half the step leaves a quarter of the error of a sine, away from the ends."""
    errors = []
    for rows in (101, 201):
        time = np.linspace(0, 1, rows)
        qd, qdd = derived(written(tmp_path, time.tolist(), np.sin(5 * time)))
        inner = slice(rows // 5, -rows // 5)
        truth = 5 * np.cos(5 * time), -25 * np.sin(5 * time)
        errors.append([np.abs(x - y)[inner].max() for x, y in zip((qd, qdd), truth, strict=True)])
    ratio = np.array(errors[0]) / np.array(errors[1])
    # terms of fourth order are a hundredth of those of second order
    assert np.allclose(ratio, 4, rtol=0.02)


@pytest.mark.parametrize("method", ["central", "savgol", "savgol:0.1:2"])
def test_velocities_of_the_file_are_differentiated(tmp_path, method):
    """Where the file has velocities, accelerations are their derivative and not that of q."""
    path = written(tmp_path, EVEN.tolist(), 0 * EVEN, velocity=EVEN**2)
    assert np.allclose(derived(path, method)[1], 2 * EVEN, atol=1e-12)


def test_units_of_time_are_applied(tmp_path):
    """The same motion in s, ms, us and ns has the same derivatives, to the last bit."""
    steps = np.array([0, 10, 20, 35, 40, 60])
    q = np.sin(0.001 * steps)
    derived_bytes = []
    for unit, factor in (("s", 1e-3), ("ms", 1), ("us", 10**3), ("ns", 10**6)):
        start = 0 if unit == "s" else 10**15
        times = [repr(float(x * factor)) if unit == "s" else start + int(x) * factor for x in steps]
        rules = ReadOptions(time_unit=unit, differentiate="central", turning=(True,))
        read = read_trajectory(written(tmp_path, times, q), ["a"], ["q"], ["qd", "qdd"], rules)
        derived_bytes.append((read.qd.tobytes(), read.qdd.tobytes()))
        assert read.lines["time"] == f"in {unit}, values unchanged"
    assert len(set(derived_bytes[1:])) == 1
    assert np.allclose(
        np.frombuffer(derived_bytes[0][0]), np.frombuffer(derived_bytes[1][0]), rtol=1e-12
    )


def test_stamps_are_subtracted_before_they_are_rounded():
    """Nanoseconds since 1970 keep their last digit."""
    stamps = 1_700_000_000_000_000_001 + np.array([0, 1, 3])
    assert (from_first_row(stamps, "ns") * 1e9).tolist() == [0, 1, 3]
    datetimes = stamps.view("M8[ns]")
    assert (increasing_seconds(datetimes, None, "") * 1e9).round(6).tolist() == [0, 1, 3]


def test_savgol_without_a_width_is_scipy_over_11_even_rows(tmp_path):
    """Even rows have windows of 11 rows, also with time stamps that are rounded a little."""
    signal = pytest.importorskip("scipy.signal")
    q = np.sin(5 * EVEN) + np.random.default_rng(1).normal(size=60) * 1e-3
    for time in (EVEN, np.round(EVEN + 2e-6 * np.sin(1e3 * EVEN), 6)):
        derivatives = derived(written(tmp_path, time.tolist(), q), "savgol")
        step = (time[-1] - time[0]) / 59
        for degree in (1, 2):
            other = signal.savgol_filter(q, 11, 3, deriv=degree, delta=step, mode="interp")
            assert np.abs(derivatives[degree - 1] - other).max() < 1e-12 * np.abs(other).max()


@pytest.mark.parametrize("step, width", [(0.001, 0.1), (0.02, 0.2)])
def test_the_default_width_is_a_tenth_of_a_second_or_ten_steps(tmp_path, step, width):
    """Uneven rows have the default width that the contract states; typed, it has the same bits."""
    time = step * (np.arange(200) + 0.1 * np.sin(np.arange(200) ** 2))
    path = written(tmp_path, time.tolist(), np.sin(time / step / 20))
    rules = ReadOptions(differentiate="savgol", turning=(True,))
    read = read_trajectory(path, ["a"], ["q"], ["qd", "qdd"], rules)
    line = read.lines["differentiated"]
    words = line.split()
    assert abs(float(words[-2]) - width) < 0.05 * width
    assert any("--differentiate savgol:SECONDS" in note for note in read.notes)
    typed = derived(path, f"savgol:{words[-2]}")
    assert [each.tobytes() for each in typed] == [read.qd.tobytes(), read.qdd.tobytes()]


def recording(tmp_path, rows=400):
    """Uneven nanoseconds with a gap and a repeated time stamp, and a noisy motion."""
    rng = np.random.default_rng(4)
    stamps = 1_700_000_000_000_000_001 + np.cumsum(rng.integers(700_000, 1_300_000, rows))
    stamps[250:] += 40_000_000
    stamps[101] = stamps[100]
    return written(
        tmp_path, stamps.tolist(), np.sin(stamps % 10**9 * 1e-9 * 4) + rng.normal(size=rows) * 1e-5
    )


@pytest.mark.parametrize("method", ["savgol", "savgol:0.02"])
def test_chunks_of_any_size_have_the_same_bits(tmp_path, monkeypatch, method):
    """Derivatives do not depend on the number of rows per block."""
    from robolin.io.trajectories import derivatives

    path, results = recording(tmp_path), set()
    rules = ReadOptions(differentiate=method, time_unit="ns", turning=(True,))
    for rows, together in ((1, 2048), (7, 50), (64, 100), (399, 1), (1000, 2048)):
        monkeypatch.setattr(derivatives, "_FEWEST_AT_ONCE", together)
        with open_trajectory(path, ["a"], ["q"], ["qd", "qdd"], rules) as stream:
            chunks = list(stream.chunks(rows))
            line = stream.lines["differentiated"]
        assert max(chunk.rows for chunk in chunks) <= rows
        arrays = [np.concatenate([c.columns[name] for c in chunks]) for name in ("qd", "qdd")]
        results.add((line, *(each.tobytes() for each in arrays)))
    ((line, *_),) = results
    if method == "savgol:0.02":
        assert "1 gap in time that no window spans, the first after row 250" in line
        assert "1 row with the time stamp of the previous row, first row 102" in line


def test_rows_are_derived_before_the_file_ends(tmp_path, monkeypatch):
    """Only the rows of a window are kept: the first chunk is complete a width later."""
    from robolin.io.trajectories import derivatives

    monkeypatch.setattr(derivatives, "_FEWEST_AT_ONCE", 1)
    rules = ReadOptions(differentiate="savgol:0.02", time_unit="ns", turning=(True,))
    with open_trajectory(recording(tmp_path), ["a"], ["q"], ["qd"], rules) as stream:
        read = []
        own = type(stream)._read

        def counted(self, *arguments):
            for each in own(self, *arguments):
                read.append(each.rows)
                yield each

        monkeypatch.setattr(type(stream), "_read", counted)
        next(iter(stream.chunks(10)))
        # 10 rows, and a width of 20 ms with rows of about 1 ms
        assert sum(read) <= 40


LONG = np.arange(20) * 0.1
SAVGOL = {"differentiate": "savgol:0.5"}
ISLAND = np.where(np.arange(20) < 15, LONG, LONG + 5)
REFUSED = [
    ("a turn of the angle", LONG, np.where(LONG < 1, 3.1, -3.1), {}, "jumps from 3.1 to -3.1"),
    ("a turn with savgol", LONG, np.where(LONG < 1, 3.1, -3.1), SAVGOL, "numpy.unwrap"),
    ("falling times", LONG[::-1], LONG, {}, "time must increase"),
    ("equal times", LONG * 0, LONG, {}, "--differentiate savgol accepts equal"),
    ("few rows", LONG[:2], LONG[:2], {}, "at least 3 rows, got 2"),
    ("falling times with savgol", LONG[::-1], LONG, SAVGOL, "from row 1 to row 2"),
    (
        "few even rows",
        LONG[:10],
        LONG[:10],
        {"differentiate": "savgol"},
        "at least 11 rows, got 10",
    ),
    ("a short file", LONG[:3], LONG[:3], SAVGOL, "3 rows over 0.2 s are too few"),
    (
        "a narrow window",
        LONG,
        LONG,
        {"differentiate": "savgol:0.3"},
        "use --differentiate savgol:1,",
    ),
    ("a short segment", ISLAND[:17], LONG[:17], SAVGOL, "2 time stamps over 0.1 s are too few"),
    (
        "sparse rows",
        np.r_[LONG[:15] / 10, 1 + LONG],
        np.r_[LONG[:15], LONG],
        SAVGOL | {"differentiate": "savgol:0.1"},
        "skip such rows with --on-bad-row nan",
    ),
    ("a free joint", LONG, LONG, {"free_turns": True}, "not derivatives of their angles"),
]


@pytest.mark.parametrize(
    ("time", "q", "more", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_trajectories_without_derivatives_are_rejected(tmp_path, time, q, more, message):
    """Jumps, decreasing times and rows that do not suit the method are errors, not smoothed."""
    rules = ReadOptions(**{"differentiate": "central", "turning": (True,), **more})
    path = written(tmp_path, np.asarray(time, float).tolist(), q)
    with pytest.raises((RobolinError, UsageError)) as caught:
        read_trajectory(path, ["a"], ["q"], ["qd"], rules)
    assert message in str(caught.value)


def test_nan_rows_affect_the_rows_next_to_them(tmp_path):
    """A row with NaN has no derivatives, and neither have the rows next to it."""
    path = written(tmp_path, LONG.tolist(), LONG)
    path.write_text(path.read_text().replace("0.5,0.5\n", "0.5,nan\n"))
    rules = ReadOptions(differentiate="central", turning=(True,))
    with open_trajectory(path, ["a"], ["q"], ["qd"], rules) as stream:
        (chunk,) = stream.chunks(gaps=True)
    assert np.flatnonzero(chunk.gaps).tolist() == [4, 5, 6]


def test_windows_leave_out_rows_with_nan(tmp_path):
    """A row with NaN has no derivative; its neighbours have those of the other rows."""
    path = written(tmp_path, LONG.tolist(), LONG**3)
    path.write_text(path.read_text().replace(f"0.5,{0.5**3}\n", "0.5,nan\n"))
    rules = ReadOptions(differentiate="savgol:1", turning=(True,))
    with open_trajectory(path, ["a"], ["q"], ["qd"], rules) as stream:
        (chunk,) = stream.chunks(gaps=True)
    assert np.flatnonzero(chunk.gaps).tolist() == [5]
    fine = ~chunk.gaps
    assert np.allclose(chunk.columns["qd"][fine, 0], 3 * LONG[fine] ** 2, atol=1e-12)


@pytest.mark.parametrize("method", ["savgol", "savgol:1"])
def test_rows_without_time_stamps_are_nan_on_request(tmp_path, method):
    """A file whose time stamps are all NaN has no derivative in any row."""
    path = written(tmp_path, ["nan"] * 20, LONG)
    rules = ReadOptions(differentiate=method, turning=(True,))
    with open_trajectory(path, ["a"], ["q"], ["qd"], rules) as stream:
        (chunk,) = stream.chunks(gaps=True)
    assert chunk.gaps.all()


def test_short_segments_are_nan_on_request(tmp_path):
    """Rows without enough neighbours have no result if such rows are allowed."""
    path = written(tmp_path, ISLAND[:17].tolist(), LONG[:17])
    rules = ReadOptions(turning=(True,), **SAVGOL)
    with open_trajectory(path, ["a"], ["q"], ["qd"], rules) as stream:
        (chunk,) = stream.chunks(gaps=True)
        assert "1 gap in time" in stream.final_notes[0]
    assert np.flatnonzero(chunk.gaps).tolist() == [15, 16]


@pytest.mark.parametrize(
    "text",
    [
        "savitzky",
        "central:0.1",
        "savgol:",
        "savgol:x",
        "savgol:0",
        "savgol:-1",
        "savgol:1e7",
        "savgol:1e-10",
        "savgol:inf",
        "savgol:nan",
        "savgol:0.1:1",
        "savgol:0.1:6",
        "savgol:0.1:3:4",
    ],
)
def test_other_methods_are_rejected(text):
    """A method is central, savgol, savgol:SECONDS or savgol:SECONDS:ORDER."""
    with pytest.raises(UsageError, match="--differentiate"):
        parse_differentiation(text)
