"""robolin report and plot: an HTML report about one robot or two, and plots of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.cli.flags.flag import (
    METHOD,
    OUTPUT,
    STATE,
    RobotFile,
    VerbCommand,
    bundled,
    explicit_options,
    flag,
    validated_path,
)
from robolin.cli.flags.forward_flags import CLOSE_FLAG
from robolin.cli.flags.state_flags import MODEL_PARAMS
from robolin.cli.main import say
from robolin.cli.query_command import state_flags
from robolin.core.choices import PICTURE_FORMATS, PLOT_STYLES
from robolin.core.progress import running, track
from robolin.core.records import dataclass
from robolin.core.text_parsing import parse_names
from robolin.errors import FileError, RobolinError, UsageError
from robolin.queries.option_specs import REQUIRES, conflict
from robolin.queries.request import ArmSource, arm_source
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.core.arm import Arm
    from robolin.core.result import Result
    from robolin.display.plots.panels import Panel
    from robolin.queries.states import States


_VERB = VERBS["report"]

_FLAGS = [
    RobotFile(["subjects"], nargs=-1, required=True, metavar="ARM [ARM]"),
    *MODEL_PARAMS[1:],
    *state_flags(_VERB, "", {}),
    CLOSE_FLAG,
    flag(
        "--residual",
        METHOD,
        "Compare measured efforts with the model, as `inverse --residual` does",
    ),
    flag(
        "--verify-states N",
        METHOD,
        "Number of random states for `robolin verify`; 0 skips the verification",
        type=click.IntRange(0),
        default=2,
    ),
    flag(
        "-o --output FILE",
        OUTPUT,
        "Write the report to this .html file\nAn existing file is replaced only if -o names "
        "this file.",
        into="path",
        default="report.html",
    ),
    flag("-q --quiet", OUTPUT, "Hide warnings and notes"),
]


@dataclass(frozen=True)
class ReportRequest:
    """Robots or stored results, states, and the output path.

    sources: the robots; empty for stored results
    """

    subjects: tuple[str, ...]
    sources: tuple[ArmSource, ...]
    states: States
    verify_states: int
    path: str
    quiet: bool
    close: str | None = None
    residual: bool = False

    @property
    def stored(self) -> bool:
        """True if the report is about stored results."""
        return not self.sources

    def notify(self, kind: str, text: str) -> None:
        """Print a note or a warning, except with --quiet."""
        if not self.quiet and kind != "summary":
            say(kind, text)


def _request(
    subjects: tuple[str, ...], verify_states: int, path: str, quiet: bool, **_: Any
) -> ReportRequest:
    from robolin.queries.states import States

    if len(subjects) > 2:
        hint = "pass one or two robots or stored results"
        raise UsageError(
            f"accepts at most 2 ARM arguments, got {len(subjects)}",
            where="robolin report",
            hint=hint,
        )
    if PurePath(validated_path(path)).suffix.lower() not in (".html", ".htm"):
        raise UsageError("the extension must be .html", where=path, hint="use -o report.html")
    options = explicit_options(click.get_current_context())
    if _are_results(subjects, options):
        return ReportRequest(subjects, (), States(), verify_states, path, quiet)
    sources = tuple(arm_source(validated_path(each), options, _VERB) for each in subjects)
    explicit = {
        label.replace("-", "_"): value
        for label, value in options.items()
        if label in _VERB.states or label in _VERB.states_from
    }
    if "trajectory" in explicit:
        explicit["trajectory"] = _only(explicit["trajectory"])
    states, close = States(**explicit), options.get("close")
    residual = bool(options.get("residual"))
    if residual and states.trajectory is None:
        raise conflict("residual", REQUIRES, ["trajectory"], "add --trajectory FILE with efforts")
    return ReportRequest(subjects, sources, states, verify_states, path, quiet, close, residual)


def _only(recordings: tuple[str, ...]) -> str:
    """The single recording of a report."""
    if len(recordings) > 1:
        hint = "write one report per recording"
        raise UsageError("accepts only one recording", where="--trajectory", hint=hint)
    return recordings[0]


def _are_results(subjects: tuple[str, ...], options: Mapping[str, Any]) -> bool:
    """True for stored results, which cannot be combined with robots or model options."""
    from robolin.io.format_table import FORMATS, format_named

    stored = [format_named(validated_path(each)) in FORMATS for each in subjects]
    if any(stored) and not all(stored):
        hint = "pass two robots, or two stored results"
        raise UsageError(
            "cannot combine a robot and a stored result", where="robolin report", hint=hint
        )
    if any(stored) and options:
        hint = "remove this option: a stored result includes its states and model"
        where = f"--{next(iter(options))}"
        raise UsageError("cannot be used with a stored result", where=where, hint=hint)
    return any(stored)


_SHORT = "q qd qdd trajectory differentiate residual close verify-states payload output quiet"


@click.command("report", cls=VerbCommand, short=_SHORT)
@bundled("request", _FLAGS, _request)
def report_command(request: ReportRequest) -> None:
    """Write an HTML report about a robot and a trajectory.

    The report is one self-contained file. It contains a 3D view, torques and limits, the condition
    number of M, poles and the linear model along the trajectory, model assumptions, findings of
    `validate` and results of `verify`. For two robots, the report also lists their differences.
    ARM may be a stored result.

    \b
    Examples:
      robolin report panda -o panda.html
      robolin report arm.urdf --trajectory motion.csv -o arm.html
      robolin report arm.urdf arm-new.urdf --trajectory m.csv -o changes.html
      robolin report before.npz after.npz -o results.html
    """
    from robolin.display.report.write_report import results_page
    from robolin.io.atomic import atomic_write, require_writable

    _require_named(Path(request.path))
    require_writable(Path(request.path))
    with atomic_write(request.path) as stream:
        page = results_page(request.subjects) if request.stored else _page_of_arms(request)
        stream.write(page.encode())
    request.notify("note", f"{request.path}: written")


def _require_named(path: Path) -> None:
    """Reject a default path that exists."""
    typed = click.get_current_context().get_parameter_source("path")
    if typed is not ParameterSource.COMMANDLINE and (path.exists() or path.is_symlink()):
        hint = f"add -o {path} to replace the file, or choose another name"
        raise FileError("already exists", where=str(path), hint=hint)


def _page_of_arms(request: ReportRequest) -> str:
    from robolin.display.report.report_page import report_page
    from robolin.display.report.reported_arm import ReportOptions
    from robolin.display.report.write_report import reported_reading
    from robolin.queries.states import home_or_zero

    readings = [source.reading() for source in request.sources]
    arms = [each.arm(reading) for each, reading in zip(request.sources, readings, strict=True)]
    states = request.states if request.states.options else home_or_zero(*arms)
    options = ReportOptions(
        states, request.verify_states, request.notify, request.close, request.residual
    )
    names = [PurePath(subject).name for subject in request.subjects]
    each_arm = track("report", zip(names, arms, readings, strict=True), len(arms))
    return report_page([reported_reading(*each, options) for each in each_arm])


# holding torques of a closed-loop robot are not unique, and its mass matrix is that of the tree
_OF_LOOPS = (("forward", ("q", "lam")), ("linearize-forward", ("dqdd_dtau",)))

_PARAMS = [
    RobotFile(["source"], metavar="RESULT|ARM"),
    click.Argument(["others"], metavar="[RESULT]...", nargs=-1),
    flag(
        "--q VALUES",
        STATE,
        "Pose of ARM [rad or m], or its name (default 'home', else 0)",
        by_joint=True,
    ),
    flag(
        "--only ARRAY",
        METHOD,
        "Plot this array; repeatable (default: the main arrays)\n"
        "Separate several arrays with commas.",
        multiple=True,
    ),
    flag("--difference", METHOD, "Plot the first result minus the second"),
    flag("--own-scales", METHOD, "Scale each panel separately (default: one scale per unit)"),
    flag(
        "--style",
        METHOD,
        "Colours and sizes; 'paper' fits the width of a journal column",
        choices=PLOT_STYLES,
        default="light",
    ),
    flag(
        "-o --output FILE",
        OUTPUT,
        "Write the plot to a .svg, .png or .pdf file",
        into="path",
        required=True,
    ),
]


@click.command("plot", cls=VerbCommand, params=_PARAMS)
def plot_command(
    source: str,
    others: tuple[str, ...],
    q: str | None,
    only: tuple[str, ...],
    difference: bool,
    own_scales: bool,
    style: str,
    path: str,
) -> None:
    """Plot stored results or a robot.

    Plots joint quantities over time with their limits, matrices as heat maps, poles in the
    complex plane, Bode plots and responses over time. Several results share one plot.
    For a robot, plots the mass matrix and the holding torques at one pose. For a robot with
    closed loops, plots the pose q and the constraint forces lam from `forward --close least`,
    and the derivative dqdd_dtau. Requires matplotlib.

    \b
    Examples:
      robolin plot motion.npz -o motion.svg
      robolin plot new.npz old.npz --only tau -o both.png
      robolin plot new.npz old.npz --difference -o difference.png
      robolin plot panda --q panda_joint4=-90deg --style paper -o panda.pdf
    """
    from robolin.display.plots.draw_panels import drawn_panels, picture_bytes, plot_title
    from robolin.display.plots.style import style_named
    from robolin.io.atomic import atomic_write
    from robolin.io.format_table import require_output_is_no_input
    from robolin.io.locations import shared_name

    form = PurePath(validated_path(path)).suffix.lower()[1:]
    if form not in PICTURE_FORMATS:
        hint = f"use {', '.join(f'.{each}' for each in PICTURE_FORMATS)}"
        raise UsageError("unknown plot extension", where=path, hint=hint)
    require_output_is_no_input(path, [source, *others])
    results = _results(source, others, difference, q)
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


def _results(source: str, others: tuple[str, ...], difference: bool, q: str | None) -> list[Result]:
    """Results to plot: stored results, a difference of two, or results for a robot."""
    from robolin.description.load import load

    if q is not None and _is_stored(source):
        hint = "remove this option: a stored result includes its states"
        raise UsageError("cannot be used with a stored result", where="--q", hint=hint)
    if not _is_stored(source):
        if others:
            hint = "pass stored results as arguments; `robolin diff` compares two robots"
            raise UsageError("is not a stored result", where=source, hint=hint)
        if not difference:
            return _about(load(validated_path(source)), q)
    if difference and len(others) != 1:
        hint = "run `robolin plot NEW.npz OLD.npz --difference -o FILE`"
        raise UsageError("requires two stored results", where="--difference", hint=hint)
    results = [_stored(each) for each in (source, *others)]
    return [results[0] - results[1]] if difference else results


def _about(arm: Arm, q: str | None) -> list[Result]:
    """Holding torques and mass matrix; for closed loops, constraint forces of the free motion."""
    from robolin.queries.answer import answer
    from robolin.queries.question import Question
    from robolin.queries.states import States, home_or_zero

    states = home_or_zero(arm) if q is None else States(q=q)
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
