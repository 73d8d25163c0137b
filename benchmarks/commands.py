"""Run complete programs and time them."""

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

# a process inherits the peak memory of its parent, so this launcher is small
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
    """Elapsed seconds, peak memory in bytes, and CPU seconds."""

    seconds: float
    memory: int
    processor_seconds: float


def timed(command: Sequence[str], folder: Path) -> tuple[float, int]:
    """Elapsed seconds and peak memory in bytes."""
    run = watched(command, folder)
    return run.seconds, run.memory


def watched(command: Sequence[str], folder: Path) -> Run:
    """Run a program; it must succeed."""
    launched = subprocess.run(
        [sys.executable, "-I", "-S", "-c", _LAUNCHER, *command],
        env=environment(),
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    elapsed, memory, processor_seconds, code = json.loads(launched.stdout)
    if code:
        raise RuntimeError(f"exit code {code}: {' '.join(command)}")
    return Run(elapsed, memory * (1 if sys.platform == "darwin" else 1024), processor_seconds)


def environment() -> dict[str, str]:
    """Environment for programs that use this robolin, with cached bytecode."""
    package = str(Path(robolin.__file__).parents[1])
    variables = {**os.environ, "PYTHONPATH": package, "PYTHONPYCACHEPREFIX": _bytecode().name}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


@cache
def _bytecode() -> TemporaryDirectory[str]:
    return TemporaryDirectory()
