"""Where the answer goes and how much is said beside it: the output flags as one object."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

import click

from robolin.cli.flags import OUTPUT, bundled, flag
from robolin.cli.messages import say
from robolin.cli.model_flags import file_name
from robolin.errors import FileError

if TYPE_CHECKING:
    from robolin.output.result import Result

COLORS = ("auto", "always", "never")


@dataclass(frozen=True)
class Output:
    """How a result is written."""

    path: str | None = None
    form: str | None = None
    precision: int = 6
    color: str = "auto"
    quiet: bool = False
    verbose: bool = False

    def write(self, result: Result) -> None:
        """Hand the result to the writer that fits."""
        from robolin.output.write import write

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

    def _say(self, kind: str, texts: Iterable[str]) -> None:
        if not self.quiet:
            for text in texts:
                say(kind, text)


def standard_output() -> TextIO:
    """The stream for answers; a closed one is an error, not a lost answer."""
    if sys.stdout is None:
        raise FileError("standard output is closed", hint="-o FILE writes to a file instead")
    return sys.stdout


_FLAGS = [
    flag(
        "-o",
        "--output",
        "path",
        section=OUTPUT,
        metavar="FILE",
        help="Write to a file: .csv, .json, .npz or .parquet picks the format.",
    ),
    flag(
        "--format",
        "form",
        section=OUTPUT,
        type=click.Choice(("table", "csv", "json")),
        help="Form of the answer on standard output.  "
        "[default: table on a terminal, csv into a pipe]",
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
    flag(
        "--color",
        section=OUTPUT,
        type=click.Choice(COLORS),
        default="auto",
        show_default=True,
        help="Colours in tables.",
    ),
    flag("-q", "--quiet", section=OUTPUT, is_flag=True, help="No warnings and notes."),
    flag("-v", "--verbose", section=OUTPUT, is_flag=True, help="More notes: the condition of M."),
]


def _output(
    path: str | None, form: str | None, precision: int, color: str, quiet: bool, verbose: bool
) -> Output:
    return Output(path and file_name(path), form, precision, color, quiet, verbose)


output_options = bundled("out", _FLAGS, _output)
