"""Reports from Python: one page about one or two robots, or stored results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from robolin.core.arm import Arm
from robolin.core.arrays import require_integer_or_none
from robolin.display.report.report_page import report_page
from robolin.display.report.reported_arm import ReportedArm, ReportOptions, reported_arm
from robolin.errors import UsageError, require_path
from robolin.io.atomic import atomic_write, require_writable
from robolin.io.format_table import FORMATS, format_named
from robolin.queries.answer import emit_warning
from robolin.queries.request import ArmSource, MessageCallback
from robolin.queries.states import States, home_or_zero

if TYPE_CHECKING:
    from robolin.description.model import Reading

ReportSubject = Arm | str | os.PathLike[str]


def report(
    arm: ReportSubject,
    other: ReportSubject | None = None,
    states: States | None = None,
    *,
    path: str | os.PathLike[str] | None = None,
    close: str | None = None,
    residual: bool = False,
    verify_states: int = 2,
    notify: MessageCallback = emit_warning,
) -> str:
    """Write an HTML report about a robot and a trajectory, as the command line does.

    Args:
        arm: the robot, from `robolin.load`; or the name of a robot file, which is also validated;
            or the name of a stored result
        other: a second robot or stored result to compare with
        states: a `States` (default: the 'home' pose, else 0)
        path: output file, ending in .html; None to return the page only
        close: joints that stay fixed when closed loops are closed, or 'least'
        residual: compare the torques with the measured torques of the recording
        verify_states: number of states for `verify`; 0 to skip it
        notify: called with 'note', 'warning' or 'summary' and a text

    Returns:
        the page as HTML text; the page loads no other files

    Raises:
        UsageError: a robot combined with a stored result, or states of a stored result
        RobolinError: a state without a result, or an invalid file
        FileError: a file that cannot be read or written

    Example:
        >>> arm = robolin.load("two-link")
        >>> page = robolin.report(arm, states=robolin.States(q=[0.3, -0.7]), verify_states=0)
        >>> page.splitlines()[0]
        '<!doctype html>'
    """
    # callers without type checks
    argument: object = states
    if argument is not None and not isinstance(argument, States):
        hint = "use robolin.States(q=[...])"
        raise UsageError(f"states: must be States, got {type(states).__name__}", hint=hint)
    require_integer_or_none(verify_states=verify_states)
    if path is not None:
        require_path(path=path)
        _require_html(path)
    subjects = [each for each in (arm, other) if each is not None]
    for each in subjects:
        if not isinstance(each, Arm):
            require_path(arm=each)
            _require_no_page(each)
    stored = [_is_stored(each) for each in subjects]
    if any(stored):
        if not all(stored) or states is not None or close is not None:
            hint = "pass one or two stored results without states"
            raise UsageError("cannot combine a stored result with robots or states", hint=hint)
        page = results_page([os.fspath(each) for each in subjects if not isinstance(each, Arm)])
    else:
        options = ReportOptions(states or States(), verify_states, notify, close, residual)
        page = _robots_page(subjects, options)
    if path is not None:
        with atomic_write(Path(path)) as stream:
            stream.write(page.encode())
    return page


def _require_no_page(subject: str | os.PathLike[str]) -> None:
    """Reject the name of a page in place of a robot."""
    if os.fspath(subject).endswith(".html") and not os.path.exists(subject):
        hint = f"set the output file with path={os.fspath(subject)!r}"
        raise UsageError(f"{os.fspath(subject)} is a page, not a robot", hint=hint)


def results_page(paths: Sequence[str]) -> str:
    """Page about one stored result, or about two and their differences."""
    from robolin.display.report.result_page import compared_files, reported_result, result_page

    results = [reported_result(PurePath(path).name, path) for path in paths]
    return result_page(results, compared_files(*paths) if len(paths) == 2 else None)


def reported_reading(name: str, arm: Arm, reading: Reading, options: ReportOptions) -> ReportedArm:
    """Data of the report of a robot file, with the findings of `validate`."""
    from robolin.description.inspection import file_findings

    return reported_arm(name, arm, file_findings(reading, arm.source), options)


def _robots_page(subjects: Sequence[ReportSubject], options: ReportOptions) -> str:
    loaded = [_loaded(each) for each in subjects]
    if not options.states.options:
        options = replace(options, states=home_or_zero(*(arm for _, arm, _ in loaded)))
    return report_page(
        [
            reported_arm(name, arm, None, options)
            if reading is None
            else reported_reading(name, arm, reading, options)
            for name, arm, reading in loaded
        ]
    )


def _loaded(subject: ReportSubject) -> tuple[str, Arm, Reading | None]:
    if isinstance(subject, Arm):
        return subject.name, subject, None
    source = ArmSource(os.fspath(subject))
    reading = source.reading()
    return PurePath(source.path).name, source.arm(reading), reading


def _is_stored(subject: ReportSubject) -> bool:
    return not isinstance(subject, Arm) and format_named(os.fspath(subject)) in FORMATS


def _require_html(path: str | os.PathLike[str]) -> None:
    if PurePath(path).suffix.lower() not in (".html", ".htm"):
        hint = "use path='report.html'"
        raise UsageError("the extension must be .html", where=str(path), hint=hint)
    require_writable(Path(path))
