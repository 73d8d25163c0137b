"""The page on the papers: its rows, what they point to, and the errors their tests measure.

`python -m tools.papers` measures every row anew and writes the figures into docs/papers.md.
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

PAGE = DOCS / "papers.md"

# what stands in place of a figure where a print cannot be evaluated
UNMEASURED = ("by inspection", "garbled")

_QUOTED = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Row:
    """A line of a table by the names of its columns; `paper` is the letter of its heading."""

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
    """Every line of every table on the page."""
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


def resolved(place: str) -> Any:
    """What a name in the column 'in robolin' stands for; an error if there is no such thing."""
    if place.startswith("op."):
        return getattr(Operators, place.removeprefix("op."))
    if not place.startswith("robolin."):
        return ALGORITHMS[place]
    path, _, name = place.rpartition(".")
    return getattr(import_module(path), name)


def error(row: Row, most: int | None = None) -> float:
    """The largest difference that the row's first test sees, on all arms or on `most` of them."""
    seen = [figure for figure in differences(row.tests[0], most) if not isnan(figure)]
    assert seen, f"{row.tests[0]} measures nothing"
    return max(seen)


def off_by(row: Row, most: int | None = None) -> float | None:
    """The smallest error of a misprint, if it can be evaluated."""
    if row.cells["off by"] in UNMEASURED:
        return None
    return min(differences(row.tests[0], most))


def not_run(row: Row) -> set[str]:
    """The places of a row that none of its tests enters, whatever arm they are called with."""
    search = Search({place: codes_of(resolved(place)) for place in row.places})
    for turn in count():
        there = [search.left and search.entered_in(name, turn) for name in row.tests]
        if not any(there):
            break
    return search.left


def written(figure: float) -> str:
    """One digit is all that is the same on every machine, if that."""
    if figure == 0.0:
        return "0"
    return f"{figure:.0e}" if figure < 1e-2 else f"{figure:.1g}"


def refreshed(text: str) -> str:
    """The page with all figures measured."""
    lines = text.splitlines()
    for row in rows(text):
        column, figure = ("error", error(row)) if "result" in row.cells else ("off by", off_by(row))
        if figure is not None:
            cells = {**row.cells, column: written(figure)}
            lines[row.line - 1] = f"| {' | '.join(cells.values())} |"
    return "\n".join([*lines, ""])


def main() -> None:
    PAGE.write_text(refreshed(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
