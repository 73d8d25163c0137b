"""One table of numbers before it is drawn, cut into groups of columns that fit the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from robolin.wording import printable

if TYPE_CHECKING:
    from rich.table import Table

GAP = 2


@dataclass(frozen=True)
class Grid:
    """One table before it is drawn: cells[row][column] under named columns beside named rows."""

    title: str
    corner: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    note: str = ""


def pieces_of(grid: Grid, width: int | None) -> Iterator[Grid]:
    """The grid cut into groups of columns that fit, each with all row names."""
    if width is None or grid_width(grid) <= width:
        yield grid
        return
    size = _columns_per_table(_column_widths(grid), width - _label_width(grid))
    for first in range(0, len(grid.columns), size):
        yield _columns(grid, first, min(first + size, len(grid.columns)))


def _columns_per_table(widths: list[int], room: int) -> int:
    """As many columns as fit, spread evenly over the tables they need."""
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
    """How many columns of a terminal the grid takes."""
    return _label_width(grid) + sum(_column_widths(grid))


def _label_width(grid: Grid) -> int:
    from rich.cells import cell_len

    return max(cell_len(printable(name)) for name in (grid.corner, *grid.rows))


def _column_widths(grid: Grid) -> list[int]:
    from rich.cells import cell_len

    cells = zip(*grid.cells, strict=True) if grid.cells else [() for _ in grid.columns]
    return [
        GAP + max(cell_len(printable(text)) for text in (name, *column))
        for name, column in zip(grid.columns, cells, strict=True)
    ]


def drawn_grid(grid: Grid) -> Table:
    """The grid as a table of rich."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # the box itself puts one blank between columns
    table = Table(
        header_style="cyan",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 0, 0, GAP - 1),
        pad_edge=False,
    )
    widths = [width - GAP for width in _column_widths(grid)]
    table.add_column(Text(printable(grid.corner)), style="cyan", no_wrap=True)
    for name in grid.columns:
        table.add_column(Text(printable(name), justify="right"), no_wrap=True)
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        # justified here and not by rich, which would strip the blanks after a bare 0
        padded = (Text(cell.rjust(width)) for cell, width in zip(cells, widths, strict=True))
        table.add_row(Text(printable(name)), *padded)
    return table
