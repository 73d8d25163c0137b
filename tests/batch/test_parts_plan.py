"""What a plan is made of, and what its id depends on."""

from __future__ import annotations

import os
import pickle
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from robolin.batch.batch_plan import Division, planned_parts
from robolin.batch.part_job import part_jobs
from robolin.batch.plan_file import read_plan, require_same_plan, write_plan
from robolin.errors import RobolinError, UsageError
from robolin.queries.query_context import DEFAULT_SETTINGS
from tests.batch.some_recordings import ROWS, SIZES, all_of, plan_of, question, write_recordings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "logs"
    write_recordings(place)
    return place


def test_parts_have_every_row_once(folder: Path) -> None:
    """All rows of all recordings stand in the parts, in order, none of them twice."""
    plan, _, _ = plan_of(folder)
    rows: dict[int, list[int]] = {}
    for part in plan.parts:
        first, stop = map(int, (part.rows or "").split(":"))
        rows.setdefault(part.source, []).extend(range(first, stop))
    assert [rows[i] for i in range(len(SIZES))] == [list(range(n)) for n in SIZES.values()]
    assert [part.name for part in plan.parts] == [f"part-{i:05}.npz" for i in range(8)]


def test_chosen_rows_are_divided_as_they_are_answered(folder: Path) -> None:
    """With --rows and --stride a part has so many rows of the answer."""
    plan, _, _ = plan_of(folder, 5, rows="3:51", stride=4)
    found = [part.rows for part in plan.parts if part.source == 0]
    assert found == ["3:23", "23:43", "43:51"]


def test_the_id_is_that_of_what_is_asked(folder: Path, tmp_path: Path) -> None:
    """Where files lie and when they were written is no part of it; all else is."""
    plan, _, _ = plan_of(folder)
    moved = tmp_path / "elsewhere"
    shutil.copytree(folder, moved)
    os.utime(moved / "c.npz", (1, 1))
    assert plan_of(moved)[0].id == plan.id
    others = [
        plan_of(folder, 41)[0],
        plan_of(folder, rows="1:")[0],
        plan_of(folder, gravity="0,0,-1")[0],
        replace(plan, version="0.0.0"),
        replace(plan, sources=(replace(plan.sources[0], sha256="0" * 64), *plan.sources[1:])),
    ]
    assert len({plan.id, *(other.id for other in others)}) == len(others) + 1


def test_a_plan_comes_back_from_its_file(folder: Path, tmp_path: Path) -> None:
    """What was written is read, and what was changed in it is noticed."""
    plan, _, _ = plan_of(folder)
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


def test_what_tells_plans_apart_is_said(folder: Path) -> None:
    """Whoever brings another plan is told what is different."""
    plan, _, _ = plan_of(folder)
    for other, words in (
        (plan_of(folder, gravity="0,0,-1")[0], "gravity"),
        (plan_of(folder, 41)[0], "divided"),
        (replace(plan, version="0.0.0"), r"0\.0\.0"),
        (replace(plan, sources=plan.sources[:-1]), r"c\.npz"),
    ):
        with pytest.raises(RobolinError, match=words):
            require_same_plan(folder, plan, other)


def test_what_was_looked_at_is_not_read_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A recording that looks as it did is taken as known."""
    plan, inquiry, arm = plan_of(folder)
    looked: list[str] = []

    def look(recording: object, *_: object) -> object:
        looked.append(recording.name)  # type: ignore[attr-defined]
        return next(each for each in plan.sources if each.name == looked[-1])

    monkeypatch.setattr("robolin.batch.batch_plan.surveyed_recording", look)
    os.utime(folder / "c.npz", (1, 1))
    again = planned_parts(inquiry, arm, all_of(folder), Division(40, "npz"), plan.sources)
    assert looked == ["c.npz"]
    assert again.id == plan.id


def test_jobs_can_be_sent(folder: Path) -> None:
    """A job is plain data that another process gets whole, with two marks at most."""
    plan, inquiry, arm = plan_of(folder)
    jobs = part_jobs(plan, inquiry, arm, folder, DEFAULT_SETTINGS)
    for job, back in zip(jobs, pickle.loads(pickle.dumps(jobs)), strict=True):
        assert back.question == job.question
        assert back.states.options == job.states.options
        assert (back.source, back.target) == (job.source, job.target)
        assert len(job.source.marks) <= 2


def test_what_answers_for_all_rows_is_not_divided(folder: Path) -> None:
    """A gain along a whole motion has no parts."""
    from robolin.queries.request import request_from_options

    found = all_of(folder)
    options = {"time-varying": True, "dt": "0.0078125", "trajectory": found[0].path}
    inquiry = request_from_options("lqr", "two-link", options)
    with pytest.raises(UsageError, match="time-varying"):
        planned_parts(inquiry, inquiry.source.arm(), found, Division(10))


def test_names_that_would_meet_are_refused(folder: Path) -> None:
    """Two recordings do not become one file."""
    shutil.copy(folder / "c.npz", folder / "run_1" / "a.npz")
    found = all_of(folder)
    with pytest.raises(UsageError, match=r"a\.npz"):
        planned_parts(*question(found), found, Division(None, "npz"))


def test_every_recording_that_cannot_be_read_is_named(folder: Path) -> None:
    """Before hours of work, all recordings are known to have the columns they need."""
    for name in ("run_1/a.csv", "run_2/a.csv"):
        (folder / name).write_text("time,other\n0,1\n")
    with pytest.raises(RobolinError) as refused:
        plan_of(folder)
    told = str(refused.value)
    assert "run_1/a.csv" in told
    assert "run_2/a.csv" in told


def test_all_rows_are_counted(folder: Path) -> None:
    """A plan knows how many rows there are."""
    plan, _, _ = plan_of(folder)
    assert sum(each.rows or 0 for each in plan.sources) == ROWS


def test_a_recording_without_time_is_refused_beside_others(folder: Path) -> None:
    """Parts with and without times would never make one table."""
    path = folder / "run_2/a.csv"
    lines = [line.partition(",")[2] for line in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(RobolinError, match=r"has no time, 'run_1/a\.csv' has numbers as times"):
        plan_of(folder)
