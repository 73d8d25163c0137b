"""robolin sweep: run a command for several values of a model option."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import VerbCommand
from robolin.core.choices import PICTURE_FORMATS
from robolin.errors import UsageError
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.cli.flags.output_flags import Output
    from robolin.queries.request import Request

NESTED_WORDS = click.Argument(
    ["words"], metavar="VERB ARM [OPTIONS]", nargs=-1, type=click.UNPROCESSED
)


class NestedCommand(VerbCommand):
    """A command that contains another command line."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in ("-h", "--help"):
            args = ["--", *args]
        return super().parse_args(ctx, args)


@click.command("sweep", cls=NestedCommand, params=[NESTED_WORDS], options_metavar="")
def command(words: tuple[str, ...]) -> None:
    """One question for several values of an option of the model.

    Asks VERB with its own options, of which one has several values: --payload LINK:0,1,2,
    --armature JOINT=0,0.1,0.2, --lock JOINT=0,0.5,1 or --friction-velocity 0.01,0.1.
    Each value is a row of the answer.  With -o FILE.svg, .png or .pdf it is a picture.

    \b
    Example:
      robolin sweep inverse panda --payload panda_hand_tcp:0,1,2,3 --q panda_joint4=-90deg
      robolin sweep mass-matrix two-link --payload lower:0,1,2 --summary
      robolin sweep poles two-link --payload lower:0,1,2 -o poles.svg
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
    from robolin.core.results.swept_verbs import SWEEP

    if not words or words[0] not in VERBS or not VERBS[words[0]].answers:
        hint = "for example: robolin sweep inverse panda --payload panda_hand_tcp:0,1,2"
        raise UsageError("which VERB is to be asked?", where="robolin sweep", hint=hint)
    with parse_only(words) as ctx:
        if ctx.params.get("limits"):
            hint = "`robolin inverse ARM --limits` shows them for one value"
            raise UsageError("has no effect here", where="--limits", hint=hint)
        return parse_request(ctx, f"{SWEEP} {words[0]}")


def _draw(inquiry: Request, out: Output, path: str) -> None:
    from robolin.display.plots.draw_panels import figure_of, picture_bytes
    from robolin.io.atomic import atomic_write
    from robolin.io.paths import require_output_is_no_input
    from robolin.queries.sweep import run_sweep

    require_output_is_no_input(path, inquiry.files.values())
    result = run_sweep(inquiry, out.settings())
    drawn = picture_bytes(figure_of(result, out.arrays), PurePath(path).suffix.lower()[1:])
    with atomic_write(path) as stream:
        stream.write(drawn)
