"""robolin validate: what is wrong or doubtful in a robot file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import METHOD, Flag, VerbCommand
from robolin.cli.flags.model_flags import ARM, file_name
from robolin.cli.reports.report import Report, TextLines, report_options

if TYPE_CHECKING:
    from robolin.description.model import Finding

FOUND_SOMETHING = 1


@click.command("validate", cls=VerbCommand, params=[ARM])
@click.option("--strict", cls=Flag, section=METHOD, is_flag=True, help="Notes count as well.")
@report_options
def command(arm: str, strict: bool, report: Report) -> None:
    """What is wrong or doubtful in a robot file.

    Lists every finding as FILE:LINE: LEVEL ID: MESSAGE, with what to do about it.
    Exits with 1 if there is an error or a warning, with --strict also for a mere note.

    \b
    Example:
      robolin validate arm.urdf
      robolin validate arm.urdf --strict --format json
    """
    from robolin.description.load import read
    from robolin.description.validate.validate import validate

    findings = validate(read(file_name(arm)))
    report.write([TextLines(list(_lines(arm, findings)))], _document(arm, findings))
    telling = ("error", "warning", "note") if strict else ("error", "warning")
    if any(found.level in telling for found in findings):
        click.get_current_context().exit(FOUND_SOMETHING)


def _lines(arm: str, findings: Sequence[Finding]) -> Iterator[str]:
    for found in findings:
        yield f"{found.place}: {found.level} {found.id}: {found.message}"
        if found.hint:
            yield f"    hint: {found.hint}"
    counts = _counts(findings)
    told = [f"{n} {level}{'s' * (n != 1)}" for level, n in counts.items() if n]
    yield f"{arm}: {', '.join(told) or 'nothing found'}"


def _document(arm: str, findings: Sequence[Finding]) -> dict[str, Any]:
    return {
        "source": arm,
        "counts": _counts(findings),
        "findings": [
            {
                "id": found.id,
                "level": found.level,
                "file": found.place.file,
                "line": found.place.line,
                "column": found.place.column,
                "message": found.message,
                "hint": found.hint,
            }
            for found in findings
        ],
    }


def _counts(findings: Sequence[Finding]) -> dict[str, int]:
    levels = Counter(found.level for found in findings)
    return {level: levels[level] for level in ("error", "warning", "note")}
