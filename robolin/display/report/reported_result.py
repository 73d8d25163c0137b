"""A stored result as a page tells it: its numbers by column, and where they come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from robolin.core.arrays import Floats
from robolin.core.units import entry_units, slides_in
from robolin.display.plots.joint_bounds import Bounds, joint_bounds
from robolin.display.plots.panels import Rounding, array_rounding, motion_scales
from robolin.display.report.reported_motion import seconds_from_first
from robolin.io.stored import open_stored
from robolin.io.stored_file import StoredFile


@dataclass(frozen=True, eq=False)
class ReportedResult:
    """A result by columns of one number per row.

    columns: name -> (rows,), one row where there is one state
    units:   of the columns
    limits:  of those columns whose joints have some
    rounding: what of each column is nothing but rounding
    time:    (rows,), with what the axis is called; numbers of rows where there are no times
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
    """Read a stored result; one that is not as it was written is refused."""
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
    """What is rounding in every column, beside its array and the natural scales of the model."""
    meta = stored.meta
    scales = motion_scales(meta["model"], meta["contract"], values.get("qd"), values.get("qdd"))
    return {
        column: array_rounding(entry.name, units[column], values[entry.name], scales)
        for entry in stored.entries
        if entry.name != "time" and values[entry.name].dtype.kind in "fc"
        for column in entry.column_names()
    }


def _limits(stored: StoredFile) -> dict[str, Bounds]:
    """What the model says of positions, velocities and torques, by the name of their column."""
    return {
        column: bounds
        for entry in stored.entries
        if len(entry.labels) == 1
        for column, joint in zip(entry.entry_names(), entry.labels[0], strict=True)
        if (bounds := joint_bounds(stored.meta["model"], entry.name, joint)).given
    }


def _columns(
    stored: StoredFile, values: Mapping[str, Any]
) -> tuple[dict[str, Floats], dict[str, str]]:
    """Every number of a row by its name in a table; complex ones have two columns."""
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
