"""The table of rooms on docs/architecture.md: what lives in each, and what it may import."""

from __future__ import annotations

import ast
import re

from tests.test_layout import ALLOWED
from tools.markdown import DOCS, ROOT

PAGE = DOCS / "architecture.md"
_TABLE = re.compile(r"(<!-- rooms -->\n).*(<!-- /rooms -->)", re.DOTALL)


def rooms_page() -> str:
    """The page with its table made anew."""
    rows = ["| room | what lives there | imports |", "| --- | --- | --- |"]
    for room, allowed in ALLOWED.items():
        module = (ROOT / "robolin" / room).with_suffix(".py")
        folder = ROOT / "robolin" / room / "__init__.py"
        place = f"`{room}.py`" if module.is_file() else f"`{room}/`"
        text = (module if module.is_file() else folder).read_text("utf-8")
        said = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| {place} | {said} | {', '.join(sorted(allowed)) or 'nothing'} |")
    rows.append("| `cli/`, `testing.py` | Commands, and stored results in pytest. | everything |")
    table = "\n".join(rows)
    page, places = _TABLE.subn(
        lambda found: f"{found[1]}{table}\n{found[2]}", PAGE.read_text("utf-8")
    )
    assert places == 1, f"{PAGE.name} has no place for the table, or several"
    return page
