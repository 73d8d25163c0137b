"""What a check found, as tables, JSON, GitHub's annotations or JUnit's XML."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from robolin.checking.annotations import github, junit
from robolin.checking.outcome import (
    CheckOutcome,
    counted_outcomes,
    outcome_lines,
    outcomes_document,
    reasons,
    shown_entries,
)
from robolin.cli.output.report import Report, ReportSection, ReportTable, TextLines

if TYPE_CHECKING:
    from robolin.checking.differences import Difference
    from robolin.checking.model_changes import Change

_NUMBERS = frozenset({"row", "stored", "now", "old", "new", "change", "allowed", "rows"})


def write_check_report(report: Report, outcomes: Sequence[CheckOutcome], everything: bool) -> None:
    """Write the outcomes in the form asked for."""
    if report.form == "github":
        report.write_text(github(outcomes, everything))
    elif report.form == "junit":
        report.write_text(junit(outcomes, everything))
    else:
        sections = list(_sections(outcomes, everything)) if report.form == "table" else []
        report.write(sections, outcomes_document(outcomes, everything))


def _sections(outcomes: Sequence[CheckOutcome], everything: bool) -> Iterator[ReportSection]:
    for outcome in outcomes:
        if outcome.status != "same" or everything or list(_asides(outcome)):
            yield from _details(outcome, everything)
    yield TextLines([*_one_line_each(outcomes), counted_outcomes(outcomes)])


def _asides(outcome: CheckOutcome) -> Iterator[str]:
    """What is worth telling although nothing counts as a difference."""
    if outcome.comparison is not None:
        yield from reasons(outcome.comparison)


def _one_line_each(outcomes: Sequence[CheckOutcome]) -> Iterator[str]:
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
    # one state has no rows to tell apart
    if all(entry.row is None for entry in entries):
        return ReportTable(header[1:-1], [row[1:-1] for row in rows], _NUMBERS)
    return ReportTable(header, rows, _NUMBERS, keys=2)


def changes_table(changes: Sequence[Change]) -> ReportTable:
    """What differs between two models, as a table."""
    header = ("part", "name", "quantity", "old", "new", "unit", "change")
    return ReportTable(header, [changes_row(change) for change in changes], _NUMBERS, keys=3)


def changes_row(change: Change) -> tuple[str, ...]:
    """A change of a model as cells."""
    if change.quantity in ("added", "removed"):
        values: Any = ("", "")
    else:
        values = change.values
    return change.part, change.name, change.quantity, *values, change.unit, change.share
