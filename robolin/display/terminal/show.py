"""The one door out: a result goes to a file, a pipe or a terminal in the form that fits it."""

from __future__ import annotations

import os
import shutil
from typing import TextIO

from robolin.core.results.finite_numbers import require_finite
from robolin.core.results.result import Result, ResultStream, stream_of_one_part
from robolin.io.atomic import replacing
from robolin.io.format_table import FORMATS, PIPED, TABLE, format_of
from robolin.io.write import write_into


def write_shown(
    answer: Result | ResultStream,
    *,
    path: str | None,
    fmt: str | None,
    precision: int,
    color: str,
    stream: TextIO,
) -> None:
    """Write the answer to `path`, or to `stream` if there is none.

    The extension of the path picks the format.  Without a path it is `fmt`, or else a table on a
    terminal and CSV into anything else.  The parts of a stream are taken as they come, by whoever
    made them found to be finite as far as they should be.
    """
    if isinstance(answer, Result):
        require_finite(answer)
        answer = stream_of_one_part(answer)
    if path is not None:
        _write_file(answer, path, format_of(path, fmt), precision)
        return
    terminal = stream.isatty()
    form = fmt or (TABLE if terminal else PIPED)
    if form == TABLE:
        width = shutil.get_terminal_size().columns if terminal else None
        text = _table(answer, width, _colored(color, terminal), precision)
        _write_text(stream, text, terminal)
    else:
        write_into(answer, form, stream)


def _write_file(result: ResultStream, path: str, form: str, precision: int) -> None:
    if form == TABLE:
        with replacing(path) as stream:
            stream.write(_table(result, None, False, precision).encode())
    else:
        FORMATS[form].write(result, path)


def _table(result: ResultStream, width: int | None, color: bool, precision: int) -> str:
    # files of numbers need nothing of this
    from robolin.display.terminal.table import render_table
    from robolin.display.terminal.top_rows import top_rows

    top, rows = top_rows(result)
    return render_table(top, width, color, precision, rows)


def _write_text(stream: TextIO, text: str, terminal: bool) -> None:
    if terminal:
        from robolin.display.terminal.pager import paged

        if paged(text, stream):
            return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        stream.flush()
        # a terminal gets what it can show, a pipe the same bytes everywhere
        encoding = (stream.encoding or "utf-8") if terminal else "utf-8"
        buffer.write(text.encode(encoding, errors="replace"))
    stream.flush()


def _colored(color: str, terminal: bool) -> bool:
    if color == "auto":
        return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return color == "always"
