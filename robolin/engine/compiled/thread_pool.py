"""Pool of idle threads: waking one takes a fraction of the time of starting one."""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any

Ended = SimpleQueue[BaseException | None]

# Work of the worker with this number.  Worker 0 returns whether all work is done:
#     True    do not wait for the other workers
#     False   call worker 0 again whenever another worker returns
#     None    unknown: wait for all workers
RowWork = Callable[[int], bool | None]


class Task:
    """A call `work(worker)` for a thread; its outcome is put into `ended`.

    keep_alive: objects that must live until then, even if the caller is interrupted
    """

    __slots__ = ("ended", "keep_alive", "work", "worker")

    def __init__(self, work: RowWork, worker: int, keep_alive: Any, ended: Ended) -> None:
        self.work, self.worker, self.keep_alive, self.ended = work, worker, keep_alive, ended


class PoolThread:
    """A thread that runs tasks from its queue."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        Thread(target=self._loop, name="robolin-pool", daemon=True).start()

    def submit(self, task: Task) -> None:
        """Queue a task."""
        self._tasks.put(task)

    def _loop(self) -> None:
        while True:
            task = self._tasks.get()
            error = _run(task)
            ended = task.ended
            del task
            ended.put(error)


def _run(task: Task) -> BaseException | None:
    try:
        task.work(task.worker)
    except BaseException as error:
        return error
    return None


# threads that accept tasks; some may still finish a task whose caller has returned
_idle: list[PoolThread] = []

if hasattr(os, "register_at_fork"):
    # a forked child has none of its parent's threads
    os.register_at_fork(after_in_child=_idle.clear)


def run_in_threads(
    work: RowWork,
    workers: int,
    keep_alive: Any = None,
    overlap: Callable[[], Any] = lambda: None,
) -> Any:
    """Run work(0), work(1), … in parallel, the first in this thread; return `overlap()`.

    Fewer workers run if the system has no more threads, and a late thread may find nothing to do:
    workers must not depend on each other.  An error in a worker is raised here, unless all work is
    done without it.  `overlap` runs first, while the threads wake up.
    """
    ended: Ended = SimpleQueue()
    submitted: list[tuple[PoolThread, Task]] = []
    try:
        while len(submitted) < workers - 1 and (thread := _thread()) is not None:
            task = Task(work, len(submitted) + 1, keep_alive, ended)
            submitted.append((thread, task))
            thread.submit(task)
        result = overlap()
        all_done, errors = work(0), []
        for _ in submitted:
            if all_done:
                break
            errors.append(ended.get())
            if all_done is False:
                all_done = work(0)
        if all_done:
            # workers that have not returned have nothing left to do
            for _, task in submitted:
                task.keep_alive = None
            return result
    finally:
        # keep the order, so that the next call gives each thread the same worker number
        _idle.extend(thread for thread, _ in reversed(submitted))
    for error in errors:
        if error is not None:
            raise error
    if all_done is False:
        raise RuntimeError("all workers returned, but rows remain")
    return result


def _thread() -> PoolThread | None:
    """An idle thread or a new one; None if the system has no more threads."""
    try:
        return _idle.pop()
    except IndexError:
        pass
    try:
        return PoolThread()
    except RuntimeError:
        return None
