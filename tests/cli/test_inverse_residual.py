"""robolin inverse --residual: measured torques against the model, in every format."""

from __future__ import annotations

import importlib.util
import io
import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars
import pytest

import robolin as library
from tests.cli.command import robolin
from tests.ros_bags import STATE, Motion, as_joint_states, write_bag, write_bag2

ROWS = 200
JOINTS = ("shoulder", "elbow")
ARM = library.load("two-link")


@cache
def recorded() -> tuple[Motion, np.ndarray]:
    """A motion with uneven stamps in ns, and torques that are those of the model, and some more."""
    rng = np.random.default_rng(5)
    time = 1_700_000_000_000_000_001 + np.cumsum(rng.integers(4_000_000, 6_000_000, ROWS))
    s = ((time - time[0]) * 1e-9)[:, None] * np.array([2.0, 3.0])
    q, qd, qdd = np.sin(s), np.cos(s) * [2.0, 3.0], -np.sin(s) * [4.0, 9.0]
    extra = np.stack([0.5 * np.ones(ROWS), 0.1 * np.sign(qd[:, 1])], axis=1)
    tau = library.inverse(ARM, q, qd, qdd) + extra
    return Motion(time, q, qd, JOINTS, tau), extra


FLAGS = ("--residual", "--differentiate", "savgol:0.1")


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def table() -> polars.DataFrame:
    parts = {
        "position": recorded()[0].q,
        "velocity": recorded()[0].qd,
        "effort": recorded()[0].effort,
    }
    columns = {f"{j}/{w}": x[:, i] for w, x in parts.items() for i, j in enumerate(JOINTS)}
    return polars.DataFrame({"time": recorded()[0].time, **columns})


def csv() -> str:
    table().write_csv("m.csv")
    return "m.csv"


def parquet() -> str:
    table().write_parquet("m.parquet")
    return "m.parquet"


def npz() -> str:
    values = {
        "q": recorded()[0].q,
        "qd": recorded()[0].qd,
        "tau": recorded()[0].effort,
        "time": recorded()[0].time,
    }
    np.savez("m.npz", **values, joints=np.array(JOINTS))
    return "m.npz"


def run(file: str, *flags: str):
    unit = () if file.endswith((".bag", "bag2")) else ("--time-unit", "ns")
    return robolin("inverse", "two-link", "--trajectory", file, *FLAGS, *unit, *flags)


def test_known_errors_are_found():
    """A constant error is the bias; one with the sign of the velocity is the largest."""
    ran = run(csv(), "--format", "json")
    assert ran.code == 0, ran.err
    document = json.loads(ran.out)
    shoulder, elbow = document["joints"]
    assert document["rows"] == ROWS
    # derivatives of a sine over 0.1 s leave 1e-2 N·m
    assert shoulder["bias"] == pytest.approx(0.5, abs=0.02)
    assert elbow["rms"] == pytest.approx(0.1, abs=0.02)
    assert shoulder["explained"] > 0.99
    assert "damping" in document["model"]


def test_the_first_line_of_the_table_is_the_verdict():
    """The table begins with the explained variance, the sign, and what the model includes."""
    lines = run(csv(), "--format", "table").out.splitlines()
    assert lines[0].startswith("the model explains ")
    assert lines[0].endswith("of the variance of the measured efforts in 200 rows")
    assert lines[1] == "residual = measured - model"
    assert "friction" in lines[2]
    assert lines[4].split()[:3] == ["joint", "measured", "RMS"]
    assert [line.split()[0] for line in lines[5:]] == [*JOINTS]


WAYS = {"parquet": parquet, "npz": npz}
if importlib.util.find_spec("rosbags"):
    WAYS["ROS 1"] = lambda: str(write_bag(Path("one.bag"), recorded()[0]))
    WAYS["ROS 2"] = lambda: write_bag2(Path("bag2"), recorded()[0], ".mcap") and "bag2"


@pytest.mark.parametrize("way", WAYS)
def test_every_recording_has_the_same_residuals(way):
    """Efforts of Parquet, NPZ and bags are compared as those of CSV."""
    expected = run(csv())
    ran = run(WAYS[way]())
    assert (ran.code, ran.out) == (0, expected.out), ran.err


@pytest.mark.parametrize("ending", ["csv", "npz", "parquet", "json"])
def test_results_hold_measured_model_and_residual(ending):
    """A result has three arrays that add up, and `check` finds it the same."""
    name = f"r.{ending}"
    ran = run(csv(), "-o", name)
    assert ran.code == 0, ran.err
    result = library.read_result(name).result
    assert np.array_equal(result["tau_measured"], recorded()[0].effort)
    assert np.array_equal(result["tau_residual"], result["tau_measured"] - result["tau"])
    assert result.contract["torque"].endswith("tau_residual = tau_measured - tau")
    assert robolin("check", name).code == 0


def test_python_gives_the_same_arrays():
    """A question has the keyword, and the function the same statistics."""
    states = library.States(trajectory=csv(), time_unit="ns", differentiate="savgol:0.1")
    result = library.answer(ARM, library.Question("inverse", residual=True), states)
    assert np.abs(result["tau_residual"] - recorded()[1])[10:-10].max() < 0.1
    document = json.loads(run(csv(), "--format", "json").out)
    assert document["joints"][0]["rms"] == np.sqrt(
        np.cumsum(result["tau_residual"][:, 0] ** 2)[-1] / ROWS
    )


