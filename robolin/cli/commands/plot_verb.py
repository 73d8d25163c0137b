"""robolin plot: plots of stored results, of the difference of two, and of robots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, OUTPUT, RobotFile, VerbCommand, flag, validated_path
from robolin.core.choices import PICTURE_FORMATS, PLOT_STYLES
from robolin.core.progress import running
from robolin.core.text_parsing import parse_names
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.core.result import Result
    from robolin.display.plots.panels import Panel

# holding torques of a closed-loop robot are not unique, and its mass matrix is that of the tree
_OF_LOOPS = (("forward", ("q", "lam")), ("linearize-forward", ("dqdd_dtau",)))

_PARAMS = [
    RobotFile(["source"], metavar="RESULT|ARM"),
    click.Argument(["others"], metavar="[RESULT]...", nargs=-1),
    flag(
        "--only ARRAY",
        METHOD,
        "Plot this array; repeatable (default: the main arrays)\n"
        "Separate several arrays by commas.",
        multiple=True,
    ),
    flag("--difference", METHOD, "Plot the first result minus the second"),
    flag("--own-scales", METHOD, "Scale each panel separately (default: one scale per unit)"),
    flag(
        "--style",
        METHOD,
        "Colours and sizes; 'paper' has the width of a journal column",
        choices=PLOT_STYLES,
        default="light",
    ),
    flag("-o --output FILE", OUTPUT, "Output file: .svg, .png or .pdf", into="path", required=True),
]


@click.command("plot", cls=VerbCommand, params=_PARAMS)
def command(
    source: str,
    others: tuple[str, ...],
    only: tuple[str, ...],
    difference: bool,
    own_scales: bool,
    style: str,
    path: str,
) -> None:
    """Plot stored results or a robot.

    Plots joint quantities over time with their limits, matrices as heat maps, poles in the
    complex plane, Bode plots and responses over time. Several results share one plot.
    For a robot, plots the mass matrix and the holding torques at the pose 'home', or at zero
    if the robot has no such pose. For a robot with closed loops, plots the state of
    `forward --close least`, the constraint forces and dqdd_dtau. Requires matplotlib.

    \b
    Examples:
      robolin plot motion.npz -o motion.svg
      robolin plot new.npz old.npz --only tau -o both.png
      robolin plot new.npz old.npz --difference -o difference.png
      robolin plot panda --style paper -o panda.pdf
    """
    from robolin.display.plots.draw_panels import drawn_panels, picture_bytes, plot_title
    from robolin.display.plots.style import style_named
    from robolin.io.atomic import atomic_write
    from robolin.io.format_table import require_output_is_no_input
    from robolin.io.locations import shared_name

    form = PurePath(validated_path(path)).suffix.lower()[1:]
    if form not in PICTURE_FORMATS:
        hint = f"use {', '.join(f'.{each}' for each in PICTURE_FORMATS)}"
        raise UsageError("unknown extension of a plot", where=path, hint=hint)
    require_output_is_no_input(path, [source, *others])
    results = _results(source, others, difference)
    names = [shared_name(each) for each in (source, *others)]
    only = tuple(name for text in only for name in parse_names(text))
    panels = _panels(results, only, names if others and not difference else [])
    title = f"{names[0]} minus {names[1]}" if difference else plot_title(panels, _robots(results))
    with running("drawing"):
        drawn = picture_bytes(drawn_panels(panels, title, own_scales, style_named(style)), form)
    with atomic_write(path) as stream:
        stream.write(drawn)


def _robots(results: list[Result]) -> str:
    """Names of the robots of all results."""
    from robolin.display.plots.draw_panels import robot_name

    return " and ".join(dict.fromkeys(map(robot_name, results)))


def _panels(results: list[Result], only: tuple[str, ...], names: list[str]) -> list[Panel]:
    """Panels of all results, together if they have names; an unknown array is rejected."""
    from robolin.display.plots.panels import overlaid
    from robolin.display.plots.result_panels import panels_of

    available = list(dict.fromkeys(a.name for result in results for a in result.arrays))
    for name in only:
        if name not in available:
            hint = f"use one of {', '.join(available)}"
            raise UsageError(f"unknown array '{name}'", where="--only", hint=hint)
    selected = [[name for name in only if name in result] for result in results]
    panels = [
        panels_of(result, own) if own or not only else ()
        for result, own in zip(results, selected, strict=True)
    ]
    return overlaid(panels, names) if names else [each for own in panels for each in own]


def _results(source: str, others: tuple[str, ...], difference: bool) -> list[Result]:
    """Results to plot: stored results, a difference of two, or results for a robot."""
    from robolin.description.load import load

    if not _is_stored(source):
        if others:
            hint = "pass stored results as arguments; `robolin diff` compares two robots"
            raise UsageError("is not a stored result", where=source, hint=hint)
        if not difference:
            return _about(load(validated_path(source)))
    if difference and len(others) != 1:
        hint = "robolin plot NEW.npz OLD.npz --difference -o FILE"
        raise UsageError("needs two stored results", where="--difference", hint=hint)
    results = [_stored(each) for each in (source, *others)]
    return [results[0] - results[1]] if difference else results


def _about(arm: Arm) -> list[Result]:
    """Holding torques and mass matrix; for closed loops, constraint forces of the free motion."""
    from robolin.queries.answer import answer
    from robolin.queries.question import Question
    from robolin.queries.states import home_or_zero

    states = home_or_zero(arm)
    if not arm.loops:
        return [answer(arm, verb, states) for verb in ("inverse", "mass-matrix")]
    try:
        answers = [
            (answer(arm, Question(verb, close="least"), states), names) for verb, names in _OF_LOOPS
        ]
    except RobolinError as error:
        hint = "run `robolin forward ARM --q … --close least -o x.npz`, then plot x.npz"
        raise RobolinError(error.message, where=error.where, hint=hint) from error
    return [
        replace(result, arrays=tuple(a for a in result.arrays if a.name in names))
        for result, names in answers
    ]


def _is_stored(path: str) -> bool:
    from robolin.io.format_table import FORMATS, format_named

    return format_named(path) in FORMATS


def _stored(path: str) -> Result:
    from robolin.io.stored import read_result

    try:
        return read_result(validated_path(path)).result
    except RobolinError as error:
        if error.message != "reading the provenance failed: no such file":
            raise
        message = "is a recording, not a result of robolin"
        hint = f"run `robolin inverse ARM --trajectory {path} -o tau.npz`, then plot tau.npz"
        raise RobolinError(message, where=path, hint=hint) from error
