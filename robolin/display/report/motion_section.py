"""The part of a page about the motion: margins, the chosen instant, torques and condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from robolin.analysis.limits import Margin
from robolin.core.arm_parts import Joint
from robolin.core.units import joint_unit
from robolin.display.plots.panels import array_rounding
from robolin.display.report.closures_section import closure_figures, closure_words
from robolin.display.report.contract_table import cell_text
from robolin.display.report.page_figures import PageFigures, curve_figure
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
from robolin.display.report.reported_motion import ReportedMotion
from robolin.errors import RobolinError

_MARGIN = ("joint", "quantity", "row", "value", "limit", "margin", "margin %")


def motion_section(arms: Sequence[ReportedArm], figures: PageFigures) -> str:
    """Everything about the motion; arms whose torques are not known say why."""
    parts: list[Element] = []
    known = [each for each in arms if not isinstance(each.motion, RobolinError)]
    for each in arms:
        if isinstance(each.motion, RobolinError):
            parts.append(paragraph(refusal(each.name, each.motion)))
    several = len(arms) > 1
    tables = [
        element("div", *_tables(each, number, several))
        for number, each in enumerate(arms)
        if each in known
    ]
    parts.append(element("div", *tables, class_="side"))
    curves = [*_torques(known, figures), *_conditions(known, figures)]
    curves += closure_figures([_motion_of(each) for each in known], figures)
    if curves:
        parts.append(element("div", *curves, class_="plots"))
    return markup(*parts)


def refusal(name: str, error: RobolinError) -> str:
    """Why there is nothing to show of an arm, and what helps."""
    hint = f" ({cell_text(error.hint)})" if error.hint else ""
    return f"{shown_name(name)}: {cell_text(error.message)}{hint}."


def _motion_of(told: ReportedArm) -> ReportedMotion:
    assert not isinstance(told.motion, RobolinError), "only arms with torques come here"
    return told.motion


def _tables(told: ReportedArm, number: int, several: bool) -> list[Element]:
    motion, arm = _motion_of(told), told.arm
    of = f" of {shown_name(told.name)}" if several else ""
    shown: list[Element] = list(closure_words(told, motion))
    if motion.margins.margins:
        rows = [_margin(each) for each in motion.margins.margins]
        worst = sum(each.exceeded for each in motion.margins.margins)
        verdict = (
            f"{worst} beyond a limit, where margins are negative" if worst else "within all limits"
        )
        shown.append(paragraph(f"{verdict.capitalize()}.", "bad" if worst else "good"))
        numbers = frozenset(_MARGIN[2:])
        title = f"Where each joint{of} is nearest to its limits"
        shown.append(table(PageTable(title, _MARGIN, rows, numbers, "margins")))
    header = ("joint", "position", "velocity", "torque", "limit")
    values = (motion.values[name][0] for name in ("q", "qd", "tau"))
    now = [
        (
            shown_name(joint.name),
            *map(figure_cell, map(float, row)),
            range_cell(joint.limits.efforts),
        )
        for joint, *row in zip(arm.joints, *values, strict=True)
    ]
    title = f"The chosen instant{of}, in SI units"
    shown.append(table(PageTable(title, header, now, frozenset(header[1:]), f"instant-{number}")))
    return shown


def _margin(margin: Margin) -> tuple[str, ...]:
    return (
        shown_name(margin.joint),
        f"{margin.quantity} [{margin.unit}]",
        str(margin.row + 1),
        *map(figure_cell, (margin.value, margin.limit, margin.margin)),
        "" if margin.share is None else f"{100.0 * margin.share:.1f}",
    )


def _torques(arms: Sequence[ReportedArm], figures: PageFigures) -> Iterator[Element]:
    """One figure per joint with the torques of every arm that has it, and its limits."""
    if not arms or _motion_of(arms[0]).rows < 2:
        return
    motion = _motion_of(arms[0])
    for place, joint in enumerate(arms[0].arm.joints):
        curves = {_label(arms, 0): motion.values["tau"][:, place]}
        for i, other in enumerate(arms[1:], start=1):
            if joint.name in other.arm.joint_names:
                column = other.arm.joint_names.index(joint.name)
                curves[_label(arms, i)] = _motion_of(other).values["tau"][:, column]
        limits = _efforts(arms, joint.name)
        caption: list[Element | str] = [
            element("bdi", shown_name(joint.name)),
            f": torque in {_unit(joint)}{_limits_text(limits)}; ",
        ]
        values = np.concatenate(list(curves.values()))
        rounding = array_rounding("tau", _unit(joint), values, motion.scales)
        yield curve_figure(
            motion.time,
            curves,
            caption,
            figures,
            rounding=rounding,
            unit=_unit(joint),
            limits=limits,
        )


def _conditions(arms: Sequence[ReportedArm], figures: PageFigures) -> Iterator[Element]:
    """cond(𝓜) of all arms in one figure; inertia of one motion alone has none to speak of."""
    if not arms or _motion_of(arms[0]).rows < 2:
        return
    if all((_motion_of(each).condition == 1.0).all() for each in arms):
        return
    curves = {_label(arms, i): _motion_of(each).condition for i, each in enumerate(arms)}
    closed = any(each.arm.loops for each in arms)
    of = "inertia that motions free of closures feel" if closed else "mass matrix"
    caption: list[Element | str] = [f"Condition of the {of}; "]
    yield curve_figure(_motion_of(arms[0]).time, curves, caption, figures, unit="1", log=True)


def _efforts(arms: Sequence[ReportedArm], name: str) -> list[float]:
    """The limits of a joint's torque in both directions, those of all arms."""
    return sorted(
        {
            effort
            for each in arms
            for joint in each.arm.joints
            if joint.name == name and joint.limits.effort is not None
            for effort in joint.limits.effort_range
        }
    )


def _limits_text(limits: Sequence[float]) -> str:
    return f", limits {' and '.join(map(figure_cell, limits))}" if limits else ""


def _label(arms: Sequence[ReportedArm], number: int) -> str:
    return "value" if len(arms) == 1 else ("first", "second")[number]


def _unit(joint: Joint) -> str:
    return joint_unit("effort", joint.turns)
