"""The rows of a long result that a table shows, and the extremes of all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from robolin.core.results.result import Result, ResultStream
from robolin.core.text import pluralize

SHOWN = 10
# on a small screen, next to minimum and maximum
_FEWEST = 4
# lines of a screen for headline, other arrays and assumptions
_OTHER_LINES = 19


def rows_for(height: int | None) -> int:
    """The number of rows for a screen of this height; None for any height."""
    return SHOWN if height is None else max(_FEWEST, min(SHOWN, height - _OTHER_LINES))


@dataclass
class RowSummary:
    """The number of rows of a result, and the minimum and maximum of each entry.

    shown:  number of rows that a table shows
    spread: these are evenly spaced, not the first ones
    """

    shown: int = SHOWN
    spread: bool = False
    total: int = 0
    lowest: dict[str, Any] = field(default_factory=dict)
    highest: dict[str, Any] = field(default_factory=dict)

    def add(self, part: Result) -> None:
        """Include further rows."""
        self.total += part.batch or 0
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

    def extremes(self, name: str) -> tuple[Any, Any] | None:
        """Minimum and maximum of an array over all rows; None if they are not known."""
        return (self.lowest[name], self.highest[name]) if name in self.lowest else None

    def note(self) -> str:
        """Which rows a table shows; empty if it shows all."""
        if not self.is_longer:
            return ""
        which = f"{self.shown} of {self.total} rows" if self.spread else self._more()
        return f"{which}; min and max are of all rows; -o FILE keeps them all"

    def _more(self) -> str:
        return f"… {pluralize(self.total - self.shown, 'more row')}"


def summarized(result: Result, shown: int = SHOWN) -> RowSummary:
    """The summary of a result that holds all its rows."""
    summary = RowSummary(shown)
    if result.batch is not None:
        summary.add(result)
    return summary


def head_rows(result: ResultStream, shown: int = SHOWN) -> tuple[Result, RowSummary]:
    """The first rows, and a summary of all; a single state has no rows."""
    held: list[Result] = []
    summary = RowSummary(shown)
    for part in result.parts:
        if part.batch is None:
            return part, summary
        if summary.total < shown:
            held.append(part.rows(0, shown - summary.total))
        summary.add(part)
    ending = result.ending(summary.total)
    top = replace(_joined(held), contract=ending.contract, inputs=ending.inputs)
    return replace(top, model=ending.model), summary


def _joined(parts: list[Result]) -> Result:
    first = parts[0]
    stored = [dict(part.stored()) for part in parts]
    # copies, so that the other rows of the parts can be freed
    values: Mapping[str, Any] = {
        name: np.concatenate([part[name] for part in stored]) for name in stored[0]
    }
    arrays = tuple(replace(array, values=values[array.name]) for array in first.arrays)
    return replace(first, arrays=arrays, time=values.get("time"))


def spread_rows(result: Result, shown: int = SHOWN) -> tuple[Result, RowSummary]:
    """Evenly spaced rows from the first to the last, and a summary of all."""
    summary = summarized(result, shown)
    if not summary.is_longer:
        return result, summary
    summary.spread = True
    picked = np.linspace(0, summary.total - 1, shown).round().astype(int)
    arrays = tuple(replace(array, values=array.values[picked]) for array in result.arrays)
    time = None if result.time is None else result.time[picked]
    return replace(result, arrays=arrays, time=time), summary
