"""robolin models: list, show and copy the bundled robots."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag
from robolin.cli.output.report import Report, ReportTable, report_options
from robolin.core.text import did_you_mean
from robolin.errors import FileError, UsageError

_ALONE = {
    "show copy schema": "use one of them at a time",
    "output": "remove -o: it is for the list of robots",
}
_FLAGS = [
    flag(
        "--show",
        section=METHOD,
        metavar="NAME",
        excludes=_ALONE,
        help="Print the robot file NAME",
    ),
    flag(
        "--copy",
        section=METHOD,
        metavar="NAME",
        excludes=_ALONE,
        help="Copy the robot file NAME to the current folder",
    ),
    flag(
        "--schema",
        section=METHOD,
        is_flag=True,
        excludes=_ALONE,
        help="Print the JSON schema of YAML robot files\nEditors use it for completion.",
    ),
]


@click.command("models", cls=VerbCommand, params=_FLAGS)
@report_options
def command(report: Report, show: str | None, copy: str | None, schema: bool) -> None:
    """List, show, copy or create robot files.

    Lists the bundled robots and their data sources. ARM may be the name of a bundled robot.
    `robolin models new NAME` creates a template of a YAML robot file.

    \b
    Examples:
      robolin models
      robolin models --show two-link
      robolin models --copy panda
      robolin models new my-arm
      robolin models --schema > robolin-arm.schema.json
    """
    if schema:
        _print_schema()
    elif show is not None:
        click.echo(_file(show).read_text(encoding="utf-8"), nl=False)
    elif copy is not None:
        _copy(_file(copy))
    else:
        _list_models(report)


def _print_schema() -> None:
    import json

    from robolin.description.yaml.yaml_schema import yaml_schema

    click.echo(json.dumps(yaml_schema(), indent=2, ensure_ascii=False))


def _file(name: str) -> Path:
    from robolin.description.robot_source import bundled_names, bundled_path

    path = bundled_path(name)
    if path is None:
        hint = did_you_mean(name, bundled_names())
        raise UsageError(f"unknown bundled robot '{name}'", where="robolin models", hint=hint)
    return path


def _copy(path: Path) -> None:
    """Copy a robot file, and the SRDF file with its poses if there is one."""
    from robolin.io.atomic import atomic_write

    paths = [each for each in (path, path.with_suffix(".srdf")) if each.is_file()]
    for each in paths:
        if os.path.lexists(each.name):
            hint = "rename or remove the file first"
            raise FileError("already exists", where=each.name, hint=hint)
    for each in paths:
        with atomic_write(each.name) as stream:
            stream.write(each.read_bytes())


def _list_models(report: Report) -> None:
    rows = _models()
    arms = _bundled_table(rows, ("name", "joints", "title"), "Robots")
    origins = _bundled_table(rows, ("name", "source", "licence"), "Data sources")
    report.write([arms, origins], rows)


def _bundled_table(
    rows: Sequence[Mapping[str, Any]], header: tuple[str, ...], title: str
) -> ReportTable:
    cells = [tuple(str(row[key]) for key in header) for row in rows]
    return ReportTable(header, cells, frozenset({"joints"}), title)


def _models() -> list[dict[str, Any]]:
    from robolin.description.load import load
    from robolin.description.robot_source import bundled_about, bundled_names, bundled_path

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
