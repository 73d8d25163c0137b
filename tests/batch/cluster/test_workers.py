"""Parts computed by Dask workers equal those of one process, and misfits are named."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import robolin
from robolin import __version__
from robolin.batch.cluster import _some_workers, by_workers, from_anywhere, require_fit, workers
from robolin.batch.compute import PartDone, PartJob, compute_part, compute_parts, part_jobs
from robolin.description.robot_source import bundled_path
from robolin.errors import FileError, RobolinError
from robolin.queries.request import DEFAULT_SETTINGS
from tests.batch.sample_recordings import make_plan, write_recordings


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_recordings(tmp_path / "logs")
    return tmp_path / "logs"


def test_jobs_hold_in_every_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker in another folder finds what the client named from its own."""
    monkeypatch.chdir(folder.parent)
    plan, request, arm = make_plan(Path("logs"))
    for job in part_jobs(plan, request, arm, Path("out"), DEFAULT_SETTINGS):
        sent = from_anywhere(job)
        assert os.path.isabs(sent.target)
        assert os.path.isabs(sent.source.path)
        assert sent.states.options == job.states.options
        assert sent.loads == job.loads


def test_an_arm_of_a_file_is_found_from_every_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A path to a robot file is made absolute; the name of a bundled arm stays a name."""
    monkeypatch.chdir(folder.parent)
    plan, request, arm = make_plan(Path("logs"))
    (job, *_) = part_jobs(plan, request, arm, Path("out"), DEFAULT_SETTINGS)
    bundled = bundled_path("two-link")
    assert bundled is not None
    Path("arm.yaml").write_bytes(bundled.read_bytes())
    own = from_anywhere(replace(job, loads=replace(job.loads, path="arm.yaml")))
    assert own.loads.path == str(folder.parent / "arm.yaml")
    assert from_anywhere(job).loads.path == "two-link"


def test_invalid_clusters_are_rejected() -> None:
    """The flag rejects an invalid number of workers."""
    pytest.importorskip("distributed")
    with pytest.raises(RobolinError, match="--cluster"), workers("local:none"):
        pass


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"client": None}, "client: must be a client of dask.distributed, got NoneType"),
        ({"part_rows": 0}, "part_rows is 0"),
        ({"part_rows": "x"}, "part_rows is 'x'"),
        ({"arm": replace(robolin.load("two-link"), name="changed")}, "cannot load this robot"),
        ({"carry": "nothing"}, "nothing"),
        ({"form": "doc"}, "doc"),
    ],
)
def test_invalid_calls_are_rejected_before_writing(
    wrong: dict[str, Any], words: str, folder: Path, tmp_path: Path
) -> None:
    args = {"arm": "two-link", "client": SimpleNamespace(submit=print), "part_rows": 40, **wrong}
    arm = args.pop("arm")
    with pytest.raises(RobolinError, match=words):
        robolin.cluster.compute(arm, "inverse", folder / "c.npz", tmp_path / "no", **args)
    assert not (tmp_path / "no").exists()


@pytest.mark.slow
def test_arms_with_options_and_recordings_with_rules_go_to_workers(
    folder: Path, tmp_path: Path, client: Any
) -> None:
    """A loaded arm keeps its payload, and recordings are read with their rules."""
    arm = robolin.load("two-link", payload=[("lower", 0.5)])
    options = {"client": client, "part_rows": 40, "form": "npz", "notify": lambda *_: None}
    source = folder / "c.npz"
    for name, more in (("deg", {"degrees": True, "rows": "0:20"}), ("rad", {"rows": "0:20"})):
        robolin.cluster.compute(arm, "inverse", source, tmp_path / name, **options, **more)
        states = robolin.States(trajectory=source, **more)
        expected = robolin.answer(arm, "inverse", states, notify=options["notify"])["tau"]
        tau = np.load(tmp_path / name / "part-00000.npz")["tau"]
        assert np.array_equal(tau, expected)
    assert not np.array_equal(tau, np.load(tmp_path / "deg" / "part-00000.npz")["tau"])


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """A client of two workers in this process."""
    distributed: Any = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "silence_logs": 50}
    with (
        # others may have a cluster at the usual port
        distributed.LocalCluster(dashboard_address="127.0.0.1:0", **options) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_workers_make_the_files_of_one_process(folder: Path, tmp_path: Path, client: Any) -> None:
    """Dask's workers write the same bytes; one of another version or without the arm is named."""
    plan, request, arm = make_plan(folder)
    compute_parts(plan, request, arm, tmp_path / "here")
    texts = [str(folder / "run_*"), str(folder / "c.npz")]
    where = {"client": client, "part_rows": 40, "form": "npz", "notify": lambda *_: None}
    ask = ("two-link", "inverse", texts, tmp_path / "there")
    done = robolin.cluster.compute(*ask, **where)
    assert (done.written, done.finished) == (8, True)
    assert robolin.cluster.compute(*ask, **where).skipped == 8
    again = robolin.cluster.compute(*ask, **where, resume=False)
    assert (again.written, again.skipped) == (8, 0)
    # a pattern that matches its own parts can be resumed too
    inside = ("two-link", "inverse", str(folder / "**/*.npz"), folder / "out")
    assert [robolin.cluster.compute(*inside, **where).skipped for _ in "12"] == [0, 2]
    jobs = part_jobs(plan, request, arm, tmp_path / "no", DEFAULT_SETTINGS)
    wrong = replace(jobs[0], arm_digest="0" * 64)
    with pytest.raises(RobolinError, match=r"worker .*: the robot file 'two-link'"):
        list(by_workers(client)([wrong]))
    for path in (tmp_path / "here").glob("part-*"):
        assert path.read_bytes() == (tmp_path / "there" / path.name).read_bytes()


