"""robolin models: the bundled arms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from robolin.cli.flags.flag import VerbCommand
from robolin.cli.reports.report import Report, ReportTable, report_options


@click.command("models", cls=VerbCommand)
@report_options
def command(report: Report) -> None:
    """The bundled arms, and where each one's figures come from.

    Each can be given as ARM by its bare name.

    \b
    Example:
      robolin models
      robolin models --format json
    """
    rows = _models()
    arms = _bundled_table(rows, ("name", "joints", "title"), "Arms")
    origins = _bundled_table(rows, ("name", "source", "licence"), "Where the figures come from")
    report.write([arms, origins], rows)


def _bundled_table(
    rows: Sequence[Mapping[str, Any]], header: tuple[str, ...], title: str
) -> ReportTable:
    cells = [tuple(str(row[key]) for key in header) for row in rows]
    return ReportTable(header, cells, frozenset({"joints"}), title)


def _models() -> list[dict[str, Any]]:
    from robolin.description.bundled import bundled_about, bundled_names, bundled_path
    from robolin.description.load import load

    rows = []
    for name in bundled_names():
        path = bundled_path(name)
        assert path is not None, "a bundled name has a file"
        about = bundled_about(path)
        rows.append(
            {
                "name": name,
                "joints": load(name).n,
                "title": about.title,
                "source": about.source,
                "licence": about.licence,
                "options": about.options,
                "notes": about.notes,
            }
        )
    return rows
