"""Report about stored results: their values over time, and the differences of two results."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from math import isfinite
from typing import Any
from xml.etree.ElementTree import Element

import numpy as np

from robolin.checking.compare import Comparison, compare_with_stored
from robolin.checking.differences import Tolerances
from robolin.checking.outcome import shown_entries
from robolin.core.arrays import Floats
from robolin.core.quantity_table import entry_units, slides_in
from robolin.core.records import dataclass
from robolin.core.text import pluralize
from robolin.display.plots.panels import (
    NO_ROUNDING,
    Bounds,
    Rounding,
    array_rounding,
    joint_bounds,
    motion_scales,
)
from robolin.display.report.page_markup import (
    PageNumbers,
    PagePlots,
    PageTable,
    contract_table,
    curve_figure,
    element,
    figure_cell,
    markup,
    paragraph,
    shown_name,
    table,
)
from robolin.display.report.report_page import MOST_FRAMES, Section, assembled_page
from robolin.display.report.reported_motion import seconds_from_first, spread_rows
from robolin.io.stored import StoredFile, open_stored
from robolin.queries.planning_answers import COST_BY_ITERATION

# more curves would make the page slow to open
MOST_FIGURES = 60
_MOST_ENTRIES = 500
# column of a gain of a motor for its own joint
_OWN_GAIN = re.compile(r"K/(.+)/effort/\1/(position|velocity)")
# matrices of an optimal motion, whose columns would fill the page
_MATRICES = ("K/", "P/")


def result_page(results: Sequence[ReportedResult], comparison: Comparison | None) -> str:
    """Report page about one stored result, or about two side by side."""
    figures = PagePlots(PageNumbers())
    sections = []
    if comparison is not None:
        sections.append(Section("changes", "Differences", _differences(comparison)))
    numbers = "Values" if results[0].rows is None else "Values over time"
    parts = list(_optimization_figures(results[0], figures)) if len(results) == 1 else []
    if parts:
        plots = markup(element("div", *parts, class_="plots"))
        sections.append(Section("optimization", "Cost and gains", plots))
    shown = _values(results) if results[0].rows is None else _curves(results, figures)
    sections.append(Section("numbers", numbers, shown))
    names = [each.name for each in results]
    contracts = [each.contract for each in results]
    sections.append(
        Section("assumptions", "Model assumptions", markup(contract_table(names, contracts)))
    )
    rows = spread_rows(len(results[0].time), MOST_FRAMES, np.empty(0, np.int64))
    data = _data(results[0], rows, figures)
    title = " and ".join(map(shown_name, names))
    return assembled_page(title, _summary(results), sections, data, len(rows))


def compared_files(first: str, second: str) -> Comparison:
    """Compare two stored results number by number."""
    with open_stored(first) as stored, open_stored(second) as other:
        return compare_with_stored(other.result_stream(), stored, Tolerances({}))


def _summary(results: Sequence[ReportedResult]) -> str:
    text = (
        f"{shown_name(each.name)}: {each.verb}, "
        f"{pluralize(each.rows, 'row') if each.rows is not None else 'one state'}, "
        f"{pluralize(len(each.columns), 'column')}"
        for each in results
    )
    return "; ".join(text) + "."


def _differences(comparison: Comparison) -> str:
    sentences = (*comparison.structure, *map(str, comparison.changes), *comparison.notes)
    parts = [paragraph(shown_name(line)) for line in sentences]
    if not comparison.beyond:
        parts.append(paragraph("No number differs.", "good"))
        return markup(*parts)
    shown, counts = shown_entries(comparison, everything=False, rest="", most=_MOST_ENTRIES)
    header = ("entry", "row", "first", "second", "unit", "change")
    rows = [
        (
            shown_name(each.entry),
            "" if each.row is None else str(each.row),
            *each.values,
            each.unit,
            each.change,
        )
        for each in shown
    ]
    numbers = frozenset(("row", "first", "second", "change"))
    title = "Entries that differ, each at the row with the largest difference"
    if shown:
        parts.append(table(PageTable(title, header, rows, numbers, "margins")))
    return markup(*parts, *map(paragraph, counts))


def _values(results: Sequence[ReportedResult]) -> str:
    """The numbers of one state, side by side."""
    names = list(dict.fromkeys(name for each in results for name in each.columns))
    header = ("entry", *(shown_name(each.name) for each in results), "unit")
    if len(results) == 1:
        header = ("entry", "value", "unit")
    rows = [
        (shown_name(name), *(_number(each, name) for each in results), _unit(results, name))
        for name in names
    ]
    numbers = frozenset(header[1:-1])
    return markup(table(PageTable("All values", header, rows, numbers)))


def _optimization_figures(result: ReportedResult, figures: PagePlots) -> Iterator[Element]:
    """Cost by iteration of an optimal motion, and the gains of each motor for its own joint."""
    text = str(result.contract.get(COST_BY_ITERATION, ""))
    costs = np.array([float(each) for each in text.split(",") if each.strip()])
    if result.verb != "optimize" or len(costs) < 2:
        return
    steps = np.arange(float(len(costs)))
    decades = bool((costs > 0.0).all()) and float(costs.max()) > 10.0 * float(costs.min())
    caption = [
        f"Cost: {costs[0]:.6g} at the start, {costs[-1]:.6g} after {len(costs) - 1} iterations"
    ]
    yield curve_figure(
        steps, {"cost": costs}, caption, figures, extremes=False, clock="iteration", log=decades
    )
    matches = [match for name in result.columns if (match := _OWN_GAIN.fullmatch(name))]
    for i, word in enumerate(("position", "velocity")):
        own = [match for match in matches if match[2] == word]
        if own:
            effort, _, states = result.units[own[0][0]].partition(" per ")
            unit = f"{effort} per {states.split(' or ')[min(i, states.count(' or '))]}"
            gains = {shown_name(match[1]): result.columns[match[0]] for match in own}
            positive = all((values > 0.0).all() for values in gains.values())
            caption = [f"Gain of each motor for the {word} of its own joint, in {unit}"]
            yield curve_figure(
                result.time, gains, caption, figures, extremes=False, unit=unit, log=positive
            )


def _number(result: ReportedResult, name: str) -> str:
    return figure_cell(float(result.columns[name][0]), 9) if name in result.columns else ""


def _unit(results: Sequence[ReportedResult], name: str) -> str:
    return next(each.units[name] for each in results if name in each.units)


def _curves(results: Sequence[ReportedResult], figures: PagePlots) -> str:
    """One plot per column; both results in one plot if their times agree."""
    known = list(dict.fromkeys(name for each in results for name in each.columns))
    if len(results) == 1 and results[0].verb == "optimize":
        known = [name for name in known if not name.startswith(_MATRICES)]
    parts = list(_figures(results, known, figures))
    shown: list[Element] = [element("div", *parts, class_="plots")]
    if len(known) > MOST_FIGURES:
        text = (
            f"Only the first {len(parts)} plots are shown; the results have {len(known)} columns."
        )
        shown.insert(0, paragraph(text, "note"))
    return markup(*shown)


def _figures(
    results: Sequence[ReportedResult], names: Sequence[str], figures: PagePlots
) -> Iterator[Element]:
    together = all(np.array_equal(each.time, results[0].time) for each in results)
    for name in names[:MOST_FIGURES]:
        having = [(i, each) for i, each in enumerate(results) if name in each.columns]
        for group in [having] if together else [[each] for each in having]:
            curves = {_label(results, i): each.columns[name] for i, each in group}
            first = group[0][1]
            bounds = first.limits.get(name)
            ends = () if bounds is None else (bounds.lower, bounds.upper)
            limits = [end for end in ends if isfinite(end)]
            unit = first.units[name]
            caption: list[Element | str] = [element("bdi", shown_name(name)), f" in {unit}; "]
            yield curve_figure(
                first.time,
                curves,
                caption,
                figures,
                rounding=first.rounding.get(name, NO_ROUNDING),
                unit=unit,
                limits=limits,
            )


def _label(results: Sequence[ReportedResult], number: int) -> str:
    return "value" if len(results) == 1 else ("first", "second")[number]


def _data(result: ReportedResult, rows: Any, figures: PagePlots) -> dict[str, Any]:
    frames = None
    if result.rows is not None:
        times = figures.numbers.add(result.time[rows], exact=True)
        frames = {"times": times, "rows": [int(row) + 1 for row in rows]}
    return {
        "clock": result.clock,
        "frames": frames,
        "arms": [],
        "models": [],
        "figures": figures.drawn,
        "count": figures.numbers.count,
        "arrays": figures.numbers.texts,
    }


@dataclass(frozen=True, eq=False)
class ReportedResult:
    """A result as columns with one number per row.

    columns: name -> (rows,), one row for a single state
    units:   of the columns
    limits:  of the columns whose joints have limits
    rounding: round-off threshold of each column
    time:    (rows,), with the axis label in `clock`; row numbers without a time
    """

    name: str
    verb: str
    columns: Mapping[str, Floats]
    units: Mapping[str, str]
    time: Floats
    clock: str
    limits: Mapping[str, Bounds]
    contract: Mapping[str, Any]
    rows: int | None
    rounding: Mapping[str, Rounding] = field(default_factory=dict)


def reported_result(name: str, path: str) -> ReportedResult:
    """Read a stored result; a corrupt file is rejected."""
    with open_stored(path) as stored:
        blocks = list(stored.blocks())
    rows = stored.meta["rows"]
    values = {
        key: np.concatenate([block[key] for block in blocks]) if rows is not None else each
        for key, each in blocks[0].items()
    }
    columns, units = _columns(stored, values)
    limits = _limits(stored)
    time, clock = seconds_from_first(values.get("time"), rows or 1)
    meta = stored.meta
    rounding = _rounding(stored, values, units)
    return ReportedResult(
        name, meta["verb"], columns, units, time, clock, limits, meta["contract"], rows, rounding
    )


def _rounding(
    stored: StoredFile, values: Mapping[str, Any], units: Mapping[str, str]
) -> dict[str, Rounding]:
    """Round-off of every column, relative to its array and the natural scales of the model."""
    meta = stored.meta
    scales = motion_scales(meta["model"], meta["contract"], values.get("qd"), values.get("qdd"))
    return {
        column: array_rounding(entry.name, units[column], values[entry.name], scales)
        for entry in stored.entries
        if entry.name != "time" and values[entry.name].dtype.kind in "fc"
        for column in entry.column_names()
    }


def _limits(stored: StoredFile) -> dict[str, Bounds]:
    """Limits of positions, velocities and torques, by column name."""
    return {
        column: bounds
        for entry in stored.entries
        if len(entry.labels) == 1
        for column, joint in zip(entry.entry_names(), entry.labels[0], strict=True)
        if (bounds := joint_bounds(stored.meta["model"], entry.name, joint)).exist
    }


def _columns(
    stored: StoredFile, values: Mapping[str, Any]
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Every number of a row by its column name; complex numbers have two columns."""
    columns: dict[str, Floats] = {}
    units: dict[str, str] = {}
    slides = slides_in(stored.meta["model"])
    for entry in stored.entries:
        if entry.name == "time":
            continue
        table = values[entry.name].reshape(stored.meta["rows"] or 1, -1)
        if np.iscomplexobj(table):
            table = np.ascontiguousarray(table).view(np.float64)
        names = entry.column_names()
        own = entry_units(entry.name, entry.unit, entry.labels, slides)
        per_entry = len(names) // max(len(own), 1)
        for i, name in enumerate(names):
            columns[name] = table[:, i].astype(np.float64)
            units[name] = own[i // per_entry] if per_entry else entry.unit
    return columns, units
