"""robolin report: self-contained HTML report about one robot or two."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from robolin.cli.flags.flag import (
    METHOD,
    OUTPUT,
    RobotFile,
    VerbCommand,
    bundled,
    explicit_options,
    flag,
    validated_path,
)
from robolin.cli.flags.forward_flags import CLOSE_FLAG
from robolin.cli.flags.model_flags import MODEL_PARAMS
from robolin.cli.main import say
from robolin.cli.query_command import state_flags
from robolin.core.progress import track
from robolin.errors import FileError, UsageError
from robolin.queries.option_specs import REQUIRES, conflict
from robolin.queries.request import ArmSource, arm_source
from robolin.queries.verbs import VERBS

if TYPE_CHECKING:
    from robolin.queries.states import States

_VERB = VERBS["report"]

_FLAGS = [
    RobotFile(["subjects"], nargs=-1, required=True, metavar="ARM [ARM]"),
    *MODEL_PARAMS[1:],
    *state_flags(_VERB, "", {}),
    CLOSE_FLAG,
    flag("--residual", METHOD, "Compare measured efforts with the model, like `inverse`"),
    flag(
        "--verify-states N",
        METHOD,
        "Number of states for `verify`; 0 skips `verify`",
        type=click.IntRange(0),
        default=2,
    ),
    flag(
        "-o --output FILE",
        OUTPUT,
        "Output file: .html\nAn existing file is replaced only if -o names it.",
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
        hint = "name one or two robots or stored results"
        raise UsageError(
            f"accepts at most 2 ARM, got {len(subjects)}", where="robolin report", hint=hint
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
        hint = "write one report for each"
        raise UsageError("accepts one recording only", where="--trajectory", hint=hint)
    return recordings[0]


def _are_results(subjects: tuple[str, ...], options: Mapping[str, Any]) -> bool:
    """True for stored results, which cannot be combined with robots or model options."""
    from robolin.io.format_table import FORMATS, format_named

    stored = [format_named(validated_path(each)) in FORMATS for each in subjects]
    if any(stored) and not all(stored):
        hint = "name two robots, or two stored results"
        raise UsageError(
            "cannot combine a robot and a stored result", where="robolin report", hint=hint
        )
    if any(stored) and options:
        hint = "remove it: a stored result includes its states and model"
        raise UsageError("cannot be used here", where=f"--{next(iter(options))}", hint=hint)
    return any(stored)


_SHORT = "q qd qdd trajectory differentiate residual close verify-states payload output quiet"


@click.command("report", cls=VerbCommand, short=_SHORT)
@bundled("request", _FLAGS, _request)
def command(request: ReportRequest) -> None:
    """Write an HTML report about a robot and a trajectory.

    The report is one self-contained file: 3D view, torques and limits, condition number of M,
    poles and the linear model along the trajectory, model assumptions, findings of `validate`
    and results of `verify`. For two robots, it also lists their differences. ARM may be a
    stored result.

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
        hint = f"add -o {path} to replace it, or choose another name"
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
