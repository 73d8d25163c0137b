"""Parts of a plan computed in this process, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from robolin.batch.batch_plan import PartsPlan
from robolin.batch.part_job import PartDone, PartJob, compute_part, part_jobs
from robolin.batch.parts_folder import (
    DAMAGED,
    FOREIGN,
    ONLY_SHARD,
    PartState,
    Shard,
    begin,
    complete,
    part_state,
    parts_there,
)
from robolin.core.arm import Arm
from robolin.errors import RobolinError, raise_all
from robolin.io.locations import FilePlace
from robolin.queries.query_context import DEFAULT_SETTINGS, MessageCallback, Settings, notes_of_arm
from robolin.queries.request import Request

# takes jobs, in whatever order they are done tells what became of each
PartsWork = Callable[[list[PartJob]], Iterable[PartDone]]
# is told of every part that is done, and how many there are to do
PartWatch = Callable[[PartDone, int], None]


@dataclass
class RunSummary:
    """What a run has done: parts written and their rows, parts that were there, and whether that
    was the last of them."""

    written: int = 0
    rows: int = 0
    skipped: int = 0
    finished: bool = False
    errors: list[RobolinError] = field(default_factory=list)


def compute_parts(
    plan: PartsPlan,
    inquiry: Request,
    arm: Arm,
    folder: FilePlace,
    *,
    shard: Shard = ONLY_SHARD,
    resume: bool = False,
    settings: Settings = DEFAULT_SETTINGS,
    work: PartsWork | None = None,
    watch: PartWatch | None = None,
) -> RunSummary:
    """Compute the parts that fall to a shard; what is wrong with some keeps none of the others.

    resume: leave out parts that are there already, complete and of this plan
    work:   computes the parts, in place of this process
    """
    begin(folder, plan, [*inquiry.files.values(), *(each.path for each in plan.sources)])
    jobs = [job for job in part_jobs(plan, inquiry, arm, folder, settings) if shard.has(job.number)]
    there = parts_there(folder, plan) if resume else set[int]()
    run = _Run(
        work or computed_in_this_process(arm), MessageDeduplicator(settings.notify, arm), watch
    )
    # what is missing comes first: whoever is killed soon has still made something
    run.over([job for job in jobs if job.number not in there])
    known = {
        job.number: part_state(folder, plan, job.number) for job in jobs if job.number in there
    }
    done = {number: state for number, state in known.items() if state.entry is not None}
    _report_unusable(known, settings.notify)
    run.over([job for job in jobs if job.number in known and job.number not in done])
    run.notes.rest()
    summary = replace(run.summary, skipped=len(done))
    raise_all(summary.errors)
    summary.finished = complete(folder, plan, done, run.fresh)
    return summary


class _Run:
    """Parts on their way, and what has become of them so far."""

    def __init__(
        self, work: PartsWork, notes: MessageDeduplicator, watch: PartWatch | None
    ) -> None:
        self._work, self.notes, self._watch = work, notes, watch
        self._given = 0
        self.summary = RunSummary()
        self.fresh: set[int] = set()

    def over(self, jobs: list[PartJob]) -> None:
        """Have these parts computed; what is wrong with some is kept until the end."""
        self._given += len(jobs)
        for part in self._work(jobs) if jobs else ():
            self.notes.all(part.said)
            if part.error is not None:
                self.summary.errors += part.error.parts
            else:
                self.fresh.add(part.number)
                self.summary.written += 1
                self.summary.rows += part.rows
            if self._watch is not None:
                self._watch(part, self._given)


def computed_in_this_process(arm: Arm) -> PartsWork:
    """This process computes, one part after the other."""

    def work(jobs: list[PartJob]) -> Iterator[PartDone]:
        for job in jobs:
            yield compute_part(job, arm)

    return work


def _report_unusable(known: dict[int, PartState], notify: MessageCallback) -> None:
    for state in known.values():
        if state.state in (DAMAGED, FOREIGN):
            notify("warning", f"{state.name}: {state.state}, computed again: {state.why}")


class MessageDeduplicator:
    """Notes and warnings that many parts have in common, said once with how many more there are."""

    def __init__(self, notify: MessageCallback, arm: Arm) -> None:
        self._notify = notify
        # every part says it, of the one arm that they have in common
        self._of_arm = {*notes_of_arm(arm)}
        self._more: dict[tuple[str, str], int] = {}

    def all(self, said: Iterable[tuple[str, str]]) -> None:
        """Say what has not been said; what is said of a file is the same of every other."""
        for kind, text in said:
            key = (kind, text.partition(": ")[2] or text)
            if key in self._more:
                self._more[key] += text not in self._of_arm
            else:
                self._more[key] = 0
                self._notify(kind, text)

    def rest(self) -> None:
        """Say of how many more each was true."""
        for (kind, text), more in self._more.items():
            if more:
                self._notify(kind, f"the same of {more} more: {text}")
