"""robolin report: a page about one arm or two that opens in any browser."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.answering.inquiry import ArmSource, arm_source
from robolin.answering.verbs import VERBS
from robolin.cli.flags.flag import (
    METHOD,
    OUTPUT,
    RobotFile,
    VerbCommand,
    bundled,
    flag,
    given_options,
)
from robolin.cli.flags.model_flags import MODEL_PARAMS, file_name
from robolin.cli.flags.state_flags import state_flags
from robolin.cli.messages import say
from robolin.errors import UsageError

if TYPE_CHECKING:
    from robolin.answering.given_states import States
    from robolin.report.reported_arm import ReportedArm, ReportOptions

_VERB = VERBS["report"]

_FLAGS = [
    RobotFile(["subjects"], nargs=-1, required=True, metavar="ARM [ARM2]"),
    *MODEL_PARAMS[1:],
    *state_flags(_VERB, "", {}),
    flag(
        "--verify-states",
        section=METHOD,
        type=click.IntRange(0),
        default=2,
        show_default=True,
        metavar="N",
        help="States in which to check robolin's answers, as `robolin verify` does; 0 for none.",
    ),
    flag(
        "-o",
        "--output",
        "path",
        section=OUTPUT,
        default="report.html",
        show_default=True,
        metavar="FILE",
        help="The page to write: .html.",
    ),
    flag("-q", "--quiet", section=OUTPUT, is_flag=True, help="No warnings and notes."),
]


@dataclass(frozen=True)
class ReportRequest:
    """Which arms, which states, and where the page goes."""

    subjects: tuple[str, ...]
    sources: tuple[ArmSource, ...]
    states: States
    verify_states: int
    path: str
    quiet: bool

    def notify(self, kind: str, text: str) -> None:
        """Say a note or a warning, unless asked to be quiet."""
        if not self.quiet and kind != "summary":
            say(kind, text)


def _request(
    subjects: tuple[str, ...], verify_states: int, path: str, quiet: bool, **_: Any
) -> ReportRequest:
    from robolin.answering.given_states import States

    if len(subjects) > 2:
        hint = "one arm, or two side by side"
        raise UsageError(f"{len(subjects)} arms are too many", where="robolin report", hint=hint)
    if PurePath(file_name(path)).suffix.lower() not in (".html", ".htm"):
        raise UsageError("the page is written to .html", where=path, hint="-o report.html")
    options = given_options(click.get_current_context())
    sources = tuple(arm_source(file_name(each), options, _VERB) for each in subjects)
    given = {
        label.replace("-", "_"): value
        for label, value in options.items()
        if label in _VERB.states or label in _VERB.states_from
    }
    return ReportRequest(subjects, sources, States(**given), verify_states, path, quiet)


@click.command("report", cls=VerbCommand)
@bundled("request", _FLAGS, _request)
def command(request: ReportRequest) -> None:
    """A page about arms and a motion that opens in any browser.

    One file that loads nothing: the arm to turn and move, torques against limits, the condition
    of the mass matrix, poles and the linear model along the motion, the contract, what validate
    found and what verify says.  Of two arms, also what differs and what that does to the torques.

    \b
    Example:
      robolin report panda --trajectory motion.csv -o panda.html
      robolin report arm.urdf arm-new.urdf --trajectory motion.csv -o changes.html
    """
    from robolin.files.atomic import replacing, require_writable
    from robolin.report.report_page import report_page
    from robolin.report.reported_arm import ReportOptions

    require_writable(Path(request.path))
    options = ReportOptions(request.states, request.verify_states, request.notify)
    arms = [
        _reported(*each, options) for each in zip(request.subjects, request.sources, strict=True)
    ]
    page = report_page(arms)
    with replacing(request.path) as stream:
        stream.write(page.encode())


def _reported(name: str, source: ArmSource, options: ReportOptions) -> ReportedArm:
    from robolin.description.validate.validate import validate
    from robolin.report.reported_arm import reported_arm

    reading = source.reading()
    arm = source.arm(reading)
    return reported_arm(PurePath(name).name, arm, validate(reading), options)
