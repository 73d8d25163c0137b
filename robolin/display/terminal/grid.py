"""A table of numbers split into column groups that fit the terminal; numbers are never cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from math import ceil
from typing import TYPE_CHECKING, Any

from robolin.core.records import dataclass
from robolin.core.text import TIE, printable, tie_commands

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text


GAP = 2
# non-breaking space
_LONG_EXPONENT = re.compile(r"(e[-+])0(?=\d)")
_SMALL = re.compile(r"\b0\.000([1-9])(\d+)$")


@dataclass(frozen=True)
class Grid:
    """A table before it is drawn: cells[row][column] with row and column names.

    legend: names of numbered columns
    ends:   number of last rows, such as min and max, that are always shown
    """

    title: str
    corner: str = ""
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    cells: tuple[tuple[str, ...], ...] = ()
    note: str = ""
    gap: int = GAP
    legend: str = ""
    ends: int = 0


def first_rows(grid: Grid, count: int) -> Grid:
    """The first rows of a grid, with a note about the others."""
    left = len(grid.rows) - count
    if left <= 0:
        return grid
    if grid.ends:
        return _fewer_rows(grid, max(count - grid.ends, 2))
    more = f"… {left} more {'row' if left == 1 else 'rows'} (--all)"
    note = f"{more}; {grid.note}" if grid.note else more
    return replace(grid, rows=grid.rows[:count], cells=grid.cells[:count], note=note)


def _fewer_rows(grid: Grid, count: int) -> Grid:
    """Evenly spaced rows and the last ones of a grid whose note counts its rows."""
    data = len(grid.rows) - grid.ends
    kept = [round(i * (data - 1) / (count - 1)) for i in range(count)]
    kept += range(data, len(grid.rows))
    return replace(
        grid,
        rows=tuple(grid.rows[i] for i in kept),
        cells=tuple(grid.cells[i] for i in kept),
        note=re.sub(r"^\d+ of ", f"{count} of ", grid.note),
    )


def split_grid(grid: Grid, width: int | None) -> Iterator[Grid]:
    """Split the columns into groups that fit; each has all row names."""
    if width is None or grid_width(grid) <= width:
        yield grid
        return
    close = replace(grid, gap=1)
    grid = _short_exponents(close)
    for narrower in (close, grid, _small_with_exponents(grid)):
        if grid_width(narrower) <= width:
            yield narrower
            return
    size = _columns_per_table(_column_widths(grid), width - _label_width(grid))
    for first in range(0, len(grid.columns), size):
        yield _columns(grid, first, min(first + size, len(grid.columns)))


def _short_exponents(grid: Grid) -> Grid:
    """Write 1.2e-7 instead of 1.2e-07, which saves a column of the terminal per number."""
    return _rewritten(grid, lambda text: _LONG_EXPONENT.sub(r"\1", text))


def _small_with_exponents(grid: Grid) -> Grid:
    """Write 1.234e-4 instead of 0.0001234."""
    cells = tuple(
        tuple(_SMALL.sub(r"\1.\2e-4", text.strip()) for text in row) for row in grid.cells
    )
    return replace(grid, cells=cells)


def _rewritten(grid: Grid, rewrite: Callable[[str], str]) -> Grid:
    return replace(grid, cells=tuple(tuple(map(rewrite, row)) for row in grid.cells))


def numbered(grid: Grid, width: int | None) -> Grid:
    """Number the column headings if that needs fewer tables; the grid has a legend then.

    If rows have the same names, the numbers next to them are the legend; if that is still too
    wide, the rows are numbered too.
    """
    if width is None or grid_width(grid) <= width or not grid.columns:
        return grid
    numbers = tuple(str(i + 1) for i in range(len(grid.columns)))
    wide = len(numbers[-1])
    names = [f"{i:>{wide}} {name}" for i, name in zip(numbers, grid.columns, strict=True)]
    legend = ", ".join(text.strip().replace(" ", TIE, 1) for text in names)
    options = [grid]
    if grid.rows == grid.columns:
        options.append(replace(grid, rows=tuple(names), columns=numbers))
        short = replace(grid, rows=numbers, columns=numbers, legend=legend)
        # names are worth more than fewer tables, unless the whole matrix fits
        if _cost(short, width) == (False, 1):
            options.append(short)
    else:
        options.append(replace(grid, columns=numbers, legend=legend))
    return min(options, key=lambda option: _cost(option, width))


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
        gap=grid.gap,
        legend=grid.legend,
        ends=grid.ends,
    )


def grid_width(grid: Grid) -> int:
    """Width of the grid in terminal columns."""
    return _label_width(grid) + sum(_column_widths(grid))


def _label_width(grid: Grid) -> int:
    return max(1, _widest([grid.corner, *grid.rows]))


def _column_widths(grid: Grid) -> list[int]:
    cells = zip(*grid.cells, strict=True) if grid.cells else [() for _ in grid.columns]
    return [
        grid.gap + max(_widest([name]), _widest(column))
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
    drawn.append(head, "cyan")
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


# column spacing: a blank on the right side, and the border
_GAP = 2
_STROKES = " │├└─"


@dataclass(frozen=True)
class ColumnBlock:
    """Some columns of a table: indices and widths."""

    indices: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def width(self) -> int:
        """Total width in terminal columns."""
        return sum(self.widths) + _GAP * (len(self.widths) - 1)


def column_blocks(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[str],
    keys: int,
    width: int,
) -> Iterator[ColumnBlock]:
    """Split the columns into blocks that fit the width; each repeats the first `keys` columns.

    A block is wider only if its keys and one more column do not fit.
    """
    from rich.cells import cell_len

    columns = [[printable(text) for text in column] for column in zip(header, *rows, strict=True)]
    full = [max(map(cell_len, column)) for column in columns]
    least = _least_widths(header, columns, full, numbers, keys, width)
    key_columns = tuple(range(keys))
    columns_so_far = key_columns
    for i in range(keys, len(header)):
        wider = (*columns_so_far, i)
        if len(columns_so_far) > keys and _total_width([least[j] for j in wider]) > width:
            yield _block(columns_so_far, full, least, width)
            wider = (*key_columns, i)
        columns_so_far = wider
    yield _block(columns_so_far, full, least, width)


def _least_widths(
    header: Sequence[str],
    columns: Sequence[Sequence[str]],
    full: list[int],
    numbers: Collection[str],
    keys: int,
    width: int,
) -> list[int]:
    """Minimum width of each column: the digits of its numbers, or the longest word."""
    from rich.cells import cell_len

    least = [
        max([_longest_word(name), *map(cell_len, columns[i][1:])])
        if name in numbers
        else max(map(_longest_word, columns[i]))
        for i, name in enumerate(header)
    ]
    # key columns are not wrapped, unless they take most of the width
    if _total_width(full[:keys]) <= width // 2:
        least[:keys] = full[:keys]
    else:
        least[:keys] = [min(full[i], width // 3) for i in range(keys)]
    # a word that does not fit next to the keys is broken; a number never is
    room = max(1, width - _total_width([*least[:keys], 0]))
    for i in range(keys, len(header)):
        if header[i] not in numbers:
            least[i] = min(least[i], room)
    return least


def _block(columns: tuple[int, ...], full: list[int], least: list[int], width: int) -> ColumnBlock:
    """Narrow the widest columns until all fit, but none below its minimum width."""
    widths = {i: full[i] for i in columns}
    while _total_width(list(widths.values())) > width:
        widest = max(widths, key=lambda i: (widths[i] - least[i] > 0, widths[i]))
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return ColumnBlock(columns, tuple(widths.values()))


def _total_width(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _longest_word(text: str) -> int:
    from rich.cells import cell_len

    return max(map(cell_len, text.split()), default=0)


def drawn_block(
    block: ColumnBlock,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[str],
) -> Table:
    """The block as a rich table; columns of numbers are right-aligned."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    padding = (0, _GAP - 1, 0, 0)
    table = Table(
        box=box.SIMPLE_HEAD, header_style="cyan", show_edge=False, pad_edge=False, padding=padding
    )
    for i, width in zip(block.indices, block.widths, strict=True):
        table.add_column(
            Text(printable(header[i])),
            justify="right" if header[i] in numbers else "left",
            style="cyan" if i == 0 else "",
            width=width,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(printable(row[i])) for i in block.indices))
    return table


def wrapped(line: str, width: int) -> list[str]:
    """Wrap a line between words; continuation lines are indented to its text, at most half way."""
    import textwrap

    if len(line) <= width:
        return [line]
    words = line.lstrip(_STROKES)
    left = line[: len(line) - len(words)]
    if len(left) > width // 2:
        left = "…" + left[len(left) - width // 2 + 1 :]
    options: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    # the branches of a tree continue to the left of the wrapped text
    under = left.replace("├─", "│ ").replace("└─", "  ") + "  "
    tied = tie_commands(words)
    lines = textwrap.wrap(tied, width, initial_indent=left, subsequent_indent=under, **options)
    return [each.replace(TIE, " ") for each in lines] or [line]
