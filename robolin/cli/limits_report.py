"""Layout of the limit margins of a motion: a table, CSV or JSON."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from itertools import chain
from shutil import get_terminal_size
from typing import Any

import click
import numpy as np

from robolin.analysis.limits import LIMITED_QUANTITIES, ClosestApproach, JointLimits, Margin
from robolin.cli.flags.output_flags import Output, standard_output
from robolin.cli.query_command import run_and_write
from robolin.cli.report import Report, ReportSection, ReportTable, TextLines, table_fits
from robolin.core.arm import Arm
from robolin.core.notebook import ROUNDED_ZERO, is_rounding
from robolin.core.result import Result, ResultStream
from robolin.core.text import join_and, pluralize, time_digits
from robolin.display.terminal.screen import ShortNames, short_names
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
    "used_percent",
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
        numbers = frozenset(("row", "time", "value", "limit", "margin", "used %"))
        shown.append(
            ReportTable(
                tuple(header[i] for i in keep),
                [tuple(row[i] for i in keep) for row in rows],
                numbers,
                keys=2,
            )
        )
    return shown


# in place of the margin of an exceeded limit
_OVER = "OVER"
# lines of a screen for verdict, heading, legend and prompt
_OTHER_LINES = 10
# values below this share of their limit are shown as zero
_NEGLIGIBLE = 1e-10


def limits_screen(limits: JointLimits, precision: int, everything: bool) -> list[ReportSection]:
    """The verdict, then one line per joint, or per limit if that is too wide for the screen.

    Joints that do not fit the screen are those with the largest margins.

    everything: one line per limit, with row and time
    """
    verdict = TextLines([_verdict(limits) + _worst(limits), *unlimited(limits)])
    if not limits.margins:
        return [verdict]
    width, height = get_terminal_size()
    ordered = sorted(limits.margins, key=_left)
    joints = list(dict.fromkeys(margin.joint for margin in limits.margins))
    names = short_names(joints)
    if everything:
        table, units = _per_limit(limits.margins, names, precision, True), ""
    else:
        many = len(joints) > height - _OTHER_LINES
        first = list(dict.fromkeys(margin.joint for margin in ordered)) if many else joints
        table, units = _per_joint(limits, first, names, precision), _units(limits)
        if not table_fits(table, width):
            table, units = _per_limit(ordered, names, precision, False), ""
    return [verdict, table, foot([units, names.legend])]


def foot(lines: Iterable[str]) -> TextLines:
    return TextLines([*filter(None, lines), "More: --all, --precision N, -o FILE"])


def _per_joint(
    limits: JointLimits, joints: Sequence[str], names: ShortNames, precision: int
) -> ReportTable:
    margin_of = {(each.joint, each.quantity): each for each in limits.margins}
    rows = []
    for joint in joints:
        margins = [margin_of.get((joint, quantity)) for quantity in LIMITED_QUANTITIES]
        cells = [_screen_cells(each, precision) if each else ("", "", "") for each in margins]
        rows.append((names.of(joint), *chain.from_iterable(cells)))
    header = [(quantity, "limit", "used") for quantity in LIMITED_QUANTITIES]
    columns = tuple(chain.from_iterable(header))
    return ReportTable(("joint", *columns), rows, frozenset(columns))


def _per_limit(
    margins: Sequence[Margin], names: ShortNames, precision: int, everything: bool
) -> ReportTable:
    header = ("joint", "quantity", "value", "limit", "used", "unit", *("row", "time") * everything)
    rows = []
    for each in margins:
        row = (names.of(each.joint), each.quantity, *_screen_cells(each, precision), each.unit)
        time = "" if each.time is None else _time_text(each.time)
        rows.append((*row, *(str(each.row + 1), time) * everything))
    return ReportTable(header, rows, frozenset(header[2:]) - {"unit"}, keys=2)


def _left(margin: Margin) -> float:
    return margin.margin if margin.used is None else 1.0 - margin.used


def _screen_cells(margin: Margin, precision: int) -> tuple[str, str, str]:
    small = 0.0 < abs(margin.value) < _NEGLIGIBLE * abs(margin.limit)
    value = ROUNDED_ZERO if small else f"{margin.value:.{precision}g}"
    percent = used_percent(margin)
    used = "" if percent is None else f"{percent:.1f}%".replace("100.0", "100")
    return value, f"{margin.limit:.{precision}g}", _OVER if margin.exceeded else used


def used_percent(margin: Margin) -> float | None:
    """Used part of a limit in percent, without rounding noise; None without a scale."""
    if margin.used is None:
        return None
    percent = 100.0 * margin.used
    return 0.0 if is_rounding(percent, 100.0) else percent


def _worst(limits: JointLimits) -> str:
    """The limit that is exceeded most, after the verdict."""
    if not limits.exceeded:
        return ""
    worst = min(limits.exceeded, key=_left)
    of_limit = f"{worst.value:.4g} {worst.unit}, limit {worst.limit:.4g}{_where(worst, limits)}"
    return f"; worst: {worst.joint} {worst.quantity} {of_limit}"


def _where(margin: Margin, limits: JointLimits) -> str:
    """Row, and time if the recording has one, of a margin; '' for one state."""
    if limits.rows <= 1:
        return ""
    time = "" if margin.time is None else f", {_time_text(margin.time)}"
    return f" in row {margin.row + 1}{time}"


def _time_text(time: float | str) -> str:
    return f"{time_digits(time)} s" if isinstance(time, float | int) else time


def _units(limits: JointLimits) -> str:
    """The units of the three quantities, in the order of their columns."""
    units = [
        " or ".join(dict.fromkeys(each.unit for each in limits.margins if each.quantity == name))
        for name in LIMITED_QUANTITIES
    ]
    named = ", ".join(filter(None, units))
    return (
        f"Units: {named}. Used: 100% is the limit; 0% is the middle of the range for positions, "
        "and zero for other quantities"
    )


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
        "" if (used := used_percent(margin)) is None else f"{used:.1f}",
        margin.unit,
        "EXCEEDED" if margin.exceeded else "",
    )


def unlimited(limits: JointLimits) -> Iterable[str]:
    """Joints grouped by their missing limits."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for joint, quantities in limits.unlimited.items():
        groups.setdefault(quantities, []).append(joint)
    for names, joints in groups.items():
        yield f"joints without {join_and(names)} limits: {', '.join(joints)}"


