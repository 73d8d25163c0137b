"""Commands that contain another command line: sweep, record and plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag, option_name
from robolin.cli.group import canonical_name
from robolin.core.choices import PICTURE_FORMATS, SWEEP
from robolin.core.text import pluralize, printable
from robolin.errors import RobolinError, UsageError, raise_all
from robolin.io.format_table import FORMATS, extensions
from robolin.queries.question import answering_verb
from robolin.queries.verbs import VERBS, unknown_verb

if TYPE_CHECKING:
    from robolin.checking.differences import Tolerances
    from robolin.cli.flags.output_flags import Output
    from robolin.core.result import Result, ResultStream
    from robolin.queries.request import Request

NESTED_WORDS = click.Argument(
    ["words"], metavar="COMMAND ARM [OPTIONS]", nargs=-1, type=click.UNPROCESSED
)


_PLAN = "robolin batch plan"


def _canonical(words: Sequence[str]) -> tuple[str, ...]:
    """The words, with the name of the command instead of a synonym."""
    return (*map(canonical_name, words[:1]), *words[1:])


class NestedCommand(VerbCommand):
    """A command that contains another command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in ("-h", "--help", "--help-all"):
            args = ["--", *args]
        return super().parse_args(ctx, args)


@click.command("sweep", cls=NestedCommand, params=[NESTED_WORDS], options_metavar="")
def sweep_command(words: tuple[str, ...]) -> None:
    """Repeat a command for several values of an option.

    Exactly one model option must have several values: --payload LINK:0,1,2, --armature
    JOINT=0,0.1,0.2, --lock JOINT=0,0.5,1 or --friction-velocity 0.01,0.1. The result has one row
    per value. With -o FILE.svg, FILE.png or FILE.pdf, the command writes a plot.

    \b
    Examples:
      robolin sweep inverse panda --payload panda_hand_tcp:0,1,2,3
      robolin sweep mass-matrix two-link --payload lower:0,1,2 --summary
      robolin sweep forward two-link --lock shoulder=0,0.5,1
      robolin sweep poles two-link --payload lower:0,1,2 -o poles.svg

    \b
    Returns:
      the arrays of COMMAND, with one row per value
    """
    from robolin.cli.query_command import run_and_write

    inquiry, out = parse_sweep(words)
    if out.path is not None and PurePath(out.path).suffix.lower()[1:] in PICTURE_FORMATS:
        _draw(inquiry, out, out.path)
    else:
        run_and_write(inquiry, out)


def parse_sweep(words: Sequence[str]) -> tuple[Request, Output]:
    """Parse the command line of a sweep into a request and its output."""
    from robolin.cli.group import parse_only
    from robolin.cli.query_command import parse_request

    words = _canonical(words)
    _require_command_first(words, "sweep")
    if not words or words[0] not in VERBS or not VERBS[words[0]].answers:
        hint = "for example: robolin sweep inverse panda --payload panda_hand_tcp:0,1,2"
        raise UsageError(
            "requires a COMMAND that returns results", where="robolin sweep", hint=hint
        )
    with parse_only(words) as ctx:
        if ctx.params.get("limits"):
            hint = "remove this option; use `robolin inverse ARM --limits` for a single value"
            raise UsageError("cannot be used in a sweep", where="--limits", hint=hint)
        return parse_request(ctx, f"{SWEEP} {words[0]}")


def _require_command_first(words: Sequence[str], name: str) -> None:
    """Reject an option of COMMAND that is before it."""
    if words and words[0].startswith("-"):
        option = words[0].partition("=")[0]
        hint = f"write {option} after the command, as in robolin {name} COMMAND ARM {option}"
        raise UsageError(f"no such option '{option}'", where=f"robolin {name}", hint=hint)


def _draw(inquiry: Request, out: Output, path: str) -> None:
    from robolin.display.plots.draw_panels import figure_of, picture_bytes
    from robolin.io.atomic import atomic_write
    from robolin.io.format_table import require_output_is_no_input
    from robolin.queries.sweep import run_sweep

    require_output_is_no_input(path, inquiry.files.values())
    result = run_sweep(inquiry, out.settings())
    drawn = picture_bytes(figure_of(result, out.arrays), PurePath(path).suffix.lower()[1:])
    with atomic_write(path) as stream:
        stream.write(drawn)


# `--suite` without a file name
_NEAREST = "<nearest>"

_RECORD_FLAGS = [
    flag(
        "--rtol R",
        METHOD,
        "Relative tolerance for `robolin check` (default 0)\n"
        "If COMMAND has the same option, write this option before COMMAND.",
        type=float,
    ),
    flag(
        "--atol A",
        METHOD,
        "Absolute tolerance for `robolin check` (default 0)\n"
        "The tolerance has the unit of the array. If COMMAND has the same option, write this "
        "option before COMMAND.",
        type=float,
    ),
    flag(
        "--suite [FILE]",
        METHOD,
        "Store all missing results of the suite (default: nearest robolin.toml or pyproject.toml)",
        flag_value=_NEAREST,
        excludes={"words rtol atol": "the suite file contains the commands and tolerances"},
    ),
]
_RECORD_WORDS = click.Argument(
    ["words"], nargs=-1, type=click.UNPROCESSED, metavar="COMMAND ARM [OPTIONS]"
)


