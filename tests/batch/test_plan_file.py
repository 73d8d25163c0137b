"""A plan and a survey that were damaged or edited are rejected or ignored, never used."""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from robolin.batch import parts_folder, survey
from robolin.batch.batch_plan import Division
from robolin.batch.compute import compute_parts
from robolin.batch.joined import merged_parts
from robolin.batch.parts_folder import (
    PLAN,
    SURVEY_CACHE,
    part_states,
    plan_in,
    planned_in,
    read_plan,
)
from robolin.errors import RobolinError
from robolin.io.provenance import with_checksum
from robolin.io.trajectories.read import open_trajectory
from robolin.io.trajectories.read_options import ReadOptions
from tests.batch.sample_recordings import all_recordings, make_plan, make_request, write_recordings
from tests.cli.command import robolin
from tests.io.file_damage import mutated

FORTY = Division(40, "npz")
# values to substitute for others
OTHERS: tuple[Any, ...] = (None, True, -1, 0, 1.5, 10**30, "", "\udcff", "../x.npz", [], {}, [[]])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Recordings in `logs` and the parts of a plan about them in `out`."""
    folder = tmp_path_factory.mktemp("plan")
    write_recordings(folder / "logs")
    plan, request, arm = make_plan(folder / "logs")
    compute_parts(plan, request, arm, folder / "out")
    return folder


@pytest.fixture
def out(made: Path) -> Iterator[Path]:
    """The folder of parts, whose plan is put back after the test."""
    text = (made / "out" / PLAN).read_bytes()
    yield made / "out"
    (made / "out" / PLAN).write_bytes(text)


def leaves(value: Any, outer: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value, lists and mappings included; of long lists the first entries."""
    yield outer
    keys = list(value) if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = list(range(len(value)))
    for key in keys[:12]:
        yield from leaves(value[key], (*outer, key))


def changed(document: Any, keys: tuple[Any, ...], value: Any) -> Any:
    """A copy with another value in one place."""
    if not keys:
        return value
    edited = copy.deepcopy(document)
    inside = edited
    for key in keys[:-1]:
        inside = inside[key]
    inside[keys[-1]] = value
    return edited


def written(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document), encoding="utf-8")


@pytest.mark.slow
def test_every_edit_of_a_plan_is_noticed(out: Path) -> None:
    """For every single edited value, status, merge and --resume reject the plan."""
    document = json.loads((out / PLAN).read_text())
    for keys in leaves(document):
        for value in OTHERS:
            edited = changed(document, keys, value)
            if json.dumps(edited) == json.dumps(document):
                continue
            written(out / PLAN, edited)
            with pytest.raises(RobolinError):
                read_plan(out)


def test_a_byte_offset_that_was_edited_gives_no_torque(made: Path, out: Path) -> None:
    """One byte offset changed: exit code 3 from every command, and the parts stay as they were."""
    document = json.loads((out / PLAN).read_text())
    document["sources"][0]["marks"][1][2] += 1
    written(out / PLAN, document)
    (out / "part-00001.npz").rename(out / "kept")
    logs = ["--trajectory", f"{made}/logs/run_*", "--trajectory", f"{made}/logs/c.npz"]
    parts = ["-o", f"{out}/", "--part-rows", "40", "--format", "npz", "--resume"]
    for command in (
        ["inverse", "two-link", *logs, *parts],
        ["status", out],
        ["merge", out, "-o", made / "all.npz"],
    ):
        ran = robolin(*command)
        assert (ran.code, ran.out) == (3, ""), ran.err
        assert "_plan.json: the file is not a plan, or is damaged" in ran.err
        assert "hint: remove the file" in ran.err
    assert not (out / "part-00001.npz").exists()
    (out / "kept").rename(out / "part-00001.npz")


@pytest.mark.slow
def test_an_edited_plan_that_is_sealed_again_is_no_bug(out: Path) -> None:
    """With the seal of the edit, a plan is rejected, or used without an exception of ours."""
    document = json.loads((out / PLAN).read_text())
    used = 0
    for index, keys in enumerate(leaves(document)):
        # three values in turn: neighbours are of the same kind
        for value in OTHERS[index % 4 :: 4]:
            edited = changed(document, keys, value)
            if not isinstance(edited, dict):
                continue
            try:
                written(out / PLAN, with_checksum(edited))
                states = part_states(out, plan_in(out))
                assert len(states) == len(document["parts"])
                for _ in merged_parts(out).parts:
                    pass
                used += 1
            except RobolinError:
                pass
    # size, stamp, rows and marks decide no number that is stored already
    assert used > 0


