"""Tables that fit the terminal width: words are wrapped, numbers are never cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robolin.core.text import printable

if TYPE_CHECKING:
    from rich.table import Table

# column spacing: one blank on each side, and the border
_GAP = 3
_STROKES = " │├└─"


@dataclass(frozen=True)
class ColumnBlock:
    """Some columns of a table: indices and widths."""

    places: tuple[int, ...]
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
    """Minimum width of each column: a number's digits, or the longest word."""
    least = [
        full[i] if name in numbers else max(map(_longest_word, columns[i]))
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

    table = Table(box=box.SIMPLE_HEAD, header_style="cyan", show_edge=False, pad_edge=False)
    for i, width in zip(block.places, block.widths, strict=True):
        table.add_column(
            Text(printable(header[i])),
            justify="right" if header[i] in numbers else "left",
            style="cyan" if i == 0 else "",
            width=width,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(Text(printable(row[i])) for i in block.places))
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
    under = " " * len(left) + "  "
    return textwrap.wrap(words, width, initial_indent=left, subsequent_indent=under, **options) or [
        line
    ]
