"""Report section with the motion: margins, values at one time, torques and condition number."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

import numpy as np

from robolin.analysis.limits import Margin
from robolin.core.arm_parts import Joint
from robolin.core.arrays import Numbers
from robolin.core.text import pluralize
from robolin.core.units import joint_unit
from robolin.display.plots.panels import array_rounding
from robolin.display.report.page_markup import (
    PageFigures,
    PageTable,
    cell_text,
    curve_figure,
    element,
    figure_cell,
    markup,
    paragraph,
    range_cell,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.reported_motion import ReportedClosures, ReportedMotion
from robolin.errors import RobolinError

_MARGIN = ("joint", "quantity", "row", "value", "limit", "margin", "margin %")


def motion_section(arms: Sequence[ReportedArm], figures: PageFigures) -> str:
    """All about the motion; robots without torques show the reason."""
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
    """The reason why nothing is shown for a robot, and the hint."""
    hint = f" ({cell_text(error.hint)})" if error.hint else ""
    return f"{shown_name(name)}: {cell_text(error.message)}{hint}."


def _motion_of(reported: ReportedArm) -> ReportedMotion:
    assert not isinstance(reported.motion, RobolinError), "only arms with torques come here"
    return reported.motion


def _tables(reported: ReportedArm, number: int, several: bool) -> list[Element]:
    motion, arm = _motion_of(reported), reported.arm
    of = f" of {shown_name(reported.name)}" if several else ""
    shown: list[Element] = list(closure_paragraphs(reported, motion))
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
    """One plot per joint with the torques of every robot that has it, and its limits."""
    if not arms or _motion_of(arms[0]).rows < 2:
        return
    motion = _motion_of(arms[0])
    for index, joint in enumerate(arms[0].arm.joints):
        curves = {_label(arms, 0): motion.values["tau"][:, index]}
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
    """cond(𝓜) of all robots in one plot; omitted for a single DoF."""
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
    """Torque limits of a joint in both directions, of all robots."""
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


# relative round-off of forces, which are a solution with cancelling terms
FORCE_ROUNDING = 1e-10


def closure_paragraphs(reported: ReportedArm, motion: ReportedMotion) -> Iterator[Element]:
    """Kind of torques, number of free motions, and constraint violation."""
    closures = motion.closures
    if closures is None:
        return
    if motion.contract.get("torque") == "given":
        yield paragraph("Torques are those of the recording; closures bear the rest.")
    else:
        yield paragraph(
            "Joints of closed loops can share torques in many ways. These are those of the open "
            "tree, with a motor at every joint, so that closures bear nothing."
        )
    yield paragraph(_violation(reported, closures))
    if motion.rows > 1:
        idle = [closures.names[i] for i in np.flatnonzero(~_significant_forces(motion, closures))]
        if idle:
            yield paragraph(f"Nothing but rounding: {', '.join(map(shown_name, idle))}.")
    else:
        title = "What the closures bear: force on the first frame, in world axes"
        rows = [
            (shown_name(name), figure_cell(float(force)), _force_unit(name))
            for name, force in zip(closures.names, closures.forces[0], strict=True)
        ]
        yield table(PageTable(title, ("closure", "force", "unit"), rows, frozenset({"force"})))


def _violation(reported: ReportedArm, closures: ReportedClosures) -> str:
    """Number of independent constraint equations, and their violation."""
    ranks = np.unique(closures.rank)
    independent = " to ".join(str(rank) for rank in dict.fromkeys((ranks[0], ranks[-1])))
    free = " to ".join(str(reported.arm.n - rank) for rank in dict.fromkeys((ranks[-1], ranks[0])))
    worst = np.nan_to_num(closures.open_by)
    row = int(np.argmax(worst))
    return (
        f"{pluralize(len(reported.arm.loops), 'closure')}: {independent} of "
        f"{len(closures.names)} equations are independent, which leaves {free} of {reported.arm.n} "
        f"motions free; they stand open by at most {worst[row]:.2g} m or rad, in row {row + 1}."
    )


def closure_figures(arms: Sequence[ReportedMotion], figures: PageFigures) -> Iterator[Element]:
    """One plot for every constraint force above round-off."""
    for motion in arms:
        if motion.closures is not None and motion.rows > 1:
            for i in np.flatnonzero(_significant_forces(motion, motion.closures)):
                name, force = motion.closures.names[i], motion.closures.forces[:, i]
                bears = f": what the closure bears, in {_force_unit(name)}; "
                caption: list[Element | str] = [element("bdi", shown_name(name)), bears]
                curves = {"value": force}
                yield curve_figure(motion.time, curves, caption, figures, unit=_force_unit(name))


def _significant_forces(motion: ReportedMotion, closures: ReportedClosures) -> Numbers:
    """(equations,): True if a force exceeds the round-off of all forces and torques."""
    sizes = np.abs(np.nan_to_num(closures.forces)).max(axis=0)
    weight = motion.scales.of_unit(joint_unit("effort", turns=False))
    largest = max(sizes.max(), np.abs(np.nan_to_num(motion.values["tau"])).max(), weight)
    borne: Numbers = sizes > FORCE_ROUNDING * largest
    return borne


def _force_unit(name: str) -> str:
    """Unit of an equation from its component: force or moment."""
    return joint_unit("effort", turns=not name.rpartition("/")[2].startswith("f"))
