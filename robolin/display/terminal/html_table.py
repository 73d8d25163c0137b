"""Results in notebooks: the terminal tables as HTML, with escaped names."""

from __future__ import annotations

from html import escape

from robolin.core.notebook import html_contract, html_table
from robolin.core.results.result import Result
from robolin.display.terminal.grid import Grid
from robolin.display.terminal.table import grids_of

# further numbers are omitted, since a notebook stores all its output
_MOST_CELLS = 5_000


def html_of(result: Result, precision: int = 6) -> str:
    """The arrays as HTML tables with names and units, the first rows only, and the contract."""
    tables, cells, left = [], 0, 0
    for grid in grids_of(result, precision, result.batch or 0):
        cells += len(grid.rows) * len(grid.columns)
        if cells > _MOST_CELLS:
            left += 1
        else:
            tables.append(_table(grid))
    more = f"<p>… {left} more tables</p>" if left else ""
    title = f"<b>{escape(repr(result)[1:-1])}</b>"
    return f"{title}{''.join(tables)}{more}{html_contract(result.contract)}"


def _table(grid: Grid) -> str:
    rows = [
        [f"<b>{escape(name)}</b>", *(escape(cell.strip()) for cell in cells)]
        for name, cells in zip(grid.rows, grid.cells, strict=True)
    ]
    title = f"<p>{escape(grid.title)}</p>" if grid.title else ""
    note = f"<p>{escape(grid.note)}</p>" if grid.note else ""
    return (
        f"{title}{html_table([escape(name) for name in (grid.corner, *grid.columns)], rows)}{note}"
    )
