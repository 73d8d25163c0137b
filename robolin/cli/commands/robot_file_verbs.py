"""robolin models, models new and inspect: bundled robots, a template, and the tree of a robot."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from robolin.cli.flags.flag import METHOD, VerbCommand, flag
from robolin.cli.flags.state_flags import model_option_flags
from robolin.cli.report import (
    Report,
    ReportSection,
    ReportTable,
    TextLines,
    long_report_options,
)
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.text import did_you_mean, pluralize, range_text
from robolin.errors import FileError, UsageError
from robolin.queries.request import ArmSource

_ALONE = {
    "show copy schema": "use only one of --show, --copy and --schema",
    "output": "remove -o, which only writes the list of robots",
}
_FLAGS = [
    flag("--show NAME", METHOD, "Print the robot file NAME", excludes=_ALONE),
    flag("--copy NAME", METHOD, "Copy the robot file NAME to the current folder", excludes=_ALONE),
    flag(
        "--schema KIND",
        METHOD,
        "Print a JSON schema: robot (default) or result\n"
        "robot: the format of YAML robot files, for completion in editors. result: the format of "
        "the output of `--format json`.",
        choices=("robot", "result"),
        flag_value="robot",
        excludes=_ALONE,
    ),
]


@click.command("models", cls=VerbCommand, params=_FLAGS)
@long_report_options
def models_command(report: Report, show: str | None, copy: str | None, schema: str | None) -> None:
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
      robolin models --schema result > robolin-result.schema.json
    """
    if schema is not None:
        _print_schema(schema)
    elif show is not None:
        click.echo(_file(show).read_text(encoding="utf-8"), nl=False)
    elif copy is not None:
        _copy(_file(copy))
    else:
        _list_models(report)


def _print_schema(kind: str) -> None:
    import json

    if kind == "result":
        from robolin.io.formats.json_writer import result_schema as schema
    else:
        from robolin.description.yaml.yaml_schema import yaml_schema as schema
    click.echo(json.dumps(schema(), indent=2, ensure_ascii=False))


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
        assert path is not None, "every bundled name has a robot file"
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


