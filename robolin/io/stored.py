"""Read stored results of any format by their path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from robolin.core.arrays import COMPLEX, DATETIMES, INTEGER, SINGLE, Numbers
from robolin.core.notebook import DisplayMixin
from robolin.core.records import dataclass
from robolin.core.result import Footer, Result, ResultStream, require_finite
from robolin.errors import UsageError, require_path
from robolin.io.format_table import FORMATS, extensions, require_known_format, with_nan
from robolin.io.provenance import (
    ArrayMeta,
    Blocks,
    Meta,
    companion,
    corrupt_file_error,
    entries_of,
    verified,
)
from robolin.io.table_file import ReadRequest, TableBlock, TableFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from polars import DataFrame


TIME = "time"


@dataclass(frozen=True, eq=False, repr=False)
class StoredResult(DisplayMixin):
    """A result read back from a file.

    `stored - other` is the difference between the numbers of two results.

    Fields:
        arrays: name -> float64, complex128 or int64 array of shape (…) or (rows, …), the times as
            'time'; units as in `meta`
        joints: the joint names in the order of the arrays
        meta: the provenance: verb, contract, options, SHA-256 hashes

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
        """Difference of every number from that of another result of the same shape."""
        return self.result - other

    @property
    def result(self) -> Result:
        """The result as it was computed, with labels and units."""
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

    def plot(self, *only: str, style: str = "light") -> Figure:
        """Plot the arrays with matplotlib.

        Args:
            only: names of arrays to draw; a default selection if omitted
            style: 'light', 'dark', 'paper' or 'presentation'

        Returns:
            the matplotlib `Figure`, which a notebook shows and `savefig` writes

        Raises:
            UsageError: an array does not exist, or an unknown style
            RobolinError: there is nothing to plot, or matplotlib is not installed
        """
        return self.result.plot(*only, style=style)

    def to_polars(self) -> DataFrame:
        """A data frame with one row per state and the columns of the CSV."""
        return self.result.to_polars()

    def to_pandas(self) -> Any:
        """A data frame of pandas with one row per state and the columns of the CSV."""
        return self.result.to_pandas()

    def _repr_html_(self) -> str:
        """HTML for notebooks: tables with names and units, and the contract."""
        return self.result._repr_html_()


@contextmanager
def open_stored(path: str | Path) -> Iterator[StoredFile]:
    """Open a stored result; the provenance is verified now, the numbers while they are read."""
    hint = f"use a file with a stored result: {extensions(FORMATS, ', ')}"
    name = require_known_format(path, FORMATS, "result format", hint)
    with FORMATS[name].open_result(Path(path)) as stored:
        yield stored


def read_result(path: str | Path) -> StoredResult:
    """Read a stored result into memory: a file that a command wrote with `-o`, in any format.

    Args:
        path: an .npz, .csv, .json, .parquet or .mat file

    Returns:
        a `StoredResult` with `.arrays` by name, shapes and units as in its `.meta`, and `.result`,
        which equals the result of `robolin.answer`

    Raises:
        RobolinError: the file was changed or damaged, or contains no result
        UsageError: a file extension that results do not have
        FileError: the file cannot be read

    Example:
        >>> import subprocess, sys
        >>> command = [sys.executable, "-m", "robolin", "forward", "two-link", "-o", "fall.json"]
        >>> _ = subprocess.run(command, check=True)
        >>> stored = robolin.read_result("fall.json")
        >>> stored.joints, stored.arrays["qdd"].shape
        (('shoulder', 'elbow'), (2,))
    """
    require_path(path=path)
    with open_stored(path) as stored:
        blocks = list(stored.blocks())
    meta = stored.meta
    if meta["rows"] is None:
        arrays = dict(blocks[0])
    else:
        arrays = {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}
    return StoredResult(arrays, tuple(meta["joints"]), meta)


def stored_table(table: TableFile, meta: Meta, where: str) -> StoredFile:
    """A stored result in a table, whose columns must be those of its provenance."""
    expected = [name for entry in entries_of(meta) for name in entry.column_names()]
    if list(table.names) != expected:
        odd = next(
            (name for name, other in zip(table.names, expected, strict=False) if name != other),
            f"number {min(len(table.names), len(expected)) + 1}",
        )
        message = f"columns do not match the provenance, starting at column '{odd}'"
        raise corrupt_file_error(where, message + companion(where))
    return StoredFile(where, meta, partial(_blocks, table, meta, where))


