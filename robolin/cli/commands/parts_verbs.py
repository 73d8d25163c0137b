"""Commands about a folder of parts: its status, and one result of all parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag, validated_path
from robolin.cli.flags.output_flags import OUTPUT_PARAMS, output_of
from robolin.cli.output.report import Report, ReportSection, ReportTable, TextLines, report_options
from robolin.core.text import pluralize

if TYPE_CHECKING:
    from robolin.batch.batch_plan import PartsPlan
    from robolin.batch.parts_folder import PartState

UNFINISHED = 1
_SHOWN = 20

_STATUS_FLAGS = [
    flag(
        "--thorough",
        section=METHOD,
        is_flag=True,
        help="Read every number of every part, beside what tells that a file is whole.",
    ),
    flag(
        "--shards",
        section=METHOD,
        type=click.IntRange(min=1),
        metavar="N",
        help="Tell which of N shards have something left.",
    ),
]


@click.command(
    "status",
    cls=VerbCommand,
    params=[click.Argument(["folder"], metavar="FOLDER"), *_STATUS_FLAGS],
    short_help="What there is of a folder of parts.",
)
@report_options
def status_command(folder: str, thorough: bool, shards: int | None, report: Report) -> None:
    """What there is of a folder of parts, and what is left.

    Parts are done, missing, damaged or of another plan.  Exits with 1 if one is not done.

    \b
    Example:
      robolin status out/
      robolin status out/ --shards 16
    """
    from robolin.batch.parts_folder import DONE, part_states, plan_in, remaining_by_shard
    from robolin.io.locations import parse_location

    location = parse_location(validated_path(folder))
    plan = plan_in(location)
    states = part_states(location, plan, thorough=thorough)
    left = remaining_by_shard(states, shards) if shards else {}
    report.write(_sections(plan, states, left, shards), _document(plan, states, left))
    if any(each.state != DONE for each in states):
        click.get_current_context().exit(UNFINISHED)


def _counts(states: list[PartState]) -> dict[str, int]:
    from robolin.batch.parts_folder import DAMAGED, DONE, FOREIGN, MISSING

    return {
        state: sum(each.state == state for each in states)
        for state in (DONE, MISSING, DAMAGED, FOREIGN)
    }


def _sections(
    plan: PartsPlan, states: list[PartState], left: dict[int, int], shards: int | None
) -> list[ReportSection]:
    counts = _counts(states)
    rows = sum((each.entry or {}).get("rows") or 0 for each in states)
    by_state = ", ".join(f"{number} {state}" for state, number in counts.items() if number)
    total = f"{pluralize(len(states), 'part')} of {pluralize(len(plan.sources), 'recording')}"
    lines = [f"{total}: {by_state}", f"{rows:,} rows done"]
    sections: list[ReportSection] = [TextLines(lines, f"Plan {plan.id[:12]}")]
    unfit = [each for each in states if each.entry is None]
    if unfit:
        cells = [(each.name, each.state, each.why) for each in unfit[:_SHOWN]]
        more = len(unfit) - _SHOWN
        title = f"Not done, the first {_SHOWN} of {len(unfit)}" if more > 0 else "Not done"
        sections.append(ReportTable(("part", "state", "why"), cells, title=title))
    if left:
        waits = [(f"{number}/{shards}", str(count)) for number, count in left.items()]
        sections.append(ReportTable(("shard", "parts"), waits, frozenset({"parts"}), "Left to do"))
    return sections


def _document(plan: PartsPlan, states: list[PartState], left: dict[int, int]) -> dict[str, Any]:
    return {
        "plan": plan.id,
        "robolin": plan.version,
        "recordings": [each.name for each in plan.sources],
        "counts": _counts(states),
        "parts": [{"name": each.name, "state": each.state, "why": each.why} for each in states],
        "shards": {str(number): count for number, count in left.items()},
    }


_SKIPPED = frozenset({"jobs", "chunk_rows", "verbose"})


@click.command(
    "merge",
    cls=VerbCommand,
    params=[
        click.Argument(["folder"], metavar="FOLDER"),
        *(param for param in OUTPUT_PARAMS if param.name not in _SKIPPED),
    ],
    short_help="A folder of parts as one result.",
)
def merge_command(folder: str, **_: object) -> None:
    """A folder of parts as one result.

    A column 'source' counts recordings from 0.  It has the same bytes as the result of the same
    question about several recordings without parts; that about one has no such column.

    \b
    Example:
      robolin merge out/ -o all.parquet
    """
    from robolin.batch.joined import merged_parts
    from robolin.batch.parts_folder import plan_in
    from robolin.io.locations import parse_location

    location = parse_location(validated_path(folder))
    out = output_of(click.get_current_context())
    plan = plan_in(location)
    out.require_target(str(location / part.name) for part in plan.parts)
    out.write(merged_parts(location))
