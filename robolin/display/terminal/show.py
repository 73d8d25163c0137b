"""Write a result to a pipe or a terminal in a suitable format."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from io import BytesIO
from typing import TextIO

from robolin.core.result import Result, ResultStream, checked_stream
from robolin.io.format_table import FORMATS, PIPED, TABLE


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
    from robolin.display.terminal.shown_rows import rows_for, spread_rows
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
