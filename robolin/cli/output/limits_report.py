"""How margins to joint limits are shown: a table, CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import replace
from io import StringIO
from typing import Any

import click
import numpy as np

from robolin.analysis.limits import ClosestApproach, JointLimits, Margin
from robolin.cli.flags.output_flags import Output, standard_output
from robolin.cli.output.report import Report, ReportSection, ReportTable, TextLines
from robolin.cli.query_command import run_and_write
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.results.result import Result, ResultStream
from robolin.core.text import pluralize
from robolin.errors import FOUND_SOMETHING
from robolin.queries.request import Request
from robolin.queries.values import Values

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
    return f"EXCEEDED: {pluralize(len(over), 'limit')} of {pluralize(joints, 'joint')}"


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


def run_with_limits(inquiry: Request, out: Output) -> None:
    """Compute the torques, write them if there is a file for them, and show the margins."""
    arm = inquiry.source.arm()
    approach = ClosestApproach(arm)

    def watch(values: Values, part: Result) -> None:
        tau = np.atleast_2d(part.arrays[0].values)
        q, qd = (
            np.broadcast_to(np.atleast_2d(values.get(name, np.zeros(arm.n))), tau.shape)
            for name in ("q", "qd")
        )
        approach.add(q, qd, tau, part.time)

    # the form asked for is that of the margins; the extension says that of the torques
    if out.path:
        run_and_write(inquiry, replace(out, form=None), arm=arm, watch=watch)
    else:
        run_and_write(inquiry, replace(out, form="csv"), drain, arm=arm, watch=watch)
    found = approach.found()
    _show(found, out, inquiry.states.trajectory is None)
    if found.exceeded:
        click.get_current_context().exit(FOUND_SOMETHING)


def drain(answer: Result | ResultStream) -> None:
    """Let every part of the answer come and go."""
    if isinstance(answer, ResultStream):
        for _part in answer.parts:
            pass


def _show(found: JointLimits, out: Output, one_state: bool) -> None:
    form = out.form or ("table" if standard_output().isatty() else "csv")
    if form == "csv":
        # a table says it itself
        out.note(*unlimited(found))
    shown = (
        csv_section(found) if form == "csv" else limits_sections(found, out.precision, one_state)
    )
    Report(None, "json" if form == "json" else "table", out.color).write(
        shown, limits_document(found)
    )
