"""Which rows of a recording are meant: from one up to another, each or every so many."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.io.table_file import TableBlock

_TEXT = r"\s*(\d{0,18})\s*:\s*(\d{0,18})\s*"


@dataclass(frozen=True)
class RowChoice:
    """The rows first, first + stride, … below stop, counted from 0; without a stop to the end."""

    first: int = 0
    stop: int | None = None
    stride: int = 1

    def of(self, before: int, rows: int) -> slice:
        """Which of so many rows are meant that stand behind `before` others."""
        stop = rows if self.stop is None else min(rows, self.stop - before)
        start = max(self.first - before, (self.first - before) % self.stride)
        return slice(start, max(start, stop), self.stride)

    def count(self, rows: int) -> int:
        """How many of so many rows are meant."""
        return len(range(*self.of(0, rows).indices(rows)))

    def part(self, first: int, rows: int) -> RowChoice:
        """So many of the rows that are meant, behind the `first` of them."""
        begin = self.first + first * self.stride
        end = begin + rows * self.stride
        stop = end if self.stop is None else min(end, self.stop)
        return RowChoice(begin, stop, self.stride)


ALL_ROWS = RowChoice()


def row_choice(rows: str | None, stride: int | None) -> RowChoice:
    """The rows that --rows and --stride say."""
    if rows is None:
        return RowChoice(stride=stride or 1)
    where = f"--rows={rows}"
    found = re.fullmatch(_TEXT, rows)
    if found is None:
        hint = "for example 1000:2000, 1000: or :2000, where the first row is 0"
        raise UsageError("this is not FIRST:STOP", where=where, hint=hint)
    first, stop = int(found[1] or 0), int(found[2]) if found[2] else None
    if stop is not None and stop <= first:
        hint = "STOP is the first row that is left out"
        raise UsageError("there is no row in between", where=where, hint=hint)
    return RowChoice(first, stop, stride or 1)


def chosen_rows(choice: RowChoice, block: TableBlock, row: int) -> TableBlock:
    """Those of the rows of a block that are meant; its first row has this number."""
    chosen, place = choice.of(row, len(block.values)), block.place
    return replace(
        block,
        values=block.values[chosen],
        whole={i: values[chosen] for i, values in block.whole.items()},
        place=lambda some: place(chosen.start + chosen.step * some),
    )


def no_row(choice: RowChoice, file: str) -> RobolinError:
    """A recording has none of the rows that are meant."""
    if choice == ALL_ROWS:
        return RobolinError("there is no row below the header", where=file)
    hint = "the first row is 0; --rows and --stride say which are meant"
    return RobolinError("it has none of the rows that are meant", where=file, hint=hint)
