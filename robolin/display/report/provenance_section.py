"""Report sections with model assumptions, findings, verification and model changes.

Findings have no absolute paths, because documents leave this machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin.checking.differences import distinguishing_digits, percent
from robolin.checking.model_changes import model_changes
from robolin.checking.outcome import shared_finding
from robolin.checking.verification.verify import Verification
from robolin.core.quantity_table import joint_unit
from robolin.core.text import pluralize
from robolin.description.model import Finding
from robolin.display.report.arm_section import parameter_tables
from robolin.display.report.page_markup import (
    PageTable,
    cell_text,
    contract_table,
    element,
    figure_cell,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.reported_arm import ReportedArm
from robolin.errors import RobolinError
from robolin.io.format_table import base_name

_MOST_FINDINGS = 200


def assumptions_section(arms: Sequence[ReportedArm]) -> str:
    """Model assumptions of all robots side by side, then their parameters."""
    assumptions = contract_table([each.name for each in arms], [_contract(a) for a in arms])
    return markup(assumptions, parameter_tables(arms))


def findings_section(arms: Sequence[ReportedArm]) -> str:
    """Findings of `validate`."""
    return markup(*(part for each in arms for part in _findings(each)))


def verify_section(arms: Sequence[ReportedArm]) -> str:
    """Results of `verify`."""
    return markup(*(part for each in arms for part in _verified(each)))


def _contract(reported: ReportedArm) -> dict[str, Any]:
    motion = {} if isinstance(reported.motion, RobolinError) else reported.motion.contract
    inputs = {} if isinstance(reported.motion, RobolinError) else reported.motion.inputs
    files = {f"SHA-256 of {shown_name(name)}": digest for name, digest in inputs.items()}
    return {**reported.arm.contract, **motion, **files}


def _findings(reported: ReportedArm) -> Iterator[Element]:
    name = shown_name(reported.name)
    if reported.findings is None:
        yield paragraph(f"{name}: no robot file to validate.")
        return
    if not reported.findings:
        yield element("p", f"{name}: ", element("span", "no findings", class_="good"))
        return
    first = reported.findings[:_MOST_FINDINGS]
    rows = [_finding(shared_finding(each, base_name)) for each in first]
    more = len(reported.findings) - len(rows)
    title = f"{pluralize(len(reported.findings), 'finding')} in {name}"
    yield table(PageTable(title, ("finding", "level", "where", "what", "hint"), rows))
    if more:
        yield paragraph(f"{more} more: `robolin validate` lists all findings.")


def _finding(finding: Finding) -> tuple[str, ...]:
    return (
        finding.id,
        finding.level,
        cell_text(str(finding.location)),
        cell_text(finding.message),
        cell_text(finding.hint),
    )


def _verified(reported: ReportedArm) -> Iterator[Element]:
    name, verification = shown_name(reported.name), reported.verified
    if verification is None:
        yield paragraph(f"{name}: not run (`--verify-states 0`).")
        return
    verdict = "passed" if verification.passed else "failed"
    word = element("span", verdict, class_="good" if verification.passed else "bad")
    states = pluralize(len(verification.condition), "state")
    yield element("p", f"{name}: ", word, f" in {states} within the joint limits.")
    yield from (paragraph(cell_text(defect), "bad") for defect in verification.defects)
    header = ("check", "verdict", "error", "bound")
    rows = list(_checks(verification))
    title = f"Checks of {name}, sorted by error relative to the bound"
    shown = table(PageTable(title, header, rows, frozenset(header[2:])))
    yield element("details", element("summary", pluralize(len(rows), "check")), shown)


def _checks(verification: Verification) -> Iterator[tuple[str, ...]]:
    for check in sorted(verification.checks, key=lambda each: -each.share):
        error = "" if check.error is None else f"{check.error:.1e}"
        bound = "" if check.bound is None else f"{check.bound:.1e}"
        yield f"{check.family}: {check.name}", check.verdict, error, bound


_TORQUES = ("joint", "row", "first", "second", "unit", "change", "of the peak")
_MOST_CHANGES = 300


def changes_section(first: ReportedArm, second: ReportedArm) -> str:
    """Differences between the models, then between their torques."""
    changes = model_changes(first.arm.model_dict, second.arm.model_dict)
    rows = [
        (
            shown_name(f"{each.part} {each.name}"),
            each.quantity,
            *map(shown_name, each.values),
            each.unit,
            each.share,
        )
        for each in changes[:_MOST_CHANGES]
    ]
    header = ("part", "quantity", "first", "second", "unit", "change")
    numbers = frozenset(("first", "second", "change"))
    title = f"Differences: {shown_name(first.name)} and {shown_name(second.name)}"
    parts = [table(PageTable(title, header, rows, numbers))] if rows else []
    if not rows:
        parts.append(paragraph("The robot descriptions have the same parameters.", "good"))
    if len(changes) > len(rows):
        parts.append(
            paragraph(f"{len(changes) - len(rows)} more: `robolin diff` lists all differences.")
        )
    torques = list(_torques(first, second))
    if torques:
        title = "Torques of each joint at the row with the largest difference"
        numbers = frozenset(_TORQUES) - {"joint", "unit"}
        parts.append(table(PageTable(title, _TORQUES, torques, numbers, "margins")))
    return markup(*parts)


def _torques(first: ReportedArm, second: ReportedArm) -> Iterator[tuple[str, ...]]:
    """For joints of both robots, the row with the largest torque difference."""
    if isinstance(first.motion, RobolinError) or isinstance(second.motion, RobolinError):
        return
    old, new = first.motion.values["tau"], second.motion.values["tau"]
    for i, joint in enumerate(first.arm.joints):
        if joint.name not in second.arm.joint_names:
            continue
        before, after = old[:, i], new[:, second.arm.joint_names.index(joint.name)]
        row = int(np.argmax(np.nan_to_num(np.abs(after - before))))
        pair, peak = (float(before[row]), float(after[row])), float(np.nanmax(np.abs(before)))
        change = pair[1] - pair[0]
        share = percent(change / peak) if peak else ""
        unit = joint_unit("effort", joint.turns)
        text = (
            distinguishing_digits(*pair) if change else (figure_cell(pair[0]), figure_cell(pair[1]))
        )
        yield shown_name(joint.name), str(row + 1), *text, unit, f"{change:+.3g}", share
