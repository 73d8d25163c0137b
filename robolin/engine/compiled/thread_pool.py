"""Threads that stand ready: waking one takes a fraction of the time that making one does."""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

Ended = SimpleQueue[BaseException | None]

# What worker number so-and-so does.  Worker 0 says whether all is done, whoever did it:
#     True    nobody waits for the others
#     False   worker 0 is asked again whenever one of the others comes back
#     None    it cannot tell, and everybody is waited for
RowWork = Callable[[int], bool | None]


class Task:
    """What a thread is to do: `work(worker)`, and then to say how it ended.

    keep_alive: whatever must not go before that, even if whoever asked has been interrupted
    """

    __slots__ = ("ended", "keep_alive", "work", "worker")

    def __init__(self, work: RowWork, worker: int, keep_alive: Any, ended: Ended) -> None:
        self.work, self.worker, self.keep_alive, self.ended = work, worker, keep_alive, ended


class PoolThread:
    """A thread that does one task after the other and waits in between."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        Thread(target=self._live, name="robolin-pool", daemon=True).start()

    def ask(self, task: Task) -> None:
        """Begin the task at once, or after those asked for before."""
        self._tasks.put(task)

    def _live(self) -> None:
        while True:
            task = self._tasks.get()
            error = _done(task)
            ended = task.ended
            del task
            ended.put(error)


def _done(task: Task) -> BaseException | None:
    try:
        task.work(task.worker)
    except BaseException as error:
        return error
    return None


# threads that may be asked, though one or the other is still at work for somebody who has gone on;
# there are as many as were ever asked at once
_idle: list[PoolThread] = []

if hasattr(os, "register_at_fork"):
    # a process that was forked off has none of its parent's threads
    os.register_at_fork(after_in_child=_idle.clear)


def run_in_threads(
    work: RowWork,
    workers: int,
    keep_alive: Any = None,
    meanwhile: Callable[[], Any] = lambda: None,
) -> Any:
    """Run work(0), work(1), … side by side, the first of them in this thread.

    Where the system has no more threads to give, fewer of them run, and a thread that wakes up
    late may find nothing left to do: they must be able to do without each other.  An error in one
    of them is an error here, unless all is done without it.
    What `meanwhile` does is done first, while the threads wake up, and comes back.
    """
    ended: Ended = SimpleQueue()
    asked: list[tuple[PoolThread, Task]] = []
    try:
        while len(asked) < workers - 1 and (thread := _thread()) is not None:
            task = Task(work, len(asked) + 1, keep_alive, ended)
            asked.append((thread, task))
            thread.ask(task)
        found = meanwhile()
        all_done, errors = work(0), []
        for _ in asked:
            if all_done:
                break
            errors.append(ended.get())
            if all_done is False:
                all_done = work(0)
        if all_done:
            # whoever is not back yet has nothing to do any more
            for _, task in asked:
                task.keep_alive = None
            return found
    finally:
        # the next call finds each of them in the same place
        _idle.extend(thread for thread, _ in reversed(asked))
    for error in errors:
        if error is not None:
            raise error
    if all_done is False:
        raise RuntimeError("everybody is back, and something is left to do")
    return found


def _thread() -> PoolThread | None:
    """One that stands ready, or a new one if there can be one."""
    try:
        return _idle.pop()
    except IndexError:
        pass
    try:
        return PoolThread()
    except RuntimeError:
        return None
