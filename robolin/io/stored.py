"""Stored results by their path, whatever format they are in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import Numbers
from robolin.core.notebook import Shown
from robolin.core.results.result import Result
from robolin.io.format_table import FORMATS, extensions, require_known_format
from robolin.io.provenance_reader import entries_of
from robolin.io.stored_file import StoredFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from polars import DataFrame

TIME = "time"


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(Shown):
    """A result read back from a file.

    `stored - other` is by how much its numbers differ from those of another result.

    Fields:
        arrays: name -> float64, complex128 or int64 array of shape (…) or (rows, …), the times as
            'time'; units as in `meta`
        joints: the joint names in the order of the arrays
        meta: where it comes from: verb, contract, options, digests

    Example:
        >>> result = robolin.answer(robolin.load("two-link"), "inverse")
        >>> robolin.write(result, "still.npz")
        >>> stored = robolin.read_result("still.npz")
        >>> stored, stored.arrays["tau"]
        (<Stored result of inverse: tau (2,) [N·m]>, array([19.62 ,  4.905]))
        >>> stored.result == result
        True
    """

    arrays: Mapping[str, Numbers]
    joints: tuple[str, ...]
    meta: Mapping[str, Any]

    def __repr__(self) -> str:
        result = self.result
        return f"<Stored result of {result.verb}: {', '.join(a.summary for a in result.arrays)}>"

    def __sub__(self, other: Result | StoredResult) -> Result:
        """By how much every number is larger than in another result of the same shape."""
        return self.result - other

    @property
    def result(self) -> Result:
        """The result as whoever asked for it had it, with labels and units."""
        meta = self.meta
        return Result(
            verb=meta["verb"],
            arrays=tuple(e.array(self.arrays[e.name]) for e in entries_of(meta) if e.name != TIME),
            joints=self.joints,
            contract=meta["contract"],
            options=meta["options"],
            inputs=meta["inputs"],
            time=self.arrays.get(TIME),
            model=meta["model"],
        )

    def plot(self, *only: str) -> Figure:
        """A figure of matplotlib.

        Args:
            only: names of arrays to draw; those that are looked at first if there are none

        Returns:
            the figure, which a notebook shows and `savefig` writes

        Raises:
            UsageError: an array that is not there
            RobolinError: nothing that can be drawn, or matplotlib is not installed
        """
        return self.result.plot(*only)

    def to_polars(self) -> DataFrame:
        """A data frame with one row per state and the columns of the CSV."""
        return self.result.to_polars()

    def to_pandas(self) -> Any:
        """A data frame of pandas with one row per state and the columns of the CSV."""
        return self.result.to_pandas()

    def _repr_html_(self) -> str:
        """What a notebook shows: tables with names and units, and the contract."""
        return self.result._repr_html_()


@contextmanager
def open_stored(path: str | Path) -> Iterator[StoredFile]:
    """Open a stored result; its provenance is verified at once, its numbers as they are read."""
    hint = f"stored results end in {extensions(FORMATS, ', ')}"
    name = require_known_format(path, FORMATS, "format of results", hint)
    with FORMATS[name].open_result(Path(path)) as stored:
        yield stored


def read_result(path: str | Path) -> StoredResult:
    """A stored result in memory: what a command wrote with `-o`, in any of its formats.

    Args:
        path: an .npz, .csv, .json, .parquet or .mat file

    Returns:
        a `StoredResult` with `.arrays` by name, shapes and units as in its `.meta`, and `.result`,
        all of it as `robolin.answer` gave it

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
    return StoredResult(arrays, tuple(meta["joints"]), meta)
