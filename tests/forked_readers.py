"""Replace the worker processes of readers by forks of the running process.

A file then costs milliseconds; limits and results are the same.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import warnings
from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from importlib import import_module
from typing import Any
from unittest.mock import patch

from robolin.description.mjcf import mjcf_reader
from robolin.description.worker_process import OutOfBoundsError, ProcessBounds, bound_this_process
from robolin.description.xacro import xacro_text


def forked_readers() -> AbstractContextManager[object]:
    """While it lasts, xacro and MJCF are read in forked processes."""
    stack = ExitStack()
    for module in (xacro_text, mjcf_reader):
        stack.enter_context(patch.object(module, "run_in_separate_process", _run_forked))
    return stack


def _run_forked(module: str, request: Mapping[str, Any], bounds: ProcessBounds) -> dict[str, Any]:
    import_module(module).prepare()
    read, write = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of other threads, but the child needs none of their locks
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _answer(module, request, bounds, write)
    os.close(write)
    with open(read, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise OutOfBoundsError
    if os.WEXITSTATUS(status):
        raise AssertionError(data.decode(errors="replace"))
    found: dict[str, Any] = json.loads(data)
    return found


def _answer(module: str, request: Mapping[str, Any], bounds: ProcessBounds, write: int) -> None:
    code = 1
    with open(write, "w", encoding="utf-8") as stream:
        try:
            sys.stdout = sys.stderr
            # the reader may not let any file grow, including a log of messages
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
            with open("/proc/self/statm") as text:
                # memory of the campaign itself does not count against the reader's limit
                used = int(text.read().split()[0]) * resource.getpagesize()
            bound_this_process(bounds.seconds, used + bounds.memory)
            stream.write(json.dumps(import_module(module).reply(request)))
            code = 0
        except BaseException as error:
            stream.write(f"{type(error).__name__}: {error}")
        stream.flush()
        os._exit(code)