def test_rows_without_a_result_are_left_out():
    """A row with NaN has no residual, and counts in no statistic."""
    path = Path(csv())
    lines = path.read_text().splitlines()
    lines[50] = ",".join([*lines[50].split(",")[:-1], "nan"])
    path.write_text("\n".join(lines) + "\n")
    assert run("m.csv").code != 0
    ran = run("m.csv", "--on-bad-row", "nan", "-o", "r.npz", "--format", "json")
    assert json.loads(ran.out)["rows"] == ROWS - 1
    assert (
        np.flatnonzero(np.isnan(library.read_result("r.npz").result["tau_residual"]).any(1)) == 49
    )


def test_wrong_requests_name_the_option_that_helps():
    """Missing efforts, several outputs and single states are errors with a hint."""
    table().select(polars.exclude("elbow/effort")).write_csv("m.csv")
    ran = run("m.csv")
    assert "the column 'elbow/effort' is missing" in ran.err
    assert "--columns" in ran.err
    ran = robolin("inverse", "two-link", "--residual")
    assert "--trajectory" in ran.err
    assert run(csv(), "--limits").code == 2
    joints = library.load("four-bar").joint_names
    names = [f"{joint}/{word}" for word in ("position", "effort") for joint in joints]
    Path("loop.csv").write_text(f"{','.join(names)}\n{','.join('0' * len(names))}\n")
    ran = robolin("inverse", "four-bar", "--trajectory", "loop.csv", "--residual")
    assert "joint torques are not unique" in ran.err
    assert "--open-loops" in ran.err


def test_measured_torques_are_plotted_over_the_model():
    """A plot has two panels per joint: both torques, and the residual."""
    from robolin.display.plots.result_panels import panels_of

    assert run(csv(), "-o", "r.npz").code == 0
    panels = panels_of(library.read_result("r.npz").result)
    assert [panel.title for panel in panels] == [
        f"{name}, {joint}" for joint in JOINTS for name in ("tau", "tau_residual")
    ]
    assert [curve.name for curve in panels[0].curves] == ["measured", "model"]


@pytest.mark.slow
def test_reports_have_a_section_of_residuals():
    """A report compares measured torques with the model on request, and only then."""
    csv()
    states = library.States(trajectory="m.csv", time_unit="ns", differentiate="savgol:0.1")
    page = library.report(ARM, states=states, residual=True, verify_states=0)
    assert "The model explains" in page
    assert "Measured torques" in page
    assert "Measured torques" not in library.report(ARM, states=states, verify_states=0)


def test_bags_without_efforts_are_rejected():
    """A bag whose messages have no efforts is an error that names the missing columns."""
    pytest.importorskip("rosbags")
    topics = [("/joint_states", STATE, as_joint_states(replace(recorded()[0], effort=None), False))]
    write_bag2(Path("bag2"), recorded()[0], ".mcap", topics=topics)
    ran = run("bag2")
    assert ran.code != 0
    assert "effort" in ran.err


def test_times_since_1970_are_shown_with_milliseconds():
    """The time of the largest residual identifies its row, also if times count from 1970."""
    frame = table().with_columns(time=polars.col("time") / 1e9)
    frame.write_csv("seconds.csv")
    ran = robolin(
        *("inverse", "two-link", "--trajectory", "seconds.csv", "--format", "table", *FLAGS)
    )
    assert ran.code == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines() if line.startswith(JOINTS)]
    for cells in rows:
        row = int(next(cell for cell in cells[1:] if cell.isdecimal()))
        assert f"{frame['time'][row - 1]:.3f}" in cells


@pytest.mark.parametrize("form", ["json", "csv", "table"])
def test_several_recordings_have_one_summary(form):
    """Recordings are compared as if in one file; the largest residual names its recording."""
    for name, rows in (("all", table()), ("a", table()[:120]), ("b", table()[120:])):
        rows.write_csv(f"{name}.csv")
    words = ("inverse", "two-link", "--residual", "-q")
    one = robolin(*words, "--format", form, "--trajectory", "all.csv")
    several = (*words, "--trajectory", "a.csv", "--trajectory", "b.csv")
    ran = robolin(*several, "--format", form, "-o", "rows.csv")
    assert ran.code == 0, ran.err
    assert polars.read_csv("rows.csv").height == ROWS
    assert robolin(*several, "--format", form).out == ran.out
    if form == "table":
        assert {"a.csv", "b.csv"} & {*ran.out.split()}
        return
    if form == "csv":
        texts = (io.StringIO(each.out) for each in (one, ran))
        expected, actual = (polars.read_csv(text).to_dicts() for text in texts)
        # parts of a folder have the same summary
        assert robolin(*several, "-o", "parts/", "--part-rows", "50").out == ran.out
    else:
        expected, actual = (json.loads(each.out)["joints"] for each in (one, ran))
    for joint, of_part in zip(expected, actual, strict=True):
        start = {"a.csv": 0, "b.csv": 120}[of_part.pop("recording")]
        assert joint == {**of_part, "row": of_part["row"] + start}


def test_missing_accelerations_have_one_remedy():
    ran = robolin("inverse", "two-link", "--trajectory", csv(), "--residual")
    (line,) = [line for line in ran.err.splitlines() if "no acceleration columns" in line]
    assert line.count("--differentiate savgol") == 1
