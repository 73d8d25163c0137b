"""The one door out: a result goes to a file, a pipe or a terminal in the form that fits it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, TextIO

from robolin.errors import UsageError
from robolin.output.csv_file import write_csv, write_csv_to
from robolin.output.json_file import write_json, write_json_to
from robolin.output.npz import write_npz
from robolin.output.parquet_file import write_parquet
from robolin.output.replacing import replacing
from robolin.output.result import Result, require_finite
from robolin.output.table import render_table

FILE_WRITERS: dict[str, Callable[[Result, str | Path], None]] = {
    "csv": write_csv,
    "json": write_json,
    "npz": write_npz,
    "parquet": write_parquet,
}
STREAM_WRITERS: dict[str, Callable[[Result, BinaryIO], None]] = {
    "csv": write_csv_to,
    "json": write_json_to,
}
STREAM_FORMATS = ("table", "csv", "json")


def write(
    result: Result,
    *,
    path: str | None,
    fmt: str | None,
    precision: int,
    color: str,
    stream: TextIO,
) -> None:
    """Write the result to `path`, or to `stream` if there is none.

    The extension of the path picks the format.  Without a path it is `fmt`, or else a table on a
    terminal and CSV into anything else.
    """
    require_finite(result)
    if path is not None:
        _write_file(result, path, _format_of(path, fmt), precision)
        return
    terminal = stream.isatty()
    form = fmt or ("table" if terminal else "csv")
    if form == "table":
        width = shutil.get_terminal_size().columns if terminal else None
        text = render_table(result, width, _colored(color, terminal), precision)
        _write_text(stream, text, terminal)
    else:
        _write_bytes(result, STREAM_WRITERS[form], stream)


def _format_of(path: str, fmt: str | None) -> str:
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


def _write_file(result: Result, path: str, form: str, precision: int) -> None:
    if form == "table":
        with replacing(path) as stream:
            stream.write(render_table(result, None, False, precision).encode())
    else:
        FILE_WRITERS[form](result, path)


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
    result: Result, writer: Callable[[Result, BinaryIO], None], stream: TextIO
) -> None:
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        held = BytesIO()
        writer(result, held)
        stream.write(held.getvalue().decode())
    else:
        stream.flush()
        writer(result, buffer)
    stream.flush()


def _colored(color: str, terminal: bool) -> bool:
    if color == "auto":
        return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    return color == "always"
