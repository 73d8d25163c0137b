"""Parts are complete or absent, bit-identical for any division of work, and can be merged."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from robolin.batch.batch_plan import Division, planned_parts
from robolin.batch.compute import compute_part, compute_parts, part_jobs
from robolin.batch.joined import answered_recordings, merged_parts
from robolin.batch.parts_folder import Shard, part_states, plan_in, remaining_by_shard, shard
from robolin.description.robot_source import bundled_path
from robolin.errors import RobolinError
from robolin.io.format_table import FORMATS
from robolin.io.stored import read_result
from robolin.queries.request import Settings
from tests.batch.sample_recordings import ROWS, SIZES, all_recordings, make_plan, write_recordings
from tests.cli.command import robolin

QUIET = Settings()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "logs"
    write_recordings(path)
    return path


def _bytes(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "_plan.json"
    }


def _states(folder: Path) -> list[str]:
    return [each.state for each in part_states(folder, plan_in(folder))]


@pytest.fixture
def single(folder: Path, tmp_path: Path) -> dict[str, bytes]:
    """The files of one run by one process."""
    plan, request, arm = make_plan(folder)
    done = compute_parts(plan, request, arm, tmp_path / "single")
    assert done.finished
    assert (done.written, done.rows) == (8, ROWS)
    return _bytes(tmp_path / "single")


@pytest.mark.slow
def test_shards_make_the_files_of_one_run(
    folder: Path, tmp_path: Path, single: dict[str, bytes]
) -> None:
    """The bytes do not depend on shards, their order or repetitions."""
    plan, request, arm = make_plan(folder)
    out = tmp_path / "shards"
    for number in (3, 1, 1, 2):
        done = compute_parts(plan, request, arm, out, shard=Shard(number, 3))
        assert done.finished == (number == 2)
    assert _bytes(out) == single
    settings = Settings(jobs=2, chunk_rows=3)
    compute_parts(plan, request, arm, tmp_path / "chunks", settings=settings)
    assert _bytes(tmp_path / "chunks") == single


def test_resume_computes_the_remaining_parts(
    folder: Path, tmp_path: Path, single: dict[str, bytes]
) -> None:
    """Missing, damaged and foreign parts are computed, all others are left."""
    out = tmp_path / "single"
    other, request, arm = make_plan(folder, 20)
    compute_parts(other, request, arm, tmp_path / "other")
    plan, request, arm = make_plan(folder)
    kept = {name: (out / name).stat().st_mtime_ns for name in single}
    (out / "part-00001.npz").unlink()
    (out / "part-00003.npz").write_bytes(single["part-00003.npz"][:-100])
    shutil.copy(tmp_path / "other" / "part-00005.npz", out)
    assert _states(out) == [
        *("done", "missing", "done", "damaged", "done"),
        *("of another plan", "done", "done"),
    ]
    assert remaining_by_shard(part_states(out, plan), 4) == {2: 2, 4: 1}
    messages: list[str] = []
    settings = Settings(notify=lambda _, text: messages.append(text))
    done = compute_parts(plan, request, arm, out, resume=True, settings=settings)
    assert (done.written, done.skipped) == (3, 5)
    assert any("part-00003.npz: damaged" in text for text in messages)
    assert _bytes(out) == single
    left = {name for name in kept if (out / name).stat().st_mtime_ns != kept[name]}
    assert left == {"part-00001.npz", "part-00003.npz", "part-00005.npz"}


def test_a_folder_that_is_finished_is_not_written_to(
    folder: Path, tmp_path: Path, single: dict[str, bytes]
) -> None:
    """Nothing is left to do, so that nothing is made there, not even for a moment."""
    out = tmp_path / "single"
    plan, request, arm = make_plan(folder)
    # a file that is put in place of another, or removed again, changes the folder's time
    before = {path: path.stat().st_mtime_ns for path in (out, *out.iterdir())}
    assert compute_parts(plan, request, arm, out, resume=True).finished
    assert {path: path.stat().st_mtime_ns for path in (out, *out.iterdir())} == before


def test_a_part_that_cannot_be_read_hides_no_other(
    folder: Path, tmp_path: Path, single: dict[str, bytes]
) -> None:
    """It is damaged with a reason; a resumed run names it and computes the others."""
    out = tmp_path / "single"
    plan, request, arm = make_plan(folder)
    (out / "part-00001.npz").unlink()
    (out / "part-00003.npz").unlink()
    (out / "part-00003.npz").mkdir()
    states = part_states(out, plan)
    assert [each.state for each in states].count("done") == 6
    assert (states[3].state, states[3].why) == ("damaged", "could not read: Is a directory")
    with pytest.raises(RobolinError, match=r"1 part is damaged: 'part-00003\.npz'"):
        merged_parts(out)
    with pytest.raises(RobolinError, match=r"part-00003\.npz"):
        compute_parts(plan, request, arm, out, resume=True)
    (out / "part-00003.npz").rmdir()
    done = compute_parts(plan, request, arm, out, resume=True)
    assert (done.written, done.skipped, _bytes(out)) == (1, 7, single)


@pytest.mark.slow
def test_numbers_that_were_changed_show_in_a_thorough_look(folder: Path, tmp_path: Path) -> None:
    """A CSV part that lost its last rows is damaged."""
    _, request, arm = make_plan(folder, None)
    plan = planned_parts(request, arm, all_recordings(folder), Division(None, "csv"))
    out = tmp_path / "out"
    compute_parts(plan, request, arm, out)
    assert {*_states(out)} == {"done"}
    path = out / "run_1" / "a.csv"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    assert _states(out)[0] == "damaged"


def test_parts_add_up_to_the_result_without_them(folder: Path, tmp_path: Path) -> None:
    """A merged result has the bytes of the result of the same question without parts."""
    for part_rows in (40, None):
        plan, request, arm = make_plan(folder, part_rows)
        out = tmp_path / f"parts_{part_rows}"
        compute_parts(plan, request, arm, out)
        FORMATS["npz"].write(merged_parts(out), tmp_path / f"{part_rows}.npz")
    result = answered_recordings(request, arm, all_recordings(folder), QUIET)
    FORMATS["npz"].write(result, tmp_path / "whole.npz")
    assert (tmp_path / "40.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    assert (tmp_path / "None.npz").read_bytes() == (tmp_path / "whole.npz").read_bytes()
    stored = read_result(tmp_path / "whole.npz")
    assert stored.meta["contract"]["sources"] == SIZES
    # inputs have base names, except two files with the same base name
    inputs = {"run_1/a.csv", "run_2/a.csv", "b.csv", "c.npz", "two-link"}
    assert set(stored.meta["inputs"]) == inputs
    counts = np.repeat(np.arange(len(SIZES)), list(SIZES.values()))
    np.testing.assert_array_equal(stored.arrays["source"], counts)


def test_incomplete_parts_are_not_merged(folder: Path, tmp_path: Path) -> None:
    """Missing and damaged parts are named, with one hint for all."""
    plan, request, arm = make_plan(folder)
    out = tmp_path / "out"
    compute_parts(plan, request, arm, out, shard=Shard(1, 2))
    (out / "part-00002.npz").write_bytes(b"PK")
    with pytest.raises(RobolinError) as caught:
        merged_parts(out)
    message = str(caught.value)
    assert "4 parts are missing: 'part-00001.npz', 'part-00003.npz'" in message
    assert "1 part is damaged: 'part-00002.npz' (" in message
    assert message.count("hint:") == 1
    assert not (out / "_robolin.json").exists()


@pytest.mark.slow
def test_another_plan_is_rejected(folder: Path, tmp_path: Path) -> None:
    """Parts of two plans are never in one folder."""
    compute_parts(*make_plan(folder), tmp_path / "out")
    before = _bytes(tmp_path / "out")
    with pytest.raises(RobolinError, match="another plan"):
        compute_parts(*make_plan(folder, 30), tmp_path / "out")
    assert _bytes(tmp_path / "out") == before


def test_a_recording_that_was_changed_is_named(folder: Path, tmp_path: Path) -> None:
    """No part is written of a changed or missing recording; all others are written."""
    plan, request, arm = make_plan(folder)
    path = folder / "run_1" / "b.csv"
    path.write_text(path.read_text() + "0.5,0,0,0,0\n")
    (folder / "c.npz").unlink()
    with pytest.raises(RobolinError) as caught:
        compute_parts(plan, request, arm, tmp_path / "out")
    message = str(caught.value)
    assert "run_1/b.csv: the recording was changed after planning" in message
    assert "c.npz: no such file" in message
    assert _states(tmp_path / "out").count("done") == 5


def test_a_recording_that_changes_meanwhile_leaves_no_part(folder: Path, tmp_path: Path) -> None:
    """Data read from a file while it is written is discarded."""
    plan, request, arm = make_plan(folder)
    job = part_jobs(plan, request, arm, tmp_path, QUIET)[0]
    text = Path(job.source.path).read_text()

    def change(_: str, __: str) -> None:
        Path(job.source.path).write_text(text + "0.5,0,0,0,0\n")

    from robolin.batch import compute

    with pytest.raises(RobolinError, match="changed"):
        compute._written(job, arm, change)
    assert not Path(job.target).exists()


@pytest.mark.slow
def test_a_file_that_was_touched_is_the_same(folder: Path, tmp_path: Path) -> None:
    """Another time of writing alone changes nothing."""
    plan, request, arm = make_plan(folder)
    for name in SIZES:
        os.utime(folder / name, (5, 5))
    assert compute_parts(plan, request, arm, tmp_path / "out").finished


def test_jobs_of_another_version_or_arm_are_rejected(folder: Path, tmp_path: Path) -> None:
    """Another version, another arm and a missing arm are reported, and leave no file."""
    from dataclasses import replace

    plan, request, arm = make_plan(folder)
    job = part_jobs(plan, request, arm, tmp_path, QUIET)[0]
    gone = replace(job.loads, path=str(tmp_path / "gone.urdf"))
    for wrong, words in (
        (replace(job, version="9.9"), "the plan requires robolin 9.9"),
        (replace(job, arm_digest="0" * 64), "differs from the robot file of the plan"),
        (replace(job, loads=gone), "gone.urdf"),
    ):
        done = compute_part(wrong)
        assert words in str(done.error)
    assert not Path(job.target).exists()


def test_what_others_left_is_removed(folder: Path, tmp_path: Path) -> None:
    """A file that a process which is gone was writing is gone after the next run."""
    out = tmp_path / "out"
    out.mkdir()
    (out / ".robolin-0123456789abcdef.part").write_bytes(b"half")
    compute_parts(*make_plan(folder), out)
    assert not list(out.glob(".robolin-*"))


def test_a_part_that_links_to_a_recording_is_rejected(folder: Path, tmp_path: Path) -> None:
    """A link in the folder of parts does not let a recording be overwritten."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "part-00002.npz").symlink_to(folder / "c.npz")
    with pytest.raises(RobolinError, match="must not be the input"):
        compute_parts(*make_plan(folder), out)


