"""A table of numbers before it is drawn, split into column groups that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING

from robolin.core.text import printable

if TYPE_CHECKING:
    from rich.text import Text

GAP = 2
# non-breaking space
TIE = "\0"


@dataclass(frozen=True)
class Grid:
    """A table before it is drawn: cells[row][column] with row and column names."""

    title: str
    corner: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    note: str = ""


def split_grid(grid: Grid, width: int | None) -> Iterator[Grid]:
    """Split the columns into groups that fit; each has all row names."""
    if width is None or grid_width(grid) <= width:
        yield grid
        return
    size = _columns_per_table(_column_widths(grid), width - _label_width(grid))
    for first in range(0, len(grid.columns), size):
        yield _columns(grid, first, min(first + size, len(grid.columns)))


def numbered(grid: Grid, width: int | None) -> tuple[Grid, str]:
    """Number the column headings if that needs fewer tables; returns the grid and a legend.

    If rows have the same names, the numbers next to them are the legend.
    """
    if width is None or grid_width(grid) <= width or not grid.columns:
        return grid, ""
    numbers = tuple(str(i + 1) for i in range(len(grid.columns)))
    wide = len(numbers[-1])
    beside = [f"{i:>{wide}} {name}" for i, name in zip(numbers, grid.columns, strict=True)]
    rows, legend = grid.rows, ", ".join(text.strip().replace(" ", TIE, 1) for text in beside)
    if rows == grid.columns:
        rows, legend = tuple(beside), ""
    renamed = replace(grid, rows=rows, columns=numbers)
    return (renamed, legend) if _cost(renamed, width) < _cost(grid, width) else (grid, "")


def _cost(grid: Grid, width: int) -> tuple[bool, int]:
    """Sort key: True if a single column does not fit, then the number of pieces."""
    pieces = list(split_grid(grid, width))
    return max(map(grid_width, pieces)) > width, len(pieces)


def _columns_per_table(widths: list[int], room: int) -> int:
    """Number of columns per table, spread evenly over the tables."""
    count = len(widths)

    def fits(size: int) -> bool:
        return all(sum(widths[first : first + size]) <= room for first in range(0, count, size))

    most = next((size for size in range(count, 1, -1) if fits(size)), 1)
    balanced = ceil(count / ceil(count / most))
    return balanced if fits(balanced) else most


def _columns(grid: Grid, first: int, stop: int) -> Grid:
    total = len(grid.columns)
    which = f"column {stop}" if stop == first + 1 else f"columns {first + 1} to {stop}"
    return Grid(
        title=f"{grid.title}, {which} of {total}" if grid.title else "",
        corner=grid.corner,
        rows=grid.rows,
        columns=grid.columns[first:stop],
        cells=tuple(row[first:stop] for row in grid.cells),
        note=grid.note if stop == total else "",
    )


def grid_width(grid: Grid) -> int:
    """Width of the grid in terminal columns."""
    return _label_width(grid) + sum(_column_widths(grid))


def _label_width(grid: Grid) -> int:
    return max(1, _widest([grid.corner, *grid.rows]))


def _column_widths(grid: Grid) -> list[int]:
    cells = zip(*grid.cells, strict=True) if grid.cells else [() for _ in grid.columns]
    return [
        GAP + max(_widest([name]), _widest(column))
        for name, column in zip(grid.columns, cells, strict=True)
    ]


def _widest(texts: Sequence[str]) -> int:
    """Width of the widest text in terminal columns."""
    from rich.cells import cell_len

    together = "".join(texts)
    if together.isascii() and together.isprintable():
        # fast path: one letter per column
        return max(map(len, texts), default=0)
    return max(cell_len(printable(text)) for text in texts)


def drawn_grid(grid: Grid) -> Text:
    """The grid as lines: coloured names, right-aligned numbers."""
    from rich.text import Text

    label, widths = _label_width(grid), _column_widths(grid)
    names = zip(map(printable, grid.columns), widths, strict=True)
    head = _left(printable(grid.corner), label) + "".join(_right(*each) for each in names)
    drawn = Text()
    drawn.append(f"{head}\n", "cyan")
    drawn.append("─" * (label + sum(widths)))
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        drawn.append("\n")
        drawn.append(_left(printable(name), label), "cyan")
        drawn.append("".join(cell.rjust(width) for cell, width in zip(cells, widths, strict=True)))
    return drawn


def _left(text: str, width: int) -> str:
    from rich.cells import cell_len

    return text + " " * (width - cell_len(text))


def _right(text: str, width: int) -> str:
    from rich.cells import cell_len

    return " " * (width - cell_len(text)) + text
