"""Read recordings in HDF5 files, and in MAT-files of version 7.3, with h5py."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from robolin.core.text import did_you_mean
from robolin.errors import RobolinError, UsageError
from robolin.io.formats.array_table import StoredArray, arrays_table, with_rows
from robolin.io.table_file import TableFile, digest_of, reject_decompression_bomb

_MOST_DATASETS = 10_000
_LARGEST_RATIO = 500
# what h5py raises for damaged files
_ERRORS = (OSError, RuntimeError, ValueError, KeyError, TypeError, OverflowError)


@contextmanager
def open_hdf5(location: str, part: str, file: str, joints: Sequence[str]) -> Iterator[TableFile]:
    """The datasets of a file, or of the group `part`, as a table."""
    h5py = _h5py(file)
    with ExitStack() as opened:
        stream = opened.enter_context(open(location, "rb"))
        try:
            root = opened.enter_context(h5py.File(location, "r"))
            group = root[part] if part and part in root else root
            named: dict[str, Any] = {}
            group.visititems(lambda name, each: _collect(named, name, each, h5py))
            if part and (group is root or not isinstance(group, h5py.Group)):
                groups: list[str] = []
                root.visit(groups.append)
                raise UsageError(
                    f"no group '{part}'", where=file, hint=did_you_mean(part, groups[:100])
                )
            arrays = [_stored(name, each, file) for name, each in named.items()]
        except _ERRORS as error:
            raise _damaged(file) from error
        arrays_with_rows, rows, unused = with_rows(arrays, joints, file)
        size = stream.seek(0, 2)
        numbers = 8 * sum(prod(each.shape) for each in arrays_with_rows)
        reject_decompression_bomb(numbers, size, _LARGEST_RATIO, file)
        yield arrays_table(arrays_with_rows, rows, file, lambda: digest_of(stream), unused)


def _h5py(file: str) -> Any:
    try:
        return import_module("h5py")
    except ImportError:
        hint = "pip install h5py, or store the recording as NPZ"
        raise RobolinError("HDF5 files require the package h5py", where=file, hint=hint) from None


def _collect(named: dict[str, Any], name: str | bytes, each: Any, h5py: Any) -> None:
    """Keep a dataset whose numbers are in the file itself; names may be in any encoding."""
    name = name if isinstance(name, str) else name.decode(errors="replace")
    if not isinstance(each, h5py.Dataset) or each.is_virtual or each.external:
        return
    if len(named) >= _MOST_DATASETS:
        raise ValueError("too many datasets")
    if each.dtype.kind in "iuf" and each.ndim in (1, 2) and 0 not in each.shape:
        named[name] = each


def _stored(name: str, dataset: Any, file: str) -> StoredArray:
    def read(first: int, stop: int) -> npt.NDArray[Any]:
        return _numbers(dataset, np.s_[first:stop], file)

    def across(first: int, stop: int) -> npt.NDArray[Any]:
        return _numbers(dataset, np.s_[:, first:stop], file).T

    return StoredArray(name, tuple(dataset.shape), dataset.dtype, read, across)


def _numbers(dataset: Any, rows: Any, file: str) -> npt.NDArray[Any]:
    try:
        return np.asarray(dataset[rows])
    except _ERRORS as error:
        raise _damaged(file) from error


def _damaged(file: str) -> RobolinError:
    hint = "write the file again, or use CSV, NPZ or Parquet"
    return RobolinError("not an HDF5 file, or damaged", where=file, hint=hint)
