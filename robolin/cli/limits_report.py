"""Layout of limit margins and of residuals of a motion: a table, CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable
from dataclasses import asdict, replace
from io import StringIO
from typing import Any

import click
import numpy as np

from robolin.analysis.limits import ClosestApproach, JointLimits, Margin
from robolin.analysis.residuals import JointResidual, Residuals, ResidualSums, model_terms
from robolin.cli.flags.output_flags import Output, standard_output
from robolin.cli.query_command import run_and_write
from robolin.cli.report import Report, ReportSection, ReportTable, TextLines
from robolin.core.arm import Arm
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


def limits_sections(limits: JointLimits, precision: int, one_state: bool) -> list[ReportSection]:
    """The verdict, then the closest approach of every joint to each limit."""
    shown: list[ReportSection] = [TextLines([_verdict(limits), *unlimited(limits)])]
    if limits.margins:
        rows = [_cells(margin, precision) for margin in limits.margins]
        header = (*(name.replace("_percent", " %") for name in LIMIT_COLUMNS), "")
        hidden = _hidden(limits, one_state)
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
    return shown


def _hidden(limits: JointLimits, one_state: bool) -> set[str]:
    hidden = set() if any(margin.time is not None for margin in limits.margins) else {"time"}
    return hidden | {"row"} if one_state else hidden


def _cells(margin: Margin, precision: int) -> tuple[str, ...]:
    def number(value: float | None) -> str:
        if value is None:
            return ""
        if isinstance(value, int):
            return str(value)
        return ROUNDED_ZERO if is_rounding(value, abs(margin.limit)) else f"{value:.{precision}g}"

    return (
        margin.joint,
        margin.quantity,
        str(margin.row + 1),
        margin.time if isinstance(margin.time, str) else number(margin.time),
        number(margin.value),
        number(margin.limit),
        number(margin.margin),
        "" if margin.share is None else f"{100.0 * margin.share:.1f}",
        margin.unit,
        "EXCEEDED" if margin.exceeded else "",
    )


def unlimited(limits: JointLimits) -> Iterable[str]:
    """Joints grouped by their missing limits."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for joint, quantities in limits.unlimited.items():
        groups.setdefault(quantities, []).append(joint)
    for names, joints in groups.items():
        yield f"no limit of {' and '.join(names)}: {', '.join(joints)}"


def _verdict(limits: JointLimits) -> str:
    if not limits.margins:
        return "no joint has limits"
    over = limits.exceeded
    if not over:
        shares = [margin for margin in limits.margins if margin.share is not None]
        if not shares:
            return "within all limits"
        tightest = min(shares, key=lambda margin: margin.share or 0.0)
        left = f"{100.0 * (tightest.share or 0.0):.1f} % left"
        return f"within all limits; tightest: {tightest.joint} {tightest.quantity}, {left}"
    joints = len({margin.joint for margin in over})
    return f"EXCEEDED: {pluralize(len(over), 'limit')} of {pluralize(joints, 'joint')}"


