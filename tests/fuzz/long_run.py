"""Changed files in processes of their own, which may not hang or grow."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import select
import shutil
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from unittest.mock import patch

import robolin
from robolin.description import load
from robolin.description.building.keywords import ModelOptions
from robolin.description.model import Reading
from robolin.description.robot_source import RobotText
from robolin.errors import UsageError
from tests.forked_readers import Spent
from tests.fuzz.campaign import Failure, Tally, TooLongError, mutants, run_mutant

MOST_SECONDS = 5.0
MOST_BYTES = 1 << 30


def ready() -> None:
    """Import the modules every child needs before forking; libraries start no threads."""
    # Arrow's own pool reserves address space, which is limited here
    os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"
    for module in walk_packages(robolin.__path__, "robolin."):
        # a module for an extra says so when its package is absent
        if not module.name.endswith("__main__"):
            with suppress(UsageError):
                import_module(module.name)
    for name in (
        "h5py",
        "pinocchio",
        "pyarrow.ipc",
        "rich.console",
        "rich.table",
        "scipy.io",
        "llvmlite.binding",
        "mujoco",
        "xacro",
        "yaml",
    ):
        with suppress(ImportError):
            import_module(name)
    _remember_constant_robots()
    gc.collect()
    gc.freeze()


def _remember_constant_robots() -> None:
    """Parse a robot file that is not itself changed only once: most kinds change other files."""
    parsed: dict[tuple[object, ...], Reading] = {}
    original = load._read

    def read(robot: RobotText, options: ModelOptions) -> Reading:
        if robot.kind not in ("urdf", "yaml") or "changed" in robot.shown:
            return original(robot, options)
        key = (robot.text, robot.shown, repr(options))
        if key not in parsed:
            parsed[key] = original(robot, options)
        return parsed[key]

    patch.object(load, "_read", read).start()


@dataclass(frozen=True)
class Batch:
    """Changed files of one kind, in a folder of their own."""

    kind: str
    folder: Path
    seed: int
    count: int


@dataclass
class _Child:
    batch: Batch
    pid: int
    pipe: int
    end: float
    data: bytes = b""


def apart(batches: Iterable[Batch], jobs: int) -> Iterator[Tally]:
    """Each batch in a process of its own; one that is stuck is ended and leaves its last file."""
    waiting, running = iter(batches), dict[int, _Child]()
    while True:
        while len(running) < jobs and (batch := next(waiting, None)) is not None:
            child = _start(batch)
            running[child.pipe] = child
        if not running:
            return
        ready, _, _ = select.select(list(running), [], [], 0.5)
        for pipe in ready:
            piece = os.read(pipe, 1 << 20)
            running[pipe].data += piece
            if not piece:
                yield _finished(running.pop(pipe))
        for pipe in [each for each, child in running.items() if time.monotonic() > child.end]:
            child = running.pop(pipe)
            child.data = b""
            yield _finished(child)


def _start(batch: Batch) -> _Child:
    read, write = os.pipe()
    batch.folder.mkdir(exist_ok=True)
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _work(batch, write)
    os.close(write)
    return _Child(batch, pid, read, time.monotonic() + 4 * MOST_SECONDS + 5 * batch.count)


def _finished(child: _Child) -> Tally:
    with suppress(ProcessLookupError):
        os.kill(child.pid, signal.SIGKILL)
    os.waitpid(child.pid, 0)
    os.close(child.pipe)
    kind, folder = child.batch.kind, child.batch.folder
    last = next(folder.glob("changed.*"), None)
    left = last.read_bytes() if last else b""
    shutil.rmtree(folder, ignore_errors=True)
    if child.data:
        tally: Tally = pickle.loads(child.data)
        return tally
    tally = Tally()
    tally.add(kind, -3, Failure(kind, "stuck, or killed by the system", left))
    return tally


def _work(batch: Batch, write: int) -> None:
    kind, folder = batch.kind, batch.folder
    os.chdir(folder)
    warnings.simplefilter("ignore")
    # discard what other programs' parsers print
    sys.stderr = os.fdopen(os.dup(2), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    # time of the processor: a busy machine makes no file slow
    signal.signal(signal.SIGPROF, _alarm)
    with open("/proc/self/statm") as text:
        used = int(text.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * MOST_BYTES, used + 2 * MOST_BYTES))
    tally = Tally()
    try:
        for data in mutants(kind, folder, batch.seed, batch.count):
            signal.setitimer(signal.ITIMER_PROF, 2 * MOST_SECONDS)
            begin = _used()
            code, failure = run_mutant(kind, data, folder)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if failure is None and _used() - begin > MOST_SECONDS:
                failure = Failure(kind, f"more than {MOST_SECONDS} s", data)
            tally.add(kind, code, failure)
        grown = max(
            Spent.memory,
            1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
            1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss,
        )
        if grown > MOST_BYTES:
            tally.add(kind, -4, Failure(kind, f"{grown >> 20} MiB of memory", data))
    except BaseException as error:
        text = "".join(traceback.format_exception(error)[-2:])
        tally.add(kind, -5, Failure(kind, f"the campaign itself: {text}", b""))
    with open(write, "wb") as stream:
        stream.write(pickle.dumps(tally))
    os._exit(0)


def _used() -> float:
    """Seconds of the processor, those of processes that were started among them."""
    mine, theirs = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    own = mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime
    return own + Spent.seconds


def _alarm(*_: object) -> None:
    raise TooLongError