def _blocks(table: TableFile, meta: Meta, where: str, rows: int) -> Blocks:
    """Assemble the columns of each array, block by block."""
    entries = entries_of(meta)
    widths = [len(entry.column_names()) for entry in entries]
    starts = [sum(widths[:i]) for i in range(len(widths))]
    indices = {
        entry.name: range(start, start + width)
        for entry, start, width in zip(entries, starts, widths, strict=True)
    }
    units = {kind: unit for unit, kind in DATETIMES.items()}
    datetimes = {
        i: units[e.numbers] for e in entries if e.numbers in units for i in indices[e.name]
    }
    integers = [i for e in entries if e.numbers is INTEGER for i in indices[e.name]]
    request = ReadRequest(
        range(len(table.names)),
        rows,
        allow_nan=True,
        integers=[*integers, *datetimes],
        datetimes=datetimes,
    )
    one_state, seen = meta["rows"] is None, 0
    for block in table.blocks(request):
        seen += len(block.values)
        if one_state and seen > 1:
            message = f"must have one row, because it is a result for one state, got {seen} or more"
            raise corrupt_file_error(where, message + companion(where))
        yield {e.name: _array(e, block, indices[e.name], one_state) for e in entries}
    if one_state and not seen:
        raise corrupt_file_error(
            where, "must have one row, because it is a result for one state, got 0"
        )


def _array(entry: ArrayMeta, block: TableBlock, indices: range, one_state: bool) -> Numbers:
    values: Numbers
    if entry.numbers is INTEGER or entry.numbers in DATETIMES.values():
        values = np.stack([block.integers[i] for i in indices], axis=1).view(entry.numbers.dtype)
    else:
        values = block.values[:, indices.start : indices.stop]
        # NaN has many bit patterns; use one
        values = np.where(np.isnan(values), np.nan, values)
        if entry.numbers is SINGLE:
            values = values.astype(np.float32)
    if entry.numbers is COMPLEX:
        values = np.ascontiguousarray(values).view(np.complex128)
    return values.reshape(entry.shape if one_state else (len(values), *entry.shape[1:]))


# the number of rows that a command computes in one pass
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class StoredFile:
    """A stored result whose provenance has been verified.

    unverified: reads the arrays, at most this many rows per block; one block for a single state
    """

    path: str
    meta: Meta
    unverified: Callable[[int], Blocks]

    @property
    def entries(self) -> tuple[ArrayMeta, ...]:
        """The arrays in the order they are stored."""
        return entries_of(self.meta)

    def blocks(self, rows: int = BLOCK_ROWS) -> Blocks:
        """The arrays in blocks of rows; damage raises an error after the last block."""
        return verified(self.unverified(rows), self.meta, self.path)

    def result_stream(self) -> ResultStream:
        """The stored result as a stream, as the command that computed it returned it."""
        ending = Footer(self.meta["contract"], self.meta["inputs"], self.meta["model"])
        return ResultStream(self._parts(), lambda _: ending, lambda: self.meta["rows"])

    def _parts(self) -> Iterator[Result]:
        for block in self.blocks():
            yield Result(
                verb=self.meta["verb"],
                arrays=tuple(e.array(block[e.name]) for e in self.entries if e.name != "time"),
                joints=tuple(self.meta["joints"]),
                contract={},
                options=self.meta["options"],
                inputs={},
                time=block.get("time"),
            )


def require_holdable(result: Result, form: str) -> None:
    """Reject numbers that are not finite, except requested NaN in a format that can hold NaN."""
    import numpy as np

    if result.options.get("on-bad-row") != "nan":
        require_finite(result)
    elif not FORMATS[form].holds_nan and any(np.isnan(a.values).any() for a in result.arrays):
        hint = f"write {extensions(with_nan())} instead"
        raise UsageError(
            f"{form.upper()} cannot represent NaN", where="--on-bad-row=nan", hint=hint
        )
