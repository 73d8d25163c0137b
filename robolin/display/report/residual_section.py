"""Report section with measured torques: residuals of every joint, and curves over the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from robolin.analysis.residuals import JointResidual, model_terms
from robolin.display.report.page_markup import (
    PagePlots,
    PageTable,
    cell_text,
    curve_figure,
    element,
    figure_cell,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.reported_motion import ReportedMotion
from robolin.errors import RobolinError

_HEADER = (
    *("joint", "measured RMS", "residual RMS", "bias", "largest", "row"),
    *("correlation", "explained %"),
)


def residual_section(arms: Sequence[ReportedArm], figures: PagePlots) -> str:
    """Residuals of all robots; '' if they were not requested."""
    parts = [
        element("div", *_residuals(each, each.motion, figures, len(arms) > 1))
        for each in arms
        if not isinstance(each.motion, RobolinError) and each.motion.residuals is not None
    ]
    return markup(element("div", *parts, class_="side")) if parts else ""


def _residuals(
    reported: ReportedArm, motion: ReportedMotion, figures: PagePlots, several: bool
) -> list[Element]:
    assert motion.residuals is not None, "only motions with measured torques come here"
    residuals = motion.residuals
    of = f" of {shown_name(reported.name)}" if several else ""
    verdict = cell_text(residuals.verdict)
    title = f"Residuals{of}: measured minus model"
    numbers = PageTable(title, _HEADER, list(map(_cells, residuals.joints)), frozenset(_HEADER[1:]))
    return [
        paragraph(f"{verdict[0].upper()}{verdict[1:]}."),
        paragraph(f"{cell_text(model_terms(reported.arm))}.", "note"),
        element("div", *_curves(motion, figures), class_="plots"),
        table(numbers),
    ]


def _curves(motion: ReportedMotion, figures: PagePlots) -> Iterator[Element]:
    """Two plots per joint: measured torque with that of the model, and the residual."""
    assert motion.residuals is not None, "only motions with measured torques come here"
    measured, model = motion.values["tau_measured"], motion.values["tau"]
    for i, each in enumerate(motion.residuals.joints):
        name, unit = element("bdi", shown_name(each.joint)), each.unit
        curves = {"measured": measured[:, i], "model": model[:, i]}
        caption: list[Element | str] = [name, f": torque in {unit}; "]
        yield curve_figure(motion.time, curves, caption, figures, unit=unit)
        residual = {"value": measured[:, i] - model[:, i]}
        below: list[Element | str] = [
            element("bdi", shown_name(each.joint)),
            f": measured minus model in {unit}; ",
        ]
        yield curve_figure(motion.time, residual, below, figures, unit=unit)


def _cells(each: JointResidual) -> tuple[str, ...]:
    return (
        f"{shown_name(each.joint)} [{each.unit}]",
        *map(figure_cell, (each.measured, each.rms, each.bias, each.largest)),
        str(each.row + 1),
        "" if each.correlation is None else f"{each.correlation:.3f}",
        "" if each.explained is None else f"{100.0 * each.explained:.1f}",
    )