_INERTIAS = ("x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_PARAMETERS = ("lower", "upper", "velocity", "effort", "damping", "friction", "armature")
_SPRING = ("stiffness", "rest")


@click.command("inspect", cls=VerbCommand)
@model_option_flags
@long_report_options
def inspect_command(model: ArmSource, report: Report) -> None:
    """Show the kinematic tree, masses and model assumptions.

    Shows the model that other commands use if they have the same options. Also lists the parts of
    the file that robolin ignores.

    \b
    Examples:
      robolin inspect panda
      robolin inspect arm.urdf --tip tool0 --lock gripper=0
      robolin inspect ur5 --payload tool0:1.5
      robolin inspect arm.urdf --format json
    """
    from robolin.description.inspection import inspection

    reading = model.reading()
    info = inspection(reading, model.arm(reading))
    sections = list(_sections(info))
    report.write(sections, info, list(_screen(info, sections)))


def _screen(info: Mapping[str, Any], sections: Sequence[ReportSection]) -> Iterator[ReportSection]:
    """Headline and joints, without columns of zeros, before tree, links and assumptions."""
    head, tree, joints, *others = sections
    assert isinstance(head, TextLines)
    assert isinstance(joints, ReportTable)
    mass = f"{_number(info['mass']['total'])} kg, {_number(info['mass']['moving'])} kg moving"
    poses = f"poses for --q: {', '.join(info['poses'])}" if info["poses"] else ""
    facts = [mass, poses, _findings(info["findings"])]
    yield TextLines([*head.lines, "; ".join(filter(None, facts))])
    yield _without_zeros(joints)
    yield tree
    yield from (each for each in others if each.title not in ("Mass", "Findings"))


def _without_zeros(table: ReportTable) -> ReportTable:
    empty = [all(cell in ("", "0") for cell in column) for column in zip(*table.rows, strict=True)]
    kept = [i for i, name in enumerate(table.header) if name not in table.numbers or not empty[i]]
    rows = [tuple(row[i] for i in kept) for row in table.rows]
    return replace(table, header=tuple(table.header[i] for i in kept), rows=rows)


def _sections(info: Mapping[str, Any]) -> Iterator[ReportSection]:
    joints = "joint" if info["n"] == 1 else "joints"
    yield TextLines([f"{info['name']}: {info['n']} independent {joints}, {_shape(info)}"])
    yield TextLines(info["tree"], "Tree")
    yield from _tables(info)
    mass = info["mass"]
    yield TextLines(
        [
            f"{_number(mass['total'])} kg in total, {_number(mass['moving'])} kg moving, "
            f"{_number(mass['base'])} kg on the base"
        ],
        "Mass",
    )
    yield ReportTable(
        ("key", "value"),
        [(key, _phrase(value)) for key, value in info["contract"].items()],
        title="Model assumptions",
    )
    if text := _findings(info["findings"]):
        yield TextLines([text], "Findings")


def _tables(info: Mapping[str, Any]) -> Iterator[ReportTable]:
    """Tables of joints, links with inertia, named poses and loop closures."""
    sprung = any("stiffness" in row for row in info["joints"])
    keys = (*_PARAMETERS, *_SPRING) if sprung else _PARAMETERS
    yield ReportTable(
        ("joint", "kind", *keys, "mimics"),
        [_joint(row, keys) for row in info["joints"]],
        frozenset(keys),
        "Joints, from base to tip",
    )
    yield ReportTable(
        ("link", "joint", "mass", "merged links"),
        [_link(row) for row in info["links"]],
        frozenset({"mass"}),
        "Moving links, from base to tip",
    )
    yield ReportTable(
        ("link", *_INERTIAS),
        [_inertia(row) for row in info["links"]],
        frozenset(_INERTIAS),
        "Centres of mass [m] relative to the link origin, and inertias [kg·m²] about the centres "
        "of mass, in link axes",
    )
    if info["poses"]:
        yield ReportTable(
            ("pose", "positions, in the order of the joints [rad or m]"),
            [(name, _positions(row)) for name, row in info["poses"].items()],
            title="Named poses, for --q",
        )
    if info["loops"]:
        yield ReportTable(
            ("loop", "kind", "first", "second", "equations"),
            [tuple(str(value) for value in row.values()) for row in info["loops"]],
            frozenset({"equations"}),
            "Loop-closure constraints",
        )


def _positions(pose: Mapping[str, float]) -> str:
    return ", ".join(_number(position) for position in pose.values())


def _shape(info: Mapping[str, Any]) -> str:
    return "a serial chain" if info["serial"] else "a tree"


def _joint(row: Mapping[str, Any], keys: Sequence[str]) -> tuple[str, ...]:
    mimic = row["mimic"]
    cells = [_number(row.get(key)) for key in keys]
    return (row["name"], row["kind"], *cells, mimic["leader"] if mimic else "")


def _link(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["name"], row["joint"], _number(row["mass"]), ", ".join(row["merged"])


def _inertia(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Centre of mass and inertia of a link; round-off is shown as ~0."""
    cells = []
    for values in (row["com"], row["inertia"]):
        largest = max(map(abs, values))
        cells += [ROUNDED_ZERO if is_rounding(x, largest) else _number(x) for x in values]
    return (row["name"], *cells)


def _number(value: float | list[float] | Mapping[str, float] | None) -> str:
    if isinstance(value, Mapping):
        return f"+{value['positive']:.6g} -{value['negative']:.6g}"
    return "" if value is None else range_text(value)


def _phrase(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    return ", ".join(value) or "none"


def _findings(counts: Mapping[str, int]) -> str:
    parts = [pluralize(n, level) for level, n in counts.items() if n]
    return f"{', '.join(parts)}; run `robolin validate`" if parts else ""
