"""The part of a page about the motion: margins, the chosen instant, torques and condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin.analysis.limits import Margin
from robolin.arm_parts import Joint
from robolin.arrays import Floats
from robolin.errors import RobolinError
from robolin.pictures.kept_rows import kept_rows
from robolin.report.page_markup import (
    PageTable,
    element,
    figure,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.report.page_numbers import PageNumbers
from robolin.report.reported_arm import ReportedArm
from robolin.report.reported_motion import ReportedMotion

_MARGIN = ("joint", "quantity", "row", "value", "limit", "margin", "unit", "margin %", "")


@dataclass
class PageFigures:
    """The curves of a page: what the program draws, and what stands where they will be."""

    numbers: PageNumbers
    told: list[dict[str, Any]] = field(default_factory=list)

    def add(self, x: Floats, series: dict[str, Floats], **more: Any) -> int:
        """Keep curves over one axis, and tell their place."""
        curves = [{"label": label, "y": self.numbers.add(y)} for label, y in series.items()]
        self.told.append({"x": self.numbers.add(x), "series": curves, **more})
        return len(self.told) - 1


def motion_section(arms: Sequence[ReportedArm], figures: PageFigures) -> str:
    """Everything about the motion; arms whose torques are not known say why."""
    parts: list[Element] = []
    known = [each for each in arms if not isinstance(each.motion, RobolinError)]
    for each in arms:
        if isinstance(each.motion, RobolinError):
            parts.append(paragraph(f"{shown_name(each.name)}: {shown_name(each.motion.message)}"))
    for number, each in enumerate(arms):
        if each in known:
            parts += _tables(each, number, len(arms) > 1)
    curves = list(_torques(known, figures)) + list(_conditions(known, figures))
    if curves:
        parts.append(element("div", *curves, class_="plots"))
    return markup(*parts)


def _motion_of(told: ReportedArm) -> ReportedMotion:
    assert not isinstance(told.motion, RobolinError), "only arms with torques come here"
    return told.motion


def _tables(told: ReportedArm, number: int, several: bool) -> list[Element]:
    motion, arm = _motion_of(told), told.arm
    of = f" of {shown_name(told.name)}" if several else ""
    shown: list[Element] = []
    if motion.margins.margins:
        rows = [_margin(each) for each in motion.margins.margins]
        worst = sum(each.exceeded for each in motion.margins.margins)
        verdict = f"{worst} beyond a limit" if worst else "within all limits"
        shown.append(paragraph(f"{verdict.capitalize()}.", "bad" if worst else "good"))
        numbers = frozenset(_MARGIN[2:6]) | {"margin %"}
        title = f"Where each joint{of} is nearest to its limits"
        shown.append(table(PageTable(title, _MARGIN, rows, numbers, "margins")))
    header = ("joint", "position", "velocity", "torque", "limit")
    values = (motion.values[name][0] for name in ("q", "qd", "tau"))
    now = [
        (shown_name(joint.name), *map(figure, map(float, row)), figure(joint.limits.effort))
        for joint, *row in zip(arm.joints, *values, strict=True)
    ]
    title = f"The chosen instant{of}, in SI units"
    shown.append(table(PageTable(title, header, now, frozenset(header[1:]), f"instant-{number}")))
    return shown


def _margin(margin: Margin) -> tuple[str, ...]:
    return (
        shown_name(margin.joint),
        margin.quantity,
        str(margin.row + 1),
        *map(figure, (margin.value, margin.limit, margin.margin)),
        margin.unit,
        "" if margin.share is None else f"{100.0 * margin.share:.1f}",
        "beyond" if margin.exceeded else "",
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
        effort = joint.limits.effort
        limits = [] if effort is None else [-effort, effort]
        caption: list[Element | str] = [
            element("bdi", shown_name(joint.name)),
            f": torque in {_unit(joint)}; ",
        ]
        yield _figure(motion, curves, caption, figures, unit=_unit(joint), limits=limits)


def _conditions(arms: Sequence[ReportedArm], figures: PageFigures) -> Iterator[Element]:
    """cond(𝓜) of all arms in one figure."""
    if not arms or _motion_of(arms[0]).rows < 2:
        return
    curves = {_label(arms, i): _motion_of(each).condition for i, each in enumerate(arms)}
    caption: list[Element | str] = ["Condition of the mass matrix; "]
    yield _figure(_motion_of(arms[0]), curves, caption, figures, unit="1", log=True)


def _label(arms: Sequence[ReportedArm], number: int) -> str:
    return "value" if len(arms) == 1 else ("first", "second")[number]


def _unit(joint: Joint) -> str:
    return "N·m" if joint.turns else "N"


def _figure(
    motion: ReportedMotion,
    curves: dict[str, Floats],
    caption: Sequence[Element | str],
    figures: PageFigures,
    **more: Any,
) -> Element:
    """Curves with as many rows as can be seen, and their extremes in words."""
    rows = kept_rows(np.stack(list(curves.values()), axis=1))
    number = figures.add(motion.time[rows], {k: y[rows] for k, y in curves.items()}, **more)
    told = "; ".join(_extremes(label, y) for label, y in curves.items())
    return element(
        "figure",
        element("figcaption", *caption, told),
        element("div", class_="curves"),
        class_="plot",
        data_figure=str(number),
    )


def _extremes(label: str, values: Floats) -> str:
    fine = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(fine).all():
        return f"{label}: no numbers"
    low, high = int(np.nanargmin(fine)), int(np.nanargmax(fine))
    name = "" if label == "value" else f"{label} "
    ends = [f"{figure(float(values[row]))} in row {row + 1}" for row in (low, high)]
    return f"{name}from {ends[0]} to {ends[1]}"
