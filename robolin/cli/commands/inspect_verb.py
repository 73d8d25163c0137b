"""robolin inspect: an arm laid open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from robolin.cli.flags.flag import VerbCommand
from robolin.cli.flags.model_flags import model_option_flags
from robolin.cli.output.report import Report, ReportSection, ReportTable, TextLines, report_options
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.text import pluralize, range_text
from robolin.queries.request import ArmSource

_INERTIAS = ("x", "y", "z", "ixx", "ixy", "ixz", "iyy", "iyz", "izz")
_FIGURES = ("lower", "upper", "velocity", "effort", "damping", "friction", "armature")
_SPRING = ("stiffness", "rest")


@click.command("inspect", cls=VerbCommand)
@model_option_flags
@report_options
def command(model: ArmSource, report: Report) -> None:
    """An arm laid open: tree, joints, masses, inertias and the contract.

    Shows what every other verb would work on under the same model flags, and what of the file it
    would leave aside.

    \b
    Example:
      robolin inspect panda
      robolin inspect arm.urdf --tip tool0 --lock gripper=0 --format json
    """
    from robolin.description.inspection import inspection

    reading = model.reading()
    found = inspection(reading, model.arm(reading))
    report.write(list(_sections(found)), found)


def _sections(found: Mapping[str, Any]) -> Iterator[ReportSection]:
    joints = "joint" if found["n"] == 1 else "joints"
    yield TextLines([f"{found['name']}: {found['n']} independent {joints}, {_shape(found)}"])
    yield TextLines(found["tree"], "Tree")
    yield from _tables(found)
    mass = found["mass"]
    yield TextLines(
        [
            f"{_figure(mass['total'])} kg in total, {_figure(mass['moving'])} kg moving, "
            f"{_figure(mass['base'])} kg on the base"
        ],
        "Mass",
    )
    yield ReportTable(
        ("key", "says"),
        [(key, _phrase(value)) for key, value in found["contract"].items()],
        title="Contract",
    )
    if text := _findings(found["findings"]):
        yield TextLines([text], "Findings")


def _tables(found: Mapping[str, Any]) -> Iterator[ReportTable]:
    """Joints, links with what they weigh, and closures."""
    sprung = any("stiffness" in row for row in found["joints"])
    figures = (*_FIGURES, *_SPRING) if sprung else _FIGURES
    yield ReportTable(
        ("joint", "kind", *figures, "follows"),
        [_joint(row, figures) for row in found["joints"]],
        frozenset(figures),
        "Joints, base to tip",
    )
    yield ReportTable(
        ("link", "joint", "mass", "merged into it"),
        [_link(row) for row in found["links"]],
        frozenset({"mass"}),
        "Moving links, base to tip",
    )
    yield ReportTable(
        ("link", *_INERTIAS),
        [_inertia(row) for row in found["links"]],
        frozenset(_INERTIAS),
        "Centres of mass [m] from the link's joint, and inertias [kg·m²] about them, in link axes",
    )
    if found["loops"]:
        yield ReportTable(
            ("loop", "kind", "first", "second", "equations"),
            [tuple(str(value) for value in row.values()) for row in found["loops"]],
            frozenset({"equations"}),
            "Closures of loops",
        )


def _shape(found: Mapping[str, Any]) -> str:
    return "a serial chain" if found["serial"] else "a tree"


def _joint(row: Mapping[str, Any], figures: Sequence[str]) -> tuple[str, ...]:
    mimic = row["mimic"]
    cells = [_figure(row.get(key)) for key in figures]
    follows = mimic["leader"] if mimic else ""
    return (row["name"], row["kind"], *cells, follows)


def _link(row: Mapping[str, Any]) -> tuple[str, ...]:
    return row["name"], row["joint"], _figure(row["mass"]), ", ".join(row["merged"])


def _inertia(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the mass of a link is and how it resists turning; rounding is shown as such."""
    cells = []
    for values in (row["com"], row["inertia"]):
        largest = max(map(abs, values))
        cells += [ROUNDED_ZERO if is_rounding(x, largest) else _figure(x) for x in values]
    return (row["name"], *cells)


def _figure(value: float | list[float] | Mapping[str, float] | None) -> str:
    if isinstance(value, Mapping):
        return f"+{value['positive']:.6g} -{value['negative']:.6g}"
    return "" if value is None else range_text(value)


def _phrase(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return value
    return ", ".join(value) or "none"


def _findings(counts: Mapping[str, int]) -> str:
    parts = [pluralize(n, level) for level, n in counts.items() if n]
    return f"{', '.join(parts)}; `robolin validate` lists them" if parts else ""
