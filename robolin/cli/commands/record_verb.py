"""robolin record: store a reference result for `check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag, option_name
from robolin.core.results.swept_verbs import SWEEP
from robolin.core.text import printable
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.format_table import FORMATS, extensions
from robolin.queries.verbs import answering_verb

if TYPE_CHECKING:
    from robolin.checking.differences import Tolerances
    from robolin.cli.flags.output_flags import Output
    from robolin.core.results.result import Result, ResultStream
    from robolin.queries.request import Request

# `--suite` without a file name
_NEAREST = "<nearest>"


_FLAGS = [
    flag(
        "--rtol",
        section=METHOD,
        type=float,
        metavar="R",
        help="Later results may differ by R |stored|; before VERB if that has such a flag itself.  "
        "[default: 0]",
    ),
    flag(
        "--atol",
        section=METHOD,
        type=float,
        metavar="A",
        help="Later results may differ by A, in the unit of the array; before VERB likewise.  "
        "[default: 0]",
    ),
    flag(
        "--suite",
        section=METHOD,
        is_flag=False,
        flag_value=_NEAREST,
        excludes={"words rtol atol": "the suite contains the questions and tolerances"},
        metavar="[FILE]",
        help="Store every result of the suite that is missing.  "
        "[default: robolin.toml or pyproject.toml, here or above]",
    ),
]
_WORDS = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED, metavar="[VERB ARM [OPTIONS]]")


class RecordCommand(VerbCommand):
    """A command that contains another command line; options of the same name belong to that one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for i, word in enumerate(args):
            if (verb := answering_verb(word)) is not None:
                if any(option_name(flag) in verb.options for flag in _FLAGS):
                    args = [*args[: i + 1], "--", *args[i + 1 :]]
                break
        return super().parse_args(ctx, args)


@click.command(
    "record",
    cls=RecordCommand,
    params=[_WORDS, *_FLAGS],
    context_settings={"ignore_unknown_options": True},
)
def command(
    words: tuple[str, ...], rtol: float | None, atol: float | None, suite: str | None
) -> None:
    """A result stored for others to be checked against.

    Runs VERB with its own options, -o FILE among them, and stores the result together with its
    tolerances and the way from there to the files it was computed from.  `robolin check FILE`
    asks the same question again and compares.

    \b
    Example:
      robolin record inverse panda --q panda_joint4=-90deg -o holding.npz
      robolin record forward arm.urdf --trajectory motion.csv -o motion.npz --rtol 1e-9
      robolin record sweep inverse panda --payload panda_hand:0,1,2 -o payloads.npz
      robolin record --suite
    """
    from robolin.checking.differences import Tolerances, uniform_tolerances

    close = uniform_tolerances(rtol, atol)
    if suite is None:
        _record(words, close or Tolerances({}))
    else:
        _record_suite(None if suite == _NEAREST else suite)


def _record(words: tuple[str, ...], close: Tolerances) -> None:
    from robolin.cli.query_command import run_and_write

    if not words:
        hint = "for example: robolin record inverse panda -o holding.npz"
        raise UsageError("which VERB is to be recorded?", where="robolin record", hint=hint)
    inquiry, out = _parse_recorded(words)

    def write(answer: Result | ResultStream) -> None:
        from robolin.checking.check_results import as_reference

        if out.path is None:
            others = extensions(name for name in FORMATS if name != "npz")
            hint = f"-o FILE.npz, or {others}"
            raise UsageError("a reference needs a file to be stored in", where="-o", hint=hint)
        out.write(as_reference(answer, Path(out.path), inquiry.files, close, out.notify))

    run_and_write(inquiry, out, write)


def _parse_recorded(words: tuple[str, ...]) -> tuple[Request, Output]:
    """Parse the command to record, which may be a sweep."""
    from robolin.cli.commands.sweep_verb import parse_sweep
    from robolin.cli.group import parse_only
    from robolin.cli.query_command import parse_request

    if words[0] == SWEEP:
        return parse_sweep(words[1:])
    if answering_verb(words[0]) is None:
        message = f"'{words[0]}' is no verb with results to store"
        raise UsageError(message, where="robolin record", hint="`robolin --help` lists the verbs")
    with parse_only(words) as ctx:
        return parse_request(ctx)


def _record_suite(path: str | None) -> None:
    from robolin.checking.check_results import in_case, record_inquiry
    from robolin.checking.differences import Tolerances
    from robolin.checking.suite import nearest_suite
    from robolin.queries.request import DEFAULT_SETTINGS

    cases = nearest_suite(path)
    missing = [case for case in cases if not case.stored.exists()]
    problems: list[RobolinError] = []
    for case in missing:
        case.stored.parent.mkdir(parents=True, exist_ok=True)
        close = case.tolerances or Tolerances({})
        try:
            record_inquiry(case.question.inquiry(), case.stored, DEFAULT_SETTINGS, close)
        except RobolinError as error:
            problems += [in_case(case, part) for part in error.parts]
        else:
            click.echo(printable(f"recorded {case.name}: {case.stored}"))
    raise_all(problems)
    click.echo(f"{len(missing)} recorded, {len(cases) - len(missing)} there already")
