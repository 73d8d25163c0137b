"""The one door out: a result goes to a file, a pipe or a terminal in the form that fits it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, TextIO

from robolin.errors import UsageError
from robolin.files.atomic import replacing, require_writable
from robolin.files.csv.csv_writer import write_csv, write_csv_to
from robolin.files.json.json_writer import write_json, write_json_to
from robolin.files.npz.npz_writer import write_npz
from robolin.files.parquet.parquet_writer import write_parquet
from robolin.results.result import Result, ResultStream, require_finite, whole
from robolin.terminal.table import render_table
from robolin.terminal.top_rows import top_rows

FILE_WRITERS: dict[str, Callable[[ResultStream, str | Path], None]] = {
    "csv": write_csv,
    "json": write_json,
    "npz": write_npz,
    "parquet": write_parquet,
}
STREAM_WRITERS: dict[str, Callable[[ResultStream, BinaryIO], Any]] = {
    "csv": write_csv_to,
    "json": write_json_to,
}
STREAM_FORMATS = ("table", "csv", "json")


def write(
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
    terminal and CSV into anything else.  The parts of a flow are taken as they come, by whoever
    made them found to be finite as far as they should be.
    """
    if isinstance(answer, Result):
        require_finite(answer)
        answer = whole(answer)
    if path is not None:
        _write_file(answer, path, format_of(path, fmt), precision)
        return
    terminal = stream.isatty()
    form = fmt or ("table" if terminal else "csv")
    if form == "table":
        width = shutil.get_terminal_size().columns if terminal else None
        text = _table(answer, width, _colored(color, terminal), precision)
        _write_text(stream, text, terminal)
    else:
        _write_bytes(answer, STREAM_WRITERS[form], stream)


def require_target(path: str, fmt: str | None) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    format_of(path, fmt)
    require_writable(Path(path))


def format_of(path: str, fmt: str | None) -> str:
    """The format that a file is written in."""
    extension = Path(path).suffix.lower().removeprefix(".")
    known = ", ".join(f".{name}" for name in FILE_WRITERS)
    if extension not in FILE_WRITERS:
        if fmt is not None:
            return fmt
        problem = f"the extension '.{extension}'" if extension else "a name without extension"
        raise UsageError(
            f"{problem} does not say what to write",
            where=path,
            hint=f"use one of {known}",
        )
    if fmt is not None and fmt != extension:
        raise UsageError(
            f"the file's extension says {extension}, --format says {fmt}",
            where=path,
            hint="leave out --format: the extension picks the writer",
        )
    return extension


def _write_file(flow: ResultStream, path: str, form: str, precision: int) -> None:
    if form == "table":
        with replacing(path) as stream:
            stream.write(_table(flow, None, False, precision).encode())
    else:
        FILE_WRITERS[form](flow, path)


def _table(flow: ResultStream, width: int | None, color: bool, precision: int) -> str:
    top, rows = top_rows(flow)
    return render_table(top, width, color, precision, rows)


def _write_text(stream: TextIO, text: str, terminal: bool) -> None:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
    else:
        stream.flush()
        # a terminal gets what it can show, a pipe the same bytes everywhere
        encoding = (stream.encoding or "utf-8") if terminal else "utf-8"
        buffer.write(text.encode(encoding, errors="replace"))
    stream.flush()


def _write_bytes(
    flow: ResultStream, writer: Callable[[ResultStream, BinaryIO], Any], stream: TextIO
) -> None:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        held = BytesIO()
        writer(flow, held)
        stream.write(held.getvalue().decode())
    else:
        stream.flush()
        writer(flow, buffer)
    stream.flush()


def _colored(color: str, terminal: bool) -> bool:
    if color == "auto":
        return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return color == "always"
