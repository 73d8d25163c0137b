"""Results into files and pipes, in the format that the name of the file or a flag says."""

from __future__ import annotations

from io import BytesIO
from typing import TextIO

from robolin.core.results.finite_numbers import require_finite
from robolin.core.results.result import Result, ResultStream
from robolin.errors import UsageError
from robolin.io.format_table import FORMATS, extensions, with_nan


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
