"""Write a result to a pipe or a terminal in a suitable format.

A table shows some rows of a long result and the extremes of all of them.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import field, replace
from io import BytesIO
from typing import Any, TextIO

from robolin.core.arrays import np
from robolin.core.choices import base_verb
from robolin.core.records import dataclass
from robolin.core.result import Result, ResultStream, checked_stream
from robolin.io.format_table import FORMATS, PIPED, TABLE

SHOWN = 10
# on a small screen, next to minimum and maximum
_FEWEST = 4
# lines of a screen for headline, other arrays and assumptions
_OTHER_LINES = 19
# rows of a stream that are kept before some are chosen
_MOST_HELD = 128


def rows_for(height: int | None) -> int:
    """The number of rows for a screen of this height; None for any height."""
    return SHOWN if height is None else max(_FEWEST, min(SHOWN, height - _OTHER_LINES))


@dataclass
class RowSummary:
    """The number of rows of a result, and the minimum and maximum of each entry.

    shown:     number of rows that a table shows
    picked:    indices of these rows, if they are not the first ones
    stability: number of rows whose least stable pole is unstable (-1), marginal (0), stable (1)
    """

    shown: int = SHOWN
    picked: tuple[int, ...] = ()
    total: int = 0
    lowest: dict[str, Any] = field(default_factory=dict)
    highest: dict[str, Any] = field(default_factory=dict)
    stability: Counter[int] = field(default_factory=Counter)

    def add(self, part: Result) -> None:
        """Include further rows."""
        self.total += part.batch or 0
        self.stability.update(_least_stable(part))
        for array in part.arrays:
            if array.values.dtype.kind not in "fi" or not len(array.values):
                continue
            # NaN stands for a row without a result
            low: Any = np.fmin.reduce(array.values)
            high: Any = np.fmax.reduce(array.values)
            self.lowest[array.name] = np.fmin(low, self.lowest.setdefault(array.name, low))
            self.highest[array.name] = np.fmax(high, self.highest.setdefault(array.name, high))

    @property
    def is_longer(self) -> bool:
        """True if the table does not show all rows."""
        return self.total > self.shown

    def index(self, row: int) -> int:
        """The index in the result of a row of the table."""
        return self.picked[row] if self.picked else row

    def extremes(self, name: str) -> tuple[Any, Any] | None:
        """Minimum and maximum of an array over all rows; None if they are not known."""
        return (self.lowest[name], self.highest[name]) if name in self.lowest else None

    def note(self, ends: bool = True) -> str:
        """Which rows a table shows, with or without extremes; empty if it shows all."""
        if not self.is_longer:
            return ""
        shown = f"{self.shown} of {self.total} rows"
        parts = [shown if self.picked else f"the first {shown}"]
        parts += ["min and max are over all rows"] if ends else []
        return "; ".join([*parts, "-o FILE keeps them all"])


def shown_stability(result: Result) -> Any:
    """Stability of each pole: 1, 0 or -1; 0 for slow poles, which rounded inputs decide."""
    # import here: the numbers of most results have no scale
    from robolin.core.natural_scales import UNDECIDED_RATE

    slow = result["frequency"] < UNDECIDED_RATE
    return np.where(slow & np.isfinite(result["stability"]), 0, result["stability"])


def _least_stable(part: Result) -> list[int]:
    """Stability of the least stable pole of each row: -1, 0 or 1; empty without poles."""
    if part.batch is None:
        return []
    if "stability" in part:
        # NaN stands for a row without a result
        return [int(least) for least in shown_stability(part).min(axis=1) if least == least]
    if base_verb(part.verb) != "lqr" or "poles" not in part:
        return []
    poles = part["poles"]
    inside = np.abs(poles) < 1.0 if "dt" in part.options else poles.real < 0.0
    return [1 if row.all() else -1 for row in inside]


def summarized(result: Result, shown: int = SHOWN) -> RowSummary:
    """The summary of a result that holds all its rows."""
    summary = RowSummary(shown)
    if result.batch is not None:
        summary.add(result)
    return summary


def spread_rows(result: ResultStream, shown: int = SHOWN) -> tuple[Result, RowSummary]:
    """Evenly spaced rows from the first to the last, and a summary of all.

    Rows of a long result are spaced by multiples of a power of two.  A single state has no rows.
    """
    summary = RowSummary(shown)
    held: list[tuple[int, Result]] = []
    last: list[tuple[int, Result]] = []
    stride = 1
    for part in result.parts:
        if part.batch is None:
            return part, summary
        first = summary.total
        summary.add(part)
        while -(-summary.total // stride) > _MOST_HELD:
            stride *= 2
            held = [(row, each) for row, each in held if row % stride == 0]
        kept = range(-(-first // stride) * stride, summary.total, stride)
        held += [(row, _copied(part, row - first)) for row in kept]
        if part.batch:
            last = [(summary.total - 1, _copied(part, part.batch - 1))]
    rows = dict([*held, *last])
    if summary.is_longer:
        spaced = np.linspace(0, summary.total - 1, shown)
        known = np.array(list(rows))
        # with a stride, the same row may be nearest twice
        summary.picked = tuple(sorted({int(known[np.abs(known - x).argmin()]) for x in spaced}))
        summary.shown = len(summary.picked)
    ending = result.ending(summary.total)
    parts = [rows[row] for row in summary.picked or sorted(rows)]
    top = replace(_joined(parts), contract=ending.contract, inputs=ending.inputs)
    return replace(top, model=ending.model), summary


def _copied(part: Result, row: int) -> Result:
    """One row as a copy, so that the other rows of the part can be freed."""
    one = part.rows(row, row + 1)
    arrays = tuple(replace(array, values=array.values.copy()) for array in one.arrays)
    return replace(one, arrays=arrays)


def _joined(parts: list[Result]) -> Result:
    first = parts[0]
    stored = [dict(part.stored()) for part in parts]
    values: Mapping[str, Any] = {
        name: np.concatenate([part[name] for part in stored]) for name in stored[0]
    }
    arrays = tuple(replace(array, values=values[array.name]) for array in first.arrays)
    return replace(first, arrays=arrays, time=values.get("time"))


def write_result(
    answer: Result | ResultStream,
    *,
    path: str | None,
    fmt: str | None,
    precision: int | None,
    color: str,
    stream: TextIO,
    everything: bool = False,
    contract: bool = False,
    lines_after: Callable[[], int] = lambda: 0,
) -> None:
    """Write the result to `stream`, or as a table to the file `path`.

    The format of a stream is `fmt`, or else a table on a terminal and CSV otherwise.  Parts are
    consumed in order; the producer has already checked that they are finite.

    lines_after: number of lines that a table on a terminal leaves for messages; called when all
                 rows are computed
    """
    answer = checked_stream(answer)
    if path is not None:
        _write_file(answer, path, precision)
        return
    terminal = stream.isatty()
    form = fmt or (TABLE if terminal else PIPED)
    if form == TABLE:
        size = _screen() if terminal else None
        colored = _colored(color, terminal)
        text = _table(answer, size, colored, precision, everything, contract, lines_after)
        _write_text(stream, text, terminal)
    else:
        _write_stream(answer, form, stream)


def _write_file(result: ResultStream, path: str, precision: int | None) -> None:
    from robolin.io.atomic import atomic_write

    with atomic_write(path) as stream:
        stream.write(_table(result, None, False, precision or 6, True, True).encode())


def _write_stream(result: ResultStream, form: str, stream: TextIO) -> None:
    """Write the result into a text stream, as bytes if the stream has a buffer."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        held = BytesIO()
        FORMATS[form].write_to(result, held)
        stream.write(held.getvalue().decode())
    else:
        stream.flush()
        FORMATS[form].write_to(result, buffer)
    stream.flush()