def test_damaged_bytes_of_a_plan_are_noticed(out: Path) -> None:
    """Cut short, with flipped bits or with pieces lost, a plan is rejected or is the same."""
    data, rng = (out / PLAN).read_bytes(), random.Random(26)
    other, plan = data.replace(b"part-0", b"part-1"), read_plan(out)
    for _ in range(400):
        (out / PLAN).write_bytes(mutated(data, other, rng))
        with suppress(RobolinError):
            assert read_plan(out) == plan


def test_a_plan_that_names_files_elsewhere_is_rejected(out: Path) -> None:
    """No part of a plan is outside its folder."""
    document = json.loads((out / PLAN).read_text())
    for name in ("../x.npz", "/tmp/x.npz", "a/../../x.npz", "x.exe", "x\0.npz"):
        written(out / PLAN, with_checksum(changed(document, ("parts", 0, 0), name)))
        with pytest.raises(RobolinError, match="the file is not a plan, or is damaged"):
            read_plan(out)


def test_a_plan_of_another_format_is_named(out: Path) -> None:
    """The message has the format, and the hint says how to continue."""
    document = json.loads((out / PLAN).read_text())
    written(out / PLAN, {**document, "format": 2})
    with pytest.raises(
        RobolinError, match="plan format 2 is not supported; this robolin reads format 3"
    ) as caught:
        read_plan(out)
    assert caught.value.hint.startswith("remove the file")


