"""robolin plan: what a command over many recordings will do, without doing it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag
from robolin.core.text import pluralize, suggest
from robolin.errors import UsageError
from robolin.queries.verbs import answering_verb

if TYPE_CHECKING:
    from robolin.batch.estimate import Estimate
    from robolin.cli.output.report import ReportSection

_WORDS = click.Argument(["words"], metavar="VERB ARM [OPTIONS]", nargs=-1, type=click.UNPROCESSED)
_OWN = [
    flag(
        "--estimate",
        section=METHOD,
        is_flag=True,
        help="Write nothing: measure a sample, and work out what all rows will take.",
    ),
    flag(
        "--workers",
        section=METHOD,
        type=click.IntRange(min=1),
        metavar="N",
        help="With --estimate: tell the time of N processes only.",
    ),
]
_ESTIMATE, _WORKERS = (each.opts[0] for each in _OWN)
_OUTPUT = ("-o", "--output")
_SHOWN_WORKERS = (1, 4, 16, 64, 256, 1024)
_UNITS = ((86400.0, "days"), (3600.0, "h"), (60.0, "min"), (1.0, "s"))


class PlanCommand(VerbCommand):
    """A command whose words are those of another, with options of its own anywhere among them."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, rest = _own_words(args)
        if rest and not rest[0].startswith("-"):
            _require_no_slip(ctx, rest)
            rest = ["--", *rest]
        return super().parse_args(ctx, [*own, *rest])