def csv_section(limits: JointLimits) -> list[ReportSection]:
    """One line per joint and quantity, with all digits."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*LIMIT_COLUMNS, "exceeded"))
    for margin in limits.margins:
        entry = _entry(margin)
        writer.writerow("" if value is None else _plain(value) for value in entry.values())
    return [TextLines(text.getvalue().splitlines())]


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def limits_document(limits: JointLimits) -> dict[str, Any]:
    """The margins as a JSON document; rows are counted from 1, as in messages."""
    return {
        "rows": limits.rows,
        "exceeded": len(limits.exceeded),
        "margins": [_entry(margin) for margin in limits.margins],
        "unlimited": {joint: list(names) for joint, names in limits.unlimited.items()},
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
    """Compute the torques, write them if there is an output file, and show the margins."""
    arm = inquiry.source.arm()
    approach = ClosestApproach(arm)

    def watch(values: Values, part: Result) -> None:
        tau = np.atleast_2d(part.arrays[0].values)
        q, qd = (
            np.broadcast_to(np.atleast_2d(values.get(name, np.zeros(arm.n))), tau.shape)
            for name in ("q", "qd")
        )
        approach.add(q, qd, tau, part.time)

    _run_watched(inquiry, out, arm, watch)
    limits = approach.result()
    _show(limits, out, inquiry.states.trajectory is None)
    if limits.exceeded:
        click.get_current_context().exit(FOUND_SOMETHING)


def drain(answer: Result | ResultStream) -> None:
    """Consume all parts of a result."""
    if isinstance(answer, ResultStream):
        for _part in answer.parts:
            pass


def _show(limits: JointLimits, out: Output, one_state: bool) -> None:
    form = _form(out)
    if form == "csv":
        # a table contains it already
        out.note(*unlimited(limits))
    shown = (
        csv_section(limits)
        if form == "csv"
        else limits_sections(limits, out.precision or 4, one_state)
    )
    Report(None, "json" if form == "json" else "table", out.color).write(
        shown, limits_document(limits)
    )


_EXTERNAL_HEADER = (
    *("joint", "external RMS", "largest", "row", "time", "threshold", "contact rows", "unit"),
)
_HEADER = (
    *("joint", "measured RMS", "residual RMS", "bias", "largest", "row", "time"),
    *("correlation", "explained %", "unit"),
)


def run_with_external(inquiry: Request, out: Output) -> None:
    """Estimate external torques, write them if there is an output file, and show the contacts."""
    from robolin.analysis.external_torque import ContactSums
    from robolin.queries.external_answer import thresholds_of

    arm = inquiry.source.arm()
    sums = ContactSums(arm, thresholds_of(arm, inquiry.question))

    def watch(_: Values, part: Result) -> None:
        sums.add(part["tau_external"], part.time)

    _run_watched(inquiry, out, arm, watch)
    found, terms = sums.found(), model_terms(arm)
    entries = [{**asdict(each), "row": each.row + 1} for each in found.joints]
    document = {"rows": found.rows, "contact": found.contact, "model": terms, "joints": entries}
    form = _form(out)
    if form == "csv":
        out.note(found.verdict, terms)
        shown = _csv_lines(entries)
    else:
        digits = out.precision or 4
        rows = [[_cell(value, digits) for value in each.values()] for each in entries]
        timed = any(each.time is not None for each in found.joints)
        keep = [i for i, name in enumerate(_EXTERNAL_HEADER) if timed or name != "time"]
        table = ReportTable(
            tuple(_EXTERNAL_HEADER[i] for i in keep),
            [tuple(row[i] for i in keep) for row in rows],
            frozenset(_EXTERNAL_HEADER[1:-1]),
        )
        shown = [TextLines([found.verdict, terms]), table]
    Report(None, "json" if form == "json" else "table", out.color).write(shown, document)


def _cell(value: float | str | None, digits: int) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


def _run_watched(
    inquiry: Request, out: Output, arm: Arm, watch: Callable[[Values, Result], None]
) -> None:
    """Compute all rows; --format applies to the summary, the extension to the output file."""
    if out.path:
        run_and_write(inquiry, replace(out, form=None), arm=arm, watch=watch)
    else:
        run_and_write(inquiry, replace(out, form="csv"), drain, arm=arm, watch=watch)


def _form(out: Output) -> str:
    return out.form or ("table" if standard_output().isatty() else "csv")


def _csv_lines(entries: list[dict[str, Any]]) -> list[ReportSection]:
    """One line per entry, with all digits."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(entries[0])
    writer.writerows(
        ["" if value is None else value for value in each.values()] for each in entries
    )
    return [TextLines(text.getvalue().splitlines())]


def run_with_residuals(inquiry: Request, out: Output) -> None:
    """Compute the torques, write them if there is an output file, and show the residuals."""
    arm = inquiry.source.arm()
    sums = ResidualSums(arm)

    def watch(_: Values, part: Result) -> None:
        sums.add(part["tau_measured"], part["tau"], part.time)

    _run_watched(inquiry, out, arm, watch)
    residuals, terms = sums.result(), model_terms(arm)
    form = _form(out)
    if form == "csv":
        # a table contains them already
        out.note(residuals.verdict, terms)
    shown = (
        residual_csv(residuals)
        if form == "csv"
        else residual_sections(residuals, terms, out.precision)
    )
    document = {
        "rows": residuals.rows,
        "model": terms,
        "joints": list(map(_residual_entry, residuals.joints)),
    }
    Report(None, "json" if form == "json" else "table", out.color).write(shown, document)


def residual_sections(
    residuals: Residuals, terms: str, precision: int | None
) -> list[ReportSection]:
    """The verdict, then one line per joint."""
    rows = [_residual_cells(each, precision or 4) for each in residuals.joints]
    timed = any(each.time is not None for each in residuals.joints)
    keep = [i for i, name in enumerate(_HEADER) if timed or name != "time"]
    table = ReportTable(
        tuple(_HEADER[i] for i in keep),
        [tuple(row[i] for i in keep) for row in rows],
        frozenset(_HEADER[1:-1]),
    )
    return [TextLines([residuals.verdict, "residual = measured - model", terms]), table]


def _residual_cells(each: JointResidual, precision: int) -> tuple[str, ...]:
    def number(value: float | str | None) -> str:
        if value is None:
            return ""
        return str(value) if isinstance(value, int | str) else f"{value:.{precision}g}"

    return (
        each.joint,
        *map(number, (each.measured, each.rms, each.bias, each.largest)),
        str(each.row + 1),
        f"{each.time:.7g}" if isinstance(each.time, float) else number(each.time),
        "" if each.correlation is None else f"{each.correlation:.3f}",
        "" if each.explained is None else f"{100.0 * each.explained:.1f}",
        each.unit,
    )


def residual_csv(residuals: Residuals) -> list[ReportSection]:
    """One line per joint, with all digits."""
    return _csv_lines([_residual_entry(each) for each in residuals.joints])


def _residual_entry(each: JointResidual) -> dict[str, Any]:
    """The residual of a joint as plain values; rows are counted from 1, as in messages."""
    return {**asdict(each), "row": each.row + 1}