@pytest.mark.slow
def test_a_damaged_survey_is_ignored(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Edited, cut or re-sealed lines of a survey change no plan, and are no bug."""
    monkeypatch.setattr(parts_folder, "_FEW", 0)
    recordings = all_recordings(made / "logs")
    request, arm = make_request(recordings)
    plan = planned_in(tmp_path, request, arm, recordings, FORTY)
    path = tmp_path / SURVEY_CACHE
    data, rng = path.read_bytes(), random.Random(14)
    lines = [json.loads(line) for line in data.splitlines() if line]
    assert len(lines) == len(recordings)

    def plan_again() -> Any:
        return planned_in(tmp_path, request, arm, recordings, FORTY)

    for _ in range(40):
        path.write_bytes(mutated(data, data[::-1], rng))
        assert plan_again() == plan
    edits = [("recording", "marks", 0, 2), ("recording", "rows"), ("recording",), ("question",)]
    for keys in edits:
        for value in OTHERS:
            written(path, changed(lines[0], keys, value))
            assert plan_again() == plan
    for value in OTHERS:
        # with its own seal, but not what a survey has
        written(path, with_checksum(changed(lines[0], ("recording", "marks"), value)))
        plan_again()


@pytest.mark.parametrize("name", ["run_1/a.csv", "c.npz"])
def test_a_recording_changed_with_its_time_kept_is_noticed(tmp_path: Path, name: str) -> None:
    """A recording of the same size and time, but with other numbers, is another recording."""
    write_recordings(tmp_path / "logs")
    plan, request, arm = make_plan(tmp_path / "logs")
    path = tmp_path / "logs" / name
    before = path.stat()
    if path.suffix == ".csv":
        text = path.read_text()
        path.write_text(text[:-2] + ("1" if text[-2] != "1" else "2") + text[-1])
    else:
        with np.load(path) as held:
            arrays = dict(held)
        arrays["q"][0, 0] += 0.25
        np.savez(path, **arrays)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    with pytest.raises(RobolinError, match="the recording was changed after planning"):
        compute_parts(plan, request, arm, tmp_path / "out")
    again = planned_in(tmp_path / "other", request, arm, all_recordings(tmp_path / "logs"), FORTY)
    assert again.id != plan.id


def test_a_copy_with_the_same_bytes_is_the_same_recording(tmp_path: Path) -> None:
    """A file that was replaced by a copy of itself has other stamps, and its parts are made."""
    write_recordings(tmp_path / "logs")
    plan, request, arm = make_plan(tmp_path / "logs")
    for path in (tmp_path / "logs").rglob("*.*"):
        data = path.read_bytes()
        path.unlink()
        path.write_bytes(data)
    done = compute_parts(plan, request, arm, tmp_path / "out")
    assert done.written == len(plan.parts)


@pytest.mark.slow
def test_a_mark_within_a_line_is_rejected(tmp_path: Path) -> None:
    """Rows are read from a mark only if a line begins there."""
    write_recordings(tmp_path / "logs")
    plan, request, arm = make_plan(tmp_path / "logs")
    first = plan.sources[0]
    for number, moved in ((1, -1), (1, 1), (2, -7), (2, 7)):
        marks = list(first.marks)
        marks[number] = replace(marks[number], byte=marks[number].byte + moved)
        source = replace(first, marks=tuple(marks))
        wrong = replace(plan, sources=(source, *plan.sources[1:]))
        message = rf"run_1/a\.csv: row .* does not start at byte {marks[number].byte}\n"
        with pytest.raises(RobolinError, match=message):
            compute_parts(wrong, request, arm, tmp_path / f"out{number}{moved}")
    # the last mark a line too early: a row is missing
    data = (tmp_path / "logs/run_1/a.csv").read_bytes()
    before = data.rfind(b"\n", 0, first.marks[2].byte - 1) + 1
    last = replace(first.marks[2], byte=before)
    source = replace(first, marks=(*first.marks[:2], last, *first.marks[3:]))
    with pytest.raises(
        RobolinError,
        match=r"run_1/a\.csv: row 80 does not end at the byte "
        r"in the plan",
    ):
        compute_parts(
            replace(plan, sources=(source, *plan.sources[1:])), request, arm, tmp_path / "short"
        )


@pytest.mark.skipif(os.name != "posix", reason="file names are text there")
def test_a_name_that_is_not_utf8_is_rejected(tmp_path: Path) -> None:
    """A pattern that finds a file whose name no result can carry is wrong usage, not a bug."""
    write_recordings(tmp_path)
    try:
        (tmp_path / "c.npz").rename(tmp_path / os.fsdecode(b"\xff.npz"))
    except OSError:
        pytest.skip("this file system has names of text only")
    ran = robolin(
        "inverse", "two-link", "--trajectory", f"{tmp_path}/*.npz", "-o", f"{tmp_path}/o/"
    )
    assert ran.code == 2
    assert "the file name must be valid UTF-8" in ran.err


@pytest.mark.parametrize("name", ["c.npz", "c.parquet"])
def test_a_recording_changed_while_it_is_read_is_rejected(tmp_path: Path, name: str) -> None:
    """No result has the digest of other bytes than those its numbers were read from."""
    import polars

    write_recordings(tmp_path)
    with np.load(tmp_path / "c.npz") as held:
        q = held["q"]
    frame = polars.DataFrame({"shoulder/position": q[:, 0], "elbow/position": q[:, 1]})
    frame.write_parquet(tmp_path / "c.parquet")
    path, joints = tmp_path / name, ("shoulder", "elbow")
    with open_trajectory(str(path), joints, ("q",), (), ReadOptions()) as stream:
        for _ in stream.chunks():
            pass
        digest = stream.table.digest()
        os.utime(path, ns=(1, 1))
        with pytest.raises(RobolinError, match="changed while it was read"):
            stream.table.digest()
    assert len(digest) == 64


def test_a_file_changed_within_a_folder_is_noticed(tmp_path: Path) -> None:
    """A folder's stamp depends on every file in it, not only on the last one written."""
    for name in ("old", "new"):
        (tmp_path / name).write_text("some text")
    os.utime(tmp_path / "old", ns=(1, 1))
    before = survey._stamp(str(tmp_path))
    (tmp_path / "old").write_text("text some")
    os.utime(tmp_path / "old", ns=(1, 1))
    assert survey._stamp(str(tmp_path))[0] == before[0]
    assert survey._stamp(str(tmp_path)) != before


def test_a_plan_has_no_absolute_path(out: Path) -> None:
    """Where recordings are is not stored: folders of parts are shared."""
    text = (out / PLAN).read_text()
    assert str(out.parent) not in text
