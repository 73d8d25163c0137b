"""Whole programs, timed from start to end."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import robolin

ROBOLIN = (sys.executable, "-c", "from robolin.cli.main import run; run()")


def timed(command: Sequence[str], folder: Path) -> tuple[float, int]:
    """Seconds from start to end, and the most memory the process had, in bytes."""
    package = str(Path(robolin.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": package, "PYTHONPYCACHEPREFIX": _bytecode().name}
    # programs that are installed have been translated to bytecode once and for all
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    taken = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit code {process.returncode}: {' '.join(command)}")
    scale = 1 if sys.platform == "darwin" else 1024
    return taken, usage.ru_maxrss * scale


@cache
def _bytecode() -> TemporaryDirectory[str]:
    return TemporaryDirectory()
