"""Tables for people: joint names on both axes, units in the titles, the contract above."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from math import ceil
from typing import TYPE_CHECKING, Any

from robolin.quantities import entry_units, slides_in, told_by_labels
from robolin.results.result import Array, Result
from robolin.terminal.console import console_of, drawn_on
from robolin.terminal.numbers import aligned, aligned_complex
from robolin.terminal.top_rows import SHOWN

if TYPE_CHECKING:
    from rich.table import Table

_MATRIX_ROWS = 2
_GAP = 2


@dataclass(frozen=True)
class Grid:
    """One table before it is drawn: cells[row][column] under named columns beside named rows."""

    title: str
    corner: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    note: str = ""


def render_table(
    result: Result,
    console_width: int | None,
    color: bool,
    precision: int = 6,
    rows: int | None = None,
) -> str:
    """The result as text; columns that do not fit into the width go into further tables.

    Without a width nothing is split, as for a pipe.

    rows: how many there are, if the result holds only the first ones
    """
    total = result.batch if rows is None else rows
    grids = _grids(result, precision, total or 0)
    pieces = [piece for grid in grids for piece in _split(grid, console_width)]
    needed = max(map(_width, pieces), default=0)
    # a name wider than the terminal is left for the terminal to wrap: no cell is ever cut
    console = console_of(max(needed, console_width or 10_000), color)
    if result.contract:
        console.print(_contract_block(result.contract))
    for piece in pieces:
        console.print()
        if piece.title:
            console.print(_shown(piece.title), style="bold")
        console.print(_drawn(piece))
        if piece.note:
            console.print(piece.note, style="dim")
    return "".join(f"{line.rstrip()}\n" for line in drawn_on(console).splitlines())


def _grids(result: Result, precision: int, total: int) -> Iterator[Grid]:
    for labels, group in groupby(result.arrays, key=lambda array: array.labels):
        arrays, rank = list(group), len(labels)
        if rank == 1 and result.batch is None and told_by_labels(arrays[0].name):
            yield from (_with_units(array, result, precision) for array in arrays)
        elif rank == 0 or (rank == 1 and result.batch is None):
            grid = _side_by_side(arrays, labels, result, precision)
            yield replace(grid, note=_more_rows(total)) if rank == 0 else grid
        elif rank == 1:
            note = _more_rows(total)
            yield from (replace(_vector_rows(a, result, precision), note=note) for a in arrays)
        else:
            for array in arrays:
                yield from _matrices(array, precision, total)


def _side_by_side(
    arrays: Sequence[Array], labels: tuple[tuple[str, ...], ...], result: Result, precision: int
) -> Grid:
    """Vectors over the same joints as the columns of one table; scalars as a single row."""
    batch = labels == () and result.batch is not None
    shown = [array.values.ravel()[: SHOWN if batch else None] for array in arrays]
    columns = [_texts(values.tolist(), precision) for values in shown]
    row_names = _row_names(result) if batch else labels[0] if labels else ("",)
    return Grid(
        title="",
        corner=_row_corner(result) if batch else _corner(arrays[0], result),
        rows=tuple(row_names),
        columns=tuple(_titled(array) for array in arrays),
        cells=tuple(zip(*columns, strict=True)),
    )


def _with_units(array: Array, result: Result, precision: int) -> Grid:
    """A vector whose entries have units of their own, beside these."""
    units = entry_units(array.name, array.unit, array.labels, slides_in(result.model))
    return Grid(
        title="",
        corner=_corner(array, result),
        rows=array.labels[0],
        columns=(array.name, "unit"),
        cells=tuple(zip(_texts(array.values.tolist(), precision), units, strict=True)),
    )


def _vector_rows(array: Array, result: Result, precision: int) -> Grid:
    """A vector that changes from row to row: one line per row, one column per joint."""
    return Grid(
        title=_titled(array),
        corner=_row_corner(result),
        rows=_row_names(result),
        columns=array.labels[0],
        cells=_matrix_cells(array.values[:SHOWN].tolist(), precision),
    )


def _matrices(array: Array, precision: int, total: int) -> Iterator[Grid]:
    # beside the names of the rows
    kind = array.axis_kind(array.rank - 2)
    if array.batch is None:
        yield from _slices(_titled(array), array.values, array.labels, precision, kind)
        return
    shown = min(array.batch, _MATRIX_ROWS)
    for row in range(shown):
        title = f"{_titled(array)}, row {row + 1} of {total}"
        yield from _slices(title, array.values[row], array.labels, precision, kind)


def _slices(
    title: str, values: Any, labels: tuple[tuple[str, ...], ...], precision: int, corner: str
) -> Iterator[Grid]:
    """A matrix as one table; anything deeper as one table per name along its first axis."""
    if len(labels) > 2:
        for name, part in zip(labels[0], values, strict=True):
            yield from _slices(f"{title}, {name}", part, labels[1:], precision, corner)
        return
    yield Grid(title, corner, labels[0], labels[1], _matrix_cells(values.tolist(), precision))


def _matrix_cells(rows: list[list[float]], precision: int) -> tuple[tuple[str, ...], ...]:
    """All entries in the same format, so that a table can be compared by eye."""
    texts = iter(_texts([value for row in rows for value in row], precision))
    return tuple(tuple(next(texts) for _ in row) for row in rows)


def _texts(values: Sequence[float | complex], precision: int) -> list[str]:
    """Numbers of one kind in the same format; whole ones in all their digits."""
    if any(isinstance(value, complex) for value in values):
        return aligned_complex([complex(value) for value in values], precision)
    if all(isinstance(value, int) for value in values):
        return [str(value) for value in values]
    return aligned([value for value in values if not isinstance(value, complex)], precision)


def _corner(array: Array, result: Result) -> str:
    """What the rows of a table of vectors are."""
    if array.rank == 0:
        return ""
    return array.axis_kind(0) or ("joint" if array.labels == (result.joints,) else "")


def _titled(array: Array) -> str:
    return f"{array.name} [{array.unit}]"


def _row_names(result: Result) -> tuple[str, ...]:
    count = min(result.batch or 0, SHOWN)
    if result.time is None:
        return tuple(str(row + 1) for row in range(count))
    moments = result.time[:count].tolist()
    return tuple(str(t) if isinstance(t, int) else f"{t:g}" for t in moments)


def _row_corner(result: Result) -> str:
    return "row" if result.time is None else "time [s]"


def _more_rows(total: int) -> str:
    more = total - SHOWN
    if more <= 0:
        return ""
    return f"… {more} more {'row' if more == 1 else 'rows'}; -o FILE keeps them all"


def _split(grid: Grid, width: int | None) -> Iterator[Grid]:
    """The grid cut into groups of columns that fit, each with all row names."""
    if width is None or _width(grid) <= width:
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


def _width(grid: Grid) -> int:
    return _label_width(grid) + sum(_column_widths(grid))


def _label_width(grid: Grid) -> int:
    from rich.cells import cell_len

    return max(cell_len(_shown(name)) for name in (grid.corner, *grid.rows))


def _column_widths(grid: Grid) -> list[int]:
    from rich.cells import cell_len

    cells = zip(*grid.cells, strict=True) if grid.cells else [() for _ in grid.columns]
    return [
        _GAP + max(cell_len(_shown(text)) for text in (name, *column))
        for name, column in zip(grid.columns, cells, strict=True)
    ]


def _drawn(grid: Grid) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    # the box itself puts one blank between columns
    table = Table(
        header_style="cyan",
        box=box.SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 0, 0, _GAP - 1),
        pad_edge=False,
    )
    widths = [width - _GAP for width in _column_widths(grid)]
    table.add_column(Text(_shown(grid.corner)), style="cyan", no_wrap=True)
    for name in grid.columns:
        table.add_column(Text(_shown(name), justify="right"), no_wrap=True)
    for name, cells in zip(grid.rows, grid.cells, strict=True):
        # justified here and not by rich, which would strip the blanks after a bare 0
        padded = (Text(cell.rjust(width)) for cell, width in zip(cells, widths, strict=True))
        table.add_row(Text(_shown(name)), *padded)
    return table


def _contract_block(contract: Mapping[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    block = Table.grid(padding=(0, _GAP, 0, 0))
    block.add_column(style="dim", no_wrap=True)
    block.add_column(style="dim", overflow="fold")
    for key, value in contract.items():
        block.add_row(Text(_shown(str(key))), Text(_shown(_phrase(value))))
    return block


def _phrase(value: Any) -> str:
    if value is None or value in ((), [], {}, ""):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.10g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {_phrase(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(_phrase(item) for item in value)
    return str(value)


def _shown(text: str) -> str:
    """The text without anything that would steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
