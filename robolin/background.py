"""Work done by another thread while this one does its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, wait
from queue import Empty, SimpleQueue
from threading import Event, Thread
from types import GeneratorType
from typing import TypeVar

T = TypeVar("T")

# a thread that waits for a pipe may never come back
_PATIENCE = 2.0

# whoever waits looks up so often: once polars is loaded, a signal does not end the waiting
_GLANCE = 0.2

# threads end only after they have answered
_FORKED = "the thread at work was left behind in the process that this one was forked from"


class _End:
    """What stands behind the last item."""


def prefetch(items: Iterable[T]) -> Generator[T, None, None]:
    """The same items, the next one being made while the last one is used.

    Whoever leaves early closes the iterator; the thread then stops after what it is at.
    """
    wanted: SimpleQueue[bool] = SimpleQueue()
    made: SimpleQueue[T | _End | BaseException] = SimpleQueue()
    done = Event()

    def work() -> None:
        source = iter(items)
        while wanted.get():
            try:
                made.put(next(source, _End()))
            except BaseException as error:
                made.put(error)
        # threads further up are told that nobody is waiting any more
        close(source)
        done.set()

    thread = Thread(target=work, name="robolin-ahead", daemon=True)
    thread.start()
    wanted.put(True)
    try:
        while not isinstance(item := _next(made, thread), _End):
            if isinstance(item, BaseException):
                raise item
            wanted.put(True)
            yield item
    finally:
        wanted.put(False)
        if thread.is_alive():
            done.wait(_PATIENCE)


def result_of(future: Future[T]) -> T:
    """What a future comes to, however long it takes, unless a signal comes first."""
    while not wait([future], timeout=_GLANCE).done:
        pass
    return future.result()


def _next(queue: SimpleQueue[T], maker: Thread) -> T:
    """The next item, however long it takes, unless a signal comes first."""
    while True:
        try:
            return queue.get(timeout=_GLANCE)
        except Empty:
            if not maker.is_alive() and queue.empty():
                raise RuntimeError(_FORKED) from None


def close(items: Iterable[T]) -> None:
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
