"""The table of packages in docs/dev/architecture.md: contents and allowed imports."""

from __future__ import annotations

import ast
import re

from tests.test_layout import ALLOWED
from tools.markdown import DOCS, ROOT

PAGE = DOCS / "dev/architecture.md"
_TABLE = re.compile(r"(<!-- packages -->\n).*(<!-- /packages -->)", re.DOTALL)


def architecture_page() -> str:
    """Return the page with its table generated from the package docstrings."""
    rows = ["| package | contents | imports |", "| --- | --- | --- |"]
    for package, allowed in ALLOWED.items():
        module = (ROOT / "robolin" / package).with_suffix(".py")
        folder = ROOT / "robolin" / package / "__init__.py"
        name = f"`{package}.py`" if module.is_file() else f"`{package}/`"
        text = (module if module.is_file() else folder).read_text("utf-8")
        summary = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].replace("\n", " ")
        rows.append(f"| {name} | {summary} | {', '.join(sorted(allowed)) or 'nothing'} |")
    summary = "Command line, and checks of stored results in pytest."
    rows.append(f"| `cli/`, `testing.py` | {summary} | everything |")
    table = "\n".join(rows)
    page, replaced = _TABLE.subn(
        lambda match: f"{match[1]}{table}\n{match[2]}", PAGE.read_text("utf-8")
    )
    assert replaced == 1, f"{PAGE.name} must contain the table markers once"
    return page