def _own_words(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """What is said to this command, and the words of the other one."""
    own, rest, given = list[str](), list[str](), iter(args)
    for word in given:
        if word == _WORKERS:
            own.append(f"{word}={next(given, '')}")
        elif word.partition("=")[0] in (_ESTIMATE, _WORKERS):
            own.append(word)
        else:
            rest.append(word)
    return own, rest


def _require_no_slip(ctx: click.Context, words: Sequence[str]) -> None:
    """Refuse what only an option of this command can have been meant by."""
    from robolin.cli.group import group

    other = group.get_command(ctx, words[0])
    known = {name for param in (other.params if other else ()) for name in param.opts}
    own = [each.removeprefix("--") for each in (_ESTIMATE, _WORKERS)]
    for word in words[1:]:
        name = word.partition("=")[0]
        if name.startswith("--") and name not in known and suggest(name[2:], own):
            raise click.NoSuchOption(name, ctx=ctx)


@click.command("plan", cls=PlanCommand, params=[_WORDS, *_OWN])
def command(words: tuple[str, ...], estimate: bool, workers: int | None) -> None:
    """What a command over many recordings will do.

    Stands before the words of that command.  Recordings are looked through and the plan is written
    to the folder, so that all who compute parts find it there.  With --estimate nothing is written:
    a sample is measured, and what all rows will take by one process and by many is worked out.

    \b
    Example:
      robolin plan inverse panda --trajectory 'logs/*.parquet' -o out/ --part-rows 1000000
      robolin plan inverse panda --trajectory 'logs/*.csv' -o out/ --estimate --workers 16
    """
    if not words or answering_verb(words[0]) is None:
        hint = "for example: robolin plan inverse panda --trajectory 'logs/*.csv' -o out/"
        raise UsageError("which VERB is to be planned?", where="robolin plan", hint=hint)
    if workers and not estimate:
        raise UsageError("has no effect here", where=_WORKERS, hint=f"it goes with {_ESTIMATE}")
    with _asked(list(words), estimate) as (inquiry, found, division, folder, out):
        if estimate:
            _estimate(inquiry, found, division, workers)
        else:
            _plan(inquiry, found, division, folder, out)


@contextmanager
def _asked(words: list[str], estimate: bool) -> Iterator[tuple[Any, ...]]:
    """What the other command asks: inquiry, recordings, their division, the folder, the output."""
    from robolin.batch.batch_plan import Division
    from robolin.cli.flags.flag import explicit_options, validated_path
    from robolin.cli.flags.many_flags import recording_set
    from robolin.cli.flags.output_flags import output_of
    from robolin.cli.group import parse_only
    from robolin.queries.request import request_from_options

    if estimate and not any(word.startswith(_OUTPUT) for word in words):
        # nothing is written there
        words = [*words, "-o", "parts/"]
    with parse_only(words) as ctx:
        many = recording_set(ctx)
        if many is None or many.folder is None:
            hint = "--trajectory says of which recordings, -o FOLDER/ where parts go"
            raise UsageError("is about parts", where="robolin plan", hint=hint)
        options = {**explicit_options(ctx), "trajectory": many.recordings[0].path}
        inquiry = request_from_options(words[0], validated_path(ctx.params["arm"]), options)
        out = output_of(ctx)
        yield inquiry, many.recordings, Division(many.part_rows, out.form), many.folder, out


def _plan(inquiry: Any, found: Any, division: Any, folder: str, out: Any) -> None:
    """Let the folder have the plan."""
    from robolin.batch.parts_folder import begin
    from robolin.batch.plan_file import planned_in
    from robolin.batch.recordings import require_outside
    from robolin.io.locations import parse_location

    place = parse_location(folder)
    require_outside(str(place), found)
    plan = planned_in(place, inquiry, inquiry.source.arm(), found, division)
    begin(place, plan, [*inquiry.files.values(), *(each.path for each in plan.sources)])
    told = f"{pluralize(len(plan.parts), 'part')} of {pluralize(len(plan.sources), 'recording')}"
    out.note(f"{place}: plan {plan.id[:12]}, {told}")


def _estimate(inquiry: Any, found: Any, division: Any, workers: int | None) -> None:
    from robolin.batch.estimate import estimated_cost
    from robolin.cli.output.report import Report

    estimate = estimated_cost(inquiry, inquiry.source.arm(), found, division)
    Report().write(_sections(estimate, workers), {})


def _sections(found: Estimate, workers: int | None) -> list[ReportSection]:
    from robolin.cli.output.report import ReportTable, TextLines

    rows = f"{'' if found.exact else 'about '}{found.rows:,} rows"
    spent = [
        (name, f"{1e6 * seconds:.3g}", f"{100 * seconds / found.per_row:.0f} %")
        for name, seconds in found.seconds.items()
    ]
    head = [
        f"{pluralize(found.recordings, 'recording')}, {rows}, {pluralize(found.parts, 'part')}",
        f"{_bytes(found.bytes_in)} in, {_bytes(found.bytes_out)} out",
        f"a row takes {1e6 * found.per_row:.3g} µs of work, a part {1e3 * found.per_part:.3g} ms "
        f"besides; the {found.way} carries a row in {1e6 * found.carried:.3g} µs",
        f"looking through recordings for the plan takes {_time(found.per_byte * found.bytes_in)}",
    ]
    shown = (workers,) if workers else _SHOWN_WORKERS
    columns = ("workers", "time", "bytes/s in", "bytes/s out", "parts/s", "bottleneck")
    return [
        TextLines(head, "Estimate"),
        ReportTable(
            ("spent on", "µs/row", "share"),
            spent,
            frozenset({"µs/row", "share"}),
            f"Work on a row, measured on {found.sample:,} of them",
        ),
        ReportTable(columns, [_row(found, k) for k in shown], frozenset(columns[:-1]), "All rows"),
    ]


def _row(found: Estimate, workers: int) -> tuple[str, ...]:
    seconds = found.time(workers)
    into, out = (_bytes(size / seconds) for size in (found.bytes_in, found.bytes_out))
    pace = f"{found.parts / seconds:.3g}"
    return f"{workers:,}", _time(seconds), into, out, pace, found.bottleneck(workers)


def _time(seconds: float) -> str:
    for unit, name in _UNITS:
        if seconds >= 2 * unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds:.2g} s"


def _bytes(size: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if size >= unit:
            return f"{size / unit:.3g} {name}"
    return f"{size / 1e3:.3g} kB"