def _verdict(limits: JointLimits) -> str:
    if not limits.margins:
        return "no joint has limits"
    over = limits.exceeded
    if not over:
        scaled = [margin for margin in limits.margins if margin.used is not None]
        if not scaled:
            return "within all limits"
        tightest = max(scaled, key=lambda margin: margin.used or 0.0)
        used = f"{100.0 * (tightest.used or 0.0):.1f} % used{_where(tightest, limits)}"
        return f"within all limits; smallest margin: {tightest.joint} {tightest.quantity}, {used}"
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
        "used_percent": used_percent(margin),
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

    with verdict_first(out):
        run_watched(inquiry, out, arm, watch)
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
    form = form_of(out)
    digits = out.precision or 4
    screen = None
    if form == "csv":
        # a table contains it already
        out.note(*unlimited(limits))
        shown = csv_section(limits)
    elif form == "table" and standard_output().isatty():
        shown = screen = limits_screen(limits, digits, out.everything)
    else:
        shown = limits_sections(limits, digits, one_state)
    write_report(out, shown, limits_document(limits), screen)


def write_report(
    out: Output,
    sections: list[ReportSection],
    document: Any,
    screen: list[ReportSection] | None,
) -> None:
    form = "json" if form_of(out) == "json" else "table"
    report = Report(None, form, out.color, out.everything)
    report.write(sections, document, screen, out.message_lines())


@contextmanager
def verdict_first(out: Output) -> Iterator[None]:
    """Print messages after a table on a terminal, also if the rows are written to a file."""
    with out.messages_last(standard_output().isatty() and form_of(out) == "table"):
        yield


def run_watched(
    inquiry: Request, out: Output, arm: Arm, watch: Callable[[Values, Result], None]
) -> None:
    """Compute all rows; --format applies to the summary, the extension to the output file."""
    rows_out = replace(out, form=None if out.path else "csv")
    run_and_write(inquiry, rows_out, None if out.path else drain, arm=arm, watch=watch)


def form_of(out: Output) -> str:
    return out.form or ("table" if standard_output().isatty() else "csv")
