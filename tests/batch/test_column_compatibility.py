"""Columns of different types in many recordings: converted without loss, or rejected."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from robolin.batch.compute import compute_parts
from robolin.batch.joined import answered_recordings, merged_parts
from robolin.batch.survey import THE_TIME, with_fractions
from robolin.core.result import Array, Result
from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS
from robolin.io.stored import read_result
from robolin.queries.request import DEFAULT_SETTINGS
from tests.batch.sample_recordings import SIZES, all_recordings, make_plan, write_recordings
from tests.cli.command import robolin, run_ok

LARGE = (1 << 53) + 1


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    write_recordings(path)
    return path


def _with_times(path: Path, time: Callable[[int], str]) -> None:
    """Let a text have other times."""
    head, *rows = path.read_text().splitlines()
    changed = [f"{time(i)},{row.partition(',')[2]}" for i, row in enumerate(rows)]
    path.write_text("\n".join([head, *changed, ""]))


def _counted(path: Path, first: int = 0) -> None:
    """Let a recording have whole numbers as times."""
    if path.suffix == ".npz":
        arrays = dict(np.load(path))
        np.savez(path, **{**arrays, "time": first + np.arange(len(arrays["q"]))})
    else:
        _with_times(path, lambda i: str(first + i))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["run_1/b.csv", "c.npz"])
def test_integer_times_next_to_floats_become_floats(
    folder: Path, tmp_path: Path, name: str
) -> None:
    """In parts, merged and without parts the times are the same numbers, as float64."""
    _counted(folder / name)
    for part_rows in (40, None):
        plan, request, arm = make_plan(folder, part_rows)
        compute_parts(plan, request, arm, tmp_path / f"{part_rows}")
        FORMATS["npz"].write(merged_parts(tmp_path / f"{part_rows}"), tmp_path / f"{part_rows}.npz")
    result = answered_recordings(request, arm, all_recordings(folder), DEFAULT_SETTINGS)
    FORMATS["npz"].write(result, tmp_path / "whole.npz")
    assert (tmp_path / "40.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert (tmp_path / "None.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    stored = read_result(tmp_path / "whole.npz").arrays
    times = stored["time"][stored["source"] == list(SIZES).index(name)]
    assert times.dtype == np.float64
    np.testing.assert_array_equal(times, np.arange(SIZES[name]))
    # a recording with a result of its own keeps the type of its times
    alone = tmp_path / "None" / Path(name).with_suffix(".npz")
    assert read_result(alone).arrays["time"].dtype == np.int64


def test_a_column_without_a_name_is_not_the_time(tmp_path: Path) -> None:
    """Tables with an index, as pandas writes them, have a header that is empty."""
    for name, first in (("a", 0), ("b", 0.5)):
        rows = [f"{i},{first + i},{i},{i}" for i in range(3)]
        head = ",time,shoulder/position,elbow/position"
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows, ""]))
    files = [str(tmp_path / f"{name}.csv") for name in "ab"]
    words = ["mass-matrix", "two-link", *(w for file in files for w in ("--trajectory", file))]
    run_ok(*words, "--carry", "", "-o", tmp_path / "all.npz")
    stored = read_result(tmp_path / "all.npz")
    np.testing.assert_array_equal(stored.arrays["time"], [0.0, 1.0, 2.0, 0.5, 1.5, 2.5])


def test_a_part_with_converted_times_passes_check(folder: Path, tmp_path: Path) -> None:
    """`check` reproduces the numbers of such a part."""
    _counted(folder / "run_1" / "b.csv")
    compute_parts(*make_plan(folder), tmp_path / "out")
    checked = robolin("check", tmp_path / "out" / "part-00003.npz", "--root", folder / "run_1")
    assert checked.code == 0, checked.err + checked.out


@pytest.mark.parametrize("name", ["run_1/b.csv", "c.npz"])
def test_times_that_would_be_rounded_are_rejected(folder: Path, tmp_path: Path, name: str) -> None:
    """A whole number that no float64 is becomes none, and the parts of others are right."""
    _counted(folder / name, LARGE)
    plan, request, arm = make_plan(folder)
    with pytest.raises(RobolinError, match=f"time {LARGE} would be rounded") as refused:
        compute_parts(plan, request, arm, tmp_path / "out")
    assert name in str(refused.value)
    with pytest.raises(RobolinError, match=f"time {LARGE} would be rounded"):
        for _ in answered_recordings(request, arm, all_recordings(folder), DEFAULT_SETTINGS).parts:
            pass


@pytest.mark.parametrize("value", [LARGE, -LARGE, (1 << 63) - 1])
@pytest.mark.parametrize("what", ["time", "'grip'"])
def test_one_rounded_number_is_enough(value: int, what: str) -> None:
    """A column of whole numbers, one of which no float64 equals, is rejected with that number."""
    values = np.array([1, 2, value, 4], dtype=np.int64)
    counts = np.arange(4)
    time, grip = (values, counts) if what == "time" else (counts, values)
    part = Result("inverse", (Array("grip", grip, (), "1"),), (), {}, {}, {}, time=time)
    with pytest.raises(RobolinError, match=f"{what} {value} would be rounded") as refused:
        list(with_fractions([part], {THE_TIME, "grip"}, "run.csv"))
    assert refused.value.where == "run.csv"
    kept = next(iter(with_fractions([part], {"grip"} if what == "time" else {THE_TIME}, "run.csv")))
    assert values is (kept.time if what == "time" else kept.arrays[0].values)


def test_dates_mixed_with_numbers_are_rejected_early(folder: Path) -> None:
    """Times that do not fit into one table are reported with their file, before computing."""
    path = folder / "run_1" / "b.csv"
    _with_times(path, lambda i: f"2026-01-01T00:00:{i:02}")
    message = (
        r"has dates \(resolution s\) in the time column, but 'run_1/a\.csv' has numbers in the"
    )
    with pytest.raises(RobolinError, match=message):
        make_plan(folder)
    # without numbered parts each recording has a result of its own, whose type may differ
    _, request, arm = make_plan(folder, None)
    with pytest.raises(RobolinError, match=message) as refused:
        answered_recordings(request, arm, all_recordings(folder), DEFAULT_SETTINGS)
    assert refused.value.where == str(path)


def _with_column(path: Path, cell: Callable[[int], str]) -> None:
    head, *rows = path.read_text().splitlines()
    changed = [f"{row},{cell(i)}" for i, row in enumerate(rows)]
    path.write_text("\n".join([f"{head},grip", *changed, ""]))


@pytest.mark.slow
def test_passthrough_columns_get_a_common_type(folder: Path, tmp_path: Path) -> None:
    """A column with integers in one recording and floats in another is float in all parts."""
    (folder / "c.npz").unlink()
    _with_column(folder / "run_1" / "a.csv", str)
    _with_column(folder / "run_1" / "b.csv", lambda i: f"{i}.5")
    _with_column(folder / "run_2" / "a.csv", str)
    sources = ["--trajectory", folder / "run_1", "--trajectory", folder / "run_2"]
    ask = ["inverse", "two-link", *sources, "--carry", "grip"]
    assert robolin(*ask, "-o", tmp_path / "plain.npz").code == 0
    done = robolin(*ask, "-o", tmp_path / "out", "--part-rows", "40")
    assert done.code == 0, done.err
    assert robolin("merge", tmp_path / "out", "-o", tmp_path / "merged.npz").code == 0
    assert (tmp_path / "merged.npz").read_bytes() == (tmp_path / "plain.npz").read_bytes()
    assert read_result(tmp_path / "merged.npz").arrays["grip"].dtype == np.float64
