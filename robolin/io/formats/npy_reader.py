"""Read recordings in NPY files: a matrix with one row per time, or a structured array."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from robolin.errors import RobolinError
from robolin.io.formats.array_table import StoredArray, array_in_memory, arrays_table
from robolin.io.formats.npz_reader import ARCHIVE_ERRORS
from robolin.io.table_file import TableFile, digest_of

_MAGIC = b"\x93NUMPY"
_HINT = "store numbers of shape (rows, columns): numpy.save(file, array)"


@contextmanager
def open_npy(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The columns of an array: by index, or by the names of its fields."""
    if part:
        hint = f"use {location}"
        raise RobolinError("an NPY file has no parts", where=file, hint=hint)
    with open(location, "rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            hint = "name an archive FILE.npz; write an array with numpy.save(file, array)"
            raise RobolinError("not an NPY file", where=file, hint=hint)
        try:
            # mapped: memory use does not depend on the number of rows
            values = np.load(location, mmap_mode="r", allow_pickle=False)
        except (*ARCHIVE_ERRORS, OverflowError, TypeError) as error:
            raise RobolinError("not an NPY file, or damaged", where=file, hint=_HINT) from error
        arrays = _arrays(values, file)
        table = arrays_table(arrays, len(values), file, lambda: digest_of(stream))
        if values.dtype.names is None:
            table = replace(table, names=[str(i) for i in range(len(table.names))], numbered=True)
        yield table


def _arrays(values: npt.NDArray[Any], file: str) -> list[StoredArray]:
    """The fields of a structured array, or the array itself."""
    if values.dtype.names is not None and values.ndim == 1:
        arrays = [array_in_memory(name, values[name]) for name in values.dtype.names]
        arrays = [each for each in arrays if each.is_numeric and len(each.shape) <= 2]
    else:
        arrays = [array_in_memory("column", values)]
    if not len(values.shape) or not all(
        each.is_numeric and len(each.shape) in (1, 2) for each in arrays
    ):
        message = f"must be an array of numbers with rows, got {values.dtype} {values.shape}"
        raise RobolinError(message, where=file, hint=_HINT)
    if not (len(values) and arrays):
        raise RobolinError("no rows", where=file, hint=_HINT)
    return arrays
