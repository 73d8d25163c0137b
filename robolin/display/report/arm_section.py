"""The part of a page that shows arms: drawn side by side, with their joints and links."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from xml.etree.ElementTree import Element

from robolin.core.arm import Arm, Joint
from robolin.description.inspection import link_table
from robolin.display.report.drawn_arm import drawn_arm
from robolin.display.report.equivalent_box import equivalent_box
from robolin.display.report.page_files import filled
from robolin.display.report.page_markup import (
    PageTable,
    element,
    figure_cell,
    markup,
    paragraph,
    range_cell,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.dynamics.algebra.scalar import float_sum

_JOINT = ("joint", "kind", "lower", "upper", "velocity", "effort", "damping", "friction")
_LINK = ("link", "joint", "mass", "x", "y", "z", "box x", "box y", "box z")


def arm_section(arms: Sequence[ReportedArm]) -> str:
    """Every arm drawn, then their tables."""
    drawings = "\n".join(_drawing(i, each) for i, each in enumerate(arms))
    tables = [element("div", *_tables(each, len(arms) > 1)) for each in arms]
    return f'<div class="side">\n{drawings}\n</div>\n<div class="side">\n{markup(*tables)}\n</div>'


def _drawing(number: int, told: ReportedArm) -> str:
    name = escape(shown_name(told.name))
    return filled(
        "arm.html",
        number=str(number),
        name=name,
        label=f"The arm {name}",
        drawing=markup(drawn_arm(told.arm, told.first_pose)),
    )


def _tables(told: ReportedArm, several: bool) -> list[Element]:
    of = f" of {shown_name(told.name)}" if several else ""
    arm = told.arm
    moving = float_sum(link.inertia.mass for link in arm.links)
    gravity = ", ".join(map(figure_cell, arm.gravity))
    mass = f"{figure_cell(moving)} kg move; gravity is {gravity} m/s²."
    return [paragraph(mass), table(_joints(arm, of)), table(_links(arm, of))]


def _joints(arm: Arm, of: str) -> PageTable:
    rows = [
        (
            shown_name(joint.name),
            joint.kind,
            figure_cell(joint.limits.lower),
            figure_cell(joint.limits.upper),
            figure_cell(joint.limits.velocity),
            range_cell(joint.limits.efforts),
            figure_cell(joint.damping),
            _friction(joint),
            *((figure_cell(joint.stiffness), figure_cell(joint.rest)) if arm.has_springs else ()),
        )
        for joint in arm.joints
    ]
    title = f"Joints{of}, in rad or m, N·m or N"
    header = (*_JOINT, "stiffness", "rest") if arm.has_springs else _JOINT
    return PageTable(title, header, rows, frozenset(header[2:]))


def _friction(joint: Joint) -> str:
    """One number, or one for each direction."""
    positive, negative = map(figure_cell, joint.friction_sides)
    return positive if joint.friction_negative is None else f"+{positive} -{negative}"


def _links(arm: Arm, of: str) -> PageTable:
    """Masses, centres of mass in link axes, and the sides of the box with the same inertia."""
    rows = []
    for row in link_table(arm):
        box = equivalent_box(arm.link(row["number"]).inertia)
        sides = ("", "", "") if box is None else (f"{2.0 * x:.4g}" for x in box.half)
        names = shown_name(row["name"]), shown_name(row["joint"])
        rows.append((*names, figure_cell(row["mass"]), *map(figure_cell, row["com"]), *sides))
    title = f"Links{of}: kg, centre of mass and equivalent box in m"
    return PageTable(title, _LINK, rows, frozenset(_LINK[2:]))
