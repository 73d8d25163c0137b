"""Progress of long computations on stderr: a bar in a terminal, otherwise log lines."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic as now
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

# seconds before a bar appears
_PATIENCE = 0.5
# seconds between two log lines
_LOGGED_EVERY = 30.0


class RowProgress:
    """A bar with the fraction of the file, rows, rows per second and the time left.

    shown: draw a bar
    log:   called with a progress line from time to time, without a bar
    """

    def __init__(self, shown: bool, log: Callable[[str], None] | None = None) -> None:
        self._log, self._logged = log, 0.0
        self._size: int | None = None
        self._shown = shown
        self._start = now()
        self._rows = 0
        self._bar: Progress | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, size: int | None) -> None:
        """Start; `size` is the final value of `reached`, if known."""
        self._size, self._start = size, now()

    def add(self, rows: int, reached: int) -> None:
        """Count finished rows; the file is processed up to `reached`."""
        self._rows += rows
        elapsed = now() - self._start
        if not self._shown:
            self._write_log(elapsed, reached)
            return
        if self._bar is None:
            if elapsed < _PATIENCE:
                return
            self._bar = _bar(self._size)
        self._bar.update(self._bar.task_ids[0], completed=reached, rate=self._rate_text(elapsed))

    def _rate_text(self, elapsed: float) -> str:
        return f"{self._rows:,} rows, {self._rows / elapsed:,.0f} rows/s"

    def _write_log(self, elapsed: float, reached: int) -> None:
        """Write a log line and schedule the next one."""
        if self._log is None or elapsed - self._logged < _LOGGED_EVERY:
            return
        self._logged = elapsed
        text = self._rate_text(elapsed)
        if self._size and reached:
            left = elapsed * max(self._size / reached - 1.0, 0.0)
            text += f", {min(reached / self._size, 1.0):.0%}, about {left:,.0f} s left"
        self._log(text)


def stderr_is_terminal() -> bool:
    return sys.stderr is not None and sys.stderr.isatty()


def _bar(size: int | None) -> Progress:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    bar = Progress(
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    bar.add_task("", total=size, rate="")
    bar.start()
    return bar
