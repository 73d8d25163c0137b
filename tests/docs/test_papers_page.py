"""The page about the papers is complete, correct, and refers to existing names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest

from tools.markdown import ROOT
from tools.papers import (
    PAGE,
    UNMEASURED,
    Row,
    error,
    misprints,
    not_run,
    off_by,
    resolved,
    results,
    rows,
)

TEXT = PAGE.read_text("utf-8")
PAPERS = ("L", "F", "O", "D")

# the last number of every series of equations; [F] 16 is not printed
EQUATIONS = {
    "L": {"1.": 6, "2.": 20, "3.": 8, "4.": 26, "A.": 24},
    "F": {"": 79},
    "O": {"": 29},
    "D": {"1.": 4, "2.": 5, "3.": 2, "4.": 10, "5.": 6, "6.": 13, "7.": 10, "8.": 6, "A.": 31,
          "B.": 10},
}  # fmt: skip
NAMED = {
    "L": {
        "Algorithm": "1 2 3 4 5 6",
        "Lemma": "3.1 3.2 4.1 4.2 4.3 4.4 4.5 4.6 4.7 4.8 4.9 A.1 A.2",
        "section": "1 3.1 4.1",
    },
    "F": {
        "Identity": "1 2 3 4 5 6",
        "Algorithm": "1 2 3",
        "section": "V.A V.C VI.A VI.B VII VII.A VII.C VII.D VIII IX X.A X.C",
    },
    "O": {"method": "1 2 3", "section": "2 3.1 3.2 3.3 3.5", "footnote": "1 3"},
    "D": {
        "Assumption": "2.1 3.1",
        "Lemma": "2.1 2.2 3.1 7.1 7.2 7.3 A.1 A.2 A.3 A.4 A.5 A.6 B.1 B.2",
        "Identity": "4.1 6.1 6.2 6.3 6.4 7.1",
        "Algorithm": "4.1 6.1 7.1 8.1",
        "Table": "1 2 3",
        "Control": "8.1 8.2",
        "section": "1 4 5 7 8",
    },
}
MISPRINTS = {"L": 12, "F": 8, "O": 3, "D": 23}

# measured cases of each test; all cases of the page take a minute
MOST = 2
# machines round differently: errors may be ten times larger, but rounding is never a misprint
FACTOR, ROUNDING, WRONG = 10.0, 1e-14, 1e-3

every_paper = pytest.mark.parametrize("paper", PAPERS)


def of(paper: str, table: list[Row]) -> list[Row]:
    return [row for row in table if row.paper == paper]


def test_no_cell_is_empty() -> None:
    """Every cell of every row has text."""
    assert not [
        f"{row}: {name}" for row in rows(TEXT) for name, cell in row.cells.items() if cell in "–-"
    ]


@every_paper
def test_every_named_object_exists(paper: str) -> None:
    """Every name in the column "in robolin" can be imported or is in the catalogue."""
    for row in of(paper, results(TEXT)):
        assert row.places, row
        for name in row.places:
            assert resolved(name) is not None, (row, name)


def test_places_that_are_not_there_are_noticed() -> None:
    """A misspelt operator, algorithm, module or function is an error."""
    misspelt = "robolin.dynamics.links.link_motion.nominal_term"
    for name in ("op.phii", "inverze", "robolin.nowhere.f", misspelt):
        with pytest.raises((AttributeError, KeyError, ImportError)):
            resolved(name)


@every_paper
def test_every_named_test_exists(paper: str) -> None:
    """Every test that a row names is a function in that file."""
    for row in of(paper, list(rows(TEXT))):
        assert row.tests, row
        for name in row.tests:
            path, _, function = name.partition("::")
            assert function.startswith("test_"), (row, name)
            assert function in _functions(path), (row, name)


@cache
def _functions(path: str) -> set[str]:
    tree = ast.parse((ROOT / path).read_text("utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@every_paper
def test_every_numbered_equation_has_a_row(paper: str) -> None:
    """No number is left out, and none is made up."""
    printed = {
        f"{series}{i}" for series, last in EQUATIONS[paper].items() for i in range(1, last + 1)
    }
    listed = {number for row in of(paper, results(TEXT)) for number in _numbers(row.label)}
    assert listed == printed - ({"16"} if paper == "F" else set())


def _numbers(label: str) -> Iterator[str]:
    """The equations in the brackets of a label: (4.3), (4.1, 4.2), (4.16–4.18)."""
    for inside in re.findall(r"\(([^)]*)\)", label):
        for part in inside.split(", "):
            first, _, last = part.partition("–")
            series, _, start = first.rpartition(".")
            series = f"{series}." if series else ""
            end = last.rpartition(".")[2] or start
            yield from (f"{series}{i}" for i in range(int(start), int(end) + 1))


def test_brackets_are_read() -> None:
    """Ranges and lists are taken apart."""
    assert list(_numbers("Lemma 1 (A.9–A.11, 3)")) == ["A.9", "A.10", "A.11", "3"]


@every_paper
def test_every_named_result_has_a_row(paper: str) -> None:
    """Algorithms, tables, lemmas, identities and control laws are all there."""
    labels = " | ".join(row.label for row in of(paper, results(TEXT)))
    for kind, numbers in NAMED[paper].items():
        for number in numbers.split():
            assert re.search(rf"\b{kind} {re.escape(number)}(?![\d.])", labels), (kind, number)


@every_paper
def test_misprints_are_numbered_and_used(paper: str) -> None:
    """Every misprint is listed once, at least one row refers to it, and no other is referred to."""
    listed = [row.label for row in of(paper, misprints(TEXT))]
    used = {
        name
        for row in of(paper, results(TEXT))
        for name in row.cells["misprints"].split(", ")
        if name != "none"
    }
    assert listed == [f"{paper}{i}" for i in range(1, MISPRINTS[paper] + 1)]
    assert used == set(listed)


@every_paper
def test_errors_are_allowed(paper: str) -> None:
    """Every error on the page is within what its row allows."""
    for row in of(paper, results(TEXT)):
        assert float(row.cells["error"]) <= float(row.cells["allowed"]), row


@pytest.mark.slow
@every_paper
def test_every_named_object_is_run(paper: str) -> None:
    """Every name in the column "in robolin" is run by a test of its row."""
    for row in of(paper, results(TEXT)):
        assert not not_run(row), row


def test_objects_that_are_not_run_are_noticed() -> None:
    """A row that names a function its test does not call is reported."""
    row = next(row for row in results(TEXT) if row.label == "(1.6)")
    longer = {**row.cells, "in robolin": f"{row.cells['in robolin']}, `op.lambda_dot`, `forward`"}
    assert not_run(row) == set()
    assert not_run(replace(row, cells=longer)) == {"op.lambda_dot", "forward"}


@pytest.mark.slow
@every_paper
def test_errors_hold(paper: str) -> None:
    """No measured error is ten times larger than on the page."""
    for row in of(paper, results(TEXT)):
        figure = float(row.cells["error"])
        assert error(row, MOST) <= max(FACTOR * figure, ROUNDING), row


@pytest.mark.slow
@every_paper
def test_misprints_are_wrong(paper: str) -> None:
    """Printed equations with misprints do not hold; the error has about the size on the page."""
    for row in of(paper, misprints(TEXT)):
        error = off_by(row, MOST)
        if error is None:
            assert "misprint" not in row.tests[0]
            assert row.cells["off by"] in UNMEASURED
            continue
        assert error >= max(WRONG, float(row.cells["off by"]) / FACTOR), row
