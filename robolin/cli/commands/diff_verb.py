"""robolin diff: differences between two models, and their effect on the torques."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import click

from robolin.checking.outcome import (
    SHOWN_AT_MOST,
    CheckOutcome,
    counted_outcomes,
    github,
    junit,
    outcome_lines,
    outcomes_document,
    plain_change,
    reasons,
    shown_entries,
)
from robolin.cli.flags.flag import (
    METHOD,
    RobotFile,
    VerbCommand,
    explicit_options,
    flag,
    validated_path,
)
from robolin.cli.flags.state_flags import READING_FLAGS, XACRO_FLAGS, sources_with_options
from robolin.cli.main import say
from robolin.cli.report import (
    ALL_FLAG,
    DIFF_EXTENSIONS,
    DIFF_FORMS,
    Report,
    ReportSection,
    ReportTable,
    TextLines,
    first_lines,
    line_count,
    report_flags,
)
from robolin.core.text import pluralize, printable
from robolin.errors import FOUND_SOMETHING, UsageError
from robolin.queries.option_specs import READ_OPTIONS, check_conflicts, read_options

if TYPE_CHECKING:
    from robolin.analysis.residuals import TorqueChange
    from robolin.checking.differences import Difference
    from robolin.checking.model_changes import Change
    from robolin.description.building.keywords import ModelOptions


_PARAMS = [
    RobotFile(["old"], metavar="ARM1"),
    RobotFile(["new"], metavar="ARM2"),
    flag("--torques FILE", METHOD, "Also compare the torques along this trajectory"),
    *READING_FLAGS,
    *XACRO_FLAGS,
    *report_flags("Write to a .txt, .md, .csv or .json file", DIFF_FORMS),
    ALL_FLAG,
]


@click.command(
    "diff",
    cls=VerbCommand,
    params=_PARAMS,
    short="torques columns time time-unit degrees no-header join differentiate output format all",
)
def command(
    old: str,
    new: str,
    torques: str | None,
    xacro_arg: tuple[str, ...],
    package: tuple[str, ...],
    path: str | None,
    form: str | None,
    color: str,
    everything: bool,
    **_: Any,
) -> None:
    """Compare two robot models.

    Lists links and joints that were added, removed or renamed from ARM1 to ARM2. Also lists
    changes in masses, centres of mass, inertias, origins, axes, limits, damping, friction and
    named poses. A link or joint counts as renamed if only its name changed. ARM1 may be a version
    in git, such as HEAD:arm.urdf. Exits with code 1 if the models differ.

    \b
    Examples:
      robolin diff arm.urdf arm-new.urdf
      robolin diff panda panda
      robolin diff arm.urdf arm-new.urdf --format markdown
      robolin diff arm.urdf arm-new.urdf --torques motion.csv -o changes.md
    """
    from robolin.checking.model_changes import model_changes, pose_changes
    from robolin.cli.report import reports_for
    from robolin.description.load import description_of
    from robolin.description.model import model_dict_of

    ctx = click.get_current_context()
    reports = reports_for(path, form, color, DIFF_EXTENSIONS, everything)
    if torques is not None and "csv" in (report.form for report in reports):
        hint = "use --format table, markdown or json"
        raise UsageError("cannot be written as CSV", where="--torques", hint=hint)
    arms = sources_with_options((old, new), xacro_arg, package)
    before, after = (description_of(*arm) for arm in arms)
    changes = model_changes(model_dict_of(before), model_dict_of(after))
    changes += pose_changes(before, after, changes)
    options = {
        label: value for label, value in explicit_options(ctx).items() if label in READ_OPTIONS
    }
    keywords = options if torques is None else {**options, "torques": torques}
    check_conflicts(read_options("torques"), keywords)
    effects = None if torques is None else _torques(arms, validated_path(torques), options)
    for report in reports:
        write_diff_report(report, (old, new), changes, effects)
    if changes or any(each.change for each in effects or ()):
        ctx.exit(FOUND_SOMETHING)


def _torques(
    named: list[tuple[str, ModelOptions]], path: str, options: Mapping[str, Any]
) -> tuple[TorqueChange, ...]:
    import numpy as np

    from robolin.analysis.residuals import torque_changes
    from robolin.description.load import load_with
    from robolin.io.trajectories.read import read_trajectory
    from robolin.queries.option_files import plain_options
    from robolin.queries.states import read_options_from

    arms = [load_with(*each) for each in named]
    rules = read_options_from(arms[0], plain_options(options))
    rows = read_trajectory(path, arms[0].joint_names, ("q",), ("qd", "qdd"), rules)
    file = PurePath(path).name
    for note in rows.notes:
        say("note", f"{file}: {note}")
    for name, word in (("qd", "velocity"), ("qdd", "acceleration")):
        if getattr(rows, name) is None:
            say("warning", f"{file}: no {word} columns; {word} 0 is assumed")
    zero = np.zeros((rows.rows, arms[0].n))
    q, qd, qdd = (zero if (v := getattr(rows, n)) is None else v for n in ("q", "qd", "qdd"))
    return torque_changes(arms[0], arms[1], q, qd, qdd)


_TORQUES = ("joint", "row", "old", "new", "unit", "change", "of the peak")


def write_diff_report(
    report: Report,
    arms: tuple[str, str],
    changes: Sequence[Change],
    torques: Sequence[TorqueChange] | None,
) -> None:
    """Write the differences of the models, and of their torques if requested."""
    if report.form == "csv":
        report.write_text(_csv(changes))
    elif report.form == "markdown":
        report.write_text(_markdown(arms, _sections(changes, torques)))
    else:
        sections = _sections(changes, torques)
        # the number of differences comes first on a terminal
        screen = [sections[1], sections[0], *sections[2:]] if changes else sections
        report.write(sections, _document(arms, changes, torques), screen)


def _sections(
    changes: Sequence[Change], torques: Sequence[TorqueChange] | None
) -> list[ReportSection]:
    sections: list[ReportSection] = [TextLines(["no differences"])]
    if changes:
        sections = [changes_table(changes), TextLines([pluralize(len(changes), "difference")])]
    if torques is not None:
        sections += _torque_sections(torques)
    return sections


def _torque_sections(torques: Sequence[TorqueChange]) -> list[ReportSection]:
    from robolin.checking.differences import distinguishing_digits, percent, rounding_of

    changed = [each for each in torques if each.change]
    if not changed:
        return [TextLines(["the torques are equal"])]
    noise = rounding_of(max(each.peak for each in torques))
    real = [each for each in changed if abs(each.change) > noise]
    rounded = len(changed) - len(real) if real else 0
    joints = "joint differs" if rounded == 1 else "joints differ"
    counts = [f"{rounded} {joints} by round-off only"] if rounded else []
    rows = [
        (
            each.joint,
            str(each.row + 1),
            *distinguishing_digits(each.old, each.new),
            each.unit,
            f"{each.change:+.3g}",
            "" if each.share is None else percent(each.share),
        )
        for each in sorted(real or changed, key=lambda each: -abs(each.share or 0.0))
    ]
    title = "Largest torque change of each joint along the trajectory"
    numbers = frozenset(_TORQUES) - {"joint", "unit"}
    return [ReportTable(_TORQUES, rows, numbers, title), *([TextLines(counts)] if counts else [])]


def _markdown(arms: tuple[str, str], sections: Sequence[ReportSection]) -> str:
    lines = [f"### {_cell(arms[0])} → {_cell(arms[1])}", ""]
    for section in sections:
        if section.title:
            lines += [f"**{_cell(section.title)}**", ""]
        if isinstance(section, TextLines):
            lines += [_cell(line) for line in section.lines]
        else:
            rule = ("---:" if name in section.numbers else ":---" for name in section.header)
            rows = [tuple(_cell(cell) for cell in row) for row in section.rows]
            lines += [f"| {' | '.join(row)} |" for row in (section.header, tuple(rule), *rows)]
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """A text escaped for Markdown."""
    return "".join(f"\\{c}" if c in "\\|`*_<>[]&" else c for c in printable(text))


def _csv(changes: Sequence[Change]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("part", "name", "quantity", "old", "new", "unit", "relative"))
    for change in changes:
        cells = (change.part, change.name, change.quantity, change.old, change.new, change.unit)
        writer.writerow((*cells, change.relative))
    return text.getvalue()


def _document(
    arms: tuple[str, str], changes: Sequence[Change], torques: Sequence[TorqueChange] | None
) -> dict[str, Any]:
    document = {"old": arms[0], "new": arms[1], "changes": [plain_change(c) for c in changes]}
    if torques is None:
        return document
    entries = [
        {
            "joint": each.joint,
            "row": each.row + 1,
            "old": each.old,
            "new": each.new,
            "unit": each.unit,
            "change": each.change,
            "peak": each.peak,
        }
        for each in torques
    ]
    return {**document, "torques": entries}


_NUMBERS = frozenset({"row", "stored", "now", "old", "new", "change", "allowed", "rows"})


def write_check_report(report: Report, outcomes: Sequence[CheckOutcome], everything: bool) -> None:
    """Write the outcomes in the requested format."""
    if report.form == "github":
        report.write_text(github(outcomes, everything))
    elif report.form == "junit":
        report.write_text(junit(outcomes, everything))
    else:
        sections = (
            list(_check_report_sections(outcomes, everything)) if report.form == "table" else []
        )
        detailed = [each for each in outcomes if each.status != "same"]
        # each of several results gets its part of the screen
        screen = partial(_fitting_details, outcomes) if len(detailed) > 1 else sections
        document = outcomes_document(outcomes, everything)
        report.write(sections, document, None if everything else screen)


def _fitting_details(
    outcomes: Sequence[CheckOutcome], width: int, height: int
) -> list[ReportSection]:
    """The outcomes on one screen; every result gets some lines before one of them gets more."""
    lines = [counted_outcomes(outcomes), *_summary_lines(outcomes)]
    # lines for the list of the other results with a blank one, and for the next prompt
    room = height - 3
    head = first_lines(TextLines(lines), room // 2, width)
    room -= line_count([head], width)
    shown: list[list[ReportSection]] = []
    detailed: list[CheckOutcome] = []
    left: list[str] = []
    for outcome in outcomes:
        if outcome.status == "same" and not list(_extra_notes(outcome)):
            continue
        few = list(_details(outcome, False, 0))
        if (needed := line_count(few, width) + 1) > room:
            left.append(f"{outcome.name}: {outcome.status}")
            continue
        room -= needed
        shown.append(few)
        detailed.append(outcome)
    for most in range(1, SHOWN_AT_MOST + 1):
        for i, outcome in enumerate(detailed):
            longer = list(_details(outcome, False, most))
            more = line_count(longer, width) - line_count(shown[i], width)
            if more <= room:
                room -= more
                shown[i] = longer
    sections = [head, *(section for each in shown for section in each)]
    if left:
        names = f"Also: {', '.join(left)} (--all)"
        one_line = names if len(names) <= width else f"Also: {len(left)} more results (--all)"
        sections.append(TextLines([one_line]))
    return sections


def _check_report_sections(
    outcomes: Sequence[CheckOutcome], everything: bool
) -> Iterator[ReportSection]:
    yield TextLines([counted_outcomes(outcomes), *_summary_lines(outcomes)])
    for outcome in outcomes:
        if outcome.status != "same" or everything or list(_extra_notes(outcome)):
            yield from _details(outcome, everything)


def _extra_notes(outcome: CheckOutcome) -> Iterator[str]:
    """Notes of a result without differences."""
    if outcome.comparison is not None:
        yield from reasons(outcome.comparison)


def _summary_lines(outcomes: Sequence[CheckOutcome]) -> Iterator[str]:
    names = max((len(outcome.name) for outcome in outcomes), default=0)
    questions = max((len(outcome.question) for outcome in outcomes), default=0)
    for outcome in outcomes:
        yield (
            f"{outcome.status:<8} {outcome.name:<{names}}  {outcome.question:<{questions}}  "
            f"{outcome.seconds:.2f} s"
        )


def _details(
    outcome: CheckOutcome, everything: bool, most: int | None = None
) -> Iterator[ReportSection]:
    """The reasons and the differing entries; at most `most` entries, and two reasons more."""
    title = f"{outcome.name}: {outcome.status}"
    comparison = outcome.comparison
    if comparison is None or outcome.error is not None:
        yield TextLines(outcome_lines(outcome), title)
        return
    causes = list(reasons(comparison))
    if most is None:
        shown, counts = shown_entries(comparison, everything)
    else:
        shown, counts = shown_entries(comparison, everything, most=most)
        if (more := len(causes) - most - 2) > 1:
            causes[-more:] = [f"… {pluralize(more, 'more line')} (--all)"]
    if not shown:
        yield TextLines([*causes, *counts], title)
        return
    yield TextLines(causes, title)
    yield _report_table(shown)
    if counts:
        yield TextLines(counts)


def _report_table(entries: Sequence[Difference]) -> ReportTable:
    header = ("row", "entry", "stored", "now", "unit", "change", "allowed", "rows")
    rows = [
        (
            "" if entry.row is None else str(entry.row),
            entry.entry,
            *entry.values,
            entry.unit,
            entry.change,
            entry.allowed,
            str(entry.rows),
        )
        for entry in entries
    ]
    # a single state has no row numbers
    if all(entry.row is None for entry in entries):
        return ReportTable(header[1:-1], [row[1:-1] for row in rows], _NUMBERS)
    return ReportTable(header, rows, _NUMBERS, keys=2)


def changes_table(changes: Sequence[Change]) -> ReportTable:
    """Differences between two models as a table."""
    header = ("part", "name", "quantity", "old", "new", "unit", "change")
    return ReportTable(header, [changes_row(change) for change in changes], _NUMBERS, keys=3)


def changes_row(change: Change) -> tuple[str, ...]:
    """A model change as table cells."""
    if change.quantity in ("added", "removed"):
        values: Any = ("", "")
    else:
        values = change.values
    return change.part, change.name, change.quantity, *values, change.unit, change.share
