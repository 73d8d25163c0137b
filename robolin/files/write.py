"""Results into files and pipes, in the format that the name of the file or a flag says."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TextIO

from robolin.errors import UsageError
from robolin.files.atomic import require_writable
from robolin.files.formats import FORMATS, extensions, format_named, with_nan
from robolin.files.path_names import is_stored
from robolin.results.result import Result, ResultStream, require_finite


def require_target(path: str, fmt: str | None) -> None:
    """Refuse a file that could not be written, before anything is computed for it."""
    format_of(path, fmt)
    if is_stored(path):
        hint = "-o FOLDER/ --part-rows N writes parts into a store; copy a file there otherwise"
        raise UsageError("one file is not written into a store", where=path, hint=hint)
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


def require_holdable(result: Result, form: str) -> None:
    """Refuse what is not finite, but for NaN that was asked for where the format has a place."""
    import numpy as np

    if result.options.get("on-bad-row") != "nan":
        require_finite(result)
    elif not FORMATS[form].holds_nan and any(np.isnan(a.values).any() for a in result.arrays):
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(f"{form.upper()} has no NaN", where="--on-bad-row=nan", hint=hint)


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
