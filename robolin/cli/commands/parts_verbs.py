"""Commands about a folder of parts: overview, status, and one result of all parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag, validated_path
from robolin.cli.flags.output_flags import OUTPUT_PARAMS, output_of
from robolin.cli.report import Report, ReportSection, ReportTable, TextLines, report_options
from robolin.core.text import pluralize

if TYPE_CHECKING:
    from robolin.batch.batch_plan import PartsPlan
    from robolin.batch.parts_folder import PartState

UNFINISHED = 1
_COMMANDS = ("plan", "status", "merge")
_SHOWN = 20


@click.command("batch", cls=VerbCommand, options_metavar="")
@click.argument("command", type=click.Choice(_COMMANDS), metavar="plan|status|merge")
def batch_command(command: str) -> None:
    """Plan, monitor and merge runs over many recordings.

    \b
    plan    write the plan of a command to a folder (optional)
    status  show which parts are done
    merge   merge the parts into one result

    To compute the parts, add -o FOLDER/ to any command; see `robolin help batch`.

    \b
    Examples:
      robolin batch plan inverse panda --trajectory 'logs/*.parquet' -o out/
      robolin inverse panda --trajectory 'logs/*.parquet' -o out/ --shard 1/4
      robolin batch status out/ --shards 4
      robolin batch merge out/ -o all.parquet
    """
    # `batch plan` and so on are commands of two words
    raise AssertionError(command)


_STATUS_FLAGS = [
    flag("--thorough", METHOD, "Read and verify all numbers in all parts"),
    flag("--shards N", METHOD, "Show which of N shards are unfinished", minimum=1),
]


@click.command(
    "status",
    cls=VerbCommand,
    params=[click.Argument(["folder"], metavar="FOLDER"), *_STATUS_FLAGS],
)
@report_options
def status_command(folder: str, thorough: bool, shards: int | None, report: Report) -> None:
    """Show which parts of a batch are complete.

    A part is complete, missing, damaged, or belongs to a different plan. Exits with code 1
    if a part is not complete.

    \b
    Examples:
      robolin batch status out/
      robolin batch status out/ --shards 16
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
    lines = [f"{total}: {by_state}", f"{rows:,} rows complete"]
    sections: list[ReportSection] = [TextLines(lines, f"Plan {plan.id[:12]}")]
    unfit = [each for each in states if each.entry is None]
    if unfit:
        cells = [(each.name, each.state, each.why) for each in unfit[:_SHOWN]]
        more = len(unfit) - _SHOWN
        title = f"First {_SHOWN} of {len(unfit)} unfinished parts" if more > 0 else "Not done"
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
)
def merge_command(folder: str, **_: object) -> None:
    """Merge the parts of a batch into one result.

    The result is bit-identical to the result of a single run without parts. The column 'source'
    contains the index of the recording, starting at 0. This column is omitted for a single
    recording.

    \b
    Examples:
      robolin batch merge out/ -o all.parquet
    """
    from robolin.batch.joined import merged_parts
    from robolin.batch.parts_folder import plan_in
    from robolin.io.locations import parse_location

    location = parse_location(validated_path(folder))
    out = output_of(click.get_current_context())
    plan = plan_in(location)
    out.require_target(str(location / part.name) for part in plan.parts)
    out.write(merged_parts(location))
