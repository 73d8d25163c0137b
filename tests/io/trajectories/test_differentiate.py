"""Derivatives of recordings are those of the polynomials and sines they were made of."""

from __future__ import annotations

import numpy as np
import pytest

from robolin.errors import RobolinError, UsageError
from robolin.io.trajectories.column_rules import ReadOptions
from robolin.io.trajectories.read import read_trajectory, with_derivatives
from robolin.io.trajectories.trajectory import from_first_row, increasing_seconds

EVEN = np.arange(60) * 0.01
UNEVEN = np.cumsum(np.random.default_rng(0).uniform(0.5, 1.5, 60)) * 0.01


def derived(q: np.ndarray, time: np.ndarray, method: str, **given: np.ndarray):
    names = [name for name in ("qd", "qdd") if name not in given]
    found = with_derivatives({"q": q[:, None], **given}, names, time, method, "m.csv")
    return found["qd"][:, 0], found["qdd"][:, 0]


@pytest.mark.parametrize("time", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_central_differences_are_exact_for_parabolas(time):
    """A parabola has its own velocities and accelerations in every row, the ends among them."""
    qd, qdd = derived(3 - 2 * time + 5 * time**2, time, "central")
    # rounding of q, 1e-16, divided by steps of 0.005 once and twice
    assert np.allclose(qd, -2 + 10 * time, atol=1e-12)
    assert np.allclose(qdd, 10, atol=1e-9)


def test_savgol_is_exact_for_cubics():
    """A cubic has its own derivatives in every row, the ends among them."""
    pytest.importorskip("scipy")
    qd, qdd = derived(1 + EVEN - 2 * EVEN**2 + 4 * EVEN**3, EVEN, "savgol")
    assert np.allclose(qd, 1 - 4 * EVEN + 12 * EVEN**2, atol=1e-11)
    assert np.allclose(qdd, -4 + 24 * EVEN, atol=1e-8)


def test_central_differences_come_closer_with_the_square_of_the_step():
    """Half the step leaves a quarter of the error of a sine, away from the ends."""
    errors = []
    for rows in (101, 201):
        time = np.linspace(0, 1, rows)
        qd, qdd = derived(np.sin(5 * time), time, "central")
        inner = slice(rows // 5, -rows // 5)
        truth = 5 * np.cos(5 * time), -25 * np.sin(5 * time)
        errors.append([np.abs(x - y)[inner].max() for x, y in zip((qd, qdd), truth, strict=True)])
    ratio = np.array(errors[0]) / np.array(errors[1])
    # terms of fourth order are a hundredth of those of second order
    assert np.allclose(ratio, 4, rtol=0.02)


def test_velocities_of_the_file_are_differentiated():
    """Where the file has velocities, accelerations are their derivative and not that of q."""
    given = (EVEN**2)[:, None]
    found = with_derivatives({"q": 0 * given, "qd": given}, ["qdd"], EVEN, "central", "m.csv")
    assert np.allclose(found["qdd"][:, 0], 2 * EVEN, atol=1e-12)


def written(tmp_path, time, q, name="time"):
    rows = "".join(f"{t},{x!r}\n" for t, x in zip(time, np.asarray(q).tolist(), strict=True))
    (tmp_path / "m.csv").write_text(f"{name},a/position\n{rows}")
    return tmp_path / "m.csv"


def test_units_of_time_are_applied(tmp_path):
    """The same motion in s, ms, us and ns has the same derivatives, to the last bit."""
    steps = np.array([0, 10, 20, 35, 40, 60])
    q = np.sin(0.001 * steps)
    found = []
    for unit, factor in (("s", 1e-3), ("ms", 1), ("us", 10**3), ("ns", 10**6)):
        start = 0 if unit == "s" else 10**15
        times = [repr(float(x * factor)) if unit == "s" else start + int(x) * factor for x in steps]
        rules = ReadOptions(time_unit=unit, differentiate="central", turning=(True,))
        read = read_trajectory(written(tmp_path, times, q), ["a"], ["q"], ["qd", "qdd"], rules)
        found.append((read.qd.tobytes(), read.qdd.tobytes()))
        assert read.lines["time"] == f"in {unit}, values unchanged"
    assert len(set(found[1:])) == 1
    assert np.allclose(np.frombuffer(found[0][0]), np.frombuffer(found[1][0]), rtol=1e-12)


def test_stamps_are_subtracted_before_they_are_rounded():
    """Nanoseconds since 1970 keep their last digit."""
    stamps = 1_700_000_000_000_000_001 + np.array([0, 1, 3])
    assert (from_first_row(stamps, "ns") * 1e9).tolist() == [0, 1, 3]
    datetimes = stamps.view("M8[ns]")
    assert (increasing_seconds(datetimes, None, "") * 1e9).round(6).tolist() == [0, 1, 3]


LONG = np.arange(20) * 0.1
# one step of 0.0098 s, or of 0.0102 s, among steps of 0.01 s
SHORT_STEP, LONG_STEP = (EVEN + shift * (np.arange(60) >= 30) for shift in (-2e-4, 2e-4))
REFUSED = [
    ("a turn of the angle", LONG, np.where(LONG < 1, 3.1, -3.1), {}, "jumps from 3.1 to -3.1"),
    ("falling times", LONG[::-1], LONG, {}, "time must increase"),
    ("few rows", LONG[:2], LONG[:2], {}, "at least 3 rows, got 2"),
    ("uneven rows", UNEVEN, UNEVEN, {"differentiate": "savgol"}, "--differentiate central"),
    ("a short step", SHORT_STEP, EVEN, {"differentiate": "savgol"}, "got 0.0098 s before row 31"),
    ("a long step", LONG_STEP, EVEN, {"differentiate": "savgol"}, "got 0.0102 s before row 31"),
    ("a free joint", LONG, LONG, {"free_turns": True}, "not derivatives of their angles"),
]


@pytest.mark.parametrize(
    ("time", "q", "more", "message"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_trajectories_without_derivatives_are_rejected(tmp_path, time, q, more, message):
    """Jumps, decreasing times and rows that do not suit the method are errors, not smoothed."""
    if more.get("differentiate") == "savgol":
        pytest.importorskip("scipy")
    rules = ReadOptions(**{"differentiate": "central", "turning": (True,), **more})
    path = written(tmp_path, map(repr, np.asarray(time, float).tolist()), q)
    with pytest.raises((RobolinError, UsageError)) as caught:
        read_trajectory(path, ["a"], ["q"], ["qd"], rules)
    assert message in str(caught.value)


def test_nan_rows_affect_the_rows_next_to_them(tmp_path):
    """A row with NaN has no derivatives, and neither have the rows next to it."""
    from robolin.io.trajectories.read import open_trajectory

    path = written(tmp_path, map(repr, LONG.tolist()), LONG)
    path.write_text(path.read_text().replace("0.5,0.5\n", "0.5,nan\n"))
    rules = ReadOptions(differentiate="central", turning=(True,))
    with open_trajectory(path, ["a"], ["q"], ["qd"], rules) as stream:
        (chunk,) = stream.chunks(gaps=True)
    assert np.flatnonzero(chunk.gaps).tolist() == [4, 5, 6]
