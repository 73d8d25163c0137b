"""robolin merge: merge a folder of parts into one result."""

from __future__ import annotations

import click

from robolin.cli.flags.flag import VerbCommand, validated_path
from robolin.cli.flags.output_flags import OUTPUT_PARAMS, output_of

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
def command(folder: str, **_: object) -> None:
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
