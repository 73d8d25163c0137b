"""The rows of a long result that a table shows, and the extremes of all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robolin.core.choices import base_verb
from robolin.core.natural_scales import UNDECIDED_RATE
from robolin.core.result import Result, ResultStream

SHOWN = 10
# on a small screen, next to minimum and maximum
_FEWEST = 4
# lines of a screen for headline, other arrays and assumptions
_OTHER_LINES = 19
# rows of a stream that are kept before some are chosen
_MOST_HELD = 128


def rows_for(height: int | None) -> int:
    """The number of rows for a screen of this height; None for any height."""
    return SHOWN if height is None else max(_FEWEST, min(SHOWN, height - _OTHER_LINES))


@dataclass
class RowSummary:
    """The number of rows of a result, and the minimum and maximum of each entry.

    shown:     number of rows that a table shows
    picked:    indices of these rows, if they are not the first ones
    stability: number of rows whose least stable pole is unstable (-1), marginal (0), stable (1)
    """

    shown: int = SHOWN
    picked: tuple[int, ...] = ()
    total: int = 0
    lowest: dict[str, Any] = field(default_factory=dict)
    highest: dict[str, Any] = field(default_factory=dict)
    stability: Counter[int] = field(default_factory=Counter)

    def add(self, part: Result) -> None:
        """Include further rows."""
        self.total += part.batch or 0
        self.stability.update(_least_stable(part))
        for array in part.arrays:
            if array.values.dtype.kind not in "fi" or not len(array.values):
                continue
            # NaN stands for a row without a result
            low: Any = np.fmin.reduce(array.values)
            high: Any = np.fmax.reduce(array.values)
            self.lowest[array.name] = np.fmin(low, self.lowest.setdefault(array.name, low))
            self.highest[array.name] = np.fmax(high, self.highest.setdefault(array.name, high))

    @property
    def is_longer(self) -> bool:
        """True if the table does not show all rows."""
        return self.total > self.shown

    def index(self, row: int) -> int:
        """The index in the result of a row of the table."""
        return self.picked[row] if self.picked else row

    def extremes(self, name: str) -> tuple[Any, Any] | None:
        """Minimum and maximum of an array over all rows; None if they are not known."""
        return (self.lowest[name], self.highest[name]) if name in self.lowest else None

    def note(self, ends: bool = True) -> str:
        """Which rows a table shows, with or without extremes; empty if it shows all."""
        if not self.is_longer:
            return ""
        shown = f"{self.shown} of {self.total} rows"
        parts = [shown if self.picked else f"the first {shown}"]
        parts += ["min and max are of all rows"] if ends else []
        return "; ".join([*parts, "-o FILE keeps them all"])


def shown_stability(result: Result) -> Any:
    """Stability of each pole: 1, 0 or -1; 0 for slow poles, which rounded inputs decide."""
    slow = result["frequency"] < UNDECIDED_RATE
    return np.where(slow & np.isfinite(result["stability"]), 0, result["stability"])


def _least_stable(part: Result) -> list[int]:
    """Stability of the least stable pole of each row: -1, 0 or 1; empty without poles."""
    if part.batch is None:
        return []
    if "stability" in part:
        # NaN stands for a row without a result
        return [int(least) for least in shown_stability(part).min(axis=1) if least == least]
    if base_verb(part.verb) != "lqr" or "poles" not in part:
        return []
    poles = part["poles"]
    inside = np.abs(poles) < 1.0 if "dt" in part.options else poles.real < 0.0
    return [1 if row.all() else -1 for row in inside]


def summarized(result: Result, shown: int = SHOWN) -> RowSummary:
    """The summary of a result that holds all its rows."""
    summary = RowSummary(shown)
    if result.batch is not None:
        summary.add(result)
    return summary


def spread_rows(result: ResultStream, shown: int = SHOWN) -> tuple[Result, RowSummary]:
    """Evenly spaced rows from the first to the last, and a summary of all.

    Rows of a long result are spaced by multiples of a power of two.  A single state has no rows.
    """
    summary = RowSummary(shown)
    held: list[tuple[int, Result]] = []
    last: list[tuple[int, Result]] = []
    stride = 1
    for part in result.parts:
        if part.batch is None:
            return part, summary
        first = summary.total
        summary.add(part)
        while -(-summary.total // stride) > _MOST_HELD:
            stride *= 2
            held = [(row, each) for row, each in held if row % stride == 0]
        kept = range(-(-first // stride) * stride, summary.total, stride)
        held += [(row, _copied(part, row - first)) for row in kept]
        if part.batch:
            last = [(summary.total - 1, _copied(part, part.batch - 1))]
    rows = dict([*held, *last])
    if summary.is_longer:
        spaced = np.linspace(0, summary.total - 1, shown)
        known = np.array(list(rows))
        # with a stride, the same row may be nearest twice
        summary.picked = tuple(sorted({int(known[np.abs(known - x).argmin()]) for x in spaced}))
        summary.shown = len(summary.picked)
    ending = result.ending(summary.total)
    parts = [rows[row] for row in summary.picked or sorted(rows)]
    top = replace(_joined(parts), contract=ending.contract, inputs=ending.inputs)
    return replace(top, model=ending.model), summary


def _copied(part: Result, row: int) -> Result:
    """One row as a copy, so that the other rows of the part can be freed."""
    one = part.rows(row, row + 1)
    arrays = tuple(replace(array, values=array.values.copy()) for array in one.arrays)
    return replace(one, arrays=arrays)


def _joined(parts: list[Result]) -> Result:
    first = parts[0]
    stored = [dict(part.stored()) for part in parts]
    values: Mapping[str, Any] = {
        name: np.concatenate([part[name] for part in stored]) for name in stored[0]
    }
    arrays = tuple(replace(array, values=values[array.name]) for array in first.arrays)
    return replace(first, arrays=arrays, time=values.get("time"))
