"""Output flags as one object: file, format, and messages."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, TextIO

import click

from robolin.cli.flags.flag import OUTPUT, flag, validated_path
from robolin.cli.main import message_width, say, wrapped_message
from robolin.core.records import dataclass
from robolin.core.text import join_and
from robolin.core.text_parsing import parse_names
from robolin.errors import FileError
from robolin.io.format_table import FORMATS, PIPED, TABLE, extensions, stream_formats

if TYPE_CHECKING:
    from robolin.core.result import Result, ResultStream
    from robolin.queries.request import Settings

COLORS = ("auto", "always", "never")


def color_flag(text: str) -> click.Option:
    """The --color option; `text` names the output it applies to."""
    return flag("--color", OUTPUT, text, choices=COLORS, default="auto")


@dataclass
class Messages:
    """Messages that wait until the result is on the screen."""

    waits: bool = False
    held: list[tuple[str, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Output:
    """Options for writing a result."""

    path: str | None = None
    form: str | None = None
    precision: int | None = None
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    jobs: int | None = None
    chunk_rows: int | None = None
    arrays: tuple[str, ...] = ()
    summary: bool = False
    plot: bool = False
    everything: bool = False
    assumptions: bool = False
    live: bool = False
    messages: Messages = field(default_factory=Messages, compare=False)

    def require_target(self, inputs: Iterable[str] = ()) -> None:
        """Reject an output file that is not writable or is an input, before computing."""
        from robolin.io.format_table import require_output_is_no_input, require_target

        if self.path is not None:
            require_target(self.path, self.form)
        require_output_is_no_input(self.path, inputs)

    def resolved_format(self) -> str:
        """The format of the result."""
        from robolin.io.format_table import format_of

        if self.path is not None:
            return format_of(self.path, self.form)
        return self.form or (TABLE if standard_output().isatty() else PIPED)

    def prints_numbers(self) -> bool:
        """True if standard output gets the numbers as a table or CSV, and no file is written."""
        in_part = self.path is not None or self.summary or self.plot
        return not in_part and self.resolved_format() in (TABLE, PIPED)

    def streams_to_terminal(self) -> bool:
        """True if rows stream to the terminal, so that no progress bar may be drawn."""
        on_terminal = self.path is None and standard_output().isatty()
        return on_terminal and self.resolved_format() != TABLE

    def write(self, result: Result | ResultStream) -> None:
        """Write the result as a file, a table, a summary or a text plot.

        Args:
            result: the result, or its parts
        """
        if self.assumptions and self.prints_numbers() and self.resolved_format() == PIPED:
            self.note("CSV contains no model assumptions: use --format table or json")
        if self.arrays:
            from robolin.core.summary import only_arrays

            result = only_arrays(result, self.arrays)
        if self.plot:
            self._write_quick_look(result)
        elif self.summary:
            self._write_summary(result)
        else:
            self._write(result)

    def _write_summary(self, result: Result | ResultStream) -> None:
        """Show the extremes of the result; write the result itself only with -o."""
        from robolin.cli.report import Report, summary_document, summary_sections
        from robolin.core.result import ResultStream
        from robolin.core.summary import Summary

        summary = Summary()
        passed = summary.passing(result)
        if self.path is not None:
            replace(self, form=None)._write(passed)
        elif isinstance(passed, ResultStream):
            for _part in passed.parts:
                pass
        report = Report(None, "json" if self.form == "json" else "table", self.color)
        report.write(summary_sections(summary, self.precision or 6), summary_document(summary))

    def _write_quick_look(self, result: Result | ResultStream) -> None:
        """Draw the result with block characters; write the result itself only with -o."""
        import shutil

        from robolin.cli.report import Report
        from robolin.core.result import Result
        from robolin.display.plots.result_panels import panels_of
        from robolin.display.terminal.text_plot import text_plot
        from robolin.queries.answer import concat_parts

        complete = result if isinstance(result, Result) else concat_parts(result)
        if self.path is not None:
            self._write(complete)
        width = shutil.get_terminal_size().columns
        Report().write_text(text_plot(panels_of(complete), width))

    def _write(self, result: Result | ResultStream) -> None:
        if self.path is not None and (form := self.resolved_format()) != TABLE:
            from robolin.core.result import checked_stream

            FORMATS[form].write(checked_stream(result), self.path)
            return
        from robolin.display.terminal.show import write_result

        write_result(
            result,
            path=self.path,
            fmt=self.form,
            precision=self.precision,
            color=self.color,
            stream=sys.stdout if self.path else standard_output(),
            everything=self.everything,
            contract=self.assumptions,
            lines_after=self.message_lines,
        )

    def note(self, *texts: str) -> None:
        """Print notes on stderr, except with --quiet."""
        self._say("note", texts)

    def warn(self, *texts: str) -> None:
        """Print warnings about probable mistakes on stderr, except with --quiet."""
        self._say("warning", texts)

    def notify(self, kind: str, text: str) -> None:
        """Print a note or a warning; a summary only if standard output does not show it."""
        if kind == "summary":
            if self._shows_contract():
                return
            kind = "note"
        self._say(kind, (text,))

    def notify_part(self, kind: str, text: str) -> None:
        """Print a note or a warning; summaries are stored in the parts."""
        if kind != "summary":
            self._say(kind, (text,))

    def _shows_contract(self) -> bool:
        """True if standard output shows the contract, which includes summaries."""
        in_part = self.path is not None or self.summary or self.plot
        return not in_part and self.resolved_format() != "csv"

    def settings(self) -> Settings:
        """Settings of the computation, with messages printed by this output."""
        from robolin.queries.request import Settings

        return Settings(
            self.jobs,
            self.chunk_rows,
            self.verbose,
            self.notify,
            live=self.live,
            arrays=self.arrays,
        )

    def _say(self, kind: str, texts: Iterable[str]) -> None:
        if self.quiet:
            return
        if self.messages.waits:
            self.messages.held += [(kind, text) for text in texts]
            return
        for text in texts:
            say(kind, text)

    def message_lines(self) -> int:
        """Lines of the screen that the held messages take."""
        return sum(
            wrapped_lines(kind, short_note(kind, text) if kind == "note" else text)
            for kind, text in self.messages.held
        )

    @contextmanager
    def messages_last(self, shown: bool | None = None) -> Iterator[None]:
        """Print notes and warnings after a table on a terminal, which begins with its numbers.

        shown: True if a table is shown (default: if the result is one)
        """
        if self.messages.waits:
            # the outer one prints them
            yield
            return
        if shown is None:
            on_terminal = self.path is None and standard_output().isatty()
            shown = on_terminal and self.resolved_format() == TABLE
        self.messages.waits = shown
        try:
            yield
        finally:
            self.messages.waits = False
            for kind, text in self.messages.held:
                say(kind, short_note(kind, text) if kind == "note" else text)
            self.messages.held.clear()


def wrapped_lines(kind: str, text: str) -> int:
    """Number of lines that a message takes on a terminal."""
    return wrapped_message(f"{kind}: {text}", message_width()).count("\n") + 1


def short_note(kind: str, text: str) -> str:
    """A note of at most two lines of a terminal; of a longer list, one line and a number.

    --assumptions has the whole list.
    """

    room = message_width() - len(f"{kind}: ")
    if wrapped_lines(kind, text) <= 2 or sys.stderr is None or not sys.stderr.isatty():
        return text
    # ROBOT: WHAT: LIST; other notes are sentences
    head, colon, items = text.rpartition(": ")
    if ": " not in head:
        return text
    for mark in (";", ","):
        listed = items.split(f"{mark} ")
        for count in range(len(listed) - 1, 0, -1):
            short = f"{head}{colon}{f'{mark} '.join(listed[:count])}"
            short += f"{mark} {len(listed) - count} more"
            if len(short) <= room:
                return short
    short = f"{head} (--assumptions)"
    return short if "; " in items and len(short) <= room else text


def standard_output() -> TextIO:
    """The stream for results; a closed stream is an error."""
    if sys.stdout is None:
        raise FileError("standard output is closed", hint="write to a file: -o FILE")
    return sys.stdout


def _only_files() -> list[str]:
    """Formats that are only available for files."""
    return [name for name in FORMATS if name not in stream_formats()]


# threads and blocks of rows
BLOCK_FLAGS = [
    flag("--jobs N", OUTPUT, "Number of threads (default: one per processor)", minimum=1),
    flag(
        "--chunk-rows N",
        OUTPUT,
        "Rows computed per block (default: 4 MB of results, from 64 to 16384 rows)",
        minimum=1,
    ),
]
_ONE_FORM = "remove one of the two options"
_FLAGS = [
    flag(
        "-o --output FILE",
        OUTPUT,
        "Write to a file\n"
        f"The extension sets the format: {extensions(FORMATS)}. For several recordings, "
        "-o FOLDER/ writes one file per recording.",
        into="path",
    ),
    flag(
        "--format FORMAT",
        OUTPUT,
        f"Output format (default {TABLE}, or {PIPED} in a pipe)\n"
        f"Formats: {join_and((TABLE, *stream_formats(), *_only_files()))}. "
        f"{join_and(_only_files())} require -o.",
        into="form",
        choices=(TABLE, *stream_formats(), *_only_files()),
        requires={f"output if format={'|'.join(_only_files())}": "write to a file: -o FILE"},
    ),
    flag(
        "--precision N",
        OUTPUT,
        "Significant digits in tables, 1 to 17 (default 4)",
        type=click.IntRange(1, 17),
    ),
    flag("--all", OUTPUT, "Show all arrays in full", into="everything"),
    flag("--assumptions", OUTPUT, "Show all model assumptions"),
    color_flag("Colours in tables"),
    flag(
        "--only ARRAY",
        OUTPUT,
        "Show or write only this array; repeatable\nSeparate several arrays with commas.",
        into="arrays",
        multiple=True,
    ),
    flag(
        "--summary",
        OUTPUT,
        "Show the minimum and maximum of each array",
        excludes={"format=csv": "use --format table or json"},
    ),
    flag(
        "--plot",
        OUTPUT,
        "Show a text plot\nSee `robolin plot` for image files.",
        excludes={"summary": _ONE_FORM, "format if !format=table": _ONE_FORM},
    ),
    *BLOCK_FLAGS,
    flag("-q --quiet", OUTPUT, "Hide warnings and notes"),
    flag(
        "-v --verbose", OUTPUT, "Show more notes, such as the condition number of the mass matrix"
    ),
]


OUTPUT_PARAMS: list[click.Parameter] = [*_FLAGS]


def output_params(taken: Iterable[click.Parameter]) -> list[click.Parameter]:
    """The output flags, without those that a command redefines."""
    words = {word for param in taken for word in param.opts}
    return [param for param in OUTPUT_PARAMS if not words & set(param.opts)]


def output_of(ctx: click.Context) -> Output:
    """Parse the output flags."""
    values: dict[str, Any] = {
        param.name or "": ctx.params[param.name or ""]
        for param in _FLAGS
        if param.name in ctx.params
    }
    path = values.pop("path")
    if "arrays" in values:
        values["arrays"] = tuple(name for text in values["arrays"] for name in parse_names(text))
    return Output(path and validated_path(path), **values)