INPUTS = {
    "provenance of a recording": "logs/run_1/a.csv.meta.json",
    "the arm": "arm.yaml",
}


@pytest.mark.parametrize("link", ["symbolic", "hard"])
@pytest.mark.parametrize("name", INPUTS.values(), ids=INPUTS)
def test_a_part_that_links_to_another_input_is_rejected(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, link: str
) -> None:
    """A link in the folder of parts overwrites neither provenance nor the arm's file."""
    monkeypatch.chdir(tmp_path)
    bundled = bundled_path("two-link")
    assert bundled is not None
    Path("arm.yaml").write_bytes(bundled.read_bytes())
    Path("logs/run_1/a.csv.meta.json").write_text("{}")
    before = Path(name).read_bytes()
    Path("out").mkdir()
    part = Path("out/part-00002.npz")
    part.symlink_to(tmp_path / name) if link == "symbolic" else part.hardlink_to(name)
    ask = ["inverse", "arm.yaml", "--trajectory", "logs/run_*", "--part-rows=40", "--format=npz"]
    for ran in (robolin(*ask, "-o", "out"), robolin("plan", *ask, "-o", "out")):
        assert ran.code == 2, ran.err
        assert "the output must not be the input" in ran.err
    assert Path(name).read_bytes() == before


@pytest.mark.parametrize(
    ("text", "words"),
    [
        *((text, "must have the form NUMBER/COUNT") for text in ("3", "a/b", "-1/3")),
        ("0/3", "NUMBER must be from 1 to 3, got 0"),
        ("4/3", "NUMBER must be from 1 to 3, got 4"),
        ("1/0", "COUNT must be ≥ 1"),
    ],
)
def test_invalid_shards_are_rejected(text: str, words: str) -> None:
    """A shard is NUMBER/COUNT."""
    with pytest.raises(RobolinError, match=words) as refused:
        shard(text)
    assert refused.value.where == f"--shard={text}"
