"""robolin sweep: one question for several values of an option of the model."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.answering.swept_option import SWEPT, SweptOption, swept_option
from robolin.answering.verbs import answering_verb
from robolin.cli.flags.flag import VerbCommand
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.cli.flags.output_flags import Output
    from robolin.results.result import Result

_PICTURES = (".svg", ".png", ".pdf")
_WORDS = click.Argument(["words"], metavar="VERB ARM [OPTIONS]", nargs=-1, type=click.UNPROCESSED)
_NUMBER = re.compile(r"[:=]?([^:=@]*)(@.*)?$")


class SweepCommand(VerbCommand):
    """A command whose words are those of another."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in ("-h", "--help"):
            args = ["--", *args]
        return super().parse_args(ctx, args)


@click.command("sweep", cls=SweepCommand, params=[_WORDS])
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
    if not words or answering_verb(words[0]) is None:
        hint = "for example: robolin sweep inverse panda --payload panda_hand_tcp:0,1,2"
        raise UsageError("which VERB is to be asked?", where="robolin sweep", hint=hint)
    place, option = _swept(words)
    runs = [
        [*words[:place], _word(words[place], text), *words[place + 1 :]] for text in option.texts
    ]
    picture, runs = _picture(runs)
    found, out = _answers(runs, option)
    if picture is None:
        out.write(found)
    else:
        _draw(found, picture, out.arrays)


def _swept(words: Sequence[str]) -> tuple[int, SweptOption]:
    """The place of the word with several values."""
    found = []
    for i, word in enumerate(words):
        # --flag=text, or the text behind --flag
        name, _, text = word.partition("=") if word.startswith("--") else (words[i - 1], "", word)
        option = swept_option(name.removeprefix("--"), text)
        if option is not None:
            found.append((i, option))
    if len(found) != 1:
        what = "no option has several values" if not found else "more than one option is swept"
        hint = "for example --payload tool0:0,1,2,3; " + ", ".join(f"--{name}" for name in SWEPT)
        raise UsageError(what, where="robolin sweep", hint=hint)
    return found[0]


def _word(word: str, text: str) -> str:
    """The word with one of the values."""
    if word.startswith("--"):
        return f"{word.partition('=')[0]}={text}"
    return text


def _picture(runs: list[list[str]]) -> tuple[str | None, list[list[str]]]:
    """The picture that -o names, and the words without it; other files are left to the verb."""
    for i, word in enumerate(runs[0]):
        path = runs[0][i + 1] if word in ("-o", "--output") and i + 1 < len(runs[0]) else ""
        if PurePath(path).suffix.lower() in _PICTURES:
            return path, [[*run[:i], *run[i + 2 :]] for run in runs]
    return None, runs


def _answers(runs: list[list[str]], option: SweptOption) -> tuple[Result, Output]:
    from robolin.answering.answer import gathered, posed
    from robolin.answering.swept_option import swept_result
    from robolin.cli.asking_command import asked_in
    from robolin.cli.group import parsed
    from robolin.number_texts import FlagText, figure
    from robolin.results.result import Result

    answers, values = [], []
    for run, text in zip(runs, option.texts, strict=True):
        with parsed(run) as ctx:
            inquiry, out = asked_in(ctx)
        out.require_target(inquiry.files.values())
        number = _NUMBER.search(text)
        assert number is not None, "a swept text ends in a number"
        values.append(figure(FlagText(f"--{option.label}", text), number[1]).value)
        settings: Any = out.settings()
        with posed(inquiry.source.arm(), inquiry.question, inquiry.states, settings) as answer:
            answers.append(answer if isinstance(answer, Result) else gathered(answer))
    return swept_result(option, values, answers), out


def _draw(found: Result, path: str, only: tuple[str, ...]) -> None:
    from robolin.cli.flags.model_flags import file_name
    from robolin.files.atomic import replacing
    from robolin.pictures.draw import figure_of, picture_bytes

    drawn = picture_bytes(figure_of(found, only), PurePath(file_name(path)).suffix.lower()[1:])
    with replacing(path) as stream:
        stream.write(drawn)
