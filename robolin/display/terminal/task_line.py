"""A line on a terminal with the current task, its progress and the time left."""

from __future__ import annotations

import sys
from threading import Event, RLock, Thread
from time import monotonic as now
from typing import Self

# seconds before the line appears, and between two updates
PATIENCE, INTERVAL = 2.0, 0.25
_CLEAR = "\r\x1b[2K"


class TaskLine:
    """Listener that shows the innermost task, and removes the line at its end.

    The line appears two seconds after the first task began, also if several short ones follow.
    """

    def __init__(self) -> None:
        # name, start and fraction of each task; the fraction is -1.0 until it is known
        self._tasks: list[tuple[str, float, float]] = []
        self._began: float | None = None
        # the last task that ended
        self._ended = ("", 0.0, -1.0)
        self._drawn, self._lock, self._stop = False, RLock(), Event()
        self._thread: Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        with self._lock:
            self._tasks.clear()
            self._clear()

    def begin(self, task: str) -> None:
        with self._lock:
            name, start, fraction = self._ended
            # the next part of a task, such as rows that are written between two parts
            continues = name == task and 0.0 < fraction < 1.0
            self._tasks.append((task, start if continues else now(), -1.0))
            self._began = now() if self._began is None else self._began
            if self._thread is None:
                self._thread = Thread(target=self._run, daemon=True)
                self._thread.start()

    def update(self, fraction: float) -> None:
        with self._lock:
            if self._tasks:
                # a rejected step ends later than the next one
                name, start, largest = self._tasks[-1]
                self._tasks[-1] = (name, start, max(fraction, largest))

    def end(self) -> None:
        with self._lock:
            if self._tasks:
                self._ended = self._tasks.pop()
            self._clear()

    def text(self, now: float) -> str:
        """The line at a time; '' before two seconds have passed."""
        if not self._tasks or self._began is None or now - self._began < PATIENCE:
            return ""
        task, start, fraction = self._tasks[-1]
        elapsed = now - start
        if fraction <= 0.0:
            return f"{task}: {elapsed:.0f} s"
        left = elapsed * max(1.0 / fraction - 1.0, 0.0)
        return f"{task}: {fraction:.0%}, about {left:,.0f} s left"

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.draw(now())

    def draw(self, now: float) -> None:
        """Draw the line of a time over the former one."""
        with self._lock:
            if line := self.text(now):
                self._write(f"{_CLEAR}{line}")
                self._drawn = True

    def _clear(self) -> None:
        if self._drawn:
            self._write(_CLEAR)
            self._drawn = False

    def _write(self, text: str) -> None:
        if sys.stderr is not None:
            sys.stderr.write(text)
            sys.stderr.flush()
