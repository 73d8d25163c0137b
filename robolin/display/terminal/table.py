"""Tables of results as text and HTML: joint names on both axes, units in titles."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from io import StringIO
from itertools import groupby, product
from math import copysign, isfinite
from typing import TYPE_CHECKING, Any

from robolin.core.notebook import ROUNDED_ZERO, html_contract, html_table, is_rounding, phrase
from robolin.core.quantity_table import QUANTITIES, entry_units, has_units_by_label, slides_in
from robolin.core.results.result import Array, Result
from robolin.core.results.swept_verbs import is_swept
from robolin.core.results.table_columns import format_datetimes
from robolin.core.text import printable
from robolin.display.terminal.grid import (
    GAP,
    TIE,
    Grid,
    drawn_grid,
    grid_width,
    numbered,
    split_grid,
    wrapped,
)
from robolin.display.terminal.show import SHOWN

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_MATRIX_ROWS = 2
# letters of the axes after those of a matrix
_SLICED = "klmnop"
_ROUNDING_NOTE = f"{ROUNDED_ZERO}: rounding, less than 1e-15 of the largest entry of its table"


def render_table(
    result: Result,
    console_width: int | None,
    color: bool,
    precision: int = 6,
    rows: int | None = None,
) -> str:
    """The result as text; columns that do not fit the width continue in further tables.

    Without a width nothing is split, as for a pipe.

    rows: total number of rows, if the result holds only the first ones
    """
    total = result.batch if rows is None else rows
    pieces, legends = _fitting(grids_of(result, precision, total or 0), console_width)
    needed = max(map(grid_width, pieces), default=0)
    # the terminal wraps names wider than itself: no cell is cut
    console = console_of(max(needed, console_width or 10_000), color)
    if result.contract:
        console.print(_contract_block(result.contract))
    for legend in legends:
        console.print()
        for line in wrapped(f"columns: {legend}", console_width or needed):
            console.print(printable(line.replace(TIE, " ")), style="dim", soft_wrap=True)
    for piece in pieces:
        console.print()
        if piece.title:
            console.print(printable(piece.title), style="bold")
        console.print(drawn_grid(piece), soft_wrap=True)
        if piece.note:
            console.print(piece.note, style="dim")
    if any(cell.strip() == ROUNDED_ZERO for piece in pieces for row in piece.cells for cell in row):
        console.print(f"\n{_ROUNDING_NOTE}", style="dim")
    return "".join(f"{line.rstrip()}\n" for line in drawn_on(console).splitlines())


def _fitting(grids: Iterable[Grid], width: int | None) -> tuple[list[Grid], list[str]]:
    """All tables in pieces that fit, and legends for numbered headings."""
    pieces: list[Grid] = []
    legends: dict[str, None] = {}
    for grid in grids:
        shown, legend = numbered(grid, width)
        pieces += split_grid(shown, width)
        if legend:
            legends[legend] = None
    return pieces, list(legends)


def grids_of(result: Result, precision: int, total: int) -> Iterator[Grid]:
    """Every array as tables; for many rows, the first ones."""
    # the values of a sweep become its row names
    shown = result.arrays[1:] if is_swept(result.verb) else result.arrays
    for labels, group in groupby(shown, key=lambda array: array.labels):
        arrays, rank = list(group), len(labels)
        if rank == 1 and result.batch is None and has_units_by_label(arrays[0].name):
            yield from (_with_units(array, result, precision) for array in arrays)
        elif rank == 0 or (rank == 1 and result.batch is None):
            grid = _side_by_side(arrays, labels, result, precision)
            yield replace(grid, note=_more_rows(total)) if rank == 0 else grid
        elif rank == 1:
            note = _more_rows(total)
            yield from (replace(_vector_rows(a, result, precision), note=note) for a in arrays)
        else:
            for array in arrays:
                yield from _matrices(array, result, precision, total)


def _side_by_side(
    arrays: Sequence[Array], labels: tuple[tuple[str, ...], ...], result: Result, precision: int
) -> Grid:
    """Vectors over the same joints as columns of one table; scalars as a single row."""
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
    """A vector whose entries have different units, with a unit column."""
    units = entry_units(array.name, array.unit, array.labels, slides_in(result.model))
    return Grid(
        title="",
        corner=_corner(array, result),
        rows=array.labels[0],
        columns=(array.name, "unit"),
        cells=tuple(zip(_texts(array.values.tolist(), precision), units, strict=True)),
    )


def _vector_rows(array: Array, result: Result, precision: int) -> Grid:
    """A vector per row: one line per row, one column per joint."""
    return Grid(
        title=_titled(array),
        corner=_row_corner(result),
        rows=_row_names(result),
        columns=array.labels[0],
        cells=_matrix_cells(array.values[:SHOWN].tolist(), precision),
    )


def _matrices(array: Array, result: Result, precision: int, total: int) -> Iterator[Grid]:
    # next to the row names
    kind = array.axis_kind(0)
    title = f"{_titled(array)}{_derived(array)}"
    if array.batch is None:
        yield from _slices(title, array.values, array.labels, precision, kind)
        return
    shown = min(array.batch, SHOWN if is_swept(result.verb) else _MATRIX_ROWS)
    for row in range(shown):
        heading = f"{title}, row {row + 1} of {total}"
        if is_swept(result.verb):
            heading += f": {_row_corner(result)} {_row_names(result)[row]}"
        yield from _slices(heading, array.values[row], array.labels, precision, kind)


def _derived(array: Array) -> str:
    """Symbol of each slice of an array with more than two axes, if there is one."""
    known = QUANTITIES.get(array.name)
    if array.rank <= 2 or known is None:
        return ""
    symbol = known.symbol.replace("(i,j)", "")
    for letter in _SLICED:
        symbol = symbol.replace(f"({letter})", f"_{letter}")
    return f", {symbol}"


def _slices(
    title: str, values: Any, labels: tuple[tuple[str, ...], ...], precision: int, corner: str
) -> Iterator[Grid]:
    """A matrix as one table; slices along further axes as one table each."""
    rows, columns, *along = labels
    for index in product(*(range(len(names)) for names in along)):
        by = [f"{_SLICED[i]} = {along[i][at]}" for i, at in enumerate(index)]
        cells = _matrix_cells(values[(..., *index)].tolist(), precision)
        yield Grid(", ".join([title, *by]), corner, rows, columns, cells)


def _matrix_cells(rows: list[list[float]], precision: int) -> tuple[tuple[str, ...], ...]:
    """All entries in the same format, so that they can be compared."""
    texts = iter(_texts([value for row in rows for value in row], precision))
    return tuple(tuple(next(texts) for _ in row) for row in rows)


def _texts(values: Sequence[float | complex], precision: int) -> list[str]:
    """Numbers of one kind in the same format; integers with all digits."""
    if any(isinstance(value, complex) for value in values):
        return aligned_complex([complex(value) for value in values], precision)
    if all(isinstance(value, int) for value in values):
        return [str(value) for value in values]
    return aligned([value for value in values if not isinstance(value, complex)], precision)


def _corner(array: Array, result: Result) -> str:
    """Heading of the row names in a table of vectors."""
    if array.rank == 0:
        return ""
    return array.axis_kind(0) or ("joint" if array.labels == (result.joints,) else "")


def _titled(array: Array) -> str:
    return f"{array.name} [{array.unit}]"


def _row_names(result: Result) -> tuple[str, ...]:
    count = min(result.batch or 0, SHOWN)
    if is_swept(result.verb):
        return tuple(f"{value:.15g}" for value in result.arrays[0].values[:count].tolist())
    if result.time is None:
        return tuple(str(row + 1) for row in range(count))
    if result.time.dtype.kind == "M":
        return tuple(format_datetimes(result.time[:count]))
    times = result.time[:count].tolist()
    return tuple(str(t) if isinstance(t, int) else f"{t:.15g}" for t in times)


def _row_corner(result: Result) -> str:
    if is_swept(result.verb):
        return _titled(result.arrays[0])
    if result.time is None:
        return "row"
    return "time" if result.time.dtype.kind == "M" else "time [s]"


def _more_rows(total: int) -> str:
    more = total - SHOWN
    if more <= 0:
        return ""
    return f"… {more} more {'row' if more == 1 else 'rows'}; -o FILE keeps them all"


def _contract_block(contract: Mapping[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    block = Table.grid(padding=(0, GAP, 0, 0))
    block.add_column(style="dim", no_wrap=True)
    block.add_column(style="dim", overflow="fold")
    for key, value in contract.items():
        block.add_row(Text(printable(str(key))), Text(printable(phrase(value))))
    return block


# smaller numbers in a table are written with an exponent
_SMALLEST_PLAIN = 1e-4


def aligned(values: Sequence[float], precision: int) -> list[str]:
    """Numbers as text of equal width with `precision` digits and aligned decimal points.

    Exact zeros are `0`; round-off relative to the largest is `~0`.
    """
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    if largest and not 1e-3 <= largest < 10.0 ** max(precision, 6):
        return _equally_wide(_scientific(value, largest, precision) for value in values)
    texts = [_plain(value, largest, precision) for value in values]
    behind = max((len(text) - text.index(".") for text in texts if _has_point(text)), default=0)
    return _equally_wide(_point_aligned(text, behind) for text in texts)


def aligned_complex(values: Sequence[complex], precision: int) -> list[str]:
    """Complex numbers as text of equal width, with aligned real and imaginary parts."""
    real = aligned([value.real for value in values], precision)
    imaginary = aligned([abs(value.imag) for value in values], precision)
    signs = ["-" if copysign(1.0, value.imag) < 0.0 else "+" for value in values]
    parts = zip(real, signs, imaginary, strict=True)
    return _equally_wide(f"{re} {sign} {im.strip()}j" for re, sign, im in parts)


def _plain(value: float, largest: float, precision: int) -> str:
    """A number with `precision` significant digits; an exponent only if it is very small."""
    if value == 0.0:
        return "0"
    if is_rounding(value, largest):
        return ROUNDED_ZERO
    if abs(value) < _SMALLEST_PLAIN or not isfinite(value):
        return f"{value:.{precision - 1}e}"
    # count digits after rounding: 9.9996 is 10.00
    power = int(f"{value:.{precision - 1}e}".partition("e")[2])
    return f"{value:.{max(precision - 1 - power, 0)}f}"


def _has_point(text: str) -> bool:
    return "." in text and "e" not in text


def _point_aligned(text: str, behind: int) -> str:
    """Pad the text with blanks to align the decimal point."""
    if "e" in text:
        return text
    return text + " " * (behind - (len(text) - text.index(".") if "." in text else 0))


def _scientific(value: float, largest: float, precision: int) -> str:
    if value == 0.0 or is_rounding(value, largest):
        text = ROUNDED_ZERO if value else "0"
        # aligned with the digit before the point
        return text + " " * (len(f"{1.0:.{precision - 1}e}") - 1)
    return f"{value:.{precision - 1}e}"


def _equally_wide(texts: Iterable[str]) -> list[str]:
    texts = list(texts)
    width = max(map(len, texts), default=0)
    return [text.rjust(width) for text in texts]


def console_of(width: int, color: bool) -> Console:
    """A console of this width that does not interpret markup."""
    from rich.console import Console

    return Console(
        file=StringIO(),
        width=width,
        force_terminal=color,
        color_system="standard" if color else None,
        no_color=not color,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )


def drawn_on(console: Console) -> str:
    """Everything printed on the console so far."""
    written = console.file
    assert isinstance(written, StringIO)
    return written.getvalue()


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
