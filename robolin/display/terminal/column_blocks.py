"""Tables of words and numbers that fit a terminal: words are wrapped, numbers never cut."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from robolin.core.text import printable

if TYPE_CHECKING:
    from rich.table import Table

# between columns: one blank beside each, and the one of the box
_GAP = 3
_STROKES = " │├└─"


@dataclass(frozen=True)
class ColumnBlock:
    """Some columns of a table, by their places, and how wide each is drawn."""

    places: tuple[int, ...]
    widths: tuple[int, ...]

    @property
    def width(self) -> int:
        """How many columns of a terminal it takes."""
        return sum(self.widths) + _GAP * (len(self.widths) - 1)


def column_blocks(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[str],
    keys: int,
    width: int,
) -> Iterator[ColumnBlock]:
    """The columns in groups that fit the width, each beginning with the first `keys` columns.

    A block is wider only where its keys and one column more do not fit.
    """
    from rich.cells import cell_len

    columns = [[printable(text) for text in column] for column in zip(header, *rows, strict=True)]
    full = [max(map(cell_len, column)) for column in columns]
    least = _least_widths(header, columns, full, numbers, keys, width)
    key_places = tuple(range(keys))
    places = key_places
    for i in range(keys, len(header)):
        wider = (*places, i)
        if len(places) > keys and _taken([least[j] for j in wider]) > width:
            yield _block(places, full, least, width)
            wider = (*key_places, i)
        places = wider
    yield _block(places, full, least, width)


def _least_widths(
    header: Sequence[str],
    columns: Sequence[Sequence[str]],
    full: list[int],
    numbers: Collection[str],
    keys: int,
    width: int,
) -> list[int]:
    """What each column needs at the least: a number its digits, words the longest of them."""
    least = [
        full[i] if name in numbers else max(map(_longest_word, columns[i]))
        for i, name in enumerate(header)
    ]
    # what tells rows apart stays whole, unless it takes most of the room
    if _taken(full[:keys]) <= width // 2:
        least[:keys] = full[:keys]
    else:
        least[:keys] = [min(full[i], width // 3) for i in range(keys)]
    # a word that does not fit beside the keys is broken; a number never is
    room = max(1, width - _taken([*least[:keys], 0]))
    for i in range(keys, len(header)):
        if header[i] not in numbers:
            least[i] = min(least[i], room)
    return least


def _block(places: tuple[int, ...], full: list[int], least: list[int], width: int) -> ColumnBlock:
    """The columns with their widest ones narrowed until all fit, none below its least."""
    widths = {i: full[i] for i in places}
    while _taken(list(widths.values())) > width:
        widest = max(widths, key=lambda i: (widths[i] - least[i] > 0, widths[i]))
        if widths[widest] <= least[widest]:
            break
        widths[widest] -= 1
    return ColumnBlock(places, tuple(widths.values()))


def _taken(widths: Sequence[int]) -> int:
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
    """The block as a table of rich; a column of numbers stands to the right."""
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
    """A line broken between words, what hangs over under its beginning, at most half way in."""
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
