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
from robolin.shown import Shown


@dataclass(frozen=True, eq=False)
class Stored(Shown):
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
    """A stored result in memory: what a command wrote with `-o`, in any of its formats.

    Args:
        path: an .npz, .csv, .json, .parquet or .mat file

    Returns:
        an object with
        arrays: name -> float64, complex128 or int64 array, rows first where the result has rows;
            shapes and units as in the `meta`
        joints: the joint names in the order of the arrays
        meta: where it comes from: verb, contract, options, digests

    Raises:
        RobolinError: a file that is not as it was written, or holds no result
        UsageError: an extension that no result has
        FileError: a file that cannot be read

    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "robolin", "forward", "two-link", "-o", "fall.json"]
        >>> _ = subprocess.run(command, check=True)
        >>> stored = robolin.read_result("fall.json")
        >>> stored.joints, stored.arrays["qdd"].shape
        (('shoulder', 'elbow'), (2,))
    """
    with open_stored(path) as stored:
        blocks = list(stored.blocks())
    meta = stored.meta
    if meta["rows"] is None:
        arrays = dict(blocks[0])
    else:
        arrays = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return Stored(arrays, tuple(meta["joints"]), meta)
