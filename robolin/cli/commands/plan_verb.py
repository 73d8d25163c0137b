"""robolin plan: write the plan of a command over many recordings."""

from __future__ import annotations

import click

from robolin.cli.commands.sweep_verb import NESTED_WORDS, NestedCommand
from robolin.core.text import pluralize
from robolin.errors import UsageError
from robolin.queries.verbs import answering_verb


@click.command("plan", cls=NestedCommand, params=[NESTED_WORDS], options_metavar="")
def command(words: tuple[str, ...]) -> None:
    """What a command over many recordings will do.

    Stands before the words of that command.  Recordings are looked through and the plan is written
    to the folder, so that all who compute parts find it there.

    \b
    Example:
      robolin plan inverse panda --trajectory 'logs/*.parquet' -o out/ --part-rows 1000000
    """
    from robolin.batch.batch_plan import Division
    from robolin.batch.parts_folder import begin
    from robolin.batch.plan_file import planned_in
    from robolin.batch.recordings import require_outside
    from robolin.cli.flags.flag import explicit_options, validated_path
    from robolin.cli.flags.output_flags import output_of
    from robolin.cli.flags.state_flags import recording_set
    from robolin.cli.group import parse_only
    from robolin.io.locations import parse_location
    from robolin.queries.request import request_from_options

    if not words or answering_verb(words[0]) is None:
        hint = "for example: robolin plan inverse panda --trajectory 'logs/*.csv' -o out/"
        raise UsageError("which VERB is to be planned?", where="robolin plan", hint=hint)
    with parse_only(words) as ctx:
        many = recording_set(ctx)
        if many is None or many.folder is None:
            hint = "--trajectory says of which recordings, -o FOLDER/ where parts go"
            raise UsageError("is about parts", where="robolin plan", hint=hint)
        options = {**explicit_options(ctx), "trajectory": many.recordings[0].path}
        inquiry = request_from_options(words[0], validated_path(ctx.params["arm"]), options)
        out = output_of(ctx)
        division, location = Division(many.part_rows, out.form), parse_location(many.folder)
        require_outside(str(location), many.recordings)
        plan = planned_in(location, inquiry, inquiry.source.arm(), many.recordings, division)
        begin(location, plan, [*inquiry.files.values(), *(each.path for each in plan.sources)])
    counts = f"{pluralize(len(plan.parts), 'part')} of {pluralize(len(plan.sources), 'recording')}"
    out.note(f"{location}: plan {plan.id[:12]}, {counts}")
