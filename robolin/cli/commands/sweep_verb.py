"""robolin sweep: one question for several values of an option of the model."""

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
    from robolin.queries.request import Inquiry

_WORDS = click.Argument(["words"], metavar="VERB ARM [OPTIONS]", nargs=-1, type=click.UNPROCESSED)


class SweepCommand(VerbCommand):
    """A command whose words are those of another."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in ("-h", "--help"):
            args = ["--", *args]
        return super().parse_args(ctx, args)


@click.command("sweep", cls=SweepCommand, params=[_WORDS], options_metavar="")
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
    from robolin.cli.query_command import respond

    inquiry, out = asked_in_sweep(words)
    if out.path is not None and PurePath(out.path).suffix.lower()[1:] in PICTURE_FORMATS:
        _draw(inquiry, out, out.path)
    else:
        respond(inquiry, out)


def asked_in_sweep(words: Sequence[str]) -> tuple[Inquiry, Output]:
    """What the words of a sweep ask, and where the answer is to go."""
    from robolin.cli.group import parsed
    from robolin.cli.query_command import asked_in
    from robolin.core.results.result import SWEEP

    if not words or words[0] not in VERBS or not VERBS[words[0]].answers:
        hint = "for example: robolin sweep inverse panda --payload panda_hand_tcp:0,1,2"
        raise UsageError("which VERB is to be asked?", where="robolin sweep", hint=hint)
    with parsed(words) as ctx:
        if ctx.params.get("limits"):
            hint = "`robolin inverse ARM --limits` shows them for one value"
            raise UsageError("has no effect here", where="--limits", hint=hint)
        return asked_in(ctx, f"{SWEEP} {words[0]}")


def _draw(inquiry: Inquiry, out: Output, path: str) -> None:
    from robolin.display.plots.draw_panels import figure_of, picture_bytes
    from robolin.io.atomic import replacing
    from robolin.io.paths import require_output_is_no_input
    from robolin.queries.sweep import swept_answer

    require_output_is_no_input(path, inquiry.files.values())
    found = swept_answer(inquiry, out.settings())
    drawn = picture_bytes(figure_of(found, out.arrays), PurePath(path).suffix.lower()[1:])
    with replacing(path) as stream:
        stream.write(drawn)
