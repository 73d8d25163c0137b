"""How far a long trajectory has come, on stderr: a bar for who watches, else a line at times."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic as now
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

# what is done sooner needs no bar
_PATIENCE = 0.5
# seconds between the lines of a log
_LOGGED_EVERY = 30.0


class RowProgress:
    """A bar with the share of the file, rows, rows per second and the time left.

    shown: whether to draw a bar
    log:   is told how far it has come, now and then, where there is no bar
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
        """Rows are about to come; `size` is how far `reached` will get, if anybody knows."""
        self._size, self._start = size, now()

    def add(self, rows: int, reached: int) -> None:
        """So many more rows are done, and the file is done up to `reached`."""
        self._rows += rows
        elapsed = now() - self._start
        if not self._shown:
            self._tell(elapsed, reached)
            return
        if self._bar is None:
            if elapsed < _PATIENCE:
                return
            self._bar = _bar(self._size)
        self._bar.update(self._bar.task_ids[0], completed=reached, said=self._said(elapsed))

    def _said(self, elapsed: float) -> str:
        return f"{self._rows:,} rows, {self._rows / elapsed:,.0f} rows/s"

    def _tell(self, elapsed: float, reached: int) -> None:
        """A line for a log, the next one not soon."""
        if self._log is None or elapsed - self._logged < _LOGGED_EVERY:
            return
        self._logged = elapsed
        text = self._said(elapsed)
        if self._size and reached:
            left = elapsed * max(self._size / reached - 1.0, 0.0)
            text += f", {min(reached / self._size, 1.0):.0%}, about {left:,.0f} s left"
        self._log(text)


def stderr_is_terminal() -> bool:
    """Whether stderr is a terminal."""
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
        TextColumn("{task.fields[said]}"),
        TimeRemainingColumn(),
        console=Console(file=sys.stderr),
        transient=True,
    )
    bar.add_task("", total=size, said="")
    bar.start()
    return bar
