"""Compute one part: its file is complete or absent, even after repeated attempts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from robolin.batch.batch_plan import PartsPlan
from robolin.batch.column_compatibility import with_fractions
from robolin.batch.survey import SurveyedRecording, require_unchanged
from robolin.core.arm import Arm
from robolin.core.results.result import Footer, Result, stream_of_one_part
from robolin.errors import FileError, RobolinError, UsageError
from robolin.io.format_table import FORMATS, format_named
from robolin.io.locations import FileLocation, local_target, parse_location, size_of
from robolin.io.stored import require_holdable
from robolin.io.table_file import FileIndex
from robolin.queries.question import Question
from robolin.queries.request import ArmSource, MessageCallback, Request, Settings, run_request
from robolin.queries.states import States, with_trajectory
from robolin.version import __version__


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
    choice = states.parse_row_slice
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
                "the robot file differs from the one in the plan",
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
    require_unchanged(job.source, arm.joint_names)
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
            require_unchanged(job.source, arm.joint_names)
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
