"""Layout of residuals and external torques of a motion: a table, CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from io import StringIO
from typing import TYPE_CHECKING, Any

from robolin.analysis.residuals import JointResidual, Residuals, ResidualSums, model_terms
from robolin.cli.flags.output_flags import Output
from robolin.cli.limits_report import (
    drain,
    foot,
    form_of,
    run_watched,
    verdict_first,
    write_report,
)
from robolin.cli.report import ReportSection, ReportTable, TextLines
from robolin.core.arm import Arm
from robolin.core.result import Result, ResultStream
from robolin.core.text import time_digits
from robolin.display.terminal.assumption_lines import assumptions
from robolin.display.terminal.screen import short_names
from robolin.io.format_table import base_name
from robolin.queries.request import Request
from robolin.queries.states import require_nan_support
from robolin.queries.values import Values

if TYPE_CHECKING:
    from robolin.batch.survey import NamedRecording

_EXTERNAL_HEADER = (
    *("joint", "external RMS", "largest", "row", "time", "threshold", "contact rows", "unit"),
)
_HEADER = (
    *("joint", "measured RMS", "residual RMS", "bias", "largest", "recording", "row", "time"),
    *("correlation", "explained %", "unit"),
)


def run_with_external(inquiry: Request, out: Output) -> None:
    """Estimate external torques, write them if there is an output file, and show the contacts."""
    from robolin.analysis.external_torque import ContactSums
    from robolin.queries.measured_torques import thresholds_of

    arm = inquiry.source.arm()
    sums = ContactSums(arm, thresholds_of(arm, inquiry.question))

    def watch(_: Values, part: Result) -> None:
        sums.add(part["tau_external"], part.time)

    with verdict_first(out):
        run_watched(inquiry, out, arm, watch)
        contacts, terms = sums.result(), model_terms(arm)
        entries = [{**asdict(each), "row": each.row + 1} for each in contacts.joints]
        document = {
            "rows": contacts.rows,
            "contact": contacts.contact,
            "model": terms,
            "joints": entries,
        }
        if form_of(out) == "csv":
            out.note(contacts.verdict, terms)
            write_report(out, _csv_lines(entries), document, None)
        else:
            table = _external_table(entries, out.precision or 4)
            shown: list[ReportSection] = [TextLines([contacts.verdict, terms]), table]
            write_report(out, shown, document, _joint_screen(arm, contacts.verdict, table, []))


def _external_table(entries: list[dict[str, Any]], digits: int) -> ReportTable:
    rows = [[_cell(value, digits) for value in each.values()] for each in entries]
    timed = any(each["time"] is not None for each in entries)
    keep = [i for i, name in enumerate(_EXTERNAL_HEADER) if timed or name != "time"]
    return ReportTable(
        tuple(_EXTERNAL_HEADER[i] for i in keep),
        [tuple(row[i] for i in keep) for row in rows],
        frozenset(_EXTERNAL_HEADER[1:-1]),
    )


def _cell(value: float | str | None, digits: int) -> str:
    if value is None:
        return ""
    return f"{value:.{digits}g}" if isinstance(value, float) else str(value)


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

    with verdict_first(out):
        run_watched(inquiry, out, arm, watch)
        write_residuals(out, arm, sums.result())


def run_with_residuals_of_all(
    inquiry: Request, out: Output, recordings: Sequence[NamedRecording]
) -> None:
    """The same for several recordings, with one summary of all rows."""
    from robolin.batch.joined import answered_recordings

    arm = inquiry.source.arm()
    rows_out = replace(out, form=None if out.path else "csv")
    require_nan_support(inquiry.states, rows_out.resolved_format())
    with verdict_first(out):
        stream = answered_recordings(inquiry, arm, recordings, rows_out.settings())
        sums = ResidualSums(arm)
        watched = replace(stream, parts=_added(stream, [each.name for each in recordings], sums))
        (rows_out.write if out.path else drain)(watched)
        write_residuals(out, arm, sums.result())


def write_residuals_of_parts(
    out: Output, arm: Arm, stream: ResultStream, names: Sequence[str]
) -> None:
    """Show the residuals of all parts; --format applies to the parts."""
    sums, shown = ResidualSums(arm), replace(out, form=None, path=None)
    with verdict_first(shown):
        drain(replace(stream, parts=_added(stream, names, sums)))
        write_residuals(shown, arm, sums.result())


def _added(stream: ResultStream, names: Sequence[str], sums: ResidualSums) -> Iterator[Result]:
    """The parts of a stream, added to the sums; rows are counted in each of the recordings."""
    from robolin.batch.joined import SOURCE

    for part in stream.parts:
        if len(names) > 1 and part.batch:
            sums.start(names[int(part[SOURCE][0])])
        sums.add(part["tau_measured"], part["tau"], part.time)
        yield part


def write_residuals(out: Output, arm: Arm, residuals: Residuals) -> None:
    """Show the residuals on standard output."""
    terms = model_terms(arm)
    document = {
        "rows": residuals.rows,
        "model": terms,
        "joints": list(map(_residual_entry, residuals.joints)),
    }
    if form_of(out) == "csv":
        # a table contains them already
        out.note(residuals.verdict, terms)
        write_report(out, residual_csv(residuals), document, None)
    else:
        shown = residual_sections(residuals, terms, out.precision)
        table = next(each for each in shown if isinstance(each, ReportTable))
        meaning = "the columns measured and residual are RMS values; residual = measured - model"
        write_report(out, shown, document, _joint_screen(arm, residuals.verdict, table, [meaning]))


# shorter headings for a screen, where the unit is below the table
_SHORT_HEADINGS = {
    "measured RMS": "measured",
    "residual RMS": "residual",
    "explained %": "expl. %",
    "correlation": "corr.",
    "external RMS": "RMS",
    "contact rows": "contact",
}


def _joint_screen(
    arm: Arm, verdict: str, table: ReportTable, meaning: list[str]
) -> list[ReportSection]:
    """The verdict and one line per joint with a short name; units and model follow in one line."""
    names = short_names(arm.joint_names)
    at, dropped = len(table.header) - 1, {"unit"} | ({"row"} if "time" in table.header else set())
    units = " or ".join(dict.fromkeys(row[at] for row in table.rows))
    keep = [i for i, name in enumerate(table.header) if name not in dropped]
    header = [_SHORT_HEADINGS.get(table.header[i], table.header[i]) for i in keep]
    rows = [(names.of(row[0]), *(row[i] for i in keep[1:])) for row in table.rows]
    short = ReportTable(tuple(header), rows, frozenset(header[1:]))
    model = next(assumptions(arm.contract), "")
    lines = [verdict, "; ".join([*meaning, f"torques in {units}"])]
    return [TextLines(lines), short, foot([names.legend, model])]


def residual_sections(
    residuals: Residuals, terms: str, precision: int | None
) -> list[ReportSection]:
    """The verdict, then one line per joint."""
    rows = [_residual_cells(each, precision or 4) for each in residuals.joints]
    absent = {"time"} if all(each.time is None for each in residuals.joints) else set()
    absent |= {"recording"} if all(each.recording is None for each in residuals.joints) else set()
    keep = [i for i, name in enumerate(_HEADER) if name not in absent]
    table = ReportTable(
        tuple(_HEADER[i] for i in keep),
        [tuple(row[i] for i in keep) for row in rows],
        frozenset(_HEADER[1:-1]) - {"recording"},
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
        base_name(each.recording or ""),
        str(each.row + 1),
        time_digits(each.time) if isinstance(each.time, float) else number(each.time),
        "" if each.correlation is None else f"{each.correlation:.3f}",
        "" if each.explained is None else f"{100.0 * each.explained:.1f}",
        each.unit,
    )


def residual_csv(residuals: Residuals) -> list[ReportSection]:
    """One line per joint, with all digits."""
    return _csv_lines([_residual_entry(each) for each in residuals.joints])


def _residual_entry(each: JointResidual) -> dict[str, Any]:
    """The residual of a joint as plain values; rows are counted from 1, as in messages."""
    entry = {**asdict(each), "row": each.row + 1}
    if each.recording is None:
        del entry["recording"]
    return entry
