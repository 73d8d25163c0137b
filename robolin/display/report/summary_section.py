"""Summary of a report: the robot in one line, the verdict, and four numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from robolin.control.poles import STABLE, UNSTABLE
from robolin.core.text import pluralize
from robolin.display.report.limits_section import (
    Utilization,
    limits_verdict,
    percent_text,
    utilizations,
    value_text,
    verdict_class,
    with_time,
)
from robolin.display.report.page_markup import element, markup, paragraph, shown_name
from robolin.display.report.reported_arm import ReportedArm
from robolin.dynamics.algebra.scalar import float_sum
from robolin.errors import RobolinError


@dataclass(frozen=True)
class KeyNumber:
    """One number of the headline, with the words above and below it."""

    label: str
    value: str
    detail: str
    level: str = ""


def headline(arms: Sequence[ReportedArm]) -> str:
    """Robots in one line: joints, moving mass and rows of the motion."""
    parts = [
        f"{shown_name(each.name) + ': ' if len(arms) > 1 else ''}{pluralize(each.arm.n, 'joint')}, "
        f"{float_sum(link.inertia.mass for link in each.arm.links):.4g} kg moving mass"
        for each in arms
    ]
    motions = [each.motion for each in arms if not isinstance(each.motion, RobolinError)]
    if motions:
        rows = pluralize(motions[0].rows, "row" if motions[0].rows > 1 else "state")
        clock = motions[0].clock
        span = float(motions[0].time[-1]) if motions[0].rows > 1 and clock != "row" else 0.0
        parts.append(f"{rows}, {span:.4g} s" if span else rows)
    return "; ".join(parts) + "."


def summary_section(arms: Sequence[ReportedArm]) -> str:
    """The verdict and the key numbers of every robot."""
    return markup(*(part for each in arms for part in _summary(each, len(arms) > 1)))


def _summary(reported: ReportedArm, several: bool) -> Iterator[Element]:
    motion = reported.motion
    if not isinstance(motion, RobolinError):
        verdict = limits_verdict(reported.name, motion, several)
        yield paragraph(verdict, f"{verdict_class(motion)} verdict")
    elif several:
        yield paragraph(f"{shown_name(reported.name)}:", "verdict")
    yield number_cards(key_numbers(reported))


def number_cards(numbers: Sequence[KeyNumber]) -> Element:
    """Key numbers in a row of boxes."""
    cards = [
        element(
            "div",
            element("dt", each.label),
            element("dd", each.value, class_=f"value {each.level}".strip()),
            element("dd", each.detail, class_="detail"),
        )
        for each in numbers
    ]
    return element("dl", *cards, class_="cards")


def key_numbers(reported: ReportedArm) -> list[KeyNumber]:
    """Tightest limit, largest torque share, stability of the linear model, checks."""
    motion = reported.motion
    used = [] if isinstance(motion, RobolinError) else utilizations(reported.arm, motion)
    efforts = [each for each in used if each.margin.quantity == "effort"]
    return [
        _limit("Tightest limit", used, quantity=True),
        _limit("Largest torque share", efforts, quantity=False),
        _stability(reported),
        _checks(reported),
    ]


def _limit(label: str, used: Sequence[Utilization], quantity: bool) -> KeyNumber:
    if not used:
        return KeyNumber(label, "–", "no limits in the robot file")
    worst = used[0]
    name = shown_name(worst.margin.joint)
    what = f" {worst.margin.quantity}" if quantity else f", {value_text(worst.margin)}"
    detail = with_time(f"{name}{what}", worst.time)
    return KeyNumber(label, percent_text(worst.share), detail, worst.level)


def _stability(reported: ReportedArm) -> KeyNumber:
    """Stability of the open loop at its worst time."""
    label, model = "Linear model, open loop", reported.model
    if isinstance(model, RobolinError):
        return KeyNumber(label, "–", "not available")
    unstable = int((model.stability == UNSTABLE).sum(axis=-1).max())
    fastest = float(model.poles.real.max())
    if unstable:
        detail = f"of {model.poles.shape[-1]} poles, fastest {fastest:.3g} 1/s"
        return KeyNumber(label, f"{unstable} unstable", detail, "near")
    value = "stable" if (model.stability == STABLE).all() else "no unstable pole"
    return KeyNumber(label, value, f"largest real part {fastest:.3g} 1/s", "within")


def _checks(reported: ReportedArm) -> KeyNumber:
    label, verified, findings = "Checks passed", reported.verified, reported.findings
    if findings is None:
        validation = "no robot file to validate"
    else:
        validation = (
            f"validate: {pluralize(len(findings), 'finding') if findings else 'no findings'}"
        )
    if verified is None:
        return KeyNumber(label, "–", f"verify not run; {validation}")
    compared = [each for each in verified.checks if each.verdict in ("passed", "failed")]
    passed = len(compared) - len(verified.failed)
    level = "within" if verified.passed else "over"
    return KeyNumber(label, f"{passed} of {len(compared)}", validation, level)
