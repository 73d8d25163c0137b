"""Whole programs, timed from start to end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import robolin

ROBOLIN = (sys.executable, "-c", "from robolin.cli.main import run; run()")

# the most memory that a process had is never less than that of the one which started it, so this
# one is small
_LAUNCHER = """
import json, os, subprocess, sys, time
start = time.perf_counter()
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
taken = time.perf_counter() - start
code = process.returncode = os.waitstatus_to_exitcode(status)
print(json.dumps([taken, usage.ru_maxrss, usage.ru_utime + usage.ru_stime, code]))
"""


class Run(NamedTuple):
    """Seconds from start to end, the most memory in bytes, and the seconds of all processors."""

    seconds: float
    memory: int
    processor_seconds: float


def timed(command: Sequence[str], folder: Path) -> tuple[float, int]:
    """Seconds from start to end, and the most memory the process had, in bytes."""
    run = watched(command, folder)
    return run.seconds, run.memory


def watched(command: Sequence[str], folder: Path) -> Run:
    """Run a program to its end, which must be a good one."""
    launched = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command],
        env=environment(),
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    taken, memory, processor_seconds, code = json.loads(launched.stdout)
    if code:
        raise RuntimeError(f"exit code {code}: {' '.join(command)}")
    return Run(taken, memory * (1 if sys.platform == "darwin" else 1024), processor_seconds)


def environment() -> dict[str, str]:
    """That of programs which find this robolin, translated to bytecode once and for all."""
    package = str(Path(robolin.__file__).parents[1])
    found = {**os.environ, "PYTHONPATH": package, "PYTHONPYCACHEPREFIX": _bytecode().name}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


@cache
def _bytecode() -> TemporaryDirectory[str]:
    return TemporaryDirectory()
