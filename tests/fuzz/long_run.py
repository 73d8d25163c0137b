"""Changed files in processes of their own, which may not hang or grow."""

from __future__ import annotations

import gc
import os
import pickle
import resource
import select
import signal
import sys
import time
import traceback
import warnings
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import robolin
from robolin.errors import UsageError
from tests.fuzz.campaign import Failure, Tally, TooLongError, mutants, run_mutant

MOST_SECONDS = 5.0
MOST_BYTES = 1 << 30


def ready() -> None:
    """Import the modules every child needs before forking; libraries start no threads."""
    for module in walk_packages(robolin.__path__, "robolin."):
        # a module for an extra says so when its package is absent
        if not module.name.endswith("__main__"):
            with suppress(UsageError):
                import_module(module.name)
    for name in (
        "pinocchio",
        "rich.console",
        "rich.table",
        "llvmlite.binding",
        "mujoco",
        "xacro",
        "yaml",
    ):
        with suppress(ImportError):
            import_module(name)
    gc.collect()
    gc.freeze()


def apart(kind: str, folder: Path, seed: int, count: int) -> Tally:
    """In a process of its own; one that is stuck is ended and leaves its last file behind."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _work(kind, folder, seed, count, write)
    os.close(write)
    data = _everything(read, 4 * MOST_SECONDS + 5 * count)
    with suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    if data:
        found: Tally = pickle.loads(data)
        return found
    tally = Tally()
    last = next(folder.glob("changed.*"), None)
    left = last.read_bytes() if last else b""
    tally.add(kind, -3, Failure(kind, "stuck, or killed by the system", left))
    return tally


def _work(kind: str, folder: Path, seed: int, count: int, write: int) -> None:
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
        for data in mutants(kind, folder, seed, count):
            signal.setitimer(signal.ITIMER_PROF, 2 * MOST_SECONDS)
            begin = _used()
            code, failure = run_mutant(kind, data, folder)
            signal.setitimer(signal.ITIMER_PROF, 0)
            if failure is None and _used() - begin > MOST_SECONDS:
                failure = Failure(kind, f"more than {MOST_SECONDS} s", data)
            tally.add(kind, code, failure)
        grown = 1024 * max(
            resource.getrusage(who).ru_maxrss
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
        )
        if grown > MOST_BYTES:
            tally.add(kind, -4, Failure(kind, f"{grown >> 20} MiB of memory", data))
    except BaseException:
        traceback.print_exc()
    with open(write, "wb") as stream:
        stream.write(pickle.dumps(tally))
    os._exit(0)


def _used() -> float:
    """Seconds of the processor, those of processes that were started among them."""
    mine, theirs = (resource.getrusage(w) for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime


def _alarm(*_: object) -> None:
    raise TooLongError


def _everything(read: int, seconds: float) -> bytes:
    end, data = time.monotonic() + seconds, b""
    with open(read, "rb", buffering=0) as stream:
        while time.monotonic() < end:
            ready, _, _ = select.select([stream], [], [], 0.5)
            if ready:
                piece = stream.read(1 << 20)
                if not piece:
                    return data
                data += piece
    return b""
