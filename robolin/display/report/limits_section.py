"""Report sections with limits and measured torques: margins and residuals of every joint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from xml.etree.ElementTree import Element

from robolin.analysis.limits import Margin
from robolin.analysis.residuals import JointResidual, model_terms
from robolin.core.notebook import is_rounding
from robolin.core.records import dataclass
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

# utilization from which a bar is amber; above 1 it is red
NEAR = 0.8
_MOST_BARS = 42
_HEADER = ("joint", "quantity", "row", "value", "limit", "margin", "used %")


@dataclass(frozen=True)
class Utilization:
    """Used part of a limit where a joint is nearest to it: 1 at the limit.

    share: |value| / |limit|; for positions the distance from the middle of the range,
           divided by half of the range
    time:  as text, with its unit; '' for a single state
    """

    margin: Margin
    share: float
    time: str

    @property
    def level(self) -> str:
        """CSS class of the bar."""
        if self.margin.exceeded:
            return "over"
        return "near" if self.share >= NEAR else "within"


def utilizations(motion: ReportedMotion) -> list[Utilization]:
    """Utilization of every limit, the largest first."""
    used = [
        Utilization(each, share, row_time(motion, each.row))
        for each in motion.margins.margins
        if (share := each.used) is not None
    ]
    return sorted(used, key=lambda each: -each.share)


def row_time(motion: ReportedMotion, row: int) -> str:
    """Time of a row with its unit, or the number of the row; '' for a single state."""
    if motion.rows == 1:
        return ""
    if motion.clock == "row":
        return f"row {row + 1}"
    return f"{float(motion.time[row]):.4g} {motion.clock}"


def with_time(text: str, time: str) -> str:
    """A text and the time it belongs to, if there is one."""
    return f"{text}, {time}" if time else text


def percent_text(share: float) -> str:
    """A share in percent, with one decimal below 10 %."""
    return f"{100.0 * share:.{int(0.0005 <= share < 0.0995)}f} %"


def value_text(margin: Margin) -> str:
    """Value and limit where a joint is nearest to it."""
    value = 0.0 if is_rounding(margin.value, abs(margin.limit)) else margin.value
    word = ", limit" if margin.quantity == "position" else " of"
    return f"{value:.4g}{word} {margin.limit:.4g} {margin.unit}"


def limits_section(arms: Sequence[ReportedArm]) -> str:
    """Bars and margins of all robots that have torques."""
    parts = [
        element("div", *_limits(each, each.motion, len(arms) > 1))
        for each in arms
        if not isinstance(each.motion, RobolinError)
    ]
    return markup(element("div", *parts, class_="side"))


def _limits(reported: ReportedArm, motion: ReportedMotion, several: bool) -> list[Element]:
    of = f" of {shown_name(reported.name)}" if several else ""
    margins = motion.margins.margins
    if not margins:
        return [paragraph(f"{shown_name(reported.name)}: no joint has limits.")]
    used = utilizations(motion)
    bars = [element("li", _bar(each)) for each in used[:_MOST_BARS]]
    title = f"Smallest margins to the joint limits{of}"
    numbers = PageTable(
        title, _HEADER, list(map(_cells, margins)), frozenset(_HEADER[2:]), "margins"
    )
    parts = [paragraph(limits_verdict(reported.name, motion, several), verdict_class(motion))]
    parts.append(element("ol", *bars, class_="bars", aria_label=f"Utilization of the limits{of}"))
    if len(used) > len(bars):
        parts.append(paragraph(f"{len(used) - len(bars)} more limits are in the table.", "note"))
    parts.append(element("details", element("summary", "Show numbers"), table(numbers)))
    return parts


def limits_verdict(name: str, motion: ReportedMotion, several: bool = False) -> str:
    """One sentence: within all limits, or the number of exceeded ones."""
    exceeded, margins = len(motion.margins.exceeded), len(motion.margins.margins)
    who = f"{shown_name(name)}: " if several else ""
    if not margins:
        return f"{who}No joint has limits."
    if not exceeded:
        return f"{who}The motion is within all {margins} limits{_tightest(motion)}."
    return f"{who}{exceeded} of {margins} limits exceeded."


def _tightest(motion: ReportedMotion) -> str:
    for each in utilizations(motion):
        joint = f"{shown_name(each.margin.joint)} {each.margin.quantity}"
        return f"; smallest margin: {joint}, {percent_text(each.share)} used"
    return ""


def verdict_class(motion: ReportedMotion) -> str:
    """CSS class of the verdict."""
    if not motion.margins.margins:
        return "note"
    return "bad" if motion.margins.exceeded else "good"


def _bar(used: Utilization) -> Element:
    """One bar as a button, which the script connects with the time of the row."""
    margin = used.margin
    bar = element(
        "svg",
        element("rect", class_="track", width="100", height="8"),
        element(
            "rect",
            class_=used.level,
            width=f"{min(max(used.share, 0.0), 1.0) * 100:.1f}",
            height="8",
        ),
        viewBox="0 0 100 8",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
    return element(
        "button",
        element("bdi", shown_name(margin.joint)),
        element("span", margin.quantity, class_="what"),
        bar,
        element("b", percent_text(used.share)),
        element("span", with_time(value_text(margin), used.time), class_="value"),
        type="button",
        class_="bar",
        data_row=str(margin.row + 1),
    )


def _cells(margin: Margin) -> tuple[str, ...]:
    return (
        shown_name(margin.joint),
        f"{margin.quantity} [{margin.unit}]",
        str(margin.row + 1),
        *map(figure_cell, (margin.value, margin.limit, margin.margin)),
        "" if margin.used is None else f"{100.0 * margin.used:.1f}",
    )


_RESIDUAL_HEADER = (
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
    assert motion.residuals is not None, "the motion has measured torques"
    residuals = motion.residuals
    of = f" of {shown_name(reported.name)}" if several else ""
    verdict = cell_text(residuals.verdict)
    title = f"Residuals{of}: measured minus model"
    numbers = PageTable(
        title,
        _RESIDUAL_HEADER,
        list(map(_residual_cells, residuals.joints)),
        frozenset(_RESIDUAL_HEADER[1:]),
    )
    return [
        paragraph(f"{verdict[0].upper()}{verdict[1:]}."),
        paragraph(f"{cell_text(model_terms(reported.arm))}.", "note"),
        element("div", *_curves(motion, figures), class_="plots"),
        table(numbers),
    ]


def _curves(motion: ReportedMotion, figures: PagePlots) -> Iterator[Element]:
    """Two plots per joint: measured torque with that of the model, and the residual."""
    assert motion.residuals is not None, "the motion has measured torques"
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


def _residual_cells(each: JointResidual) -> tuple[str, ...]:
    return (
        f"{shown_name(each.joint)} [{each.unit}]",
        *map(figure_cell, (each.measured, each.rms, each.bias, each.largest)),
        str(each.row + 1),
        "" if each.correlation is None else f"{each.correlation:.3f}",
        "" if each.explained is None else f"{100.0 * each.explained:.1f}",
    )
