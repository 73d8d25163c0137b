"""The tables of docs/performance.md, written from the results of the last run.

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`; the rest of the page is
unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.tables import TABLES

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, FIGURES = DOCS / "performance.md", DOCS / "performance.json"

_TABLE = re.compile(r"(<!-- table: ([\w-]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)


def refreshed(text: str, figures: Mapping[str, Any]) -> str:
    """The page with the tables of all measured parts updated."""

    def table(match: re.Match[str]) -> str:
        part, make = TABLES[match[2]]
        if part not in figures:
            return match[0]
        lines = "\n".join(make(figures))
        return f"{match[1]}\n{lines}\n\n{match[4]}"

    return _TABLE.sub(table, text)
