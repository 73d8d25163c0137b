"""What every file format looks like to the reader: named columns, numbers on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from robolin.errors import RobolinError, raise_all
from robolin.trajectory.trajectory import Floats

_REPORTED_AT_MOST = 20


@dataclass(frozen=True)
class Sheet:
    """A file's column names, and a function that reads some of them as (rows, columns).

    Cells that are no finite numbers are errors with their place, but only in columns asked for.
    """

    names: Sequence[str]
    numbers: Callable[[Sequence[int]], Floats]


def raise_first(problems: Iterable[RobolinError], file: str) -> None:
    """Raise the problems of one file as one error, the many after the first few only counted."""
    rest = iter(problems)
    shown = list(islice(rest, _REPORTED_AT_MOST))
    if more := sum(1 for _ in rest):
        shown.append(RobolinError(f"and {more} more such problems", where=file))
    raise_all(shown)


def require_finite(
    values: Floats, names: Sequence[str], file: str, empty: npt.NDArray[np.bool_] | None = None
) -> None:
    """Refuse a table with a cell that is `empty`, NaN or infinite, by row counted from 1."""
    bad = np.argwhere(~np.isfinite(values)).tolist()

    def problem(row: int, i: int) -> RobolinError:
        if empty is not None and empty[row, i]:
            message = f"the cell in column '{names[i]}' is empty"
        else:
            message = f"'{values[row, i]}' in column '{names[i]}' is not a finite number"
        return RobolinError(message, where=f"{file}, row {row + 1}")

    raise_first((problem(row, i) for row, i in bad), file)
