"""Reports as text and tables: plain in a pipe, with rich on a terminal, or JSON."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from robolin.cli.flags.flag import OUTPUT, Decorator, bundled, flag, validated_path
from robolin.cli.flags.output_flags import color_flag, standard_output
from robolin.core.records import dataclass
from robolin.core.text import pluralize, printable, printable_json
from robolin.errors import UsageError

if TYPE_CHECKING:
    from click import Option

    from robolin.core.summary import Extreme, Summary
    from robolin.display.terminal.grid import ColumnBlock


FORMS = ("table", "json")
EXTENSIONS = {".json": "json", ".txt": "table"}

CHECK_FORMS = ("table", "json", "github", "junit")
CHECK_EXTENSIONS = {".txt": "table", ".json": "json", ".xml": "junit"}

VALIDATE_FORMS = (*CHECK_FORMS, "sarif")
VALIDATE_EXTENSIONS = {**CHECK_EXTENSIONS, ".sarif": "sarif"}

DIFF_FORMS = ("table", "markdown", "csv", "json")
DIFF_EXTENSIONS = {".txt": "table", ".md": "markdown", ".csv": "csv", ".json": "json"}


# rows of a table on the smallest screen
# lines of text that are shown before a table at least
_FEWEST_LINES = 8
_FEWEST_ROWS = 8
# longer than the licence at the start of most robot files
_START_OF_A_FILE = 1 << 16
_ROBOT = re.compile(rb"(?:\xef\xbb\xbf)?(?>\s+|<\?.*?\?>|<!--.*?-->)*+<(?:robot|mujoco)", re.DOTALL)


@dataclass(frozen=True)
class ReportTable:
    """A table; columns of numbers are right-aligned.

    keys: number of leading columns that identify a row; repeated if a terminal is too narrow
          for all columns
    """

    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    numbers: frozenset[str] = frozenset()
    title: str = ""
    keys: int = 1


@dataclass(frozen=True)
class TextLines:
    """Text that is shown unchanged."""

    lines: Sequence[str]
    title: str = ""


ReportSection = ReportTable | TextLines
FittingSections = Callable[[int, int], Sequence[ReportSection]]


@dataclass(frozen=True)
class Report:
    """Output path and format of a report."""

    path: str | None = None
    form: str = "table"
    color: str = "auto"
    everything: bool = False

    def write(
        self,
        sections: Sequence[ReportSection],
        document: Any,
        screen: Sequence[ReportSection] | FittingSections | None = None,
        lines_after: int = 0,
    ) -> None:
        """Write the sections, or the corresponding document as JSON.

        screen:      sections for a terminal in order of importance; others are listed. Or a
                     function of the width and height that returns the sections to show
        lines_after: lines of the screen to leave for messages
        """
        if self.path is not None:
            text = _json(document) if self.form == "json" else plain_text(sections)
            _write_file(self.path, text)
            return
        stream = standard_output()
        terminal = stream.isatty()
        if self.form == "json":
            text = _json(document)
        elif terminal or self.color == "always":
            if screen is not None and self.shows_screen:
                width, height = shutil.get_terminal_size()
                height -= lines_after
                if callable(screen):
                    sections = screen(width, height)
                else:
                    sections = fitting_sections(screen, width, height)
            text = render_report(sections, _width(terminal), self._colored(terminal))
        else:
            text = plain_text(sections)
        _write_text(text, terminal)

    @property
    def shows_screen(self) -> bool:
        """True if the report is a short one for a terminal."""
        to_terminal = self.path is None and self.form == "table" and standard_output().isatty()
        return to_terminal and not self.everything

    def write_text(self, text: str) -> None:
        """Write a formatted text."""
        if self.path is not None:
            _write_file(self.path, text)
        else:
            _write_text(text, standard_output().isatty())

    def _colored(self, terminal: bool) -> bool:
        if self.color == "auto":
            return terminal and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        return self.color == "always"


_FLAGS = [
    flag("-o --output FILE", OUTPUT, "Write to a .json or .txt file", into="path"),
    flag("--format", OUTPUT, "Output format (default table)", into="form", choices=FORMS),
    color_flag("Colours on standard output"),
]


def report_flags(text: str, forms: Sequence[str]) -> list[Option]:
    """The flags -o, --format and --color of a report in one of several formats."""
    *first, last = forms
    return [
        flag("-o --output FILE", OUTPUT, text, into="path"),
        flag(
            "--format FORMAT",
            OUTPUT,
            f"{', '.join(first)} or {last} (default table)\n"
            "This option sets the format on standard output; -o also writes a file.",
            into="form",
            choices=forms,
        ),
        color_flag("Colours on standard output"),
    ]


ALL_FLAG = flag("--all", OUTPUT, "Do not shorten the output on a terminal", into="everything")


def _report(path: str | None, form: str | None, color: str, everything: bool = False) -> Report:
    if path is None:
        return Report(None, form or "table", color, everything)
    extension = PurePath(validated_path(path)).suffix.lower()
    known = EXTENSIONS.get(extension)
    if known is None:
        raise _unknown_extension(path, EXTENSIONS)
    if form not in (None, known):
        hint = "remove --format: the extension sets the format"
        raise UsageError(f"the extension means {known}, not {form}", where=path, hint=hint)
    return Report(path, known, color)


def _unknown_extension(path: str, extensions: Mapping[str, str]) -> UsageError:
    hint = f"use {', '.join(extensions)}"
    return UsageError("unknown file extension for a report", where=path, hint=hint)


report_options: Decorator = bundled("report", _FLAGS, _report)
# for reports of more than one screen
long_report_options: Decorator = bundled("report", [*_FLAGS, ALL_FLAG], _report)


def reports_for(
    path: str | None,
    form: str | None,
    color: str,
    extensions: Mapping[str, str],
    everything: bool = False,
) -> list[Report]:
    """A report for the file, with the format of its extension, and one for standard output.

    Without a file only the latter is returned; with a file, it requires --format.
    """
    shown = [Report(None, form or "table", color, everything)] if form or path is None else []
    if path is None:
        return shown
    known = extensions.get(PurePath(validated_path(path)).suffix.lower())
    if known is None:
        raise _unknown_extension(path, extensions)
    return [Report(path, known, color), *shown]


def require_no_robot(path: str) -> None:
    """Reject a robot file as report output: the input may include it."""
    if PurePath(path).suffix.lower() != ".xml":
        return
    try:
        with open(path, "rb") as stream:
            start = stream.read(_START_OF_A_FILE)
    except OSError:
        # it does not exist, or the write error is reported later
        return
    if _ROBOT.match(start):
        raise UsageError(
            "is a robot file and cannot be replaced", where=path, hint="write to another file"
        )


def plain_text(sections: Sequence[ReportSection]) -> str:
    """The sections as plain text: nothing shortened or wrapped."""
    blocks = []
    for section in sections:
        lines = [section.title] if section.title else []
        lines += section.lines if isinstance(section, TextLines) else _columns(section)
        blocks.append("".join(f"{printable(line).rstrip()}\n" for line in lines))
    return "\n".join(blocks)


def _columns(table: ReportTable) -> list[str]:
    lines = [table.header, *table.rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [
        "  ".join(
            text.rjust(width) if name in table.numbers else text.ljust(width)
            for text, width, name in zip(line, widths, table.header, strict=True)
        )
        for line in lines
    ]


def render_report(sections: Sequence[ReportSection], width: int, color: bool) -> str:
    """The sections laid out for a terminal of this width; empty columns are left out."""
    sections = [
        _without_empty_columns(section) if isinstance(section, ReportTable) else section
        for section in sections
    ]
    blocks = [
        _blocks(section, width) if isinstance(section, ReportTable) else [] for section in sections
    ]
    needed = max((block.width for each in blocks for block in each), default=0)

    from rich.text import Text

    from robolin.display.terminal.grid import drawn_block, wrapped
    from robolin.display.terminal.table import console_of, drawn_on

    # the terminal wraps names wider than itself: no cell is cut
    console = console_of(max(width, needed), color)
    for i, (section, columns) in enumerate(zip(sections, blocks, strict=True)):
        if i:
            console.print()
        if section.title:
            console.print(Text(printable(section.title), style="bold"))
        if isinstance(section, TextLines):
            for line in section.lines:
                for piece in wrapped(printable(line), width):
                    console.print(Text(piece), soft_wrap=True)
            continue
        for j, block in enumerate(columns):
            if j:
                console.print()
            console.print(drawn_block(block, section.header, section.rows, section.numbers))
    return drawn_on(console)


def _without_empty_columns(table: ReportTable) -> ReportTable:
    kept = [
        i
        for i in range(len(table.header))
        if i < table.keys or not table.rows or any(row[i] for row in table.rows)
    ]
    rows = [tuple(row[i] for i in kept) for row in table.rows]
    return replace(table, header=tuple(table.header[i] for i in kept), rows=rows)


def fitting_sections(
    sections: Sequence[ReportSection], width: int, height: int
) -> list[ReportSection]:
    """The sections that fit the screen; the first table is cut, the others are listed."""
    shown: list[ReportSection] = []
    left: list[str] = []
    # lines for the list of other sections with a blank one, and for the next prompt
    room = height - 3
    *sections, last = sections
    foot = last if isinstance(last, TextLines) and not last.title and sections else None
    if foot is None:
        sections.append(last)
    else:
        # legends explain the table: they are never left out
        room -= _lines(foot, width) - 1
    for section in sections:
        needed = _lines(section, width) + bool(shown)
        first = isinstance(section, ReportTable) and not any(
            isinstance(each, ReportTable) for each in shown
        )
        if needed > room and first and isinstance(section, ReportTable):
            pieces = _first_rows(section, room - bool(shown), width)
            shown += pieces
            room -= sum(_lines(piece, width) + 1 for piece in pieces)
        elif needed > room > _FEWEST_LINES and isinstance(section, TextLines):
            # causes come before the table of differences, so half of the screen is theirs
            shown.append(first_lines(section, room // 2, width))
            room -= _lines(shown[-1], width) + 1
        elif needed > room:
            left += filter(None, [re.split(r"[,;]| \[", section.title)[0]])
        else:
            shown.append(section)
            room -= needed
    if left:
        shown.append(TextLines([f"Also: {', '.join(left)} (--all)"]))
    return shown if foot is None else [*shown, foot]


def first_lines(section: TextLines, room: int, width: int) -> TextLines:
    """As many lines as fit, with the number of the others."""
    count = len(section.lines)
    cut = section
    while count > 1 and _lines(cut, width) > room:
        count -= 1
        more = f"… {pluralize(len(section.lines) - count, 'more line')} (--all)"
        cut = replace(section, lines=[*section.lines[:count], more])
    return cut


def _first_rows(table: ReportTable, room: int, width: int) -> list[ReportSection]:
    """The first columns of a table, and as many rows as fit, with the number of the others."""
    table = _without_empty_columns(table)
    kept = _blocks(table, width)[0].indices
    columns = len(table.header) - len(kept)
    cells = [tuple(row[i] for i in kept) for row in table.rows]
    table = replace(table, header=tuple(table.header[i] for i in kept), rows=cells)
    rows = len(table.rows)
    # the number of the other rows, with a blank line
    while rows > _FEWEST_ROWS and _lines(replace(table, rows=table.rows[:rows]), width) > room - 2:
        rows -= 1
    left = {"more row": len(table.rows) - rows, "more column": columns}
    more = " and ".join(pluralize(count, noun) for noun, count in left.items() if count)
    first = replace(table, rows=table.rows[:rows])
    return [first, TextLines([f"… {more} (--all)"])] if more else [first]


def _lines(section: ReportSection, width: int) -> int:
    return line_count([section], width)


def line_count(sections: Sequence[ReportSection], width: int) -> int:
    """The number of lines of the sections on a terminal of this width."""
    return render_report(sections, width, False).count("\n")


def table_fits(table: ReportTable, width: int) -> bool:
    """True if all columns of a table fit the width."""
    blocks = _blocks(_without_empty_columns(table), width)
    return len(blocks) == 1 and blocks[0].width <= width


def _blocks(table: ReportTable, width: int) -> list[ColumnBlock]:
    from robolin.display.terminal.grid import column_blocks

    return list(column_blocks(table.header, table.rows, table.numbers, table.keys, width))


def _width(terminal: bool) -> int:
    return shutil.get_terminal_size().columns if terminal else 10_000


def _json(document: Any) -> str:
    import json

    text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
    return printable_json(text) + "\n"


def _write_file(path: str, text: str) -> None:
    from robolin.io.atomic import atomic_write

    with atomic_write(path) as stream:
        stream.write(text.encode())


def _write_text(text: str, terminal: bool) -> None:
    """Replace characters that a terminal cannot encode; a pipe gets UTF-8 everywhere."""
    stream = standard_output()
    if terminal:
        from robolin.display.terminal.show import page_text

        if page_text(text, stream):
            return
    buffer = getattr(stream, "buffer", None)
    if buffer is None:
        stream.write(text)
        return
    stream.flush()
    encoding = (stream.encoding or "utf-8") if terminal else "utf-8"
    buffer.write(text.encode(encoding, errors="replace"))
    stream.flush()


_HEADER = ("array", "unit", "shape", "smallest", "smallest at", "largest", "largest at")


def summary_sections(summary: Summary, precision: int) -> list[ReportSection]:
    """One line per array, and the number of rows."""
    rows = [
        (
            array.name,
            array.unit,
            "×".join(map(str, array.shape)) or "1",
            *_cells(array.smallest, precision),
            *_cells(array.largest, precision),
        )
        for array in summary.arrays
    ]
    table = ReportTable(_HEADER, rows, frozenset(("smallest", "largest")))
    return [table] if summary.rows is None else [table, TextLines([pluralize(summary.rows, "row")])]


def _cells(extreme: Extreme | None, precision: int) -> tuple[str, str]:
    if extreme is None:
        return "", ""
    row = "" if extreme.row is None else f", row {extreme.row}"
    return f"{extreme.value:.{precision}g}", f"{extreme.entry}{row}"


def summary_document(summary: Summary) -> dict[str, Any]:
    """The summary as a JSON document; rows are counted from 1."""
    return {"rows": summary.rows, "arrays": [asdict(array) for array in summary.arrays]}
