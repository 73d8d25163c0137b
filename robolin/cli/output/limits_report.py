"""How margins to joint limits are shown: a table, CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from io import StringIO
from typing import Any

from robolin.analysis.limits import JointLimits, Margin
from robolin.cli.output.report import ReportSection, ReportTable, TextLines
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.text import counted

LIMIT_COLUMNS = (
    "joint",
    "quantity",
    "row",
    "time",
    "value",
    "limit",
    "margin",
    "margin_percent",
    "unit",
)


def limits_sections(found: JointLimits, precision: int, one_state: bool) -> list[ReportSection]:
    """The closest approach of every joint to each of its limits, then what has none."""
    shown: list[ReportSection] = []
    if found.margins:
        rows = [_cells(margin, precision) for margin in found.margins]
        header = (*(name.replace("_percent", " %") for name in LIMIT_COLUMNS), "")
        hidden = _hidden(found, one_state)
        keep = [i for i, name in enumerate(header) if name not in hidden]
        numbers = frozenset(("row", "time", "value", "limit", "margin", "margin %"))
        shown.append(
            ReportTable(
                tuple(header[i] for i in keep),
                [tuple(row[i] for i in keep) for row in rows],
                numbers,
                keys=2,
            )
        )
    shown.append(TextLines([*unlimited(found), _verdict(found)]))
    return shown


def _hidden(found: JointLimits, one_state: bool) -> set[str]:
    hidden = set() if any(margin.time is not None for margin in found.margins) else {"time"}
    return hidden | {"row"} if one_state else hidden


def _cells(margin: Margin, precision: int) -> tuple[str, ...]:
    def figure(value: float | None) -> str:
        if value is None:
            return ""
        if isinstance(value, int):
            return str(value)
        return ROUNDED_ZERO if is_rounding(value, abs(margin.limit)) else f"{value:.{precision}g}"

    return (
        margin.joint,
        margin.quantity,
        str(margin.row + 1),
        margin.time if isinstance(margin.time, str) else figure(margin.time),
        figure(margin.value),
        figure(margin.limit),
        figure(margin.margin),
        "" if margin.share is None else f"{100.0 * margin.share:.1f}",
        margin.unit,
        "EXCEEDED" if margin.exceeded else "",
    )


def unlimited(found: JointLimits) -> Iterable[str]:
    """Joints that lack the same limits, together."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for joint, quantities in found.unlimited.items():
        groups.setdefault(quantities, []).append(joint)
    for names, joints in groups.items():
        yield f"no limit of {' and '.join(names)}: {', '.join(joints)}"


def _verdict(found: JointLimits) -> str:
    if not found.margins:
        return "no joint has limits"
    over = found.exceeded
    if not over:
        return "within all limits"
    joints = len({margin.joint for margin in over})
    return f"EXCEEDED: {counted(len(over), 'limit')} of {counted(joints, 'joint')}"


def csv_section(found: JointLimits) -> list[ReportSection]:
    """One line per joint and quantity, every digit."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*LIMIT_COLUMNS, "exceeded"))
    for margin in found.margins:
        entry = _entry(margin)
        writer.writerow("" if value is None else _plain(value) for value in entry.values())
    return [TextLines(text.getvalue().splitlines())]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def limits_document(found: JointLimits) -> dict[str, Any]:
    """Everything, for machines; rows are counted from 1, as in messages."""
    return {
        "rows": found.rows,
        "exceeded": len(found.exceeded),
        "margins": [_entry(margin) for margin in found.margins],
        "unlimited": {joint: list(names) for joint, names in found.unlimited.items()},
    }


def _entry(margin: Margin) -> dict[str, Any]:
    return {
        "joint": margin.joint,
        "quantity": margin.quantity,
        "row": margin.row + 1,
        "time": margin.time,
        "value": margin.value,
        "limit": margin.limit,
        "margin": margin.margin,
        "margin_percent": None if margin.share is None else 100.0 * margin.share,
        "unit": margin.unit,
        "exceeded": margin.exceeded,
    }
