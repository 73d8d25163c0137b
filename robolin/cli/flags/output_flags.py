"""Where the answer goes and how much is said beside it: the output flags as one object."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

import click

from robolin.cli.flags.flag import OUTPUT, flag
from robolin.cli.flags.model_flags import file_name
from robolin.cli.messages import say
from robolin.errors import FileError, UsageError
from robolin.files.formats import FORMATS, PIPED, TABLE, extensions, stream_formats

if TYPE_CHECKING:
    from robolin.answering.posed_question import Settings
    from robolin.results.result import Result, ResultStream

COLORS = ("auto", "always", "never")


def color_flag(text: str) -> click.Option:
    """Whether there are colours; `text` says where."""
    return flag(
        "--color",
        section=OUTPUT,
        type=click.Choice(COLORS),
        default="auto",
        show_default=True,
        help=text,
    )


def count_flag(name: str, text: str) -> click.Option:
    """How many of something, at least one."""
    return flag(name, section=OUTPUT, type=click.IntRange(min=1), metavar="N", help=text)


@dataclass(frozen=True)
class Output:
    """How a result is written."""

    path: str | None = None
    form: str | None = None
    precision: int = 6
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False
    jobs: int | None = None
    chunk_rows: int | None = None
    live: bool = False

    def require_target(self, inputs: Iterable[str] = ()) -> None:
        """Refuse a file that could not be written or is read, before anything is computed."""
        from robolin.files.apart import require_apart
        from robolin.files.write import require_target

        if self.path is not None:
            require_target(self.path, self.form)
        require_apart(self.path, inputs)

    def form_written(self) -> str:
        """The form the answer will have."""
        from robolin.files.write import format_of

        if self.path is not None:
            return format_of(self.path, self.form)
        return self.form or (TABLE if standard_output().isatty() else PIPED)

    def fills_terminal(self) -> bool:
        """Whether rows appear on the terminal as they come, so that nothing else may."""
        on_terminal = self.path is None and standard_output().isatty()
        return on_terminal and self.form_written() != TABLE

    def write(self, result: Result | ResultStream) -> None:
        """Hand the result to the writer that fits."""
        from robolin.terminal.show import write

        write(
            result,
            path=self.path,
            fmt=self.form,
            precision=self.precision,
            color=self.color,
            stream=sys.stdout if self.path else standard_output(),
        )

    def note(self, *texts: str) -> None:
        """Say something on stderr that is worth knowing, unless asked to be quiet."""
        self._say("note", texts)

    def warn(self, *texts: str) -> None:
        """Say something on stderr that is likely to be a mistake, unless asked to be quiet."""
        self._say("warning", texts)

    def notify(self, kind: str, text: str) -> None:
        """Say a note or a warning; a summary only where the form of the answer has none."""
        if kind == "summary":
            if self.form_written() != "csv":
                return
            kind = "note"
        self._say(kind, (text,))

    def notify_of_parts(self, kind: str, text: str) -> None:
        """Say a note or a warning; a summary stands in the parts."""
        if kind != "summary":
            self._say(kind, (text,))

    def settings(self) -> Settings:
        """How to answer, with notes and warnings said here."""
        from robolin.answering.posed_question import Settings

        return Settings(self.jobs, self.chunk_rows, self.verbose, self.notify, live=self.live)

    def _say(self, kind: str, texts: Iterable[str]) -> None:
        if not self.quiet:
            for text in texts:
                say(kind, text)


def standard_output() -> TextIO:
    """The stream for answers; a closed one is an error, not a lost answer."""
    if sys.stdout is None:
        raise FileError("standard output is closed", hint="-o FILE writes to a file instead")
    return sys.stdout


def _only_files() -> list[str]:
    """The formats that only files can have."""
    return [name for name in FORMATS if name not in stream_formats()]


_FLAGS = [
    flag(
        "-o",
        "--output",
        "path",
        section=OUTPUT,
        metavar="FILE",
        help=f"Write to a file: {extensions(FORMATS)} picks the format.  "
        "Of recordings, FOLDER/ gets a file for each, named after it.",
    ),
    flag(
        "--format",
        "form",
        section=OUTPUT,
        type=click.Choice((TABLE, *stream_formats(), *_only_files())),
        help="Form of the answer on standard output, or of the files in FOLDER/.  "
        f"[default: {TABLE} on a terminal, {PIPED} into a pipe]",
    ),
    flag(
        "--precision",
        section=OUTPUT,
        type=click.IntRange(1, 17),
        default=6,
        show_default=True,
        metavar="N",
        help="Significant digits in tables; files have them all.",
    ),
    color_flag("Colours in tables."),
    count_flag(
        "--jobs",
        text="Threads that compute a trajectory.  [default: one per processor]",
    ),
    count_flag(
        "--chunk-rows",
        text="Rows to compute at once.  [default: 4 MB of results, 64 to 16384 rows]",
    ),
    flag("-q", "--quiet", section=OUTPUT, is_flag=True, help="No warnings and notes."),
    flag(
        "-v",
        "--verbose",
        section=OUTPUT,
        is_flag=True,
        help="More notes: the condition of M, for results that divide by it.",
    ),
]


OUTPUT_PARAMS: list[click.Parameter] = [*_FLAGS]


def output_of(ctx: click.Context) -> Output:
    """What the output flags say."""
    names = [param.name for param in _FLAGS if param.name]
    said: dict[str, Any] = {name: ctx.params[name] for name in names if name in ctx.params}
    path = said.pop("path")
    if path is None and said["form"] in _only_files():
        hint = f"-o FILE.{said['form']} writes one"
        message = f"only files have the form '{said['form']}'"
        raise UsageError(message, where="--format", hint=hint)
    return Output(path and file_name(path), **said)
