"""Readers that run other people's programs do so in a process of its own, with bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any, NamedTuple

# the longest that is waited, where a disk is slow or the system knows no bounds
_PATIENCE = 60

# how it ends where the system denies it memory, threads or files
_NO_ROOM = 75

# what the process starts with: its own folders are not known before the request is read
_START = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    f"from {__name__} import reply_on_stdout; reply_on_stdout(request)"
)


class ProcessBounds(NamedTuple):
    """What a process may take: seconds of work, and bytes of memory."""

    seconds: int
    memory: int


class OutOfBoundsError(Exception):
    """The process used up its time or its memory, or broke down."""


def run_in_separate_process(
    module: str, request: Mapping[str, Any], bounds: ProcessBounds
) -> dict[str, Any]:
    """What the function `reply` of a module gives for a request, both plain data."""
    places = [os.path.abspath(place) for place in sys.path]
    whole = {"module": module, "request": request, "path": places, "bounds": bounds}
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START]
    try:
        done = subprocess.run(
            command, input=json.dumps(whole).encode(), capture_output=True, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise OutOfBoundsError from None
    if done.returncode < 0 or done.returncode == _NO_ROOM:
        # ended by the system, or left without what it needs
        raise OutOfBoundsError
    if done.returncode:
        raise AssertionError(done.stderr.decode(errors="replace"))
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def reply_on_stdout(request: Mapping[str, Any]) -> None:
    """Answer a request on standard output, inside the process."""
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        module: Any = import_module(request["module"])
        module.prepare()
        bound_this_process(*request["bounds"])
        json.dump(module.reply(request["request"]), answers)
        answers.flush()
    except (MemoryError, ImportError, OSError):
        os._exit(_NO_ROOM)
    # nothing that was read runs any more
    os._exit(0)


def bound_this_process(seconds: int, memory: int) -> None:
    """Hold this process to so much work and memory, or to less where the system says so."""
    try:
        import resource
    except ImportError:
        # there is no such thing on Windows: the caller's patience is the only bound
        return
    for kind, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, memory)):
        _, hard = resource.getrlimit(kind)
        if hard == resource.RLIM_INFINITY or hard > most:
            resource.setrlimit(kind, (most, most))
