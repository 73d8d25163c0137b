"""Assemble a page of a report: summary, sections, numbers and script.

The summary is the robot in one line, the verdict, and four numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin import __version__
from robolin.control.poles import STABLE, UNSTABLE
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.display.report.arm_section import shape
from robolin.display.report.limits_section import (
    Utilization,
    limits_section,
    limits_verdict,
    percent_text,
    residual_section,
    utilizations,
    value_text,
    verdict_class,
    with_time,
)
from robolin.display.report.live_section import MOST_JOINTS, live_section
from robolin.display.report.motion_section import model_section, motion_section
from robolin.display.report.page_markup import (
    PageNumbers,
    PagePlots,
    content_policy,
    curve_library,
    element,
    filled,
    markup,
    page_program,
    page_style,
    paragraph,
    shown_name,
)
from robolin.display.report.provenance_section import (
    assumptions_section,
    changes_section,
    findings_section,
    verify_section,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.display.report.reported_motion import ReportedMotion, notable_rows, spread_rows
from robolin.display.report.visuals import BUDGET, Visuals, robot_visuals
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
    """Tightest limit, torque nearest to its limit, stability of the linear model, checks."""
    motion = reported.motion
    used = [] if isinstance(motion, RobolinError) else utilizations(motion)
    efforts = [each for each in used if each.margin.quantity == "effort"]
    return [
        _limit("Tightest limit", used, quantity=True),
        _limit("Torque nearest to its limit", efforts, quantity=False),
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
        detail = f"of {model.poles.shape[-1]} poles, largest real part {fastest:.3g} 1/s"
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


# number of slider positions
MOST_FRAMES = 600


@dataclass(frozen=True)
class Section:
    """Part of a page: anchor, heading and HTML."""

    key: str
    heading: str
    content: str


def report_page(arms: Sequence[ReportedArm]) -> str:
    """Report page about one robot, or about two side by side."""
    figures = PagePlots(PageNumbers())
    models, model_data = model_section(arms, figures)
    visuals = [robot_visuals(each.arm, BUDGET // len(arms)) for each in arms]
    sections = [Section("summary", "Summary", summary_section(arms))]
    if len(arms) == 2:
        sections.append(Section("changes", "Differences", changes_section(*arms)))
    live = live_section(arms[0]) if len(arms) == 1 else None
    motion, residuals = motion_section(arms, visuals, figures), residual_section(arms, figures)
    sections += [
        Section("motion", "Motion", motion),
        Section("limits", "Limits", limits_section(arms)),
        *([Section("residuals", "Measured torques", residuals)] if residuals else []),
        Section("model", "Linear model", models),
        *([Section("live", "Live", live[0])] if live else []),
        Section("assumptions", "Model assumptions", assumptions_section(arms)),
        Section("validation", "Validation", findings_section(arms)),
        Section("verification", "Verification", verify_section(arms)),
    ]
    data = _data(arms, visuals, figures) | {"models": model_data}
    if live and live[1]:
        data["live"] = live[1]
    title = " and ".join(shown_name(each.name) for each in arms)
    return assembled_page(title, headline(arms), sections, data, _frames(arms))


def assembled_page(
    title: str, summary: str, sections: Sequence[Section], data: dict[str, Any], frames: int
) -> str:
    """The page as one HTML text with a matching content security policy."""
    live = "live" in data
    style_text, library, own = page_style(), curve_library(), page_program(live)
    parts = [
        filled("section.html", key=each.key, heading=each.heading, content=each.content)
        for each in sections
    ]
    links = [element("li", element("a", each.heading, href=f"#{each.key}")) for each in sections]
    return filled(
        "page.html",
        policy=content_policy(style_text, library, own, wasm=live),
        version=__version__,
        title=escape(title),
        summary=markup(paragraph(summary)),
        contents=markup(*links),
        sections="\n".join(parts),
        clock=filled("clock.html", last=str(max(frames - 1, 0))) if frames > 1 else "",
        style=style_text,
        data=_json(data),
        drawing=library,
        program=own,
    )


def _json(data: dict[str, Any]) -> str:
    """JSON text that cannot close its script element."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _motions(arms: Sequence[ReportedArm]) -> list[ReportedMotion]:
    return [each.motion for each in arms if not isinstance(each.motion, RobolinError)]


def _frame_rows(arms: Sequence[ReportedArm]) -> Any:
    """Rows of the slider: evenly spaced, plus every notable row."""
    motions = _motions(arms)
    if not motions:
        return np.zeros(1, np.int64)
    telling = [row for motion in motions for row in notable_rows(motion)]
    return spread_rows(motions[0].rows, MOST_FRAMES, np.array(telling))


def _frames(arms: Sequence[ReportedArm]) -> int:
    return len(_frame_rows(arms))


def _data(
    arms: Sequence[ReportedArm], visuals: Sequence[Visuals], figures: PagePlots
) -> dict[str, Any]:
    rows, numbers, motions = _frame_rows(arms), figures.numbers, _motions(arms)
    arm_data = [_arm(*each, rows, numbers) for each in zip(arms, visuals, strict=True)]
    frames = None
    if motions:
        times = numbers.add(motions[0].time[rows], exact=True)
        frames = {"times": times, "rows": [int(row) + 1 for row in rows]}
    clock = motions[0].clock if motions else ""
    return {
        "clock": clock,
        "frames": frames,
        "arms": arm_data,
        "figures": figures.drawn,
        "count": numbers.count,
        "arrays": numbers.texts,
    }


def _arm(
    reported: ReportedArm, visuals: Visuals, rows: Any, numbers: PageNumbers
) -> dict[str, Any]:
    """Drawing of a robot, and its positions, velocities and torques at every slider position."""
    if isinstance(reported.motion, RobolinError):
        values = [reported.first_pose[None, :]]
    else:
        values = [reported.motion.values[name][rows] for name in ("q", "qd", "tau")]
    return {
        "name": shown_name(reported.name),
        "shape": shape(reported.arm, numbers, visuals),
        "joints": reported.arm.n,
        # the live section computes with them
        "values": [numbers.add(each, exact=reported.arm.n <= MOST_JOINTS) for each in values],
    }
