"""Results into files and pipes, in the format that the name of the file or a flag says."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TextIO

from robolin.errors import UsageError
from robolin.files.atomic import require_writable
from robolin.files.formats import FORMATS, extensions, format_named
from robolin.results.result import ResultStream


def require_target(path: str, fmt: str | None) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    format_of(path, fmt)
    require_writable(Path(path))


def format_of(path: str, fmt: str | None) -> str:
    """The format that a file is written in."""
    extension = format_named(path)
    if extension not in FORMATS:
        if fmt is not None:
            return fmt
        problem = f"the extension '.{extension}'" if extension else "a name without extension"
        raise UsageError(
            f"{problem} does not say what to write",
            where=path,
            hint=f"use one of {extensions(FORMATS, ', ')}",
        )
    if fmt is not None and fmt != extension:
        raise UsageError(
            f"the file's extension says {extension}, --format says {fmt}",
            where=path,
            hint="leave out --format: the extension picks the writer",
        )
    return extension


def write_into(result: ResultStream, form: str, stream: TextIO) -> None:
    """Write the result in this format into a text stream, by its bytes if it has some."""
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        held = BytesIO()
        FORMATS[form].write_to(result, held)
        stream.write(held.getvalue().decode())
    else:
        stream.flush()
        FORMATS[form].write_to(result, buffer)
    stream.flush()
