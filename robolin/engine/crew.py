"""Threads that stand ready: waking one takes a fraction of the time that making one does."""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, NamedTuple

Work = Callable[[int], None]


class Task(NamedTuple):
    """What a helper is to do: `work(worker)`, and then to say how it ended.

    holding: whatever must not go before that, even if whoever asked has been interrupted
    """

    work: Work
    worker: int
    holding: Any
    ended: SimpleQueue[BaseException | None]


class Helper:
    """A thread that does one task after the other and waits in between."""

    def __init__(self) -> None:
        self._asked = Lock()
        self._asked.acquire()
        self._task: Task | None = None
        Thread(target=self._live, name="robolin-helper", daemon=True).start()

    def ask(self, task: Task) -> None:
        """Begin the task at once."""
        self._task = task
        self._asked.release()

    def _live(self) -> None:
        while True:
            self._asked.acquire()
            task, self._task = self._task, None
            assert task is not None, "nobody wakes a helper for nothing"
            error = _done(task)
            ended = task.ended
            del task
            _idle.append(self)
            ended.put(error)


def _done(task: Task) -> BaseException | None:
    try:
        task.work(task.worker)
    except BaseException as error:
        return error
    return None


# helpers that nobody has asked; there are as many as were ever at work at once
_idle: list[Helper] = []

if hasattr(os, "register_at_fork"):
    # a process that was forked off has none of its parent's threads
    os.register_at_fork(after_in_child=_idle.clear)


def together(work: Work, workers: int, holding: Any = None) -> None:
    """Run work(0), work(1), … side by side, the first of them in this thread.

    Where the system has no more threads to give, fewer of them run: they must be able to do
    without each other.
    """
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    asked = 0
    for worker in range(1, workers):
        helper = _helper()
        if helper is None:
            break
        helper.ask(Task(work, worker, holding, ended))
        asked += 1
    work(0)
    errors = [error for _ in range(asked) if (error := ended.get()) is not None]
    if errors:
        raise errors[0]


def _helper() -> Helper | None:
    """One that stands ready, or a new one if there can be one."""
    try:
        return _idle.pop()
    except IndexError:
        pass
    try:
        return Helper()
    except RuntimeError:
        return None