def _table(
    result: ResultStream,
    size: os.terminal_size | None,
    color: bool,
    precision: int | None,
    everything: bool,
    contract: bool,
    lines_after: Callable[[], int] = lambda: 0,
) -> str:
    # import here: numeric output files do not need tables
    from robolin.display.terminal.table import DIGITS, render_table

    width = None if size is None else size.columns
    height = None if size is None or everything else size.lines
    top, rows = spread_rows(result, rows_for(height))
    # messages of the computation are known now
    height = None if height is None else max(height - lines_after(), 1)
    return render_table(
        top, width, color, precision or DIGITS, rows, height=height, contract=contract
    )


def _screen() -> os.terminal_size:
    # import here: numbers need no terminal, and the import loads compression libraries
    from shutil import get_terminal_size

    return get_terminal_size()


def _write_text(stream: TextIO, text: str, terminal: bool) -> None:
    if terminal and page_text(text, stream):
        return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        stream.flush()
        # on a terminal replace characters it cannot encode; a pipe gets UTF-8 everywhere
        encoding = (stream.encoding or "utf-8") if terminal else "utf-8"
        buffer.write(text.encode(encoding, errors="replace"))
    stream.flush()


def _colored(color: str, terminal: bool) -> bool:
    if color == "auto":
        return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return color == "always"


# less: quit if the text fits, keep colours, leave the text on the screen
_LESS = "FRX"


def page_text(text: str, stream: TextIO) -> bool:
    """Show the text in a pager; False without a terminal, or if the text fits on the screen."""
    if not _is_interactive(stream):
        return False
    from shutil import get_terminal_size

    # a page can be scrolled back without a pager
    if text.count("\n") < 2 * get_terminal_size().lines:
        return False
    program = _program()
    if not program:
        return False
    import subprocess

    try:
        pager = subprocess.Popen(
            program,
            stdin=subprocess.PIPE,
            stdout=stream.fileno(),
            env={"LESS": _LESS, **os.environ},
        )
    except OSError:
        return False
    # the pager handles Ctrl-C while it runs
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with suppress(OSError):
            pager.communicate(text.encode(stream.encoding or "utf-8", errors="replace"))
        pager.wait()
    finally:
        signal.signal(signal.SIGINT, before)
    return True


def _is_interactive(stream: TextIO) -> bool:
    if os.environ.get("TERM") == "dumb" or sys.stdin is None or not sys.stdin.isatty():
        return False
    try:
        # replacement streams have no file descriptor
        return stream.isatty() and os.isatty(stream.fileno())
    except OSError:
        return False


def _program() -> list[str]:
    """The command of PAGER, else less; empty for an empty PAGER or cat."""
    import shlex
    from shutil import which

    command = os.environ.get("ROBOLIN_PAGER", os.environ.get("PAGER", "less"))
    try:
        words = shlex.split(command)
    except ValueError:
        return []
    return words if words != ["cat"] and words and which(words[0]) else []
