"""Layout of residuals, measured minus model: a table, CSV or JSON."""

from __future__ import annotations

import csv
from dataclasses import asdict, replace
from io import StringIO
from typing import Any

from robolin.analysis.residuals import JointResidual, Residuals, ResidualSums, model_terms
from robolin.cli.flags.output_flags import Output, standard_output
from robolin.cli.limits_report import drain
from robolin.cli.query_command import run_and_write
from robolin.cli.report import Report, ReportSection, ReportTable, TextLines
from robolin.core.results.result import Result
from robolin.queries.request import Request
from robolin.queries.values import Values

_HEADER = (
    *("joint", "measured RMS", "residual RMS", "bias", "largest", "row", "time"),
    *("correlation", "explained %", "unit"),
)


def run_with_residuals(inquiry: Request, out: Output) -> None:
    """Compute the torques, write them if there is an output file, and show the residuals."""
    arm = inquiry.source.arm()
    sums = ResidualSums(arm)

    def watch(_: Values, part: Result) -> None:
        sums.add(part["tau_measured"], part["tau"], part.time)

    # --format applies to the residuals; the extension sets the format of the torques
    if out.path:
        run_and_write(inquiry, replace(out, form=None), arm=arm, watch=watch)
    else:
        run_and_write(inquiry, replace(out, form="csv"), drain, arm=arm, watch=watch)
    found, terms = sums.found(), model_terms(arm)
    form = out.form or ("table" if standard_output().isatty() else "csv")
    if form == "csv":
        # a table contains them already
        out.note(found.verdict, terms)
    shown = csv_section(found) if form == "csv" else residual_sections(found, terms, out.precision)
    document = {"rows": found.rows, "model": terms, "joints": list(map(_entry, found.joints))}
    Report(None, "json" if form == "json" else "table", out.color).write(shown, document)


def residual_sections(found: Residuals, terms: str, precision: int | None) -> list[ReportSection]:
    """The verdict, then one line per joint."""
    rows = [_cells(each, precision or 4) for each in found.joints]
    timed = any(each.time is not None for each in found.joints)
    keep = [i for i, name in enumerate(_HEADER) if timed or name != "time"]
    table = ReportTable(
        tuple(_HEADER[i] for i in keep),
        [tuple(row[i] for i in keep) for row in rows],
        frozenset(_HEADER[1:-1]),
    )
    return [TextLines([found.verdict, "residual = measured - model", terms]), table]


def _cells(each: JointResidual, precision: int) -> tuple[str, ...]:
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


def csv_section(found: Residuals) -> list[ReportSection]:
    """One line per joint, with all digits."""
    text = StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_entry(found.joints[0]))
    for each in found.joints:
        writer.writerow("" if value is None else value for value in _entry(each).values())
    return [TextLines(text.getvalue().splitlines())]


def _entry(each: JointResidual) -> dict[str, Any]:
    """The residual of a joint as plain values; rows are counted from 1, as in messages."""
    return {**asdict(each), "row": each.row + 1}
