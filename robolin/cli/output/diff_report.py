"""Layout of model differences: tables, Markdown, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from robolin.checking.differences import distinguishing_digits, percent, rounding_of
from robolin.checking.outcome import (
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
from robolin.cli.output.report import Report, ReportSection, ReportTable, TextLines
from robolin.core.text import pluralize, printable

if TYPE_CHECKING:
    from robolin.analysis.torque_changes import TorqueChange
    from robolin.checking.differences import Difference
    from robolin.checking.model_changes import Change


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
    changed = [each for each in torques if each.change]
    if not changed:
        return [TextLines(["the torques are equal"])]
    noise = rounding_of(max(each.peak for each in torques))
    real = [each for each in changed if abs(each.change) > noise]
    rounded = len(changed) - len(real) if real else 0
    joints = "joint differs" if rounded == 1 else "joints differ"
    counts = [f"{rounded} {joints} by rounding only"] if rounded else []
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
    title = "Torques along the motion, each joint where it changes most"
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
        report.write(sections, outcomes_document(outcomes, everything))


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


def _details(outcome: CheckOutcome, everything: bool) -> Iterator[ReportSection]:
    title = f"{outcome.name}: {outcome.status}"
    comparison = outcome.comparison
    if comparison is None or outcome.error is not None:
        yield TextLines(outcome_lines(outcome), title)
        return
    yield TextLines(list(reasons(comparison)), title)
    shown, counts = shown_entries(comparison, everything)
    if shown:
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
