"""Standard error of a command: progress of long computations, and no messages of libraries.

Computations report progress to a listener that commands set on a terminal.  Polars prints every
damaged page before robolin reports the damaged file, so messages of native libraries are discarded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Protocol, TypeVar

T = TypeVar("T")


class Listener(Protocol):
    """Receives the tasks of a computation; tasks can be nested."""

    def begin(self, task: str) -> None: ...
    def update(self, fraction: float) -> None: ...
    def end(self) -> None: ...


_listener: Listener | None = None


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Report the progress of computations inside to a listener."""
    global _listener
    before, _listener = _listener, listener
    try:
        yield
    finally:
        _listener = before


def stop_listening() -> None:
    """Report no further tasks: another display of progress has started."""
    global _listener
    _listener = None


def track(task: str, items: Iterable[T], total: int) -> Iterable[T]:
    """Iterate over the items of a task, `total` in number, and report their progress.

    >>> list(track("simulating", [1, 2], 2))
    [1, 2]
    """
    return items if _listener is None else _tracked(_listener, task, items, total)


def _tracked(listener: Listener, task: str, items: Iterable[T], total: int) -> Iterator[T]:
    listener.begin(task)
    try:
        for number, item in enumerate(items):
            listener.update(number / total)
            yield item
    finally:
        listener.end()


@contextmanager
def running(task: str) -> Iterator[Callable[[float], None]]:
    """Report that a task runs; call the value with the completed fraction, if it is known."""
    listener = _listener
    if listener is None:
        yield _ignore
        return
    listener.begin(task)
    try:
        yield listener.update
    finally:
        listener.end()


def _ignore(fraction: float) -> None:
    """Accept a fraction without a listener."""


STANDARD_ERROR = 2
# True in a command, whose own messages use another file descriptor; a program that uses the
# library keeps its standard error
_own_messages_separate = False


def separate_own_messages() -> None:
    """Use a separate descriptor for robolin's messages, so that library output can be closed."""
    global _own_messages_separate
    with suppress(OSError, ValueError):
        if sys.stderr is not None and sys.stderr.fileno() == STANDARD_ERROR:
            encoding, errors = sys.stderr.encoding, sys.stderr.errors
            sys.stderr = os.fdopen(os.dup(STANDARD_ERROR), "w", 1, encoding, errors)
            _own_messages_separate = True


def mute_native_stderr() -> None:
    """Discard what libraries print on standard error, if robolin's own messages do not use it."""
    if _own_messages_separate:
        with suppress(OSError):
            discard_output(STANDARD_ERROR)


def discard_output(descriptor: int) -> None:
    """Redirect a file descriptor to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)
