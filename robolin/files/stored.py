"""Stored results by their path, whatever format they are in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from robolin.errors import UsageError
from robolin.files.npz.stored_npz import Stored, open_npz
from robolin.files.stored_file import StoredFile

EXTENSIONS = (".npz", ".csv", ".json", ".parquet")


@contextmanager
def open_stored(path: str | Path) -> Iterator[StoredFile]:
    """Open a stored result; its provenance is verified at once, its numbers as they are read."""
    path = Path(path)
    extension = path.suffix.lower()
    if extension == ".npz":
        with open_npz(path) as archive:
            yield StoredFile(str(path), archive.meta, archive.blocks)
    elif extension == ".json":
        from robolin.files.json.stored_json import open_json

        with open_json(path) as stored:
            yield stored
    elif extension in EXTENSIONS:
        from robolin.files.stored_tables import open_csv, open_parquet

        with (open_csv if extension == ".csv" else open_parquet)(path) as stored:
            yield stored
    else:
        raise UsageError(
            f"'{extension}' is no format of results" if extension else "the name has no extension",
            where=str(path),
            hint=f"stored results end in {', '.join(EXTENSIONS)}",
        )


def read_result(path: str | Path) -> Stored:
    """A stored result in memory: what a command wrote with `-o`, in any of its formats.

    Args:
        path: an .npz, .csv, .json or .parquet file

    Returns:
        an object with
        arrays: name -> float64 array, rows first where the result has rows; shapes and units as
            in the `meta`
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
