"""Threads that stand ready: waking one takes a fraction of the time that making one does."""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Lock, Thread
from typing import Any

Work = Callable[[int], None]


class Helper:
    """A thread that does one piece of work after the other and waits in between."""

    def __init__(self) -> None:
        self._asked, self._done = Lock(), Lock()
        self._asked.acquire()
        self._done.acquire()
        self._work: Work | None = None
        self._worker = 0
        self._holding: Any = None
        self._error: BaseException | None = None
        Thread(target=self._live, name="robolin-helper", daemon=True).start()

    def ask(self, work: Work, worker: int, holding: Any) -> None:
        """Begin `work(worker)` at once, and let nothing that is held go before it ends."""
        self._work, self._worker, self._holding = work, worker, holding
        self._asked.release()

    def wait(self) -> None:
        """Until the work is done; what went wrong in it goes wrong here.

        Somebody who is interrupted here leaves the helper to itself: it is not asked again.
        """
        self._done.acquire()
        error, self._error = self._error, None
        _idle.append(self)
        if error is not None:
            raise error

    def _live(self) -> None:
        while True:
            self._asked.acquire()
            try:
                if self._work is not None:
                    self._work(self._worker)
            except BaseException as error:
                self._error = error
            # until here, even if whoever asked was interrupted meanwhile
            self._work = self._holding = None
            self._done.release()


# helpers that nobody has asked; there are as many as were ever at work at once
_idle: list[Helper] = []

if hasattr(os, "register_at_fork"):
    # a process that was forked off has none of its parent's threads
    os.register_at_fork(after_in_child=_idle.clear)


def together(work: Work, workers: int, holding: Any = None) -> None:
    """Run work(0), work(1), … side by side, the first of them in this thread.

    holding: whatever must not go before all of them have ended
    """
    helpers = [_helper() for _ in range(1, workers)]
    for worker, helper in enumerate(helpers, 1):
        helper.ask(work, worker, holding)
    work(0)
    for helper in helpers:
        helper.wait()


def _helper() -> Helper:
    try:
        return _idle.pop()
    except IndexError:
        return Helper()
