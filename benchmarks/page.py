"""The tables of docs/explain/performance.md, written from the stored runs in benchmarks/results/.

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`; the rest of the page is
unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.tables import TABLES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "explain/performance.md"
RESULTS = Path(__file__).parent / "results"

_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def new_result_file(label: str) -> Path:
    """Path for the results of a run that starts now; names sort by time."""
    return RESULTS / f"{datetime.now(UTC):%Y-%m-%d-%H%M}-{label}.json"


def newest_results(folder: Path = RESULTS) -> dict[str, Any]:
    """Each part from the newest run that measured it, and the machines that measured them."""
    results: dict[str, Any] = {}
    measured_on: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*.json")):
        run = json.loads(path.read_text("utf-8"))
        measured_on.update(dict.fromkeys(run.keys() - {"machine"}, run["machine"]))
        results.update(run)
    machines: list[dict[str, Any]] = []
    for part, machine in sorted(measured_on.items()):
        same = next((known for known in machines if known["machine"] == machine), None)
        if same is None:
            machines.append(same := {"machine": machine, "parts": []})
        same["parts"].append(part)
    return {**results, "machines": machines}


def refreshed(text: str, results: Mapping[str, Any]) -> str:
    """The page with the tables of all measured parts updated."""

    def table(match: re.Match[str]) -> str:
        part, make = TABLES[match[2]]
        if part not in results:
            return match[0]
        lines = "\n".join(make(results))
        return f"{match[1]}\n{lines}\n\n{match[4]}"

    return _TABLE.sub(table, text)