class RecordCommand(VerbCommand):
    """A command that contains another command line; options of equal name belong to that one."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for i, word in enumerate(args):
            if (verb := answering_verb(word)) is not None:
                if any(option_name(flag) in verb.options for flag in _RECORD_FLAGS):
                    args = [*args[: i + 1], "--", *args[i + 1 :]]
                break
        return super().parse_args(ctx, args)


@click.command(
    "record",
    cls=RecordCommand,
    params=[_RECORD_WORDS, *_RECORD_FLAGS],
    options_metavar="",
    context_settings={"ignore_unknown_options": True},
)
def record_command(
    words: tuple[str, ...], rtol: float | None, atol: float | None, suite: str | None
) -> None:
    """Store a result as a reference.

    Runs COMMAND with its options and stores the result with its tolerances and the paths of its
    inputs. `robolin check FILE` recomputes the result and compares the two.

    \b
    Examples:
      robolin record inverse panda --q home -o holding.npz
      robolin record forward arm.urdf --trajectory m.csv -o m.npz --rtol 1e-9
      robolin record sweep inverse panda --payload panda_hand:0,1,2 -o sweep.npz
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
        raise UsageError("requires a COMMAND", where="robolin record", hint=hint)
    _require_command_first(words, "record")
    inquiry, out = _parse_recorded(_canonical(words))

    def write(answer: Result | ResultStream) -> None:
        from robolin.checking.check_results import as_reference

        if out.path is None:
            others = extensions(name for name in FORMATS if name != "npz")
            hint = f"add -o FILE.npz (other extensions: {others})"
            raise UsageError("requires an output file", where="robolin record", hint=hint)
        out.write(as_reference(answer, Path(out.path), inquiry.files, close, out.notify))

    run_and_write(inquiry, out, write)


def _parse_recorded(words: tuple[str, ...]) -> tuple[Request, Output]:
    """Parse the command to record, which may be a sweep."""
    from robolin.cli.group import parse_only
    from robolin.cli.query_command import parse_request

    if words[0] == SWEEP:
        return parse_sweep(words[1:])
    if words[0] not in VERBS and canonical_name(words[0]) not in VERBS:
        raise unknown_verb(words[0], "robolin record", "run `robolin --help`")
    if answering_verb(words[0]) is None:
        message = f"the command '{words[0]}' has no result to store"
        raise UsageError(message, where="robolin record", hint="run `robolin --help`")
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
    click.echo(f"{len(missing)} recorded, {len(cases) - len(missing)} already stored")


@click.command("plan", cls=NestedCommand, params=[NESTED_WORDS], options_metavar="")
def plan_command(words: tuple[str, ...]) -> None:
    """Plan how to run a command on many recordings.

    Scans the recordings and writes the plan to the folder. All processes that compute parts
    of this batch read the plan.

    \b
    Examples:
      robolin batch plan inverse panda --trajectory 'logs/*.parquet' -o out/
      robolin batch plan forward ur5 --trajectory logs/ -o ur5/ --part-rows 10000
    """
    from robolin.batch.batch_plan import Division, require_outside
    from robolin.batch.parts_folder import begin, planned_in
    from robolin.cli.flags.flag import explicit_options, validated_path
    from robolin.cli.flags.output_flags import output_of
    from robolin.cli.group import parse_only
    from robolin.cli.query_command import recording_set
    from robolin.io.locations import parse_location
    from robolin.queries.request import request_from_options

    words = _canonical(words)
    _require_command_first(words, "batch plan")
    if not words or answering_verb(words[0]) is None:
        hint = f"for example: {_PLAN} inverse panda --trajectory 'logs/*.csv' -o out/"
        raise UsageError("requires a COMMAND that returns results", where=_PLAN, hint=hint)
    with parse_only(words) as ctx:
        many = recording_set(ctx)
        if many is None or many.folder is None:
            hint = "add --trajectory FILES -o FOLDER/"
            raise UsageError("requires recordings and a folder", where=_PLAN, hint=hint)
        options = {**explicit_options(ctx), "trajectory": many.recordings[0].path}
        inquiry = request_from_options(words[0], validated_path(ctx.params["arm"]), options)
        out = output_of(ctx)
        division, location = Division(many.part_rows, out.form), parse_location(many.folder)
        require_outside(str(location), many.recordings)
        batch = planned_in(location, inquiry, inquiry.source.arm(), many.recordings, division)
        begin(location, batch, [*inquiry.files.values(), *(each.path for each in batch.sources)])
    counts = (
        f"{pluralize(len(batch.parts), 'part')} of {pluralize(len(batch.sources), 'recording')}"
    )
    out.note(f"{location}: plan {batch.id[:12]}, {counts}")
