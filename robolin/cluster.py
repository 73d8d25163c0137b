"""Parts computed by the workers of a Dask cluster; the files are written by robolin alone."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Any

from robolin.answering.answer import as_python_warnings
from robolin.answering.given_states import States
from robolin.answering.inquiry import ArmSource, Inquiry
from robolin.answering.posed_question import Notify, Settings
from robolin.answering.question import Question
from robolin.choices import OnBadRow
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.files.places import place_named
from robolin.files.stores.store_path import is_stored
from robolin.parts.compute import PartsWork, WorkDone, compute_parts
from robolin.parts.looked_file import planned_in
from robolin.parts.part_job import PartDone, PartJob, compute_part
from robolin.parts.parts_plan import Division
from robolin.parts.recordings import recordings, require_outside
from robolin.version import __version__

# parts that wait at the scheduler for every thread, so that none is idle and few are to be told of
_AHEAD = 3
# how often a part is begun anew after its worker died
_TRIES = 20
# seconds between two looks for parts that are done, and after how many without one the workers are
# counted: as long as new ones take to come up where others died
_LOOK, _PATIENCE = 0.02, 30.0
_LOCAL = "local:"
_TALKATIVE = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


def compute(
    arm: str | os.PathLike[str],
    question: Question | str,
    trajectories: Sequence[str | os.PathLike[str]] | str,
    folder: str | os.PathLike[str],
    *,
    client: Any,
    part_rows: int | None = None,
    form: str | None = None,
    on_bad_row: OnBadRow | None = None,
    resume: bool = True,
    notify: Notify = as_python_warnings,
) -> WorkDone:
    """Answer for every row of many recordings by the workers of a Dask cluster.

    Workers need this version of robolin, and the recordings, the arm's file and the folder under
    the same paths.  Parts are the same, byte for byte, as those of `-o FOLDER/ --part-rows`.

    Args:
        arm: a robot file, or the name of a bundled arm
        question: a `Question`, or the name of a verb of which nothing special is asked
        trajectories: files, patterns or folders
        folder: where the parts go
        client: a `distributed.Client`
        part_rows: rows of a part; without it there is one part per recording, named after it
        form: 'parquet', 'npz', 'csv', …; without it parts are Parquet, others as the recording
        on_bad_row: what becomes of a row without an answer: 'error', or 'nan' in its place
        resume: leave parts that are there already, complete and of the same plan
        notify: is called with 'note', 'warning' or 'summary' and a text

    Returns:
        a summary with `.written`, `.skipped`, `.rows` and `.finished`

    Raises:
        UsageError: question and recordings that do not go together
        RobolinError: a part without an answer, or a worker that does not fit, by name

    Example:
        >>> import distributed, robolin.cluster                                 # doctest: +SKIP
        >>> client = distributed.Client("tcp://scheduler:8786")                 # doctest: +SKIP
        >>> robolin.cluster.compute(                                            # doctest: +SKIP
        ...     "panda", "inverse", "logs/*.parquet", "out", client=client, part_rows=10**6
        ... )
    """
    asked = Question(question) if isinstance(question, str) else question
    texts = (
        [trajectories]
        if isinstance(trajectories, str)
        else [os.fspath(each) for each in trajectories]
    )
    found, place = recordings(texts), place_named(os.fspath(folder))
    require_outside(str(place), found)
    states = States(trajectory=found[0].path, on_bad_row=on_bad_row)
    inquiry = Inquiry(ArmSource(os.fspath(arm)), asked, states)
    loaded = inquiry.source.arm()
    plan = planned_in(place, inquiry, loaded, found, Division(part_rows, form))
    return compute_parts(
        plan,
        inquiry,
        loaded,
        place,
        resume=resume,
        settings=Settings(jobs=1, notify=notify),
        work=by_workers(client),
    )


@contextmanager
def workers(where: str) -> Iterator[PartsWork]:
    """The workers that --cluster names: local:N starts N processes, else a scheduler's address."""
    distributed = _distributed()
    for name in _TALKATIVE:
        # what is wrong is told by an error of ours
        logging.getLogger(name).setLevel(logging.CRITICAL)
    if where.startswith(_LOCAL):
        count = where.removeprefix(_LOCAL)
        if not count.isdecimal() or int(count) < 1:
            raise UsageError("this is not local:N", where=f"--cluster={where}", hint="local:4")
        with (
            distributed.LocalCluster(
                n_workers=int(count), threads_per_worker=1, dashboard_address=None, silence_logs=50
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield by_workers(client)
        return
    try:
        client = distributed.Client(where, timeout=30)
    except (OSError, ValueError) as error:
        hint = "local:4, or the address of a scheduler, such as tcp://scheduler:8786"
        raise RobolinError("no scheduler answers", where=f"--cluster={where}", hint=hint) from error
    with client:
        yield by_workers(client)


def by_workers(client: Any) -> PartsWork:
    """The workers of a client compute; parts of those that die go to others."""

    def work(jobs: list[PartJob]) -> Iterator[PartDone]:
        if not jobs:
            return
        _require_fit(client, jobs[0])
        yield from _computed(client, iter([_from_anywhere(job) for job in jobs]))

    return work


def _computed(client: Any, waiting: Iterator[PartJob]) -> Iterator[PartDone]:
    """Parts as they are done, a few at a time on their way."""
    distributed = _distributed()
    held: dict[Any, tuple[PartJob, int]] = {}
    done = distributed.as_completed()

    def submit(job: PartJob, tries: int) -> None:
        name = f"{Path(job.target).name}-{job.plan[:12]}-{tries}-{os.urandom(4).hex()}"
        future = client.submit(_on_worker, job, key=name, pure=False)
        held[future] = (job, tries)
        done.add(future)

    for job in islice(waiting, _AHEAD * max(1, sum(client.nthreads().values()))):
        submit(job, 1)
    for future in _finished(client, done, held):
        job, tries = held.pop(future)
        found, error = None, None
        try:
            found = future.result()
        except (distributed.scheduler.KilledWorker, *_lost()) as lost:
            error = lost
            if client.status != "running":
                raise _gone() from lost
        if found is not None:
            yield found
        elif tries < _TRIES:
            submit(job, tries + 1)
            continue
        else:
            message = f"{tries} workers died over it: {error}"
            yield PartDone(job.number, job.target, error=RobolinError(message, where=job.target))
        if (following := next(waiting, None)) is not None:
            submit(following, 1)


def _finished(client: Any, done: Any, held: Collection[Any]) -> Iterator[Any]:
    """What is done, as it is done; without any worker for long, an error."""
    waited = 0.0
    while held:
        finished = done.next_batch(block=False)
        yield from finished
        if finished:
            waited = 0.0
            continue
        sleep(_LOOK)
        waited += _LOOK
        if waited > _PATIENCE:
            waited = 0.0
            _require_some(client)


def _require_some(client: Any) -> None:
    """Refuse to wait for workers of which there are none."""
    try:
        left = client.nthreads()
    except (OSError, *_lost()):  # type: ignore[misc]
        # the scheduler is gone, which futures will tell
        return
    if not left:
        raise _gone("no worker is left")


def _gone(message: str = "the scheduler is gone") -> RobolinError:
    hint = "parts that are done are kept; the same command with --resume goes on"
    return RobolinError(message, where="--cluster", hint=hint)


def _lost() -> tuple[type[BaseException], ...]:
    """What a future comes to whose worker or scheduler is gone."""
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    return (FutureCancelledError, CommClosedError)


def _on_worker(job: PartJob) -> PartDone:
    """One part, computed by a worker; an error tells which one that was."""
    done = compute_part(job)
    if done.error is None:
        return done
    error = done.error
    told = RobolinError(error.message, where=f"{error.where} on {_address()}", hint=error.hint)
    return replace(done, error=told)


def _from_anywhere(job: PartJob) -> PartJob:
    """The job with paths that hold in every folder."""
    source = replace(job.source, path=_from_root(job.source.path))
    path = job.loads.path
    loads = replace(job.loads, path=os.path.abspath(path)) if os.path.exists(path) else job.loads
    states = job.states.of_recording(source.path, job.states.rows)
    target = _from_root(job.target)
    return replace(job, source=source, loads=loads, states=states, target=target)


def _from_root(path: str) -> str:
    return path if is_stored(path) else os.path.abspath(path)


def _require_fit(client: Any, job: PartJob) -> None:
    """Refuse workers with another robolin, or without the arm's file, by their addresses."""
    problems = []
    try:
        answers = client.run(_about, job.loads, on_error="return")
    except OSError as lost:
        raise _gone() from lost
    for address, told in answers.items():
        if isinstance(told, OSError):
            # it died meanwhile; whoever takes its place says with its first part if it is unfit
            continue
        if isinstance(told, BaseException):
            message, hint = f"it cannot use robolin: {told}", "install robolin on every worker"
        elif told[0] != __version__:
            message = f"it has robolin {told[0]}, here is {__version__}"
            hint = "install the same version everywhere"
        elif told[1] != job.arm_digest:
            message = f"the arm '{job.loads.path}' is not there, or another one: {told[2]}"
            hint = "let every worker have the same file under the same path"
        else:
            continue
        problems.append(RobolinError(message, where=f"worker {address}", hint=hint))
    raise_all(problems)


def _about(loads: ArmSource) -> tuple[str, str, str]:
    """What a worker has: its version, the digest of the arm there, and what is wrong with it."""
    try:
        return __version__, loads.arm().digest, ""
    except RobolinError as error:
        return __version__, "", error.message


def _address() -> str:
    from distributed import get_worker

    return f"worker {get_worker().address}"


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        hint = "pip install 'robolin[cluster]'"
        raise UsageError("needs the package distributed", where="--cluster", hint=hint) from error
    return distributed
