"""Who computes parts: the workers that --cluster names, if they have what it takes."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from robolin.batch.compute import PartsWork
from robolin.batch.part_job import PartDone, PartJob
from robolin.batch.submit_parts import cluster_gone, sent_parts
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.paths import is_stored
from robolin.queries.request import ArmSource
from robolin.queries.state_parsing import states_of_file
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
        yield from sent_parts(client, iter([from_anywhere(job) for job in jobs]))

    return work


def from_anywhere(job: PartJob) -> PartJob:
    """The job with paths that hold in every folder."""
    source = replace(job.source, path=_from_root(job.source.path))
    path = job.loads.path
    loads = replace(job.loads, path=os.path.abspath(path)) if os.path.exists(path) else job.loads
    states = states_of_file(job.states, source.path, job.states.rows)
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
