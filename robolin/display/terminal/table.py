"""Tables of results as text and HTML: joint names on both axes, units in titles."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from html import escape
from io import StringIO
from typing import TYPE_CHECKING, Any

from robolin.core.notebook import ROUNDED_ZERO, html_contract, html_table, phrase
from robolin.core.records import dataclass
from robolin.core.result import Result
from robolin.core.text import TIE, printable
from robolin.display.terminal.assumption_lines import assumptions, zero_outside_limits
from robolin.display.terminal.grid import (
    GAP,
    Grid,
    drawn_grid,
    first_rows,
    grid_width,
    numbered,
    split_grid,
    wrapped,
)
from robolin.display.terminal.linear_model_grids import pole_grid, pole_rows, response_grids
from robolin.display.terminal.numbers import NEGLIGIBLE_NOTE, OF_THE_MATRIX, aligned
from robolin.display.terminal.result_grids import Formatting, grids_of, round_off_floors
from robolin.display.terminal.screen import (
    POLE_COLUMNS,
    ShortNames,
    headline,
    is_plain,
    main_arrays,
    name_and_shape,
    one_line,
    screen_of,
    short_names,
    shortened,
)
from robolin.display.terminal.show import RowSummary, summarized

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


# significant digits on a terminal
DIGITS = 4
# where sentences are wrapped in a pipe
PIPE_WIDTH = 100
# rows of the first matrix that are shown on the smallest screen
SMALL_MATRIX = 7
# and rows of a larger one
_FEWEST_ROWS = 5
# arrays over time or frequency, with one matrix per row
RESPONSES = ("frequency_response", "step_response", "impulse_response")
# attempts to fit a screen
_TRIES = 4


def render_table(
    result: Result,
    console_width: int | None,
    color: bool,
    precision: int = DIGITS,
    rows: RowSummary | None = None,
    *,
    height: int | None = None,
    contract: bool = False,
) -> str:
    """The result as text: headline, arrays, legend and assumptions.

    Columns that do not fit the width continue in further tables; without a width nothing is split.

    rows:     summary of all rows, if the result holds only some of them
    height:   lines of the screen; arrays that do not fit it are summarized in one line each
    contract: print all assumptions instead of one or two lines
    """
    rows = summarized(result) if rows is None else rows
    names = short_names(result.joints)
    sections = list(_sections(shortened(result, names), precision, rows, console_width))
    ink = Ink(console_width, color)
    top = ink.text(headline(result, rows), "bold")
    foot = _foot(result, names, ink, contract, height is not None)
    if height is None:
        parts = _arranged(sections, ink, None)
    else:
        # the last line is the next prompt
        free = height - len(top) - len(foot) - 2
        parts = _fitted(sections, ink, free)
    body, summaries, legends = parts
    foot = [line for text in legends for line in ink.text(text, "dim")] + foot
    blocks = [top, body, ["", *summaries] if summaries else [], ["", *foot] if foot else []]
    return "".join(f"{line.rstrip()}\n" for block in blocks for line in block)


_Arranged = tuple[list[str], list[str], list[str]]


def _fitted(sections: Sequence[ArrayTables], ink: Ink, free: int) -> _Arranged:
    """The arrays on `free` lines, if they fit with some rows of the first one."""
    room = free
    parts = _arranged(sections, ink, room)
    for _ in range(_TRIES):
        body, summaries, legends = parts
        taken = len(body) + len(summaries) + bool(summaries)
        excess = taken + sum(len(ink.text(text)) for text in legends) - free
        if excess <= 0 or room <= 0:
            break
        room = max(room - excess, 0)
        parts = _arranged(sections, ink, room)
    body, summaries, legends = parts
    lines = len(body) + len(summaries) + 1 + sum(len(ink.text(text)) for text in legends)
    if len(summaries) > 1 and lines > free:
        # the first table takes the screen: name the other arrays
        names = [re.split(r" [\[(]|:", each.summary)[0] for each in sections[1:]]
        summaries = ink.text(f"Also: {', '.join(names)} (--all)")
    return body, summaries, legends


def _arranged(sections: Sequence[ArrayTables], ink: Ink, room: int | None) -> _Arranged:
    """Lines of tables, lines of other arrays, and legends.

    room: lines for the tables; arrays that do not fit are summarized in one line each
    """
    body: list[str] = []
    legends: list[str] = []
    summaries: list[str] = []
    others: list[str] = []
    rounded = False
    for i, section in enumerate(sections):
        drawn = section.drawn(ink, None if i else room)
        more = [text for text in drawn.legends if text not in legends]
        needed = len(drawn.lines) + sum(len(ink.text(text)) for text in more)
        if drawn.lines and (not i or room is None or needed <= room):
            body += drawn.lines
            legends += more
            rounded = rounded or drawn.is_rounded
            room = None if room is None else room - needed
        elif section.summary.endswith((": zero", ": identity")):
            others.append(re.sub(r"( \[[^]]*\])?: (zero|identity)$", r" \2", section.summary))
        elif section.is_main and section.pieces:
            lines = ink.text(section.summary)
            # a unit that takes a second line is omitted
            brief = re.sub(r" \[[^]]*\](?=: )", "", section.summary, count=1)
            summaries += lines if len(lines) == 1 else ink.text(brief)
        else:
            others.append(section.summary)
    if others:
        summaries += ink.text(f"Also: {', '.join(others)}")
    return body, summaries, [NEGLIGIBLE_NOTE] * rounded + legends


@dataclass(frozen=True)
class Ink:
    """Draws lines for a terminal of this width, with or without colours."""

    width: int | None
    color: bool

    def text(self, text: str, style: str = "") -> list[str]:
        """Text wrapped between words."""
        lines = [printable(x.replace(TIE, " ")) for x in wrapped(text, self.width or PIPE_WIDTH)]
        return self.draw(lambda console: console.print("\n".join(lines), style=style))

    def draw(self, print_on: Callable[[Console], None], needed: int = 0) -> list[str]:
        """The lines that a function prints on a console."""
        # the terminal wraps names wider than itself: no cell is cut
        console = console_of(max(needed, self.width or 10_000), self.color)
        print_on(console)
        return drawn_on(console).splitlines()


@dataclass
class DrawnTables:
    """Tables as lines, with the legends of their columns, and whether an entry is ~0."""

    lines: list[str] = field(default_factory=list)
    legends: list[str] = field(default_factory=list)
    is_rounded: bool = False


@dataclass(frozen=True)
class ArrayTables:
    """One array, or vectors side by side: tables that fit the width, or one line instead."""

    pieces: tuple[Grid, ...]
    summary: str = ""
    is_main: bool = True

    def drawn(self, ink: Ink, room: int | None) -> DrawnTables:
        """The tables as lines; tables after the first are left out if they exceed the room."""
        drawn, note = DrawnTables(), ""
        for i, piece in enumerate(self.pieces):
            legend = f"columns: {piece.legend}" if piece.legend else ""
            if not i and room is not None:
                rows = room - 4 - (len(ink.text(legend)) if legend else 0)
                small = len(piece.rows) <= SMALL_MATRIX and not piece.ends
                fewest = SMALL_MATRIX if small else _FEWEST_ROWS
                rows = max(rows, fewest)
                # a note about one row is as long as the row
                alone = len(self.pieces) == 1 and not piece.note
                if not (alone and len(piece.rows) == rows + 1):
                    piece = first_rows(piece, rows)
            more = ["", *(ink.text(piece.title, "bold") if piece.title else [])]
            if piece.rows:
                more += ink.draw(partial(_print_grid, piece), grid_width(piece))
            more += ink.text(piece.note, "dim") if piece.note else []
            if i and room is not None and len(drawn.lines) + len(more) > room:
                left = len(self.pieces) - i
                title = piece.title.rpartition("], ")[2] or piece.title or "1 more table"
                rest = title if left == 1 else f"{left} more tables"
                text = f"… {rest} (--all)"
                if note.startswith("… ") and note.endswith(" (--all)"):
                    del drawn.lines[-len(ink.text(note)) :]
                    text = f"{note.removesuffix(' (--all)')}, {rest} (--all)"
                drawn.lines += ink.text(text, "dim")
                break
            drawn.lines += more
            note = piece.note
            drawn.is_rounded |= _is_rounded(piece)
            # the numbers next to the names of a table above are a legend, too
            above = self.pieces[:i]
            if legend and not any(each.columns == piece.columns for each in above):
                drawn.legends.append(legend)
        return drawn


def _is_rounded(grid: Grid) -> bool:
    # the note of a table of poles explains its own zeros
    explained = ROUNDED_ZERO in grid.note
    return not explained and any(ROUNDED_ZERO in cell for row in grid.cells for cell in row)


def _print_grid(grid: Grid, console: Console) -> None:
    console.print(drawn_grid(grid), soft_wrap=True)


def _sections(
    result: Result, precision: int, rows: RowSummary, width: int | None
) -> Iterator[ArrayTables]:
    """The arrays in the order of the screen; arrays that are zero or an identity have no table."""

    def numbers(values: list[float]) -> list[str]:
        return aligned(values, precision)

    def of_one_line(values: list[float]) -> list[str]:
        largest = max(map(abs, values), default=0.0)
        return aligned(values, precision, [OF_THE_MATRIX * largest] * len(values))

    floor = round_off_floors(result)
    main = main_arrays(result)
    drawn: set[str] = set()
    if all(name in result for name in (*POLE_COLUMNS, "mode_shape")):
        if result.batch is None:
            yield ArrayTables(tuple(split_grid(pole_grid(result, numbers), width)))
            left = tuple(array for array in result.arrays if array.name not in POLE_COLUMNS)
            result = replace(result, arrays=left)
        else:
            write = Formatting(result, precision, rows, floor)
            yield ArrayTables(tuple(split_grid(pole_rows(write, numbers), width)))
            main = frozenset()
    for array in result.arrays:
        if array.name in RESPONSES and array.batch is not None:
            write = Formatting(result, precision, rows, floor)
            over_rows = response_grids(array, write)
            pieces = [p for grid in over_rows for p in split_grid(numbered(grid, width), width)]
            if pieces:
                drawn.add(array.name)
                yield ArrayTables(tuple(pieces))
    for grids, arrays in grids_of(result, precision, rows):
        is_main = arrays[0].name in main
        plain = len(result.arrays) > 1 and all(is_plain(array) for array in arrays)
        describe = one_line if is_main and not plain else name_and_shape
        texts = [describe(x, rows, of_one_line, floor(x.name, x.unit)) for x in arrays]
        summary = ", ".join(texts)
        if arrays[0].name in drawn:
            # the same array, with all its entries
            summary = summary.replace(f"--only {arrays[0].name}", "--all")
        tables = [] if plain else grids
        fitting = [p for grid in tables for p in split_grid(numbered(grid, width), width)]
        yield ArrayTables(tuple(fitting), summary, is_main)


def _foot(result: Result, names: ShortNames, ink: Ink, contract: bool, screen: bool) -> list[str]:
    """Legend of joint names, assumptions, and the flags that show more."""
    lines = ink.text(names.legend, "dim") if names.legend else []
    if contract and result.contract:
        lines += ink.draw(lambda console: console.print(_contract_block(result.contract)))
    else:
        own = screen_of(result)
        texts = assumptions(result.contract, own.hidden | own.brief if screen else own.hidden)
        lines += [line for text in texts for line in ink.text(text, "dim")]
    if screen and (outside := zero_outside_limits(result, names.of)):
        lines += ink.text(outside, "yellow")
    if screen and not contract:
        lines += ink.text("More: --all, --only ARRAY, --precision N, --assumptions, -o FILE", "dim")
    return lines


def _contract_block(contract: Mapping[str, Any]) -> Table:
    from rich.table import Table
    from rich.text import Text

    block = Table.grid(padding=(0, GAP, 0, 0))
    block.add_column(style="dim", no_wrap=True)
    block.add_column(style="dim", overflow="fold")
    for key, value in contract.items():
        block.add_row(Text(printable(str(key))), Text(printable(phrase(value))))
    return block


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


def html_of(result: Result, precision: int = DIGITS) -> str:
    """The arrays as HTML tables with names and units, the first rows only, and the contract."""
    tables, cells, left = [], 0, 0
    grids = (grid for grids, _ in grids_of(result, precision, summarized(result)) for grid in grids)
    for grid in grids:
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
