"""Compute the parts of a plan in this process, one after the other.

The file of a part is complete or absent, even after repeated attempts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field, replace
from pathlib import Path

from robolin import __version__
from robolin.batch.batch_plan import PartsPlan
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
from robolin.batch.survey import SurveyedRecording, require_unchanged, with_fractions
from robolin.core.arm import Arm
from robolin.core.records import dataclass
from robolin.core.result import Footer, Result, stream_of_one_part
from robolin.core.text import pluralize
from robolin.errors import FileError, RobolinError, UsageError, raise_all
from robolin.io.format_table import FORMATS, format_named
from robolin.io.locations import FileLocation, local_target, parse_location, size_of
from robolin.io.stored import require_holdable
from robolin.io.table_file import FileIndex
from robolin.queries.question import Question
from robolin.queries.request import (
    DEFAULT_SETTINGS,
    ArmSource,
    MessageCallback,
    Request,
    Settings,
    run_request,
)
from robolin.queries.states import States, notes_of_arm, with_trajectory


@dataclass(frozen=True)
class PartJob:
    """Everything that is needed to compute one part in any process; serializable.

    plan:   id of the plan
    number: index of the part among `of` parts
    loads:  the robot; its file must exist on the computing machine
    target: output file
    mixed:  columns whose integers are written as floats
    """

    plan: str
    number: int
    of: int
    version: str
    loads: ArmSource
    arm_digest: str
    question: Question
    states: States
    source: SurveyedRecording
    target: str
    mixed: tuple[str, ...] = ()
    jobs: int | None = None
    chunk_rows: int | None = None


@dataclass(frozen=True)
class PartDone:
    """Outcome of a job: rows and bytes written, or the error.

    messages:  notes and warnings, each with its kind
    elsewhere: whether the error concerns this machine, so that another worker may succeed
    """

    number: int
    target: str
    rows: int = 0
    size: int = 0
    error: RobolinError | None = None
    messages: tuple[tuple[str, str], ...] = ()
    elsewhere: bool = False


def part_jobs(
    plan: PartsPlan, inquiry: Request, arm: Arm, folder: FileLocation, settings: Settings
) -> list[PartJob]:
    """One job per part of a plan."""
    jobs = []
    for number, part in enumerate(plan.parts):
        source = plan.sources[part.source]
        states = with_trajectory(inquiry.states, source.path, part.rows or inquiry.states.rows)
        job = PartJob(
            plan=plan.id,
            number=number,
            of=len(plan.parts),
            version=plan.version,
            loads=inquiry.source,
            arm_digest=arm.digest,
            question=inquiry.question,
            states=states,
            # of the row offsets of a long recording, only two are needed here
            source=replace(source, marks=_known(source, states).marks),
            target=str(folder / part.name),
            mixed=plan.mixed,
            jobs=settings.jobs,
            chunk_rows=settings.chunk_rows,
        )
        jobs.append(job)
    return jobs


def _known(source: SurveyedRecording, states: States) -> FileIndex:
    """Part of the file index that these rows need."""
    choice = states.row_slice
    return source.known(choice.first, choice.stop)


def compute_part(job: PartJob, arm: Arm | None = None) -> PartDone:
    """Compute one part; errors are returned, not raised.

    arm: if it is already loaded
    """
    messages: list[tuple[str, str]] = []
    fit = False
    try:
        arm = arm or _loaded(job)
        fit = True
        rows = _written(job, arm, lambda kind, text: messages.append((kind, text)))
        size = size_of(parse_location(job.target))
    except RobolinError as error:
        elsewhere = not fit or isinstance(error, FileError)
        part_error = _of_part(error, job)
        return PartDone(
            job.number, job.target, error=part_error, messages=tuple(messages), elsewhere=elsewhere
        )
    return PartDone(job.number, job.target, rows, size, messages=tuple(messages))


# the last robot this process has loaded, by source and options
_LOADED: dict[str, Arm] = {}


def _loaded(job: PartJob) -> Arm:
    """The robot of a job; rejects another version of robolin."""
    if job.version != __version__:
        message = f"the plan requires robolin {job.version}, got {__version__}"
        hint = "install the same version on all machines"
        raise RobolinError(message, where=Path(job.target).name, hint=hint)
    key = repr((job.loads.path, sorted(job.loads.texts.items()), job.arm_digest))
    if key not in _LOADED:
        arm = job.loads.arm()
        if arm.digest != job.arm_digest:
            message, hint = (
                "the robot file differs from the robot file of the plan",
                "copy the file to every machine",
            )
            raise RobolinError(message, where=job.loads.path, hint=hint)
        _LOADED.clear()
        _LOADED[key] = arm
    return _LOADED[key]


def _written(job: PartJob, arm: Arm, notify: MessageCallback) -> int:
    """Write the part and return its number of rows."""
    target, rows = parse_location(job.target), [0]
    form, known = format_named(target.name), _known(job.source, job.states)
    require_unchanged(job.source, arm.joint_names, not job.states.no_header)
    settings = Settings(job.jobs, job.chunk_rows, notify=notify, known=known)
    request = Request(job.loads, job.question, job.states)
    with run_request(request, settings, arm) as answer:
        if isinstance(answer, Result):
            require_holdable(answer, form)
            answer = stream_of_one_part(answer)
        ending, parts = answer.ending, answer.parts
        if job.mixed:
            parts = with_fractions(parts, job.mixed, job.source.path)

        def part_ending(count: int) -> Footer:
            # the file is not yet visible, and is discarded if this fails
            require_unchanged(job.source, arm.joint_names, not job.states.no_header)
            rows[0] = count
            plan = {"id": job.plan, "part": job.number, "of": job.of}
            return replace(ending(count), plan=plan)

        with local_target(target) as path:
            FORMATS[form].write(replace(answer, parts=parts, ending=part_ending), path)
    return rows[0]


def _of_part(error: RobolinError, job: PartJob) -> RobolinError:
    """The error with the name of the failed part."""
    if type(error) not in (RobolinError, FileError, UsageError):
        return error
    name = Path(job.target).name
    return type(error)(error.message, where=f"{name}: {error.where}".rstrip(": "), hint=error.hint)


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
            notify(
                "warning", f"{state.name}: {state.state} ({state.why}); the part is computed again"
            )


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
                self._notify(kind, f"{text} (repeated {pluralize(more, 'time')})")
