"""Readers that run other people's programs do so in a process of its own, with bounds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

CPU_SECONDS = 10
# beyond the seconds of work that the process itself is held to, for disks that are slow
_PATIENCE = 6 * CPU_SECONDS

# what the process starts with: its own folders are not known before the request is read
_START = (
    "import json, sys; request = json.load(sys.stdin); sys.path[:] = request['path']; "
    f"from {__name__} import answer; answer(request)"
)


class OutOfBoundsError(Exception):
    """The process used up its time or its memory, or broke down."""


def asked(module: str, request: Mapping[str, Any], memory: int) -> dict[str, Any]:
    """What the function `answer` of a module gives for a request, both plain data.

    memory: how many bytes it may take
    """
    places = [os.path.abspath(place) for place in sys.path]
    whole = {"module": module, "request": request, "path": places, "memory": memory}
    command = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START]
    try:
        done = subprocess.run(
            command, input=json.dumps(whole).encode(), capture_output=True, timeout=_PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise OutOfBoundsError from None
    if done.returncode < 0:
        # ended by the system
        raise OutOfBoundsError
    if done.returncode:
        raise AssertionError(done.stderr.decode(errors="replace"))
    answered: dict[str, Any] = json.loads(done.stdout)
    return answered


def answer(request: Mapping[str, Any]) -> None:
    """Answer a request on standard output, inside the process."""
    answers, sys.stdout = sys.stdout, sys.stderr
    module: Any = import_module(request["module"])
    module.prepare()
    _bound(request["memory"])
    json.dump(module.answer(request["request"]), answers)
    answers.flush()
    # nothing that was read runs any more
    os._exit(0)


def _bound(memory: int) -> None:
    try:
        import resource
    except ImportError:
        # there is no such thing on Windows: the caller's patience is the only bound
        return
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
