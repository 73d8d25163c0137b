"""Separate process with resource limits for readers that execute third-party content."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

# timeout in seconds, for slow disks and for systems without CPU limits
_TIMEOUT = 60

# exit code if the system denies memory, threads or files
_NO_ROOM = 75

# start code of the process: sys.path is part of the request
_START = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    f"from {__name__} import reply_on_stdout; reply_on_stdout(request)"
)


class ProcessBounds(NamedTuple):
    """Limits of a process: CPU time in seconds and memory in bytes."""

    seconds: int
    memory: int


class OutOfBoundsError(Exception):
    """The process exceeded its time or memory, or crashed."""


def run_in_separate_process(
    module: str, request: Mapping[str, Any], bounds: ProcessBounds
) -> dict[str, Any]:
    """Call the function `reply` of a module in a new process; request and result are JSON data."""
    folders = [os.path.abspath(folder) for folder in sys.path]
    message = {"module": module, "request": request, "path": folders, "bounds": bounds}
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START]
    try:
        done = subprocess.run(
            command, input=json.dumps(message).encode(), capture_output=True, timeout=_TIMEOUT
        )
    except subprocess.TimeoutExpired:
        raise OutOfBoundsError from None
    if done.returncode < 0 or done.returncode == _NO_ROOM:
        # killed by the system, or without memory, threads or files
        raise OutOfBoundsError
    if done.returncode:
        raise AssertionError(done.stderr.decode(errors="replace"))
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def reply_on_stdout(request: Mapping[str, Any]) -> None:
    """Write the reply to a request on standard output, inside the process."""
    output, sys.stdout = sys.stdout, sys.stderr
    try:
        module: Any = import_module(request["module"])
        module.prepare()
        bound_this_process(*request["bounds"])
        json.dump(module.reply(request["request"]), output)
        output.flush()
    except (MemoryError, ImportError, OSError):
        os._exit(_NO_ROOM)
    # exit immediately, without running code of the content
    os._exit(0)


def bound_this_process(seconds: int, memory: int) -> None:
    """Limit CPU time and memory of this process, unless the system's limits are lower."""
    try:
        import resource
    except ImportError:
        # Windows has no such limits: only the caller's timeout applies
        return
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(kind, (most, most))
