"""Compute the parts of a plan in this process, one after the other."""

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
from robolin.io.locations import FileLocation
from robolin.queries.request import (
    DEFAULT_SETTINGS,
    MessageCallback,
    Request,
    Settings,
    notes_of_arm,
)

# runs jobs and yields their outcomes in any order
PartsWork = Callable[[list[PartJob]], Iterable[PartDone]]
# called after every part with the total number of parts
PartWatch = Callable[[PartDone, int], None]


@dataclass
class RunSummary:
    """Summary of a run: parts and rows written, parts skipped, and whether all are finished."""

    written: int = 0
    rows: int = 0
    skipped: int = 0
    finished: bool = False
    errors: list[RobolinError] = field(default_factory=list)


def compute_parts(
    plan: PartsPlan,
    inquiry: Request,
    arm: Arm,
    folder: FileLocation,
    *,
    shard: Shard = ONLY_SHARD,
    resume: bool = False,
    settings: Settings = DEFAULT_SETTINGS,
    work: PartsWork | None = None,
    watch: PartWatch | None = None,
) -> RunSummary:
    """Compute the parts of a shard; a part that fails does not stop the others.

    resume: skip parts that are complete and belong to this plan
    work:   runs the jobs, in place of this process
    """
    begin(folder, plan, [*inquiry.files.values(), *(each.path for each in plan.sources)])
    jobs = [job for job in part_jobs(plan, inquiry, arm, folder, settings) if shard.has(job.number)]
    there = parts_there(folder, plan) if resume else set[int]()
    run = _Run(
        work or computed_in_this_process(arm), MessageDeduplicator(settings.notify, arm), watch
    )
    # missing parts first, so that an interrupted run has still made progress
    run.over([job for job in jobs if job.number not in there])
    states = {
        job.number: part_state(folder, plan, job.number) for job in jobs if job.number in there
    }
    done = {number: state for number, state in states.items() if state.entry is not None}
    _report_unusable(states, settings.notify)
    run.over([job for job in jobs if job.number in states and job.number not in done])
    run.notes.rest()
    summary = replace(run.summary, skipped=len(done))
    raise_all(summary.errors)
    summary.finished = complete(folder, plan, done, run.fresh)
    return summary


class _Run:
    """Runs jobs and collects their outcomes."""

    def __init__(
        self, work: PartsWork, notes: MessageDeduplicator, watch: PartWatch | None
    ) -> None:
        self._work, self.notes, self._watch = work, notes, watch
        self._given = 0
        self.summary = RunSummary()
        self.fresh: set[int] = set()

    def over(self, jobs: list[PartJob]) -> None:
        """Run these jobs; errors are raised at the end."""
        self._given += len(jobs)
        for part in self._work(jobs) if jobs else ():
            self.notes.all(part.messages)
            if part.error is not None:
                self.summary.errors += part.error.parts
            else:
                self.fresh.add(part.number)
                self.summary.written += 1
                self.summary.rows += part.rows
            if self._watch is not None:
                self._watch(part, self._given)


def computed_in_this_process(arm: Arm) -> PartsWork:
    """Run jobs in this process, one after the other."""

    def work(jobs: list[PartJob]) -> Iterator[PartDone]:
        for job in jobs:
            yield compute_part(job, arm)

    return work


def _report_unusable(known: dict[int, PartState], notify: MessageCallback) -> None:
    for state in known.values():
        if state.state in (DAMAGED, FOREIGN):
            notify("warning", f"{state.name}: {state.state} ({state.why}); it is computed again")


class MessageDeduplicator:
    """Emit notes and warnings that many parts share once, then the number of repetitions."""

    def __init__(self, notify: MessageCallback, arm: Arm) -> None:
        self._notify = notify
        # every part reports these, since all parts use the same robot
        self._of_arm = {*notes_of_arm(arm)}
        self._more: dict[tuple[str, str], int] = {}

    def all(self, messages: Iterable[tuple[str, str]]) -> None:
        """Emit each message once; messages that differ only in the file name count as the same."""
        for kind, text in messages:
            key = (kind, text.partition(": ")[2] or text)
            if key in self._more:
                self._more[key] += text not in self._of_arm
            else:
                self._more[key] = 0
                self._notify(kind, text)

    def rest(self) -> None:
        """Report the number of repetitions of each message."""
        for (kind, text), more in self._more.items():
            if more:
                self._notify(kind, f"the same in {more} more: {text}")
