"""The tables of docs/performance.md, written from the figures of the last run.

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`; everything else on the
page is left as it is.
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
    """The page with every table whose part was measured written anew."""

    def table(found: re.Match[str]) -> str:
        part, make = TABLES[found[2]]
        if part not in figures:
            return found[0]
        lines = "\n".join(make(figures))
        return f"{found[1]}\n{lines}\n\n{found[4]}"

    return _TABLE.sub(table, text)
