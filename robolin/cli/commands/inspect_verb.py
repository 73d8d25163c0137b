"""robolin inspect: kinematic tree, joints, masses, inertias and model assumptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import click

from robolin.cli.flags.flag import VerbCommand
from robolin.cli.flags.model_flags import model_option_flags
from robolin.cli.report import (
    Report,
    ReportSection,
    ReportTable,
    TextLines,
    long_report_options,
)
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.text import pluralize, range_text
from robolin.queries.request import ArmSource

_INERTIAS = ("x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_PARAMETERS = ("lower", "upper", "velocity", "effort", "damping", "friction", "armature")
_SPRING = ("stiffness", "rest")


@click.command("inspect", cls=VerbCommand)
@model_option_flags
@long_report_options
def command(model: ArmSource, report: Report) -> None:
    """Show the tree, joints, masses and model assumptions.

    Shows the model that all other commands use with the same options, and the parts of the
    file that are ignored.

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
        "Joints, base to tip",
    )
    yield ReportTable(
        ("link", "joint", "mass", "merged links"),
        [_link(row) for row in info["links"]],
        frozenset({"mass"}),
        "Moving links, base to tip",
    )
    yield ReportTable(
        ("link", *_INERTIAS),
        [_inertia(row) for row in info["links"]],
        frozenset(_INERTIAS),
        "Centres of mass [m] from the link's joint, and inertias [kg·m²] about them, in link axes",
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
