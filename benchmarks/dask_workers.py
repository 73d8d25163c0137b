"""Workers of a Dask cluster, each pinned to one core."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from benchmarks.commands import environment

_QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def dask_workers(cores: Sequence[int]) -> Iterator[Any]:
    """A client with one worker per core."""
    from distributed import Client

    address = f"tcp://127.0.0.1:{_free_port()}"
    port = address.rpartition(":")[2]
    with ExitStack() as running:
        running.enter_context(_running("dask_scheduler", "--port", port, "--no-dashboard"))
        for core in cores:
            one = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
            running.enter_context(_running("dask_worker", address, *one, core=core))
        client = running.enter_context(Client(address, timeout=60))  # type: ignore[no-untyped-call]
        client.wait_for_workers(len(cores))
        yield client


def seconds_of_parts(client: Any, source: Path, out: Path, part_rows: int) -> float:
    """Time of the workers for the parts of an existing plan."""
    import robolin

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        robolin.cluster.compute(
            "panda", "inverse", str(source), out, client=client, part_rows=part_rows
        )
        return time.perf_counter() - start


@contextmanager
def _running(program: str, *words: str, core: int | None = None) -> Iterator[None]:
    pinned = [] if core is None else ["taskset", "-c", str(core)]
    command = [*pinned, sys.executable, "-m", f"distributed.cli.{program}", *words]
    with subprocess.Popen(command, env=environment(), **_QUIET) as process:
        try:
            yield
        finally:
            process.kill()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port
