"""Stored results by their path, whatever format they are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from robolin.arrays import Numbers
from robolin.files.formats import FORMATS, extensions, require_known
from robolin.files.stored_file import StoredFile


@dataclass(frozen=True, eq=False)
class Stored:
    """A result read back: arrays by name, the joints in their order, and the provenance."""

    arrays: Mapping[str, Numbers]
    joints: tuple[str, ...]
    meta: Mapping[str, Any]


@contextmanager
def open_stored(path: str | Path) -> Iterator[StoredFile]:
    """Open a stored result; its provenance is verified at once, its numbers as they are read."""
    hint = f"stored results end in {extensions(FORMATS, ', ')}"
    name = require_known(path, FORMATS, "format of results", hint)
    with FORMATS[name].open_result(Path(path)) as stored:
        yield stored


def read_result(path: str | Path) -> Stored:
    """A stored result in memory; a file that is not as it was written is a RobolinError.

    .arrays: name -> array of float64, complex128 or int64, rows first where the result has rows
    .joints: the joint names in the order of the arrays
    .meta:   where it comes from
    """
    with open_stored(path) as stored:
        blocks = list(stored.blocks())
    meta = stored.meta
    if meta["rows"] is None:
        arrays = dict(blocks[0])
    else:
        arrays = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return Stored(arrays, tuple(meta["joints"]), meta)
