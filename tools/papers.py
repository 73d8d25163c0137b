"""The page on the papers: its rows, the code they name, and the errors their tests measure.

`python -m tools.papers` measures every row and writes the numbers into docs/dev/papers.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from math import isnan
from typing import Any

from robolin.dynamics.catalogue import ALGORITHMS
from robolin.operator_algebra.robot import Operators
from tools.markdown import DOCS
from tools.papers_measure import differences
from tools.papers_trace import Search, codes_of

PAGE = DOCS / "dev/papers.md"

# shown instead of a number if a misprint cannot be evaluated
UNMEASURED = ("by inspection", "garbled")

_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """A table row by column name; `paper` is the letter of its heading."""

    paper: str
    line: int
    cells: dict[str, str]

    def __str__(self) -> str:
        return f"[{self.paper}] {self.label}"

    @property
    def label(self) -> str:
        return self.cells.get("result") or self.cells["number"]

    @property
    def tests(self) -> list[str]:
        return _QUOTED.findall(self.cells["test"])

    @property
    def places(self) -> list[str]:
        return _QUOTED.findall(self.cells["in robolin"])


def rows(text: str) -> Iterator[Row]:
    """All rows of all tables on the page."""
    paper = ""
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if heading := re.match(r"#+ .*\[([LFOD])\]", line):
            paper, columns = heading[1], []
        elif line.startswith("| ---"):
            continue
        elif line.startswith("|"):
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if columns:
                yield Row(paper, number, dict(zip(columns, cells, strict=True)))
            columns = columns or cells


def results(text: str) -> list[Row]:
    return [row for row in rows(text) if "result" in row.cells]


def misprints(text: str) -> list[Row]:
    return [row for row in rows(text) if "number" in row.cells]


def resolved(symbol: str) -> Any:
    """The object that the column 'in robolin' names; an error if it does not exist."""
    if symbol.startswith("op."):
        return getattr(Operators, symbol.removeprefix("op."))
    if not symbol.startswith("robolin."):
        return ALGORITHMS[symbol]
    path, _, name = symbol.rpartition(".")
    return getattr(import_module(path), name)


def error(row: Row, most: int | None = None) -> float:
    """Largest difference in the row's first test, on all robots or on `most` of them."""
    measured = [value for value in differences(row.tests[0], most) if not isnan(value)]
    assert measured, f"{row.tests[0]} measures nothing"
    return max(measured)


def off_by(row: Row, most: int | None = None) -> float | None:
    """Smallest error of a misprint; None if it cannot be evaluated."""
    if row.cells["off by"] in UNMEASURED:
        return None
    return min(differences(row.tests[0], most))


def not_run(row: Row) -> set[str]:
    """Code named in a row that none of its tests executes, with any robot."""
    search = Search({symbol: codes_of(resolved(symbol)) for symbol in row.places})
    for turn in count():
        there = [search.left and search.entered_in(name, turn) for name in row.tests]
        if not any(there):
            break
    return search.left


def written(value: float) -> str:
    """The number with one digit; further digits differ between machines."""
    if value == 0.0:
        return "0"
    return f"{value:.0e}" if value < 1e-2 else f"{value:.1g}"


def refreshed(text: str) -> str:
    """The page with all numbers measured."""
    lines = text.splitlines()
    for row in rows(text):
        column, value = ("error", error(row)) if "result" in row.cells else ("off by", off_by(row))
        if value is not None:
            cells = {**row.cells, column: written(value)}
            lines[row.line - 1] = f"| {' | '.join(cells.values())} |"
    return "\n".join([*lines, ""])


def main() -> None:
    PAGE.write_text(refreshed(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
