"""robolin plan: write the plan of a command over many recordings, or estimate its cost."""

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
    """A command that contains another command line, with options of its own anywhere in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own, rest = _own_words(args)
        if rest and not rest[0].startswith("-"):
            _require_no_slip(ctx, rest)
            rest = ["--", *rest]
        return super().parse_args(ctx, [*own, *rest])


def _own_words(args: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split argv into options of `plan` and the planned command."""
    own, rest, remaining = list[str](), list[str](), iter(args)
    for word in remaining:
        if word == _WORKERS:
            own.append(f"{word}={next(remaining, '')}")
        elif word.partition("=")[0] in (_ESTIMATE, _WORKERS):
            own.append(word)
        else:
            rest.append(word)
    return own, rest


def _require_no_slip(ctx: click.Context, words: Sequence[str]) -> None:
    """Reject a misspelled option of `plan`."""
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
    with _parse_planned(list(words), estimate) as (inquiry, recordings, division, folder, out):
        if estimate:
            _estimate(inquiry, recordings, division, workers)
        else:
            _plan(inquiry, recordings, division, folder, out)


@contextmanager
def _parse_planned(words: list[str], estimate: bool) -> Iterator[tuple[Any, ...]]:
    """Parse the planned command: request, recordings, division, folder and output."""
    from robolin.batch.batch_plan import Division
    from robolin.cli.flags.flag import explicit_options, validated_path
    from robolin.cli.flags.many_flags import recording_set
    from robolin.cli.flags.output_flags import output_of
    from robolin.cli.group import parse_only
    from robolin.queries.request import request_from_options

    if estimate and not any(word.startswith(_OUTPUT) for word in words):
        # placeholder: nothing is written there
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


def _plan(inquiry: Any, recordings: Any, division: Any, folder: str, out: Any) -> None:
    """Write the plan to the folder."""
    from robolin.batch.parts_folder import begin
    from robolin.batch.plan_file import planned_in
    from robolin.batch.recordings import require_outside
    from robolin.io.locations import parse_location

    location = parse_location(folder)
    require_outside(str(location), recordings)
    plan = planned_in(location, inquiry, inquiry.source.arm(), recordings, division)
    begin(location, plan, [*inquiry.files.values(), *(each.path for each in plan.sources)])
    counts = f"{pluralize(len(plan.parts), 'part')} of {pluralize(len(plan.sources), 'recording')}"
    out.note(f"{location}: plan {plan.id[:12]}, {counts}")


def _estimate(inquiry: Any, recordings: Any, division: Any, workers: int | None) -> None:
    from robolin.batch.estimate import estimated_cost
    from robolin.cli.output.report import Report

    estimate = estimated_cost(inquiry, inquiry.source.arm(), recordings, division)
    Report().write(_sections(estimate, workers), {})


def _sections(cost: Estimate, workers: int | None) -> list[ReportSection]:
    from robolin.cli.output.report import ReportTable, TextLines

    rows = f"{'' if cost.exact else 'about '}{cost.rows:,} rows"
    spent = [
        (name, f"{1e6 * seconds:.3g}", f"{100 * seconds / cost.per_row:.0f} %")
        for name, seconds in cost.seconds.items()
    ]
    head = [
        f"{pluralize(cost.recordings, 'recording')}, {rows}, {pluralize(cost.parts, 'part')}",
        f"{_bytes(cost.bytes_in)} in, {_bytes(cost.bytes_out)} out",
        f"a row takes {1e6 * cost.per_row:.3g} µs of work, a part {1e3 * cost.per_part:.3g} ms "
        f"besides; the {cost.way} carries a row in {1e6 * cost.carried:.3g} µs",
        f"looking through recordings for the plan takes {_time(cost.per_byte * cost.bytes_in)}",
    ]
    shown = (workers,) if workers else _SHOWN_WORKERS
    columns = ("workers", "time", "bytes/s in", "bytes/s out", "parts/s", "bottleneck")
    return [
        TextLines(head, "Estimate"),
        ReportTable(
            ("spent on", "µs/row", "share"),
            spent,
            frozenset({"µs/row", "share"}),
            f"Work on a row, measured on {cost.sample:,} of them",
        ),
        ReportTable(columns, [_row(cost, k) for k in shown], frozenset(columns[:-1]), "All rows"),
    ]


def _row(cost: Estimate, workers: int) -> tuple[str, ...]:
    seconds = cost.time(workers)
    into, out = (_bytes(size / seconds) for size in (cost.bytes_in, cost.bytes_out))
    pace = f"{cost.parts / seconds:.3g}"
    return f"{workers:,}", _time(seconds), into, out, pace, cost.bottleneck(workers)


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
