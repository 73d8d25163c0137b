"""Replace the worker processes of readers by forks of a small process that has their libraries.

A file then costs milliseconds; limits and results are the same.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from functools import cache
from importlib import import_module
from typing import IO, Any
from unittest.mock import patch

from robolin.description.mjcf import mjcf_reader
from robolin.description.worker_process import OutOfBoundsError, ProcessBounds, bound_this_process
from robolin.description.xacro import xacro_text

SERVER = "from tests.forked_readers import serve; serve()"


class Spent:
    """Seconds and the largest memory of the readers of this process, in bytes."""

    seconds = 0.0
    memory = 0


def forked_readers() -> AbstractContextManager[object]:
    """While it lasts, xacro and MJCF are read in forked processes."""
    stack = ExitStack()
    for module in (xacro_text, mjcf_reader):
        stack.enter_context(patch.object(module, "run_in_separate_process", _run_forked))
    return stack


@cache
def _server(_: int) -> subprocess.Popen[bytes]:
    """Start the server of this process, which ends when its standard input is closed."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([root, *sys.path])}
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    atexit.register(server.communicate)
    return server


def _run_forked(module: str, request: Mapping[str, Any], bounds: ProcessBounds) -> dict[str, Any]:
    server = _server(os.getpid())
    assert server.stdin is not None
    assert server.stdout is not None
    message = {"module": module, "request": request, "bounds": bounds, "folder": os.getcwd()}
    message["env"] = {**os.environ}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    answer = json.loads(server.stdout.readline())
    Spent.seconds += answer["seconds"]
    Spent.memory = max(Spent.memory, answer["memory"])
    if answer["code"] < 0:
        raise OutOfBoundsError
    if answer["code"]:
        raise AssertionError(answer["text"])
    document: dict[str, Any] = json.loads(answer["text"])
    return document


def serve() -> None:
    """Fork for each request on standard input; its result and costs go to standard output."""
    for name in ("mjcf.mjcf_worker", "xacro.xacro_worker"):
        try:
            import_module(f"robolin.description.{name}").prepare()
        except ImportError:
            # the files that need it are not read
            continue
    gc.freeze()
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    for line in sys.stdin:
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            _reply(json.loads(line), open(write, "w", encoding="utf-8"))  # noqa: SIM115
        os.close(write)
        with open(read, encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        _, status, used = os.wait4(child, 0)
        answer = {
            "code": os.waitstatus_to_exitcode(status),
            "text": text,
            "seconds": used.ru_utime + used.ru_stime,
            "memory": 1024 * used.ru_maxrss,
        }
        output.write(json.dumps(answer) + "\n")
        output.flush()


def _reply(message: Mapping[str, Any], stream: IO[str]) -> None:
    """Write the reply of a reader, within its limits, and end this process."""
    code = 1
    try:
        os.chdir(message["folder"])
        os.environ.clear()
        os.environ.update(message["env"])
        with open("/proc/self/statm") as text:
            # memory of the imported libraries does not count against the reader's limit
            used = int(text.read().split()[0]) * resource.getpagesize()
        bounds = ProcessBounds(*message["bounds"])
        bound_this_process(bounds.seconds, used + bounds.memory)
        stream.write(json.dumps(import_module(message["module"]).reply(message["request"])))
        code = 0
    except BaseException as error:
        stream.write(f"{type(error).__name__}: {error}")
    stream.flush()
    os._exit(code)
