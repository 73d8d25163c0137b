"""Layout of operation counts: a table with one line per algorithm and remarks, or JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from typing import Any

from robolin.analysis.operation_counts import CountedAlgorithm, polynomial_text, value_at
from robolin.cli.output.report import ReportSection, ReportTable, TextLines
from robolin.core.text import pluralize
from robolin.engine.parameters import Parameters
from robolin.engine.run import Cost

_HEADER = (
    "algorithm",
    "multiplications",
    "additions",
    "divisions",
    "roots",
    "published",
    "formula",
)


_FOLDED = ("multiplications folded", "additions folded")


def count_sections(
    verb: str, whose: str, parameters: Parameters, rows: Sequence[CountedAlgorithm]
) -> Sequence[ReportSection]:
    """One line per algorithm; the kinematics, which all share, once below."""
    comparable = _comparable(parameters)
    folding = any(row.folded for row in rows)
    header = (*_HEADER[:5], *_FOLDED, *_HEADER[5:]) if folding else _HEADER
    table = ReportTable(header, [_cells(row, parameters.n, comparable) for row in rows])
    placing = reduce(or_, (row.cost.kinematics for row in rows))
    remarks = [
        f"{row.algorithm}: {row.published.remark}"
        for row in rows
        if row.published and row.published.remark
    ]
    below = [
        "kinematics of the links, not included above: "
        f"{pluralize(placing['multiplication'], 'multiplication')}, "
        f"{pluralize(placing['addition'], 'addition')}, {_sines_and_cosines(placing)}",
        *_folded_kinematics(rows),
        "the papers do not state whether their formulas include the kinematics",
    ]
    return [TextLines([f"{verb} on {whose}"]), table, TextLines([*below, *remarks])]


def _folded_kinematics(rows: Sequence[CountedAlgorithm]) -> list[str]:
    folded = [row.folded.kinematics for row in rows if row.folded]
    if not folded:
        return []
    least = reduce(or_, folded)
    return [
        f"folded: {pluralize(least['multiplication'], 'multiplication')}, "
        f"{pluralize(least['addition'], 'addition')}"
    ]


def _pairs(cost: Mapping[str, int]) -> int:
    """Number of angles that need sine and cosine; each is counted as a function."""
    return cost["function"] // 2


def _sines_and_cosines(cost: Mapping[str, int]) -> str:
    return "1 sine and cosine" if _pairs(cost) == 1 else f"{_pairs(cost)} sines and cosines"


def count_document(
    verb: str, whose: str, parameters: Parameters, rows: Sequence[CountedAlgorithm]
) -> dict[str, Any]:
    """The counts as a JSON document."""
    return {
        "verb": verb,
        "arm": whose,
        "joints": len(parameters.joint_names),
        "algorithms": [_entry(row, parameters) for row in rows],
    }


def _comparable(parameters: Parameters) -> bool:
    """True for serial chains of revolute joints without rotors or dissipation, as in the papers."""
    plain = all(
        row.is_revolute and not (row.armature or row.damping or row.friction or row.stiffness)
        for row in parameters.links
    )
    return plain and parameters.serial and not parameters.mimics and not parameters.loads


def _cells(row: CountedAlgorithm, n: int, comparable: bool) -> tuple[str, ...]:
    cost = row.cost.algorithm
    counts = [str(cost[kind]) for kind in ("multiplication", "addition", "division", "root")]
    published = formula = "–"
    if row.published:
        products = polynomial_text(row.published.multiplications)
        formula = f"({products}) M + ({polynomial_text(row.published.additions)}) A"
    if row.published and comparable:
        published = (
            f"{value_at(row.published.multiplications, n)} M "
            f"{value_at(row.published.additions, n)} A"
        )
    folded = row.folded.algorithm if row.folded else {}
    remaining = [str(folded[kind]) for kind in ("multiplication", "addition") if row.folded]
    return (row.algorithm, *counts, *remaining, published, formula)


def _by_kind(cost: Cost) -> dict[str, Any]:
    kinds = {
        "multiplications": "multiplication",
        "additions": "addition",
        "divisions": "division",
        "roots": "root",
    }
    counts: dict[str, Any] = {name: cost.algorithm[kind] for name, kind in kinds.items()}
    counts["kinematics"] = {name: cost.kinematics[kind] for name, kind in kinds.items()}
    counts["kinematics"]["sines_and_cosines"] = _pairs(cost.kinematics)
    return counts


def _entry(row: CountedAlgorithm, parameters: Parameters) -> dict[str, Any]:
    cost = row.cost
    entry: dict[str, Any] = {"algorithm": row.algorithm}
    entry |= _by_kind(cost)
    if row.folded:
        entry["folded"] = _by_kind(row.folded)
    if row.published:
        entry["published"] = {
            "multiplications": value_at(row.published.multiplications, parameters.n),
            "additions": value_at(row.published.additions, parameters.n),
            "formula": [
                polynomial_text(row.published.multiplications),
                polynomial_text(row.published.additions),
            ],
            "holds_for_this_arm": _comparable(parameters),
            "remark": row.published.remark,
        }
    return entry
