"""robolin diff: what differs between two models."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from robolin.cli.flags.flag import OUTPUT, VerbCommand, flag
from robolin.cli.flags.model_flags import file_name
from robolin.cli.flags.output_flags import color_flag
from robolin.cli.reports.report import Part, Report, TextLines

if TYPE_CHECKING:
    from robolin.checking.model_changes import Change

_FORMS = ("table", "json", "csv")
_FOUND_SOMETHING = 1


_PARAMS = [
    click.Argument(["old"], metavar="ARM1"),
    click.Argument(["new"], metavar="ARM2"),
    flag(
        "--format",
        "form",
        section=OUTPUT,
        type=click.Choice(_FORMS),
        default="table",
        show_default=True,
        help="Form of the answer.",
    ),
    color_flag("Colours on standard output."),
]


@click.command("diff", cls=VerbCommand, params=_PARAMS)
def command(old: str, new: str, form: str, color: str) -> None:
    """What differs between two models.

    Lists links and joints that were added, removed or renamed, and every mass, centre of mass,
    inertia, origin, axis, limit, damping and friction that is another one, from ARM1 to ARM2.
    A part has been renamed if one of another name has all its numbers.
    Exits with 1 if anything differs.

    \b
    Example:
      robolin diff panda panda
      robolin diff arm.urdf arm-new.urdf --format csv
    """
    from robolin.checking.model_changes import model_changes
    from robolin.description.load import figures

    changes = model_changes(figures(file_name(old)), figures(file_name(new)))
    report = Report(None, form, color)
    if form == "csv":
        report.write_text(_csv(changes))
    else:
        report.write(_parts(changes), _document(old, new, changes))
    if changes:
        click.get_current_context().exit(_FOUND_SOMETHING)


def _parts(changes: Sequence[Change]) -> list[Part]:
    from robolin.cli.reports.check_report import changes_sheet

    if not changes:
        return [TextLines(["nothing differs"])]
    count = f"{len(changes)} difference{'s' * (len(changes) != 1)}"
    return [changes_sheet(changes), TextLines([count])]


def _csv(changes: Sequence[Change]) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("part", "name", "quantity", "old", "new", "unit", "relative"))
    for change in changes:
        cells = (change.part, change.name, change.quantity, change.old, change.new, change.unit)
        writer.writerow((*cells, change.relative))
    return text.getvalue()


def _document(old: str, new: str, changes: Sequence[Change]) -> dict[str, Any]:
    from robolin.checking.outcome import plain_change

    return {"old": old, "new": new, "changes": [plain_change(change) for change in changes]}
