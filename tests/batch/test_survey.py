"""A killed run resumes where it stopped: surveys of recordings and parts are kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from robolin.batch import batch_plan, parts_folder
from robolin.batch.batch_plan import Division
from robolin.batch.compute import compute_parts, computed_in_this_process
from robolin.batch.parts_folder import SURVEY_CACHE, begin, planned_in
from tests.batch.sample_recordings import (
    SIZES,
    all_recordings,
    make_plan,
    make_request,
    write_recordings,
)

FORTY = Division(40, "npz")


class Killed(BaseException):
    """Simulate a process that ends by a signal."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    write_recordings(path)
    return path


@pytest.fixture
def surveyed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The surveyed recordings; every second survey is the last of its process."""
    names: list[str] = []
    survey = batch_plan.surveyed_recording

    def killed_after_one(recording: Any, *args: Any) -> Any:
        names.append(recording.name)
        if len(names) % 2 == 0:
            raise Killed
        return survey(recording, *args)

    monkeypatch.setattr(batch_plan, "surveyed_recording", killed_after_one)
    monkeypatch.setattr(parts_folder, "_FEW", 0)
    return names


def test_a_plan_is_made_by_processes_that_look_at_one_recording_each(
    folder: Path, tmp_path: Path, surveyed: list[str]
) -> None:
    """If there is time for one recording, there is a plan in the end, and it is the same."""
    recordings, out = all_recordings(folder), tmp_path / "out"
    request, arm = make_request(recordings)
    for _ in range(len(SIZES) - 1):
        with pytest.raises(Killed):
            planned_in(out, request, arm, recordings, FORTY)
        with open(out / SURVEY_CACHE, "ab") as stream:
            # what it was killed over
            stream.write(b'0badc0de {"question": "')
    plan = planned_in(out, request, arm, recordings, FORTY)
    names = list(SIZES)
    assert surveyed == [names[0], names[1], names[1], names[2], names[2], names[3], names[3]]
    begin(out, plan, [])
    assert [path.name for path in out.iterdir()] == ["_plan.json"]


def test_surveys_of_another_question_are_repeated(
    folder: Path, tmp_path: Path, surveyed: list[str]
) -> None:
    """Another question, other parts or a changed recording invalidate kept surveys."""
    recordings, out = all_recordings(folder), tmp_path / "out"
    request, arm = make_request(recordings)
    with pytest.raises(Killed):
        planned_in(out, request, arm, recordings, FORTY)
    other, _ = make_request(recordings, gravity="0,0,-1")
    for each, division in ((request, Division(30, "npz")), (other, FORTY)):
        with pytest.raises(Killed):
            planned_in(out, each, arm, recordings, division)
    path = folder / next(iter(SIZES))
    path.write_text(path.read_text() + "0.9,0,0,0,0\n")
    with pytest.raises(Killed):
        planned_in(out, request, arm, recordings, FORTY)
    assert surveyed == [*SIZES][:2] * 4


def test_small_recordings_leave_nothing_in_the_folder(folder: Path, tmp_path: Path) -> None:
    """Quick surveys are not kept."""
    recordings = all_recordings(folder)
    planned_in(tmp_path / "out", *make_request(recordings), recordings, FORTY)
    assert not (tmp_path / "out").exists()


def test_parts_are_made_by_processes_that_make_one_each(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If there is time for one part, all are made in the end: none is checked before the last."""
    plan, request, arm = make_plan(folder)
    out = tmp_path / "out"

    def killed_after_one(jobs: list[Any]) -> Any:
        yield from computed_in_this_process(arm)(jobs[:1])
        if len(jobs) > 1:
            raise Killed

    with monkeypatch.context() as patched:
        patched.setattr("robolin.batch.compute.part_state", None)
        for _ in plan.parts[1:]:
            with pytest.raises(Killed):
                compute_parts(plan, request, arm, out, resume=True, work=killed_after_one)
    done = compute_parts(plan, request, arm, out, resume=True, work=killed_after_one)
    assert (done.written, done.skipped, done.finished) == (1, len(plan.parts) - 1, True)
