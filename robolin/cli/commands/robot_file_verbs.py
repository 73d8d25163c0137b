"""robolin models and models new: bundled robots, and a template of a YAML robot file."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag
from robolin.cli.report import Report, ReportTable, long_report_options
from robolin.core.text import did_you_mean
from robolin.errors import FileError, UsageError

_ALONE = {
    "show copy schema": "use only one of --show, --copy and --schema",
    "output": "remove -o: it is for the list of robots",
}
_FLAGS = [
    flag("--show NAME", METHOD, "Print the robot file NAME", excludes=_ALONE),
    flag("--copy NAME", METHOD, "Copy the robot file NAME to the current folder", excludes=_ALONE),
    flag(
        "--schema",
        METHOD,
        "Print the JSON schema of YAML robot files\nEditors use it for completion.",
        excludes=_ALONE,
    ),
]


@click.command("models", cls=VerbCommand, params=_FLAGS)
@long_report_options
def models_command(report: Report, show: str | None, copy: str | None, schema: bool) -> None:
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
    report.write([arms, origins], rows, [arms, origins])


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


_START = """\
# A robot for robolin: edit it, then run `robolin inspect {file}`.
# Units are SI; angles may be written as 30deg or pi/6.  Every key: docs/reference/yaml.md.
robolin: 1
name: {name}
gravity: [0, 0, -9.81]                # m/s2, in the axes of the base

joints:                               # from the base to the tip
  - name: shoulder
    type: revolute                    # continuous, prismatic, floating, planar or fixed
    parent: base                      # the first parent is fixed
    child: upper
    origin: {{xyz: [0, 0, 0.1]}}        # pose in the parent frame; also rpy: [0, 0, 90deg]
    axis: [0, 1, 0]                   # rotation axis, in the joint frame
    limits: {{lower: -120deg, upper: 120deg, velocity: 3, effort: 40}}
    damping: 0.1                      # N m s/rad; a spring: stiffness and rest
  - name: elbow
    type: revolute
    parent: upper
    child: lower
    origin: {{xyz: [0, 0, 0.4]}}
    axis: [0, 1, 0]
    limits: {{lower: -150deg, upper: 150deg, velocity: 3, effort: 20}}
    damping: 0.1
  - name: flange
    type: fixed
    parent: lower
    child: tool
    origin: {{xyz: [0, 0, 0.3]}}

links:                                # every link with mass
  - name: upper
    mass: 2                           # kg; or a density in kg/m3
    com: [0, 0, 0.2]                  # centre of mass, in the joint frame
    shape: {{box: [0.06, 0.06, 0.4]}}   # or cylinder, rod, sphere
  - name: lower
    mass: 1
    com: [0, 0, 0.15]
    inertia: {{ixx: 0.0075, iyy: 0.0075, izz: 0.0003}}   # about the centre of mass, in link axes

poses:                                # names for --q
  home: {{shoulder: 30deg, elbow: 60deg}}
"""


@click.command("new", cls=VerbCommand)
@click.argument("name")
def new_command(name: str) -> None:
    """Create a template of a YAML robot file.

    Writes NAME.yaml to the current folder: two joints, with a comment on every key.

    \b
    Examples:
      robolin models new my-arm
    """
    from robolin.io.atomic import atomic_write

    name = name.removesuffix(".yaml")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        hint = "use letters, digits, '_' and '-'; start with a letter"
        raise UsageError(f"'{name}' is not a valid name", where="robolin models new", hint=hint)
    file = f"{name}.yaml"
    if os.path.lexists(file):
        raise FileError("already exists", where=file, hint="choose another name")
    with atomic_write(file) as stream:
        stream.write(_START.format(name=name, file=file).encode())
    click.echo(f"wrote {file}; run `robolin inspect {file}`", err=True)
