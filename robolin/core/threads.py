"""Work done by another thread while this one does its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, wait
from functools import cache
from queue import Empty, SimpleQueue
from threading import Event, Thread
from types import GeneratorType
from typing import Generic, TypeVar

T = TypeVar("T")

# so many numbers, 1 MB, take as long to compute as another thread takes to get going
MIN_WORK_PER_THREAD = 1 << 17

# an answer of so many numbers, 8 MB, or fewer is read, computed and written by two threads
# besides the main one at most: one that computes along, and one that sees to the disk
SMALL_RESULT = 1 << 20

# a thread that waits for a pipe may never come back
_PATIENCE = 2.0

# whoever waits looks up so often: once polars is loaded, a signal does not end the waiting
POLL_INTERVAL = 0.2

# threads end only after they have answered
_FORKED = "the thread at work was left behind in the process that this one was forked from"


@cache
def cores() -> int:
    """The processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class _End:
    """What stands behind the last item."""


class _Prefetching(Generic[T]):
    """A thread that makes the next item of a source as soon as the last one was taken."""

    def __init__(self, source: Iterator[T]) -> None:
        self._source = source
        self._wanted: SimpleQueue[bool] = SimpleQueue()
        self._made: SimpleQueue[T | _End | BaseException] = SimpleQueue()
        self._done = Event()
        self._thread = Thread(target=self._work, name="robolin-prefetch", daemon=True)
        self._thread.start()
        self._wanted.put(True)

    def _work(self) -> None:
        while self._wanted.get():
            try:
                self._made.put(next(self._source, _End()))
            except BaseException as error:
                self._made.put(error)
        # threads further up are told that nobody is waiting any more
        close_generator(self._source)
        self._done.set()

    def take(self) -> T | _End:
        """The next item, or what went wrong with it; the one behind it is begun."""
        item = _next(self._made, self._thread)
        if isinstance(item, BaseException):
            raise item
        if not isinstance(item, _End):
            self._wanted.put(True)
        return item

    def stop(self) -> None:
        """No more items are wanted."""
        self._wanted.put(False)
        if self._thread.is_alive():
            self._done.wait(_PATIENCE)


def prefetch(
    items: Iterable[T], goes_on: Callable[[T], bool] | None = None
) -> Generator[T, None, None]:
    """The same items, the next one being made while the last one is used.

    goes_on: with it, items are made by whoever asks for them until one comes of which this is
             true; only from then on is there enough to do for another thread

    Whoever leaves early closes the iterator; the thread then stops after what it is at.
    """
    source = iter(items)
    thread = _Prefetching(source) if goes_on is None else None
    try:
        while True:
            item = next(source, _End()) if thread is None else thread.take()
            if isinstance(item, _End):
                return
            if thread is None and goes_on is not None and goes_on(item):
                thread = _Prefetching(source)
            yield item
    finally:
        if thread is None:
            close_generator(source)
        else:
            thread.stop()


def after_short_answer(numbers: Callable[[T], float]) -> Callable[[T], bool]:
    """True of an item once those so far have more numbers than a short answer has."""
    so_far = 0.0

    def goes_on(item: T) -> bool:
        nonlocal so_far
        so_far += numbers(item)
        return so_far > SMALL_RESULT

    return goes_on


def threads_for(numbers: float) -> int | None:
    """How many threads compute an answer of so many numbers; None for one per processor."""
    if numbers < MIN_WORK_PER_THREAD:
        return 1
    return 2 if numbers <= SMALL_RESULT else None


def from_item(count: int) -> Callable[[object], bool]:
    """True of an item from the one of this number on, counted from 1."""
    before = iter(range(1, count))
    return lambda _: next(before, None) is None


def result_of(future: Future[T]) -> T:
    """What a future comes to, however long it takes, unless a signal comes first."""
    while not wait([future], timeout=POLL_INTERVAL).done:
        pass
    return future.result()


def _next(queue: SimpleQueue[T], maker: Thread) -> T:
    """The next item, however long it takes, unless a signal comes first."""
    while True:
        try:
            return queue.get(timeout=POLL_INTERVAL)
        except Empty:
            if not maker.is_alive() and queue.empty():
                raise RuntimeError(_FORKED) from None


def close_generator(items: Iterable[T]) -> None:
    """Tell a generator that no more of its items are wanted; anything else needs no telling.

    Nor can one be told that another thread is waiting for.
    """
    if not isinstance(items, GeneratorType):
        return
    try:
        items.close()
    except ValueError:
        if not items.gi_running:
            raise


def in_background(work: Callable[[], None], leave: Event) -> None:
    """Have work done by another thread, so that a signal can interrupt the waiting for it.

    leave: set if that happens; the work is expected to look at it and to stop
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
        done.wait(_PATIENCE)
    if error is not None:
        raise error
