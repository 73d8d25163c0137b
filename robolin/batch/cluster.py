"""Parts computed by the workers of a Dask cluster; the files are written by robolin alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Any

from robolin import __version__
from robolin.batch.batch_plan import Division, require_outside
from robolin.batch.compute import (
    PartDone,
    PartJob,
    PartsWork,
    RunSummary,
    compute_part,
    compute_parts,
)
from robolin.batch.parts_folder import planned_in, recordings_for
from robolin.core.arm import Arm
from robolin.core.choices import Join, OnBadRow, TimeUnit
from robolin.core.records import dataclass
from robolin.errors import FileError, RobolinError, UsageError, raise_all
from robolin.io.format_table import is_stored
from robolin.io.locations import parse_location
from robolin.queries.answer import emit_warning
from robolin.queries.question import Question
from robolin.queries.request import (
    ArmSource,
    MessageCallback,
    Settings,
    checked_request,
    require_counts,
    source_of,
)
from robolin.queries.states import States, with_trajectory


def compute(
    arm: Arm | str | os.PathLike[str],
    question: Question | str,
    trajectories: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    client: Any,
    part_rows: int | None = None,
    form: str | None = None,
    on_bad_row: OnBadRow | None = None,
    columns: Sequence[str] | Mapping[str, str] | str | None = None,
    time: str | None = None,
    time_unit: TimeUnit | None = None,
    sample_time: float | None = None,
    degrees: bool = False,
    radians: bool = False,
    no_header: bool = False,
    join: Join | None = None,
    torque_constants: str | Sequence[float] | Mapping[str, float] | None = None,
    carry: Sequence[str] | str | None = None,
    rows: str | None = None,
    stride: int | None = None,
    resume: bool = True,
    notify: MessageCallback = emit_warning,
) -> RunSummary:
    """Compute every row of many recordings on the workers of a Dask cluster.

    Workers need this version of robolin, and the recordings, the robot file and the folder under
    the same paths.  Parts are bit-identical to those of `-o FOLDER/ --part-rows`.

    Args:
        arm: a robot file, the name of a bundled robot, or a robot that `robolin.load` returned
        question: a `Question`, or the name of a command with default options
        trajectories: files, patterns or folders
        folder: output folder of the parts
        client: a `distributed.Client`
        part_rows: rows per part; None for one part per recording, with the name of the recording
        form: 'parquet', 'npz', 'csv', …; None for Parquet, or without `part_rows` the input format
        on_bad_row: for a row without a result: 'error', or 'nan' to write NaN
        columns, time, time_unit, degrees, radians, carry, rows, stride: options for reading
            recordings, see `robolin.States`
        no_header, join, torque_constants: options for text without names, several files, and
            motor currents
        sample_time: time between two rows in s, for files without a time column
        resume: skip parts that are complete and belong to the same plan
        notify: called with 'note', 'warning' or 'summary' and a text

    Returns:
        a summary with `.written`, `.skipped`, `.rows` and `.finished`

    Raises:
        UsageError: a command and recordings that cannot be combined, an arm that workers cannot
            load, or a wrong type of client
        RobolinError: a part that failed, or an unsuitable worker; the error contains the name

    Example:
        >>> import distributed, robolin                                         # doctest: +SKIP
        >>> client = distributed.Client("tcp://scheduler:8786")                 # doctest: +SKIP
        >>> robolin.cluster.compute(                                            # doctest: +SKIP
        ...     "panda", "inverse", "logs/*.parquet", "out", client=client, part_rows=10**6
        ... )
    """
    _require_client(client)
    require_counts(part_rows=part_rows)
    request = Question(question) if isinstance(question, str) else question
    several = [trajectories] if isinstance(trajectories, (str, os.PathLike)) else trajectories
    location = parse_location(os.fspath(folder))
    recordings = recordings_for(location, [os.fspath(each) for each in several])
    require_outside(str(location), recordings)
    states = States(
        trajectory=recordings[0].path,
        on_bad_row=on_bad_row,
        columns=columns,
        time=time,
        time_unit=time_unit,
        sample_time=sample_time,
        degrees=degrees,
        radians=radians,
        no_header=no_header,
        join=join,
        torque_constants=torque_constants,
        carry=carry,
        rows=rows,
        stride=stride,
    )
    inquiry = checked_request(_source_of(arm), request, states, request.verb)
    loaded = inquiry.source.arm()
    plan = planned_in(location, inquiry, loaded, recordings, Division(part_rows, form))
    return compute_parts(
        plan,
        inquiry,
        loaded,
        location,
        resume=resume,
        settings=Settings(jobs=1, notify=notify),
        work=by_workers(client),
    )


def _require_client(client: Any) -> None:
    if not callable(getattr(client, "submit", None)):
        message = f"must be a client of dask.distributed, got {type(client).__name__}"
        hint = "use distributed.Client('tcp://scheduler:8786')"
        raise UsageError(message, where="client", hint=hint)


def _source_of(arm: Arm | str | os.PathLike[str]) -> ArmSource:
    """The file or name from which workers load the robot."""
    if not isinstance(arm, Arm):
        return ArmSource(os.fspath(arm))
    if arm.loaded_with is None:
        message = "workers cannot load this robot, because the robot was changed after robolin.load"
        raise UsageError(message, hint="pass a robot file, or an unchanged result of robolin.load")
    return source_of(arm)


_LOCAL = "local:"
_TALKATIVE = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


@contextmanager
def workers(where: str) -> Iterator[PartsWork]:
    """Workers of --cluster: local:N starts N processes, otherwise the address of a scheduler."""
    distributed = _distributed()
    for name in _TALKATIVE:
        # errors are reported by robolin
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if where.startswith(_LOCAL):
        count = where.removeprefix(_LOCAL)
        if not count.isdecimal() or int(count) < 1:
            message = f"must be local:N with N >= 1, got {where}"
            raise UsageError(message, where="--cluster", hint="for example --cluster local:4")
        with (
            _local(distributed, int(count), where) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield by_workers(client)
        return
    try:
        client = distributed.Client(where, timeout=30)
    except (OSError, ValueError) as error:
        flag = f"--cluster={where}"
        hint = "use local:4, or the address of a scheduler such as tcp://scheduler:8786"
        raise RobolinError("no scheduler responds", where=flag, hint=hint) from error
    with client:
        yield by_workers(client)


def _local(distributed: Any, count: int, where: str) -> Any:
    """Start local processes with one thread each."""
    # another cluster may use the default port
    address = "127.0.0.1:0"
    options = {"threads_per_worker": 1, "dashboard_address": address, "silence_logs": 50}
    try:
        return distributed.LocalCluster(n_workers=count, **options)
    except (OSError, RuntimeError) as error:
        hint = "use fewer workers, because each worker needs memory"
        message = f"the worker processes did not start: {error}"
        raise RobolinError(message, where=f"--cluster={where}", hint=hint) from error


def by_workers(client: Any) -> PartsWork:
    """Run jobs on the workers of a client; jobs of a worker that dies are moved to others."""

    def work(jobs: list[PartJob]) -> Iterator[PartDone]:
        if not jobs:
            return
        require_fit(client, jobs[0])
        yield from submit_parts(client, iter([from_anywhere(job) for job in jobs]))

    return work


def from_anywhere(job: PartJob) -> PartJob:
    """The job with absolute paths."""
    source = replace(job.source, path=_from_root(job.source.path))
    path = job.loads.path
    loads = replace(job.loads, path=os.path.abspath(path)) if os.path.exists(path) else job.loads
    states = with_trajectory(job.states, source.path, job.states.rows)
    target = _from_root(job.target)
    return replace(job, source=source, loads=loads, states=states, target=target)


def _from_root(path: str) -> str:
    return path if is_stored(path) else os.path.abspath(path)


def require_fit(client: Any, job: PartJob) -> None:
    """Reject workers with another version of robolin, or without the robot file, by address."""
    problems = []
    try:
        answers = client.run(_about, job.loads, on_error="return")
    except OSError as lost:
        raise cluster_gone() from lost
    for address, answer in answers.items():
        if isinstance(answer, OSError):
            # the worker died; its replacement reports a problem with its first part
            continue
        if isinstance(answer, BaseException):
            message, hint = f"importing robolin failed: {answer}", "install robolin on every worker"
        elif answer[0] != __version__:
            message = f"robolin must be {__version__}, got {answer[0]}"
            hint = "install the same version on all machines"
        elif answer[1] != job.arm_digest:
            message = f"the robot file '{job.loads.path}' is missing or different: {answer[2]}"
            hint = "copy the file to the same path on every worker"
        else:
            continue
        problems.append(RobolinError(message, where=f"worker {address}", hint=hint))
    raise_all(problems)


def _about(loads: ArmSource) -> tuple[str, str, str]:
    """Version of a worker, hash of the robot file there, and its error."""
    try:
        return __version__, loads.arm().digest, ""
    except RobolinError as error:
        return __version__, "", error.message


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        hint = "pip install distributed"
        raise UsageError(
            "requires the package distributed", where="--cluster", hint=hint
        ) from error
    return distributed


# queued parts per thread: enough to keep threads busy, few enough for a small message
_AHEAD = 3
# attempts after the worker of a part died, and number of workers tried for a part that one of them
# cannot read or write
_TRIES, _MACHINES = 20, 3
# poll interval in seconds, and polls without a finished part before workers are counted: new
# workers start in that time
_LOOK, _PATIENCE = 0.02, 30.0


@dataclass(frozen=True)
class _Sent:
    """A submitted part.

    tries:   number of attempts
    where:   workers that may compute it; empty for any
    refused: workers that failed
    why:     their errors
    """

    job: PartJob
    tries: int = 1
    where: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    def has_no_candidate(self, workers: Collection[str]) -> bool:
        """True if all workers that may compute it are gone."""
        return bool(self.where) and not {*self.where} & {*workers}


def submit_parts(client: Any, waiting: Iterator[PartJob]) -> Iterator[PartDone]:
    """Yield finished parts; only a few are submitted at a time."""
    held: dict[Any, _Sent] = {}
    done = _as_completed(client)

    def submit(sent: _Sent) -> None:
        job = sent.job
        name = f"{Path(job.target).name}-{job.plan[:12]}-{sent.tries}-{os.urandom(4).hex()}"
        where = list(sent.where) or None
        future = client.submit(_on_worker, job, key=name, pure=False, workers=where)
        held[future] = sent
        done.add(future)

    for job in islice(waiting, _AHEAD * max(1, sum(client.nthreads().values()))):
        submit(_Sent(job))
    for future in _finished(client, done, held):
        sent = held.pop(future)
        if not future.done():
            future.cancel()
            submit(replace(sent, tries=sent.tries + 1, where=()))
            continue
        came = _result(client, future)
        if isinstance(came, BaseException):
            if sent.tries < _TRIES:
                submit(replace(sent, tries=sent.tries + 1, where=()))
                continue
            yield _given_up(sent, came)
        else:
            address, outcome = came
            others = _others(client, (*sent.refused, address)) if outcome.elsewhere else ()
            if others and len(sent.refused) < _MACHINES - 1:
                submit(_refused(sent, address, outcome, others))
                continue
            yield _with_trouble(outcome, sent)
        if (following := next(waiting, None)) is not None:
            submit(_Sent(following))


def _result(client: Any, future: Any) -> tuple[str, PartDone] | BaseException:
    """The worker and the outcome of a part, or the error of a lost connection."""
    try:
        came: tuple[str, PartDone] = future.result()
    except _lost() as lost:
        if client.status != "running":
            raise cluster_gone() from lost
        return lost
    return came


def _given_up(sent: _Sent, error: BaseException) -> PartDone:
    message = f"{sent.tries} workers failed during the computation of this part: {error}"
    failure = RobolinError(message, where=sent.job.target)
    return PartDone(sent.job.number, sent.job.target, error=failure)


def _refused(sent: _Sent, address: str, outcome: PartDone, others: tuple[str, ...]) -> _Sent:
    """The part after one worker failed and others may succeed."""
    assert outcome.error is not None, "only failed parts are sent to other workers"
    why = f"worker {address} failed: {outcome.error.message}"
    refused = (*sent.refused, address)
    return replace(sent, where=others, refused=refused, why=(*sent.why, why))


def _with_trouble(outcome: PartDone, sent: _Sent) -> PartDone:
    """The outcome of a part with the errors of workers that failed before."""
    if outcome.error is not None:
        return outcome
    name = Path(outcome.target).name
    trouble = tuple(("warning", f"another worker computed {name}: {why}") for why in sent.why)
    return replace(outcome, messages=(*outcome.messages, *trouble))


def _others(client: Any, refused: Collection[str]) -> tuple[str, ...]:
    """Workers that have not been tried."""
    return tuple(address for address in _workers(client) or () if address not in refused)


def _workers(client: Any) -> Collection[str] | None:
    """Current workers; None if the scheduler is gone, which the futures report."""
    try:
        return [*client.nthreads()]
    except (OSError, *_lost()):  # type: ignore[misc]
        return None


def _finished(client: Any, done: Any, held: Mapping[Any, _Sent]) -> Iterator[Any]:
    """Finished futures in order of completion, and parts that wait for lost workers."""
    waited = 0.0
    while held:
        finished = [future for future in done.next_batch(block=False) if future in held]
        yield from finished
        if finished:
            waited = 0.0
            continue
        sleep(_LOOK)
        waited += _LOOK
        if waited > _PATIENCE:
            waited = 0.0
            left = _some_workers(client)
            yield from [each for each, sent in [*held.items()] if sent.has_no_candidate(left)]


def _some_workers(client: Any) -> Collection[str]:
    """Remaining workers; an error without any."""
    left = _workers(client)
    if left is not None and not left:
        raise cluster_gone("no workers remain")
    return left or ()


def cluster_gone(message: str = "the scheduler has stopped") -> RobolinError:
    """Error for a lost cluster."""
    hint = "to compute only the unfinished parts, run the same command with --resume"
    return RobolinError(message, where="--cluster", hint=hint)


def _lost() -> tuple[type[BaseException], ...]:
    """Exceptions of futures whose worker or scheduler is gone."""
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    return (FutureCancelledError, CommClosedError, KilledWorker)


def _as_completed(client: Any) -> Any:
    from distributed import as_completed

    # pass the loop: the default is that of the most recent client
    return as_completed(loop=client.loop)  # type: ignore[no-untyped-call]


def _on_worker(job: PartJob) -> tuple[str, PartDone]:
    """Compute one part on a worker; errors include the worker's address."""
    from distributed import get_worker

    address, done = get_worker().address, compute_part(job)
    if done.error is None:
        return address, done
    error = done.error
    kind = FileError if isinstance(error, FileError) else RobolinError
    located = kind(error.message, where=f"{error.where} on worker {address}", hint=error.hint)
    return address, replace(done, error=located)
