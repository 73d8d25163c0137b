"""robolin generate: C code for commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, bundled, flag, validated_path
from robolin.cli.flags.forward_flags import FORWARD_METHOD_FLAG
from robolin.cli.flags.model_flags import model_option_flags
from robolin.core.choices import EXTRAS, LAYOUTS, REALS
from robolin.core.text import printable
from robolin.queries.request import ArmSource

_FLAGS: list[click.Parameter] = [
    click.Argument(["verbs"], nargs=-1, required=True, metavar="VERB..."),
    flag(
        "-o",
        "--output",
        "folder",
        section=METHOD,
        required=True,
        metavar="DIR",
        help="The folder to write: made if it is not there; files that robolin did not write, or "
        "that were changed since, are never replaced.",
    ),
    flag(
        "--real",
        section=METHOD,
        type=click.Choice(REALS),
        default="double",
        show_default=True,
        help="The numbers to compute with; double gives the bits of robolin's own results.",
    ),
    flag(
        "--prefix",
        section=METHOD,
        metavar="NAME",
        help="What names of files and functions begin with.  [default: the arm's name]",
    ),
    flag(
        "--layout",
        section=METHOD,
        type=click.Choice(LAYOUTS),
        default="auto",
        show_default=True,
        help="One statement after the other with all constants folded, or loops over the links; "
        "auto takes loops above 12 joints.",
    ),
    flag(
        "--with",
        "extras",
        section=METHOD,
        multiple=True,
        type=click.Choice(EXTRAS),
        help="Add a function for MATLAB and Octave (mex), or a plugin for ROS 2's "
        "inverse_dynamics_solver (ros2); repeatable.",
    ),
    flag(
        "--states",
        section=METHOD,
        type=click.IntRange(1, 100_000),
        default=5,
        show_default=True,
        metavar="N",
        help="States that the program's own test compares for each verb.",
    ),
    flag(
        "--frame",
        section=METHOD,
        metavar="LINK",
        help="The link that kinematic verbs are about.  [default: the tip, or the only end]",
    ),
    flag("--point", section=METHOD, metavar="X,Y,Z", help="A point in it.  [default: 0,0,0]"),
    flag(
        "--prescribe",
        section=METHOD,
        by_name=True,
        metavar="JOINTS",
        help="These joints, such as 'base' with --floating-base, move as they are told: forward "
        "and linearize-forward are handed their accelerations and give their torques.",
    ),
    FORWARD_METHOD_FLAG,
]


@dataclass(frozen=True)
class ProgramChoices:
    """Program to generate, and its output folder."""

    verbs: tuple[str, ...]
    folder: str
    choices: dict[str, Any]


def _program_choices(
    verbs: tuple[str, ...], folder: str, point: str | None, **choices: Any
) -> ProgramChoices:
    from robolin.core.text_parsing import FlagText, numbers

    if point is not None:
        choices["point"] = numbers(FlagText("--point", point), "x, y, z in m", 3)
    return ProgramChoices(verbs, validated_path(folder), choices)


@click.command("generate", cls=VerbCommand)
@model_option_flags
@bundled("program", _FLAGS, _program_choices)
def command(model: ArmSource, program: ProgramChoices) -> None:
    """A program in C that computes what verbs answer.

    Writes ARM.c and ARM.h (C99, no library, no memory of its own), a test with states and the
    results they should have, a CMakeLists.txt and a Makefile.  VERB is inverse, forward,
    mass-matrix, linearize-forward or any other that a kernel answers.

    \b
    Example:
      robolin generate panda inverse linearize-forward -o panda-c
      robolin generate arm.urdf forward --real float --prefix arm -o firmware/dynamics
      robolin generate ur5 inverse mass-matrix --with mex -o ur5-mex
    """
    from robolin.codegen.generate import generate

    files = generate(model.arm(), program.verbs, program.folder, **program.choices)
    for name in files:
        click.echo(printable(f"{program.folder.rstrip('/')}/{name}"))
