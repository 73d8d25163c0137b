"""Results as MAT-files: arrays with their rows last, names as cells, and the provenance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.results.number_kind import stored_values
from robolin.core.results.result import ResultStream
from robolin.errors import FileError, RobolinError
from robolin.io.formats.mat_words import model_words
from robolin.io.formats.mat_writer import HEADER, HEADER_TEXT, header, write_mat
from robolin.io.provenance_reader import Blocks, Entry, damaged, open_bytes, provenance
from robolin.io.provenance_writer import Digests
from robolin.io.stored_file import StoredFile

META = "meta"
# bytes of all arrays together; writing them takes about three times as much memory
LARGEST_RESULT = 1 << 29


def write_mat_result(result: ResultStream, path: str | Path) -> None:
    """Write every array, `JointName` and `meta`; of a model also what MATLAB has words for.

    All rows are held in memory, so there may not be too many of them.
    """
    digests = Digests()
    parts: dict[str, list[Numbers]] = {}
    size = 0
    for part in digests.passing(result.parts):
        for name, values in part.stored():
            parts.setdefault(name, []).append(stored_values(values))
            size += values.nbytes
        if size > LARGEST_RESULT:
            raise _too_large(str(path))
    variables: dict[str, Any] = {}
    for name in list(parts):
        pieces = parts.pop(name)
        whole = pieces[0] if digests.rows is None else np.concatenate(pieces)
        variables[name] = whole if digests.rows is None else np.moveaxis(whole, 0, -1)
    words = model_words(digests.last, variables, digests.rows)
    write_mat(path, {**variables, **words, META: digests.meta_text(result)})


def _too_large(path: str) -> FileError:
    return FileError(
        f"a MAT-file of more than {LARGEST_RESULT >> 20} MB would not fit in memory well",
        where=path,
        hint="write fewer rows, fewer matrices (--only, only=), or an NPZ file, which may be of "
        "any size",
    )


@contextmanager
def open_mat(path: Path) -> Iterator[StoredFile]:
    """Open a stored result; its arrays are all in memory."""
    where = str(path)
    with open_bytes(path) as stream:
        variables = _variables(stream.read(), where)
    if META not in variables:
        hint = "robolin writes such files with -o FILE.mat"
        raise RobolinError("not a robolin result: it has no 'meta'", where=where, hint=hint)
    meta = provenance("".join(np.atleast_1d(variables[META]).astype(str)), where)

    def blocks(rows: int) -> Blocks:
        arrays = {entry.name: _values(entry, variables, meta, where) for entry in stored.entries}
        total = meta["rows"]
        if total is None:
            yield arrays
            return
        for first in range(0, total, rows):
            yield {name: values[first : first + rows] for name, values in arrays.items()}

    stored = StoredFile(where, meta, blocks)
    yield stored


def _variables(content: bytes, where: str) -> Mapping[str, Any]:
    try:
        from scipy.io import loadmat
    except ImportError as error:
        message = "MAT-files need SciPy, which is not installed"
        raise RobolinError(message, hint="pip install 'robolin[control]'") from error
    if not content.startswith(HEADER.encode()):
        hint = "robolin writes such files with -o FILE.mat"
        raise RobolinError("not a MAT-file that robolin has written", where=where, hint=hint)
    # SciPy may crash on damaged bytes, so that they are found out before
    if content[:HEADER_TEXT] != header(content[HEADER_TEXT:]):
        raise damaged(where, "it was changed after it was stored")
    found: dict[str, Any] = loadmat(BytesIO(content), chars_as_strings=True)
    return found


def _values(entry: Entry, variables: Mapping[str, Any], meta: Any, where: str) -> Numbers:
    """An array as it was before its rows went last; MATLAB knows no vectors and scalars."""
    found = variables.get(entry.name)
    shape = entry.shape if meta["rows"] is None else (*entry.shape[1:], entry.shape[0])
    if not isinstance(found, np.ndarray) or found.size != int(np.prod(shape)):
        raise damaged(where, f"the array '{entry.name}' is missing or of another shape")
    values = np.asarray(found, dtype=entry.numbers.dtype).reshape(shape)
    return values if meta["rows"] is None else np.moveaxis(values, -1, 0)
