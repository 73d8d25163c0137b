"""The choice of workers for parts, counted with a client that replies immediately."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from robolin.batch.cluster import submit_parts
from robolin.batch.compute import PartDone, PartJob, part_jobs
from robolin.errors import FileError
from robolin.queries.request import DEFAULT_SETTINGS
from tests.batch.sample_recordings import make_plan, write_recordings

Outcome = Callable[[str, PartJob], PartDone]


@dataclass(eq=False)
class Future:
    """A part that is done: its worker, and the result or the exception of that worker."""

    worker: str
    outcome: PartDone | BaseException

    def done(self) -> bool:
        return True

    def result(self) -> tuple[str, PartDone]:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.worker, self.outcome


@dataclass
class Client:
    """A client of workers with one thread each; the busiest worker comes last."""

    names: list[str]
    outcome: Outcome
    sent: list[tuple[int, str]] = field(default_factory=list)
    waiting: list[Future] = field(default_factory=list)
    most: int = 0
    status: str = "running"

    def nthreads(self) -> dict[str, int]:
        return dict.fromkeys(self.names, 1)

    def submit(
        self, _: object, job: PartJob, *, key: str, pure: bool, workers: list[str] | None
    ) -> Future:
        busy = Counter(name for _, name in self.sent)
        name = min(workers or self.names, key=lambda each: busy[each])
        self.sent.append((job.number, name))
        try:
            return Future(name, self.outcome(name, job))
        except Exception as error:
            return Future(name, error)

    # the result of `distributed.as_completed`
    def add(self, future: Future) -> None:
        self.waiting.append(future)
        self.most = max(self.most, len(self.waiting))

    def next_batch(self, block: bool) -> list[Future]:
        assert not block
        return [self.waiting.pop(0)] if self.waiting else []


@pytest.fixture
def jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[PartJob]:
    monkeypatch.setattr("robolin.batch.cluster._as_completed", lambda client: client)
    write_recordings(tmp_path / "logs")
    plan, request, arm = make_plan(tmp_path / "logs", 10)
    return part_jobs(plan, request, arm, tmp_path / "out", DEFAULT_SETTINGS)


def made(name: str, job: PartJob) -> PartDone:
    return PartDone(job.number, job.target, rows=1)


def full(name: str, job: PartJob) -> PartDone:
    error = FileError("No space left on device", where=f"{job.target} on worker {name}")
    return PartDone(job.number, job.target, error=error, elsewhere=True)


@pytest.mark.parametrize("workers, tried", [(1, 1), (2, 2), (3, 3), (4, 3), (9, 3)])
def test_a_part_is_tried_on_three_workers_at_most(
    jobs: list[PartJob], workers: int, tried: int
) -> None:
    """Where all disks are full, each part is tried on three different workers, then reported."""
    client = Client([f"tcp://{i}" for i in range(workers)], full)
    done = list(submit_parts(client, iter(jobs)))
    assert sorted(each.number for each in done) == list(range(len(jobs)))
    assert all(isinstance(each.error, FileError) and not each.messages for each in done)
    assert Counter(number for number, _ in client.sent) == dict.fromkeys(range(len(jobs)), tried)
    # never twice on one worker
    assert len({*client.sent}) == tried * len(jobs)


@pytest.mark.parametrize("full_disks", [0, 1, 2, 3])
def test_the_third_worker_may_still_make_a_part(jobs: list[PartJob], full_disks: int) -> None:
    """With up to two full disks among five workers every part is made, with what went wrong."""
    names = [f"tcp://{i}" for i in range(5)]

    def outcome(name: str, job: PartJob) -> PartDone:
        return full(name, job) if name in names[:full_disks] else made(name, job)

    client = Client(names, outcome)
    done = list(submit_parts(client, iter(jobs)))
    failed = [each for each in done if each.error is not None]
    assert bool(failed) == (full_disks > 2)
    for each in done:
        used = [name for number, name in client.sent if number == each.number]
        reasons = [text for kind, text in each.messages if kind == "warning"]
        if each.error is None:
            assert used[-1] not in names[:full_disks]
            assert len(reasons) == len(used) - 1
            assert all(
                f"worker {name} failed" in text for name, text in zip(used, reasons, strict=False)
            )


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_three_parts_wait_for_every_thread(jobs: list[PartJob], workers: int) -> None:
    """No more parts are on their way than three per thread, and all are made in the end."""
    client = Client([f"tcp://{i}" for i in range(workers)], made)
    assert len(list(submit_parts(client, iter(jobs)))) == len(jobs)
    assert client.most == min(3 * workers, len(jobs))


@pytest.mark.slow
def test_a_part_over_which_workers_die_is_given_up_after_twenty(jobs: list[PartJob]) -> None:
    """A part that ends its worker is begun twenty times; other parts are made."""
    scheduler: Any = pytest.importorskip("distributed.scheduler")

    def dies(name: str, job: PartJob) -> PartDone:
        if job.number == 3:
            last = SimpleNamespace(address=name)
            raise scheduler.KilledWorker(task="3", last_worker=last, allowed_failures=0)
        return made(name, job)

    client = Client(["tcp://0", "tcp://1"], dies)
    done = {each.number: each for each in submit_parts(client, iter(jobs))}
    assert len(done) == len(jobs)
    assert [number for number, each in done.items() if each.error is not None] == [3]
    assert "20 workers failed during the computation of this part" in str(done[3].error)
    assert [number for number, _ in client.sent].count(3) == 20
