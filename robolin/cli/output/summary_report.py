"""How a summary is shown: one line per array, or JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from robolin.cli.output.report import ReportSection, ReportTable, TextLines
from robolin.core.results.summary import Extreme, Summary
from robolin.core.text import counted

_HEADER = ("array", "unit", "shape", "smallest", "smallest at", "largest", "largest at")


def summary_sections(found: Summary, precision: int) -> list[ReportSection]:
    """One line per array, and how many rows there were."""
    rows = [
        (
            array.name,
            array.unit,
            "×".join(map(str, array.shape)) or "1",
            *_cells(array.smallest, precision),
            *_cells(array.largest, precision),
        )
        for array in found.arrays
    ]
    table = ReportTable(_HEADER, rows, frozenset(("smallest", "largest")))
    return [table] if found.rows is None else [table, TextLines([counted(found.rows, "row")])]


def _cells(found: Extreme | None, precision: int) -> tuple[str, str]:
    if found is None:
        return "", ""
    row = "" if found.row is None else f", row {found.row}"
    return f"{found.value:.{precision}g}", f"{found.entry}{row}"


def summary_document(found: Summary) -> dict[str, Any]:
    """The same for machines; rows are counted from 1."""
    return {"rows": found.rows, "arrays": [asdict(array) for array in found.arrays]}
