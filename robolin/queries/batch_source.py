"""Sources of many states, in chunks: arrays in memory or the rows of a recording."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np

from robolin.core.arm import Arm
from robolin.core.arrays import Floats
from robolin.errors import UsageError
from robolin.io.trajectories.trajectory import Chunk, split_chunk

if TYPE_CHECKING:
    from robolin.core.arm import Arm


_ROWS_PER_CHUNK = 16384


class BatchSource(Protocol):
    """Rows in chunks, with properties of all rows; a `TrajectoryStream` is one.

    has_columns: missing quantities could have been columns, so their absence is worth a warning
    size:        total size in the units of the chunks, if known
    derived:     given quantities that are derivatives of others
    lines:       contract entries about reading
    time_unit:   unit of the time, if known
    """

    has_columns: bool

    @property
    def name(self) -> str: ...
    @property
    def given(self) -> tuple[str, ...]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...
    @property
    def derived(self) -> tuple[str, ...]: ...
    @property
    def lines(self) -> dict[str, str]: ...
    @property
    def time_unit(self) -> str | None: ...
    @property
    def size(self) -> int | None: ...
    def chunks(self, rows: int | None, *, gaps: bool) -> Iterator[Chunk]: ...
    def most_rows(self) -> int | None: ...
    def inputs(self) -> dict[str, str]: ...


class ArrayRows:
    """Rows of arrays of shape (rows, n), all with the same number of rows."""

    name = "arrays"
    notes = ()
    derived = ()
    time_unit = None
    has_columns = False

    def __init__(self, arm: Arm, arrays: Mapping[str, Floats]) -> None:
        self._arrays = arrays
        self.given = tuple(arrays)
        self.lines: dict[str, str] = {}
        for name, values in arrays.items():
            if values.shape[1] != arm.n:
                message = (
                    f"{name} has {values.shape[1]} values in a row, '{arm.name}' {arm.n} joints"
                )
                hint = f"the joints are, in order: {', '.join(arm.joint_names)}"
                raise UsageError(message, hint=hint)
        lengths = {name: len(values) for name, values in arrays.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} has {rows}" for name, rows in lengths.items())
            raise UsageError(f"the arrays differ in their number of rows: {listed}")
        self.size = next(iter(lengths.values()))
        if not self.size:
            raise UsageError("the arrays have no row", hint="shape (rows, n)")

    def chunks(self, rows: int | None, *, gaps: bool) -> Iterator[Chunk]:
        """Yield all rows; reject non-finite ones by their number, or pass them on as gaps."""
        bad = ~np.all([np.isfinite(each).all(axis=1) for each in self._arrays.values()], axis=0)
        if bad.any() and not gaps:
            row = int(np.argmax(bad))
            names = [
                name for name, each in self._arrays.items() if not np.isfinite(each[row]).all()
            ]
            raise UsageError(f"{names[0]} has a number that is not finite", where=f"row {row + 1}")
        columns = {name: np.where(bad[:, None], np.nan, x) for name, x in self._arrays.items()}
        all_rows = Chunk(
            self.size, columns, None, lambda row: f"row {row + 1}", bad, (0, self.size)
        )
        yield from split_chunk(all_rows, lambda: rows or _ROWS_PER_CHUNK)

    def most_rows(self) -> int:
        return self.size

    def inputs(self) -> dict[str, str]:
        """Return {}: arrays come from no file."""
        return {}