@pytest.mark.slow
def test_parts_of_a_failing_worker_go_to_others(
    folder: Path, tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker with a full disk costs no part; if all workers fail, the error has their address."""
    from distributed import get_worker

    plan, request, arm = make_plan(folder)
    full = [min(client.nthreads())]

    def computed(job: PartJob) -> PartDone:
        if get_worker().address in full:
            error = FileError("could not write: No space left on device", where=job.target)
            return PartDone(job.number, job.target, error=error, elsewhere=True)
        return compute_part(job)

    monkeypatch.setattr("robolin.batch.cluster.compute_part", computed)
    parts = by_workers(client)(part_jobs(plan, request, arm, tmp_path, DEFAULT_SETTINGS))
    messages = [text for part in parts for _, text in part.messages if part.error is None]
    assert len(list(tmp_path.glob("part-*"))) == len(plan.parts)
    assert any(f"worker {full[0]} failed: could not write" in text for text in messages)
    full[:] = client.nthreads()
    (part,) = by_workers(client)(part_jobs(plan, request, arm, tmp_path, DEFAULT_SETTINGS)[:1])
    assert isinstance(part.error, FileError)
    assert any(f"on worker {address}" in part.error.where for address in full)


class _Workers:
    """A client of a cluster with fixed replies of its workers."""

    def __init__(self, replies: dict[str, Any]) -> None:
        self._replies = replies

    def run(self, *_: object, **__: object) -> dict[str, Any]:
        if not self._replies:
            raise OSError("closed")
        return self._replies

    def nthreads(self) -> dict[str, int]:
        return {}


def test_workers_that_die_are_not_rejected(folder: Path) -> None:
    """A worker that is gone is not an error; one of another version is named."""
    plan, request, arm = make_plan(folder)
    job = part_jobs(plan, request, arm, folder, DEFAULT_SETTINGS)[0]
    require_fit(_Workers({"tcp://gone": OSError("closed")}), job)
    with pytest.raises(
        RobolinError, match=rf"tcp://old: robolin must be {re.escape(__version__)}, got 0\.0\.0"
    ):
        require_fit(_Workers({"tcp://old": ("0.0.0", arm.digest, "")}), job)
    with pytest.raises(RobolinError, match="importing robolin failed"):
        require_fit(_Workers({"tcp://without": ImportError("robolin")}), job)
    with pytest.raises(RobolinError, match="the scheduler has stopped"):
        require_fit(_Workers({}), job)


def test_a_cluster_without_workers_is_reported() -> None:
    """The error of a cluster that lost its workers has a hint on how to resume."""
    pytest.importorskip("distributed")
    with pytest.raises(RobolinError, match="no workers remain") as caught:
        _some_workers(_Workers({}))
    assert "--resume" in caught.value.hint
