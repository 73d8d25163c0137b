"""Run work in background threads: prefetching, interruptible waiting, a pool of idle threads."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache
from queue import Empty, SimpleQueue
from threading import Event, Thread
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future


T = TypeVar("T")

# numbers (1 MB) whose computation takes as long as starting a thread
MIN_WORK_PER_THREAD = 1 << 17

# results up to this many numbers (8 MB) use at most two threads besides the main one: one for
# computing and one for writing to the disk
SMALL_RESULT = 1 << 20

# seconds to wait for a thread to end: a thread blocked on a pipe may never end
_END_TIMEOUT = 2.0

# poll interval in seconds: with polars loaded, signals do not interrupt a blocking wait
POLL_INTERVAL = 0.2

# a thread puts its result before it ends: without one, it was lost in a fork
_FORKED = "the worker thread does not exist in this forked process"


@cache
def cores() -> int:
    """Number of processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _End:
    """Sentinel after the last item."""


class _Prefetching(Generic[T]):
    """A thread that produces the next item of a source as soon as the previous one is taken."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._requests: SimpleQueue[bool] = SimpleQueue()
        self._items: SimpleQueue[T | _End | BaseException] = SimpleQueue()
        self._done = Event()
        self._thread = Thread(target=self._work, name="robolin-prefetch", daemon=True)
        self._thread.start()
        self._requests.put(True)

    def _work(self) -> None:
        while self._requests.get():
            try:
                self._items.put(next(self._source, _End()))
            except BaseException as error:
                self._items.put(error)
        # close upstream generators, which stops their threads
        close_generator(self._source)
        self._done.set()

    def take(self) -> T | _End:
        """Return the next item or raise its exception; start producing the following one."""
        item = _next(self._items, self._thread)
        if isinstance(item, BaseException):
            raise item
        if not isinstance(item, _End):
            self._requests.put(True)
        return item

    def stop(self) -> None:
        """Stop producing items."""
        self._requests.put(False)
        if self._thread.is_alive():
            self._done.wait(_END_TIMEOUT)


def prefetch(
    items: Iterable[T], start_when: Callable[[T], bool] | None = None
) -> Generator[T, None, None]:
    """Yield the same items, each produced in a thread while the previous one is used.

    start_when: the thread starts after the first item for which this is true; items up to it are
                produced by the calling thread

    Callers that stop early close the iterator; the thread then ends after its current item.
    """
    source = iter(items)
    thread = _Prefetching(source) if start_when is None else None
    try:
        while True:
            item = next(source, _End()) if thread is None else thread.take()
            if isinstance(item, _End):
                return
            if thread is None and start_when is not None and start_when(item):
                thread = _Prefetching(source)
            yield item
    finally:
        if thread is None:
            close_generator(source)
        else:
            thread.stop()


def after_short_answer(numbers: Callable[[T], float]) -> Callable[[T], bool]:
    """Condition that becomes true once the items so far exceed `SMALL_RESULT` numbers."""
    total = 0.0

    def start_when(item: T) -> bool:
        nonlocal total
        total += numbers(item)
        return total > SMALL_RESULT

    return start_when


def threads_for(numbers: float) -> int | None:
    """Number of threads for a result of this size; None for one per processor."""
    if numbers < MIN_WORK_PER_THREAD:
        return 1
    return 2 if numbers <= SMALL_RESULT else None


def from_item(count: int) -> Callable[[object], bool]:
    """Condition that is true from the given item on, counted from 1."""
    before = iter(range(1, count))
    return lambda _: next(before, None) is None


def result_of(future: Future[T]) -> T:
    """Wait for the result of a future; signals interrupt the wait."""
    # import here: most commands have no futures, and the import loads `logging`
    from concurrent.futures import wait

    while not wait([future], timeout=POLL_INTERVAL).done:
        pass
    return future.result()


def _next(queue: SimpleQueue[T], producer: Thread) -> T:
    """Wait for the next item of a queue; signals interrupt the wait."""
    while True:
        try:
            return queue.get(timeout=POLL_INTERVAL)
        except Empty:
            if not producer.is_alive() and queue.empty():
                raise RuntimeError(_FORKED) from None


def close_generator(items: Iterable[T]) -> None:
    """Close a generator; ignore other iterables and a generator running in a thread."""
    if not isinstance(items, GeneratorType):
        return
    try:
        items.close()
    except ValueError:
        if not items.gi_running:
            raise


def in_background(work: Callable[[], None], leave: Event) -> None:
    """Run work in another thread and wait for it; signals interrupt the wait.

    leave: event set at the end or on interruption; the work must check it and stop
    """
    ended: SimpleQueue[BaseException | None] = SimpleQueue()
    done = Event()

    def run() -> None:
        try:
            work()
            ended.put(None)
        except BaseException as error:
            ended.put(error)
        done.set()

    thread = Thread(target=run, name="robolin-apart", daemon=True)
    thread.start()
    try:
        error = _next(ended, thread)
    finally:
        leave.set()
        done.wait(_END_TIMEOUT)
    if error is not None:
        raise error


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

    ended: Ended
    keep_alive: Any
    work: RowWork
    worker: int

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
        raise RuntimeError("all workers returned, but some rows were not computed")
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
