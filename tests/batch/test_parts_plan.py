"""The contents of a plan, and the inputs of its id."""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from robolin.batch.batch_plan import Division, planned_parts
from robolin.batch.compute import part_jobs
from robolin.batch.parts_folder import read_plan, require_same_plan, write_plan
from robolin.errors import RobolinError, UsageError
from robolin.queries.request import DEFAULT_SETTINGS
from tests.batch.sample_recordings import (
    ROWS,
    SIZES,
    all_recordings,
    make_plan,
    make_request,
    write_recordings,
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    write_recordings(path)
    return path


def test_parts_have_every_row_once(folder: Path) -> None:
    """The parts contain all rows of all recordings, in order and once."""
    plan, _, _ = make_plan(folder)
    rows: dict[int, list[int]] = {}
    for part in plan.parts:
        first, stop = map(int, (part.rows or "").split(":"))
        rows.setdefault(part.source, []).extend(range(first, stop))
    assert [rows[i] for i in range(len(SIZES))] == [list(range(n)) for n in SIZES.values()]
    assert [part.name for part in plan.parts] == [f"part-{i:05}.npz" for i in range(8)]


def test_selected_rows_are_divided(folder: Path) -> None:
    """With --rows and --stride, the size of a part counts selected rows."""
    plan, _, _ = make_plan(folder, 5, rows="3:51", stride=4)
    ranges = [part.rows for part in plan.parts if part.source == 0]
    assert ranges == ["3:23", "23:43", "43:51"]


def test_the_id_depends_on_the_request(folder: Path, tmp_path: Path) -> None:
    """The id does not depend on the location and time of files; it depends on all else."""
    plan, _, _ = make_plan(folder)
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder, moved)
    os.utime(moved / "c.npz", (1, 1))
    assert make_plan(moved)[0].id == plan.id
    others = [
        make_plan(folder, 41)[0],
        make_plan(folder, rows="1:")[0],
        make_plan(folder, gravity="0,0,-1")[0],
        replace(plan, version="0.0.0"),
        replace(plan, sources=(replace(plan.sources[0], sha256="0" * 64), *plan.sources[1:])),
    ]
    assert len({plan.id, *(other.id for other in others)}) == len(others) + 1


def test_a_plan_is_read_from_its_file(folder: Path, tmp_path: Path) -> None:
    """A written plan is read back, and edits are noticed."""
    plan, _, _ = make_plan(folder)
    write_plan(tmp_path, plan)
    assert read_plan(tmp_path) == plan
    path = tmp_path / "_plan.json"
    text = path.read_text()
    for damage in (text[:-40], text.replace("part-00003", "part-00033"), "[]", '{"format": 3}'):
        path.write_text(damage)
        with pytest.raises(RobolinError, match="damaged"):
            read_plan(tmp_path)
    path.unlink()
    assert read_plan(tmp_path) is None


def test_the_difference_of_plans_is_reported(folder: Path) -> None:
    """The error for another plan names the difference."""
    plan, _, _ = make_plan(folder)
    for other, words in (
        (make_plan(folder, gravity="0,0,-1")[0], "gravity"),
        (
            make_plan(folder, 41)[0],
            "the folder has parts of another plan: the division of the recordings into parts "
            "has changed",
        ),
        (replace(plan, version="0.0.0"), r"0\.0\.0"),
        (replace(plan, sources=plan.sources[:-1]), r"c\.npz"),
    ):
        with pytest.raises(RobolinError, match=words):
            require_same_plan(folder, plan, other)


def test_unchanged_recordings_are_not_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording with the same size and time is not read again."""
    plan, request, arm = make_plan(folder)
    surveyed: list[str] = []

    def look(recording: object, *_: object) -> object:
        surveyed.append(recording.name)  # type: ignore[attr-defined]
        return next(each for each in plan.sources if each.name == surveyed[-1])

    monkeypatch.setattr("robolin.batch.batch_plan.surveyed_recording", look)
    os.utime(folder / "c.npz", (1, 1))
    again = planned_parts(request, arm, all_recordings(folder), Division(40, "npz"), plan.sources)
    assert surveyed == ["c.npz"]
    assert again.id == plan.id


def test_jobs_can_be_sent(folder: Path) -> None:
    """A job is plain data that another process gets whole, with two marks at most."""
    plan, request, arm = make_plan(folder)
    jobs = part_jobs(plan, request, arm, folder, DEFAULT_SETTINGS)
    for job, back in zip(jobs, pickle.loads(pickle.dumps(jobs)), strict=True):
        assert back.question == job.question
        assert back.states.options == job.states.options
        assert (back.source, back.target) == (job.source, job.target)
        assert len(job.source.marks) <= 2


def test_results_over_all_rows_are_not_divided(folder: Path) -> None:
    """A gain along a whole motion has no parts."""
    from robolin.queries.request import request_from_options

    recordings = all_recordings(folder)
    options = {"time-varying": True, "dt": "0.0078125", "trajectory": recordings[0].path}
    request = request_from_options("lqr", "two-link", options)
    with pytest.raises(UsageError, match="time-varying"):
        planned_parts(request, request.source.arm(), recordings, Division(10))


def test_colliding_names_are_rejected(folder: Path) -> None:
    """Two recordings do not become one file."""
    shutil.copy(folder / "c.npz", folder / "run_1" / "a.npz")
    recordings = all_recordings(folder)
    with pytest.raises(
        UsageError, match=r"-o: 2 recordings would have the same result file 'run_1/a\.npz'"
    ):
        planned_parts(*make_request(recordings), recordings, Division(None, "npz"))


def test_every_recording_that_cannot_be_read_is_named(folder: Path) -> None:
    """All recordings are checked for the required columns before any computation."""
    for name in ("run_1/a.csv", "run_2/a.csv"):
        (folder / name).write_text("time,other\n0,1\n")
    with pytest.raises(RobolinError) as caught:
        make_plan(folder)
    message = str(caught.value)
    assert "run_1/a.csv" in message
    assert "run_2/a.csv" in message


def test_all_rows_are_counted(folder: Path) -> None:
    """A plan has the total number of rows."""
    plan, _, _ = make_plan(folder)
    assert sum(each.rows or 0 for each in plan.sources) == ROWS


def test_a_recording_without_time_is_rejected_among_others(folder: Path) -> None:
    """Parts with and without times would never make one table."""
    path = folder / "run_2/a.csv"
    lines = [line.partition(",")[2] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    message = r"has no time column, but 'run_1/a\.csv' has numbers in the time column"
    with pytest.raises(RobolinError, match=message):
        make_plan(folder)
