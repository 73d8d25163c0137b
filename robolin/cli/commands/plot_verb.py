"""robolin plot: plots of stored results, of the difference of two, and of robots."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

import click

from robolin.cli.flags.flag import METHOD, OUTPUT, RobotFile, VerbCommand, flag, validated_path
from robolin.core.choices import PICTURE_FORMATS
from robolin.errors import RobolinError, UsageError

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.core.results.result import Result
    from robolin.display.plots.panels import Panel

# holding torques of a closed-loop robot are not unique, and its mass matrix is that of the tree
_OF_LOOPS = (("forward", ("q", "lam")), ("linearize-forward", ("dqdd_dtau",)))

_PARAMS = [
    RobotFile(["source"], metavar="RESULT|ARM"),
    click.Argument(["other"], metavar="[RESULT]", required=False),
    flag(
        "--only",
        section=METHOD,
        multiple=True,
        metavar="ARRAY",
        help="Plot this array; repeatable (default the main arrays)",
    ),
    flag(
        "-o",
        "--output",
        "path",
        section=OUTPUT,
        metavar="FILE",
        required=True,
        help="Output file: .svg, .png or .pdf",
    ),
]


@click.command("plot", cls=VerbCommand, params=_PARAMS)
def command(source: str, other: str | None, only: tuple[str, ...], path: str) -> None:
    """Plot a stored result or a robot.

    Plots joint quantities over time with their limits, matrices as heat maps, poles in the
    complex plane, and responses over frequency or time. Two results: first minus second.
    A robot: mass matrix and holding torques at its pose 'home', else at zero; with closed
    loops, the state of `forward --close least`, constraint forces and derivatives by torques.
    Requires matplotlib; equal data give equal bytes.

    \b
    Examples:
      robolin plot motion.npz -o motion.svg
      robolin plot new.npz old.npz --only tau -o difference.png
      robolin plot gains.npz --only K --only poles -o gains.pdf
      robolin plot panda -o panda.pdf
    """
    from robolin.display.plots.draw_panels import drawn_panels, picture_bytes
    from robolin.io.atomic import atomic_write
    from robolin.io.paths import require_output_is_no_input, shared_name

    form = PurePath(validated_path(path)).suffix.lower()[1:]
    if form not in PICTURE_FORMATS:
        hint = f"use {', '.join(f'.{each}' for each in PICTURE_FORMATS)}"
        raise UsageError("unknown extension of a plot", where=path, hint=hint)
    require_output_is_no_input(path, [name for name in (source, other) if name])
    results = _results(source, other)
    name = shared_name(source)
    title = (
        f"{name} minus {shared_name(other)}"
        if other
        else " and ".join(dict.fromkeys(f"{result.verb}" for result in results)) + f": {name}"
    )
    drawn = picture_bytes(drawn_panels(_panels(results, only), title), form)
    with atomic_write(path) as stream:
        stream.write(drawn)


def _panels(results: list[Result], only: tuple[str, ...]) -> list[Panel]:
    """Panels of all results; an unknown array is rejected."""
    from robolin.display.plots.result_panels import panels_of

    available = [array.name for result in results for array in result.arrays]
    for name in only:
        if name not in available:
            hint = f"use one of {', '.join(available)}"
            raise UsageError(f"unknown array '{name}'", where="--only", hint=hint)
    selected = {i: [name for name in only if name in result] for i, result in enumerate(results)}
    return [
        panel
        for i, result in enumerate(results)
        if selected[i] or not only
        for panel in panels_of(result, selected[i])
    ]


def _results(source: str, other: str | None) -> list[Result]:
    """Results to plot: a stored result, a difference of two, or results for a robot."""
    from robolin.description.load import load

    if not _is_stored(source):
        if other is not None:
            hint = "name two stored results; `robolin diff` compares two robots"
            raise UsageError("is not a stored result", where=source, hint=hint)
        return _about(load(validated_path(source)))
    first = _stored(source)
    return [first if other is None else first - _stored(other)]


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

    return read_result(validated_path(path)).result
