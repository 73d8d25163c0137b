"""Who computes parts: the workers that --cluster names, if they have what it takes."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from time import sleep
from typing import Any

from robolin.batch.compute import PartsWork
from robolin.batch.part_job import PartDone, PartJob, compute_part
from robolin.errors import FileError, RobolinError, UsageError, raise_all
from robolin.io.paths import is_stored
from robolin.queries.request import ArmSource
from robolin.queries.state_parsing import with_trajectory
from robolin.version import __version__

_LOCAL = "local:"
_TALKATIVE = ("distributed", "distributed.client", "tornado", "tornado.application", "asyncio")


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
            _local(distributed, int(count), where) as cluster,
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


def _local(distributed: Any, count: int, where: str) -> Any:
    """So many processes here, each with one thread."""
    # the usual port is another cluster's, if there is one
    address = "127.0.0.1:0"
    how = {"threads_per_worker": 1, "dashboard_address": address, "silence_logs": 50}
    try:
        return distributed.LocalCluster(n_workers=count, **how)
    except (OSError, RuntimeError) as error:
        hint = "a smaller number takes less memory"
        message = f"its processes do not start: {error}"
        raise RobolinError(message, where=f"--cluster={where}", hint=hint) from error


def by_workers(client: Any) -> PartsWork:
    """The workers of a client compute; parts of those that die go to others."""

    def work(jobs: list[PartJob]) -> Iterator[PartDone]:
        if not jobs:
            return
        require_fit(client, jobs[0])
        yield from submit_parts(client, iter([from_anywhere(job) for job in jobs]))

    return work


def from_anywhere(job: PartJob) -> PartJob:
    """The job with paths that hold in every folder."""
    source = replace(job.source, path=_from_root(job.source.path))
    path = job.loads.path
    loads = replace(job.loads, path=os.path.abspath(path)) if os.path.exists(path) else job.loads
    states = with_trajectory(job.states, source.path, job.states.rows)
    target = _from_root(job.target)
    return replace(job, source=source, loads=loads, states=states, target=target)


def _from_root(path: str) -> str:
    return path if is_stored(path) else os.path.abspath(path)


def require_fit(client: Any, job: PartJob) -> None:
    """Refuse workers with another robolin, or without the arm's file, by their addresses."""
    problems = []
    try:
        answers = client.run(_about, job.loads, on_error="return")
    except OSError as lost:
        raise cluster_gone() from lost
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


def _distributed() -> Any:
    try:
        import distributed
    except ImportError as error:
        hint = "pip install 'robolin[cluster]'"
        raise UsageError("needs the package distributed", where="--cluster", hint=hint) from error
    return distributed


# parts that wait at the scheduler for every thread, so that none is idle and few are to be told of
_AHEAD = 3
# how often a part is begun anew after its worker died, and on how many workers a part is tried that
# one of them cannot read or write
_TRIES, _MACHINES = 20, 3
# seconds between two looks for parts that are done, and after how many without one the workers are
# counted: as long as new ones take to come up where others died
_LOOK, _PATIENCE = 0.02, 30.0


@dataclass(frozen=True)
class _Sent:
    """A part on its way.

    tries:   how often it was begun
    where:   the workers that may make it; any if there are none
    refused: the workers that could not make it
    why:     what they said
    """

    job: PartJob
    tries: int = 1
    where: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    why: tuple[str, ...] = ()

    def has_no_candidate(self, workers: Collection[str]) -> bool:
        """Whether all who may make it are gone."""
        return bool(self.where) and not {*self.where} & {*workers}


def submit_parts(client: Any, waiting: Iterator[PartJob]) -> Iterator[PartDone]:
    """Parts as they are done, a few at a time on their way."""
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
            address, found = came
            others = _others(client, (*sent.refused, address)) if found.elsewhere else ()
            if others and len(sent.refused) < _MACHINES - 1:
                submit(_refused(sent, address, found, others))
                continue
            yield _with_trouble(found, sent)
        if (following := next(waiting, None)) is not None:
            submit(_Sent(following))


def _result(client: Any, future: Any) -> tuple[str, PartDone] | BaseException:
    """The worker of a part and what became of it, or what was lost on the way."""
    try:
        came: tuple[str, PartDone] = future.result()
    except _lost() as lost:
        if client.status != "running":
            raise cluster_gone() from lost
        return lost
    return came


def _given_up(sent: _Sent, error: BaseException) -> PartDone:
    message = f"{sent.tries} workers died over it: {error}"
    told = RobolinError(message, where=sent.job.target)
    return PartDone(sent.job.number, sent.job.target, error=told)


def _refused(sent: _Sent, address: str, found: PartDone, others: tuple[str, ...]) -> _Sent:
    """The part after a worker could not make it, though others may."""
    assert found.error is not None, "only a part that failed goes elsewhere"
    why = f"worker {address} could not make it: {found.error.message}"
    refused = (*sent.refused, address)
    return replace(sent, where=others, refused=refused, why=(*sent.why, why))


def _with_trouble(found: PartDone, sent: _Sent) -> PartDone:
    """A part that another worker has made, with what the first one said."""
    if found.error is not None:
        return found
    name = Path(found.target).name
    trouble = tuple(("warning", f"{name}: made by another worker, as {why}") for why in sent.why)
    return replace(found, said=(*found.said, *trouble))


def _others(client: Any, refused: Collection[str]) -> tuple[str, ...]:
    """Workers that have not been tried."""
    return tuple(address for address in _workers(client) or () if address not in refused)


def _workers(client: Any) -> Collection[str] | None:
    """The workers there are; None if the scheduler is gone, which futures will tell."""
    try:
        return [*client.nthreads()]
    except (OSError, *_lost()):  # type: ignore[misc]
        return None


def _finished(client: Any, done: Any, held: Mapping[Any, _Sent]) -> Iterator[Any]:
    """What is done, as it is done, and what waits for workers that are gone."""
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
    """The workers that are left; to wait for some of which there are none is refused."""
    left = _workers(client)
    if left is not None and not left:
        raise cluster_gone("no worker is left")
    return left or ()


def cluster_gone(message: str = "the scheduler is gone") -> RobolinError:
    """The end of a cluster as an error."""
    hint = "parts that are done are kept; the same command with --resume goes on"
    return RobolinError(message, where="--cluster", hint=hint)


def _lost() -> tuple[type[BaseException], ...]:
    """What a future comes to whose worker or scheduler is gone."""
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError
    from distributed.scheduler import KilledWorker

    return (FutureCancelledError, CommClosedError, KilledWorker)


def _as_completed(client: Any) -> Any:
    from distributed import as_completed

    # without its loop, that of whatever client was made last would be asked
    return as_completed(loop=client.loop)  # type: ignore[no-untyped-call]


def _on_worker(job: PartJob) -> tuple[str, PartDone]:
    """One part, computed by a worker, and the worker's address, which errors tell."""
    from distributed import get_worker

    address, done = get_worker().address, compute_part(job)
    if done.error is None:
        return address, done
    error = done.error
    kind = FileError if isinstance(error, FileError) else RobolinError
    told = kind(error.message, where=f"{error.where} on worker {address}", hint=error.hint)
    return address, replace(done, error=told)
